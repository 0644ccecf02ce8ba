// The legend of a colour scale.

import { cssColour, palette } from "./palette.js";
import { element, setText } from "./dom.js";
import { formatNumber } from "./frames.js";

/** @import { Scale, Theme } from "./palette.js" */

// What is drawn besides the values, by the name of its class.
const MARKS = {
  untried: "not tried", hatch: "undiscovered", unreachable: "unreachable", greedy: "largest Q", behaviour: "largest Q + κU", trail: "last steps", path: "path to come",
};
/** @typedef {keyof typeof MARKS} Mark */
const TICKS = [0, 0.5, 1];
const RAMP = [0, 32, 64, 96, 128, 160, 192, 224, 255];

// The colours of a scale from its low end to its high end, equally far apart.
/** @param {Scale} scale @param {Theme} theme */
export function rampColours(scale, theme) {
  const { rgb } = palette(scale.diverging, theme);
  return RAMP.map((i) => cssColour(rgb[i]));
}

/** @param {Scale} scale */
export function tickTexts(scale) {
  return scale.texts ?? TICKS.map((share) => formatNumber(scale.at(share), 3));
}

/** @param {Scale} scale @param {string} unit */
export function unitText(scale, unit) {
  return `${unit}${scale.suffix ?? (scale.log ? ", log" : "")}`;
}

export class Legend {
  constructor() {
    this.root = element("div", { class: "legend" });
    this.key = "";
    /** @type {HTMLElement[]} */
    this.ticks = [];
  }

  // unit: what the values are; null if there are none, for which `note` says why. marks: the names of what else is drawn.
  /** @param {Scale} scale @param {string | null} unit @param {Theme} theme @param {Mark[]} marks */
  draw(scale, unit, theme, marks = [], note = "") {
    const key = [scale.log, scale.diverging, scale.suffix, unit, theme, note, ...marks].join();
    if (this.key !== key) {
      this.key = key;
      this.build(scale, unit, theme, marks, note);
    }
    if (unit !== null) tickTexts(scale).forEach((text, i) => setText(this.ticks[i], text));
  }

  /** @param {Scale} scale @param {string | null} unit @param {Theme} theme @param {Mark[]} marks @param {string} note */
  build(scale, unit, theme, marks, note) {
    const ramp = element("div", { class: "ramp" });
    ramp.style.background = `linear-gradient(to right, ${rampColours(scale, theme).join(", ")})`;
    this.ticks = TICKS.map(() => element("span"));
    const values = [element("div", { class: "ramp-box" }, ramp, element("div", { class: "ticks" }, ...this.ticks)), element("span", { class: "unit" }, unitText(scale, unit ?? ""))];
    const names = [...(scale.texts && unit !== null ? [/** @type {Mark} */ ("untried")] : []), /** @type {Mark} */ ("hatch"), ...marks];
    this.root.replaceChildren(...(unit === null ? [element("span", { class: "note" }, note)] : values),
      ...names.map((name) => element("span", { class: `unit ${name}` }, MARKS[name])));
  }
}
