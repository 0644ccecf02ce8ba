// The page: its setup, its frames, and what its parts share.

import { $, debounce, setText } from "./dom.js";
import { LaneCard } from "./lanes.js";
import { EngineSource } from "./engine-source.js";
import { LessonPanel } from "./lesson.js";
import { LiveSource } from "./source.js";
import { layerById } from "./frames.js";
import { Messages } from "./messages.js";
import { openSheet } from "./inspector.js";
import { Painter } from "./painter.js";
import { RecordedSource } from "./recorded.js";
import { ResultsBrowser } from "./results.js";
import { Stage } from "./stage.js";
import { changeLane, installControls, showLayer, showSetup, showSpeed, speedOf } from "./controls.js";
import { installShortcuts } from "./shortcuts.js";
import { installTakeaway } from "./takeaway.js";
import { keep, kept, readLink, writeAddress } from "./link.js";
import { themeName } from "./palette.js";

const KEEP_EVERY = 250;
const SEEK_MILLISECONDS = 15;
const SWIPE_MILLISECONDS = 120;
const SLOW_MILLISECONDS = 3000;
const SLOW = "The server is computing. The first run on a machine compiles its code, which takes about ten seconds.";
// Who wants less motion sees a running map four times a second.
const REDUCED_MOTION = matchMedia("(prefers-reduced-motion: reduce)");
const CALM_EVERY = 250;
// Steps per second at the beginning, and by how much they grow how often.
const FIRST_SPEED = 4, FASTER = 1.6, FASTER_EVERY = 1500;
const VIEW = { layer: "state-visits", scale: "auto", arrows: "auto", trail: true, path: true, beside: false, numbers: true, shared: true, part: "start", difference: "" };

class App {
  // Of a page without a server: a recording, or the worlds that an engine executes.
  constructor(catalogue, recording, engine) {
    this.catalogue = catalogue;
    this.recording = recording;
    this.engine = engine;
    // The map of the beginning, and those that replace it at a step.
    this.worlds = [];
    this.length = 0;
    this.live = 0;
    this.viewed = 0;
    this.playing = false;
    this.cards = [];
    this.frames = [];
    this.series = [];
    this.events = [];
    this.descriptions = [];
    // The lane whose table is shown, by default the first that learns W, and its cell; null for that of the agent.
    this.focus = { lane: null, cell: null, isPinned: false };
    this.speedChosen = false;
    this.worldCount = 0;
    this.framesDrawn = 0;
    this.sought = null;
    this.received = 0;
    this.options = { ...VIEW, ...kept("localStorage").view };
    document.body.classList.toggle("is-recorded", Boolean(recording));
    document.body.classList.toggle("is-static", Boolean(engine));
    this.messages = new Messages();
    this.stage = new Stage(this);
    this.restoreTheme();
    installControls(this);
    this.setSpeed(speedOf(50), false);
    /** @type {any} One of three, of which only one plays a recording and only two open a setup. */
    this.source = this.makeSource();
    this.lesson = new LessonPanel(this);
    this.painter = recording || engine ? null : new Painter($("paint-bar"), this);
    this.results = recording || engine ? null : new ResultsBrowser($("results-dialog"), this);
    installTakeaway(this);
    $("lanes").addEventListener("scroll", debounce(() => this.followSwipe(), SWIPE_MILLISECONDS));
    installShortcuts(this);
    this.open();
    document.documentElement.dataset.ready = "true";
  }

  makeSource() {
    const on = {
      opened: (message) => this.opened(message),
      state: (message, frames) => this.receive(message, frames),
      found: (text) => this.notice(text),
      error: (message) => this.failed(message),
      connection: (isOpen) => this.messages.connection(isOpen),
    };
    if (this.engine) return new EngineSource(this.engine, on);
    return this.recording ? new RecordedSource(this.recording, on) : new LiveSource(on, this.catalogue.limits.message);
  }

  // ------------------------------------------------------------------ setup

