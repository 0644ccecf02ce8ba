// The stage: arranges the lanes, and draws their maps, the charts and the table of a cell from the frames of the page.

import { $, setText } from "./dom.js";
import { Charts } from "./charts.js";
import { DifferenceCard } from "./difference.js";
import { scalesFor } from "./view.js";
import { showCell } from "./inspector.js";
import { themeName } from "./palette.js";

// Milliseconds between two drawings of the charts while a run is shown: curves change slowly.
const CHARTS_EVERY = 400;
// Steps per second up to which the sentences are shown.
const READABLE_SPEED = 60;
const MAPS_MIN = 150;
// A page can be scrolled, so maps need not become smaller than this, in pixels and as a share of the window.
const READABLE = 180, READABLE_SHARE = 0.26;
// Of lanes below each other, the texts are beside the maps: their width, and what is above and below a map. Side by side is easier to compare.
const TEXTS_WIDTH = 250, AROUND_STACKED = 72, STACKED_SHARE = 0.7, STACKED_FROM = 1.25;
const MARGIN = 16;
const LANE_GAP = 12;
// How much of the charts below one or two lanes is on the first screen, beside a lesson: their titles.
const CHARTS_SEEN = 46;
// The width of the thumb of a slider, whose centre is at the step; of the narrowest chart with which the timeline is aligned, and how
// far this chart may be from the right end.
const THUMB = 16, AXIS_MIN = 200, AXIS_END = 100;
// Above and below the buttons of the transport, on a phone.
const BAR_PADDING = 13;
const NARROW = "(max-width: 620px)";

export class Stage {
  constructor(app) {
    this.app = app;
    this.charts = new Charts($("charts"), (step) => app.seek(step));
    this.difference = new DifferenceCard();
    this.isArranged = false;
    // Measuring makes the browser compute the layout, so it happens only after something changed its size.
    const observer = new ResizeObserver(() => this.rearrange());
    for (const box of [document.body, $("top"), $("lanes"), ...document.querySelectorAll(".bar")]) observer.observe(box);
  }

  // Q is not shown beside itself.
  get isBeside() {
    return this.app.options.beside && this.app.options.layer !== "q";
  }

  rearrange() {
    this.isArranged = false;
    this.chartsAt = 0;
    this.app.render();
  }

  // Arranges the lanes in as many columns as make their maps largest, and fits the maps.
  arrange() {
    const { app } = this;
    if (!app.options.difference) this.difference.root.remove();
    else if (!this.difference.root.isConnected) $("lanes").append(this.difference.root);
    // As classes, which the browser finds faster than selectors that count.
    for (const [name, least] of Object.entries({ several: 2, many: 3 })) document.body.classList.toggle(name, $("lanes").children.length >= least);
    const isNarrow = matchMedia(NARROW).matches, buttons = $("run").parentElement, bar = buttons.parentElement;
    bar.style.top = isNarrow ? `${Math.min(buttons.offsetHeight + BAR_PADDING - bar.offsetHeight, 0)}px` : "";
    const mapHeight = isNarrow ? this.arrangeNarrow() : this.arrangeWide();
    for (const card of [...app.cards, this.difference]) if (card.root.isConnected) card.fit(app.world, mapHeight, this.isBeside);
    this.isArranged = true;
  }

  arrangeNarrow() {
    $("lanes").style.setProperty("--columns", 1);
    $("lanes").classList.remove("stacked");
    return Math.max(window.innerHeight * 0.6, MAPS_MIN);
  }

  arrangeWide() {
    const box = $("lanes");
    const count = box.children.length;
    const { rows, columns } = this.app.world;
    const top = box.getBoundingClientRect().top + window.scrollY;
    // In a presentation, the charts below the lanes must fit as well, unless a lesson is above them; a page can be scrolled.
    const hasCharts = this.app.isPresenting && !this.app.lesson.lesson, hasTitles = !this.app.isPresenting && this.app.lesson.lesson && count < 3;
    const height = window.innerHeight - top - MARGIN - (hasCharts ? $("charts").offsetHeight + LANE_GAP : hasTitles ? CHARTS_SEEN : 0);
    const around = Math.max(...this.app.cards.map((card) => card.root.offsetHeight - card.frameBox.offsetHeight));
    const least = this.app.isPresenting ? MAPS_MIN : Math.max(READABLE, READABLE_SHARE * window.innerHeight);
    let best = { cell: 0, across: 1, mapHeight: least };
    for (let across = count; across >= 1; across--) {
      const down = Math.ceil(count / across), isStacked = across === 1 && count > 1;
      const fitting = (height - (down - 1) * LANE_GAP) / down - (isStacked ? AROUND_STACKED : around);
      const mapHeight = Math.max(fitting, down === 1 ? least : isStacked && count === 2 ? least * STACKED_SHARE : MAPS_MIN / down);
      const width = box.clientWidth / across - 36 - (isStacked ? TEXTS_WIDTH : 0);
      const cell = Math.min(width / (this.isBeside ? 2 * columns : columns), mapHeight / rows);
      if (cell > best.cell * (isStacked ? STACKED_FROM : 1) + 0.01) best = { cell, across, mapHeight };
    }
    box.style.setProperty("--columns", best.across);
    box.classList.toggle("stacked", best.across === 1 && count > 1);
    return best.mapHeight;
  }

