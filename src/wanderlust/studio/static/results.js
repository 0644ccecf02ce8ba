// The results of a store: groups of runs, their curves over seeds, and the reports beside them.

import { $, element, setText, svgElement } from "./dom.js";
import { formatNumber } from "./frames.js";

export class ResultsBrowser {
  constructor(dialog, app) {
    this.dialog = dialog;
    this.app = app;
    this.list = element("tbody");
    this.detail = element("div", { "aria-label": "Details", role: "region" });
    this.filter = element("input", { type: "text", "aria-label": "Filter", placeholder: "filter: world or explorer", oninput: () => this.showGroups() });
    this.reports = element("div", { class: "row" });
    this.note = element("p", { class: "dim" });
    const head = element("form", { method: "dialog", class: "dialog-head" }, element("h2", { id: "results-title" }, "Results"), element("button", { "aria-label": "Close" }, "×"));
    const names = ["World", "Explorer", "Options", "Seeds", "Return", "Success %", "Discovery %"];
    const table = element("table", { "aria-label": "Groups of runs" },
      element("thead", {}, element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)))), this.list);
    dialog.replaceChildren(head, this.note, this.reports, element("div", { class: "results" },
      element("div", {}, this.filter, element("div", { class: "list", tabindex: "0", role: "region", "aria-label": "List of runs" }, table)), this.detail));
  }

  offer(store) {
    $("results").hidden = !store;
    this.store = store;
  }

  async show() {
    if (!this.dialog.open) this.dialog.showModal();
    setText(this.note, `Reading ${this.store}…`);
    try {
      this.data = await this.app.source.ask("results");
    } catch (error) {
      setText(this.note, error.message);
      return;
    }
    const { groups, reports, problems, leftOut } = this.data;
    const runs = groups.reduce((sum, group) => sum + group.seeds, 0);
    const unusable = problems.length ? ` ${problems.length} unusable files: ${problems[0]}` : "";
    setText(this.note, `${this.store}: ${runs} runs in ${groups.length} groups.${leftOut ? ` ${leftOut} more are not shown.` : ""}${unusable}`);
    this.reports.replaceChildren(...reports.map((name, i) => element("button", { type: "button", onclick: () => this.openReport(i) }, name)));
    this.showGroups();
  }

  showGroups() {
    const words = this.filter.value.toLowerCase().split(/\s+/);
    const rows = this.data.groups.map((group, i) => ({ group, i })).filter(({ group }) => words.every((word) => `${group.world} ${group.explorer} ${group.changes}`.toLowerCase().includes(word)));
    this.list.replaceChildren(...rows.slice(0, 500).map(({ group, i }) => element("tr", i === this.chosen ? { class: "chosen" } : {},
      element("th", { scope: "row" }, element("button", { type: "button", onclick: () => this.openGroup(i) }, group.world)),
      element("td", {}, group.explorer), element("td", { class: "wrap" }, group.changes), element("td", {}, String(group.seeds)),
      element("td", {}, formatNumber(group.return)), element("td", {}, formatNumber(group.success, 3)), element("td", {}, formatNumber(group.discovery, 3)))));
  }

  async openReport(number) {
    await this.load({ report: number }, ({ report }) => [element("h3", {}, report.name), element("pre", { tabindex: "0" }, report.text)]);
  }

  async openGroup(number) {
    this.chosen = number;
    this.showGroups();
    const { world, explorer } = this.data.groups[number];
    await this.load({ group: number }, ({ group }) => {
      const runs = group.runs.map((run) => element("tr", {}, element("th", { scope: "row" }, `seed ${run.seed}`),
        element("td", {}, formatNumber(run.return)), element("td", {}, String(run.discovered)),
        element("td", {}, run.setup ? element("button", { type: "button", "aria-label": `Open seed ${run.seed} in a lane`, onclick: () => this.openRun(run.setup) }, "Open") : "")));
      const table = element("table", { "aria-label": "Runs of the group" }, element("thead", {}, element("tr", {}, ...["Run", "Return", "Discovered", "Lane"].map((name) => element("th", { scope: "col" }, name)))), element("tbody", {}, ...runs));
      const note = group.runs.some((run) => run.setup) ? "" : "The studio cannot show these runs in a lane: they use settings or worlds that it does not offer.";
      return [element("h3", {}, `${world}, ${explorer}`), curveFigure("Return of the greedy policy", group.steps, group.curves.returns, group.optimum),
        curveFigure("States discovered", group.steps, group.curves.discovered, group.reachable), element("p", { class: "dim" }, note), table];
    });
  }

  async load(fields, build) {
    this.detail.replaceChildren(element("p", { class: "dim" }, "Reading…"));
    try {
      this.detail.replaceChildren(...build(await this.app.source.ask("results", { group: fields })));
    } catch (error) {
      this.detail.replaceChildren(element("p", {}, error.message));
    }
  }

  openRun(setup) {
    this.dialog.close();
    this.app.change({ world_options: {}, settings: {}, ...setup }, { step: 0, playing: false });
  }
}

// The mean over seeds, and a band from the smallest to the largest.
function curveFigure(title, steps, { mean, low, high }, reference) {
  const width = 460, height = 200, left = 48, right = 10, top = 10, bottom = 20;
  const known = [...low, ...high, reference].filter((value) => value !== null && value !== undefined);
  const bottomValue = Math.min(0, ...known), topValue = Math.max(...known, bottomValue + 1e-9);
  const x = (i) => left + ((steps[i] ?? 0) / (steps[steps.length - 1] || 1)) * (width - left - right);
  const y = (value) => top + (1 - (value - bottomValue) / (topValue - bottomValue)) * (height - top - bottom);
  const points = (values, order = (list) => list) => order(values.map((value, i) => (value === null ? null : `${x(i).toFixed(1)},${y(value).toFixed(1)}`)).filter(Boolean));
  const svg = svgElement("svg", { class: "chart", role: "img", viewBox: `0 0 ${width} ${height}`, "aria-label": `${title}: ${formatNumber(mean[mean.length - 1])} at the end, mean over seeds` });
  svg.append(svgElement("polygon", { points: [...points(low), ...points(high, (list) => list.reverse())].join(" "), fill: "var(--lane-1)", opacity: 0.2 }));
  svg.append(svgElement("polyline", { points: points(mean).join(" "), fill: "none", stroke: "var(--lane-1)", "stroke-width": 2 }));
  if (reference !== null && reference !== undefined) svg.append(svgElement("line", { x1: left, x2: width - right, y1: y(reference), y2: y(reference), class: "optimum" }));
  for (const value of [bottomValue, topValue]) svg.append(svgElement("text", { x: left - 5, y: y(value) + 4, "text-anchor": "end" }, formatNumber(value, 3)));
  svg.append(svgElement("text", { x: left, y: height - 4 }, "0"), svgElement("text", { x: width - right, y: height - 4, "text-anchor": "end" }, formatNumber(steps[steps.length - 1] ?? 0)));
  return element("figure", {}, element("figcaption", {}, title), svg);
}
