// Curves against steps, by uPlot (vendor/uplot): those of all lanes, and those of stored runs with their range over seeds.

import { CURVE_COLOURS, LANE_DASHES, themeName } from "./palette.js";
import { element, setText } from "./dom.js";
import { formatNumber } from "./frames.js";

const CHARTS = [
  { title: "States discovered", column: 0, reference: "reachable", word: "all" },
  { title: "Greedy return, ties at random", column: 1, reference: "optimum", word: "optimum" },
  { title: "Entropy of visits", column: 2 },
];
// Charts with the same key have a common cursor.
const LANES_CURSOR = "lanes", GROUPS_CURSOR = "groups";
const SEEDS_HEIGHT = 200;

// The charts beside the lanes. Lanes differ in colour, in dashes and in the number at the end of the curve.
export class Charts {
  // seek: shows the step at which a chart is pressed.
  constructor(box, seek) {
    this.seek = seek;
    this.figures = CHARTS.map((chart) => ({ ...chart, box: element("div", { class: "chart", role: "img" }), values: element("span", { class: "dim" }), plot: null, key: "", marks: null }));
    box.append(...this.figures.map(({ title, values, box: chart }) => element("figure", {}, element("figcaption", {}, title, values), chart)));
  }

  // series: per lane {every, points}; step: where the marker is.
  draw({ series, step, length, world, names, isLarge }) {
    for (const figure of this.figures) {
      const { box, title, column, reference, word } = figure;
      const size = { width: box.clientWidth, height: box.clientHeight };
      if (!size.width || !size.height) continue;
      const data = uPlot.join(series.map(({ every, points }) => [points.map((_, i) => (i + 1) * every), points.map((point) => point[column])]));
      figure.marks = { step, reference: world[reference] ?? null, word };
      const key = `${series.length} ${length} ${isLarge} ${themeName()}`;
      if (figure.key !== key) this.build(figure, key, { size, lanes: series.length, length, isLarge, data });
      else if (figure.plot.width !== size.width || figure.plot.height !== size.height) figure.plot.setSize(size);
      if (figure.plot.data !== data) figure.plot.setData(data);
      this.showValues(figure);
      const last = series.map(({ points }, i) => `Lane ${i + 1}, ${names[i]}: ${formatNumber(points.findLast((point) => point[column] !== null)?.[column])}.`);
      box.setAttribute("aria-label", `${title}. ${last.join(" ")}`);
    }
  }

  // Where the steps are in the last chart.
  get axis() {
    return this.figures.findLast(({ plot, box }) => plot && box.clientWidth)?.plot.over.getBoundingClientRect();
  }

  build(figure, key, { size, lanes, length, isLarge, data }) {
    figure.plot?.destroy();
    figure.key = key;
    const lines = Array.from({ length: lanes }, (_, i) => ({ number: i, dash: LANE_DASHES[i % 3] }));
    const options = optionsFor({ lines, length, isLarge, cursor: LANES_CURSOR, marks: () => figure.marks });
    options.hooks.setCursor = [() => this.showValues(figure)];
    figure.plot = new uPlot({ ...options, ...size }, data, figure.box);
    this.listen(figure.plot);
  }

