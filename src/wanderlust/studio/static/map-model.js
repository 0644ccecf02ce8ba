// The map that is being painted: its cells, its settings, and its history. The text form is that of docs/maps.md.

import { ALL_MOVES, KIND } from "./cells.js";

/** @import { Part, World } from "./cells.js" */
/** @typedef {{kind: string, value: number, enter: number}} PaintedCell */
/** @typedef {Record<string, any>} MapSettings Numbers, and texts of settings that are not understood here. */
/** @typedef {{rows: number, columns: number, cells: PaintedCell[], settings: MapSettings}} MapFields */

/** @type {Record<number, string>} */
const KIND_NAMES = Object.fromEntries(Object.entries(KIND).map(([name, number]) => [number, name]));
const MOVES_IN_ORDER = ["left", "right", "up", "down"];
/** @type {Record<string, string>} */
const BUILT_IN_LETTERS = { wall: "#", floor: ".", start: "S" };
const MAX_PAST = 200;
const NUMBER_SETTINGS = ["step", "escape", "horizon", "long_horizon", "budget", "discount"];

/** @returns {PaintedCell} */
function floor() {
  return { kind: "floor", value: 0, enter: ALL_MOVES };
}

export class MapModel {
  /** @param {number} rows @param {number} columns @param {PaintedCell[]} cells @param {MapSettings} settings */
  constructor(rows, columns, cells, settings) {
    this.rows = rows;
    this.columns = columns;
    this.cells = cells;
    this.settings = settings;
    /** @type {string[]} */
    this.past = [];
    /** @type {string[]} */
    this.future = [];
    /** @type {string | undefined} */
    this.before = undefined;
  }

  /** @param {number} rows @param {number} columns */
  static blank(rows, columns) {
    const cells = Array.from({ length: rows * columns }, floor);
    cells[0] = { ...floor(), kind: "start" };
    return new MapModel(rows, columns, cells, {});
  }

  snapshot() {
    return JSON.stringify({ rows: this.rows, columns: this.columns, cells: this.cells, settings: this.settings });
  }

  begin() {
    this.before = this.snapshot();
  }

  commit() {
    if (this.before === undefined || this.before === this.snapshot()) return;
    this.past = [...this.past, this.before].slice(-MAX_PAST);
    this.future = [];
    this.before = undefined;
  }

  undo() {
    return this.move(this.past, this.future);
  }

  redo() {
    return this.move(this.future, this.past);
  }

  /** @param {string[]} from @param {string[]} to */
  move(from, to) {
    const last = from.pop();
    if (last === undefined) return false;
    to.push(this.snapshot());
    Object.assign(this, JSON.parse(last));
    return true;
  }

  /** @param {MapFields} fields */
  replace({ rows, columns, cells, settings }) {
    Object.assign(this, { rows, columns, cells, settings });
  }

  clear() {
    this.replace(MapModel.blank(this.rows, this.columns));
  }

  /** @param {number} cell @param {string} brush @param {number} value @param {string} direction @param {boolean} fills */
  paint(cell, brush, value = 0, direction = "right", fills = false) {
    /** @param {PaintedCell} old @returns {PaintedCell} */
    const made = (old) => {
      if (brush === "erase") return floor();
      if (brush === "one-way") return { ...old, kind: old.kind === "wall" ? "floor" : old.kind, enter: 1 << MOVES_IN_ORDER.indexOf(direction) };
      const hasValue = ["treasure", "penalty", "puddle", "prison"].includes(brush);
      return { kind: brush, value: hasValue ? value : 0, enter: brush === "wall" || brush === "start" ? ALL_MOVES : old.enter };
    };
    for (const at of fills ? this.area(cell) : [cell]) this.cells[at] = made(this.cells[at]);
  }

