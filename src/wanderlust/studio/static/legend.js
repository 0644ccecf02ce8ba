// The legend of a colour scale.

import { cssColour, palette } from "./palette.js";
import { element, setText } from "./dom.js";
import { formatNumber } from "./frames.js";

/** @import { Scale, Theme } from "./palette.js" */

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

  // unit: what the values are; null hides the legend.
  /** @param {Scale} scale @param {string | null} unit @param {Theme} theme */
  draw(scale, unit, theme) {
    this.root.hidden = unit === null;
    if (unit === null) return;
    const key = `${scale.log} ${scale.diverging} ${scale.suffix} ${unit} ${theme}`;
    if (this.key !== key) {
      this.key = key;
      this.build(scale, unit, theme);
    }
    tickTexts(scale).forEach((text, i) => setText(this.ticks[i], text));
  }

  /** @param {Scale} scale @param {string} unit @param {Theme} theme */
  build(scale, unit, theme) {
    const ramp = element("div", { class: "ramp" });
    ramp.style.background = `linear-gradient(to right, ${rampColours(scale, theme).join(", ")})`;
    this.ticks = TICKS.map(() => element("span"));
    this.root.replaceChildren(
      element("div", { class: "ramp-box" }, ramp, element("div", { class: "ticks" }, ...this.ticks)),
      element("span", { class: "unit" }, unitText(scale, unit)),
      ...(scale.texts ? [element("span", { class: "unit untried" }, "not tried")] : []),
      element("span", { class: "unit hatch" }, "undiscovered"),
    );
  }
}
