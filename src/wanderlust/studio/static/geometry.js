// Where the actions of a cell are drawn: the paper's triangles, two for deep sea, thirds for the chain.

/** @typedef {[number, number]} Point */
/** @typedef {{rows: number, columns: number}} Grid */

/** @type {Record<string, Point>} */
const DIRECTIONS = { left: [-1, 0], right: [1, 0], up: [0, -1], down: [0, 1], forward: [1, 0], backward: [-1, 0] };

/** @param {string} action @returns {Point} */
export function directionOf(action) {
  return DIRECTIONS[action] ?? [0, 0];
}

// The action whose part of the cell holds the point (x, y), both from 0 to 1.
/** @param {string[]} actions @param {number} x @param {number} y */
export function actionAt(actions, x, y) {
  if (actions.length === 2) return x + y < 1 ? 0 : 1;
  const aboveMain = y < x;
  const aboveAnti = y < 1 - x;
  /** @type {Point} */
  const side = aboveMain ? (aboveAnti ? [0, -1] : [1, 0]) : aboveAnti ? [-1, 0] : [0, 1];
  const index = actions.findIndex((name) => sameDirection(directionOf(name), side));
  return index >= 0 ? index : actions.findIndex((name) => sameDirection(directionOf(name), [0, 0]));
}

/** @param {Point} a @param {Point} b */
function sameDirection(a, b) {
  return a[0] === b[0] && a[1] === b[1];
}

// The corners of the part of an action, and where its number ends: beside the trail, which goes through the centres of cells.
/** @typedef {{polygons: Point[][], label: Point, align: string}} ActionPart */
/** @param {string[]} actions @param {number} action @returns {ActionPart} */
export function partsOf(actions, action) {
  if (actions.length === 2) {
    return action === 0
      ? { polygons: [[[0, 0], [1, 0], [0, 1]]], label: [0.5, 0.16], align: "center" }
      : { polygons: [[[1, 0], [1, 1], [0, 1]]], label: [0.5, 0.84], align: "center" };
  }
  /** @type {Record<string, {polygon: Point[], label: Point, align: string}>} */
  const triangles = {
    "-1,0": { polygon: [[0, 0], [0.5, 0.5], [0, 1]], label: [0.03, 0.39], align: "left" },
    "1,0": { polygon: [[1, 0], [0.5, 0.5], [1, 1]], label: [0.97, 0.39], align: "right" },
    "0,-1": { polygon: [[0, 0], [0.5, 0.5], [1, 0]], label: [0.46, 0.12], align: "right" },
    "0,1": { polygon: [[0, 1], [0.5, 0.5], [1, 1]], label: [0.46, 0.88], align: "right" },
  };
  const direction = directionOf(actions[action]);
  if (!sameDirection(direction, [0, 0])) {
    const { polygon, label, align } = triangles[direction.join()];
    return { polygons: [polygon], label, align };
  }
  // An action that stays has what the moves leave over.
  const taken = new Set(actions.map((name) => directionOf(name).join()));
  const free = Object.entries(triangles).filter(([key]) => !taken.has(key)).map(([, part]) => part);
  return { polygons: free.map((part) => part.polygon), label: free[0]?.label ?? [0.5, 0.5], align: free[0]?.align ?? "center" };
}

// The cell at the pointer; null outside of the map.
/** @param {PointerEvent} event @param {HTMLCanvasElement} canvas @param {Grid} world */
export function cellAt(event, canvas, { rows, columns }) {
  const box = canvas.getBoundingClientRect();
  const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
  const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
  return row >= 0 && column >= 0 && row < rows && column < columns ? row * columns + column : null;
}

/** @type {Record<string, Point>} */
const ARROW_KEYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** @param {string} key */
export function isArrowKey(key) {
  return key in ARROW_KEYS;
}

// The cell to which an arrow key leads; at the border, the same one.
/** @param {number} at @param {string} key @param {Grid} world */
export function cellByKey(at, key, { rows, columns }) {
  const row = Math.floor(at / columns) + ARROW_KEYS[key][0], column = (at % columns) + ARROW_KEYS[key][1];
  return Math.min(Math.max(row, 0), rows - 1) * columns + Math.min(Math.max(column, 0), columns - 1);
}

const SHARP_FROM = 12;

// Sizes a canvas so that the world fits into a box; returns the size of a cell in the canvas's own pixels, which is whole.
// Small cells are drawn a little larger and scaled down, so that the map uses the box.
/** @param {HTMLCanvasElement} canvas @param {Grid} world @param {number} width @param {number} height */
export function fitCanvas(canvas, world, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const room = Math.max(Math.min(width / world.columns, height / world.rows), 1);
  const cell = room * ratio < SHARP_FROM ? Math.ceil(room * ratio) : Math.floor(room * ratio);
  const shown = room * ratio < SHARP_FROM ? room : cell / ratio;
  const size = [cell * world.columns, cell * world.rows];
  if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
  canvas.style.width = `${shown * world.columns}px`;
  canvas.style.height = `${shown * world.rows}px`;
  return cell;
}
