// Painting on the maps of the lanes: brushes, fill, the start by dragging, undo and redo, the text of the map, and files.
// A change of cells takes effect at the present step of the run; another size or other settings start the run again.

import { $, debounce, download, element, setText } from "./dom.js";
import { MapModel, fromWorld, parseSettings, toText } from "./map-model.js";
import { keep, kept } from "./link.js";

const BRUSHES = [
  { id: "wall", label: "Wall" }, { id: "treasure", label: "Treasure", value: 1 }, { id: "penalty", label: "Penalty", value: -1 },
  { id: "puddle", label: "Cost", value: -0.05 }, { id: "prison", label: "Prison", value: 0 }, { id: "one-way", label: "One-way" },
  { id: "start", label: "Start" }, { id: "erase", label: "Erase" },
];
const MOVE_NAMES = ["left", "right", "up", "down"];
const BLANK = { rows: 8, columns: 8 };

export class Painter {
  constructor(box, app) {
    this.box = box;
    this.app = app;
    this.brush = "wall";
    this.isOn = false;
    this.stroke = null;
    // The map that is shown before the server has it, and the cell that the server finds wrong.
    this.preview = null;
    this.wrong = null;
    // Whether there are changes that the server has not seen yet.
    this.isPending = false;
    this.count = 0;
    this.model = MapModel.blank(BLANK.rows, BLANK.columns);
    this.apply = debounce(() => this.applyNow(), 150);
    this.build();
  }

  build() {
    this.inputs = {};
    const number = (label, name, attributes = {}) => {
      const input = this.inputs[name] = element("input", { type: "number", step: "any", ...attributes, onchange: () => this.setSetting(name, input.value) });
      return element("label", {}, label, input);
    };
    const button = (label, action, attributes = {}) => element("button", { type: "button", onclick: action, ...attributes }, label);
    const brushes = element("div", { class: "segments", role: "radiogroup", "aria-label": "Brush" }, ...BRUSHES.map((brush) => {
      const input = element("input", { type: "radio", name: "brush", value: brush.id, onchange: () => this.chooseBrush(brush) });
      input.checked = brush.id === this.brush;
      return element("label", {}, input, element("span", { "data-text": brush.label }, brush.label));
    }));
    this.value = element("input", { type: "number", step: "any", value: "1" });
    this.direction = element("select", {}, ...MOVE_NAMES.map((name) => element("option", { value: name }, name)));
    this.direction.value = "right";
    this.valueLabel = element("label", { hidden: true }, "Value", this.value);
    this.directionLabel = element("label", { hidden: true }, "Entered by moving", this.direction);
    this.fill = element("input", { type: "checkbox" });
    this.rows = element("input", { type: "number", min: "1", max: "100", onchange: () => this.resize() });
    this.columns = element("input", { type: "number", min: "1", max: "100", onchange: () => this.resize() });
    this.name = element("input", { type: "text", maxlength: "60", value: "painted" });
    this.undo = button("Undo", () => this.travel("undo"));
    this.redo = button("Redo", () => this.travel("redo"));
    this.text = element("textarea", { "aria-label": "Text map", spellcheck: "false" });
    this.problem = element("p", { class: "problem", role: "status", "aria-label": "Problem" });
    this.file = element("input", { type: "file", accept: ".map,.txt", hidden: true, "aria-label": "Map file", onchange: () => this.loadFile() });
    const panel = element("div", { class: "fields" },
      element("div", { class: "numbers" }, element("label", {}, "Rows", this.rows), element("label", {}, "Columns", this.columns),
        number("Step reward", "step"), number("Slip probability", "slip", { min: "0", max: "1" }),
        number("Horizon", "horizon", { min: "1", step: "1" }), number("Budget", "budget", { min: "1", step: "1" })),
      element("label", { class: "field" }, element("span", {}, "Name"), this.name),
      this.text, element("div", { class: "row" }, button("Read the text", () => this.readText(this.text.value)), button("Clear", () => this.edit(() => this.model.clear()))),
      element("div", { class: "row" }, button("Save file", () => this.save()), button("Load file…", () => this.file.click()), button("Last painted", () => this.restoreDraft()), this.file));
    this.box.replaceChildren(brushes, element("div", { class: "row" }, this.valueLabel, this.directionLabel, element("label", {}, this.fill, "Fill area")),
      element("div", { class: "row" }, this.undo, this.redo, button("Restart with this map", () => this.open())),
      element("details", { class: "options more" }, element("summary", {}, "Size, text, file"), panel), this.problem);
    this.box.addEventListener("keydown", (event) => this.travelByKey(event));
  }

