// The page: connects the controls, the source of frames, the lanes, the charts and the table of a cell.

import { $, debounce, element, fillSelect, setText } from "./dom.js";
import { Charts } from "./charts.js";
import { DifferenceCard, LaneCard } from "./lanes.js";
import { LAYERS } from "./frames.js";
import { LiveSource } from "./source.js";
import { Painter } from "./painter.js";
import { RecordedSource } from "./recorded.js";
import { ResultsBrowser } from "./results.js";
import { installShortcuts } from "./shortcuts.js";
import { installTakeaway } from "./takeaway.js";
import { keep, kept, readLink, writeAddress } from "./link.js";
import { positionOf, scalesFor, speedOf, speedText } from "./view.js";
import { showCell } from "./inspector.js";
import { themeName } from "./palette.js";

// Milliseconds between two drawings while a run is shown; reading needs time, and the maps have to be smooth.
const CHARTS_EVERY = 400;
const CELL_EVERY = 120;
const MAPS_MIN = 150;
const AROUND_MAP = 145;
const PRESENTED_CHARTS = 190;
const NEW_LANES = ["vv-ucb", "epsilon-greedy", "ucb1"];

class App {
  constructor(catalogue, recording) {
    this.catalogue = catalogue;
    this.recording = recording;
    this.cards = [];
    this.frames = [];
    this.series = [];
    this.events = [];
    this.descriptions = [];
    this.world = null;
    this.length = 0;
    this.live = 0;
    this.viewed = 0;
    this.playing = false;
    this.focus = { lane: 0, cell: null };
    this.speedChosen = false;
    this.worldCount = 0;
    this.charts = new Charts($("charts"));
    this.difference = new DifferenceCard();
    this.options = { layer: "state-visits", scale: "auto", arrows: "greedy", trail: true, numbers: true, shared: true, part: "start", difference: "", ...kept("localStorage").view };
    this.restoreTheme();
    this.buildControls();
    const on = {
      opened: (message) => this.opened(message),
      state: (message, frames) => this.receive(message, frames),
      found: (text) => this.notice(text),
      error: (message) => this.error(message.message),
      connection: (isOpen, code) => this.connection(isOpen, code),
    };
    document.body.classList.toggle("is-recorded", Boolean(recording));
    this.source = recording ? new RecordedSource(recording, on) : new LiveSource(on, catalogue.limits.message);
    this.painter = recording ? null : new Painter($("paint-dialog"), this);
    this.results = recording ? null : new ResultsBrowser($("results-dialog"), this);
    installTakeaway(this);
    installShortcuts(this);
    this.open();
  }

  // ------------------------------------------------------------------ setup

  open() {
    if (this.recording) {
      this.setup = this.recording.setup;
      setText($("recorded-note"), `${this.setup.world}, seed ${this.setup.seed}, a recorded run`);
      $("recorded-note").hidden = false;
      this.source.start();
      return;
    }
    const link = readLink();
    const session = kept("sessionStorage");
    this.setup = link?.setup ?? this.catalogue.opening;
    if (link?.layer) this.options.layer = link.layer;
    const isReload = JSON.stringify(session.setup) === JSON.stringify(this.setup);
    if (isReload && session.speed !== undefined) this.setSpeed(session.speed, true);
    this.source.open(this.setup, { step: isReload ? session.step : link?.step ?? 0, playing: isReload && session.playing === true, speed: this.speed });
    this.results.offer(this.catalogue.store);
  }

  // Opens a changed setup; the run is repeated up to the present step, so that only the change shows.
  change(changes, { step = this.live, playing = this.playing } = {}) {
    const before = this.setup;
    this.setup = { ...this.setup, ...changes };
    if (JSON.stringify(before.world) !== JSON.stringify(this.setup.world)) this.speedChosen = false;
    this.previous = before;
    this.source.open(this.setup, { step, playing, speed: this.speed });
  }

  chooseWorld(value) {
    const [kind, name] = value.split(":");
    const settings = {};
    if (kind === "gallery") {
      const world = this.catalogue.gallery.find((each) => each.name === name);
      this.change({ world: world.name, world_options: { map: world.map }, settings }, { step: 0, playing: false });
      this.notice(world.explanation);
    } else if (kind === "world") {
      this.change({ world: name, world_options: {}, settings }, { step: 0, playing: false });
      this.notice(this.catalogue.worlds.find((each) => each.name === name).meaning);
    }
  }

  changeLane(number, changes) {
    const lanes = this.setup.lanes.map((lane) => ({ ...lane }));
    const lane = lanes[number];
    if (changes.explorer) {
      lane.explorer = changes.explorer;
      lane.options = {};
    }
    for (const part of ["options", "settings"]) {
      lane[part] = { ...lane[part], ...changes[part] };
      for (const [name, value] of Object.entries(lane[part])) if (value === null) delete lane[part][name];
    }
    this.change({ lanes });
  }

