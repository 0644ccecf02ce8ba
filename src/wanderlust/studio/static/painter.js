// Painting a world: brushes, fill, resize, undo and redo, and the text of the map. The server checks every change.

import { MapModel, fromWorld, parseSettings, toText } from "./map-model.js";
import { INK } from "./cells.js";
import { MapPainter } from "./map-painter.js";
import { frameMarks } from "./map-marks.js";
import { paint } from "./marks.js";
import { cellAt, cellByKey, isArrowKey } from "./geometry.js";
import { debounce, element, setText } from "./dom.js";
import { makeScale, themeName } from "./palette.js";

const BRUSHES = [
  { id: "wall", label: "Wall" }, { id: "treasure", label: "Treasure", value: 1 }, { id: "penalty", label: "Penalty", value: -1 },
  { id: "puddle", label: "Cost", value: -0.05 }, { id: "prison", label: "Prison", value: 0 }, { id: "one-way", label: "One-way" },
  { id: "start", label: "Start" }, { id: "erase", label: "Erase" },
];
const MOVE_NAMES = ["left", "right", "up", "down"];
const BLANK = { rows: 8, columns: 8 };

export class Painter {
  constructor(dialog, app) {
    this.dialog = dialog;
    this.app = app;
    this.brush = "wall";
    this.painter = new MapPainter();
    this.cursor = null;
    this.model = MapModel.blank(BLANK.rows, BLANK.columns);
    this.count = 0;
    this.check = debounce(() => this.checkNow(), 150);
    this.build();
  }

  build() {
    const number = (label, name, attributes = {}) => {
      const input = element("input", { type: "number", step: "any", ...attributes, onchange: () => this.setSetting(name, input.value) });
      this.inputs[name] = input;
      return element("label", {}, label, input);
    };
    this.inputs = {};
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
    this.use = button("Use this world", () => this.useWorld(), { class: "primary" });
    this.canvas = element("canvas", { tabindex: "0", role: "application", "aria-roledescription": "map to paint", "aria-label": "Canvas. Arrow keys move, Space paints." });
    this.listen();
    const head = element("form", { method: "dialog", class: "dialog-head" }, element("h2", { id: "paint-title" }, "Paint a world"), element("button", { "aria-label": "Close" }, "×"));
    const tools = element("div", { class: "tools" }, brushes,
      element("div", { class: "row" }, this.valueLabel, this.directionLabel, element("label", {}, this.fill, "Fill area")),
      element("div", { class: "row" }, this.undo, this.redo, button("Clear", () => this.edit(() => this.model.clear()))),
      element("div", { class: "numbers" }, element("label", {}, "Rows", this.rows), element("label", {}, "Columns", this.columns),
        number("Step reward", "step"), number("Slip probability", "slip", { min: "0", max: "1" }),
        number("Horizon", "horizon", { min: "1", step: "1" }), number("Budget", "budget", { min: "1", step: "1" })),
      element("label", { class: "field" }, element("span", {}, "Name"), this.name),
      this.text, element("div", { class: "row" }, button("Read the text", () => this.readText())), this.problem, this.use);
    this.dialog.replaceChildren(head, element("div", { class: "paint" }, element("div", { class: "canvas-box" }, this.canvas), tools));
  }

