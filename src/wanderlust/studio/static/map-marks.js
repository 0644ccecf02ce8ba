// The marks of a map: what the canvas of a lane and a saved picture both show.

import { ALL_MOVES, INK, KIND, cellText, cellsOf, directionFor, positionsOf, statesOf } from "./cells.js";
import { cssColour, inkOn, palette } from "./palette.js";
import { directionOf, partsOf } from "./geometry.js";
import { formatNumber, lackTexts } from "./frames.js";
import { textWidth } from "./marks.js";

// Sizes of cells. Those in pixels of the page are multiplied by the ratio of the screen.
const LINES_FROM = 10, ARROWS_FROM = 11, NUMBERS_FROM = 44, ACTION_NUMBERS_FROM = 92;
const CHEVRONS_FROM = 12, BADGES_FROM = 16, DIAGONALS_FROM = 22, PUDDLES_FROM = 34;
const LARGEST_ARROW = 9, LARGEST_NUMBER = 15, SMALLEST_NUMBER = 9, LARGEST_AGENT = 15, WIDEST_TRAIL = 6;
// The width of the corner beside the arrow down, over the width of a digit of size 1.
const CORNER = 0.31 / 0.64;
// The same of the room of a number of an action.
const BESIDE_ARROW = 0.34 / 0.62;

// What does not change during a run: the lines between cells, badges, and chevrons of one-way cells.
export function fixedMarks(picture, cell, ratio) {
  const { world, layer, theme } = picture;
  const isUnreachable = new Set(world.unreachable), stroke = INK[theme].line;
  /** @type {Record<string, any>[]} */
  const marks = cell < LINES_FROM * ratio ? [] : [{ paths: linePaths(picture, cell), stroke }];
  for (const { row, column, state, kind, value, at } of cellsOf(world, layer)) {
    const x = (column + 0.5) * cell, y = (row + 0.5) * cell;
    if (isUnreachable.has(state) && kind !== KIND.wall && cell >= LINES_FROM * ratio) marks.push({ paths: cross(x, y, cell * 0.2), stroke, width: Math.max(cell / 14, 1) });
    const bits = world.entry?.[at] ?? ALL_MOVES;
    if (bits !== ALL_MOVES && kind !== KIND.wall && cell >= CHEVRONS_FROM * ratio) marks.push(chevrons(world, bits, x, y, cell, INK[theme]));
    const text = cellText(kind, value);
    if (!text || state < 0) continue;
    if (cell < (kind === KIND.puddle ? PUDDLES_FROM : BADGES_FROM) * ratio) marks.push(smallMark(kind, x, y, cell, INK[theme]));
    else marks.push(...badge(kind, text, x, y, cell, ratio, world.columns * cell, INK[theme]));
  }
  return marks;
}

function cross(x, y, r) {
  return [[[x - r, y - r], [x + r, y + r]], [[x - r, y + r], [x + r, y - r]]];
}

function linePaths({ world, layer, perAction }, cell) {
  const { rows, columns, actions } = world;
  const paths = [];
  for (let row = 1; row < rows; row++) paths.push([[0, row * cell + 0.5], [columns * cell, row * cell + 0.5]]);
  for (let column = 1; column < columns; column++) paths.push([[column * cell + 0.5, 0], [column * cell + 0.5, rows * cell]]);
  if (!perAction || cell < DIAGONALS_FROM) return paths;
  const isUnreachable = new Set(world.unreachable);
  for (const { state, row, column } of statesOf(world, layer)) {
    if (isUnreachable.has(state)) continue;
    const x = column * cell, y = row * cell;
    paths.push([[x, y + cell], [x + cell, y]]);
    if (actions.length > 2) paths.push([[x, y], [x + cell, y + cell]]);
  }
  return paths;
}

// A long number at the border of the map is moved inside.
function badge(kind, text, centre, y, cell, ratio, mapWidth, ink) {
  // A cost has more digits than a treasure, and leaves room for the arrows beside it as well.
  const size = Math.max(Math.min(cell * (kind === KIND.puddle ? 0.17 : 0.24), 20 * ratio), 8 * ratio);
  const width = Math.max(textWidth({ text, size, bold: true }) + size * 0.7, size * 1.4), height = size * 1.4;
  const x = Math.min(Math.max(centre, width / 2 + 1), mapWidth - width / 2 - 1);
  const label = { text, at: [x, y + 0.5], size, bold: true, fill: ink.badgeInk };
  const radius = kind === KIND.penalty || kind === KIND.puddle ? 0 : height / 2;
  const box = [x - width / 2, y - height / 2, width, height];
  return [{ box, radius, fill: ink.badge, stroke: ink.badgeInk, width: kind === KIND.treasure ? 2 : 1 }, label];
}

