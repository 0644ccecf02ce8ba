// The algorithms of the paper in JavaScript, for a page without a server: full memory, deterministic and stochastic worlds.
//
// This is the one place besides Python in which the TD update is written. It follows the slow implementation of the tests
// (tests/oracle), with the same random numbers and the same order of sums. tests/studio/test_engine.py compares it with the library:
// the same actions, and values within 1e-12. Only the initial noise of ensembles is drawn by another method here.

const TERMINAL = -1;
const CONVERGENCE_EVERY = 32;
const MAX_UPDATES = 100_000;

// ------------------------------------------------------------------ random numbers

// The CRC-32 of the names of the streams.
const STREAMS = { explorer: 0xe7ffacee, replay: 0xd937f4f2, world: 0x3a771143, evaluation: 0x1323a575, "initial values": 0x595373d8 };

// NumPy's SeedSequence([seed, stream]).generate_state(1, uint64).
function counterOf(seed, stream) {
  let multiplier = 0x43b0d7e5;
  const hash = (value) => {
    const mixed = value ^ multiplier;
    multiplier = Math.imul(multiplier, 0x931e8875);
    const product = Math.imul(mixed, multiplier);
    return product ^ (product >>> 16);
  };
  const mix = (x, y) => {
    const result = Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y) | 0;
    return result ^ (result >>> 16);
  };
  const pool = [seed, stream, 0, 0].map(hash);
  for (let from = 0; from < 4; from++) for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  multiplier = 0x8b51f9dd;
  const words = pool.slice(0, 2).map((value) => {
    const mixed = value ^ multiplier;
    multiplier = Math.imul(multiplier, 0x58f38ded);
    const product = Math.imul(mixed, multiplier);
    return BigInt((product ^ (product >>> 16)) >>> 0);
  });
  return words[0] | (words[1] << 32n);
}

// SplitMix64.
export class RandomStream {
  constructor(seed, name) {
    this.counter = counterOf(seed, STREAMS[name]);
  }

  bits() {
    this.counter = BigInt.asUintN(64, this.counter + 0x9e3779b97f4a7c15n);
    let z = this.counter;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  }

  uniform() { return Number(this.bits() >> 11n) / 2 ** 53; }
  below(n) { return Math.floor(this.uniform() * n); }

  // An integer below n and one below m, from the two halves of 64 bits (Lemire 2019).
  twoBelow(n, m) {
    for (;;) {
      const bits = this.bits();
      const a = Number(bits >> 32n) * n, b = Number(bits & 0xffffffffn) * m;
      if (a % 2 ** 32 >= 2 ** 32 % n && b % 2 ** 32 >= 2 ** 32 % m) return [Math.floor(a / 2 ** 32), Math.floor(b / 2 ** 32)];
    }
  }

  // An index with its probability; rounding errors go to the last possible one.
  sample(probabilities) {
    let left = this.uniform(), last = 0;
    for (let k = 0; k < probabilities.length; k++) {
      if (!(probabilities[k] > 0)) continue;
      if (left < probabilities[k]) return k;
      left -= probabilities[k];
      last = k;
    }
    return last;
  }

  // The index of the largest score; only ties draw a random number.
  argmax(scores) {
    const high = Math.max(...scores);
    const best = [];
    scores.forEach((score, action) => { if (score === high) best.push(action); });
    return best.length === 1 ? best[0] : best[this.below(best.length)];
  }

  gaussian() { return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform()); }
}

// ------------------------------------------------------------------ memory and tables

// All transitions, by pair and next state, in the order in which these were first observed.
class Memory {
  constructor(pairs) {
    this.entries = new Array(pairs);
    this.all = [];
    this.transitions = [];
    this.order = [];
    this.isDeterministic = true;
  }

  // Returns whether an update may change.
  store(pair, reward, next) {
    const entry = (this.entries[pair] ??= { pair, n: 0, outcomes: [] }), known = entry.outcomes;
    if (!entry.n) this.all.push(entry);
    entry.n += 1;
    let outcome = known.find((each) => each.next === next);
    const before = outcome?.mean;
    if (!outcome) known.push(outcome = { pair, next, count: 0, mean: 0 });
    outcome.count += 1;
    outcome.mean = outcome.count === 1 ? reward : outcome.mean + (reward - outcome.mean) / outcome.count;
    if (known.length > 1) this.isDeterministic = false;
    this.order.push(this.transitions.length);
    this.transitions.push(outcome);
    return outcome.mean !== before || known.length > 1;
  }

