// The arrows of the policies. A policy changes in a few states per frame, so only their cells are drawn again.

import { INK, KIND, cellText, directionFor, eachCell } from "./cells.js";

const NO_ARROWS_YET = -1;
const LARGEST_ARROW = 9;

export class ArrowMarks {
  constructor(picture, cell) {
    const { world, layer, arrows, theme, inner } = picture;
    this.key = ArrowMarks.keyOf(picture, cell);
    this.world = world;
    this.arrows = arrows;
    this.ink = INK[theme];
    // Beside numbers, arrows are small and near the centre, or around its badge.
    this.largest = LARGEST_ARROW * (window.devicePixelRatio || 1);
    this.inner = inner;
    this.cell = cell;
    this.canvas = new OffscreenCanvas(world.columns * cell, world.rows * cell);
    this.context = this.canvas.getContext("2d");
    this.shown = new Int32Array(world.states).fill(NO_ARROWS_YET);
    this.places = [];
    eachCell(world, layer, (row, column, state, kind, value) => {
      if (state >= 0 && kind !== KIND.wall) this.places.push([state, row, column, cellText(kind, value) !== ""]);
    });
  }

  static keyOf({ world, layer, arrows, theme, inner }, cell) {
    return `${world.id} ${layer} ${cell} ${arrows} ${theme} ${inner}`;
  }

  update(frame) {
    const all = (1 << this.world.actions.length) - 1;
    for (const [state, row, column, hasBadge] of this.places) {
      // Nothing where all actions tie, nor where no action was taken yet.
      const isKnown = frame.stateVisits[state] > 0;
      const greedy = isKnown && this.arrows !== "behaviour" && frame.greedy[state] !== all ? frame.greedy[state] : 0;
      const preferred = isKnown && this.arrows !== "greedy" && frame.preferred[state] !== all ? frame.preferred[state] : 0;
      const code = greedy | (preferred << 8);
      if (code === this.shown[state]) continue;
      if (this.shown[state] > 0) this.context.clearRect(column * this.cell, row * this.cell, this.cell, this.cell);
      this.shown[state] = code;
      if (code) this.drawCell(row, column, greedy, preferred, hasBadge);
    }
  }

  // Solid arrows: the greedy policy. Outlined arrows: what the behaviour policy prefers.
  drawCell(row, column, greedy, preferred, hasBadge) {
    const { context, cell, ink } = this;
    const [distance, size] = this.inner ? [hasBadge ? 0.26 : 0.11, 0.07] : hasBadge ? [0.38, 0.085] : [0.3, 0.11];
    const radius = Math.min(cell * size, this.largest);
    context.save();
    context.beginPath();
    context.rect(column * cell, row * cell, cell, cell);
    context.clip();
    context.lineJoin = "round";
    context.lineWidth = Math.max(radius / 2.2, 1);
    context.strokeStyle = ink.halo;
    context.fillStyle = ink.arrow;
    const solid = this.path(row, column, greedy, distance, radius);
    context.stroke(solid);
    context.fill(solid);
    context.fillStyle = ink.halo;
    context.strokeStyle = ink.arrow;
    const outlined = this.path(row, column, preferred, this.arrows === "both" ? Math.min(distance + 0.06, 0.41) : distance, radius);
    context.fill(outlined);
    context.stroke(outlined);
    context.restore();
  }

  path(row, column, bits, distance, radius) {
    const path = new Path2D();
    this.world.actions.forEach((name, action) => {
      const place = [(column + 0.5) * this.cell, (row + 0.5) * this.cell];
      if (bits & (1 << action)) addArrow(path, directionFor(this.world, name), ...place, this.cell * distance, radius);
    });
    return path;
  }
}

function addArrow(path, [dx, dy], x, y, distance, r) {
  if (dx === 0 && dy === 0) {
    path.rect(x - r * 0.7, y + distance, r * 1.4, r * 1.4);
    return;
  }
  const cx = x + dx * distance, cy = y + dy * distance;
  path.moveTo(cx + dx * r, cy + dy * r);
  path.lineTo(cx - dx * r - dy * r, cy - dy * r + dx * r);
  path.lineTo(cx - dx * r + dy * r, cy - dy * r - dx * r);
  path.closePath();
}
