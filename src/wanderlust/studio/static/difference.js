// The card that shows one lane minus another.

import { MapPainter } from "./map-painter.js";
import { differenceOf, layerById, valueRange } from "./frames.js";
import { Legend } from "./legend.js";
import { element, setText } from "./dom.js";
import { fitCanvas } from "./geometry.js";
import { makeScale } from "./palette.js";

/** @import { Grid } from "./geometry.js" */
/** @import { Frame } from "./frames.js" */

export class DifferenceCard {
  constructor() {
    this.painter = new MapPainter();
    this.canvas = element("canvas", { role: "img", "aria-label": "Map of the difference" });
    this.context = this.canvas.getContext("2d");
    this.frameBox = element("div", { class: "map" }, this.canvas);
    this.title = element("strong", {});
    this.legend = new Legend();
    this.root = element("section", { class: "lane difference", "aria-label": "Difference" },
      element("div", { class: "lane-head" }, this.title), this.frameBox, this.legend.root);
  }

  /** @param {Grid} world @param {number} mapHeight */
  fit(world, mapHeight) {
    this.cell = fitCanvas(this.canvas, world, this.frameBox.clientWidth, mapHeight);
  }

  /** @param {any} view @param {Frame} first @param {Frame} second @param {string} title */
  draw(view, first, second, title) {
    setText(this.title, title);
    const layer = layerById(view.layer);
    const values = differenceOf(first, second, layer.id);
    const seen = { ...first, stateVisits: first.stateVisits.map((value, i) => value + second.stateVisits[i]) };
    const [low, high] = values ? valueRange(values, seen, layer.perAction) : [0, 0];
    const scale = makeScale(low, high, { log: view.scale.log, diverging: true });
    this.picture = { world: view.world, layer: view.part, frame: seen, values, scale, perAction: layer.perAction, theme: view.theme, arrows: "none", trail: false, numbers: view.numbers };
    this.painter.draw(this.context, this.picture, this.cell);
    this.legend.draw(scale, values ? `difference of ${layer.unit}` : null, view.theme);
  }
}