  open() {
    if (this.recording) {
      this.setup = this.recording.setup;
      setText($("recorded-note"), `${this.setup.world}, seed ${this.setup.seed}, a recorded run`);
      $("recorded-note").hidden = false;
      if (this.lesson.show(this.catalogue.lesson)) this.options.layer = this.lesson.lesson.layer;
      showLayer(this.options.layer);
      this.source.start();
      return;
    }
    const link = readLink();
    const session = kept("sessionStorage");
    this.setup = link?.setup ?? this.catalogue.opening;
    const lesson = this.lesson.show(link ? link.lesson : this.catalogue.lesson, link?.stop);
    if (link?.layer || lesson) this.options.layer = layerById(link?.layer ?? lesson.layer).id;
    showLayer(this.options.layer);
    const isReload = JSON.stringify(session.setup) === JSON.stringify(this.setup);
    if (isReload && session.speed !== undefined) this.setSpeed(session.speed, true);
    this.source.open(this.setup, { step: isReload ? session.step : link?.step ?? lesson?.stops[this.lesson.index].step ?? 0, playing: isReload && session.playing === true, speed: this.speed });
    this.watch(true);
    this.results?.offer(this.catalogue.store);
  }

  // Opens a changed setup; the run is repeated up to the present step, so that only the change shows.
  change(changes, { step = this.live, playing = this.playing } = {}) {
    if (changes.world !== undefined && changes.world !== this.setup.world) this.speedChosen = false;
    // Another world has none of the changes that were made of this one.
    this.setup = { ...this.setup, ...(changes.world === undefined ? {} : { changes: [] }), ...changes };
    this.sought = null;
    this.source.open(this.setup, { step, playing, speed: this.speed });
    this.watch(true);
  }

  opened(message) {
    this.setup = this.accepted = message.setup;
    this.worlds = [{ step: 0, world: message.world }, ...(message.changes ?? [])].map(({ step, world }) => ({ step, world: { ...world, id: ++this.worldCount } }));
    this.descriptions = message.lanes;
    this.length = message.length;
    this.snippets = message.snippets;
    this.series = message.lanes.map((lane) => ({ every: lane.every, points: [] }));
    this.events = message.lanes.map(() => []);
    this.frames = [];
    this.sought = null;
    this.focus = { lane: 0, cell: null, isPinned: false };
    if (this.keepError) this.keepError = false;
    else this.messages.hideError();
    if (message.warnings?.length) this.notice(message.warnings.join(" "));
    if (!this.speedChosen) this.setSpeed(Math.min(Math.max(Math.round(this.length / 15), 20), 3000), false);
    this.buildLanes();
    this.showLane();
    showSetup(this);
    this.painter?.opened();
    this.keepAddress();
  }

  // The map at the step that is shown.
  get shownWorld() {
    return this.worlds.findLast(({ step }) => step <= this.viewed)?.world ?? this.worlds[0]?.world ?? null;
  }

  // What is drawn: that map, or what is being painted.
  get world() {
    return this.painter?.preview ?? this.shownWorld;
  }

  // What a link holds.
  get address() {
    const { lesson, index } = this.lesson;
    return { setup: this.setup, layer: this.options.layer, ...(lesson ? { lesson: lesson.name, stop: index } : {}) };
  }

  keepAddress() {
    if (!this.recording && this.accepted) writeAddress(this.address);
  }

  buildLanes() {
    const count = this.setup.lanes.length;
    while (this.cards.length > count) this.cards.pop().root.remove();
    while (this.cards.length < count) {
      this.cards.push(new LaneCard(this.cards.length, this.catalogue, {
        change: (number, changes) => changeLane(this, number, changes),
        remove: (number) => this.change({ lanes: this.setup.lanes.filter((_, i) => i !== number) }),
        hover: (lane, cell) => { if (!this.focus.isPinned) this.showCellOf(lane, cell, false); },
        painter: this.painter,
        pin: (lane, cell) => this.showCellOf(lane, cell, !(this.focus.isPinned && this.focus.lane === lane && this.focus.cell === cell)),
      }, Boolean(this.recording)));
      this.cards.at(-1).facts({ world: this.world, last: null });
    }
    this.cards.forEach((card, i) => card.configure(this.setup.lanes[i], this.descriptions[i], i === count - 1, count));
    // A card stays in its place: taken out and put back, it would lose the focus, and a slider that is being dragged.
    const box = $("lanes");
    box.querySelector(".starting")?.remove();
    this.cards.forEach(({ root }, i) => { if (box.children[i] !== root) box.insertBefore(root, box.children[i] ?? null); });
    // Before the first frame comes, so that the lanes are never seen in another arrangement.
    this.stage.arrange();
    this.stage.rearrange();
  }

