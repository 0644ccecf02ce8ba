// Curves of all lanes against steps, as SVG. Lanes differ in colour, in dashes and in the number at the end of the curve.

import { element, svgElement } from "./dom.js";
import { formatNumber } from "./frames.js";
import { LANE_COLOURS, LANE_DASHES, themeName } from "./palette.js";

const CHARTS = [
  { id: "discovered", title: "States discovered", column: 0 },
  { id: "return", title: "Return of the greedy policy", column: 1 },
  { id: "entropy", title: "Entropy of visits", column: 2 },
];
const MAX_POINTS = 300;
// The distance between the numbers of two curves, in the page and in a presentation.
const TAG = 12;
const LARGE_TAG = 16;

export class Charts {
  constructor(box) {
    this.box = box;
    this.figures = CHARTS.map((chart) => {
      const svg = svgElement("svg", { class: "chart", role: "img", "aria-label": chart.title });
      const figure = element("figure", {}, element("figcaption", {}, chart.title), svg);
      box.append(figure);
      return { ...chart, svg };
    });
  }

  // series: per lane {every, points}; step: where the marker is.
  draw({ series, step, length, world, names, isLarge }) {
    for (const figure of this.figures) {
      const width = Math.max(figure.svg.clientWidth, 120);
      const height = Math.max(figure.svg.clientHeight, 60);
      const content = chartParts(figure, { series, step, length, world, isLarge }, width, height);
      figure.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      figure.svg.setAttribute("aria-label", `${figure.title}. ${describe(figure, series, names)}`);
      figure.svg.replaceChildren(...content);
    }
  }
}

function describe(figure, series, names) {
  return series.map((lane, i) => {
    const last = lastValue(lane.points, figure.column);
    return `Lane ${i + 1}, ${names[i]}: ${last === null ? "no value yet" : formatNumber(last)}.`;
  }).join(" ");
}

function lastValue(points, column) {
  for (let i = points.length - 1; i >= 0; i--) if (points[i][column] !== null) return points[i][column];
  return null;
}

function chartParts(figure, { series, step, length, world, isLarge }, width, height) {
  const left = isLarge ? 58 : 44, right = 16, top = 16, bottom = 18;
  const theme = themeName();
  const reference = figure.id === "return" ? world.optimum : figure.id === "discovered" ? world.reachable : null;
  const values = series.flatMap((lane) => lane.points.map((point) => point[figure.column])).filter((v) => v !== null);
  if (reference !== null) values.push(reference);
  let low = Math.min(0, ...values), high = Math.max(...values, low + 1e-9);
  if (high - low < 1e-6) high = low + 1;
  const x = (at) => left + (at / length) * (width - left - right);
  const y = (value) => top + (1 - (value - low) / (high - low)) * (height - top - bottom);
  const parts = [];
  for (const value of [low, (low + high) / 2, high]) {
    parts.push(svgElement("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "grid" }));
    parts.push(label(formatNumber(value, 3), left - 5, y(value) + 4, "end"));
  }
  for (const at of [0, length / 2, length]) {
    const anchor = at === 0 ? "start" : at === length ? "end" : "middle";
    parts.push(label(formatNumber(Math.round(at)), x(at), height - 4, anchor));
  }
  if (reference !== null) {
    parts.push(svgElement("line", { x1: left, x2: width - right, y1: y(reference), y2: y(reference), class: "optimum" }));
    // Above the line, where no curve is.
    parts.push(label(figure.id === "return" ? "optimum" : "all", (left + width) / 2, y(reference) - 4, "middle"));
  }
  parts.push(svgElement("line", { x1: x(step), x2: x(step), y1: top, y2: height - bottom, class: "now" }));
  const tags = [];
  series.forEach((lane, i) => {
    const { path, end } = curve(lane, i, figure.column, { x, y, theme });
    if (end) tags.push({ number: i, x: end[0], y: end[1] });
    if (path) parts.push(path);
  });
  return [...parts, ...spread(tags, height - bottom, isLarge ? LARGE_TAG : TAG)];
}

function curve(lane, number, column, { x, y, theme }) {
  const stride = Math.max(Math.ceil(lane.points.length / MAX_POINTS), 1);
  let path = "", pen = "M", end = null;
  lane.points.forEach((point, i) => {
    const isLast = i === lane.points.length - 1;
    if (point[column] === null) { pen = "M"; return; }
    if (i % stride && !isLast) return;
    end = [x((i + 1) * lane.every), y(point[column])];
    path += `${pen}${end[0].toFixed(1)} ${end[1].toFixed(1)}`;
    pen = "L";
  });
  if (!end) return {};
  const colour = LANE_COLOURS[theme][number % 3];
  const look = { fill: "none", stroke: colour, "stroke-width": 2.2, "stroke-dasharray": LANE_DASHES[number % 3], "stroke-linejoin": "round" };
  return { path: svgElement("path", { d: path, ...look }), end };
}

// The numbers at the ends of the curves, moved apart where they would cover each other.
function spread(tags, lowest, distance) {
  tags.sort((a, b) => a.y - b.y);
  let free = -Infinity;
  for (const tag of tags) {
    tag.y = Math.max(tag.y, free);
    free = tag.y + distance;
  }
  let limit = lowest;
  for (const tag of tags.toReversed()) {
    tag.y = Math.min(tag.y, limit);
    limit = tag.y - distance;
  }
  return tags.map((tag) => {
    const text = label(String(tag.number + 1), tag.x + 4, Math.max(tag.y, 8) + 4, "start");
    text.setAttribute("class", `tag lane-${tag.number + 1}`);
    return text;
  });
}

function label(text, x, y, anchor) {
  return svgElement("text", { x, y, "text-anchor": anchor }, text);
}
