// What does not change during a run, drawn once per world and size: the lines between cells, badges and chevrons.

import { INK, KIND, cellText, eachCell } from "./cells.js";
import { directionOf } from "./geometry.js";

const LINES_FROM = 10;
const DIAGONALS_FROM = 22;
const CHEVRONS_FROM = 12;
const BADGES_FROM = 16;
const PUDDLES_FROM = 34;

// A transparent picture that is drawn over the values.
export class FixedMarks {
  constructor(picture, cell) {
    this.key = FixedMarks.keyOf(picture, cell);
    this.canvas = new OffscreenCanvas(picture.world.columns * cell, picture.world.rows * cell);
    const context = this.canvas.getContext("2d");
    drawLines(context, picture, cell);
    drawCells(context, picture, cell);
  }

  static keyOf({ world, layer, perAction, theme }, cell) {
    return `${world.id} ${layer} ${cell} ${perAction} ${theme}`;
  }
}

function drawLines(context, { world, layer, perAction, theme }, cell) {
  if (cell < LINES_FROM * (window.devicePixelRatio || 1)) return;
  context.strokeStyle = INK[theme].line;
  context.lineWidth = 1;
  context.beginPath();
  for (let row = 1; row < world.rows; row++) line(context, 0, row * cell + 0.5, world.columns * cell, row * cell + 0.5);
  for (let column = 1; column < world.columns; column++) {
    line(context, column * cell + 0.5, 0, column * cell + 0.5, world.rows * cell);
  }
  if (perAction && cell >= DIAGONALS_FROM) {
    eachCell(world, layer, (row, column, state, kind) => {
      if (state < 0 || kind === KIND.wall) return;
      const x = column * cell, y = row * cell;
      line(context, x, y + cell, x + cell, y);
      if (world.actions.length > 2) line(context, x, y, x + cell, y + cell);
    });
  }
  context.stroke();
}

export function line(context, x0, y0, x1, y1) {
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
}

// Badges: rewards, start, prison; chevrons for one-way cells.
function drawCells(context, { world, layer, theme }, cell) {
  const ink = INK[theme];
  context.textAlign = "center";
  context.textBaseline = "middle";
  eachCell(world, layer, (row, column, state, kind, value, at) => {
    const x = (column + 0.5) * cell, y = (row + 0.5) * cell;
    if (world.entry && world.entry[at] !== 15 && kind !== KIND.wall && cell >= CHEVRONS_FROM) {
      drawChevrons(context, world, world.entry[at], x, y, cell, ink);
    }
    const text = cellText(kind, value);
    if (!text || state < 0) return;
    if (kind === KIND.puddle && cell < PUDDLES_FROM) return;
    // A cost has more digits than a treasure, and leaves room for the arrows beside it as well.
    const size = Math.max(Math.min(cell * (kind === KIND.puddle ? 0.17 : 0.24), 20), 8);
    context.font = `700 ${size}px system-ui, sans-serif`;
    if (cell < BADGES_FROM) {
      drawSmallMark(context, kind, x, y, cell, ink);
      return;
    }
    const width = Math.max(context.measureText(text).width + size * 0.7, size * 1.4);
    const height = size * 1.4;
    context.fillStyle = ink.badge;
    context.strokeStyle = ink.badgeInk;
    context.lineWidth = kind === KIND.treasure ? 2 : 1;
    context.beginPath();
    const radius = kind === KIND.penalty || kind === KIND.puddle ? 0 : height / 2;
    context.roundRect(x - width / 2, y - height / 2, width, height, radius);
    context.fill();
    context.stroke();
    context.fillStyle = ink.badgeInk;
    context.fillText(text, x, y + 0.5);
  });
}

function drawSmallMark(context, kind, x, y, cell, ink) {
  const r = Math.max(cell * 0.55, 3);
  context.beginPath();
  if (kind === KIND.treasure || kind === KIND.reward) {
    context.moveTo(x, y - r); context.lineTo(x + r, y); context.lineTo(x, y + r); context.lineTo(x - r, y);
    context.closePath();
  } else if (kind === KIND.penalty) {
    context.rect(x - r * 0.7, y - r * 0.7, r * 1.4, r * 1.4);
  } else if (kind === KIND.start) {
    context.arc(x, y, r * 0.8, 0, 2 * Math.PI);
  } else {
    context.rect(x - r / 2, y - r / 2, r, r);
  }
  context.fillStyle = kind === KIND.treasure ? "#ffd84d" : ink.badge;
  context.strokeStyle = kind === KIND.treasure ? "#10131a" : ink.badgeInk;
  context.lineWidth = 1.5;
  context.fill();
  context.stroke();
}

function drawChevrons(context, world, bits, x, y, cell, ink) {
  context.strokeStyle = ink.arrow;
  context.lineWidth = Math.max(cell / 18, 1);
  world.actions.forEach((name, action) => {
    if (!(bits & (1 << action))) return;
    const [dx, dy] = directionOf(name);
    const cx = x - dx * cell * 0.38, cy = y - dy * cell * 0.38, r = cell * 0.09;
    context.beginPath();
    context.moveTo(cx - dx * r - dy * r, cy - dy * r - dx * r);
    context.lineTo(cx + dx * r, cy + dy * r);
    context.lineTo(cx - dx * r + dy * r, cy - dy * r + dx * r);
    context.stroke();
  });
}