function smallMark(kind, x, y, cell, ink) {
  const r = kind === KIND.puddle ? Math.max(cell * 0.2, 2) : Math.max(cell * 0.55, 3), side = kind === KIND.penalty ? r * 1.4 : r;
  const isTreasure = kind === KIND.treasure;
  const look = { fill: isTreasure ? "#ffd84d" : ink.badge, stroke: isTreasure ? "#10131a" : ink.badgeInk, width: 1.5 };
  if (isTreasure || kind === KIND.reward) return { paths: [[[x, y - r], [x + r, y], [x, y + r], [x - r, y]]], closed: true, ...look };
  return kind === KIND.start ? { circle: [x, y, r * 0.8], ...look } : { box: [x - side / 2, y - side / 2, side, side], ...look };
}

function chevrons(world, bits, x, y, cell, ink) {
  const paths = world.actions.flatMap((name, action) => {
    if (!(bits & (1 << action))) return [];
    const [dx, dy] = directionOf(name);
    const cx = x - dx * cell * 0.38, cy = y - dy * cell * 0.38, r = cell * 0.09;
    return [[[cx - dx * r - dy * r, cy - dy * r - dx * r], [cx + dx * r, cy + dy * r], [cx - dx * r + dy * r, cy - dy * r + dx * r]]];
  });
  return { paths, stroke: ink.arrow, width: Math.max(cell / 18, 1) };
}

// The arrows of a state as bits, the behaviour policy's above the greedy one's: none where all actions tie, or differ by an error of
// rounding only, nor where no action was taken yet.
export function arrowBits({ world, frame, arrows }, state) {
  const all = (1 << world.actions.length) - 1;
  if (frame.stateVisits[state] === 0) return 0;
  const greedy = arrows !== "behaviour" && frame.greedy[state] !== all ? frame.greedy[state] : 0;
  const preferred = arrows !== "greedy" && !isEqual(frame.score, state, frame.actions) ? frame.preferred[state] : 0;
  return greedy | (preferred << 8);
}

function isEqual(values, state, count) {
  for (let i = state * count + 1; i < (state + 1) * count; i++) if (values[i] !== values[i - 1]) return false;
  return true;
}

export function hasArrows({ frame, arrows }, cell, ratio) {
  return frame && arrows !== "none" && cell >= ARROWS_FROM * ratio;
}

export function hasNumbers({ numbers, values, perAction }, cell, ratio) {
  return numbers && values && cell >= (perAction ? ACTION_NUMBERS_FROM : NUMBERS_FROM) * ratio;
}

// Solid arrows: the greedy policy. Outlined arrows: what the behaviour policy prefers.
export function arrowMarks(picture, cell, ratio, { row, column, kind, value }, bits) {
  const { world, arrows, theme, perAction } = picture;
  const ink = INK[theme], hasBadge = cellText(kind, value) !== "";
  // Beside numbers, arrows are small and near the centre, or around its badge.
  const isInner = perAction && hasNumbers(picture, cell, ratio);
  const [distance, size] = isInner ? [hasBadge ? 0.26 : 0.08, 0.055] : hasBadge ? [0.38, 0.085] : [0.3, 0.11];
  const r = Math.min(cell * size, LARGEST_ARROW * ratio), width = Math.max(r / 2.2, 1);
  const pathsOf = (chosen, far) => world.actions.flatMap((name, action) => (
    chosen & (1 << action) ? [arrowPath(directionFor(world, name), (column + 0.5) * cell, (row + 0.5) * cell, far * cell, r)] : []));
  const outer = arrows === "both" ? Math.min(distance + 0.06, 0.41) : distance;
  return [{ paths: pathsOf(bits & 255, distance), closed: true, fill: ink.arrow, stroke: ink.halo, width, halo: true },
    { paths: pathsOf(bits >> 8, outer), closed: true, fill: ink.halo, stroke: ink.arrow, width }].filter(({ paths }) => paths.length);
}

