"""The preset `adaptive`: what `learn` adapts to the task, the same for every explorer that has the quantity.

It starts as the preset `as_written`. Then:

* The scale of the exploration bonus follows the observed rewards, as κ does in the paper.
* In a stochastic environment exploration decreases in the second half of the budget: its weight (κ of ucb1, vv-ucb and
  vv-count, the scale of the bonus) and its reach (γ_w of vv-ucb and vv-count). The paper's weight is the range of
  values of rewards that are received at every step; where rewards are rare, it outweighs Q for longer than any
  practical budget. Until half of the budget is used, while rewards or states are new or the visits few (see
  `Discovery`), and in deterministic environments, nothing changes.
* With binned observations, once an action had two outcomes, the initial W makes an untried action precede the tried
  ones of its own state, as in ucb1 and vv-count. With the paper's bound it would justify any path to it, but paths
  through bins cannot be repeated.
* Once an action had two outcomes, a terminal transition of vv-count counts as the most visited pair, as in the
  released code. With its own count, a terminal transition that occurs rarely looks unexplored: on slippery lakes the
  agent returns to the holes (docs/slippery-lakes.md).
* A time penalty of terminal rewards is removed; see `TimePenalty`.

docs/settings.md explains the rules, docs/adaptive-results.md has the measurements.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta

from wanderlust.agents.agent import Agent
from wanderlust.agents.settings import ADAPTIVE, AS_WRITTEN, PRESETS, Settings, resolve_settings, world_settings
from wanderlust.core.errors import check_choice
from wanderlust.environments.tabular import Tabular
from wanderlust.explorers.protocol import ExtraTables, adjustable_fields, configured, explorer_class, option_names
from wanderlust.learning.td import Ints
from wanderlust.worlds import World

START = 0.5
"""The fraction of the budget after which exploration decreases in stochastic environments."""
QUIET_RATIO = 2.0
"""Exploration decreases only after this multiple of the steps that discovered the rewards and the states."""
MOST_STATES = 0.95
"""The states are discovered when this fraction of those visited so far was: rare states do not matter."""
GROWTH = 1.1
"""The range of rewards has increased if it is larger by this factor: noise in the rewards does not matter."""
MIN_VISITS = 40
"""The mean number of visits of a tried pair before exploration decreases: with fewer, values are unreliable."""
LAST_WEIGHT = 1e-5
"""The weight of exploration at the end of the budget, as a fraction of the first. It decreases exponentially, so at the
end the actions are almost greedy."""
N_STAGES = 100
"""The number of steps in which exploration decreases."""
ADAPTED = ("kappa", "scale", "gamma_w", "initial", "terminal_count")
"""The fields of explorers that may be adapted."""
MIN_SAMPLES = 4
"""Terminal rewards at different steps that are needed to detect a time penalty."""
_RELATIVE_TOLERANCE = 1e-9

# The valid values of what is read from a checkpoint.
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Finite = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
Size = Annotated[float, Meta(ge=0.0, le=sys.float_info.max)]


def chosen_preset(env: Tabular, preset: str | None) -> str:
    """Return the preset itself, or if it is None the default: `as_written` in built-in worlds, otherwise `adaptive`."""
    if preset is None:
        return ADAPTIVE if builtin_world(env) is None else AS_WRITTEN
    return check_choice("preset", preset, PRESETS)


def settings_for(
    env: Tabular, explorer: str | type, preset: str, steps: int, changes: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """Return the initial settings and the explorer's options: defaults, the preset's, then the caller's changes."""
    world = builtin_world(env)
    defaults = ({} if world is None else world_settings(world)) | {"budget": steps}
    if env.horizon is not None:
        defaults["horizon"] = env.horizon
    return resolve_settings(defaults, env.n_actions, explorer, preset, changes)


def builtin_world(env: Tabular) -> World | None:
    """Return the built-in world of an environment, or None."""
    world = getattr(env.unwrapped, "world", None)
    return world if isinstance(world, World) else None


