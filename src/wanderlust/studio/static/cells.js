// What the cells of a world are, and the inks that they are drawn with.

import { directionOf } from "./geometry.js";
import { formatNumber } from "./frames.js";

export const KIND = { floor: 0, wall: 1, start: 2, prison: 3, treasure: 4, penalty: 5, reward: 6, puddle: 7, passenger: 8 };
// A cell that can be entered by every move, as bits.
export const ALL_MOVES = 15;
// Fills of cells as [red, green, blue].
export const INK = {
  light: { wall: [91, 95, 106], hatchA: [236, 238, 241], hatchB: [212, 215, 220], plain: [255, 255, 255], untried: [240, 118, 35], line: "rgba(30,35,50,.28)",
    badge: "#ffffff", badgeInk: "#10131a", arrow: "#10131a", halo: "#ffffff", agent: "#d0006f", wrong: "#a3152b" },
  dark: { wall: [80, 85, 95], hatchA: [32, 33, 38], hatchB: [44, 46, 53], plain: [48, 50, 58], untried: [235, 104, 30], line: "rgba(255,255,255,.2)",
    badge: "#0c0f16", badgeInk: "#ffffff", arrow: "#ffffff", halo: "#0c0f16", agent: "#ff5cb0", wrong: "#ffb3bd" },
};

const found = new WeakMap();

// The cells of a layer: {at, row, column, state, kind, value}.
export function cellsOf(world, layer) {
  const part = world.layers[layer];
  if (!found.has(part)) {
    found.set(part, part.state.map((state, at) => (
      { at, row: Math.floor(at / world.columns), column: at % world.columns, state, kind: part.kind[at], value: part.value[at] })));
  }
  return found.get(part);
}

const standable = new WeakMap();

// The cells that are states.
export function statesOf(world, layer) {
  const cells = cellsOf(world, layer);
  if (!standable.has(cells)) standable.set(cells, cells.filter(({ state, kind }) => state >= 0 && kind !== KIND.wall));
  return standable.get(cells);
}

export function cellText(kind, value) {
  if (kind === KIND.treasure || kind === KIND.reward) return value === 0 ? "0" : `+${formatNumber(value)}`;
  if (kind === KIND.penalty || kind === KIND.puddle) return formatNumber(value).replace("-", "−");
  return { [KIND.start]: "S", [KIND.prison]: "P", [KIND.passenger]: "☺" }[kind] ?? "";
}

// In deep sea every action also moves down.
/** @returns {[number, number]} */
export function directionFor(world, name) {
  const [dx, dy] = directionOf(name);
  return world.actions.length === 2 ? [dx * Math.SQRT1_2, Math.SQRT1_2] : [dx, dy];
}

// [row, column, layer] of every state.
export function positionsOf(world) {
  if (!world.positions) {
    world.positions = new Array(world.states);
    world.layers.forEach((_, layer) => {
      for (const { state, row, column } of cellsOf(world, layer)) if (state >= 0) world.positions[state] = [row, column, layer];
    });
  }
  return world.positions;
}
