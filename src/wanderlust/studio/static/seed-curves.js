// Curves of the stored runs of a group.

import { element, svgElement } from "./dom.js";
import { formatNumber } from "./frames.js";

// The mean over seeds, and a band from the smallest to the largest. The reference is a value that `word` names.
export function curveFigure(title, steps, { mean, low, high }, reference, word) {
  const width = 460, height = 180, left = 48, right = 10, top = 18, bottom = 20;
  const known = [...low, ...high, reference].filter((value) => value !== null && value !== undefined);
  const bottomValue = Math.min(0, ...known), topValue = Math.max(...known, bottomValue + 1e-9);
  const x = (i) => left + ((steps[i] ?? 0) / (steps[steps.length - 1] || 1)) * (width - left - right);
  const y = (value) => top + (1 - (value - bottomValue) / (topValue - bottomValue)) * (height - top - bottom);
  const points = (values, order = (list) => list) => order(values.map((value, i) => (value === null ? null : `${x(i).toFixed(1)},${y(value).toFixed(1)}`)).filter(Boolean));
  const svg = svgElement("svg", { class: "chart", role: "img", viewBox: `0 0 ${width} ${height}`, "aria-label": `${title}: ${formatNumber(mean[mean.length - 1])} at the end, mean over seeds` });
  svg.append(svgElement("polygon", { points: [...points(low), ...points(high, (list) => list.reverse())].join(" "), fill: "var(--lane-1)", opacity: 0.2 }));
  svg.append(svgElement("polyline", { points: points(mean).join(" "), fill: "none", stroke: "var(--lane-1)", "stroke-width": 2 }));
  if (reference !== null && reference !== undefined) {
    svg.append(svgElement("line", { x1: left, x2: width - right, y1: y(reference), y2: y(reference), class: "optimum" }));
    svg.append(svgElement("text", { x: (left + width) / 2, y: y(reference) - 4, "text-anchor": "middle" }, word));
  }
  for (const value of [bottomValue, topValue]) svg.append(svgElement("text", { x: left - 5, y: y(value) + 4, "text-anchor": "end" }, formatNumber(value, 3)));
  svg.append(svgElement("text", { x: left, y: height - 4 }, "0"), svgElement("text", { x: width - right, y: height - 4, "text-anchor": "end" }, formatNumber(steps[steps.length - 1] ?? 0)));
  return element("figure", {}, element("figcaption", {}, `${title}, mean and range over seeds`), svg);
}
