// Marks: lines, shapes and texts, drawn on a canvas or written as SVG.
//
// {paths, closed} | {box: [x, y, width, height], radius} | {circle: [x, y, radius]} | {text, at, size, bold, align}, each with
// fill, stroke, width, dash and opacity. With `halo`, the stroke is below the fill.

/** @import { Point } from "./geometry.js" */
/** @typedef {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} Context */
/** @typedef {Record<string, any>} Mark */

const FONT = "system-ui, sans-serif";
/** @type {Record<string, string>} */
const ANCHORS = { left: "start", center: "middle", right: "end" };

/** @param {Context} context @param {Mark[]} marks */
export function paint(context, marks) {
  context.lineCap = context.lineJoin = "round";
  context.textBaseline = "middle";
  for (const mark of marks) {
    context.globalAlpha = mark.opacity ?? 1;
    context.fillStyle = mark.fill;
    context.strokeStyle = mark.stroke;
    context.lineWidth = mark.width ?? 1;
    context.setLineDash(mark.dash ?? []);
    if (mark.text !== undefined) {
      context.textAlign = mark.align ?? "center";
      context.font = fontOf(mark);
      const [x, y] = mark.at;
      if (mark.halo) context.strokeText(mark.text, x, y);
      context.fillText(mark.text, x, y);
      continue;
    }
    const shape = shapeOf(mark);
    if (mark.stroke && mark.halo) context.stroke(shape);
    if (mark.fill) context.fill(shape);
    if (mark.stroke && !mark.halo) context.stroke(shape);
  }
  context.globalAlpha = 1;
  context.setLineDash([]);
}

/** @param {Mark} mark */
function shapeOf({ paths = [], closed, box, radius = 0, circle }) {
  const shape = new Path2D();
  if (box) shape.roundRect(box[0], box[1], box[2], box[3], radius);
  if (circle) shape.arc(circle[0], circle[1], circle[2], 0, 2 * Math.PI);
  for (const path of paths) {
    path.forEach((/** @type {Point} */ [x, y], /** @type {number} */ i) => (i ? shape.lineTo(x, y) : shape.moveTo(x, y)));
    if (closed) shape.closePath();
  }
  return shape;
}

/** @param {Mark} mark */
function fontOf({ size, bold }) {
  return `${bold ? 700 : 400} ${size}px ${FONT}`;
}

/** @type {any} */
const ruler = new OffscreenCanvas(1, 1).getContext("2d");

/** @param {Mark} mark @returns {number} */
export function textWidth(mark) {
  ruler.font = fontOf(mark);
  return ruler.measureText(mark.text).width;
}

/** @param {string} name @param {Record<string, any>} attributes */
export function svgTag(name, attributes, content = "") {
  const given = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return `<${name} ${given.map(([key, value]) => `${key}="${escapeText(value)}"`).join(" ")}>${content}</${name}>`;
}

/** @param {unknown} value */
export function escapeText(value) {
  return String(value).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** @param {Mark[]} marks */
export function svgOf(marks) {
  return marks.map((mark) => {
    const look = { fill: mark.fill ?? "none", stroke: mark.stroke, "stroke-width": mark.stroke && mark.width, opacity: mark.opacity,
      "paint-order": mark.halo && "stroke", "stroke-linejoin": mark.stroke && "round", "stroke-linecap": mark.stroke && "round", "stroke-dasharray": mark.dash?.join(" ") };
    if (mark.text !== undefined) {
      const [x, y] = mark.at;
      const font = { "font-size": mark.size, "font-weight": mark.bold && 700, "text-anchor": ANCHORS[mark.align ?? "center"] };
      return svgTag("text", { x, y, "dominant-baseline": "central", ...font, ...look }, escapeText(mark.text));
    }
    if (mark.box) {
      const [x, y, width, height] = mark.box;
      return svgTag("rect", { x, y, width, height, rx: mark.radius, ...look });
    }
    if (mark.circle) return svgTag("circle", { cx: mark.circle[0], cy: mark.circle[1], r: mark.circle[2], ...look });
    const d = mark.paths.map((/** @type {Point[]} */ path) => `M${path.map((point) => point.map((value) => Number(value.toFixed(2))).join()).join("L")}${mark.closed ? "Z" : ""}`);
    return svgTag("path", { d: d.join(""), ...look });
  }).join("");
}
