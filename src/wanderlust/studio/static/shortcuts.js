// Keyboard shortcuts, and the sheet that lists them.

import { $, element } from "./dom.js";
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
    ["Lanes", "Each lane is one explorer in the same world with the same seed. A cell is divided into triangles, one per action; hatched cells are states in which no action was taken yet, grey cells with a cross cannot be reached from the start. A click on a cell keeps its values in the table until it is clicked again; (2, 3) is row 2, column 3. States in which an action was taken are discovered. The greedy return is that of the policy that takes the largest Q; it is computed every few steps."],
    ["W", "W(s, a) = u(s, a) + γ_w max W(s′, ·) is the visitation value: the discounted sum of future visitation rewards u. Of vv-ucb u(s, a) = √(2 log n(s) / n(s, a)), which is large for actions with few visits; n(s) is the sum over the actions. Of vv-count u(s, a) = n(s, a), and W has the minimum in the place of the maximum. At the end of an episode W = u / (1 − γ_w), as if u came forever. γ_w is the discount: with 0, W is about the present state only."],
    ["Why is W about 10,000?", "W of vv-ucb starts above the largest sum of rewards u that can come: as if u = 101.48 came at every step for ever, 101.48 / (1 − γ_w) with γ_w = 0.99. So no action that was tried, however large its Q, is preferred to one that was not. The more often actions are taken, the lower W becomes; what counts are the differences within a state."],
    ["κU", "κU is what the explorer adds to Q: κ times U, of vv-ucb U = (1 − γ_w)W; of vv-count κ√(2 log(1 + Σn̂) / n̂) with the pseudocount n̂ = (1 − γ_w)W. It takes the action with the largest sum Q + κU. The constant κ is the largest possible Q, as if the largest reward came at every step for ever, minus the smallest, so that κU can outweigh any Q; a lane shows its κ and γ_w. Of a sum of 100,000, Q may be 10: then the small differences between the κU decide, or Q if these tie. W of an action that was not tried is larger than any other, so that its sum is the largest. In these layers colours compare the actions of one state, from the worst to the best, or in small cells the best actions of the states; actions that were not tried are orange. Numbers in large cells are the value of the best action, and how much the others lack of it. A state whose actions are all equal has the colour in the middle."],
    ["Arrows and lines", "Solid arrows show the greedy policy of Q, outlined arrows the actions with the largest behaviour value Q + κU. The dot is the agent, the line its latest steps; in the layers W, κU and behaviour value a dashed line is the path to come, as long as one action is the best."],
    ["Badges", "S start, +5 a treasure or reward, −5 in a square badge a penalty, P a prison. Small chevrons show from where a one-way cell can be entered."],
  ];
  $("help-text").replaceChildren(...words.map(([name, text]) => element("p", {}, element("strong", {}, name), " ", text)), list);
}