  toggle(on = !this.isOn) {
    this.isOn = on;
    document.body.classList.toggle("painting", on);
    $("paint").setAttribute("aria-pressed", String(on));
    this.box.hidden = !on;
    this.preview = this.wrong = this.stroke = null;
    if (on) this.begin();
    this.app.stage.rearrange();
  }

  // The map that is shown now, and the draft that was made of it but could not be used.
  begin() {
    const read = this.readWorld();
    this.model = read ?? MapModel.blank(BLANK.rows, BLANK.columns);
    this.name.value = this.app.setup.world_options?.map ? this.app.setup.world : `my-${this.app.setup.world}`;
    const { draft } = kept("localStorage");
    if (!read) {
      this.app.notice("This world has no map that can be painted; this is an empty one.");
      this.changed();
    } else if (draft && draft.base === toText(read) && draft.snapshot !== read.snapshot()) {
      this.model.replace(JSON.parse(draft.snapshot));
      this.changed();
    } else {
      this.showModel();
    }
  }

  // Null if the world is not a map of cells with four moves.
  readWorld() {
    const { shownWorld, setup } = this.app;
    if (!shownWorld || shownWorld.layers.length > 1 || shownWorld.actions.join() !== MOVE_NAMES.join()) return null;
    const options = setup.world_options ?? {}, text = this.mapNow();
    const model = fromWorld(shownWorld, text ? parseSettings(text) : { step: options.step_penalty ?? this.defaultStep(setup.world), horizon: shownWorld.horizon, budget: shownWorld.budget });
    if (options.slips) model.settings.slip = Number((1 - options.slips[0]).toFixed(6));
    return model;
  }

  mapNow() {
    const { setup, viewed } = this.app;
    return setup.changes?.findLast(({ step }) => step <= viewed)?.map ?? setup.world_options?.map;
  }

  defaultStep(name) {
    return this.app.catalogue.worlds.find((world) => world.name === name)?.step ?? 0;
  }

  // The lanes were opened again, by the painter or by another control.
  opened() {
    // What was painted meanwhile is not lost.
    if (this.stroke || this.isPending) return;
    this.preview = null;
    if (!this.isOn) return;
    if (this.isOurs()) this.keepDraft();
    else this.begin();
  }

  isOurs() {
    const read = this.readWorld();
    return read !== null && toText(read) === toText(this.model) && this.hasSlipOf(read);
  }

  hasSlipOf(other) {
    return (this.model.settings.slip ?? 0) === (other.settings.slip ?? 0);
  }

  chooseBrush(brush) {
    this.brush = brush.id;
    if (brush.value !== undefined) this.value.value = brush.value;
    this.valueLabel.hidden = brush.value === undefined;
    this.directionLabel.hidden = brush.id !== "one-way";
  }

  // ------------------------------------------------------------------ strokes on the map of a lane

  // Returns whether the painter uses the press. On a start, it takes the start along.
  press(cell) {
    if (!this.isOn || cell === null) return false;
    if (!this.preview && !this.isOurs()) this.begin();
    this.model.begin();
    this.stroke = { cells: new Set(), start: this.model.cells[cell].kind === "start" && this.brush !== "erase" ? cell : null };
    if (this.stroke.start === null) this.drag(cell);
    return true;
  }

  drag(cell) {
    const { stroke, model } = this;
    if (!stroke || cell === null || stroke.cells.has(cell)) return;
    if (stroke.start === null) {
      stroke.cells.add(cell);
      model.paint(cell, this.brush, Number(this.value.value), this.direction.value, this.fill.checked);
    } else if (model.cells[cell].kind === "floor") {
      model.paint(stroke.start, "erase");
      model.paint(cell, "start");
      stroke.start = cell;
    }
    this.showPreview();
  }

  release() {
    if (!this.stroke) return;
    this.stroke = null;
    this.model.commit();
    this.changed();
  }

  // Returns whether the painter uses the key.
  key(event, cell) {
    if (!this.isOn || cell === null || !(event.key === " " || event.key === "Enter")) return this.travelByKey(event);
    this.press(cell);
    this.drag(cell);
    this.release();
    return true;
  }

  travelByKey(event) {
    if (!this.isOn || !(event.ctrlKey || event.metaKey) || event.target === this.text || !["z", "y"].includes(event.key)) return false;
    this.travel(event.key === "y" || event.shiftKey ? "redo" : "undo");
    return true;
  }

  // ------------------------------------------------------------------ other edits

  edit(action) {
    this.model.begin();
    action();
    this.model.commit();
    this.changed();
  }

  travel(direction) {
    if (this.model[direction]()) this.changed();
  }

  resize() {
    const bounded = (input, old) => Math.min(Math.max(Math.round(Number(input.value)) || old, 1), this.app.catalogue.limits.side);
    this.edit(() => this.model.resize(bounded(this.rows, this.model.rows), bounded(this.columns, this.model.columns)));
  }

