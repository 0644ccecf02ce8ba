// Draws a map on a canvas. What did not change since the last frame is not drawn again.

import { CellImage } from "./cell-image.js";
import { INK, cellText, statesOf } from "./cells.js";
import { agentMarks, arrowBits, arrowMarks, fixedMarks, frameMarks, hasArrows, hasNumbers, numberMarks, pathMarks, trailMarks } from "./map-marks.js";
import { paint } from "./marks.js";

const SHARP_CELLS_FROM = 12;

export class MapPainter {
  // picture: {world, layer, frame, values, scale, perAction, theme, arrows, trail, numbers, hover, wrong}
  draw(context, picture, cell) {
    const { world, hover, wrong, theme } = picture;
    const ratio = window.devicePixelRatio || 1;
    this.drawValues(context, picture, cell);
    paint(context, trailMarks(picture, cell, ratio));
    paint(context, pathMarks(picture, cell, ratio));
    const fixed = this.fixedSheet(picture, cell, ratio);
    if (!hasArrows(picture, cell, ratio)) context.drawImage(fixed, 0, 0);
    else context.drawImage(this.arrowSheet(picture, cell, ratio, fixed), 0, 0);
    paint(context, numberMarks(picture, cell, ratio));
    paint(context, agentMarks(picture, cell, ratio));
    paint(context, frameMarks(world, hover, cell, [INK[theme].halo, INK[theme].arrow]));
    paint(context, frameMarks(world, wrong, cell, [INK[theme].wrong]));
  }

  drawValues(context, picture, cell) {
    // Small cells need few pixels of their own: the browser enlarges them.
    const size = cell >= SHARP_CELLS_FROM ? cell : picture.perAction ? 4 : 1;
    if (this.image?.key !== CellImage.keyOf(picture, size)) this.image = new CellImage(picture, size);
    this.image.update(picture);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image.canvas, 0, 0, picture.world.columns * cell, picture.world.rows * cell);
  }

  fixedSheet(picture, cell, ratio) {
    const key = keyOf(picture, cell);
    if (this.fixed?.key !== key) {
      this.fixed = { key, ...sheetFor(picture.world.columns * cell, picture.world.rows * cell) };
      paint(this.fixed.context, fixedMarks(picture, cell, ratio));
    }
    return this.fixed.canvas;
  }

  // What is fixed, and the arrows above it. A policy changes in a few states per frame, so only their cells are drawn again.
  arrowSheet(picture, cell, ratio, fixed) {
    const { world, layer, arrows } = picture;
    const key = `${keyOf(picture, cell)} ${arrows} ${Boolean(hasNumbers(picture, cell, ratio))}`;
    if (this.arrows?.key !== key) {
      this.arrows = { key, ...sheetFor(fixed.width, fixed.height), shown: new Int32Array(world.states), sprites: new Map() };
      this.arrows.context.drawImage(fixed, 0, 0);
    }
    const { shown, context } = this.arrows;
    for (const place of statesOf(world, layer)) {
      const bits = arrowBits(picture, place.state);
      if (bits === shown[place.state]) continue;
      const box = [place.column * cell, place.row * cell, cell, cell];
      context.clearRect(...box);
      context.drawImage(fixed, ...box, ...box);
      shown[place.state] = bits;
      if (bits) context.drawImage(this.spriteOf(picture, cell, ratio, place, bits), box[0], box[1]);
    }
    return this.arrows.canvas;
  }

  // The arrows of a cell; many cells have the same ones.
  spriteOf(picture, cell, ratio, { kind, value }, bits) {
    const { sprites } = this.arrows, key = `${bits} ${cellText(kind, value) !== ""}`;
    if (!sprites.has(key)) {
      const { canvas, context } = sheetFor(cell, cell);
      paint(context, arrowMarks(picture, cell, ratio, { row: 0, column: 0, kind, value }, bits));
      sprites.set(key, canvas);
    }
    return sprites.get(key);
  }
}

function keyOf({ world, layer, perAction, theme }, cell) {
  return `${world.id} ${layer} ${cell} ${perAction} ${theme}`;
}

// A transparent picture that is drawn over the values.
function sheetFor(width, height) {
  const canvas = new OffscreenCanvas(width, height);
  return { canvas, context: canvas.getContext("2d") };
}
