// The cards of the lanes: explorer and its options, the map, a legend, and the numbers below it.

import { LANE_COLOURS, themeName } from "./palette.js";
import { MapPainter } from "./map-painter.js";
import { positionsOf } from "./cells.js";
import { hasArrows } from "./map-marks.js";
import { cellAt, cellByKey, fitCanvas, isArrowKey } from "./geometry.js";
import { element, fillSelect, setText, throttle, typeset } from "./dom.js";
import { Legend } from "./legend.js";
import { formatNumber, layerById, layerValues, rankedStates, relativeValues } from "./frames.js";
import { sentenceOf } from "./sentence.js";
import { RANKED } from "./view.js";

const SETTINGS = [
  { name: "initial", kind: "choice", choices: ["zero", "optimistic"], text: "Initial Q of the behaviour." },
  { name: "replay", kind: "choice", choices: ["full", "none", "window"], text: "Replay memory." },
  { name: "learning_rate", kind: "number", text: "η, the step size of every table." },
];
// Size of a cell, in pixels, from which its triangles can be told apart.
const TRIANGLES_FROM = 14;
const BESIDE_GAP = 10;
const CONSTANTS_TEXT = "κ: the weight of U, by default r_max / (1 − γ), the return if the largest reward came at every step. γ_w: the discount of W.";
const EPSILON_TEXT = "ε: the probability of a random action, which falls during the run.";
const DISCOVERED_TEXT = "States in which an action was taken.";
const RETURN_TEXT = "Discounted return of the greedy policy of Q, without exploration. It is evaluated from time to time.";
const PRESET_TEXT = "as_written: the paper's text; as_published_code: the released code, where it differs.";
const GREEK = { kappa: "κ", gamma_w: "γ_w", epsilon_start: "ε start", epsilon_end: "ε end", learning_rate: "η learning rate", scale: "α scale", initial: "initial Q", replay: "memory" };

export class LaneCard {
  // on: {change(lane, changes), remove(lane), hover(lane, cell), pin(lane, cell), painter}
  constructor(number, catalogue, on, recorded) {
    this.number = number;
    this.catalogue = catalogue;
    this.on = on;
    this.recorded = recorded;
    this.hovered = null;
    this.painter = new MapPainter();
    this.build();
  }

