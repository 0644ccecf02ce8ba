// The runs of a page without a server, executed by `engine.js`; the interface is that of `LiveSource`.

import { EngineRun } from "./engine.js";

const POINTS = 1000;
const TRAIL = 40;
const SLICE = 12;
const FAST_SLICE = 40;
const NEEDS_PYTHON = "This page runs without Python and cannot do that. Install it: pip install \"wanderlust[studio]\", then: wanderlust studio.";

export class EngineSource {
  constructor({ worlds }, on) {
    this.worlds = worlds;
    this.on = on;
    this.playing = false;
    this.speed = 0;
    this.lanes = [];
    this.ready = true;
    this.openId = 0;
    this.length = 0;
    this.clock = 0;
    this.clockStep = 0;
    on.connection(true);
  }

  // A world by its name and options; each has the settings of every explorer.
  open(given, { step = 0, playing = false, speed = 0 } = {}) {
    this.openId += 1;
    const setup = plainSetup(given);
    const found = this.worlds.find((each) => each.name === setup.world && JSON.stringify(each.options) === JSON.stringify(setup.world_options ?? {}));
    const lanes = found ? setup.lanes.map((lane) => laneOf(found, setup, lane)) : [null];
    if (lanes.includes(null)) {
      this.on.error({ about: "open", id: this.openId, message: NEEDS_PYTHON });
      return;
    }
    Object.assign(this, { setup, lanes, earlier: null, playing: false, length: Math.max(...lanes.map((lane) => lane.settings.run_length)) });
    this.on.opened({ setup, world: found.world, length: this.length, lanes: lanes.map((lane) => lane.description), snippets: {} });
    advance(lanes, Math.min(step, this.length), Infinity);
    this.show();
    if (playing) this.play(speed);
  }

  get now() { return this.lanes[0]?.run.step ?? 0; }

  show(lanes = this.lanes) {
    const news = this.lanes.map((lane) => lane.news());
    this.on.state({ step: this.now, shown: lanes[0].run.step, playing: this.playing, busy: false, lanes: news }, lanes.map((lane) => lane.frame()));
  }

  play(speed, until = null) {
    this.until = Math.min(until ?? this.length, this.length);
    this.setSpeed(speed);
    if (this.playing) return;
    this.playing = this.now < this.until;
    if (this.playing) requestAnimationFrame(() => this.tick());
    else this.show();
  }

  tick() {
    if (!this.playing) return;
    const target = this.speed ? this.clockStep + Math.floor(((performance.now() - this.clock) / 1000) * this.speed) : this.until;
    const before = this.now;
    advance(this.lanes, Math.min(target, this.until), this.speed ? SLICE : FAST_SLICE);
    if (this.speed && this.now < Math.min(target, this.until)) this.setSpeed(this.speed);
    this.playing = this.now < this.until;
    if (this.now > before || !this.playing) this.show();
    requestAnimationFrame(() => this.tick());
  }

  setSpeed(speed) { Object.assign(this, { speed, clock: performance.now(), clockStep: this.now }); }
  pause() { if (this.playing) { this.playing = false; this.show(); } }
  skipTo(step) { this.play(0, step); }
  shown() {}

  step(count = 1) {
    this.playing = false;
    advance(this.lanes, Math.min(this.now + count, this.length), Infinity);
    this.show();
  }

  // An earlier step is computed from the beginning, or from the last one that was shown.
  seek(step) {
    this.playing = false;
    if (step >= this.now) return this.show();
    if (!this.earlier || this.earlier[0].run.step > step) this.earlier = this.lanes.map((lane) => lane.again());
    advance(this.earlier, step, Infinity);
    return this.show(this.earlier);
  }

  nextEvent(kind) {
    this.playing = false;
    const end = performance.now() + 3000;
    let found = [];
    while (!found.length && this.now < this.length && performance.now() < end) {
      const before = this.lanes.map((lane) => ({ reward: lane.events.length, state: lane.run.discovered.size, policy: kind === "reward" || kind === "state" ? "" : String(lane.greedy()) }));
      advance(this.lanes, this.now + 1, Infinity);
      found = this.lanes.flatMap((lane, i) => lane.newEvent(kind, before[i], i));
    }
    this.show();
    this.on.found(found.join(" ") || "No such event so far; press again to look further.");
  }

  ask() { return Promise.reject(new Error(NEEDS_PYTHON)); }
}

// As the server returns it: without what is empty, in this order.
function plainSetup(given) {
  const isGiven = (value) => value !== undefined && !(value instanceof Object && !Object.keys(value).length);
  const without = (fields, names) => Object.fromEntries(names.filter((name) => isGiven(fields[name])).map((name) => [name, fields[name]]));
  const lanes = given.lanes.map((lane) => without(lane, ["explorer", "preset", "options", "settings"]));
  return without({ ...given, lanes }, ["world", "world_options", "settings", "seed", "lanes"]);
}

function advance(lanes, step, milliseconds) {
  const end = performance.now() + milliseconds;
  while (lanes[0].run.step < step && performance.now() < end) for (const lane of lanes) lane.advance();
}

