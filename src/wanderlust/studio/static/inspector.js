// The table of a cell: the values of every action, the choice, and its reason in words.

import { $, element, setText } from "./dom.js";
import { directionFor } from "./cells.js";
import { formatNumber } from "./frames.js";

const ARROWS = { "-1,0": "←", "1,0": "→", "0,-1": "↑", "0,1": "↓", "0,0": "•" };

export function showCell({ world, frame, lane, name, cell, part }) {
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
  const best = frame.preferred[state];
  rows.replaceChildren(...world.actions.map((action, i) => {
    const pair = state * frame.actions + i;
    const chosen = Boolean(best & (1 << i));
    const term = frame.score[pair] - frame.behaviour[pair];
    const values = [frame.behaviour[pair], frame.visits[pair], frame.w ? frame.w[pair] : null, term, frame.score[pair]];
    return element("tr", chosen ? { class: "chosen" } : {},
      element("th", { scope: "row" }, `${arrowOf(world, action)} ${action}`),
      ...values.map((value) => element("td", {}, formatNumber(value, 4))),
      element("td", {}, chosen ? "✓" : ""));
  }));
  setText($("cell-reason"), reason(world, frame, state));
}

function arrowOf(world, action) {
  if (world.actions.length === 2) return action === "left" ? "↙" : "↘";
  return ARROWS[directionFor(world, action).join()] ?? "";
}

// The reasons have the names of `Explanation.reason`: exploit, explore, tie, random.
export function reason(world, frame, state) {
  const first = state * frame.actions;
  const preferred = world.actions.filter((_, i) => frame.preferred[state] & (1 << i));
  if (frame.randomness >= 1) return "random: every action has the same probability.";
  const chance = frame.randomness > 0 ? ` With probability ε = ${formatNumber(frame.randomness, 3)} it takes a random action instead.` : "";
  if (frame.stateVisits[state] === 0) return `Not discovered yet: the values are the initial ones.${chance}`;
  if (preferred.length > 1) return `tie: ${preferred.join(", ")} have the same sum; one of them is drawn at random.${chance}`;
  const chosen = world.actions.indexOf(preferred[0]);
  const values = frame.behaviour.subarray(first, first + frame.actions);
  const isGreedy = values[chosen] === Math.max(...values);
  const why = isGreedy ? `exploit: ${preferred[0]} has the largest sum and the largest Q.` : `explore: ${preferred[0]} has the largest sum, although not the largest Q.`;
  return `${why}${chance}`;
}
