// What the cells of a world are, and the inks that they are drawn with.

import { directionOf } from "./geometry.js";
import { formatNumber } from "./frames.js";

export const KIND = { floor: 0, wall: 1, start: 2, prison: 3, treasure: 4, penalty: 5, reward: 6, puddle: 7, passenger: 8 };
export const INK = {
  light: { wall: 0xff6a5f5b, hatchA: 0xfff1eeec, hatchB: 0xffdcd7d4, line: "rgba(30,35,50,.28)", wallCss: "#5b5f6a", plain: 0xffffffff,
    badge: "#ffffff", badgeInk: "#10131a", arrow: "#10131a", halo: "#ffffff", agent: "#d0006f" },
  dark: { wall: 0xff5f5550, hatchA: 0xff262120, hatchB: 0xff352e2c, line: "rgba(255,255,255,.2)", wallCss: "#50555f", plain: 0xff3a3230,
    badge: "#0c0f16", badgeInk: "#ffffff", arrow: "#ffffff", halo: "#0c0f16", agent: "#ff5cb0" },
};

export function eachCell(world, layer, visit) {
  const { state, kind, value } = world.layers[layer];
  for (let row = 0, at = 0; row < world.rows; row++) {
    for (let column = 0; column < world.columns; column++, at++) visit(row, column, state[at], kind[at], value[at], at);
  }
}

export function cellText(kind, value) {
  if (kind === KIND.treasure || kind === KIND.reward) return value === 0 ? "0" : `+${formatNumber(value)}`;
  if (kind === KIND.penalty || kind === KIND.puddle) return formatNumber(value).replace("-", "−");
  return { [KIND.start]: "S", [KIND.prison]: "P", [KIND.passenger]: "☺" }[kind] ?? "";
}

// In deep sea every action also moves down.
export function directionFor(world, name) {
  const [dx, dy] = directionOf(name);
  return world.actions.length === 2 ? [dx * Math.SQRT1_2, Math.SQRT1_2] : [dx, dy];
}

export function positionsOf(world) {
  if (!world.positions) {
    world.positions = new Array(world.states);
    world.layers.forEach((part, layer) => part.state.forEach((state, at) => {
      if (state >= 0) world.positions[state] = [Math.floor(at / world.columns), at % world.columns, layer];
    }));
  }
  return world.positions;
}
