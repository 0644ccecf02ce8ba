// The table of a cell: the values of every action, the choice, and its reason in words.

import { $, element, setText } from "./dom.js";
import { directionFor } from "./cells.js";
import { fixedText, formatNumber } from "./frames.js";

/** @import { World } from "./cells.js" */
/** @import { Frame, Values } from "./frames.js" */

const DIGITS = 5;
const MAX_DECIMALS = 6;
/** @type {Record<string, string>} */
const ARROWS = { "-1,0": "←", "1,0": "→", "0,-1": "↑", "0,1": "↓", "0,0": "•" };

// rule: how the explorer draws its action, in words; null if it takes the one with the largest sum.
/** @typedef {Record<string, number>} Fields The constants of the explorer. */
/** @param {{world: World, frame: Frame, lane: number, name: string, fields: Fields, cell: number | null, part: number, rule: string | null, isPinned: boolean}} shown */
export function showCell({ world, frame, lane, name, fields, cell, part, rule, isPinned }) {
  const rows = $("cell-rows");
  const state = cell === null ? frame.agent : world.layers[part].state[cell];
  const at = cell ?? world.layers.flatMap((layer) => [layer.state.indexOf(state)]).find((index) => index >= 0) ?? 0;
  const place = `(${Math.floor(at / world.columns) + 1}, ${(at % world.columns) + 1})`;
  const who = cell === null ? "agent at" : "cell";
  setText($("cell-title"), `Lane ${lane + 1} · ${name} · ${who} ${place}${isPinned ? ", kept until clicked again" : ""}`);
  if (state === undefined || state < 0 || world.layers[part].kind[at] === 1) {
    rows.replaceChildren(element("tr", {}, element("td", { colspan: "7" }, "wall: no state")));
    setText($("cell-reason"), "");
    return;
  }
  const first = state * frame.actions;
  const ofState = (/** @type {Values} */ values) => Array.from(values.subarray(first, first + frame.actions));
  const [behaviour, score] = [ofState(frame.behaviour), ofState(frame.score)];
  const w = frame.w ? ofState(frame.w) : behaviour.map(() => null);
  // The term is the difference of what is printed, so that the numbers of a row add up.
  // Those of Q have the room that a large sum leaves.
  const room = Math.max(7 - Math.max(...score.map(Math.abs)).toFixed(0).length, 0);
  const decimals = Math.max(decimalsFor(score, MAX_DECIMALS), decimalsFor(behaviour, Math.min(room, 3), 0));
  const [q, sum] = [behaviour, score].map((values) => values.map((value) => fixedText(value, decimals)));
  const term = sum.map((text, i) => fixedText(Number(text) - Number(q[i]), decimals));
  const texts = [q, ofState(frame.visits).map(String), w.map((value) => formatNumber(value, DIGITS)), term, sum];
  rows.replaceChildren(...world.actions.map((action, i) => {
    const chosen = Boolean(frame.preferred[state] & (1 << i));
    return element("tr", chosen ? { class: "chosen" } : {},
      element("th", { scope: "row" }, `${arrowOf(world, action)} ${action}`),
      ...texts.map((column) => element("td", {}, column[i])),
      element("td", {}, chosen ? "✓" : ""));
  }));
  const { kappa, gamma_w: gamma } = fields;
  // Of vv-count, κU is not a multiple of W.
  const factor = name === "vv-ucb" ? ` Here κU = κ(1 − γ_w)W = ${formatNumber(kappa * (1 - gamma))} W.` : "";
  setText($("cell-reason"), reason(world, frame, state, rule) + factor);
}

/** @param {number[]} values */
function leastDecimals(values) {
  const size = Math.max(...values.map(Math.abs));
  return size >= 1e5 ? 0 : size >= 100 ? 2 : 3;
}

// Enough of them to see which value is the largest.
/** @param {number[]} values @param {number} most */
function decimalsFor(values, most, least = leastDecimals(values)) {
  const count = new Set(values).size;
  for (let decimals = least; ; decimals++) {
    if (decimals === most || new Set(values.map((value) => value.toFixed(decimals))).size === count) return decimals;
  }
}

/** @param {World} world @param {string} action */
function arrowOf(world, action) {
  if (world.actions.length === 2) return action === "left" ? "↙" : "↘";
  return ARROWS[directionFor(world, action).join()] ?? "";
}

// The reasons have the names of `Explanation.reason`: exploit, explore, tie, random.
/** @param {World} world @param {Frame} frame @param {number} state @param {string | null} rule */
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
  const others = values.filter((_, i) => i !== chosen), most = Math.max(...others);
  const terms = values.map((value, i) => frame.score[first + i] - value);
  // Q may be a small part of the sum.
  const agrees = !terms.some(Boolean) ? "" : terms[chosen] >= Math.max(...terms) ? ", and the largest κU" : ", but not the largest κU";
  const why = values[chosen] > most ? `exploit: ${preferred[0]} has the largest sum, the largest Q${agrees}.`
    : values[chosen] === most ? `explore: ${preferred[0]} has the largest sum, and no larger Q than the others.`
      : `explore: ${preferred[0]} has the largest sum, although not the largest Q.`;
  return `${why}${chance}`;
}

// On a phone the table is a sheet at the bottom, which is open or a line.
export function openSheet(isOpen = !$("inspector").classList.contains("open")) {
  $("inspector").classList.toggle("open", isOpen);
  $("cell-toggle").setAttribute("aria-expanded", String(isOpen));
}
