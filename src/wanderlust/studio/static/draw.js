// Draws a world and the values of a layer on a canvas. Colours are written pixel by pixel, so that a large world is fast.

import { actionAt, directionOf, partsOf } from "./geometry.js";
import { inkOn, palette } from "./palette.js";
import { formatNumber } from "./frames.js";

export const KIND = { floor: 0, wall: 1, start: 2, prison: 3, treasure: 4, penalty: 5, reward: 6, puddle: 7, passenger: 8 };
export const INK = {
  light: { wall: 0xff6a5f5b, hatchA: 0xfff1eeec, hatchB: 0xffdcd7d4, line: "rgba(30,35,50,.28)", wallCss: "#5b5f6a", plain: 0xffffffff,
    badge: "#ffffff", badgeInk: "#10131a", arrow: "#10131a", halo: "#ffffff", agent: "#d0006f" },
  dark: { wall: 0xff5f5550, hatchA: 0xff262120, hatchB: 0xff352e2c, line: "rgba(255,255,255,.2)", wallCss: "#50555f", plain: 0xff3a3230,
    badge: "#0c0f16", badgeInk: "#ffffff", arrow: "#ffffff", halo: "#0c0f16", agent: "#ff5cb0" },
};
const NUMBERS_FROM = 58;
const SHARP_CELLS_FROM = 12;
const ARROWS_FROM = 9;

// For every pixel the state or the pair that it shows; -1 for walls.
class PixelMap {
  constructor(world, layer, cell, perAction) {
    this.key = PixelMap.keyOf(world, layer, cell, perAction);
    this.width = world.columns * cell;
    this.height = world.rows * cell;
    this.index = new Int32Array(this.width * this.height);
    const { state, kind } = world.layers[layer];
    const within = new Int32Array(cell * cell);
    for (let y = 0; y < cell; y++) {
      for (let x = 0; x < cell; x++) {
        within[y * cell + x] = perAction ? actionAt(world.actions, (x + 0.5) / cell, (y + 0.5) / cell) : 0;
      }
    }
    const parts = perAction ? world.actions.length : 1;
    for (let y = 0, i = 0; y < this.height; y++) {
      const row = Math.floor(y / cell) * world.columns;
      for (let x = 0; x < this.width; x++, i++) {
        const at = row + Math.floor(x / cell);
        const isWall = state[at] < 0 || kind[at] === KIND.wall;
        this.index[i] = isWall ? -1 : state[at] * parts + within[(y % cell) * cell + (x % cell)];
      }
    }
    this.image = new ImageData(this.width, this.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.canvas = new OffscreenCanvas(this.width, this.height);
  }

  static keyOf(world, layer, cell, perAction) {
    return `${world.id} ${layer} ${cell} ${perAction}`;
  }
}

export class MapPainter {
  constructor() {
    this.map = null;
  }

  // picture: {world, layer, frame, values, scale, perAction, theme, arrows, trail, numbers, hover, missing}
  draw(context, picture, cell) {
    this.drawValues(context, picture, cell);
    drawLines(context, picture, cell);
    if (picture.numbers && cell >= NUMBERS_FROM && picture.values) drawNumbers(context, picture, cell);
    drawCells(context, picture, cell);
    if (picture.frame && picture.arrows !== "none" && cell >= ARROWS_FROM) drawArrows(context, picture, cell);
    if (picture.frame && picture.trail) drawTrail(context, picture, cell);
    if (picture.hover !== null && picture.hover !== undefined) drawHover(context, picture, cell);
  }