def adapted_fields(explorer: str | type, extra: ExtraTables, changes: Collection[str] = ()) -> tuple[str, ...]:
    """Return the explorer's fields to adapt: those that it has and that no option of the caller sets."""
    cls = explorer_class(explorer)
    options = set(option_names(cls))
    names = [*adjustable_fields(cls), *({"gamma_w", "terminal_count"} & options)]
    if not extra.bonus:
        names = [name for name in names if name != "scale"]
    if extra.visitation is None or extra.visitation.minimise or "initial_margin" in changes:
        names = [name for name in names if name != "initial"]
    return tuple(name for name in ADAPTED if name in names and name not in changes)


class TaskEstimate(NamedTuple):
    """The observed properties of a task that determine the adapted fields."""

    reward_range: tuple[Finite, Finite]
    is_stochastic: bool
    """Whether an action had two different outcomes in the same state."""
    stage: Annotated[int, Meta(ge=0, le=N_STAGES)]
    """How much exploration has decreased, from 0 to `N_STAGES`."""


class Discovery(NamedTuple):
    """What the agent has discovered; it is counted every `counting_interval` steps until the end of the budget."""

    low: Finite = 0.0
    high: Finite = 0.0
    """The smallest and the largest reward received."""
    pairs: Count = 0
    """The number of state-action pairs that were tried."""
    size: Size = 0.0
    """The size of the range of rewards when it last increased."""
    rewards_at: Count = 0
    """The step at which it last increased."""
    states_at: Count = 0
    """The step at which most of the states visited so far had been visited; counted in the second half."""

    def with_rewards(self, low: float, high: float, *, first: bool) -> Discovery:
        """Return the discovery after rewards in this range; `first` if there were none before."""
        low, high = (low, high) if first else (min(low, self.low), max(high, self.high))
        return self._replace(low=low, high=high)

    def updated(self, agent: Agent, first_visits: Callable[[], Ints]) -> Discovery:
        """Return the discovery at the present step; `first_visits` returns the step of the first visit of each state.

        States that were not visited have -1.
        """
        steps, budget = agent.steps, agent.settings.budget
        if steps > budget or steps % counting_interval(agent):
            return self
        counted = self._replace(pairs=int(np.count_nonzero(agent.learner.visits)))
        if self.high - self.low > GROWTH * self.size:
            counted = counted._replace(size=self.high - self.low, rewards_at=steps)
        if steps >= START * budget:
            counted = counted._replace(states_at=time_of_most(first_visits()))
        return counted

    def first_step(self, budget: int) -> int:
        """Return the step after which exploration decreases."""
        discovered = QUIET_RATIO * max(self.rewards_at, self.states_at)
        return math.ceil(max(START * budget, discovered, MIN_VISITS * self.pairs))


def time_of_most(first_visits: Ints) -> int:
    """Return the step at which the fraction `MOST_STATES` of the visited states had been visited."""
    visited = first_visits[first_visits >= 0]
    if not len(visited):
        return 0
    index = math.ceil(MOST_STATES * len(visited)) - 1
    return int(np.partition(visited, index)[index]) + 1


