// The controls above the lanes: what they do, and what they show of the setup.

import { $, element, fillSelect, setText } from "./dom.js";
import { LAYERS } from "./frames.js";
import { addLane, chooseWorld, nextSeed } from "./editing.js";
import { positionOf, speedOf, speedText } from "./view.js";

export function installControls(app) {
  const click = (id, action) => $(id).addEventListener("click", action);
  click("run", () => app.run());
  click("pause", () => app.source.pause());
  click("step-button", () => app.step());
  click("restart", () => app.restart());
  click("next-event", () => app.nextEvent());
  click("add-lane", () => addLane(app));
  click("new-seed", () => nextSeed(app));
  click("paint", () => app.painter.show());
  click("results", () => app.results.show());
  click("theme", () => app.switchTheme());
  click("present", () => app.present());
  click("end-presentation", () => app.present(false));
  // Escape leaves the full screen, and with it the presentation.
  document.addEventListener("fullscreenchange", () => { if (!document.fullscreenElement) app.present(false); });
  click("help", () => $("help-dialog").showModal());
  click("share", () => $("share-dialog").showModal());
  $("world").addEventListener("change", (event) => chooseWorld(app, event.target.value));
  $("seed").addEventListener("change", (event) => app.change({ seed: Number(event.target.value) }, { step: 0 }));
  $("speed").addEventListener("input", (event) => app.setSpeed(speedOf(Number(event.target.value)), true));
  installTimeline(app);
  installView(app);
  installPanels();
}

function installTimeline(app) {
  const timeline = $("timeline");
  timeline.addEventListener("input", () => { app.scrubbing = true; app.seek(Number(timeline.value)); });
  timeline.addEventListener("change", () => { app.scrubbing = false; });
}

function installView(app) {
  const radios = LAYERS.map((layer) => {
    const input = element("input", { type: "radio", name: "layer", value: layer.id, onchange: () => app.setOption("layer", layer.id) });
    input.checked = layer.id === app.options.layer;
    return element("label", {}, input, element("span", { "data-text": layer.label }, layer.label));
  });
  $("layer").append(...radios);
  for (const id of ["scale", "arrows", "part", "difference"]) {
    $(id).value = app.options[id];
    $(id).addEventListener("change", () => app.setOption(id, $(id).value));
  }
  for (const id of ["trail", "numbers", "shared"]) {
    $(id).checked = app.options[id];
    $(id).addEventListener("change", () => app.setOption(id, $(id).checked));
  }
}

// A panel of options closes when something outside of it is pressed, and with Escape.
function installPanels() {
  const close = (isKept) => { for (const panel of document.querySelectorAll("details.options[open]")) if (!isKept(panel)) panel.open = false; };
  document.addEventListener("pointerdown", (event) => close((panel) => panel.contains(event.target)));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(() => false); });
}

export function showLayer(id) {
  const radio = document.querySelector(`#layer input[value="${CSS.escape(id)}"]`);
  if (radio) radio.checked = true;
}

export function showSpeed(speed) {
  $("speed").value = positionOf(speed);
  $("speed").setAttribute("aria-valuetext", speedText(speed));
  setText($("speed-text"), speed === 0 ? "max" : `${speed}/s`);
}

export function showSetup(app) {
  const isMap = Boolean(app.setup.world_options?.map);
  const inGallery = isMap && app.catalogue.gallery.some((each) => each.name === app.setup.world && each.map === app.setup.world_options.map);
  const value = !isMap ? `world:${app.setup.world}` : inGallery ? `gallery:${app.setup.world}` : "painted";
  const groups = [{ label: "Worlds of the paper", options: app.catalogue.worlds.map(({ name }) => ({ value: `world:${name}`, label: name })) },
    { label: "Teaching worlds", options: app.catalogue.gallery.map(({ name, title }) => ({ value: `gallery:${name}`, label: title })) }];
  // A painted world, or one of a stored run that the list does not offer.
  const isListed = groups.some(({ options }) => options.some((option) => option.value === value));
  if (!isListed) groups.unshift({ value, label: app.setup.world });
  fillSelect($("world"), groups, value);
  $("seed").value = app.setup.seed;
  const parts = app.world.layers.map((layer, i) => ({ value: String(i), label: layer.name }));
  $("part-group").hidden = parts.length < 2;
  fillSelect($("part"), [{ value: "start", label: `start (${app.world.layers[app.world.startLayer].name})` }, { value: "agent", label: "where the agent is" }, ...parts], app.options.part);
  if (!$("part").value) $("part").value = app.options.part = "start";
  const count = app.setup.lanes.length;
  const pairs = [];
  for (let a = 0; a < count; a++) for (let b = 0; b < count; b++) if (a !== b) pairs.push({ value: `${a}-${b}`, label: `lane ${a + 1} − lane ${b + 1}` });
  $("difference-group").hidden = count < 2;
  fillSelect($("difference"), [{ value: "", label: "off" }, ...pairs], app.options.difference);
  if (!$("difference").value) app.options.difference = "";
  $("add-lane").disabled = count >= app.catalogue.limits.lanes;
  setText($("length"), `of ${app.length}`);
  $("step").style.setProperty("--digits", String(app.length).length);
  $("timeline").max = app.recording ? app.length : 0;
}
