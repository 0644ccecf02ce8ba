// Reads the binary frames of a lane (see frames.py) and computes what each layer shows.

/** @typedef {Float32Array | Float64Array | Uint32Array} Values One per state, or one per pair of state and action. */
/** @typedef {{id: string, label: string, perAction: boolean, unit: string, isRelative?: boolean, text: string}} Layer */
/**
 * @typedef {object} Frame What a lane shows at one step.
 * @property {number} step
 * @property {number} agent
 * @property {number} discovered
 * @property {number} randomness
 * @property {number} states
 * @property {number} actions
 * @property {Uint32Array} visits
 * @property {Values} q
 * @property {Values} behaviour
 * @property {Values | null} w
 * @property {Values} score
 * @property {Int32Array} trail
 * @property {Uint8Array} greedy
 * @property {Uint8Array} preferred
 * @property {Float64Array} stateVisits
 */

const HEADER_BYTES = 40;
const HAS_BEHAVIOUR = 1;
const HAS_W = 2;
const MAX_DIGITS = 8;
// The largest error of a difference as it is printed, as a share of it.
const ROUGH = 0.2;

/** @type {Layer[]} */
export const LAYERS = [
  { id: "state-visits", label: "State visits", perAction: false, unit: "visits", text: "n(s): how often an action was taken in the state." },
  { id: "action-visits", label: "Action visits", perAction: true, unit: "visits", text: "n(s, a): how often the action was taken in the state." },
  { id: "q", label: "Q", perAction: true, unit: "Q", text: "Q(s, a) = r + γ max Q(s′, ·): the discounted sum of the rewards to come, as far as they are known. A reward is received by acting in its cell." },
  { id: "w", label: "W", perAction: true, unit: "W", isRelative: true,
    text: "W(s, a) = u + γ_w max W(s′, ·), the visitation value (vv): how much there is to explore from here on. u = √(2 log n(s) / n(s, a)) is large for rare actions; γ_w discounts far ones. (vv-count: u = n(s, a), min.)" },
  { id: "term", label: "Exploration κU", perAction: true, unit: "κU", isRelative: true,
    text: "κU(s, a): what the explorer adds to Q, larger where there is more to explore; of vv-ucb U = (1 − γ_w)W. κ = r_max / (1 − γ), the return if the largest reward came at every step." },
  { id: "behaviour", label: "Behaviour value", perAction: true, unit: "Q + κU", isRelative: true,
    text: "Q(s, a) + κU(s, a), by which the agent behaves: it takes the action with the largest sum. ε-greedy has no U, and takes a random action with probability ε." },
];

/** @param {string} id */
export function layerById(id) {
  return LAYERS.find((layer) => layer.id === id) ?? LAYERS[0];
}

// What a saved picture shows, in words.
/** @param {{setup: {world: string, seed: number}, options: {layer: string}, viewed: number}} app */
export function captionOf({ setup, options, viewed }) {
  return `${setup.world}, seed ${setup.seed}, step ${viewed}: ${layerById(options.layer).label}`;
}

/** @param {ArrayBuffer} buffer @returns {Frame} */
export function decodeFrame(buffer) {
  const view = new DataView(buffer);
  const flags = view.getUint8(5);
  const nTrail = view.getUint16(6, true);
  const states = view.getUint32(28, true);
  const actions = view.getUint32(32, true);
  const pairs = states * actions;
  let offset = HEADER_BYTES;
  /** @template {ArrayBufferView} T @param {{new (buffer: ArrayBuffer, offset: number, length: number): T, BYTES_PER_ELEMENT: number}} Type @param {number} length */
  const take = (Type, length) => {
    const array = new Type(buffer, offset, length);
    offset += length * Type.BYTES_PER_ELEMENT;
    return array;
  };
  const visits = take(Uint32Array, pairs);
  const q = take(Float32Array, pairs);
  const behaviour = flags & HAS_BEHAVIOUR ? take(Float32Array, pairs) : q;
  const w = flags & HAS_W ? take(Float32Array, pairs) : null;
  const score = take(Float32Array, pairs);
  const trail = take(Int32Array, nTrail);
  const greedy = take(Uint8Array, states);
  const preferred = take(Uint8Array, states);
  return {
    step: view.getUint32(8, true),
    agent: view.getInt32(16, true),
    discovered: view.getUint32(20, true),
    randomness: view.getFloat32(24, true),
    states, actions, visits, q, behaviour, w, score, trail, greedy, preferred,
    stateVisits: sumByState(visits, states, actions),
  };
}

/** @param {Uint32Array} visits @param {number} states @param {number} actions */
function sumByState(visits, states, actions) {
  const sums = new Float64Array(states);
  for (let state = 0, pair = 0; state < states; state++) {
    for (let action = 0; action < actions; action++, pair++) sums[state] += visits[pair];
  }
  return sums;
}