  // ------------------------------------------------------------------ frames

  receive(message, frames) {
    if (frames.length !== this.cards.length) return;
    this.frames = frames;
    this.live = message.step;
    this.viewed = message.shown;
    if (this.sought !== null && this.viewed === Math.min(this.sought, this.live)) this.sought = null;
    this.playing = message.playing;
    this.busy = message.busy;
    message.lanes.forEach((lane, i) => {
      this.series[i].points.length = Math.min(this.series[i].points.length, lane.first);
      this.series[i].points.push(...lane.points);
      this.events[i].push(...lane.events);
    });
    if (!this.recording) {
      this.keepSession();
      this.watch(this.playing || this.busy);
    }
    this.received += 1;
    $("run").setAttribute("aria-pressed", String(this.playing));
    this.lesson.update();
    this.render();
  }

  // A cell that is pinned stays when the pointer leaves it.
  showCellOf(lane, cell, isPinned) {
    if (isPinned !== this.focus.isPinned) openSheet(isPinned);
    this.focus = { lane, cell, isPinned };
    this.render();
  }

  // Shows the lane that a lesson is about, or the first that learns W: its table, and on a phone, where one lane is seen, its map.
  showLane() {
    if (!this.cards.length) return;
    const wanted = (this.lesson?.lane ?? 1 + this.descriptions.findIndex((each) => each.learnsW)) - 1;
    const lane = wanted in this.cards ? wanted : 0, box = $("lanes"), { root } = this.cards[lane];
    if (!this.focus.isPinned) this.focus = { lane, cell: null, isPinned: false };
    box.scrollTo({ left: root.offsetLeft - box.offsetLeft - (box.clientWidth - root.offsetWidth) / 2 });
    this.render();
  }

  // A lane that was swiped into view is the one whose table is shown.
  followSwipe() {
    const box = $("lanes"), centre = box.scrollLeft + box.offsetLeft + box.clientWidth / 2;
    if (box.scrollWidth <= box.clientWidth || this.focus.isPinned) return;
    const distances = this.cards.map(({ root }) => Math.abs(root.offsetLeft + root.offsetWidth / 2 - centre));
    const lane = distances.indexOf(Math.min(...distances));
    if (lane !== this.focus.lane) this.showCellOf(lane, null, false);
  }

  // Draws once per frame of the screen, however many frames of the run came; then the server may send as many again.
  render() {
    if (this.waiting) return;
    this.waiting = true;
    const pause = this.playing && REDUCED_MOTION.matches ? CALM_EVERY - (performance.now() - (this.drawnAt ?? -CALM_EVERY)) : 0;
    if (pause > 0) setTimeout(() => requestAnimationFrame(() => this.drawNow()), pause);
    else requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    this.waiting = false;
    this.drawnAt = performance.now();
    const isDrawn = this.stage.draw();
    if (this.received) this.source.shown(this.received);
    this.received = 0;
    if (isDrawn) this.framesDrawn += 1;
  }

  // A page that waits for the server says why.
  watch(isWaiting) {
    clearTimeout(this.slowTimer);
    if (isWaiting && !this.engine) this.slowTimer = setTimeout(() => { if (this.source.ready && !document.hidden) this.notice(SLOW); }, SLOW_MILLISECONDS);
  }

  // ------------------------------------------------------------------ controls

  run() {
    const step = this.settle();
    if (this.isEarlier(step)) {
      this.change({}, { step, playing: true });
      return;
    }
    if (!this.recording && this.length && this.live >= this.length) {
      this.notice("The budget is used up. Restart, or choose another seed.");
    }
    if (this.speedChosen || this.live > 0) this.source.play(this.speed);
    else this.runSlowlyFirst();
  }

