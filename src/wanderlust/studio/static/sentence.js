// Why the agent takes its next action, in one sentence, from the numbers of a frame.

import { distinctTexts } from "./frames.js";

// [the action in words, the reason]; `rule` as in inspector.js.
/** @import { Frame, Values } from "./frames.js" */
/** @param {{actions: string[]}} world @param {Frame} frame @param {{minimises: boolean}} lane @param {string | null} rule @returns {[string, string]} */
export function sentenceOf(world, frame, { minimises }, rule) {
  const state = frame.agent, first = state * frame.actions;
  /** @param {Values} values */
  const ofState = (values) => Array.from(values.subarray(first, first + frame.actions));
  const names = world.actions;
  if (frame.randomness >= 1) return ["any action", ": all have the same probability."];
  if (rule !== null) return ["a drawn action", `: ${rule}`];
  const chance = frame.randomness > 0 ? ` With probability ε = ${distinctTexts([frame.randomness], 3)[0]} a random action instead.` : "";
  const best = names.filter((_, i) => frame.preferred[state] & (1 << i));
  if (best.length === names.length) return ["any action", `: all have the same value; one is drawn.${chance}`];
  if (best.length > 1) return [best.join(" or "), `: the same value, larger than the others; one is drawn.${chance}`];
  const [visits, score, q] = [ofState(frame.visits), ofState(frame.score), ofState(frame.behaviour)];
  const chosen = names.indexOf(best[0]);
  const second = score.reduce((found, value, i) => (i !== chosen && (found < 0 || value > score[found]) ? i : found), -1);
  if (second < 0) return [names[chosen], ": the only action."];
  const w = frame.w ? ofState(frame.w) : null;
  const isLonger = w && (minimises ? w[chosen] < w[second] : w[chosen] > w[second]);
  const [what, values] = isLonger ? ["W", w] : q[chosen] > q[second] || frame.score === frame.behaviour ? ["Q", q] : ["Q + κU", score];
  const why = visits[chosen] === 0 ? ": never tried, so " : isLonger ? ": largest Q + κU, as " : ": ";
  const [mine, other] = distinctTexts([values[chosen], values[second]]);
  // The numbers of a recorded page are rounded.
  if (mine === other) return [names[chosen], `${why}its ${what} is ${isLonger && minimises ? "the smallest" : "the largest"}.${chance}`];
  const although = isLonger && q[chosen] < q[second] ? `, although Q of ${names[second]} is larger` : "";
  return [names[chosen], `${why}its ${what} (${mine}) ${isLonger && minimises ? "is smaller than" : "beats"} ${other} of ${names[second]}${although}.${chance}`];
}
