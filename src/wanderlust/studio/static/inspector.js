// The table of a cell: the values of every action, the choice, and its reason in words.

import { $, element, setText } from "./dom.js";
import { directionFor } from "./cells.js";
import { formatNumber } from "./frames.js";

const DIGITS = 4;
const MAX_DIGITS = 6;
const ARROWS = { "-1,0": "←", "1,0": "→", "0,-1": "↑", "0,1": "↓", "0,0": "•" };

// rule: how the explorer draws its action, in words; null if it takes the one with the largest sum.
export function showCell({ world, frame, lane, name, cell, part, rule }) {
  const rows = $("cell-rows");
  const state = cell === null ? frame.agent : world.layers[part].state[cell];
  const at = cell ?? world.layers.flatMap((layer) => [layer.state.indexOf(state)]).find((index) => index >= 0) ?? 0;
  const place = `(${Math.floor(at / world.columns) + 1}, ${(at % world.columns) + 1})`;
  const who = cell === null ? "agent at" : "cell";
  setText($("cell-title"), `Lane ${lane + 1} · ${name} · ${who} ${place}`);
  if (state === undefined || state < 0 || world.layers[part].kind[at] === 1) {
    rows.replaceChildren(element("tr", {}, element("td", { colspan: "7" }, "wall: no state")));
    setText($("cell-reason"), "");
    return;
  }
  const first = state * frame.actions;
  const ofState = (values) => Array.from(values.subarray(first, first + frame.actions));
  const [behaviour, score] = [ofState(frame.behaviour), ofState(frame.score)];
  const w = frame.w ? ofState(frame.w) : behaviour.map(() => null);
  const columns = [behaviour, ofState(frame.visits), w, score.map((sum, i) => sum - behaviour[i])];
  const texts = [...columns.map((values) => values.map((value) => formatNumber(value, DIGITS))), distinct(score)];
  rows.replaceChildren(...world.actions.map((action, i) => {
    const chosen = Boolean(frame.preferred[state] & (1 << i));
    return element("tr", chosen ? { class: "chosen" } : {},
      element("th", { scope: "row" }, `${arrowOf(world, action)} ${action}`),
      ...texts.map((column) => element("td", {}, column[i])),
      element("td", {}, chosen ? "✓" : ""));
  }));
  setText($("cell-reason"), reason(world, frame, state, rule));
}

// With as many digits as are needed to see which value is the largest.
function distinct(values) {
  const count = new Set(values).size;
  for (let digits = DIGITS; ; digits++) {
    const texts = values.map((value) => formatNumber(value, digits));
    if (digits === MAX_DIGITS || new Set(texts).size === count) return texts;
  }
}

function arrowOf(world, action) {
  if (world.actions.length === 2) return action === "left" ? "↙" : "↘";
  return ARROWS[directionFor(world, action).join()] ?? "";
}

// The reasons have the names of `Explanation.reason`: exploit, explore, tie, random.
function reason(world, frame, state, rule) {
  const first = state * frame.actions;
  const preferred = world.actions.filter((_, i) => frame.preferred[state] & (1 << i));
  if (frame.randomness >= 1) return "random: every action has the same probability.";
  if (rule !== null) return `random: the action is drawn. ${rule}`;
  const chance = frame.randomness > 0 ? ` With probability ε = ${formatNumber(frame.randomness, 3)}: a random action.` : "";
  if (frame.stateVisits[state] === 0) return `Not discovered yet: the values are the initial ones.${chance}`;
  if (preferred.length > 1) return `tie: ${preferred.join(", ")} have the same sum; one is drawn at random.${chance}`;
  const chosen = world.actions.indexOf(preferred[0]);
  const values = frame.behaviour.subarray(first, first + frame.actions);
  const isGreedy = values[chosen] === Math.max(...values);
  const why = isGreedy ? `exploit: ${preferred[0]} has the largest sum and the largest Q.` : `explore: ${preferred[0]} has the largest sum, although not the largest Q.`;
  return `${why}${chance}`;
}