  build() {
    const title = `Lane ${this.number + 1}`;
    this.select = element("select", { "aria-label": "Explorer", onchange: () => this.on.change(this.number, { explorer: this.select.value, options: {} }) });
    this.select.disabled = this.recorded;
    fillSelect(this.select, this.catalogue.explorers.map(({ name }) => ({ value: name, label: name })));
    this.remove = element("button", { type: "button", class: "quiet", onclick: () => this.on.remove(this.number) }, "×");
    this.fields = element("div", { class: "fields" });
    this.options = element("details", { class: "options" }, element("summary", { "aria-label": "Options" }, "⚙"), this.fields);
    this.canvas = element("canvas", { tabindex: "0", role: "application", "aria-roledescription": "map", "aria-label": `Map of lane ${this.number + 1}` });
    this.context = this.canvas.getContext("2d");
    // Q beside the layer, as an option.
    this.beside = element("canvas", { role: "img", "aria-label": `Q of lane ${this.number + 1}` });
    this.besidePainter = new MapPainter();
    this.frameBox = element("div", { class: "map" }, this.canvas);
    this.legend = new Legend();
    this.discovered = element("span", { role: "status", "aria-label": "States discovered", "aria-live": "off" }, "0");
    this.reachable = element("span", { class: "dim" });
    this.returned = element("strong", {}, "–");
    this.event = element("span", { class: "dim event" });
    // The constants of its W or its ε, which the options may change.
    this.constants = element("span", { class: "dim constants" });
    this.sentence = element("p", { class: "sentence", role: "status", "aria-label": "Next action" });
    const head = element("div", { class: "lane-head" }, element("span", { class: "chip", "aria-hidden": "true" }, String(this.number + 1)), this.select, this.options, this.constants, this.remove);
    const facts = element("div", { class: "facts" },
      element("span", { title: DISCOVERED_TEXT }, "discovered ", this.discovered, this.reachable),
      element("span", { title: RETURN_TEXT }, "greedy return ", this.returned), this.event);
    this.root = element("section", { class: `lane lane-${this.number + 1}`, "aria-label": title }, head, this.frameBox, this.legend.root, this.sentence, facts);
    const { painter } = this.on;
    this.canvas.addEventListener("pointermove", (event) => {
      const cell = cellAt(event, this.canvas, this.world);
      painter?.drag(cell);
      this.hover(cell);
    });
    this.canvas.addEventListener("pointerdown", (event) => {
      this.hovered = cellAt(event, this.canvas, this.world);
      if (painter?.press(this.hovered)) this.canvas.setPointerCapture(event.pointerId);
      else this.on.pin(this.number, this.hovered);
    });
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => painter?.release());
    // A finger leaves the map when it is lifted; what it pointed at stays.
    this.canvas.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") this.hover(null); });
    this.canvas.addEventListener("keydown", (event) => this.moveByKey(event));
    this.canvas.addEventListener("blur", () => this.hover(null));
  }

  moveByKey(event) {
    if (!this.world) return;
    const isPainted = this.on.painter?.key(event, this.hovered);
    if (!isPainted && !isArrowKey(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (isPainted) return;
    const agent = this.frame ? positionsOf(this.world)[this.frame.agent] : null;
    this.hover(cellByKey(this.hovered ?? (agent ? agent[0] * this.world.columns + agent[1] : 0), event.key, this.world));
  }

  hover(cell) {
    if (cell === this.hovered) return;
    this.hovered = cell;
    this.on.hover(this.number, cell);
  }

  // The choices of the lane, from the setup; only what differs from the default is part of it.
  configure(lane, description, isLast, count) {
    this.lane = lane;
    this.description = description;
    this.select.value = lane.explorer;
    const { kappa, gamma_w: gamma, decay, epsilon_start: start, epsilon_end: end } = description.fields;
    setText(this.constants, gamma !== undefined ? `κ ${formatNumber(kappa)}, γ_w ${formatNumber(gamma)}` : decay !== undefined ? `ε ${formatNumber(start)} to ${formatNumber(end)}` : "");
    this.constants.title = gamma !== undefined ? CONSTANTS_TEXT : EPSILON_TEXT;
    this.remove.hidden = this.recorded;
    this.remove.disabled = count === 1;
    const name = isLast ? "Remove lane" : "Close this lane";
    this.remove.setAttribute("aria-label", name);
    this.remove.title = name;
    this.root.style.setProperty("--lane", LANE_COLOURS[themeName()][this.number % 3]);
    const signature = `${lane.explorer} ${this.recorded}`;
    if (this.signature !== signature) {
      this.signature = signature;
      this.buildFields();
    }
    for (const field of this.allFields) field.show();
    const changed = Object.keys(lane.options ?? {}).length + Object.keys(lane.settings ?? {}).length + (lane.preset ? 1 : 0);
    setText(this.options.firstElementChild, changed ? `⚙ ${changed}` : "⚙");
    this.options.firstElementChild.title = `Options of the explorer${changed ? `, ${changed} of them changed` : ""}`;
  }

  buildFields() {
    const explorer = this.catalogue.explorers.find(({ name }) => name === this.lane.explorer);
    const preset = this.field({ name: "preset", kind: "choice", choices: this.catalogue.presets, default: this.catalogue.presets[0], text: PRESET_TEXT }, "");
    const own = (explorer?.options ?? []).map((option) => this.field(option, "options"));
    const shared = SETTINGS.map((option) => this.field(option, "settings"));
    this.allFields = [preset, ...own, ...shared];
    this.fields.replaceChildren(element("p", { class: "dim" }, explorer?.meaning ?? ""), ...this.allFields.map((field) => field.root));
  }

  field(option, part) {
    const label = GREEK[option.name] ?? option.name.replaceAll("_", " ");
    // The preset is a field of the lane itself.
    const own = () => (part ? this.lane[part] : this.lane)?.[option.name];
    const given = () => (part === "settings" ? this.description?.settings : this.description?.fields)?.[option.name];
    const used = () => own() ?? given() ?? option.default;
    const change = (value) => this.on.change(this.number, part ? { [part]: { [option.name]: value } } : { [option.name]: value });
    const later = throttle(change, 120);
    let input, slider = null, isEdited = false;
    // A value that is being typed or dragged is not replaced by the one of the setup.
    const edit = { oninput: () => { isEdited = true; }, onblur: () => { isEdited = false; } };
    if (option.kind === "flag") {
      input = element("input", { type: "checkbox", onchange: () => change(input.checked) });
    } else if (option.kind === "choice") {
      input = element("select", { onchange: () => change(input.value) });
      fillSelect(input, option.choices.map((choice) => ({ value: choice, label: choice })));
    } else {
      input = element("input", { type: "number", step: "any", ...edit, onchange: () => { isEdited = false; change(input.value === "" ? null : Number(input.value)); } });
      if (option.name === "gamma_w") {
        slider = element("input", { type: "range", min: "0", max: "0.999", step: "0.001", "aria-label": "γ_w as a slider", ...edit, onchange: () => { isEdited = false; } });
        slider.addEventListener("input", () => { input.value = slider.value; later(Number(slider.value)); });
      }
    }
    input.disabled = this.recorded;
    if (slider) slider.disabled = this.recorded;
    const root = element("label", { class: "field", title: option.text ?? "" }, element("span", {}, ...typeset(label)), input);
    const both = slider ? element("div", { class: "field-with-slider" }, root, slider) : root;
    const show = () => {
      const value = used();
      if (isEdited) return;
      if (option.kind === "flag") input.checked = Boolean(value);
      else input.value = value === null || value === undefined ? "" : option.kind === "number" ? Number(Number(value).toPrecision(8)) : value;
      if (slider && value !== null && value !== undefined) slider.value = value;
    };
    return { root: both, show };
  }

  // Sizes the map; it is drawn with cells of this size until the next call.
  fit(world, mapHeight, isBeside) {
    if (isBeside) this.frameBox.prepend(this.beside);
    else this.beside.remove();
    const width = isBeside ? (this.frameBox.clientWidth - BESIDE_GAP) / 2 : this.frameBox.clientWidth;
    this.cell = fitCanvas(this.canvas, world, width, mapHeight);
    if (isBeside) fitCanvas(this.beside, world, width, mapHeight);
  }

  // Prepares the picture of the lane; `view` holds what is shown.
  draw(view) {
    this.world = view.world;
    this.frame = view.frame;
    const { picture, layer } = this.pictureOf(view, view.layer, view.scale);
    this.picture = picture;
    this.painter.draw(this.context, picture, this.cell);
    if (view.beside) this.besidePainter.draw(this.beside.getContext("2d"), this.pictureOf(view, "q", view.besideScale).picture, this.cell);
    const { values, scale } = picture;
    this.legend.draw(scale, values ? (view.beside ? `Q, and ${layer.unit}` : layer.unit) : null, view.theme, this.marksOf(picture), `${this.lane?.explorer} learns no W.`);
  }

  pictureOf(view, id, ownScale) {
    const { world, frame, part } = view;
    const layer = layerById(id);
    const values = frame ? layerValues(frame, layer.id) : null;
    const isSmall = layer.isRelative && this.cell < TRIANGLES_FROM * (window.devicePixelRatio || 1);
    const share = isSmall ? rankedStates : relativeValues;
    const isMinimised = layer.id === "w" && this.description.minimises;
    const shares = values && layer.isRelative ? share(values, frame, isMinimised) : null;
    const scale = isSmall ? RANKED : ownScale;
    const arrows = view.arrows !== "auto" ? view.arrows : layer.isRelative ? "behaviour" : "greedy";
    const picture = { world, layer: part, frame, values, shares, scale, isMinimised, perAction: layer.perAction && !isSmall, theme: view.theme, arrows,
      trail: view.trail, path: view.path && layer.isRelative, numbers: view.numbers, hover: view.pinned ?? this.hovered, wrong: view.wrong };
    return { picture, layer };
  }

  // What the legend explains of a picture.
  /** @returns {any[]} */
  marksOf({ frame, arrows, trail, path }) {
    const isSeen = frame && hasArrows(this.picture, this.cell, window.devicePixelRatio || 1);
    const shown = { greedy: isSeen && arrows !== "behaviour", behaviour: isSeen && arrows !== "greedy", trail, path: path && trail,
      unreachable: this.painter.image.hasUnreachable };
    return Object.keys(shown).filter((name) => shown[name]);
  }

  facts({ frame, world, last, event, rule, playing, isFast }) {
    // Every step would be read aloud while the lane runs.
    this.sentence.setAttribute("aria-live", playing ? "off" : "polite");
    const [action, why] = frame && !isFast ? sentenceOf(world, frame, this.description, rule) : ["", ""];
    if (this.sentence.textContent !== `${action}${why}`) this.sentence.replaceChildren(element("strong", {}, action), why);
    setText(this.discovered, String(frame?.discovered ?? 0));
    setText(this.reachable, ` of ${world.reachable}`);
    setText(this.returned, last === null ? "not evaluated" : formatNumber(last));
    setText(this.event, event ? `${event.text}, step ${event.step}` : "no reward found yet");
  }
}