  setSetting(name, text) {
    this.edit(() => {
      if (text === "") delete this.model.settings[name];
      else this.model.settings[name] = Number(text);
    });
  }

  async readText(text) {
    try {
      const { world } = await this.app.source.ask("check", { world: this.worldName(), world_options: { map: text } });
      const read = fromWorld(world, parseSettings(text));
      this.edit(() => this.model.replace(read));
    } catch (error) {
      this.showProblem(error.message);
    }
  }

  // ------------------------------------------------------------------ files and drafts

  save() {
    download(`${this.worldName().replace(/[^\w-]+/g, "-")}.map`, toText(this.model), "text/plain");
  }

  async loadFile() {
    const file = this.file.files[0];
    this.file.value = "";
    if (!file) return;
    this.name.value = file.name.replace(/\.\w+$/, "");
    await this.readText(await file.text());
  }

  keepDraft() {
    const read = this.readWorld();
    keep("localStorage", { ...kept("localStorage"), draft: { base: read && toText(read), snapshot: this.model.snapshot(), name: this.name.value } });
  }

  restoreDraft() {
    const { draft } = kept("localStorage");
    if (!draft) return;
    this.name.value = draft.name;
    this.edit(() => this.model.replace(JSON.parse(draft.snapshot)));
  }

  // ------------------------------------------------------------------ what is shown and sent

  changed() {
    this.isPending = true;
    this.keepDraft();
    this.showModel();
    this.showPreview();
    this.apply();
  }

  showModel() {
    const { model } = this;
    this.rows.value = model.rows;
    this.columns.value = model.columns;
    for (const [name, input] of Object.entries(this.inputs)) input.value = model.settings[name] ?? "";
    this.undo.disabled = !model.past.length;
    this.redo.disabled = !model.future.length;
    try {
      this.text.value = toText(model);
      this.showProblem("");
    } catch (error) {
      this.showProblem(error.message);
    }
  }

  showPreview() {
    const { model, app } = this, world = app.shownWorld;
    this.preview = null;
    if (world.rows === model.rows && world.columns === model.columns && world.layers.length === 1) {
      const { layers: [painted], entry } = model.asWorld();
      const layers = [{ ...world.layers[0], kind: painted.kind, value: painted.value }];
      this.preview = { ...world, layers, entry, id: `paint ${++this.count}` };
    }
    app.render();
  }

  worldName() {
    return this.name.value.trim() || "painted";
  }

  options() {
    const slip = this.model.settings.slip ?? 0;
    return { map: this.text.value, ...(slip > 0 ? { slips: [1 - slip, slip / 2, slip / 2] } : {}) };
  }

  // The server checks the map; then the lanes go on in it, or start again.
  async applyNow() {
    const before = this.text.value;
    try {
      const { warnings } = await this.app.source.ask("check", { world: this.worldName(), world_options: this.options() });
      if (this.text.value !== before) return;
      this.showProblem("", warnings.join(" "));
    } catch (error) {
      if (this.text.value === before) this.isPending = false;
      this.showProblem(error.message);
      return;
    }
    // A stroke that has begun meanwhile is checked at its end.
    if (this.stroke) return;
    this.isPending = false;
    if (this.isOurs()) {
      this.preview = null;
      return;
    }
    const step = this.app.settle();
    if (step === 0 || !this.canGoOn()) this.open();
    else {
      const earlier = (this.app.setup.changes ?? []).filter((change) => change.step < step);
      this.app.change({ changes: [...earlier, { step, map: this.text.value }] }, { step });
    }
  }

  // Whether the run can go on in the changed map: the same cells, starts and settings.
  canGoOn() {
    const read = this.readWorld();
    const shapeOf = ({ rows, columns, cells, settings }) => (
      [rows, columns, cells.filter(({ kind }) => kind === "start").length, cells.some(({ kind, value }) => kind === "prison" && value > 0 && value < 1), settings.slip ?? 0, settings.horizon, settings.budget].join());
    return read !== null && shapeOf(read) === shapeOf(this.model);
  }

  open() {
    this.app.change({ world: this.worldName(), world_options: this.options(), settings: {} }, { step: 0, playing: false });
  }

  // "line 3, column 5" of a map is the cell in row 3, column 5.
  showProblem(text, warning = "") {
    setText(this.problem, text ? `${text} The lanes go on in the map before.` : warning);
    const place = text.match(/^line (\d+), column (\d+)/);
    const row = Number(place?.[1]) - 1, column = Number(place?.[2]) - 1;
    this.wrong = place && row < this.model.rows && column < this.model.columns ? row * this.model.columns + column : null;
    this.app.render();
  }
}
