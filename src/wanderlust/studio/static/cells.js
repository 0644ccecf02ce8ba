// What the cells of a world are, and the inks that they are drawn with.

import { directionOf } from "./geometry.js";
import { formatNumber } from "./frames.js";

/** @import { Point } from "./geometry.js" */
/** @import { Colour, Theme } from "./palette.js" */
/** @typedef {{name: string, state: number[], kind: number[], value: number[]}} Part A grid of cells. */
/** @typedef {{at: number, row: number, column: number, state: number, kind: number, value: number}} Cell */
/**
 * @typedef {object} World As `describe_world` of catalogue.py returns it.
 * @property {number} rows
 * @property {number} columns
 * @property {number} states
 * @property {string[]} actions
 * @property {Part[]} layers
 * @property {number[] | null} [entry]
 * @property {number[]} [unreachable] States.
 * @property {[number, number, number][]} [positions]
 */

export const KIND = { floor: 0, wall: 1, start: 2, prison: 3, treasure: 4, penalty: 5, reward: 6, puddle: 7, passenger: 8 };
/** @type {Record<number, string>} */
const LETTERS = { [KIND.start]: "S", [KIND.prison]: "P", [KIND.passenger]: "☺" };
// A cell that can be entered by every move, as bits.
export const ALL_MOVES = 15;
// Fills of cells as [red, green, blue].
/** @typedef {Record<"wall" | "hatchA" | "hatchB" | "plain" | "untried" | "unreachable", Colour>} Fills */
/** @typedef {Record<"line" | "badge" | "badgeInk" | "arrow" | "halo" | "agent" | "wrong", string>} Inks */
/** @type {Record<Theme, Fills & Inks>} */
export const INK = {
  light: { wall: [91, 95, 106], hatchA: [236, 238, 241], hatchB: [212, 215, 220], plain: [255, 255, 255], untried: [240, 118, 35], unreachable: [176, 180, 190], line: "rgba(30,35,50,.28)",
    badge: "#ffffff", badgeInk: "#10131a", arrow: "#10131a", halo: "#ffffff", agent: "#d0006f", wrong: "#a3152b" },
  dark: { wall: [80, 85, 95], hatchA: [32, 33, 38], hatchB: [44, 46, 53], plain: [48, 50, 58], untried: [235, 104, 30], unreachable: [62, 65, 74], line: "rgba(255,255,255,.2)",
    badge: "#0c0f16", badgeInk: "#ffffff", arrow: "#ffffff", halo: "#0c0f16", agent: "#ff5cb0", wrong: "#ffb3bd" },
};

/** @type {WeakMap<Part, Cell[]>} */
const found = new WeakMap();

// The cells of a layer.
/** @param {World} world @param {number} layer */
export function cellsOf(world, layer) {
  const part = world.layers[layer];
  const known = found.get(part);
  if (known) return known;
  const cells = part.state.map((state, at) => (
    { at, row: Math.floor(at / world.columns), column: at % world.columns, state, kind: part.kind[at], value: part.value[at] }));
  found.set(part, cells);
  return cells;
}

/** @type {WeakMap<Cell[], Cell[]>} */
const standable = new WeakMap();

// The cells that are states.
/** @param {World} world @param {number} layer */
export function statesOf(world, layer) {
  const cells = cellsOf(world, layer);
  const known = standable.get(cells) ?? cells.filter(({ state, kind }) => state >= 0 && kind !== KIND.wall);
  standable.set(cells, known);
  return known;
}

/** @param {number} kind @param {number} value */
export function cellText(kind, value) {
  if (kind === KIND.treasure || kind === KIND.reward) return value === 0 ? "0" : `+${formatNumber(value)}`;
  if (kind === KIND.penalty || kind === KIND.puddle) return formatNumber(value).replace("-", "−");
  return LETTERS[kind] ?? "";
}

// In deep sea every action also moves down.
/** @param {{actions: string[]}} world @param {string} name @returns {Point} */
export function directionFor(world, name) {
  const [dx, dy] = directionOf(name);
  return world.actions.length === 2 ? [dx * Math.SQRT1_2, Math.SQRT1_2] : [dx, dy];
}

// [row, column, layer] of every state.
/** @param {World} world */
export function positionsOf(world) {
  if (world.positions) return world.positions;
  /** @type {[number, number, number][]} */
  const positions = new Array(world.states);
  world.layers.forEach((_, layer) => {
    for (const { state, row, column } of cellsOf(world, layer)) if (state >= 0) positions[state] = [row, column, layer];
  });
  return (world.positions = positions);
}
