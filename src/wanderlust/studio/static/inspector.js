// The table of a cell: the values of every action, the choice, and its reason in words.

import { $, element, setText } from "./dom.js";
import { directionFor } from "./cells.js";
import { fixedText, formatNumber } from "./frames.js";

/** @import { World } from "./cells.js" */
/** @import { Frame, Values } from "./frames.js" */

const MAX_DECIMALS = 6, DIGITS_SUM = 7, DIGITS_W = 4, MAX_DECIMALS_W = 4;
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
  setText($("cell-title"), `Lane ${lane + 1} · ${name} · ${who} ${place}`);
  setText($("map-keys"), isPinned ? "This cell stays here until it is clicked again." : "Point at a cell, or use the arrow keys in a map. A click keeps the cell here.");
  if (state === undefined || state < 0 || world.layers[part].kind[at] === 1) {
    rows.replaceChildren(element("tr", {}, element("td", { colspan: "7" }, "wall: no state")));
    setText($("cell-reason"), "");
    return;
  }
  const first = state * frame.actions;
  const ofState = (/** @type {Values} */ values) => Array.from(values.subarray(first, first + frame.actions));
  const [behaviour, score] = [ofState(frame.behaviour), ofState(frame.score)];
  // The term is the difference of what is printed, so that the numbers of a row add up.
  // Those of Q have the room that a large sum leaves.
  const decimals = Math.max(decimalsFor(score, MAX_DECIMALS), decimalsFor(behaviour, Math.min(roomOf(score, DIGITS_SUM), 3), 0));
  const textsOf = (/** @type {number[]} */ values, /** @type {number} */ places) => values.map((value) => fixedText(value, places));
  const [q, sum] = [textsOf(behaviour, decimals), textsOf(score, decimals)];
  const term = sum.map((text, i) => fixedText(Number(text) - Number(q[i]), decimals));
  const w = frame.w && ofState(frame.w), textsW = w ? textsOf(w, decimalsFor(w, MAX_DECIMALS_W, roomOf(w, DIGITS_W))) : q.map(() => "–");
  const texts = [q, ofState(frame.visits).map(String), textsW, term, sum];
  rows.replaceChildren(...world.actions.map((action, i) => {
    const chosen = Boolean(frame.preferred[state] & (1 << i));
    return element("tr", chosen ? { class: "chosen" } : {},
      element("th", { scope: "row" }, `${arrowOf(world, action)} ${action}`),
      ...texts.map((column) => element("td", {}, column[i])),
      element("td", {}, chosen ? "✓" : ""));
  }));
  const { kappa, gamma_w: gamma } = fields;
  // Of vv-count, κU is not a multiple of W.
  const factor = name === "vv-ucb" ? ` U = (1 − γ_w)W, so κU = ${formatNumber(kappa)} × ${formatNumber(1 - gamma)} W.` : "";
  const largest = sum.filter((_, i) => frame.preferred[state] & (1 << i)), isClose = largest.length === 1 && sum.filter((text) => text === largest[0]).length > 1;
  setText($("cell-reason"), reason(world, frame, state, rule) + (isClose ? " Its sum is larger by less than these digits show." : "") + factor);
}

/** @param {number[]} values */
function leastDecimals(values) {
  const size = Math.max(...values.map(Math.abs));
  return size >= 1e5 ? 0 : size >= 100 ? 2 : 3;
}

// The decimals for which a number of digits has room.
/** @param {number[]} values @param {number} digits */
function roomOf(values, digits) {
  return Math.max(digits - Math.max(...values.map(Math.abs)).toFixed(0).length, 0);
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
  const hasMostQ = values[chosen] > most, hasMostTerm = terms[chosen] >= Math.max(...terms);
  const why = hasMostQ && !terms.some(Boolean) ? `exploit: ${preferred[0]} has the largest Q.`
    : hasMostQ && hasMostTerm ? `exploit and explore: ${preferred[0]} has the largest Q and the largest κU.`
      : hasMostQ ? `exploit: ${preferred[0]} has the largest Q, which makes up for a smaller κU.`
        : `explore: ${preferred[0]} has the largest sum because of its κU; ${values[chosen] === most ? "no other Q is larger" : "its Q is not the largest"}.`;
  return `${why}${chance}`;
}

// On a phone the table is a sheet at the bottom, which is open or a line.
export function openSheet(isOpen = !$("inspector").classList.contains("open")) {
  $("inspector").classList.toggle("open", isOpen);
  $("cell-toggle").setAttribute("aria-expanded", String(isOpen));
}
