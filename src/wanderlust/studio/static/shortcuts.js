// Keyboard shortcuts, and the sheet that lists them.

import { $, element, typeset } from "./dom.js";
import { LAYERS } from "./frames.js";

/** @param {any} app */
export function installShortcuts(app) {
  const actions = [
    { keys: [" "], name: "Space", text: "run or pause", action: () => (app.playing ? app.source.pause() : app.run()) },
    { keys: ["."], name: ".", text: "one step", action: () => app.step() },
    { keys: ["n"], name: "n", text: "run to the next event", action: () => app.nextEvent(), live: true },
    { keys: ["r"], name: "r", text: "restart", action: () => app.restart() },
    { keys: ["s"], name: "s", text: "another seed", action: () => $("new-seed").click(), live: true },
    { keys: ["+", "="], name: "+", text: "faster", action: () => nudge("speed", 5) },
    { keys: ["-"], name: "-", text: "slower", action: () => nudge("speed", -5) },
    { keys: ["["], name: "[", text: "back in time", action: () => nudge("timeline", -Math.max(1, Math.round(app.live / 50))) },
    { keys: ["]"], name: "]", text: "forward in time", action: () => nudge("timeline", Math.max(1, Math.round(app.live / 50))) },
    ...LAYERS.map((layer, i) => ({ keys: [String(i + 1)], name: String(i + 1), text: `layer: ${layer.label}`, action: () => app.setOption("layer", layer.id) })),
    { keys: ["a"], name: "a", text: "add a lane", action: () => $("add-lane").click(), live: true },
    { keys: ["p"], name: "p", text: "presentation: full screen, large type", action: () => app.present() },
    { keys: ["m"], name: "m", text: "paint on the maps", action: () => app.painter.toggle(), live: true, served: true },
    { keys: ["Escape"], name: "Esc", text: "end painting, or the presentation", action: () => (app.painter?.isOn ? app.painter.toggle(false) : app.present(false)) },
    { keys: ["PageDown"], name: "Page ↓", text: "next stop of the lesson", action: () => $("lesson-next").click() },
    { keys: ["PageUp"], name: "Page ↑", text: "previous stop of the lesson", action: () => $("lesson-back").click() },
    { keys: ["d"], name: "d", text: "dark or light", action: () => app.switchTheme() },
    { keys: ["?"], name: "?", text: "this help", action: () => $("help-dialog").showModal() },
  ].filter((each) => !("live" in each && app.recording) && !("served" in each && app.engine));
  buildHelp(actions);
  // Whether the mouse or a finger set the focus: then Space runs, and does not press the focused button again.
  let byPointer = false;
  document.addEventListener("pointerdown", () => { byPointer = true; }, true);
  document.addEventListener("keydown", (event) => { if (event.key === "Tab") byPointer = false; }, true);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const isTyping = target.matches("input:not([type=range]):not([type=checkbox]):not([type=radio]), textarea, select");
    // Space presses a button that has the focus by keyboard, and opens a select; it must not also run.
    const usesSpace = event.key === " " && target.matches("button, summary, input, select, a");
    if (event.key === " " && byPointer && target.matches("button, summary, select, input[type=range], input[type=radio]")) target.blur();
    else if (isTyping || usesSpace) return;
    const found = actions.find(({ keys }) => keys.includes(event.key));
    if (!found) return;
    event.preventDefault();
    found.action();
  });
}

/** @param {string} id @param {number} by */
function nudge(id, by) {
  const input = $(id);
  input.value = Number(input.value) + by;
  input.dispatchEvent(new Event("input"));
  input.dispatchEvent(new Event("change"));
}

/** @param {{name: string, text: string}[]} actions */
function buildHelp(actions) {
  const list = element("dl", {}, ...actions.map(({ name, text }) => element("div", {}, element("dt", {}, element("kbd", {}, name)), element("dd", {}, text))));
  const words = [
    ["Map", "Each lane is one explorer in the same world with the same seed. A cell is divided into triangles, one per action. (3, 2) is row 3, column 2. S start, +5 a treasure or reward, −5 in a square badge a penalty, P a prison. A reward is received by acting in its cell. Hatched: no action was taken there yet; grey with a cross: cannot be reached. Small chevrons: from where a one-way cell can be entered. A click on a cell keeps its values in the table."],
    ["Arrows and lines", "Solid arrows: the greedy policy, the actions with the largest Q. Outlined arrows: the actions with the largest behaviour value Q + κU. The dot is the agent, the line its latest steps, the dashed line the path to come, as long as one action is the best."],
    ["Numbers", "Discovered: states in which an action was taken. Greedy return: what the greedy policy of Q receives without exploration, discounted. With full memory, every step learns from all earlier steps again, so a reward soon reaches Q of the whole way to it."],
    ["W", "W(s, a) = u(s, a) + γ_w max W(s′, ·) is the visitation value (vv): the discounted sum of visitation rewards u. Of vv-ucb u(s, a) = √(2 log n(s) / n(s, a)), large for actions with few visits; n(s, a) counts them, n(s) is their sum. Of vv-count u(s, a) = n(s, a), and W has the minimum in the place of the maximum. With γ_w = 0, W is about the present state only."],
    ["W at the start and at the end", "W of vv-ucb starts above the largest sum of u that can come, so that an untried action is preferred to all others: with γ_w = 0.99 and four actions about 10,148 = 101.48 / (1 − γ_w), as if u = 101.48 came at every step. An action that ends the episode has W = u / (1 − γ_w), as if its own u came at every step: 179 after one try in five visits of the state. W falls with the visits; what counts are the differences within a state."],
    ["κU", "What the explorer adds to Q: of vv-ucb U = (1 − γ_w)W; of vv-count U = √(2 log(1 + Σn̂) / n̂) with the pseudocount n̂ = (1 − γ_w)W. κ = r_max / (1 − γ) is the return if the largest reward came at every step, 10 / 0.01 = 1,000 in the first lesson; there a reward ends the episode, so no Q is above 10, and the differences of κU decide until they are as small."],
    ["Colours of W, κU and behaviour value", "They compare the actions of one state, from the worst to the best; equal actions are all the best. Orange: not tried. In small cells they compare the best actions of the states. Numbers in large cells: the value of the best action, and how much the others lack of it."],
  ];
  $("help-text").replaceChildren(element("div", { class: "words" }, ...words.map(([name, text]) => element("section", {}, element("h3", {}, ...typeset(name)), element("p", {}, ...typeset(text))))), list);
}
