// The lanes as an SVG picture, with the colours, badges, arrows and legends of the page.

import { INK, KIND, cellText, directionFor } from "./cells.js";
import { cssColour, palette } from "./palette.js";
import { captionOf, layerById } from "./frames.js";
import { partsOf } from "./geometry.js";
import { rampColours, tickTexts, unitText } from "./legend.js";

const CELL = 48;
const GAP = 28;
const TITLE = 34;
const LEGEND = 44;
const CAPTION = 24;

function attributesText(attributes) {
  return Object.entries(attributes).map(([name, value]) => `${name}="${escapeText(value)}"`).join(" ");
}

function escapeText(value) {
  return String(value).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

function tag(name, attributes, content = "") {
  return `<${name} ${attributesText(attributes)}>${content}</${name}>`;
}

export function laneSvg(app) {
  const pictures = app.cards.map((card) => card.picture).filter(Boolean);
  const { world, theme } = pictures[0];
  const cell = Math.max(Math.min(CELL, Math.floor(900 / world.columns)), 6);
  const width = pictures.length * (world.columns * cell + GAP) + GAP;
  const height = world.rows * cell + 2 * GAP + TITLE + LEGEND + CAPTION;
  const { unit } = layerById(app.options.layer);
  const style = getComputedStyle(document.body);
  const parts = pictures.map((picture, i) => tag("g", { transform: `translate(${GAP + i * (world.columns * cell + GAP)} ${GAP + TITLE})` },
    tag("text", { x: 0, y: -14, "font-size": 18, "font-weight": 600, fill: style.color }, escapeText(app.setup.lanes[i].explorer)) + mapSvg(picture, cell, theme)
    + legendSvg(picture, { unit, id: `ramp-${i}`, width: world.columns * cell, y: world.rows * cell + 12, ink: style.color })));
  const caption = tag("text", { x: GAP, y: height - GAP / 2, "font-size": 14, fill: style.color }, escapeText(captionOf(app)));
  const background = tag("rect", { width, height, fill: style.backgroundColor });
  return tag("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif" }, background + parts.join("") + caption);
}

function legendSvg({ scale, values, theme }, { unit, id, width, y, ink }) {
  if (!values) return "";
  const colours = rampColours(scale, theme);
  const stops = colours.map((colour, i) => tag("stop", { offset: i / (colours.length - 1), "stop-color": colour })).join("");
  const ticks = tickTexts(scale).map((text, i) => tag("text", { x: (i * width) / 2, y: y + 23, "font-size": 12, fill: ink, "text-anchor": ["start", "middle", "end"][i] }, escapeText(text)));
  return tag("defs", {}, tag("linearGradient", { id }, stops)) + tag("rect", { x: 0, y, width, height: 9, fill: `url(#${id})`, stroke: "#8888" })
    + ticks.join("") + tag("text", { x: 0, y: y + 38, "font-size": 12, fill: ink }, escapeText(unitText(scale, unit)));
}

function mapSvg(picture, cell, theme) {
  const { world, layer, frame, values, scale, perAction, arrows } = picture;
  const { state, kind, value } = world.layers[layer];
  const { rgb } = palette(scale.diverging, theme);
  const ink = INK[theme];
  const all = (1 << world.actions.length) - 1;
  let shapes = "", marks = "";
  state.forEach((s, at) => {
    const x = (at % world.columns) * cell, y = Math.floor(at / world.columns) * cell;
    const square = (fill) => tag("rect", { x, y, width: cell, height: cell, fill, stroke: "#8888", "stroke-width": 0.5 });
    if (s < 0 || kind[at] === KIND.wall) { shapes += square(ink.wallCss); return; }
    if (!values || frame.stateVisits[s] === 0) shapes += square(theme === "dark" ? "#2c2e35" : "#e4e7ee");
    else if (!perAction) shapes += square(cssColour(rgb[scale.index(values[s])]));
    else {
      world.actions.forEach((_, action) => {
        const fill = cssColour(rgb[scale.index(values[s * world.actions.length + action])]);
        for (const polygon of partsOf(world.actions, action).polygons) {
          const points = polygon.map(([px, py]) => `${x + px * cell},${y + py * cell}`).join(" ");
          shapes += tag("polygon", { points, fill, stroke: "#8888", "stroke-width": 0.5 });
        }
      });
    }
    const text = cellText(kind[at], value[at]);
    const cx = x + cell / 2, cy = y + cell / 2;
    if (text && (kind[at] !== KIND.puddle || cell >= 30)) {
      const size = Math.max(cell * (kind[at] === KIND.puddle ? 0.17 : 0.26), 7);
      const w = Math.max(text.length * size * 0.62 + size * 0.6, size * 1.4);
      marks += tag("rect", { x: cx - w / 2, y: cy - size * 0.7, width: w, height: size * 1.4, rx: kind[at] === KIND.penalty ? 0 : size * 0.7, fill: ink.badge, stroke: ink.badgeInk });
      marks += tag("text", { x: cx, y: cy + size * 0.35, "font-size": size, "font-weight": 700, "text-anchor": "middle", fill: ink.badgeInk }, escapeText(text));
    }
    const bits = arrows === "behaviour" ? frame?.preferred[s] : frame?.greedy[s];
    if (!frame || arrows === "none" || bits === all || frame.stateVisits[s] === 0) return;
    world.actions.forEach((name, action) => {
      const [dx, dy] = directionFor(world, name);
      if (!(bits & (1 << action)) || (dx === 0 && dy === 0)) return;
      const r = cell * 0.11, ax = cx + dx * cell * 0.3, ay = cy + dy * cell * 0.3;
      const points = [[ax + dx * r, ay + dy * r], [ax - dx * r - dy * r, ay - dy * r + dx * r], [ax - dx * r + dy * r, ay - dy * r - dx * r]];
      const look = arrows === "behaviour" ? { fill: ink.halo, stroke: ink.arrow } : { fill: ink.arrow, stroke: ink.halo };
      marks += tag("polygon", { points: points.map((point) => point.join()).join(" "), ...look });
    });
  });
  return shapes + marks;
}