  drawValues(context, picture, cell) {
    const { world, layer, frame, values, scale, perAction, theme } = picture;
    // Small cells need few pixels of their own: the browser enlarges them.
    const resolution = cell >= SHARP_CELLS_FROM ? cell : perAction ? 4 : 1;
    if (this.map?.key !== PixelMap.keyOf(world, layer, resolution, perAction)) {
      this.map = new PixelMap(world, layer, resolution, perAction);
    }
    const { index, pixels, width } = this.map;
    const scaled = cell / resolution;
    const ink = INK[theme];
    const parts = perAction ? world.actions.length : 1;
    const colours = new Uint32Array(world.states * parts);
    if (frame && !values) {
      // The explorer has no such table: what was discovered is plain.
      for (let state = 0; state < world.states; state++) {
        if (frame.stateVisits[state] > 0) colours.fill(ink.plain, state * parts, (state + 1) * parts);
      }
    }
    if (frame && values) {
      const { packed } = palette(scale.diverging, theme);
      for (let state = 0; state < world.states; state++) {
        if (frame.stateVisits[state] === 0) continue;
        for (let i = state * parts; i < (state + 1) * parts; i++) colours[i] = packed[scale.index(values[i])];
      }
    }
    const stripe = resolution === 1 ? 2 : Math.max(Math.round(resolution / 6), 3);
    for (let i = 0, x = 0, y = 0; i < pixels.length; i++) {
      const k = index[i];
      pixels[i] = k < 0 ? ink.wall : colours[k] || ((Math.floor((x + y) / stripe) & 1) ? ink.hatchA : ink.hatchB);
      if (++x === width) { x = 0; y++; }
    }
    this.map.canvas.getContext("2d").putImageData(this.map.image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.map.canvas, 0, 0, this.map.width * scaled, this.map.height * scaled);
  }
}

function eachCell(world, layer, visit) {
  const { state, kind, value } = world.layers[layer];
  for (let row = 0, at = 0; row < world.rows; row++) {
    for (let column = 0; column < world.columns; column++, at++) visit(row, column, state[at], kind[at], value[at], at);
  }
}

function drawLines(context, { world, layer, perAction, theme }, cell) {
  if (cell < 7) return;
  context.strokeStyle = INK[theme].line;
  context.lineWidth = 1;
  context.beginPath();
  for (let row = 1; row < world.rows; row++) line(context, 0, row * cell + 0.5, world.columns * cell, row * cell + 0.5);
  for (let column = 1; column < world.columns; column++) {
    line(context, column * cell + 0.5, 0, column * cell + 0.5, world.rows * cell);
  }
  if (perAction && cell >= 22) {
    eachCell(world, layer, (row, column, state, kind) => {
      if (state < 0 || kind === KIND.wall) return;
      const x = column * cell, y = row * cell;
      line(context, x, y + cell, x + cell, y);
      if (world.actions.length > 2) line(context, x, y, x + cell, y + cell);
    });
  }
  context.stroke();
}

function line(context, x0, y0, x1, y1) {
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
}

function drawNumbers(context, { world, layer, frame, values, scale, perAction, theme }, cell) {
  const { rgb } = palette(scale.diverging, theme);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = `${Math.max(Math.round(cell / (perAction ? 7.4 : 5)), 9)}px system-ui, sans-serif`;
  const labels = perAction ? world.actions.map((_, action) => partsOf(world.actions, action).label) : [[0.5, 0.78]];
  eachCell(world, layer, (row, column, state, kind) => {
    if (state < 0 || kind === KIND.wall || !frame || frame.stateVisits[state] === 0) return;
    labels.forEach(([x, y], part) => {
      const value = values[state * labels.length + part];
      context.fillStyle = inkOn(rgb[scale.index(value)]);
      context.fillText(formatNumber(value, 3), (column + x) * cell, (row + y) * cell);
    });
  });
}

export function cellText(kind, value) {
  if (kind === KIND.treasure || kind === KIND.reward) return `+${formatNumber(value)}`;
  if (kind === KIND.penalty || kind === KIND.puddle) return formatNumber(value).replace("-", "−");
  return { [KIND.start]: "S", [KIND.prison]: "P", [KIND.passenger]: "☺" }[kind] ?? "";
}

// Badges: rewards, start, prison; chevrons for one-way cells.
function drawCells(context, { world, layer, theme, agentState }, cell) {
  const ink = INK[theme];
  context.textAlign = "center";
  context.textBaseline = "middle";
  eachCell(world, layer, (row, column, state, kind, value, at) => {
    const x = (column + 0.5) * cell, y = (row + 0.5) * cell;
    if (world.entry && world.entry[at] !== 15 && kind !== KIND.wall && cell >= 12) {
      drawChevrons(context, world, world.entry[at], x, y, cell, ink);
    }
    const text = cellText(kind, value);
    if (!text || state < 0) return;
    if (kind === KIND.puddle && cell < 34) return;
    const size = Math.max(Math.min(cell * 0.24, 20), 8);
    context.font = `700 ${size}px system-ui, sans-serif`;
    if (cell < 16) {
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

// Solid arrows: the greedy policy. Outlined arrows: what the behaviour policy prefers. Nothing where all actions tie.
function drawArrows(context, picture, cell) {
  const { world, layer, frame, arrows, theme } = picture;
  const ink = INK[theme];
  const all = (1 << world.actions.length) - 1;
  const solid = new Path2D();
  const outlined = new Path2D();
  eachCell(world, layer, (row, column, state, kind) => {
    if (state < 0 || kind === KIND.wall || frame.stateVisits[state] === 0) return;
    const x = (column + 0.5) * cell, y = (row + 0.5) * cell;
    const add = (path, bits, distance) => {
      if (bits === all) return;
      world.actions.forEach((name, action) => {
        if (bits & (1 << action)) addArrow(path, directionFor(world, name), x, y, cell, distance);
      });
    };
    if (arrows !== "behaviour") add(solid, frame.greedy[state], 0.3);
    if (arrows !== "greedy") add(outlined, frame.preferred[state], arrows === "both" ? 0.42 : 0.3);
  });
  context.lineJoin = "round";
  context.lineWidth = Math.max(cell / 20, 1);
  context.strokeStyle = ink.halo;
  context.fillStyle = ink.arrow;
  context.stroke(solid);
  context.fill(solid);
  context.fillStyle = ink.halo;
  context.strokeStyle = ink.arrow;
  context.fill(outlined);
  context.stroke(outlined);
}

// In deep sea every action also moves down.
export function directionFor(world, name) {
  const [dx, dy] = directionOf(name);
  return world.actions.length === 2 ? [dx * Math.SQRT1_2, Math.SQRT1_2] : [dx, dy];
}

function addArrow(path, [dx, dy], x, y, cell, distance) {
  if (dx === 0 && dy === 0) {
    path.rect(x - cell * 0.08, y + cell * 0.25, cell * 0.16, cell * 0.16);
    return;
  }
  const r = cell * 0.11;
  const cx = x + dx * cell * distance, cy = y + dy * cell * distance;
  path.moveTo(cx + dx * r, cy + dy * r);
  path.lineTo(cx - dx * r - dy * r, cy - dy * r + dx * r);
  path.lineTo(cx - dx * r + dy * r, cy - dy * r - dx * r);
  path.closePath();
}

export function positionsOf(world) {
  if (!world.positions) {
    world.positions = new Array(world.states);
    world.layers.forEach((part, layer) => part.state.forEach((state, at) => {
      if (state >= 0) world.positions[state] = [Math.floor(at / world.columns), at % world.columns, layer];
    }));
  }
  return world.positions;
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
    context.lineWidth = Math.max(cell * 0.09, 2);
    context.beginPath();
    line(context, (c0 + 0.5) * cell, (r0 + 0.5) * cell, (c1 + 0.5) * cell, (r1 + 0.5) * cell);
    context.stroke();
  }
  context.globalAlpha = 1;
  const at = positions[frame.agent];
  if (!at || at[2] !== layer) return;
  context.beginPath();
  context.arc((at[1] + 0.5) * cell, (at[0] + 0.5) * cell, Math.max(cell * 0.2, 4), 0, 2 * Math.PI);
  context.fillStyle = ink.agent;
  context.strokeStyle = ink.halo;
  context.lineWidth = Math.max(cell * 0.05, 2);
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