  // The connected cells that are the same as a cell.
  /** @param {number} cell */
  area(cell) {
    const same = JSON.stringify(this.cells[cell]);
    const found = new Set([cell]);
    const open = [cell];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const row = Math.floor(at / this.columns), column = at % this.columns;
      for (const [r, c] of [[row, column - 1], [row, column + 1], [row - 1, column], [row + 1, column]]) {
        const next = r * this.columns + c;
        const inside = r >= 0 && c >= 0 && r < this.rows && c < this.columns;
        if (inside && !found.has(next) && JSON.stringify(this.cells[next]) === same) {
          found.add(next);
          open.push(next);
        }
      }
    }
    return found;
  }

  /** @param {number} rows @param {number} columns */
  resize(rows, columns) {
    const cells = Array.from({ length: rows * columns }, (_, at) => {
      const row = Math.floor(at / columns), column = at % columns;
      return row < this.rows && column < this.columns ? this.cells[row * this.columns + column] : floor();
    });
    Object.assign(this, { rows, columns, cells });
  }

  // In the form of the server's description, for drawing.
  asWorld() {
    /** @type {Record<string, number>} */
    const numbers = KIND;
    /** @type {Part} */
    const layer = {
      name: "", state: this.cells.map((_, i) => i), kind: this.cells.map(({ kind }) => numbers[kind]), value: this.cells.map(({ value }) => value),
    };
    return { rows: this.rows, columns: this.columns, states: this.cells.length, actions: MOVES_IN_ORDER, layers: [layer], entry: this.cells.map(({ enter }) => enter) };
  }
}

/** @param {World} world @param {MapSettings} settings */
export function fromWorld(world, settings) {
  const { kind, value } = world.layers[0];
  const cells = kind.map((number, at) => ({ kind: KIND_NAMES[number], value: value[at], enter: world.entry ? world.entry[at] : ALL_MOVES }));
  return new MapModel(world.rows, world.columns, cells, { ...settings });
}

// The settings below a text map; what is not understood here is kept as it is.
/** @param {string} text */
export function parseSettings(text) {
  /** @type {MapSettings} */
  const settings = {};
  for (const line of text.split(/\n\s*\n/).slice(1).join("\n").split("\n")) {
    const match = line.split(";")[0].match(/^\s*(\w{2,})\s*=\s*(.+?)\s*$/);
    if (match) settings[match[1]] = NUMBER_SETTINGS.includes(match[1]) ? Number(match[2]) : match[2];
  }
  delete settings.name;
  return settings;
}

/** @param {MapFields} model */
export function toText(model) {
  /** @type {Map<string, string>} */
  const letters = new Map();
  const used = new Set(Object.values(BUILT_IN_LETTERS));
  const rows = [];
  for (let row = 0; row < model.rows; row++) {
    rows.push(model.cells.slice(row * model.columns, (row + 1) * model.columns).map((cell) => letterFor(cell, letters, used)).join(""));
  }
  const legend = [...letters].map(([meaning, letter]) => `${letter} = ${meaning}`);
  const settings = Object.entries(model.settings).filter(([name, value]) => name !== "slip" && value !== "" && !(name === "step" && value === 0));
  return [...rows, "", ...legend, ...settings.map(([name, value]) => `${name} = ${value}`)].join("\n").trimEnd() + "\n";
}

/** @param {PaintedCell} cell @param {Map<string, string>} letters @param {Set<string>} used @returns {string} */
function letterFor({ kind, value, enter }, letters, used) {
  const moves = MOVES_IN_ORDER.filter((_, i) => enter & (1 << i));
  const isOpen = moves.length === MOVES_IN_ORDER.length;
  if (kind in BUILT_IN_LETTERS && (isOpen || kind === "wall")) return BUILT_IN_LETTERS[kind];
  const hasValue = !(kind in BUILT_IN_LETTERS);
  const meaning = `${kind}${hasValue ? ` ${value}` : ""}${isOpen ? "" : ` enter ${moves.join(" ")}`}`;
  const known = letters.get(meaning);
  if (known) return known;
  // Upper case for what ends an episode, lower case for the rest.
  const upper = "ABCDEFGHIJKLMNOQRTUVWXYZ", lower = "abcdefghijklmnopqrstuvwxyz";
  const choices = kind === "treasure" || kind === "penalty" ? `${upper}${lower}` : `${lower}${upper}`;
  const letter = [...`${choices}0123456789`].find((each) => !used.has(each) && each !== "P");
  if (!letter) throw new Error("The map has more different cells than letters; use fewer different values.");
  used.add(letter);
  letters.set(meaning, letter);
  return letter;
}
