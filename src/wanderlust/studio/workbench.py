"""A workbench: the lanes of one page, advanced together. It knows nothing of the connection to the page.

A lane is one run that is advanced in parts, with the frames, curves and events that a page shows. The run is a
`Session`, so that its numbers are those of `train` with the same seed, bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wanderlust.agents.session import Session, action_probabilities
from wanderlust.agents.settings import resolve
from wanderlust.core.errors import InvalidSetting, check_integer
from wanderlust.core.files import finite, finite_values
from wanderlust.core.planning import expected_reward, policy_values
from wanderlust.experiments.run import Run
from wanderlust.explorers.formulas import decayed_epsilon
from wanderlust.explorers.protocol import explorer_class, has_own_choice
from wanderlust.learning.state import TERMINAL
from wanderlust.learning.td import NO_SIGNAL
from wanderlust.studio import limits
from wanderlust.studio.catalogue import changed_worlds, checked_world, describe_world
from wanderlust.studio.frames import History, best_actions, encode
from wanderlust.studio.setup import Setup, snippets
from wanderlust.worlds import World
from wanderlust.worlds.drawing import display_layout

_FIRST_CHUNK, _CHUNK_GROWTH = 8, 8
_MAX_SOLVED_STATES = 2500
"""Larger stochastic worlds show no curve of returns: solving their policies takes too long."""
EVENTS = ("reward", "state", "policy")
"""A positive reward received in a state for the first time, a state discovered, a change of the greedy policy."""


class Event(NamedTuple):
    """A reward that was found."""

    step: int
    state: int
    text: str
    reward: float


class Lane:
    """A run in progress; `changes` are the worlds that replace its world, with their steps."""

    def __init__(self, run: Run, world: World, *, changes: Sequence[tuple[int, World]] = ()) -> None:
        self.world, self._changes = world, list(changes)
        check_size(run, world)
        self.session = Session(world, run.explorer, seed=run.seed, preset=run.preset, keep_trajectory=True,
                               **run.overrides)  # fmt: skip
        self.length = self.session.settings.run_length
        self.events: list[Event] = []
        """In the order of their steps."""
        self.curves = Curves(self.session)
        self._gives_reward = expected_reward(world.mdp) > 0
        self._rewarded = np.zeros(world.n_states, np.bool_)
        self._checked = 0
        """The step up to which rewards were looked for."""
        explanation = self.session.agent.explain(0)
        self._initial_scores = np.array([action.score for action in explanation.actions])

    @property
    def step(self) -> int:
        """The number of steps so far."""
        return self.session.step

    def advance(self, until: int) -> None:
        """Run up to a step, at most to the end; what was learnt stays if the world changes."""
        until = min(until, self.length)
        while self._changes and self._changes[0][0] <= until:
            step, world = self._changes.pop(0)
            self.advance(step)
            self.curves.points()  # Those of the world before.
            self.session.change_dynamics(world.mdp)
            self.curves.solved.clear()
            self.world, self._gives_reward = world, expected_reward(world.mdp) > 0
        self.session.advance(until)
        self._find_rewards()

    def advance_one(self, kind: str) -> str | None:
        """Do a step; return the event of a kind ('any' for all) that happened in it, in words, or None."""
        kinds = EVENTS if kind == "any" else (kind,)
        discovered, policy = self.discovered, self._policy() if "policy" in kinds else None
        n_events, state = len(self.events), int(self.session.run_state.position.state)
        self.advance(self.step + 1)
        if "reward" in kinds and len(self.events) > n_events:
            return self.events[-1].text
        if "state" in kinds and self.discovered > discovered:
            return f"{self.world.state_name(state)} discovered"
        if policy is not None and (changed := np.flatnonzero(self._policy() != policy)).size:
            return f"greedy policy changed in {self.world.state_name(int(changed[0]))}"
        return None

    def _policy(self) -> Any:
        return best_actions(self.session.agent.tables["target"])

    def _find_rewards(self) -> None:
        run, first = self.session.run_state, self._checked
        self._checked = self.step
        states, actions = run.states[first : self.step], run.actions[first : self.step]
        new = np.flatnonzero(self._gives_reward[states, actions] & ~self._rewarded[states])
        for i in new:
            state = int(states[i])
            if not self._rewarded[state] and len(self.events) < limits.MAX_LANE_EVENTS:
                reward = float(self.world.mdp.reward[state, actions[i]].max())
                text = f"reward {reward:g}{self._step_reward(state, reward)} found at {self.world.state_name(state)}"
                self.events.append(Event(first + int(i) + 1, state, text, reward))
            self._rewarded[state] = True

    def _step_reward(self, state: int, reward: float) -> str:
        """Return in words why a reward is not the number on the map: every step has a reward, too."""
        layout = display_layout(self.world)
        value = float(layout.value[layout.layer[state], layout.row[state], layout.column[state]])
        rest = round(reward - value, 9)
        return f" ({value:g} and {rest:g} of the step)" if value and rest else ""

    @property
    def discovered(self) -> int:
        """The number of distinct states in which an action was taken."""
        return self.session.agent.discovered

    def encoded(self, *, padded: bool = False) -> bytes:
        """Return the current frame; if padded, its trail has a fixed length, so that all frames have the same size."""
        run, agent, step = self.session.run_state, self.session.agent, self.step
        scores = np.where((agent.state_index == TERMINAL)[:, None], self._initial_scores, agent.scores())
        tables, spec = agent.tables, agent.spec
        trail = run.states[max(step - limits.TRAIL, 0) : step]
        if padded:
            trail = np.concatenate([np.full(limits.TRAIL - len(trail), -1, np.int32), trail])
        return encode(
            step=step,
            agent=int(run.position.state),
            discovered=self.discovered,
            randomness=self._randomness(),
            visits=agent.visits,
            q=tables["target"],
            behaviour=scores if spec.n_heads else tables["behaviour"] if spec.behaviour else None,
            w=tables["visitation"] if spec.visitation_signal != NO_SIGNAL else None,
            score=scores,
            trail=trail,
        )

    def _randomness(self) -> float:
        """Return the probability of a random action in the next step."""
        explorer = self.session.agent.configured_explorer
        if self.session.agent.explorer == "random":
            return 1.0
        if hasattr(explorer, "epsilon") and hasattr(explorer, "decay"):
            return float(decayed_epsilon(explorer.epsilon, explorer.decay, self.step))
        return 0.0


def check_size(run: Run, world: World) -> None:
    """Raise `InvalidSetting` if a run is too large for the studio."""
    if world.n_states > limits.MAX_STATES or world.n_actions > 8:
        raise InvalidSetting(
            f"world {world.name!r} has {world.n_states:,} states and {world.n_actions} actions; the studio shows "
            f"worlds of at most {limits.MAX_STATES:,} states and 8 actions."
        )
    settings, options = resolve(world, run.explorer, run.preset, run.overrides)
    check_integer("budget", settings.run_length, low=1, high=limits.MAX_STEPS)
    heads = int(options.get("heads") or 10)
    if world.n_states * world.n_actions * (heads + 4) > limits.MAX_TABLE_VALUES:
        raise InvalidSetting(f"heads={heads} is too large for {world.n_states:,} states; use fewer heads.")
    if settings.replay.memory == "window" and 20 * settings.horizon > limits.MAX_TABLE_VALUES:
        raise InvalidSetting(f"horizon={settings.horizon:,} is too large for replay 'window'; use a shorter one.")


class Curves:
    """States discovered, return of the greedy policy, and entropy of the visits, against steps.

    Points at multiples of `every` steps, computed from the trajectory of the run.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.every = max(-(-session.settings.run_length // limits.SERIES_POINTS), 1)
        self._visits = np.zeros(session.world.n_states, np.int64)
        self._points: list[list[float | None]] = []
        self.solved: dict[bytes, float] = {}
        """The return of every greedy policy so far, in the present world."""

    def points(self, first: int = 0) -> list[list[float | None]]:
        """Return [states discovered, return, entropy] of every point from the given index on."""
        while (step := (len(self._points) + 1) * self.every) <= self._session.step:
            states = self._session.run_state.states[step - self.every : step]
            self._visits += np.bincount(states, minlength=len(self._visits))
            share = self._visits[self._visits > 0] / step
            entropy = max(-float(share @ np.log(share)), 0.0)
            self._points.append([len(share), finite(float(f"{self._return_at(step):.7g}")), round(entropy, 5)])
        return self._points[first:]

    def _return_at(self, step: int) -> float:
        session, run = self._session, self._session.run_state
        evaluation, is_stochastic = step // session.settings.evaluate_every - 1, len(run.greedy) > 0
        if evaluation < 0 or (is_stochastic and session.world.n_states > _MAX_SOLVED_STATES):
            return math.nan
        if not is_stochastic:
            return float(run.returns[evaluation])
        bits = run.greedy[evaluation]
        if (key := bits.tobytes()) not in self.solved:
            policy = action_probabilities(bits, session.world.n_actions)
            values = policy_values(run.mdp, [policy], session.settings.discount)
            self.solved[key] = float(values[0] @ run.mdp.start)
        return self.solved[key]


class Workbench:
    """One world, and a lane for each explorer; all lanes are at the same step."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.world, self.warnings = checked_world(setup)
        self.runs: tuple[Run, ...] = setup.runs(self.world)
        self.changes = changed_worlds(setup, self.world)
        self.lanes = [Lane(run, self.world, changes=self.changes) for run in self.runs]
        self.length = max(lane.length for lane in self.lanes)
        self.history = History(length=self.length, size=limits.HISTORY_BYTES * len(self.lanes))
        self._seconds_per_step = 0.0
        """Of all lanes, as measured last; 0 before the first step."""
        self._sent_points = [0] * len(self.lanes)
        self._sent_events = [0] * len(self.lanes)

    @property
    def step(self) -> int:
        """The number of steps that all lanes have done."""
        return min(lane.step for lane in self.lanes)

    @property
    def finished(self) -> bool:
        """Whether the budget is used up."""
        return self.step >= self.length

    def description(self) -> dict[str, Any]:
        """Return what a page needs to show the lanes."""
        return {
            "world": describe_world(self.world),
            "changes": [{"step": step, "world": describe_world(world)} for step, world in self.changes],
            "setup": self.setup.description,
            "length": self.length,
            "lanes": [describe_lane(lane) for lane in self.lanes],
            "snippets": snippets(self.setup, self.runs),
            "warnings": self.warnings,
        }

    def advance(self, until: int, seconds: float) -> None:
        """Run all lanes towards a step for at most about the given time; all end at the same step."""
        until, chunk = min(until, self.length), _FIRST_CHUNK
        deadline = time.perf_counter() + seconds
        while self.step < until and (left := deadline - time.perf_counter()) > 0:
            # Measured with the last chunk: a few steps may have been faster than those that follow.
            cost, begun = self._seconds_per_step, time.perf_counter()
            chunk = max(min(int(left / cost), _CHUNK_GROWTH * chunk), 1) if cost else chunk
            start, target = self.step, min(self.step + chunk, until)
            for lane in self.lanes:
                lane.advance(target)
            self._seconds_per_step = (time.perf_counter() - begun) / (target - start)

    def advance_to_event(self, kind: str, seconds: float) -> str | None:
        """Run all lanes step by step until one has an event; return it in words, or None if the time is over."""
        deadline = time.perf_counter() + seconds
        while not self.finished and time.perf_counter() < deadline:
            events = [lane.advance_one(kind) for lane in self.lanes]
            if any(events):
                found = (f"Lane {i}: {event} at step {self.step}." for i, event in enumerate(events, 1) if event)
                return " ".join(found)
        return None

    def frames(self) -> list[bytes]:
        """Return the current frame of every lane, and keep them in the history."""
        frames = [lane.encoded() for lane in self.lanes]
        self.history.add(self.step, frames)
        return frames

    def news(self) -> dict[str, Any]:
        """Return the points of the curves and the events since the last call."""
        news = []
        for i, lane in enumerate(self.lanes):
            points = lane.curves.points(self._sent_points[i])
            events = lane.events[self._sent_events[i] :]
            news.append({
                "first": self._sent_points[i],
                "points": points,
                "events": [event._asdict() for event in events],
            })  # fmt: skip
            self._sent_points[i] += len(points)
            self._sent_events[i] += len(events)
        return {"step": self.step, "lanes": news}


def describe_lane(lane: Lane) -> dict[str, Any]:
    """Return the settings of a lane that a page shows, and the distance between the points of its curves."""
    settings, explorer = lane.session.settings, lane.session.agent.configured_explorer
    visitation = explorer.extra_tables().visitation
    return {
        "every": lane.curves.every,
        "learnsW": visitation is not None,
        "minimises": visitation is not None and bool(visitation.minimise),
        # By a rule of its own: not greedy by score, and not ε-greedy.
        "drawsAction": has_own_choice(explorer_class(lane.session.agent.explorer)) and not hasattr(explorer, "decay"),
        "settings": {
            "initial": settings.initial,
            "replay": settings.replay.memory,
            "learning_rate": settings.learning_rate,
        },
        "fields": {
            "epsilon_start": settings.epsilon_start,
            "epsilon_end": settings.epsilon_end,
            **finite_values({name: float(value) for name, value in explorer._asdict().items()}),
        },
    }
