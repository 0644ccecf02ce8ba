// The controls above the lanes and of each lane: how they change the setup, and what they show of it.

import { $, element, fillSelect, setText } from "./dom.js";
import { LAYERS, layerById } from "./frames.js";
import { openSheet } from "./inspector.js";

export function installControls(app) {
  const click = (id, action) => $(id).addEventListener("click", action);
  click("run", () => app.run());
  click("pause", () => app.source.pause());
  click("step-button", () => app.step());
  click("restart", () => app.restart());
  click("next-event", () => app.nextEvent());
  click("add-lane", () => addLane(app));
  click("new-seed", () => app.change({ seed: (Number(app.setup.seed) + 1) % 2147483647 }, { step: 0 }));
  click("paint", () => app.painter.toggle());
  click("results", () => app.results.show());
  click("theme", () => app.switchTheme());
  click("present", () => app.present());
  click("end-presentation", () => app.present(false));
  // Escape leaves the full screen, and with it the presentation.
  document.addEventListener("fullscreenchange", () => { if (!document.fullscreenElement) app.present(false); });
  click("help", () => $("help-dialog").showModal());
  click("cell-toggle", () => openSheet());
  click("share", () => $("share-dialog").showModal());
  $("world").addEventListener("change", (event) => chooseWorld(app, event.target.value));
  $("seed").addEventListener("change", (event) => app.change({ seed: Number(event.target.value) }, { step: 0 }));
  $("speed").addEventListener("input", (event) => app.setSpeed(speedOf(Number(event.target.value)), true));
  installTimeline(app);
  installView(app);
  for (const [heading, id] of [["q", "q"], ["n", "action-visits"], ["w", "w"], ["term", "term"], ["sum", "behaviour"]]) $(`column-${heading}`).title = layerById(id).text;
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
    return element("label", { title: layer.text }, input, element("span", { "data-text": layer.label }, layer.label));
  });
  $("layer").append(...radios);
  for (const id of ["scale", "arrows", "part", "difference"]) {
    $(id).value = app.options[id];
    $(id).addEventListener("change", () => app.setOption(id, $(id).value));
  }
  for (const id of ["trail", "path", "beside", "numbers", "shared"]) {
    $(id).checked = app.options[id];
    $(id).addEventListener("change", () => app.setOption(id, $(id).checked));
  }
}

// A panel of options closes when something outside of it is pressed, and with Escape.
function installPanels() {
  const close = (isKept) => { for (const panel of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details.options[open]"))) if (!isKept(panel)) panel.open = false; };
  document.addEventListener("pointerdown", (event) => close((panel) => panel.contains(event.target)));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(() => false); });
}

export function showLayer(id) {
  /** @type {HTMLInputElement | null} */
  const radio = document.querySelector(`#layer input[value="${CSS.escape(id)}"]`);
  if (radio) radio.checked = true;
  setText($("layer-text"), layerById(id).text);
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
  /** @type {{label: string, value?: string, options?: {value: string, label: string}[]}[]} */
  const groups = [{ label: "Worlds of the paper", options: app.catalogue.worlds.map(({ name }) => ({ value: `world:${name}`, label: name })) },
    { label: "Teaching worlds", options: app.catalogue.gallery.map(({ name, title }) => ({ value: `gallery:${name}`, label: title })) }];
  // A painted world, or one of a stored run that the list does not offer.
  const isListed = groups.some(({ options }) => options?.some((option) => option.value === value));
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
  $("timeline").max = app.length;
}

const NEW_LANES = ["vv-ucb", "epsilon-greedy", "ucb1"];

function chooseWorld(app, value) {
  const [kind, name] = value.split(":");
  const start = { step: 0, playing: false };
  if (kind === "gallery") {
    const world = app.catalogue.gallery.find((each) => each.name === name);
    app.change({ world: world.name, world_options: { map: world.map }, settings: {} }, start);
    app.notice(world.explanation);
  } else if (kind === "world") {
    app.change({ world: name, world_options: {}, settings: {} }, start);
    app.notice(app.catalogue.worlds.find((each) => each.name === name).meaning);
  }
}

// changes: {explorer, preset, options, settings}; an option that is null gets its default.
export function changeLane(app, number, changes) {
  const lanes = app.setup.lanes.map((lane) => ({ ...lane }));
  const lane = lanes[number];
  if (changes.explorer) Object.assign(lane, { explorer: changes.explorer, options: {} });
  if (changes.preset) lane.preset = changes.preset;
  for (const part of ["options", "settings"]) {
    lane[part] = { ...lane[part], ...changes[part] };
    for (const [name, value] of Object.entries(lane[part])) if (value === null) delete lane[part][name];
  }
  app.change({ lanes });
}

function addLane(app) {
  const used = app.setup.lanes.map((lane) => lane.explorer);
  const explorer = NEW_LANES.find((name) => !used.includes(name)) ?? NEW_LANES[0];
  app.change({ lanes: [...app.setup.lanes, { explorer }] });
}

// From one step per second to as fast as possible (0).
export function speedOf(position) {
  return position >= 100 ? 0 : Math.round(10 ** ((position / 99) * 4));
}

function positionOf(speed) {
  return speed === 0 ? 100 : Math.min(Math.round((Math.log10(Math.max(speed, 1)) / 4) * 99), 99);
}

function speedText(speed) {
  if (speed === 0) return "as fast as possible";
  return speed === 1 ? "1 step per second" : `${speed} steps per second`;
}
