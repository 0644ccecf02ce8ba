// Curves against steps, as SVG: those of all lanes, and those of stored runs with their range over seeds.

import { LANE_COLOURS, LANE_DASHES, themeName } from "./palette.js";
import { element, svgElement } from "./dom.js";
import { formatNumber } from "./frames.js";

const CHARTS = [
  { title: "States discovered", column: 0, reference: "reachable", word: "all" },
  { title: "Return of the greedy policy", column: 1, reference: "optimum", word: "optimum" },
  { title: "Entropy of visits", column: 2 },
];
const MAX_POINTS = 300;
// The distance between the numbers of two curves, in the page and in a presentation.
const TAG = 12;
const LARGE_TAG = 16;
const SEEDS_SIZE = [460, 180];

// The charts beside the lanes. Lanes differ in colour, in dashes and in the number at the end of the curve.
export class Charts {
  constructor(box) {
    this.figures = CHARTS.map((chart) => ({ ...chart, svg: svgElement("svg", { class: "chart", role: "img" }) }));
    box.append(...this.figures.map(({ title, svg }) => element("figure", {}, element("figcaption", {}, title), svg)));
  }

  // series: per lane {every, points}; step: where the marker is.
  draw({ series, step, length, world, names, isLarge }) {
    for (const { svg, title, column, reference, word } of this.figures) {
      const lines = series.map(({ every, points }, i) => (
        { number: i, points: points.map((point, at) => [(at + 1) * every, point[column]]), colour: LANE_COLOURS[themeName()][i % 3], dash: LANE_DASHES[i % 3] }));
      const size = [Math.max(svg.clientWidth, 120), Math.max(svg.clientHeight, 60)];
      drawCurves(svg, size, { lines, reference: world[reference] ?? null, word, length, step, isLarge });
      const last = lines.map(({ points }, i) => `Lane ${i + 1}, ${names[i]}: ${formatNumber(points.findLast(([, value]) => value !== null)?.[1])}.`);
      svg.setAttribute("aria-label", `${title}. ${last.join(" ")}`);
    }
  }
}

// The mean over seeds, and a band from the smallest to the largest value. The reference is a value that `word` names.
export function curveFigure(title, steps, { mean, low, high }, reference, word) {
  const along = (values) => values.map((value, i) => [steps[i], value]);
  const svg = svgElement("svg", { class: "chart", role: "img", "aria-label": `${title}: ${formatNumber(mean.at(-1))} at the end, mean over seeds` });
  const lines = [{ points: along(mean), colour: "var(--lane-1)" }];
  drawCurves(svg, SEEDS_SIZE, { lines, band: [...along(low), ...along(high).reverse()], reference, word, length: steps.at(-1) || 1 });
  return element("figure", {}, element("figcaption", {}, `${title}, mean and range over seeds`), svg);
}

// lines: {points: [step, value or null], colour, dash, number}
/** @param {SVGElement} svg @param {number[]} size @param {Record<string, any>} content */
function drawCurves(svg, [width, height], { lines, band = [], reference = null, word, length, step = null, isLarge = false }) {
  const left = isLarge ? 58 : 48, right = 16, top = 16, bottom = 18;
  const known = [...lines.flatMap(({ points }) => points), ...band, [0, reference]].map(([, value]) => value).filter((value) => value !== null);
  const low = Math.min(0, ...known), highest = Math.max(...known, low), high = highest - low < 1e-6 ? low + 1 : highest;
  const x = (at) => left + (at / length) * (width - left - right);
  const y = (value) => top + (1 - (value - low) / (high - low)) * (height - top - bottom);
  const line = (x1, x2, y1, y2, name) => svgElement("line", { x1, x2, y1, y2, class: name });
  const parts = [low, (low + high) / 2, high].flatMap((value) => [line(left, width - right, y(value), y(value), "grid"), chartLabel(formatNumber(value, 3), left - 5, y(value) + 4, "end")]);
  parts.push(...[0, length / 2, length].map((at, i) => chartLabel(formatNumber(Math.round(at)), x(at), height - 4, ["start", "middle", "end"][i])));
  if (reference !== null) parts.push(line(left, width - right, y(reference), y(reference), "optimum"), chartLabel(word, (left + width) / 2, y(reference) - 4, "middle"));
  if (step !== null) parts.push(line(x(step), x(step), top, height - bottom, "now"));
  const corners = band.filter(([, value]) => value !== null).map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
  if (corners.length) parts.push(svgElement("polygon", { points: corners.join(" "), fill: lines[0].colour, opacity: 0.2 }));
  const tags = [];
  for (const { points, colour, dash = "", number } of lines) {
    const stride = Math.max(Math.ceil(points.length / MAX_POINTS), 1);
    let d = "", end = null, pen = "M";
    points.forEach(([at, value], i) => {
      if (value === null) pen = "M";
      if (value === null || (i % stride && i < points.length - 1)) return;
      end = [x(at), y(value)];
      d += `${pen}${end[0].toFixed(1)} ${end[1].toFixed(1)}`;
      pen = "L";
    });
    if (!end) continue;
    parts.push(svgElement("path", { d, fill: "none", stroke: colour, "stroke-width": 2.2, "stroke-dasharray": dash, "stroke-linejoin": "round" }));
    if (number !== undefined) tags.push({ number, x: end[0], y: end[1] });
  }
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren(...parts, ...spread(tags, height - bottom, isLarge ? LARGE_TAG : TAG));
}

// The numbers at the ends of the curves, moved apart where they would cover each other.
function spread(tags, lowest, distance) {
  tags.sort((a, b) => a.y - b.y);
  let free = -Infinity, limit = lowest;
  for (const tag of tags) free = (tag.y = Math.max(tag.y, free)) + distance;
  for (const tag of tags.toReversed()) limit = (tag.y = Math.min(tag.y, limit)) - distance;
  return tags.map((tag) => {
    const text = chartLabel(String(tag.number + 1), tag.x + 4, Math.max(tag.y, 8) + 4, "start");
    text.setAttribute("class", `tag lane-${tag.number + 1}`);
    return text;
  });
}

function chartLabel(text, x, y, anchor) {
  return svgElement("text", { x, y, "text-anchor": anchor }, text);
}
