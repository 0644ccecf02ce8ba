// The lanes as a picture: the maps as they are shown, with titles, legends and a caption. A PNG is made from the SVG.

import { INK } from "./cells.js";
import { captionOf, layerById } from "./frames.js";
import { cssColour } from "./palette.js";
import { svgOf, svgTag, textWidth } from "./marks.js";
import { mapMarks } from "./map-marks.js";
import { rampColours, tickTexts, unitText } from "./legend.js";

// The least sizes: cells are larger if they are so on the screen.
const CELL = 48;
const MAP_WIDTH = 1100;
const GAP = 28, TITLE = 34, LEGEND = 44, CAPTION = 24, LINE = 16;
const HATCH = "url(#hatch)";

export function laneSvg(app) {
  const pictures = app.cards.map((card) => card.picture).filter(Boolean);
  const { world, theme } = pictures[0];
  const ratio = window.devicePixelRatio || 1;
  const cell = Math.max(Math.min(CELL, Math.floor(MAP_WIDTH / world.columns)), app.cards[0].cell / ratio);
  const [mapWidth, mapHeight] = [world.columns * cell, world.rows * cell];
  const { color: ink, backgroundColor } = getComputedStyle(document.body);
  const label = (text, x, y, size, more = {}) => ({ text, at: [x, y], size, align: "left", fill: ink, ...more });
  const sentences = pictures.map((_, i) => linesOf(app.cards[i].sentence.textContent, mapWidth));
  const texts = Math.max(...sentences.map((lines) => lines.length)) * LINE;
  const width = pictures.length * (mapWidth + GAP) + GAP, height = mapHeight + 2 * GAP + TITLE + LEGEND + texts + CAPTION;
  const { unit } = layerById(app.options.layer);
  const lanes = pictures.map((picture, i) => svgTag("g", { transform: `translate(${GAP + i * (mapWidth + GAP)} ${GAP + TITLE})` },
    svgOf([label(app.setup.lanes[i].explorer, 0, -20, 18, { bold: true }), ...mapMarks(picture, cell, HATCH),
      ...sentences[i].map((line, j) => label(line, 0, mapHeight + GAP + LEGEND + j * LINE, 12))])
    + legendSvg(picture, `ramp-${i}`, mapWidth, mapHeight + 12, (text, x, y, align) => label(text, x, y, 12, { align }), unit)));
  const caption = svgOf([label(captionOf(app), GAP, height - GAP / 2 - 5, 14)]);
  return svgTag("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif" },
    hatchSvg(theme, cell) + svgOf([{ box: [0, 0, width, height], fill: backgroundColor }]) + lanes.join("") + caption);
}

// The words of a sentence, as many in a line as have room.
function linesOf(sentence, width) {
  return sentence.split(" ").reduce((lines, word) => {
    const longer = `${lines.at(-1)} ${word}`.trim();
    return textWidth({ text: longer, size: 12 }) <= width ? [...lines.slice(0, -1), longer] : [...lines, word];
  }, [""]);
}

function hatchSvg(theme, cell) {
  const stripe = Math.max(Math.round(cell / 6), 3) * Math.SQRT1_2;
  const stripes = [{ box: [0, 0, stripe, stripe], fill: cssColour(INK[theme].hatchB) }, { box: [stripe, 0, stripe, stripe], fill: cssColour(INK[theme].hatchA) }];
  return svgTag("defs", {}, svgTag("pattern", { id: "hatch", width: 2 * stripe, height: stripe, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, svgOf(stripes)));
}

function legendSvg({ scale, values, theme }, id, width, y, label, unit) {
  if (!values) return "";
  const colours = rampColours(scale, theme);
  const stops = colours.map((colour, i) => svgTag("stop", { offset: i / (colours.length - 1), "stop-color": colour })).join("");
  const ticks = tickTexts(scale).map((text, i) => label(text, (i * width) / 2, y + 19, ["left", "center", "right"][i]));
  return svgTag("defs", {}, svgTag("linearGradient", { id }, stops))
    + svgOf([{ box: [0, y, width, 9], fill: `url(#${id})`, stroke: "#8888" }, ...ticks, label(unitText(scale, unit), 0, y + 34, "left")]);
}

// The same picture in pixels of the screen.
export async function lanePng(app) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(laneSvg(app))}`;
  await image.decode();
  const ratio = window.devicePixelRatio || 1;
  const canvas = new OffscreenCanvas(Math.round(image.width * ratio), Math.round(image.height * ratio));
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob();
}