  // Returns whether there was something to draw.
  draw() {
    const { app } = this;
    if (!app.world || app.frames.length !== app.cards.length) return false;
    if (!this.isArranged) this.arrange();
    const scales = scalesFor(app.frames, app.options);
    const besideScales = this.isBeside ? scalesFor(app.frames, { ...app.options, layer: "q" }) : [];
    const view = { ...app.options, beside: this.isBeside, world: app.world, wrong: app.painter?.wrong, theme: themeName() };
    const isFast = app.playing && (app.speed === 0 || app.speed > READABLE_SPEED);
    app.cards.forEach((card, i) => {
      const frame = app.frames[i];
      const pinned = app.focus.isPinned && app.focus.lane === i ? app.focus.cell : null;
      card.draw({ ...view, frame, scale: scales[i], besideScale: besideScales[i], part: this.partFor(frame), pinned });
      const event = app.events[i].findLast((each) => each.step <= app.viewed);
      card.facts({ frame, world: app.world, last: lastReturn(app.series[i], app.viewed), event, rule: this.ruleOf(i), playing: app.playing, isFast });
    });
    if (app.options.difference) this.drawDifference(scales, view);
    this.drawStep();
    // The charts have the room that the cell leaves.
    this.drawCell();
    this.drawCharts();
    return true;
  }

  drawStep() {
    const { app } = this;
    const timeline = $("timeline");
    setText($("step"), String(app.viewed));
    if (document.activeElement !== timeline || !app.scrubbing) timeline.value = app.viewed;
    timeline.setAttribute("aria-valuetext", `step ${app.viewed}`);
  }

  partFor(frame) {
    const { world, options } = this.app;
    if (options.part === "agent") return world.layers.findIndex((layer) => layer.state.includes(frame.agent));
    return options.part === "start" ? world.startLayer : Math.min(Number(options.part), world.layers.length - 1);
  }

  drawDifference(scales, view) {
    const { frames, options } = this.app;
    const [a, b] = options.difference.split("-").map(Number);
    if (!frames[a] || !frames[b]) return;
    const title = `Lane ${a + 1} − lane ${b + 1}`;
    this.difference.draw({ ...view, scale: scales[a], part: this.partFor(frames[a]) }, frames[a], frames[b], title);
  }

  drawCharts() {
    const { app } = this;
    const now = performance.now();
    if (app.playing && now - (this.chartsAt ?? 0) < CHARTS_EVERY) return;
    this.chartsAt = now;
    const names = app.accepted.lanes.map((lane) => lane.explorer);
    this.charts.draw({ series: app.series, step: app.viewed, length: app.length, world: app.world, names, isLarge: app.isPresenting });
    // The charts have their new size afterwards.
    queueMicrotask(() => this.alignTimeline());
  }

  // The timeline and the charts have one axis: its thumb is above or below the markers, unless a chart is too narrow to scrub.
  alignTimeline() {
    const { axis } = this.charts, timeline = $("timeline"), group = timeline.parentElement, bar = group.parentElement;
    const isAligned = axis?.width >= AXIS_MIN && bar.clientWidth - axis.right < AXIS_END;
    group.classList.toggle("aligned", isAligned);
    timeline.style.width = isAligned ? `${axis.width + THUMB}px` : "";
    group.style.marginRight = isAligned ? `${bar.clientWidth - parseFloat(getComputedStyle(bar).paddingRight) - axis.right - THUMB / 2}px` : "";
  }

  drawCell() {
    const { app } = this;
    const { lane, cell, isPinned } = app.focus;
    const frame = app.frames[lane];
    const name = app.accepted.lanes[lane].explorer, { fields } = app.descriptions[lane];
    showCell({ world: app.world, frame, lane, name, fields, cell, part: this.partFor(frame), rule: this.ruleOf(lane), isPinned });
  }

  // How the explorer of a lane draws its action, in words; null if it takes the one with the largest sum.
  ruleOf(lane) {
    const { catalogue, descriptions, accepted } = this.app;
    if (!descriptions[lane].drawsAction) return null;
    return catalogue.explorers.find((each) => each.name === accepted.lanes[lane].explorer)?.meaning ?? "";
  }
}

// The last known return of the greedy policy up to a step.
function lastReturn({ every, points }, step) {
  for (let i = Math.min(Math.floor(step / every), points.length) - 1; i >= 0; i--) if (points[i][1] !== null) return points[i][1];
  return null;
}