  // Transitions drawn without replacement, in the form of `all`: the first of a shuffle that goes on from the last one.
  minibatch(size, random) {
    const { order } = this, n = order.length;
    for (let i = 0; n > size && i < size; i += 2) {
      random.twoBelow(n - i, n - i - 1).forEach((offset, second) => {
        const place = i + second, other = place + offset;
        if (place < size) [order[place], order[other]] = [order[other], order[place]];
      });
    }
    const entries = new Map();
    for (const place of order.slice(0, size)) {
      const { pair, next, mean } = this.transitions[place];
      if (!entries.has(pair)) entries.set(pair, { pair, n: 0, outcomes: [] });
      const entry = entries.get(pair), outcome = entry.outcomes.find((each) => each.next === next);
      entry.n += 1;
      if (outcome) outcome.count += 1;
      else entry.outcomes.push({ pair, next, count: 1, mean });
    }
    return [...entries.values()];
  }
}

const plainReward = (outcome) => outcome.mean;

// The values of all pairs, and the reward and discount from which they are learnt.
class Table {
  constructor(agent, start, gamma, { reward = plainReward, best = Math.max } = {}) {
    this.gamma = gamma;
    this.reward = reward;
    this.best = best;
    this.actions = agent.actions;
    this.values = new Float64Array(agent.pairs).fill(start);
    this.found = new Float64Array(agent.pairs);
  }

  row(state) { return this.values.subarray(state * this.actions, (state + 1) * this.actions); }

  bestOf(state) {
    const first = state * this.actions;
    let value = this.values[first];
    for (let pair = first + 1; pair < first + this.actions; pair++) value = this.best(value, this.values[pair]);
    return value;
  }

  // Computes the mean TD error of each pair.
  findErrors(batch, nu) {
    for (const { pair, n, outcomes } of batch) {
      let target = 0;
      for (const outcome of outcomes) {
        const value = outcome.next === TERMINAL ? 0 : this.bestOf(outcome.next);
        target += (outcome.count / n) * (this.reward(outcome) + this.gamma * value);
      }
      this.found[pair] = target - this.values[pair] + nu * (0 - this.values[pair]);
    }
  }

  // Adds η times the mean TD error to each pair; all errors are computed before any value changes.
  update(batch, eta, nu = 0) {
    this.findErrors(batch, nu);
    for (const { pair } of batch) this.values[pair] += eta * this.found[pair];
  }
}

// ------------------------------------------------------------------ explorers

