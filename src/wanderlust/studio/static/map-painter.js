// Draws a world and the values of a layer on a canvas. What did not change since the last frame is not drawn again.

import { ArrowMarks } from "./arrow-marks.js";
import { CellImage } from "./cell-image.js";
import { FixedMarks, line } from "./fixed-marks.js";
import { INK, KIND, eachCell, positionsOf } from "./cells.js";
import { formatNumber } from "./frames.js";
import { inkOn, palette } from "./palette.js";
import { partsOf } from "./geometry.js";

// Sizes in pixels of the page; only that of sharp cells is in pixels of the canvas.
const NUMBERS_FROM = 44;
const ACTION_NUMBERS_FROM = 92;
const SHARP_CELLS_FROM = 12;
const ARROWS_FROM = 11;
const LARGEST_NUMBER = 15;
const SMALLEST_NUMBER = 9;
// The width of the corner beside the arrow down, over the width of a digit of size 1.
const CORNER = 0.31 / 0.64;
const LARGEST_AGENT = 15;
const WIDEST_TRAIL = 6;

export class MapPainter {
  // picture: {world, layer, frame, values, scale, perAction, theme, arrows, trail, numbers, hover}
  draw(context, picture, cell) {
    const { frame } = picture;
    const hasNumbers = picture.numbers && picture.values && cell >= pixels(picture.perAction ? ACTION_NUMBERS_FROM : NUMBERS_FROM);
    this.drawValues(context, picture, cell);
    if (frame && picture.trail) drawTrail(context, picture, cell);
    if (this.fixed?.key !== FixedMarks.keyOf(picture, cell)) this.fixed = new FixedMarks(picture, cell);
    context.drawImage(this.fixed.canvas, 0, 0);
    if (hasNumbers) drawNumbers(context, picture, cell);
    if (frame && picture.arrows !== "none" && cell >= pixels(ARROWS_FROM)) this.drawArrows(context, { ...picture, inner: hasNumbers && picture.perAction }, cell);
    if (frame && picture.trail) drawAgent(context, picture, cell);
    if (picture.hover !== null && picture.hover !== undefined) drawHover(context, picture, cell);
  }

  drawValues(context, picture, cell) {
    // Small cells need few pixels of their own: the browser enlarges them.
    const size = cell >= SHARP_CELLS_FROM ? cell : picture.perAction ? 4 : 1;
    if (this.image?.key !== CellImage.keyOf(picture, size)) this.image = new CellImage(picture, size);
    this.image.update(picture);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image.canvas, 0, 0, picture.world.columns * cell, picture.world.rows * cell);
  }

  drawArrows(context, picture, cell) {
    if (this.arrows?.key !== ArrowMarks.keyOf(picture, cell)) this.arrows = new ArrowMarks(picture, cell);
    this.arrows.update(picture.frame);
    context.drawImage(this.arrows.canvas, 0, 0);
  }
}

function drawNumbers(context, { world, layer, frame, values, scale, perAction, theme }, cell) {
  const { rgb } = palette(scale.diverging, theme);
  context.textAlign = perAction ? "center" : "right";
  context.textBaseline = "middle";
  const size = Math.min(cell / (perAction ? 8.5 : 5), pixels(LARGEST_NUMBER));
  // Beside the arrows: a number of a state is in a corner.
  const labels = perAction ? world.actions.map((_, action) => partsOf(world.actions, action).label) : [[0.95, 0.87]];
  eachCell(world, layer, (row, column, state, kind) => {
    if (state < 0 || kind === KIND.wall || !frame || frame.stateVisits[state] === 0) return;
    labels.forEach(([x, y], part) => {
      const value = values[state * labels.length + part];
      context.fillStyle = inkOn(rgb[scale.index(value)]);
      const text = formatNumber(value, 3);
      // A long number of a state is smaller, so that it does not reach the arrow down.
      const fitting = perAction ? size : Math.max(Math.min(size, (CORNER * cell) / text.length), pixels(SMALLEST_NUMBER));
      context.font = `${Math.round(fitting)}px system-ui, sans-serif`;
      context.fillText(text, (column + x) * cell, (row + y) * cell);
    });
  });
}

function drawTrail(context, { world, layer, frame, theme }, cell) {
  const ink = INK[theme];
  const positions = positionsOf(world);
  const states = [...frame.trail, frame.agent].filter((state) => state >= 0);
  context.lineCap = "round";
  const farthest = world.actions.length === 2 ? 2 : 1;
  for (let i = 1; i < states.length; i++) {
    const [r0, c0, l0] = positions[states[i - 1]];
    const [r1, c1, l1] = positions[states[i]];
    // A long jump is the start of a new episode.
    if (l0 !== layer || l1 !== layer || Math.abs(r0 - r1) + Math.abs(c0 - c1) > farthest) continue;
    context.globalAlpha = 0.15 + (0.75 * i) / states.length;
    context.strokeStyle = ink.agent;
    context.lineWidth = Math.max(Math.min(cell * 0.09, pixels(WIDEST_TRAIL)), 2);
    context.beginPath();
    line(context, (c0 + 0.5) * cell, (r0 + 0.5) * cell, (c1 + 0.5) * cell, (r1 + 0.5) * cell);
    context.stroke();
  }
  context.globalAlpha = 1;
}

function drawAgent(context, { world, layer, frame, theme }, cell) {
  const ink = INK[theme];
  const at = positionsOf(world)[frame.agent];
  if (!at || at[2] !== layer) return;
  context.beginPath();
  context.arc((at[1] + 0.5) * cell, (at[0] + 0.5) * cell, Math.max(Math.min(cell * 0.2, pixels(LARGEST_AGENT)), 4), 0, 2 * Math.PI);
  context.fillStyle = ink.agent;
  context.strokeStyle = ink.halo;
  context.lineWidth = Math.max(Math.min(cell * 0.05, pixels(3)), 2);
  context.fill();
  context.stroke();
}

function drawHover(context, { world, hover, theme }, cell) {
  const row = Math.floor(hover / world.columns), column = hover % world.columns;
  context.lineWidth = 3;
  context.strokeStyle = INK[theme].halo;
  context.strokeRect(column * cell + 1.5, row * cell + 1.5, cell - 3, cell - 3);
  context.lineWidth = 1.5;
  context.strokeStyle = INK[theme].arrow;
  context.strokeRect(column * cell + 1.5, row * cell + 1.5, cell - 3, cell - 3);
}

// Pixels of the canvas for pixels of the page.
function pixels(size) {
  return size * (window.devicePixelRatio || 1);
}