// Null if a lane needs what the engine does not have.
function laneOf(found, setup, lane) {
  const base = found.lanes[lane.explorer];
  if (!base || lane.preset) return null;
  const settings = { ...base.settings, ...setup.settings, ...lane.settings };
  if (Object.keys(settings).some((name) => !(name in base.settings) && name !== "steps")) return null;
  settings.run_length = settings.steps ?? settings.budget;
  const description = { ...base.description, every: Math.max(Math.ceil(settings.run_length / POINTS), 1) };
  description.settings = { ...description.settings, ...lane.settings };
  const { gamma_w = description.fields.gamma_w } = lane.settings ?? {};
  description.fields = { ...description.fields, gamma_w, ...lane.options };
  return new EngineLane(found, lane.explorer, { seed: setup.seed, settings, options: { ...base.options, ...lane.options } }, description);
}

class EngineLane {
  constructor(found, explorer, given, description) {
    this.found = found;
    this.explorer = explorer;
    this.given = given;
    this.description = description;
    this.settings = given.settings;
    this.events = [];
    this.points = [];
    this.sent = [0, 0];
    this.run = new EngineRun(found.tables, explorer, given);
    this.rewarded = new Set();
  }

  again() { return new EngineLane(this.found, this.explorer, this.given, this.description); }

  advance() {
    const { run } = this;
    const { state, reward } = run.advance();
    if (reward > 0 && !this.rewarded.has(state)) {
      this.rewarded.add(state);
      this.events.push({ step: run.step, state, text: `reward ${Number(reward.toPrecision(6))} found at ${this.found.names[state]}`, reward });
    }
    if (run.step % this.description.every === 0) this.points.push([run.discovered.size, this.lastReturn(), this.entropy()]);
  }

  lastReturn() {
    const { run, settings } = this;
    if (run.world.deterministic) return run.returns.at(-1) ?? null;
    if (run.step < settings.evaluate_every) return null;
    if (Math.floor(run.step / settings.evaluate_every) !== this.evaluated) {
      this.evaluated = Math.floor(run.step / settings.evaluate_every);
      this.solved = policyReturn(run.world, this.greedy(), settings.discount);
    }
    return this.solved;
  }

  entropy() {
    const { run } = this;
    let total = 0;
    for (const state of run.discovered) {
      const share = run.stateVisits[state] / run.step;
      total -= share * Math.log(share);
    }
    return Math.max(total, 0);
  }

  news() {
    const [first, events] = this.sent;
    this.sent = [this.points.length, this.events.length];
    return { first, points: this.points.slice(first), events: this.events.slice(events) };
  }

  greedy() {
    const { run } = this;
    return Uint8Array.from({ length: run.world.states }, (_, state) => bestOf(run.target.row(state)));
  }

  newEvent(kind, before, i) {
    const is = (name) => kind === "any" || kind === name, { run } = this;
    if (is("reward") && this.events.length > before.reward) return [`Lane ${i + 1}: ${this.events.at(-1).text} at step ${run.step}.`];
    if (is("state") && run.discovered.size > before.state) return [`Lane ${i + 1}: ${this.found.names[run.trail.at(-1)]} discovered at step ${run.step}.`];
    if (is("policy") && String(this.greedy()) !== before.policy) return [`Lane ${i + 1}: greedy policy changed at step ${run.step}.`];
    return [];
  }

  // What `decodeFrame` returns.
  frame() {
    const { run } = this, { states, actions } = run.world;
    const score = new Float64Array(states * actions);
    const preferred = new Uint8Array(states);
    for (let state = 0; state < states; state++) {
      const scores = run.scores(state);
      score.set(scores, state * actions);
      preferred[state] = bestOf(scores);
    }
    return {
      step: run.step, agent: run.state, discovered: run.discovered.size, randomness: run.rules.randomness?.(run) ?? 0, states, actions,
      visits: Uint32Array.from(run.n), q: run.target.values.slice(), behaviour: run.heads ? score : run.behaviour.values.slice(),
      w: run.w?.values.slice() ?? null, score, trail: Int32Array.from(run.trail.slice(-TRAIL)), greedy: this.greedy(), preferred,
      stateVisits: run.stateVisits.slice(),
    };
  }
}

// The actions with the largest value, as bits.
function bestOf(values) {
  const high = Math.max(...values);
  return Array.from(values).reduce((bits, value, action) => (value === high ? bits | (1 << action) : bits), 0);
}

// The expected return of a policy that draws among its best actions, by iteration.
function policyReturn({ states, actions, outcomes, starts, startProbability }, greedy, discount) {
  const values = new Float64Array(states);
  for (let change = 1; change > 1e-10;) {
    change = 0;
    for (let state = states - 1; state >= 0; state--) {
      let total = 0, n = 0;
      for (let action = 0; action < actions; action++) {
        if (!(greedy[state] & (1 << action))) continue;
        n += 1;
        for (const [next, p, reward, terminal] of outcomes[state * actions + action]) total += p * (reward + (terminal ? 0 : discount * values[next]));
      }
      change = Math.max(change, Math.abs(total / n - values[state]));
      values[state] = total / n;
    }
  }
  return starts.reduce((sum, start, i) => sum + startProbability[i] * values[start], 0);
}