function arrowPath([dx, dy], x, y, distance, r) {
  const cx = x + dx * distance, cy = y + dy * distance, s = r * 0.7;
  if (dx === 0 && dy === 0) return [[x - s, y + distance], [x + s, y + distance], [x + s, y + distance + 2 * s], [x - s, y + distance + 2 * s]];
  return [[cx + dx * r, cy + dy * r], [cx - dx * r - dy * r, cy - dy * r + dx * r], [cx - dx * r + dy * r, cy - dy * r - dx * r]];
}

export function numberMarks(picture, cell, ratio) {
  const { world, layer, frame, values, shares, scale, perAction, theme, isMinimised } = picture;
  if (!frame || !hasNumbers(picture, cell, ratio)) return [];
  const { rgb } = palette(scale.diverging, theme);
  const largest = Math.min(cell / (perAction ? 8.5 : 5), LARGEST_NUMBER * ratio);
  // Beside the arrows: a number of a state is in a corner.
  const parts = perAction ? world.actions.map((_, action) => partsOf(world.actions, action)) : [{ label: [0.95, 0.87], align: "right" }];
  return statesOf(world, layer).filter(({ state }) => frame.stateVisits[state] > 0).flatMap(({ row, column, state, kind, value: reward }) => {
    const ofState = Array.from(values.subarray(state * parts.length, (state + 1) * parts.length));
    const texts = shares ? lackTexts(ofState, isMinimised) : ofState.map((value) => formatNumber(value, 3));
    return parts.flatMap(({ label: [x, y], align }, part) => {
      // A wide badge has the place of the numbers beside it.
      if (align !== "center" && y > 0.2 && y < 0.8 && perAction && cellText(kind, reward).length > 1) return [];
      const text = texts[part], colour = colourOf(shares ?? values, state * parts.length + part, scale, rgb, theme);
      // A long number is smaller, so that it reaches neither the trail nor an arrow.
      const fitting = perAction ? Math.min(largest, (BESIDE_ARROW * cell) / text.length) : Math.max(Math.min(largest, (CORNER * cell) / text.length), SMALLEST_NUMBER * ratio);
      const halo = perAction ? { halo: true, stroke: cssColour(colour), width: 3 * ratio } : {};
      return [{ text, at: [(column + x) * cell, (row + y) * cell], size: Math.round(fitting), align, fill: inkOn(colour), ...halo }];
    });
  });
}

export function trailMarks({ world, layer, frame, trail, theme }, cell, ratio) {
  if (!frame || !trail) return [];
  const places = [...frame.trail, frame.agent].filter((state) => state >= 0).map((state) => positionsOf(world)[state]);
  const farthest = world.actions.length === 2 ? 2 : 1;
  const width = Math.max(Math.min(cell * 0.09, WIDEST_TRAIL * ratio), 2);
  return places.slice(1).flatMap(([r1, c1, l1], i) => {
    const [r0, c0, l0] = places[i];
    // A long jump is the start of a new episode.
    if (l0 !== layer || l1 !== layer || Math.abs(r0 - r1) + Math.abs(c0 - c1) > farthest) return [];
    const path = [[(c0 + 0.5) * cell, (r0 + 0.5) * cell], [(c1 + 0.5) * cell, (r1 + 0.5) * cell]];
    return [{ paths: [path], stroke: INK[theme].agent, width, opacity: 0.15 + (0.75 * (i + 1)) / places.length }];
  });
}

const LONGEST_PATH = 40;

// Where the behaviour policy leads from the agent, as long as one action is the best: to an action that was not tried, or the end.
export function pathMarks({ world, layer, frame, path, theme }, cell, ratio) {
  if (!frame || !path || frame.randomness >= 1) return [];
  const places = [];
  for (let state = frame.agent; places.length < LONGEST_PATH;) {
    const [row, column, part] = positionsOf(world)[state] ?? [];
    if (part !== layer) break;
    places.push([(column + 0.5) * cell, (row + 0.5) * cell]);
    const action = world.actions.findIndex((_, i) => frame.preferred[state] === 1 << i);
    const next = action < 0 || frame.stateVisits[state] === 0 ? null : cellAfter(world, layer, row, column, action);
    if (!next || [KIND.treasure, KIND.penalty].includes(world.layers[layer].kind[row * world.columns + column])) break;
    if (frame.visits[state * frame.actions + action] === 0) {
      places.push([(next.column + 0.5) * cell, (next.row + 0.5) * cell]);
      break;
    }
    state = next.state;
  }
  if (places.length < 2) return [];
  const width = Math.max(Math.min(cell * 0.06, 4 * ratio), 1.5);
  return [{ paths: [places], stroke: INK[theme].halo, width: width * 2, opacity: 0.7 },
    { paths: [places], stroke: INK[theme].agent, width, dash: [width * 2, width * 2.5] }];
}