// The values of a layer: one per state, or one per pair; null if the explorer has no such table.
/** @param {Frame} frame @param {string} id @returns {Values | null} */
export function layerValues(frame, id) {
  switch (id) {
    case "state-visits": return frame.stateVisits;
    case "action-visits": return frame.visits;
    case "q": return frame.q;
    case "w": return frame.w;
    case "term": return frame.score.map((value, pair) => value - frame.behaviour[pair]);
    default: return frame.score;
  }
}

// What decides is the difference between the actions of a state: 0 for the worst, 1 for the best of those that were tried, also if
// these are equal. NaN for an action that was not tried in a discovered state.
/** @param {Values} values @param {Frame} frame @param {boolean} minimises */
export function relativeValues(values, frame, minimises) {
  const shares = new Float64Array(values.length).fill(NaN);
  for (let state = 0, first = 0; state < frame.states; state++, first += frame.actions) {
    let low = Infinity, high = -Infinity;
    for (let pair = first; pair < first + frame.actions; pair++) {
      if (frame.visits[pair] === 0) continue;
      low = Math.min(low, values[pair]);
      high = Math.max(high, values[pair]);
    }
    for (let pair = first; pair < first + frame.actions; pair++) {
      if (frame.visits[pair] === 0) continue;
      shares[pair] = high > low ? (minimises ? high - values[pair] : values[pair] - low) / (high - low) : 1;
    }
  }
  return shares;
}

// For cells too small for triangles: the rank of each state's best value among the discovered states, from 0 to 1. NaN if an action
// of the state was not tried.
/** @param {Values} values @param {Frame} frame @param {boolean} minimises */
export function rankedStates(values, frame, minimises) {
  const best = new Float64Array(frame.states).fill(NaN);
  for (let state = 0, first = 0; state < frame.states; state++, first += frame.actions) {
    if (frame.visits.subarray(first, first + frame.actions).includes(0)) continue;
    const ofState = values.subarray(first, first + frame.actions);
    best[state] = minimises ? -Math.min(...ofState) : Math.max(...ofState);
  }
  const sorted = best.filter((value) => !Number.isNaN(value)).sort();
  const shareOf = new Map();
  sorted.forEach((value, i) => shareOf.set(value, i / Math.max(sorted.length - 1, 1)));
  return best.map((value) => shareOf.get(value) ?? NaN);
}

/** @param {Frame} first @param {Frame} second @param {string} id */
export function differenceOf(first, second, id) {
  const a = layerValues(first, id);
  const b = layerValues(second, id);
  if (!a || !b) return null;
  return Float64Array.from(a, (value, i) => value - b[i]);
}

// Smallest and largest value of the discovered states.
/** @param {Values} values @param {Pick<Frame, "actions" | "states" | "stateVisits">} frame @param {boolean} perAction @returns {[number, number]} */
export function valueRange(values, frame, perAction) {
  let low = Infinity;
  let high = -Infinity;
  const step = perAction ? frame.actions : 1;
  for (let state = 0; state < frame.states; state++) {
    if (frame.stateVisits[state] === 0) continue;
    for (let i = state * step; i < (state + 1) * step; i++) {
      const value = values[i];
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low <= high ? [low, high] : [0, 0];
}

/** @param {number | null | undefined} value @param {number} digits */
export function formatNumber(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(Math.max(digits - 2, 1)).replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

// With a number of decimals, and no minus before a zero.
/** @param {number} value @param {number} decimals */
export function fixedText(value, decimals) {
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? (0).toFixed(decimals) : text;
}

// What the colours of a state compare: the value of its best action, and how far each of the others is from it.
/** @param {number[]} values @param {boolean} minimises @returns {string[]} */
export function lackTexts(values, minimises) {
  const best = minimises ? Math.min(...values) : Math.max(...values);
  return values.map((value) => (value === best ? formatNumber(best, Math.abs(best) >= 1e4 ? 5 : 4) : `${minimises ? "+" : "−"}${formatNumber(Math.abs(value - best), 2)}`));
}

// With as many digits as are needed to show the difference of neighbouring values, the same number of decimals in each.
/** @param {number[]} values @param {number} digits */
export function distinctTexts(values, digits = 4) {
  for (let more = digits; ; more++) {
    const texts = values.map((value) => formatNumber(value, more));
    const isRough = values.some((value, i) => i && Math.abs(Number(texts[i]) - Number(texts[i - 1]) - value + values[i - 1]) > ROUGH * Math.abs(value - values[i - 1]));
    if (more < MAX_DIGITS && isRough) continue;
    const decimals = Math.max(...texts.map((text) => text.split(".")[1]?.length ?? 0));
    return texts.some((text) => text.includes("e")) ? texts : values.map((value) => fixedText(value, decimals));
  }
}
