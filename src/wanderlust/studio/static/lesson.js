// A lesson: the stops of a run with their captions, in a panel that stays while the lanes run.

import { $, element, fillSelect, setText, typeset } from "./dom.js";
import { layerById } from "./frames.js";

export class LessonPanel {
  constructor(app) {
    this.app = app;
    this.lesson = null;
    this.index = 0;
    this.target = null;
    this.predictions = [];
    this.choice = $("lesson-choice");
    this.choice.addEventListener("change", () => this.choose(this.choice.value));
    $("lesson-next").addEventListener("click", () => this.go(this.index + 1));
    $("lesson-back").addEventListener("click", () => this.go(this.index - 1));
    $("lesson-restore").addEventListener("click", () => this.choose(this.lesson.name));
    $("lesson-close").addEventListener("click", () => this.choose(""));
    const { lessons } = app.catalogue;
    this.width = 0;
    new ResizeObserver(() => this.reserve()).observe($("lesson"));
    fillSelect(this.choice, [{ value: "", label: "none" }, ...lessons.map(({ name, title }) => ({ value: name, label: title }))]);
    $("lesson-group").hidden = !lessons.length;
  }

  // Shows a lesson, without opening its setup; '' for none.
  show(name, index = 0) {
    this.lesson = this.app.catalogue.lessons.find((each) => each.name === name) ?? null;
    Object.assign(this, { index: Math.min(Math.max(index, 0), (this.lesson?.stops.length ?? 1) - 1), target: null, predictions: [] });
    this.choice.value = this.lesson?.name ?? "";
    this.draw();
    this.reserve(true);
    return this.lesson;
  }

  // The room of the longest caption, so that the lanes stay where they are from stop to stop.
  reserve(isNew = false) {
    const box = $("lesson-body"), width = box.clientWidth;
    if (!this.lesson || !width || (width === this.width && !isNew)) return;
    this.width = width;
    const rooms = this.lesson.stops.map(({ text, question, answers = [] }, i) => {
      const asked = this.lesson.stops[i - 1]?.answers, longest = (asked ?? []).reduce((a, b) => (a.length > b.length ? a : b), "");
      const room = element("div", { class: "lesson-body", "aria-hidden": "true" }, element("p", {}, ...(asked ? [element("strong", {}, verdictOn(longest, "not correct"))] : []), text),
        ...(question ? [element("p", { class: "question" }, question)] : []), element("div", { class: "answers" }, ...answers.map((answer) => element("button", { type: "button", tabindex: "-1" }, answer))));
      Object.assign(room.style, { position: "absolute", visibility: "hidden", width: `${width}px` });
      box.append(room);
      return room;
    });
    box.style.minHeight = `${Math.max(...rooms.map((room) => room.offsetHeight))}px`;
    for (const room of rooms) room.remove();
  }

  // The lane that the caption is about; undefined for the first that learns W.
  get lane() {
    return this.lesson?.stops[this.index].lane;
  }

  choose(name) {
    const lesson = this.show(name);
    if (!lesson) this.app.keepAddress();
    else if (this.app.recording) this.app.source.seek(0);
    else this.app.change({ settings: {}, world_options: {}, ...lesson.setup }, { step: lesson.stops[0].step, playing: false });
    if (lesson) this.app.setOption("layer", lesson.stops[0].layer ?? lesson.layer);
  }

  // Runs to a stop, or shows it if the run is beyond it. Asked for again while it runs, it is computed at once.
  go(index) {
    const { app } = this, stop = this.lesson.stops[index];
    if (!stop) return;
    const isAgain = this.target === index && app.playing;
    this.target = index;
    if (stop.step <= (app.recording ? app.viewed : app.live)) app.seekNow(stop.step);
    else if (isAgain) app.source.skipTo(stop.step);
    else app.runTo(stop.step, stop.speed ?? this.lesson.speed);
    this.update();
  }

  predict(answer) {
    this.predictions[this.index] = answer;
    setText($("lesson-question"), `Your prediction: “${answer}”`);
    $("lesson-answers").replaceChildren();
    $("lesson-next").focus();
    this.go(this.index + 1);
  }

  // After every frame: has the run come to the stop?
  update() {
    if (!this.lesson) return;
    const { app } = this, stop = this.lesson.stops[this.target];
    if (stop && (app.viewed === stop.step || (app.viewed > stop.step && this.target > this.index))) {
      Object.assign(this, { index: this.target, target: null });
      app.setOption("layer", stop.layer ?? (this.index ? app.options.layer : this.lesson.layer));
      this.draw();
    }
    this.showPlace();
    const isChanged = !app.recording && app.accepted && JSON.stringify(app.accepted) !== JSON.stringify(this.lesson.setup);
    $("lesson-changed").hidden = !isChanged;
    setText($("lesson-next"), this.target === null ? "Next" : app.playing ? `Skip to step ${this.lesson.stops[this.target].step.toLocaleString("en")}` : "Continue");
  }

  // Of which step and layer the caption tells; it is dim while others are shown.
  showPlace() {
    const { lesson, index, app } = this, stop = lesson?.stops[index];
    if (!stop) return;
    const layer = stop.layer ? `, layer ${layerById(stop.layer).label}` : "";
    setText($("lesson-stop"), `Stop ${index + 1} of ${lesson.stops.length}, step ${stop.step.toLocaleString("en")}${layer}`);
    $("lesson-text").classList.toggle("dim", app.viewed !== stop.step || (stop.layer ?? app.options.layer) !== app.options.layer);
  }

  draw() {
    const { lesson, index } = this;
    $("lesson").hidden = !lesson;
    document.body.classList.toggle("has-lesson", Boolean(lesson));
    document.body.classList.toggle("guided", index < (lesson?.stops.length ?? 0) - 1);
    this.app.keepAddress();
    this.app.showLane();
    this.app.stage.rearrange();
    if (!lesson) return;
    const stop = lesson.stops[index], asked = lesson.stops[index - 1], predicted = this.predictions[index - 1];
    setText($("lesson-title"), lesson.title);
    setText($("lesson-swipe"), lesson.setup.lanes.length > 1 ? ". Swipe the map for other lanes." : "");
    this.showPlace();
    const right = asked?.answers?.[(asked.answer ?? 1) - 1];
    const verdict = predicted === undefined ? "" : verdictOn(predicted, predicted === right ? "correct" : "not correct");
    $("lesson-text").replaceChildren(...(verdict ? [element("strong", {}, ...typeset(verdict))] : []), ...typeset(stop.text));
    $("lesson-question").hidden = !stop.question;
    setText($("lesson-question"), stop.question ?? "");
    $("lesson-answers").replaceChildren(...(stop.answers ?? []).map((answer) => element("button", { type: "button", onclick: () => this.predict(answer) }, ...typeset(answer))));
    $("lesson-back").disabled = index === 0;
    $("lesson-next").disabled = index === lesson.stops.length - 1;
  }
}

function verdictOn(predicted, word) {
  return `Your prediction “${predicted}” is ${word}. `;
}