  // The first steps of a run can be followed, unless a speed was chosen: it begins with a few and becomes faster.
  runSlowlyFirst() {
    const last = this.speed;
    clearInterval(this.faster);
    this.setSpeed(FIRST_SPEED, false);
    this.source.play(FIRST_SPEED);
    this.faster = setInterval(() => {
      if (!this.playing && this.live > 0 || this.speedChosen || this.speed >= last) clearInterval(this.faster);
      else this.setSpeed(Math.min(Math.round(this.speed * FASTER), last), false);
    }, FASTER_EVERY);
  }

  // Runs on to a step and pauses there.
  runTo(step, speed) {
    this.settle();
    this.setSpeed(speed, true);
    this.source.play(speed, step);
  }

  seekNow(step) {
    this.seek(step);
    this.settle();
  }

  step() {
    const step = this.settle();
    if (!this.isEarlier(step)) this.source.step(1);
    else this.source.seek(this.sought = step + 1);
  }

  nextEvent() {
    const step = this.settle();
    if (this.isEarlier(step)) this.change({}, { step, playing: false });
    this.source.nextEvent($("event-kind").value);
  }

  // Shows another step, when the timeline has stopped for a moment.
  seek(step) {
    this.sought = Math.min(Math.max(step, 0), this.recording ? this.length : this.live);
    clearTimeout(this.seekTimer);
    this.seekTimer = setTimeout(() => this.settle(), SEEK_MILLISECONDS);
  }

  // Asks now for the step at which the timeline is, and returns it: what is done next goes on from there.
  settle() {
    const step = this.sought ?? this.viewed;
    if (this.seekTimer) this.source.seek(step);
    clearTimeout(this.seekTimer);
    this.seekTimer = 0;
    return step;
  }

  // Of a live run, the steps after the shown one are executed again.
  isEarlier(step) {
    return !this.recording && step < this.live;
  }

  restart() {
    if (this.recording) this.source.restart();
    else this.change({}, { step: 0, playing: false });
  }

  setSpeed(speed, chosen) {
    this.speed = speed;
    if (chosen) this.speedChosen = true;
    showSpeed(speed);
    this.source?.setSpeed(speed);
  }

  setOption(name, value) {
    this.options[name] = value;
    keep("localStorage", { ...kept("localStorage"), view: this.options });
    showLayer(this.options.layer);
    if (name === "layer") this.keepAddress();
    this.lesson.showPlace();
    if (value === "w" && !this.descriptions[this.focus.lane]?.learnsW) this.showLane();
    this.stage.rearrange();
  }

  keepSession() {
    const now = performance.now();
    if (now - (this.keptAt ?? -1000) < KEEP_EVERY && this.playing) return;
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
    this.stage.rearrange();
  }

  get isPresenting() {
    return document.body.classList.contains("presenting");
  }

  present(on = !this.isPresenting) {
    document.body.classList.toggle("presenting", on);
    $("present").setAttribute("aria-pressed", String(on));
    if (on) document.documentElement.requestFullscreen?.().catch(() => {});
    else if (document.fullscreenElement) document.exitFullscreen();
    this.stage.rearrange();
  }

  // ------------------------------------------------------------------ messages

  error(text) {
    this.messages.error(text);
  }

  // A setup that was refused leaves the lanes of the one before; a link that was refused, those of the command.
  failed({ about, id, message }) {
    this.error(message);
    const before = this.accepted ?? this.catalogue.opening;
    if (about !== "open" || id !== this.source.openId || this.setup === before) return;
    this.setup = before;
    this.keepError = true;
    this.source.open(this.setup, { step: this.live, playing: false, speed: this.speed });
  }

  notice(text) {
    this.messages.notice(text);
  }
}

async function start() {
  const embedded = document.getElementById("embedded");
  const data = embedded ? JSON.parse(embedded.textContent) : null;
  const catalogue = data ? data.catalogue : await (await fetch("catalogue.json")).json();
  globalThis.studio = new App(catalogue, data?.frames ? data : null, data?.worlds ? data : null);
}

start().catch((error) => {
  setText($("error-text"), `The page cannot start: ${error.message}. Reload it.`);
  $("error").hidden = false;
});