// The cell to which a move leads; null if it is blocked.
function cellAfter(world, layer, row, column, action) {
  const [dx, dy] = directionFor(world, world.actions[action]).map(Math.sign);
  const to = { row: row + dy, column: Math.max(column + dx, 0) }, at = to.row * world.columns + to.column;
  if ((dx === 0 && dy === 0) || to.row < 0 || to.row >= world.rows || column + dx < (dy && dx ? -1 : 0) || to.column >= world.columns) return null;
  const state = world.layers[layer].state[at], isEntered = (world.entry?.[at] ?? ALL_MOVES) & (1 << action);
  return state >= 0 && world.layers[layer].kind[at] !== KIND.wall && isEntered ? { ...to, state } : null;
}

export function agentMarks({ world, layer, frame, trail, theme }, cell, ratio) {
  const at = frame && trail ? positionsOf(world)[frame.agent] : null;
  if (!at || at[2] !== layer) return [];
  const circle = [(at[1] + 0.5) * cell, (at[0] + 0.5) * cell, Math.max(Math.min(cell * 0.2, LARGEST_AGENT * ratio), 4)];
  return [{ circle, fill: INK[theme].agent, stroke: INK[theme].halo, width: Math.max(Math.min(cell * 0.05, 3 * ratio), 2) }];
}

// The frame around a cell, in two colours so that it is seen on every value.
export function frameMarks(world, at, cell, colours = []) {
  if (at === null || at === undefined) return [];
  const box = [(at % world.columns) * cell + 1.5, Math.floor(at / world.columns) * cell + 1.5, cell - 3, cell - 3];
  return colours.map((stroke, i) => ({ box, stroke, width: i ? 1.5 : 3 }));
}

// An action that was not tried has a colour of its own.
function colourOf(values, i, scale, rgb, theme) {
  return Number.isNaN(values[i]) ? INK[theme].untried : rgb[scale.index(values[i])];
}

// The colours of all cells, one mark for each colour. The canvas has an image of them instead; see cell-image.js.
export function valueMarks({ world, layer, frame, values, shares, scale, perAction, theme }, cell, hatch) {
  const { rgb } = palette(scale.diverging, theme);
  const byColour = new Map();
  const isUnreachable = new Set(world.unreachable);
  const add = (colour, corners, row, column) => {
    if (!byColour.has(colour)) byColour.set(colour, []);
    byColour.get(colour).push(corners.map(([x, y]) => [(column + x) * cell, (row + y) * cell]));
  };
  for (const { state, row, column } of statesOf(world, layer)) {
    const isKnown = frame?.stateVisits[state] > 0;
    const parts = isKnown && values && perAction ? world.actions.map((_, action) => partsOf(world.actions, action).polygons) : [[[[0, 0], [1, 0], [1, 1], [0, 1]]]];
    parts.forEach((polygons, part) => {
      const colour = !isKnown ? (isUnreachable.has(state) ? cssColour(INK[theme].unreachable) : hatch) : values ? cssColour(colourOf(shares ?? values, state * parts.length + part, scale, rgb, theme)) : cssColour(INK[theme].plain);
      for (const polygon of polygons) add(colour, polygon, row, column);
    });
  }
  const wall = { box: [0, 0, world.columns * cell, world.rows * cell], fill: cssColour(INK[theme].wall) };
  return [wall, ...[...byColour].map(([fill, paths]) => ({ paths, closed: true, fill, stroke: fill === hatch ? undefined : fill, width: 0.5 }))];
}

// All marks of a map in the order in which they are drawn.
export function mapMarks(picture, cell, hatch) {
  const arrows = hasArrows(picture, cell, 1) ? statesOf(picture.world, picture.layer) : [];
  return [...valueMarks(picture, cell, hatch), ...trailMarks(picture, cell, 1), ...pathMarks(picture, cell, 1), ...fixedMarks(picture, cell, 1), ...numberMarks(picture, cell, 1),
    ...arrows.flatMap((place) => arrowMarks(picture, cell, 1, place, arrowBits(picture, place.state))), ...agentMarks(picture, cell, 1)];
}
