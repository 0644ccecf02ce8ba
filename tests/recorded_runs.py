"""Recorded runs of the authors' code, and our agents replaying them step by step.

Nothing of them is rounded; what no test needs is left out, and integers are stored as small ones. Of runs with a finite
memory there are the steps until it is full: from then on the authors' code learns from slots that were overwritten.
"""

from __future__ import annotations

import functools
import io
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wanderlust as wl
from wanderlust._numba.jit import by_pointer, entry
from wanderlust.learning.hooks import Hooks
from wanderlust.learning.memory import count_visit, has_room, remember
from wanderlust.learning.replay import discard_batch, update_from_batch
from wanderlust.learning.state import REPLAY, TERMINAL, LearnerState, below
from wanderlust.learning.sweep import sweep
from wanderlust.learning.td import TARGET, TableSpec

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.name.removesuffix(".npz.xz") for path in GOLDEN.glob("*.npz.xz"))
EXPLORERS = {
    "vv_ucb": "vv-ucb",
    "vv_n": "vv-count",
    "brlsvi": "random-prior",
    "boot": "bootstrapped",
    "boot_thom": "thompson",
    "ucb1": "ucb1",
    "bonus": "bonus",
    "egreedy": "epsilon-greedy",
    "random": "random",
}
EVALUATE_EVERY = 50
CHAIN_EVERY = 10

Array = NDArray[Any]


@dataclass(frozen=True)
class Recording:
    """One run of the authors' code: `data` has the keys that their recorder gave it."""

    name: str
    suite: str
    place: str
    explorer: str
    variant: str
    """'classic': no memory; 'finite': a window of memory; otherwise empty."""
    data: dict[str, Array]

    @property
    def length(self) -> int:
        return len(self.data["s"])

    @property
    def horizon(self) -> int:
        return int(self.data["maxsteps"])

    @functools.cached_property
    def truncated(self) -> NDArray[np.bool_]:
        """[step]: whether an episode was truncated; the chain's never is, its recording just stops."""
        cut, t = np.zeros(self.length, np.bool_), 0
        for i, done in enumerate(self.data["done"]):
            t += 1
            cut[i] = not done and t == self.horizon and self.suite != "chain27"
            t = 0 if done or cut[i] else t
        return cut

    @functools.cached_property
    def solved_after(self) -> set[int]:
        """After how many steps V^π of the greedy policy was recorded; of the chain, every tenth of them."""
        if self.suite == "chain27":
            return {*range(0, self.length, CHAIN_EVERY), *(self.data["V_steps"] - 1).tolist()}
        return set(range(1, self.length + 1)) if self.suite == "noise" else set()


def recording(name: str) -> Recording:
    """Read one recording; its name is suite, place, algorithm and seed (the chain is its own place)."""
    suite, _, rest = name.partition("_")
    place, _, rest = ("chain27", "", rest) if suite == "chain27" else rest.partition("_")
    algorithm = rest.rpartition("_s")[0]
    variant = next((v for v in ("classic", "finite") if algorithm.endswith(v)), "")
    with np.load(io.BytesIO(lzma.open(GOLDEN / f"{name}.npz.xz").read())) as file:
        data = {key: file[key] for key in file.files}
    return Recording(name, suite, place, EXPLORERS[algorithm.removesuffix(f"_{variant}")], variant, data)


@functools.cache
def world_of(suite: str, place: str) -> wl.World:
    """Return our world of a recording."""
    if suite == "noise":
        return wl.make_world(f"noisy-{place}")
    if place == "ds10":
        return wl.make_world("deep-sea", depth=10)
    if place == "chain27":
        return wl.make_world("chain", length=27)
    return wl.make_world({"deepgrid": "deep-gridworld"}.get(place, place))


def agent_for(run: Recording) -> wl.Agent:
    """Return our agent as the authors' code has it, before its first step."""
    changes: dict[str, Any] = {}
    if run.suite == "classic":
        changes["budget"] = int(run.data["budget"])
        window = wl.Replay("window", capacity=20 * run.horizon, batch=32)
        changes["replay"] = window if run.variant == "finite" else "none"
    agent = wl.Agent.for_world(world_of(run.suite, run.place), run.explorer, preset="as_published_code", **changes)
    if "QB_init" in run.data:
        set_initial_heads(agent, run.data["QB_init"])
    return agent


def set_initial_heads(agent: wl.Agent, initial: Array) -> None:
    """Index all states in the order of the world, from 1; set the heads' initial values [state, action, head]."""
    for state in range(len(initial)):
        assert agent.index_of(state) == state + 1
    learner, spec = agent.learner, agent.spec
    first, last = spec.n_actions, spec.n_actions * (1 + len(initial))
    learner.values[spec.n_swept :, first:last] = initial.reshape(last - first, -1).T
    learner.state_values[spec.n_swept :, 1 : 1 + len(initial)] = initial.max(axis=1).T