// The next float above x > 0.
function above(x) {
  const bits = new BigInt64Array(new Float64Array([x]).buffer);
  bits[0] += 1n;
  return new Float64Array(bits.buffer)[0];
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

// What each explorer learns in addition to Q (`prepare`), its exploration term κU of a state, and how it acts if not greedily.
const EXPLORERS = {
  random: { choose: (agent) => agent.random.below(agent.actions), randomness: () => 1 },
  "epsilon-greedy": { choose: epsilonGreedy, randomness: epsilon },
  bonus: {
    prepare(agent) {
      const scale = agent.options.scale ?? 0.1;
      agent.behaviour.reward = (outcome) => outcome.mean + scale / Math.sqrt(agent.n[outcome.pair]);
    },
    choose: epsilonGreedy, randomness: epsilon,
  },
  ucb1: {
    prepare: (agent) => upperBound(agent, agent.options.untried_value ?? agent.span + Math.sqrt(2 * Math.log(agent.actions))),
    term: (agent, state) => boundsOf(agent, Array.from(agent.visitsOf(state))),
  },
  "vv-ucb": {
    prepare(agent) {
      upperBound(agent);
      const gamma = agent.gammaW, others = Math.max(agent.actions - 1, 1), margin = agent.options.initial_margin ?? 0;
      const bound = agent.span / (1 - gamma) ** 2 + Math.sqrt(2 * Math.log(others)) / (1 - gamma);
      const plus = agent.options.log_plus_one ? 1 : 0;
      agent.w = new Table(agent, margin > 0 ? bound + margin : above(bound), gamma, {
        reward({ pair, next }) {
          const ucb = Math.sqrt(2 * Math.log(plus + agent.stateVisits[Math.floor(pair / agent.actions)]) / agent.n[pair]);
          return next === TERMINAL ? ucb / (1 - gamma) : ucb;
        },
      });
    },
    term: (agent, state) => Array.from(agent.w.row(state), (w) => agent.kappa * ((1 - agent.gammaW) * w)),
  },
  "vv-count": {
    prepare(agent) {
      const gamma = agent.gammaW, plus = (agent.options.untried_bound ?? "text") === "text" ? 1 : 0;
      const worst = plus + (1 - gamma) + Math.max(agent.actions, 2) - 2;
      upperBound(agent);
      agent.untried = agent.span + Math.sqrt(2 * Math.log(worst) / (1 - gamma));
      const isLargest = agent.options.terminal_count === "largest";
      const count = ({ pair, next }) => (next === TERMINAL ? (isLargest ? agent.largest : agent.n[pair]) / (1 - gamma) : agent.n[pair]);
      agent.w = new Table(agent, 0, gamma, { reward: count, best: Math.min });
    },
    term: (agent, state) => boundsOf(agent, Array.from(agent.w.row(state), (w) => (1 - agent.gammaW) * w)),
  },
  bootstrapped: { prepare: (agent) => ensemble(agent, 0), begin: drawHead, choose: onHead },
  "random-prior": { prepare: (agent) => ensemble(agent, 0.1), begin: drawHead, choose: onHead },
  thompson: {
    prepare: (agent) => ensemble(agent, 0),
    choose(agent, state) {
      let head = agent.random.below(agent.heads.length);
      const scores = [];
      for (let action = 0; action < agent.actions; action++) {
        if (action > 0 && agent.options.draw === "action") head = agent.random.below(agent.heads.length);
        scores.push(agent.heads[head].row(state)[action]);
      }
      return agent.random.argmax(scores);
    },
    score: (agent, state) => Array.from({ length: agent.actions }, (_, a) => agent.heads.reduce((mean, head) => mean + head.row(state)[a] / agent.heads.length, 0)),
  },
};

function epsilon({ settings, step }) {
  const { epsilon_start: start, epsilon_end: end, budget } = settings;
  return start * (start > 0 && end > 0 ? (end / start) ** (1 / budget) : 1) ** step;
}

function epsilonGreedy(agent, state) {
  if (agent.random.uniform() < epsilon(agent)) return agent.random.below(agent.actions);
  return agent.random.argmax(agent.behaviour.row(state));
}

function upperBound(agent, untried = 0) {
  agent.kappa = agent.options.kappa ?? agent.range;
  agent.span = agent.kappa > 0 ? agent.range / agent.kappa : 0;
  agent.untried = untried || agent.span + Math.sqrt(2 * Math.log(agent.actions));
}

// κ times the bound of UCB1, with visits or pseudocounts.
function boundsOf(agent, counts) {
  const total = 1 + sum(counts);
  return counts.map((n) => agent.kappa * (n > 0 ? Math.sqrt(2 * Math.log(total) / n) : agent.untried));
}

function ensemble(agent, nu) {
  agent.nu = agent.options.prior_weight ?? nu;
  agent.heads = Array.from({ length: agent.options.heads ?? 10 }, () => new Table(agent, agent.start, agent.settings.discount));
  const stream = new RandomStream(agent.seed, "initial values"), recorded = agent.noise?.values();
  agent.drawNoise = () => (agent.options.noise ?? 1) * (recorded ? recorded.next().value : stream.gaussian());
  for (let i = 0; i < agent.heads.length * agent.actions; i++) agent.drawNoise();
}

function drawHead(agent) {
  agent.head = agent.random.below(agent.heads.length);
}

function onHead(agent, state) {
  agent.behaviour = agent.heads[agent.head];
  return agent.options.dither ? epsilonGreedy(agent, state) : agent.random.argmax(agent.behaviour.row(state));
}

// ------------------------------------------------------------------ a run

// world: {states, actions, starts, startProbability, outcomes: [[next, probability, reward, terminal], ...] per pair, draws (a random
// number in every step), deterministic, rewardRange}
export class EngineRun {
  constructor(world, explorer, { seed, settings, options, noise = null }) {
    this.world = world;
    this.explorer = explorer;
    this.seed = seed;
    this.settings = settings;
    this.options = options;
    this.noise = noise;
    this.actions = world.actions;
    this.pairs = world.states * world.actions;
    this.rules = EXPLORERS[explorer];
    const [low, high] = world.rewardRange, span = high > 0 ? high : high - low;
    this.range = (span > 0 ? span : 1) / (1 - settings.discount);
    this.start = settings.initial === "optimistic" ? this.range : 0;
    this.gammaW = options.gamma_w ?? settings.gamma_w;
    this.n = new Float64Array(this.pairs);
    this.stateVisits = new Float64Array(world.states);
    this.largest = 0;
    this.step = 0;
    this.random = new RandomStream(seed, "explorer");
    this.replayRandom = new RandomStream(seed, "replay");
    this.worldRandom = new RandomStream(seed, "world");
    this.evaluationRandom = new RandomStream(seed, "evaluation");
    // Of some explorers: W, or the heads of an ensemble, of which one acts, and those that no minibatch can change.
    this.w = null;
    this.heads = null;
    this.head = 0;
    this.nu = 0;
    this.converged = new Set();
    this.drawNoise = null;
    this.memory = new Memory(this.pairs);
    this.target = new Table(this, 0, settings.discount);
    this.behaviour = new Table(this, this.start, settings.discount);
    this.rules.prepare?.(this);
    this.known = new Set();
    this.discovered = new Set();
    this.trail = [];
    this.returns = [];
    this.reset();
  }

  visitsOf(state) { return this.n.subarray(state * this.actions, (state + 1) * this.actions); }

  reset() {
    const { starts, startProbability } = this.world;
    this.state = starts.length === 1 ? starts[0] : starts[this.worldRandom.sample(startProbability)];
    this.episodeStep = 0;
    this.rules.begin?.(this);
    this.visit(this.state);
  }

  visit(state) {
    if (this.known.has(state)) return;
    this.known.add(state);
    // For all heads and actions of a state together.
    for (const head of this.heads ?? []) for (let a = 0; a < this.actions; a++) head.row(state)[a] += this.drawNoise();
  }

  // κU of every action; 0 for explorers without one.
  term(state) { return this.rules.term?.(this, state) ?? new Array(this.actions).fill(0); }

  scores(state) {
    if (this.rules.score) return this.rules.score(this, state);
    const q = (this.heads ? this.heads[this.head] : this.behaviour).row(state);
    return this.term(state).map((bonus, action) => q[action] + bonus);
  }

  advance() {
    const { state } = this, action = this.rules.choose ? this.rules.choose(this, state) : this.random.argmax(this.scores(state));
    const outcomes = this.world.outcomes[state * this.actions + action];
    // In a world with stochastic actions, those with one outcome draw a number as well.
    const [next, , reward, terminal] = outcomes[this.world.draws ? this.worldRandom.sample(outcomes.map((each) => each[1])) : 0];
    if (!terminal) this.visit(next);
    this.discovered.add(state);
    this.trail.push(state);
    this.learn(state * this.actions + action, reward, terminal ? TERMINAL : next);
    this.step += 1;
    this.episodeStep += 1;
    if (this.step % this.settings.evaluate_every === 0 && this.world.deterministic) this.returns.push(this.greedyReturn());
    if (terminal || this.episodeStep === this.settings.horizon) this.reset();
    else this.state = next;
    return { state, action, reward };
  }

  learn(pair, reward, next) {
    const { memory, settings } = this;
    this.n[pair] += 1;
    this.stateVisits[Math.floor(pair / this.actions)] += 1;
    this.largest = Math.max(this.largest, this.n[pair]);
    const hasChanged = memory.store(pair, reward, next);
    const tables = [this.target, ...(this.heads ? [] : [this.behaviour]), ...(this.w ? [this.w] : [])];
    const limit = Math.floor(MAX_UPDATES / (this.known.size * this.actions));
    const sweeps = settings.sweeps === 1 || !memory.isDeterministic ? 1 : Math.max(1, Math.min(settings.sweeps, limit));
    for (let i = 0; i < sweeps; i++) for (const table of tables) table.update(memory.all, settings.learning_rate);
    if (!this.heads) return;
    if (hasChanged) this.converged.clear();
    this.heads.forEach((head, b) => {
      if (this.converged.has(b)) return;
      head.update(memory.minibatch(this.options.batch ?? 1024, this.replayRandom), settings.learning_rate, this.nu);
      if (this.step % CONVERGENCE_EVERY === 0 && memory.isDeterministic && !this.changes(head)) this.converged.add(b);
    });
  }

  // Whether an update from the whole memory would change a table.
  changes(head) {
    head.findErrors(this.memory.all, this.nu);
    return this.memory.all.some(({ pair }) => head.values[pair] + this.settings.learning_rate * head.found[pair] !== head.values[pair]);
  }

  // The discounted return of the greedy policy in a deterministic world.
  greedyReturn() {
    const { world, settings } = this;
    const q = settings.evaluated !== "behaviour" ? this.target : this.heads ? this.heads[0] : this.behaviour;
    let expected = 0;
    world.starts.forEach((start, i) => {
      let state = start, total = 0, weight = 1;
      for (let step = 0; step < settings.rollout_length; step++) {
        const [next, , reward, terminal] = world.outcomes[state * this.actions + this.evaluationRandom.argmax(q.row(state))][0];
        total += weight * reward;
        weight *= settings.discount;
        if (terminal) break;
        state = next;
      }
      expected += world.startProbability[i] * total;
    });
    return expected;
  }
}