def counting_interval(agent: Agent) -> int:
    """Return the number of steps between two counts of the tried pairs."""
    return max(agent.settings.budget // (2 * N_STAGES), 1)


def estimate_task(agent: Agent, reward_range: tuple[float, float], discovery: Discovery) -> TaskEstimate:
    """Return the estimate from the agent's transitions so far."""
    is_stochastic, budget, stage = agent.is_stochastic, agent.settings.budget, 0
    first = discovery.first_step(budget)
    if is_stochastic and discovery.size and first < min(agent.steps, budget):
        stage = min(N_STAGES * (agent.steps - first) // (budget - first), N_STAGES)
    return TaskEstimate(reward_range, is_stochastic, stage)


def next_estimate(agent: Agent, discovery: Discovery) -> int:
    """Return the step at which the estimate may change next although no new kind of transition is observed."""
    steps, budget, interval = agent.steps, agent.settings.budget, counting_interval(agent)
    next_count = (steps // interval + 1) * interval
    first = discovery.first_step(budget)
    if first >= budget:
        return next_count
    stage = N_STAGES * max(steps - first, 0) // (budget - first) + 1
    return min(next_count, first - (-stage * (budget - first) // N_STAGES))


def adapt(agent: Agent, task: TaskEstimate, adapted: Collection[str], *, binned: bool) -> None:
    """Adapt the agent's reward range and the given fields of its explorer to a task."""
    progress = task.stage / N_STAGES
    problem = agent.settings.problem(agent.n_actions, task.reward_range)
    options: dict[str, Any] = {}
    if "gamma_w" in adapted and task.stage:
        options["gamma_w"] = reduced_reach(agent.settings.gamma_w, progress)
    if "terminal_count" in adapted and task.is_stochastic:
        options["terminal_count"] = "largest"
    plain = configured(type(agent.configured_explorer), problem, agent.options | options)
    weight = LAST_WEIGHT**progress
    values = {}
    if "kappa" in adapted:
        values["kappa"] = plain.kappa * weight
    if "scale" in adapted:
        # The size of rewards from which κ is computed as well; 1 while all rewards are 0.
        reward_scale = problem.value_range * (1.0 - problem.discount)
        values["scale"] = plain.scale * reward_scale * weight
    if "initial" in adapted and binned and task.is_stochastic:
        values["initial"] = local_initial_w(agent.n_actions, plain.gamma_w)
    agent.adapt(task.reward_range, fields=values, **options)


def reduced_reach(gamma_w: float, progress: float) -> float:
    """Return γ_w such that the reach 1 / (1 - γ_w) decreases exponentially to one step."""
    return 1.0 - math.pow(1.0 - gamma_w, 1.0 - progress)


def local_initial_w(n_actions: int, gamma_w: float) -> float:
    """Return the W above which an untried action precedes the tried ones of its own state.

    It is the bound of UCB1 with κ the range of Q-values: (1 - γ_w) W = 1 + √(2 log(|A| - 1)).
    """
    return (1.0 + math.sqrt(2.0 * math.log(max(n_actions - 1, 1)))) / (1.0 - gamma_w)


class TimePenalty(NamedTuple):
    """An estimate of how much terminal rewards decrease per step of the episode.

    MiniGrid gives a reward of 1 − 0.9 t/T for reaching the goal at step t of at most T. The state does not include t,
    so the reward is not Markov: a goal state that was reached once, late, has a low value, and a longer path to a goal
    that was reached early a higher one. The discount factor already prefers short paths. Once the observed terminal
    rewards lie exactly on a decreasing line, the agent therefore learns from the rewards without the penalty.
    """

    samples: tuple[tuple[Count, Finite], ...] = ()
    """(step, terminal reward) at different steps, at most `MIN_SAMPLES`."""
    per_step: Size | None = None
    """The decrease per step: 0 if there is no time penalty, None if there are too few samples."""

    @property
    def detected(self) -> bool:
        """Whether there is a time penalty."""
        return bool(self.per_step)

    def describe(self) -> str:
        """Return a sentence about a detected time penalty."""
        return f"terminal rewards decrease by {self.per_step:g} per step; this time penalty is removed for learning"

    def updated(self, step: int, reward: float) -> TimePenalty:
        """Return the estimate after one more positive terminal reward."""
        if self.per_step is not None or any(step == earlier for earlier, _ in self.samples):
            return self
        samples = (*self.samples, (step, reward))
        if len(samples) < MIN_SAMPLES:
            return TimePenalty(samples)
        (step_0, reward_0), *others = samples
        slopes = [(reward_0 - reward) / (step - step_0) for step, reward in others]
        is_line = all(math.isclose(slope, slopes[0], rel_tol=_RELATIVE_TOLERANCE, abs_tol=0.0) for slope in slopes)
        return TimePenalty(samples, slopes[0] if is_line and slopes[0] > 0.0 else 0.0)

    def without_penalty(self, step: int, reward: float) -> float:
        """Return a terminal reward with the penalty of the episode's steps added back."""
        if not self.per_step:
            return reward
        step_0, reward_0 = self.samples[0]
        corrected, first_corrected = reward + self.per_step * step, reward_0 + self.per_step * step_0
        # Rounding errors must not make equally good terminal rewards differ.
        return first_corrected if math.isclose(corrected, first_corrected, rel_tol=_RELATIVE_TOLERANCE) else corrected