@entry
def _learn_batches(
    hooks: Hooks,
    learner: LearnerState,
    spec: TableSpec,
    state: int,
    action: int,
    reward: float,
    next_state: int,
    batches: Array,
) -> bool:
    """Learn as the package does, with each head's minibatch given as a set: [head, pair], `TERMINAL` left out.

    Return False if the arrays must be enlarged first.
    """
    if not has_room(learner, spec):
        return False
    count_visit(state, action, learner, spec)
    remember(hooks, state, action, reward, next_state, learner, spec)
    sweep(TARGET, learner, spec)
    for head in range(spec.n_heads):
        n_drawn = 0
        for pair in range(batches.shape[1]):
            if batches[head, pair]:
                outcome = learner.first_outcome[spec.n_actions + pair]
                learner.batch[n_drawn] = outcome
                learner.batch_counts[outcome] = 1
                n_drawn += 1
        update_from_batch(spec.n_swept + head, n_drawn, spec.prior_weight, learner, spec)
        discard_batch(n_drawn, learner)
    learner.counters.step += 1
    return True


@functools.cache
def counter_before(head: int, heads: int) -> int:
    """Return a state of the replay stream after which the next head that it draws is the given one."""
    with np.errstate(over="ignore"):
        for counter in range(10_000):
            streams = np.full(4, counter, np.uint64)
            if below(streams, REPLAY, heads) == head:
                return counter
    raise AssertionError


class Followed:
    """Our agent after replaying a recording, and what it had at the points that were recorded."""

    def __init__(self, run: Recording) -> None:
        self.run, self.agent = run, agent_for(run)
        world, checkpoints = world_of(run.suite, run.place), set(run.data["ck_steps"].tolist())
        columns = [run.data[key].tolist() for key in ("s", "a", "r", "sn", "done")]
        self._steps = list(zip(*columns, run.truncated.tolist(), strict=True))
        self._heads = run.data.get("head")
        self._spec = by_pointer(self.agent.spec)
        self.scores, self.discovered = np.zeros((run.length, world.n_actions)), np.zeros(run.length, int)
        """[step, action], before the step was learnt from; [step], after it."""
        self.visits, self.tables = list[Array](), list[dict[str, Array]]()
        """At each checkpoint."""
        self.returns = list[float]()
        """Of the greedy policy, every 50 steps of a deterministic world."""
        self.evaluated: dict[int, Array] = {}
        """In a stochastic world, the table whose greedy policy is evaluated, after that many steps."""
        for t in range(run.length):
            if t in run.solved_after:
                self.evaluated[t] = self._evaluated_table()
            self.scores[t] = self._best_by(t)
            self._learn(t)
            self.discovered[t] = self.agent.discovered
            if t + 1 in checkpoints:
                self.visits.append(self.agent.visits)
                self.tables.append(self.agent.tables)
            if world.mdp.deterministic and (t + 1) % EVALUATE_EVERY == 0:
                self.returns.append(self.agent.evaluate(world))
        self.evaluated[run.length] = self._evaluated_table()

    def _best_by(self, t: int) -> Array:
        """Return the scores that step `t` has its best action by: of the recorded heads, if there are any."""
        agent, state = self.agent, self._steps[t][0]
        learner, spec = agent.learner, agent.spec
        first = agent.index_of(state) * spec.n_actions
        if self._heads is not None and self._heads.ndim == 2:
            return learner.values[spec.n_swept + self._heads[t], first + np.arange(spec.n_actions)]
        if agent.explorer in ("epsilon-greedy", "bonus", "random"):
            return learner.values[spec.behaviour, first : first + spec.n_actions].copy()
        if self._heads is not None:
            learner.notes[0] = self._heads[t]
        agent.act(state)
        return agent.learner.scores.copy()

    def _learn(self, t: int) -> None:
        """Observe step `t`, with the minibatches or the head that were recorded."""
        agent, data = self.agent, self.run.data
        state, action, reward, next_state, done, truncated = self._steps[t]
        if "mb_mask_packed" in data:
            next_index = TERMINAL if done else agent.index_of(next_state)
            transition = (agent.index_of(state), action, reward, next_index, self._masks[t])
            while not _learn_batches(agent.hooks.pointer, by_pointer(agent.learner), self._spec, *transition):
                agent.enlarge()
            return
        if "upd_head" in data:
            agent.learner.streams[REPLAY] = counter_before(int(data["upd_head"][t]), agent.spec.n_heads)
        agent.observe(state, action, reward, next_state, bool(done), truncated)

    @functools.cached_property
    def _masks(self) -> Array:
        masks = np.unpackbits(self.run.data["mb_mask_packed"], axis=2)
        return masks[:, :, : self.run.data["VCA_ck"][0].size]

    def _evaluated_table(self) -> Array:
        """Return the table [state, action] whose greedy policy is evaluated."""
        tables = self.agent.tables
        if self.agent.settings.evaluated == "target":
            return tables["target"]
        return tables["heads"][0] if "heads" in tables else tables["behaviour"]