  listen(plot) {
    const seek = (event) => this.seek(Math.round(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x")));
    plot.over.addEventListener("pointerdown", (event) => { plot.over.setPointerCapture(event.pointerId); seek(event); });
    plot.over.addEventListener("pointermove", (event) => { if (event.buttons) seek(event); });
  }

  // The values at the cursor, which all charts have in common.
  showValues({ plot, values }) {
    const at = plot?.cursor.idx ?? null;
    const lanes = at === null ? [] : plot.data.slice(1).map((column, i) => `${i + 1}: ${formatNumber(column[at])}`);
    setText(values, lanes.length ? ` at step ${plot.data[0][at]}: ${lanes.join(", ")}` : "");
  }
}

// The mean over seeds of each group, and a band from the smallest to the largest value.
// groups: {name, steps, curve: {mean, low, high}, reference}
export function curveFigure(title, groups, word) {
  const box = element("div", { class: "chart seeds" });
  const legend = new CurveLegend(groups.map(({ name }) => name));
  const last = groups.map(({ name, curve }) => `${name}: ${formatNumber(curve.mean.at(-1))} at the end`);
  const root = element("figure", { role: "group", "aria-label": `${title}, mean over seeds. ${last.join("; ")}` }, element("figcaption", {}, `${title}, mean and range over seeds`), box, legend.root);
  const references = new Set(groups.map(({ reference }) => reference));
  const marks = { step: null, reference: references.size === 1 ? groups[0].reference : null, word };
  const lines = groups.map((_, i) => ({ number: i, hasBand: true }));
  const options = optionsFor({ lines, length: Math.max(...groups.map(({ steps }) => steps.at(-1) || 1)), cursor: GROUPS_CURSOR, marks: () => marks });
  const data = uPlot.join(groups.map(({ steps, curve: { mean, low, high } }) => [steps, mean, low, high]));
  options.hooks.setCursor = [(drawn) => legend.show(drawn)];
  let plot = null;
  // The size is known when the figure is part of the page.
  new ResizeObserver(() => {
    const size = { width: box.clientWidth, height: SEEDS_HEIGHT };
    if (!plot && size.width) plot = new uPlot({ ...options, ...size }, data, box);
    else if (size.width) plot?.setSize(size);
  }).observe(box);
  return root;
}

// The colours of the groups, and their means at the cursor. Of each group, the chart has three series.
class CurveLegend {
  constructor(names) {
    this.step = element("li", { class: "dim" });
    this.values = names.map(() => element("span", { class: "dim" }));
    this.root = element("ul", { class: "curve-legend" }, ...names.map((name, i) => {
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = curveColour(i);
      return element("li", {}, swatch, name, this.values[i]);
    }), this.step);
  }

  show(plot) {
    const at = plot.cursor.idx ?? null;
    setText(this.step, at === null ? "" : `at step ${plot.data[0][at]}`);
    this.values.forEach((span, i) => setText(span, at === null ? "" : ` ${formatNumber(plot.data[3 * i + 1][at])}`));
  }
}

function curveColour(i) {
  const colours = CURVE_COLOURS[themeName()];
  return colours[i % colours.length];
}

// lines: {number, dash, hasBand}; a band is two further series, its ends. marks() returns {step, reference, word}.
function optionsFor({ lines, length, isLarge = false, cursor, marks }) {
  const style = getComputedStyle(document.documentElement), ink = (name) => style.getPropertyValue(name).trim();
  const font = `${isLarge ? 15 : 11}px system-ui, sans-serif`;
  const axis = { font, stroke: ink("--dim"), ticks: { show: false }, values: (_, splits) => splits.map((value) => formatNumber(value, 3)) };
  const series = lines.flatMap(({ number, dash, hasBand }) => {
    const points = { show: false }, line = { stroke: curveColour(number), width: 2.2, dash, points }, end = { stroke: "transparent", points };
    return hasBand ? [line, end, { ...end }] : [line];
  });
  const bands = lines.flatMap(({ number, hasBand }) => (hasBand ? [{ series: [3 * number + 3, 3 * number + 2], fill: `${curveColour(number)}33` }] : []));
  return {
    // Room for the word of the reference, and for half of the last number of the axis.
    padding: isLarge ? [18, 30, 0, 0] : [14, 24, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: cursor }, drag: { x: false, y: false }, y: false, points: { size: 7 } },
    scales: { x: { time: false, range: () => [0, length] }, y: { range: (_, low, high) => valueRangeOf(low, high, marks().reference) } },
    axes: [{ ...axis, size: isLarge ? 26 : 20, gap: 3, space: isLarge ? 90 : 60, grid: { show: false } },
      { ...axis, size: isLarge ? 62 : 50, gap: 4, space: isLarge ? 30 : 22, grid: { stroke: ink("--line"), width: 1 } }],
    series: [{}, ...series],
    bands,
    hooks: { draw: [(plot) => drawMarks(plot, marks(), { ink: ink("--ink"), dim: ink("--dim"), edge: ink("--edge"), font, hasNumbers: cursor === LANES_CURSOR })] },
  };
}

function valueRangeOf(low, high, reference) {
  const known = [low, high, reference].filter((value) => value !== null && value !== undefined);
  const least = Math.min(0, ...known), most = Math.max(least, ...known);
  return [least, most - least < 1e-6 ? least + 1 : most];
}

// The marker of the step, the line of the reference, and the numbers of the lanes at the ends of their curves.
function drawMarks(plot, { step, reference, word }, { ink, dim, edge, font, hasNumbers }) {
  const { ctx, bbox } = plot, ratio = uPlot.pxRatio;
  const line = (stroke, dash, x1, y1, x2, y2) => {
    Object.assign(ctx, { strokeStyle: stroke, lineWidth: 1.5 * ratio });
    ctx.setLineDash(dash.map((each) => each * ratio));
    ctx.beginPath();
    ctx.moveTo(x1, y1);
    ctx.lineTo(x2, y2);
    ctx.stroke();
  };
  const text = (words, x, y, align, fill, weight = 400) => {
    Object.assign(ctx, { font: `${weight} ${font.replace(/^\d+/, (size) => String(Number(size) * ratio))}`, textAlign: align, textBaseline: "middle", fillStyle: fill });
    ctx.fillText(words, x, y);
  };
  ctx.save();
  if (reference !== null) {
    const y = plot.valToPos(reference, "y", true);
    line(ink, [1, 3], bbox.left, y, bbox.left + bbox.width, y);
    text(word, bbox.left + bbox.width / 2, y - 7 * ratio, "center", dim);
  }
  if (step !== null) {
    const x = plot.valToPos(step, "x", true);
    line(edge, [], x, bbox.top, x, bbox.top + bbox.height);
  }
  if (hasNumbers) for (const { number, x, y } of spread(endsOf(plot), bbox.top + bbox.height, 12 * ratio)) text(String(number + 1), x + 4 * ratio, y, "left", curveColour(number), 800);
  ctx.restore();
}

// Where the curves end.
function endsOf(plot) {
  return plot.data.slice(1).flatMap((column, number) => {
    const at = column.findLastIndex((value) => value !== null && value !== undefined);
    return at < 0 ? [] : [{ number, x: plot.valToPos(plot.data[0][at], "x", true), y: plot.valToPos(column[at], "y", true) }];
  });
}

// The numbers at the ends of the curves, moved apart where they would cover each other.
function spread(tags, lowest, distance) {
  tags.sort((a, b) => a.y - b.y);
  let free = distance / 2, limit = lowest;
  for (const tag of tags) free = (tag.y = Math.max(tag.y, free)) + distance;
  for (const tag of tags.toReversed()) limit = (tag.y = Math.min(tag.y, limit)) - distance;
  return tags;
}
