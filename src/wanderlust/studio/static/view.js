// What is shown, independent of how: the scale of a layer, over one lane or over all.

import { layerById, layerValues, valueRange } from "./frames.js";
import { makeScale } from "./palette.js";

/** @import { Frame, Layer } from "./frames.js" */
/** @import { Scale } from "./palette.js" */

// Of values relative to the other actions of the state, and of its best action relative to the other states.
const RELATIVE = { ...makeScale(0, 1), texts: ["worst action", "", "best action"], suffix: " within a state" };
export const RANKED = { ...makeScale(0, 1), texts: ["explored", "", "to explore"], suffix: " of the best action, by rank" };

// Counts spread over orders of magnitude, so their automatic scale is logarithmic; a few visits need none.
/** @param {string} setting @param {Layer} layer @param {number} low @param {number} high */
function wantsLog(setting, layer, low, high) {
  if (setting !== "auto") return setting === "log";
  return layer.unit === "visits" ? high > 50 : Math.max(Math.abs(low), Math.abs(high)) > 1000;
}

/** @param {Frame[]} frames @param {{layer: string, scale: string, shared: boolean}} options @returns {Scale[]} */
export function scalesFor(frames, { layer: id, scale, shared }) {
  const layer = layerById(id);
  if (layer.isRelative) return frames.map(() => RELATIVE);
  const ranges = frames.map((frame) => {
    const values = frame && layerValues(frame, id);
    return values ? valueRange(values, frame, layer.perAction) : null;
  });
  return frames.map((_, i) => {
    const used = ranges.flatMap((range, j) => (range && (shared || i === j) ? [range] : []));
    const low = Math.min(...used.map((range) => range[0]), layer.unit === "visits" ? 0 : Infinity);
    const high = Math.max(...used.map((range) => range[1]));
    const [from, to] = used.length ? [low, high] : [0, 1];
    if (layer.unit !== "visits") return makeScale(from, to, { log: wantsLog(scale, layer, from, to) });
    // No half visits.
    const made = makeScale(from, 2 * Math.max(Math.ceil(to / 2), 1), { log: wantsLog(scale, layer, from, to), unit: 1 });
    return { ...made, at: (share) => Math.round(made.at(share)) };
  });
}