  listen() {
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.stroke = new Set();
      this.model.begin();
      this.paintAt(cellAt(event, this.canvas, this.model));
    });
    this.canvas.addEventListener("pointermove", (event) => { if (this.stroke) this.paintAt(cellAt(event, this.canvas, this.model)); });
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => this.endStroke());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.dialog.addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.target === this.text) return;
      if (event.key === "z") this.travel(event.shiftKey ? "redo" : "undo");
      else if (event.key === "y") this.travel("redo");
    });
  }

  show() {
    const { world, setup } = this.app;
    if (world && world.layers.length === 1 && world.actions.join() === MOVE_NAMES.join()) {
      const options = setup.world_options ?? {};
      this.model = fromWorld(world, options.map ? parseSettings(options.map) : { step: options.step_penalty ?? this.defaultStep(setup.world), horizon: world.horizon, budget: world.budget });
      if (options.slips) this.model.settings.slip = Number((1 - options.slips[0]).toFixed(6));
      this.name.value = options.map ? setup.world : `my-${setup.world}`;
    }
    this.dialog.showModal();
    this.changed();
  }

  defaultStep(name) {
    const options = this.app.catalogue.worlds.find((world) => world.name === name)?.options ?? [];
    return options.find((option) => option.name === "step_penalty")?.default ?? 0;
  }

  chooseBrush(brush) {
    this.brush = brush.id;
    if (brush.value !== undefined) this.value.value = brush.value;
    this.valueLabel.hidden = brush.value === undefined;
    this.directionLabel.hidden = brush.id !== "one-way";
  }

  paintAt(cell) {
    if (cell === null || this.stroke.has(cell)) return;
    this.stroke.add(cell);
    this.paintCell(cell);
    this.draw();
  }

  endStroke() {
    if (!this.stroke) return;
    this.stroke = null;
    this.model.commit();
    this.changed();
  }

  key(event) {
    const { model } = this;
    if (isArrowKey(event.key)) {
      event.preventDefault();
      this.cursor = this.cursor === null ? 0 : cellByKey(this.cursor, event.key, model);
      this.draw();
      const row = Math.floor(this.cursor / model.columns) + 1, column = (this.cursor % model.columns) + 1;
      this.canvas.setAttribute("aria-label", `Canvas, row ${row}, column ${column}: ${model.cells[this.cursor].kind}. Space paints.`);
    } else if ((event.key === " " || event.key === "Enter") && this.cursor !== null) {
      event.preventDefault();
      this.edit(() => this.paintCell(this.cursor));
    }
  }

  paintCell(cell) {
    this.model.paint(cell, this.brush, Number(this.value.value), this.direction.value, this.fill.checked);
  }

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

  changed() {
    const { model } = this;
    this.rows.value = model.rows;
    this.columns.value = model.columns;
    for (const [name, input] of Object.entries(this.inputs)) input.value = model.settings[name] ?? "";
    this.undo.disabled = !model.past.length;
    this.redo.disabled = !model.future.length;
    try {
      this.text.value = toText(model);
      this.check();
    } catch (error) {
      this.showProblem(error.message);
    }
    this.draw();
  }

  options() {
    const slip = this.model.settings.slip ?? 0;
    return { map: this.text.value, ...(slip > 0 ? { slips: [1 - slip, slip / 2, slip / 2] } : {}) };
  }

  async checkNow() {
    try {
      const { warnings } = await this.app.source.ask("check", { world: this.worldName(), world_options: this.options() });
      this.showProblem("", warnings.join(" "));
    } catch (error) {
      this.showProblem(error.message);
    }
  }

  // "line 3, column 5" of a map is the cell in row 3, column 5.
  showProblem(text, warning = "") {
    setText(this.problem, text || warning);
    this.use.disabled = Boolean(text);
    const place = text.match(/^line (\d+), column (\d+)/);
    const row = Number(place?.[1]) - 1, column = Number(place?.[2]) - 1;
    this.wrong = place && row < this.model.rows && column < this.model.columns ? row * this.model.columns + column : null;
    this.draw();
  }

  async readText() {
    try {
      const { world } = await this.app.source.ask("check", { world: this.worldName(), world_options: { map: this.text.value } });
      const read = fromWorld(world, parseSettings(this.text.value));
      this.edit(() => this.model.replace(read));
    } catch (error) {
      this.showProblem(error.message);
    }
  }

  worldName() {
    return this.name.value.trim() || "painted";
  }

  useWorld() {
    this.dialog.close();
    this.app.change({ world: this.worldName(), world_options: this.options(), settings: {} }, { step: 0, playing: false });
  }

  draw() {
    const { model } = this;
    const world = { ...model.asWorld(), id: `paint ${++this.count}` };
    const ratio = window.devicePixelRatio || 1;
    const cell = Math.max(Math.floor(Math.min(660 / model.columns, 500 / model.rows, 96) * ratio), 6);
    this.canvas.width = cell * model.columns;
    this.canvas.height = cell * model.rows;
    this.canvas.style.width = `${this.canvas.width / ratio}px`;
    const context = this.canvas.getContext("2d");
    const blank = new Float64Array(world.states);
    const frame = { stateVisits: new Float64Array(world.states).fill(1) };
    const theme = themeName();
    this.painter.draw(context, { world, layer: 0, frame, values: blank, scale: makeScale(0, 1), perAction: false, theme, arrows: "none", trail: false, numbers: false, hover: this.cursor }, cell);
    paint(context, frameMarks(world, this.wrong, cell, [INK[theme].wrong]));
  }
}
