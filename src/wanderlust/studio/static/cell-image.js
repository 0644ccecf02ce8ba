// The colours of all cells, pixel by pixel. Only cells whose colours changed are written again.

import { INK, statesOf } from "./cells.js";
import { actionAt } from "./geometry.js";
import { packedColour, palette } from "./palette.js";

/** @import { World } from "./cells.js" */
/** @import { Frame, Values } from "./frames.js" */
/** @import { Scale, Theme } from "./palette.js" */
/**
 * @typedef {object} Picture What is drawn of a map; the marks have further choices.
 * @property {World & {id: number}} world
 * @property {number} layer
 * @property {Frame | null} frame
 * @property {Values | null} values
 * @property {Float64Array | null} [shares]
 * @property {Scale} scale
 * @property {boolean} perAction
 * @property {Theme} theme
 */

// No colour of a scale is transparent, so these stand for themselves.
const UNDISCOVERED = 0;
const NEVER_DRAWN = 1;

export class CellImage {
  /** @param {Picture} picture @param {number} size */
  constructor(picture, size) {
    const { world, layer, perAction, theme } = picture;
    this.key = CellImage.keyOf(picture, size);
    this.size = size;
    this.width = world.columns * size;
    this.parts = perAction ? world.actions.length : 1;
    const { wall, hatchA, hatchB, plain, untried, unreachable } = INK[theme];
    this.hatchA = packedColour(hatchA);
    this.hatchB = packedColour(hatchB);
    this.plain = packedColour(plain);
    this.untried = packedColour(untried);
    this.unreachable = packedColour(unreachable);
    this.isUnreachable = new Set(world.unreachable);
    this.stripe = size === 1 ? 2 : Math.max(Math.round(size / 6), 3);
    // For every pixel of a cell the action that it shows.
    this.within = Uint8Array.from({ length: size * size }, (_, i) => (perAction ? actionAt(world.actions, ((i % size) + 0.5) / size, (Math.floor(i / size) + 0.5) / size) : 0));
    this.image = new ImageData(this.width, world.rows * size);
    this.pixels = new Uint32Array(this.image.data.buffer).fill(packedColour(wall));
    this.canvas = new OffscreenCanvas(this.width, world.rows * size);
    this.context = /** @type {OffscreenCanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    this.colours = new Uint32Array(world.states * this.parts);
    this.shown = new Uint32Array(world.states * this.parts).fill(NEVER_DRAWN);
    this.cells = statesOf(world, layer);
    this.hasUnreachable = this.cells.some(({ state }) => this.isUnreachable.has(state));
    this.context.putImageData(this.image, 0, 0);
  }

  /** @param {Picture} picture @param {number} size */
  static keyOf({ world, layer, perAction, theme }, size) {
    return `${world.id} ${layer} ${size} ${perAction} ${theme}`;
  }

  /** @param {Picture} picture */
  update(picture) {
    this.choose(picture);
    let first = Infinity, last = -1;
    for (const { state, row, column } of this.cells) {
      if (!this.hasChanged(state)) continue;
      this.write(state, row, column);
      first = Math.min(first, row);
      last = Math.max(last, row);
    }
    if (last >= 0) this.context.putImageData(this.image, 0, 0, 0, first * this.size, this.width, (last - first + 1) * this.size);
  }

  /** @param {Picture} picture */
  choose({ frame, values, shares, scale, theme }) {
    const { colours, parts } = this;
    if (!frame) {
      colours.fill(UNDISCOVERED);
      return;
    }
    const packed = palette(scale.diverging, theme).packed, coloured = shares ?? values;
    for (let state = 0, i = 0; state < frame.stateVisits.length; state++) {
      const isKnown = frame.stateVisits[state] > 0, unknown = this.isUnreachable.has(state) ? this.unreachable : UNDISCOVERED;
      for (const end = i + parts; i < end; i++) {
        // An explorer without such a table: what was discovered is plain.
        colours[i] = !isKnown ? unknown : !coloured ? this.plain : Number.isNaN(coloured[i]) ? this.untried : packed[scale.index(coloured[i])];
      }
    }
  }

  /** @param {number} state */
  hasChanged(state) {
    for (let i = state * this.parts; i < (state + 1) * this.parts; i++) if (this.colours[i] !== this.shown[i]) return true;
    return false;
  }

  /** @param {number} state @param {number} row @param {number} column */
  write(state, row, column) {
    const { size, width, pixels, within, stripe, hatchA, hatchB } = this;
    const base = state * this.parts;
    for (let i = base; i < base + this.parts; i++) this.shown[i] = this.colours[i];
    const isKnown = this.colours[base] !== UNDISCOVERED;
    for (let y = row * size, inside = 0; y < (row + 1) * size; y++) {
      for (let x = column * size, at = y * width + x; x < (column + 1) * size; x++, at++, inside++) {
        if (isKnown) pixels[at] = this.colours[base + within[inside]];
        else pixels[at] = Math.floor((x + y) / stripe) & 1 ? hatchA : hatchB;
      }
    }
  }
}
