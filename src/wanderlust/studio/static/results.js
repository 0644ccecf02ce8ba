// The results of a store: its studies and sweeps with their tables and figures, groups of runs, and their curves over seeds.

import { $, element, fillSelect, setText } from "./dom.js";
import { curveFigure } from "./charts.js";
import { formatNumber } from "./frames.js";

const MAX_ROWS = 500;
const MAX_OVERLAID = 8;
const GROUP_COLUMNS = ["Show", "World", "Explorer", "Options", "Seeds", "Return", "Success %", "Discovery %"];
const RUN_COLUMNS = ["Run", "Return", "Discovered", "Lane"];
const REPORT_ATTRIBUTES = { table: { class: "report" }, th: { scope: "col" }, td: { class: "wrap" } };

function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function headOf(names) {
  return element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name))));
}

// A part of a report as the server sends it: a text, or [tag, ...parts].
function reportPart(part) {
  if (typeof part === "string") return part;
  const [tag, ...parts] = part;
  const made = element(tag, REPORT_ATTRIBUTES[tag] ?? {}, ...parts.map(reportPart));
  return tag === "table" ? element("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "Table" }, made) : made;
}

export class ResultsBrowser {
  constructor(dialog, app) {
    this.dialog = dialog;
    this.app = app;
    this.list = element("tbody");
    // The numbers of the groups whose curves are shown.
    this.chosen = [];
    this.detail = element("div", { class: "detail", "aria-label": "Details", role: "region", tabindex: "0" });
    this.filter = element("input", { type: "text", "aria-label": "Filter", placeholder: "filter: world or explorer", oninput: () => this.showGroups() });
    this.part = element("select", { "aria-label": "Study or sweep", onchange: () => this.choosePart() });
    this.files = element("div", { class: "row" });
    this.note = element("p", { class: "dim" });
    const head = element("form", { method: "dialog", class: "dialog-head" }, element("h2", { id: "results-title" }, "Results"), element("button", { "aria-label": "Close" }, "×"));
    const table = element("table", { "aria-label": "Groups of runs" }, headOf(GROUP_COLUMNS), this.list);
    const controls = element("div", { class: "row" }, element("label", {}, "Show ", this.part), this.filter);
    this.parts = element("div", { class: "results" }, element("div", { class: "list", tabindex: "0", role: "region", "aria-label": "List of runs" }, table), this.detail);
    dialog.replaceChildren(head, this.note, controls, this.files, this.parts);
  }

  offer(store) {
    $("results").hidden = !store;
    this.store = store;
  }

  async show() {
    if (!this.dialog.open) this.dialog.showModal();
    setText(this.note, `Reading ${this.store}…`);
    this.data = null;
    for (const box of [this.list, this.files, this.detail]) box.replaceChildren();
    try {
      this.data = await this.app.source.ask("results");
    } catch (error) {
      setText(this.note, error.message);
      return;
    }
    const { groups, collections, problems, leftOut } = this.data;
    const runs = groups.reduce((sum, group) => sum + group.seeds, 0);
    const more = leftOut ? ` ${counted(leftOut, "run")} more not shown.` : "";
    const unusable = problems.length ? ` ${counted(problems.length, "unusable file")}: ${problems[0]}` : "";
    setText(this.note, `${this.store}: ${counted(runs, "run")} in ${counted(groups.length, "group")}.${more}${unusable}`);
    const before = this.part.value || "0";
    fillSelect(this.part, collections.map(({ kind, name }, i) => ({ value: String(i), label: kind === "folder" ? name : `${kind}: ${name}` })), before);
    if (!this.part.value) this.part.value = "0";
    this.choosePart();
  }

  get chosenPart() {
    return Number(this.part.value);
  }

  choosePart() {
    if (!this.data) return;
    const { groups, reports, figures } = this.data.collections[this.chosenPart];
    const button = (name, action) => element("button", { type: "button", onclick: action }, name);
    this.files.replaceChildren(...reports.map((name, i) => button(name, () => this.openReport(i))), ...figures.map((name, i) => button(`figure: ${name}`, () => this.openFigure(i))));
    this.chosen = [];
    this.parts.classList.toggle("no-runs", !groups.length && reports.length > 0);
    this.showGroups();
    if (reports.length) this.openReport(0);
    else if (groups.length) this.openGroups([groups[0]]);
    else this.detail.replaceChildren(element("p", { class: "dim" }, "No runs of it are stored yet."));
  }

  showGroups() {
    if (!this.data) return;
    const words = this.filter.value.toLowerCase().split(/\s+/);
    const rows = this.data.collections[this.chosenPart].groups.map((i) => ({ group: this.data.groups[i], i }))
      .filter(({ group }) => words.every((word) => `${group.world} ${group.explorer} ${group.changes}`.toLowerCase().includes(word)));
    const shown = rows.slice(0, MAX_ROWS).map(({ group, i }) => element("tr", this.chosen.includes(i) ? { class: "chosen" } : {},
      element("td", {}, this.overlayBox(group, i)),
      element("th", { scope: "row" }, element("button", { type: "button", onclick: () => this.openGroups([i]) }, group.world)),
      element("td", { class: "wrap" }, group.explorer), element("td", { class: "wrap" }, group.changes), element("td", {}, String(group.seeds)),
      element("td", {}, formatNumber(group.return)), element("td", {}, formatNumber(group.success, 3)), element("td", {}, formatNumber(group.discovery, 3))));
    const empty = element("tr", {}, element("td", { class: "wrap", colspan: String(GROUP_COLUMNS.length) }, "No runs are stored here."));
    this.list.replaceChildren(...(shown.length ? shown : [empty]));
  }

  openReport(number) {
    return this.load([{ collection: this.chosenPart, report: number }], ([{ report }]) => report.parts.map(reportPart), true);
  }

  openFigure(number) {
    return this.load([{ collection: this.chosenPart, figure: number }], ([{ figure }]) => [element("img", { class: "stored-figure", src: `data:image/png;base64,${figure.png}`, alt: `Figure ${figure.name}` })]);
  }

  // A box that adds the curves of a group to those that are shown, or takes them away.
  overlayBox({ world, explorer, changes }, i) {
    const isChosen = this.chosen.includes(i);
    const box = element("input", { type: "checkbox", "aria-label": `Show ${world}, ${explorer} ${changes}`, onchange: () => this.openGroups(isChosen ? this.chosen.filter((each) => each !== i) : [...this.chosen, i]) });
    box.checked = isChosen;
    box.disabled = !isChosen && this.chosen.length >= MAX_OVERLAID;
    return box;
  }

  openGroups(numbers) {
    this.chosen = numbers;
    this.showGroups();
    const chosen = numbers.map((number) => this.data.groups[number]), isOne = numbers.length === 1;
    const worlds = new Set(chosen.map(({ world }) => world));
    const nameOf = ({ world, explorer, changes }) => [...(worlds.size > 1 ? [world] : []), explorer, ...(isOne || !changes ? [] : [changes])].join(", ");
    return this.load(numbers.map((group) => ({ group })), (answers) => {
      const groups = answers.map(({ group }) => group);
      if (!groups.length) return [element("p", { class: "dim" }, "Choose a group.")];
      const curves = (name, reference) => groups.map((group, i) => ({ name: nameOf(chosen[i]), steps: group.steps, curve: group.curves[name], reference: group[reference] }));
      return [element("h3", {}, isOne ? `${chosen[0].world}, ${chosen[0].explorer}` : `${[...worlds].join(", ")}: ${groups.length} groups`),
        curveFigure("Return of the greedy policy", curves("returns", "optimum"), "optimum"),
        curveFigure("States discovered", curves("discovered", "reachable"), "all"),
        ...(isOne ? [...(groups[0].note ? [element("p", { class: "dim" }, groups[0].note)] : []), this.runsOf(groups[0])] : [])];
    });
  }

  runsOf({ runs }) {
    const open = (run) => element("button", { type: "button", "aria-label": `Open seed ${run.seed} in a lane`, onclick: () => this.openRun(run.setup) }, "Open");
    const rows = runs.map((run) => element("tr", {}, element("th", { scope: "row" }, `seed ${run.seed}`),
      element("td", {}, formatNumber(run.return)), element("td", {}, String(run.discovered)), element("td", {}, run.setup ? open(run) : "–")));
    return element("table", { "aria-label": "Runs of the group" }, headOf(RUN_COLUMNS), element("tbody", {}, ...rows));
  }

  // What was asked for last is shown, whatever comes first.
  async load(asked, build, isReport = false) {
    // A report needs the whole width; the list of runs is below it.
    this.parts.classList.toggle("reading", isReport);
    const request = (this.request = {});
    this.detail.replaceChildren(element("p", { class: "dim" }, "Reading…"));
    let parts;
    try {
      parts = build(await Promise.all(asked.map((fields) => this.app.source.ask("results", fields))));
    } catch (error) {
      parts = [element("p", {}, error.message)];
    }
    if (request === this.request) this.detail.replaceChildren(...parts);
  }

  openRun(setup) {
    this.dialog.close();
    this.app.change({ world_options: {}, settings: {}, ...setup }, { step: 0, playing: false });
  }
}
