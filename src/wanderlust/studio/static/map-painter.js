// Draws a map on a canvas. What did not change since the last frame is not drawn again.

import { CellImage } from "./cell-image.js";
import { INK, statesOf } from "./cells.js";
import { agentMarks, arrowBits, arrowMarks, fixedMarks, frameMarks, hasArrows, hasNumbers, numberMarks, pathMarks, trailMarks } from "./map-marks.js";
import { paint } from "./marks.js";

const SHARP_CELLS_FROM = 12;
const NO_ARROWS_YET = -1;

export class MapPainter {
  // picture: {world, layer, frame, values, scale, perAction, theme, arrows, trail, numbers, hover, wrong}
  draw(context, picture, cell) {
    const { world, hover, wrong, theme } = picture;
    const ratio = window.devicePixelRatio || 1;
    this.drawValues(context, picture, cell);
    paint(context, trailMarks(picture, cell, ratio));
    paint(context, pathMarks(picture, cell, ratio));
    this.drawFixed(context, picture, cell, ratio);
    paint(context, numberMarks(picture, cell, ratio));
    if (hasArrows(picture, cell, ratio)) this.drawArrows(context, picture, cell, ratio);
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

  drawFixed(context, picture, cell, ratio) {
    const key = keyOf(picture, cell);
    if (this.fixed?.key !== key) {
      this.fixed = { key, ...sheetFor(picture.world, cell) };
      paint(this.fixed.context, fixedMarks(picture, cell, ratio));
    }
    context.drawImage(this.fixed.canvas, 0, 0);
  }

  // A policy changes in a few states per frame, so only their cells are drawn again.
  drawArrows(context, picture, cell, ratio) {
    const { world, layer, arrows } = picture;
    const key = `${keyOf(picture, cell)} ${arrows} ${Boolean(hasNumbers(picture, cell, ratio))}`;
    if (this.arrows?.key !== key) {
      this.arrows = { key, ...sheetFor(world, cell), shown: new Int32Array(world.states).fill(NO_ARROWS_YET) };
    }
    const { shown, context: sheet } = this.arrows;
    for (const place of statesOf(world, layer)) {
      const bits = arrowBits(picture, place.state);
      if (bits === shown[place.state]) continue;
      const box = [place.column * cell, place.row * cell, cell, cell];
      if (shown[place.state] > 0) sheet.clearRect(...box);
      shown[place.state] = bits;
      if (!bits) continue;
      sheet.save();
      sheet.beginPath();
      sheet.rect(...box);
      sheet.clip();
      paint(sheet, arrowMarks(picture, cell, ratio, place, bits));
      sheet.restore();
    }
    context.drawImage(this.arrows.canvas, 0, 0);
  }
}

function keyOf({ world, layer, perAction, theme }, cell) {
  return `${world.id} ${layer} ${cell} ${perAction} ${theme}`;
}

// A transparent picture that is drawn over the values.
function sheetFor(world, cell) {
  const canvas = new OffscreenCanvas(world.columns * cell, world.rows * cell);
  return { canvas, context: canvas.getContext("2d") };
}