  addLane() {
    const used = this.setup.lanes.map((lane) => lane.explorer);
    const explorer = NEW_LANES.find((name) => !used.includes(name)) ?? NEW_LANES[0];
    this.change({ lanes: [...this.setup.lanes, { explorer }] });
  }

  removeLane(number) {
    this.change({ lanes: this.setup.lanes.filter((_, i) => i !== number) });
  }

  opened(message) {
    this.setup = message.setup;
    this.world = { ...message.world, id: ++this.worldCount };
    this.descriptions = message.lanes;
    this.length = message.length;
    this.snippets = message.snippets;
    this.series = message.lanes.map((lane) => ({ every: lane.every, points: [] }));
    this.events = message.lanes.map(() => []);
    this.frames = [];
    this.focus = { lane: Math.min(this.focus.lane, message.lanes.length - 1), cell: null };
    this.hideError();
    if (message.warnings?.length) this.notice(message.warnings.join(" "));
    if (!this.speedChosen) this.setSpeed(Math.min(Math.max(Math.round(this.length / 15), 20), 3000), false);
    this.buildLanes();
    this.showSetup();
    if (!this.recording) writeAddress({ setup: this.setup, layer: this.options.layer });
  }

  showSetup() {
    const isMap = Boolean(this.setup.world_options?.map);
    const inGallery = isMap && this.catalogue.gallery.some((each) => each.name === this.setup.world && each.map === this.setup.world_options.map);
    const value = !isMap ? `world:${this.setup.world}` : inGallery ? `gallery:${this.setup.world}` : "painted";
    const groups = [{ label: "Worlds of the paper", options: this.catalogue.worlds.map(({ name }) => ({ value: `world:${name}`, label: name })) },
      { label: "Teaching worlds", options: this.catalogue.gallery.map(({ name, title }) => ({ value: `gallery:${name}`, label: title })) }];
    if (value === "painted") groups.unshift({ value, label: this.setup.world });
    fillSelect($("world"), groups, value);
    $("seed").value = this.setup.seed;
    const parts = this.world.layers.map((layer, i) => ({ value: String(i), label: layer.name }));
    $("part-group").hidden = parts.length < 2;
    fillSelect($("part"), [{ value: "start", label: `start (${this.world.layers[this.world.startLayer].name})` }, { value: "agent", label: "where the agent is" }, ...parts], this.options.part);
    if (!$("part").value) $("part").value = this.options.part = "start";
    const count = this.setup.lanes.length;
    const pairs = [];
    for (let a = 0; a < count; a++) for (let b = 0; b < count; b++) if (a !== b) pairs.push({ value: `${a}-${b}`, label: `lane ${a + 1} − lane ${b + 1}` });
    $("difference-group").hidden = count < 2;
    fillSelect($("difference"), [{ value: "", label: "off" }, ...pairs], this.options.difference);
    if (!$("difference").value) this.options.difference = "";
    $("add-lane").disabled = count >= this.catalogue.limits.lanes;
    setText($("length"), `of ${this.length}`);
    $("timeline").max = this.recording ? this.length : 0;
  }

  buildLanes() {
    const count = this.setup.lanes.length;
    while (this.cards.length > count) this.cards.pop().root.remove();
    while (this.cards.length < count) {
      this.cards.push(new LaneCard(this.cards.length, this.catalogue, {
        change: (number, changes) => this.changeLane(number, changes),
        remove: (number) => this.removeLane(number),
        hover: (lane, cell) => { this.focus = { lane, cell }; this.render(); },
      }, Boolean(this.recording)));
    }
    this.cards.forEach((card, i) => card.configure(this.setup.lanes[i], this.descriptions[i], i === count - 1, count));
    $("lanes").replaceChildren(...this.cards.map((card) => card.root));
  }

  // ------------------------------------------------------------------ frames

  receive(message, frames) {
    if (frames.length !== this.cards.length) return;
    this.frames = frames;
    this.live = message.step;
    this.viewed = message.shown;
    this.playing = message.playing;
    this.busy = message.busy;
    message.lanes.forEach((lane, i) => {
      this.series[i].points.length = Math.min(this.series[i].points.length, lane.first);
      this.series[i].points.push(...lane.points);
      this.events[i].push(...lane.events);
    });
    if (!this.recording) {
      $("timeline").max = Math.max(this.live, 1);
      this.keepSession();
    }
    this.needsAck = true;
    this.render();
  }

