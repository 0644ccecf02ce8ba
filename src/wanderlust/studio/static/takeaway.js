// What a user takes away: links, code, pictures, data, and a recorded page.

import { $, download } from "./dom.js";
import { LAYERS } from "./frames.js";
import { lanePng, laneSvg } from "./svg.js";
import { makeLink } from "./link.js";

export function installTakeaway(app) {
  const click = (id, action) => $(id).addEventListener("click", action);
  click("copy-link", () => copy(app, "Link", makeLink({ ...app.address, step: app.live })));
  click("copy-python", () => copy(app, "Python", app.snippets.python));
  click("copy-command", () => copy(app, "Command line", app.snippets.command));
  click("copy-toml", () => copy(app, "TOML", app.snippets.toml));
  click("save-png", async () => download(`${fileName(app)}.png`, await lanePng(app)));
  click("save-svg", () => download(`${fileName(app)}.svg`, laneSvg(app), "image/svg+xml"));
  click("save-csv", () => download(`${fileName(app)}.csv`, csv(app), "text/csv"));
  click("save-json", () => download(`${fileName(app)}.json`, JSON.stringify(dataOf(app), null, 1), "application/json"));
  click("save-html", () => saveHtml(app));
}

function fileName(app) {
  return `${app.setup.world.replace(/[^\w-]+/g, "-")}-${app.options.layer}-step-${app.viewed}`;
}

async function copy(app, what, text) {
  $("copied").textContent = text;
  $("copied").hidden = false;
  try {
    await navigator.clipboard.writeText(text);
    app.notice(`${what} copied.`);
  } catch {
    if (!$("share-dialog").open) $("share-dialog").showModal();
    app.notice(`The browser does not allow copying: select the text and copy it.`);
  }
}

// One row per lane, state and action.
function csv(app) {
  const rows = [["lane", "explorer", "step", "state", "row", "column", "part", "action", "visits", "q", "w", "exploration_term", "behaviour_value"]];
  for (const { lane, explorer, step, cells } of dataOf(app).lanes) {
    for (const cell of cells) {
      for (const action of cell.actions) {
        rows.push([lane, explorer, step, cell.state, cell.row, cell.column, cell.part, action.action, action.visits, action.q, action.w ?? "", action.exploration_term, action.behaviour_value]);
      }
    }
  }
  return rows.map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}

// A name that starts like a formula must not become one in a spreadsheet.
function quoted(value) {
  const text = String(value);
  if (typeof value === "number" || !/^[=+\-@\t\r]|[",\r\n]/.test(text)) return text;
  return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

function dataOf(app) {
  const { world } = app;
  const lanes = app.frames.map((frame, i) => ({
    lane: i + 1,
    explorer: app.setup.lanes[i].explorer,
    step: frame.step,
    states_discovered: frame.discovered,
    next_action: app.cards[i].sentence.textContent,
    cells: world.layers.flatMap((layer) => layer.state.flatMap((state, at) => {
      if (state < 0 || layer.kind[at] === 1 || frame.stateVisits[state] === 0) return [];
      const terms = (action) => state * frame.actions + action;
      const actions = world.actions.map((action, a) => ({
        action, visits: frame.visits[terms(a)], q: frame.q[terms(a)], w: frame.w ? frame.w[terms(a)] : null,
        exploration_term: frame.score[terms(a)] - frame.behaviour[terms(a)], behaviour_value: frame.score[terms(a)],
      }));
      return [{ state, row: Math.floor(at / world.columns) + 1, column: (at % world.columns) + 1, part: layer.name, actions }];
    })),
    curves: {
      steps: app.series[i].points.map((_, k) => (k + 1) * app.series[i].every),
      states_discovered: app.series[i].points.map((point) => point[0]),
      greedy_return: app.series[i].points.map((point) => point[1]),
      visit_entropy: app.series[i].points.map((point) => point[2]),
    },
  }));
  return { setup: app.setup, layers: LAYERS.map(({ id }) => id), optimal_return: world.optimum, reachable_states: world.reachable, lanes };
}

async function saveHtml(app) {
  const button = $("save-html");
  button.disabled = true;
  app.notice("The run is being recorded…");
  try {
    const { html, name } = await app.source.ask("export", { setup: app.setup });
    download(name, html, "text/html");
    app.notice(`${name} saved: it plays in any browser, without a server.`);
  } catch (error) {
    app.error(error.message);
  } finally {
    button.disabled = false;
  }
}
