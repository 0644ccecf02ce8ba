// Colour scales that people with colour-blindness can read: lightness changes in one direction along each scale.

const SEQUENTIAL = {
  light: ["#fff8d6", "#fbe49a", "#c9d88b", "#7cc08d", "#3a9f9a", "#2a7396", "#2b4a80", "#1c1f52"],
  dark: ["#1a2138", "#24355f", "#265c86", "#2b8691", "#58ac86", "#a6c96f", "#f0dc6a", "#fff9d0"],
};
const DIVERGING = {
  light: ["#0b3c78", "#2f74b5", "#8fbce0", "#f4f4f1", "#f6bd82", "#dd7a1f", "#8a3d05"],
  dark: ["#b9dcff", "#5ea4e0", "#2a5f96", "#23262f", "#8c4a16", "#e08a37", "#ffd9a8"],
};
/** @typedef {"light" | "dark"} Theme */
/** @typedef {[number, number, number]} Colour Red, green and blue. */
/**
 * @typedef {object} Scale
 * @property {number} low
 * @property {number} high
 * @property {boolean} log
 * @property {boolean} diverging
 * @property {(value: number) => number} index
 * @property {(share: number) => number} at
 * @property {string[]} [texts]
 * @property {string} [suffix]
 */

export const LANE_COLOURS = { light: ["#0b62c4", "#b3480b", "#0f7a55"], dark: ["#7cb8ff", "#ffab70", "#62d6a5"] };
export const LANE_DASHES = [[], [7, 4], [2, 4]];
// Of curves, of which there may be more than lanes.
export const CURVE_COLOURS = {
  light: [...LANE_COLOURS.light, "#8b3fa8", "#8a6d00", "#c2185b", "#00707c", "#5a6270"],
  dark: [...LANE_COLOURS.dark, "#d3a2ff", "#e8d25c", "#ff8fb8", "#63d4e2", "#b6bfd0"],
};
const STEPS = 256;

/** @returns {Theme} */
export function themeName() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** @param {string} hex @returns {Colour} */
function channels(hex) {
  const channel = (/** @type {number} */ at) => parseInt(hex.slice(at, at + 2), 16);
  return [channel(1), channel(3), channel(5)];
}

/** @param {string[]} anchors @param {number} t @returns {Colour} */
function interpolate(anchors, t) {
  const position = Math.min(Math.max(t, 0), 1) * (anchors.length - 1);
  const index = Math.min(Math.floor(position), anchors.length - 2);
  const share = position - index;
  const a = channels(anchors[index]);
  const b = channels(anchors[index + 1]);
  const between = (/** @type {number} */ i) => Math.round(a[i] + (b[i] - a[i]) * share);
  return [between(0), between(1), between(2)];
}

/** @type {Map<string, {rgb: Colour[], packed: Uint32Array}>} */
const cache = new Map();

// 256 colours as [red, green, blue] and as the 32-bit numbers of image data.
/** @param {boolean} diverging @param {Theme} theme */
export function palette(diverging, theme) {
  const key = `${diverging} ${theme}`;
  const known = cache.get(key);
  if (known) return known;
  const anchors = (diverging ? DIVERGING : SEQUENTIAL)[theme];
  const rgb = Array.from({ length: STEPS }, (_, i) => interpolate(anchors, i / (STEPS - 1)));
  const made = { rgb, packed: Uint32Array.from(rgb, packedColour) };
  cache.set(key, made);
  return made;
}

// As a pixel of image data.
/** @param {Colour} colour */
export function packedColour([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** @param {Colour} colour */
export function cssColour([r, g, b]) {
  return `rgb(${r}, ${g}, ${b})`;
}

// Black or white, whichever is easier to read on a colour.
/** @param {Colour} colour */
export function inkOn([r, g, b]) {
  const light = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.3 ? "#10131a" : "#ffffff";
}

// A few values just below zero do not need half of the colours.
/** @param {number} low @param {number} high */
function hasBothSigns(low, high) {
  return low < 0 && high > 0 && Math.min(-low, high) > 0.02 * Math.max(-low, high);
}

// A scale turns a value into the index of a colour. Values with both signs get the diverging colours, zero in the middle.
/** @param {number} low @param {number} high @param {{log?: boolean, diverging?: boolean, unit?: number}} options @returns {Scale} */
export function makeScale(low, high, { log = false, diverging = hasBothSigns(low, high), unit = 0 } = {}) {
  const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
  // Logarithmic for values far above the unit, linear around zero: values of both signs, and zero, have a place.
  const small = unit || size / 1000;
  const transform = (/** @type {number} */ value) => (log ? Math.asinh(value / small) : value);
  const inverse = (/** @type {number} */ value) => (log ? Math.sinh(value) * small : value);
  const from = diverging ? -size : low;
  const to = diverging ? size : high;
  const start = transform(from);
  const span = transform(to) - start || 1;
  return {
    low: from, high: to, log, diverging,
    index: (value) => Math.round(Math.min(Math.max((transform(value) - start) / span, 0), 1) * (STEPS - 1)),
    at: (share) => inverse(start + share * span),
  };
}