  render() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.drawNow();
      if (this.needsAck) {
        this.needsAck = false;
        this.source.shown();
      }
      this.framesDrawn = (this.framesDrawn ?? 0) + 1;
    });
  }

  // Arranges the lanes in as many columns as make their maps largest; returns the height of a map.
  arrange() {
    const box = $("lanes");
    const count = box.children.length;
    const { rows, columns } = this.world;
    const isPresenting = document.body.classList.contains("presenting");
    if (matchMedia("(max-width: 760px)").matches) {
      box.style.setProperty("--columns", 1);
      return Math.max(window.innerHeight * 0.6, MAPS_MIN);
    }
    const top = $("stage").getBoundingClientRect().top + window.scrollY;
    const height = window.innerHeight - top - (isPresenting ? PRESENTED_CHARTS : 16);
    let best = { cell: 0 };
    for (let across = 1; across <= count; across++) {
      const down = Math.ceil(count / across);
      const mapHeight = Math.max(height / down - (isPresenting ? 150 : AROUND_MAP), MAPS_MIN / down);
      const cell = Math.min((box.clientWidth / across - 36) / columns, mapHeight / rows);
      if (cell > best.cell + 0.01) best = { cell, across, mapHeight };
    }
    box.style.setProperty("--columns", best.across);
    return best.mapHeight;
  }

  drawNow() {
    if (!this.world || this.frames.length !== this.cards.length) return;
    if (!this.options.difference) this.difference.root.remove();
    else if (!this.difference.root.isConnected) $("lanes").append(this.difference.root);
    const scales = scalesFor(this.frames, this.descriptions, this.options);
    const mapHeight = this.arrange();
    const theme = themeName();
    const partOf = (frame) => this.partFor(frame);
    this.cards.forEach((card, i) => {
      const frame = this.frames[i];
      card.draw({ ...this.options, world: this.world, frame, scale: scales[i], theme, mapHeight, part: partOf(frame) });
      const upTo = Math.floor(this.viewed / this.series[i].every);
      const event = this.events[i].findLast((each) => each.step <= this.viewed);
      card.facts({ frame, world: this.world, points: this.series[i].points.slice(0, upTo), event });
    });
    if (this.options.difference) this.drawDifference(scales, { ...this.options, world: this.world, theme, mapHeight });
    setText($("step"), String(this.viewed));
    if (document.activeElement !== $("timeline") || !this.scrubbing) $("timeline").value = this.viewed;
    $("timeline").setAttribute("aria-valuetext", `step ${this.viewed}`);
    document.body.classList.toggle("is-running", this.playing || Boolean(this.busy));
    this.drawCharts();
    const { lane, cell } = this.focus;
    const now = performance.now();
    if (this.playing && now - (this.cellAt ?? 0) < CELL_EVERY) return;
    this.cellAt = now;
    showCell({ world: this.world, frame: this.frames[lane], lane, name: this.setup.lanes[lane].explorer, cell, part: partOf(this.frames[lane]) });
  }

  partFor(frame) {
    if (this.options.part === "agent") return this.world.layers.findIndex((layer) => layer.state.includes(frame.agent));
    return this.options.part === "start" ? this.world.startLayer : Math.min(Number(this.options.part), this.world.layers.length - 1);
  }

  drawDifference(scales, view) {
    const [a, b] = this.options.difference.split("-").map(Number);
    if (!this.frames[a] || !this.frames[b]) return;
    const title = `Lane ${a + 1} − lane ${b + 1}`;
    this.difference.draw({ ...view, scale: scales[a], part: this.partFor(this.frames[a]) }, this.frames[a], this.frames[b], title);
  }

  drawCharts() {
    const now = performance.now();
    // Curves change slowly; the maps are what has to be smooth.
    if (this.playing && now - (this.chartsAt ?? 0) < CHARTS_EVERY) return;
    this.chartsAt = now;
    const names = this.setup.lanes.map((lane) => lane.explorer);
    this.charts.draw({ series: this.series, step: this.viewed, length: this.length, world: this.world, names });
  }

  // ------------------------------------------------------------------ controls

  buildControls() {
    const click = (id, action) => $(id).addEventListener("click", action);
    click("run", () => this.run());
    click("pause", () => this.source.pause());
    click("step-button", () => this.source.step(1));
    click("restart", () => this.restart());
    click("next-event", () => this.source.nextEvent($("event-kind").value));
    click("add-lane", () => this.addLane());
    click("new-seed", () => this.change({ seed: (Number(this.setup.seed) + 1) % 2147483647 }, { step: 0 }));
    click("paint", () => this.painter.show());
    click("results", () => this.results.show());
    click("error-close", () => this.hideError());
    click("theme", () => this.switchTheme());
    click("present", () => this.present());
    click("help", () => $("help-dialog").showModal());
    click("share", () => $("share-dialog").showModal());
    $("world").addEventListener("change", (event) => this.chooseWorld(event.target.value));
    $("seed").addEventListener("change", (event) => this.change({ seed: Number(event.target.value) }, { step: 0 }));
    $("speed").addEventListener("input", (event) => this.setSpeed(speedOf(Number(event.target.value)), true));
    const timeline = $("timeline");
    const seek = debounce((step) => this.source.seek(step), 15);
    timeline.addEventListener("input", () => { this.scrubbing = true; seek(Number(timeline.value)); });
    timeline.addEventListener("change", () => { this.scrubbing = false; });
    const radios = LAYERS.map((layer) => {
      const input = element("input", { type: "radio", name: "layer", value: layer.id, onchange: () => this.setOption("layer", layer.id) });
      input.checked = layer.id === this.options.layer;
      return element("label", {}, input, element("span", {}, layer.label));
    });
    $("layer").append(...radios);
    for (const id of ["scale", "arrows", "part", "difference"]) {
      $(id).value = this.options[id];
      $(id).addEventListener("change", () => this.setOption(id, $(id).value));
    }
    for (const id of ["trail", "numbers", "shared"]) {
      $(id).checked = this.options[id];
      $(id).addEventListener("change", () => this.setOption(id, $(id).checked));
    }
    new ResizeObserver(() => this.render()).observe(document.body);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.themeChanged());
    this.setSpeed(speedOf(50), false);
    document.documentElement.dataset.ready = "true";
  }

  run() {
    if (this.length && this.live >= this.length && this.viewed >= this.length) {
      this.notice("The budget is used up. Restart, or choose another seed.");
    }
    this.source.play(this.speed);
  }

  restart() {
    if (this.recording) this.source.restart();
    else this.change({}, { step: 0, playing: false });
  }

  setSpeed(speed, chosen) {
    this.speed = speed;
    if (chosen) this.speedChosen = true;
    $("speed").value = positionOf(speed);
    $("speed").setAttribute("aria-valuetext", speedText(speed));
    setText($("speed-text"), speed === 0 ? "max" : `${speed}/s`);
    this.source?.setSpeed(speed);
  }

  setOption(name, value) {
    this.options[name] = value;
    keep("localStorage", { ...kept("localStorage"), view: this.options });
    const radio = document.querySelector(`#layer input[value="${CSS.escape(this.options.layer)}"]`);
    if (radio) radio.checked = true;
    if (name === "layer" && !this.recording && this.setup) writeAddress({ setup: this.setup, layer: value });
    this.render();
  }

  keepSession() {
    const now = performance.now();
    if (now - (this.keptAt ?? -1000) < 250 && this.playing) return;
    this.keptAt = now;
    keep("sessionStorage", { setup: this.setup, step: this.live, playing: this.playing, speed: this.speed });
  }

  restoreTheme() {
    const { theme } = kept("localStorage");
    if (theme) document.documentElement.dataset.theme = theme;
    this.themeChanged();
  }

  switchTheme() {
    const theme = themeName() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    keep("localStorage", { ...kept("localStorage"), theme });
    this.themeChanged();
  }

  themeChanged() {
    setText($("theme"), themeName() === "dark" ? "Light" : "Dark");
    if (this.setup && this.cards.length) this.buildLanes();
    this.chartsAt = 0;
    this.render();
  }

  present() {
    this.chartsAt = 0;
    const on = document.body.classList.toggle("presenting");
    $("present").setAttribute("aria-pressed", String(on));
    if (on) document.documentElement.requestFullscreen?.().catch(() => {});
    else if (document.fullscreenElement) document.exitFullscreen();
    this.render();
  }

  // ------------------------------------------------------------------ messages

  error(text) {
    setText($("error-text"), text);
    $("error").hidden = false;
    // A setup that was refused leaves the lanes of the one before.
    if (this.previous && this.descriptions.length) {
      this.setup = this.previous;
      this.previous = null;
      this.source.open(this.setup, { step: this.live, playing: false, speed: this.speed });
      this.keepError = true;
    }
  }

  hideError() {
    if (this.keepError) {
      this.keepError = false;
      return;
    }
    $("error").hidden = true;
  }

  notice(text) {
    const box = $("notice");
    setText(box, text);
    box.hidden = false;
    clearTimeout(this.noticeTimer);
    this.noticeTimer = setTimeout(() => { box.hidden = true; this.render(); }, 9000);
    this.render();
  }

  connection(isOpen) {
    const box = $("connection");
    box.hidden = isOpen;
    setText(box, isOpen ? "" : "The server cannot be reached. Start it again with “wanderlust studio”; this page reconnects by itself and goes on where it was.");
    this.render();
  }
}

async function start() {
  const embedded = document.getElementById("recording");
  const recording = embedded ? JSON.parse(embedded.textContent) : null;
  const catalogue = recording ? recording.catalogue : await (await fetch(`catalogue.json${location.search}`)).json();
  globalThis.studio = new App(catalogue, recording);
}

start().catch((error) => {
  setText($("error-text"), `The page cannot start: ${error.message}. Reload it.`);
  $("error").hidden = false;
});
