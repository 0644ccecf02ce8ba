"""The adaptive settings of `learn` in environments that are not built-in worlds.

The paper's settings are for deterministic tasks. There, three changes improve exploration: a small table is swept many
times after every step instead of once, so that new information reaches all of Q and W immediately; actions that mostly
leave the state unchanged are tried last (`idle_actions`); and a time penalty is removed from terminal rewards
(`time_penalty`).

In stochastic environments, and where observations are binned, the paper's settings explore indefinitely: an untried
action justifies any path to it, however improbable, and κ is the value range of rewards that are received at every
step. So W starts lower once an action had two different outcomes. Once rewards differ as well, γ_w and the weight of
exploration decrease over the budget. Without bins γ_w ends at 0: by then the rewards are found, and what remains is to
decide which of two good actions is better. docs/settings.md lists the experiments behind these values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from wanderlust.agents.agent import Agent
from wanderlust.agents.presets import resolve
from wanderlust.agents.settings import SETTING_NAMES, Replay, Settings
from wanderlust.core.errors import check_options
from wanderlust.envs.tabular import Tabular
from wanderlust.explorers.protocol import class_options
from wanderlust.explorers.registry import explorer_class, explorer_name
from wanderlust.worlds import World

SWEEPS = 50
"""Sweeps after every step in deterministic environments."""
INITIAL_BOUND = "here"
"""`initial_bound` in stochastic environments."""
GAMMA_W = 0.8
"""Initial γ_w in stochastic environments once rewards differ. It decreases to 0 over the budget, except with bins."""
WEIGHT_SCHEDULE = (0.02, 0.0004)
"""First and last κ (1 - γ_w), the weight of the next step's visitation reward, as a fraction of the paper's κ, in
stochastic environments once rewards differ. It decreases exponentially over the budget."""
WEIGHT_SCHEDULE_BINS = (0.2, 0.0006)
"""The same with binned observations, where too little exploration too early leaves a poor policy."""
N_STAGES = 100
"""The schedules are updated this number of times over the budget."""


def settings_for(
    env: Tabular, explorer: str | type, steps: int, changes: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """Return the initial settings and the explorer's options: the defaults, overridden by the caller's changes."""
    cls = explorer_class(explorer)
    option_names = [option.name for option in class_options(cls)]
    check_options(f"learning with explorer {explorer_name(cls)!r}", changes, [*option_names, *SETTING_NAMES])
    run: dict[str, Any] = {"budget": steps} | dict(changes)
    if env.horizon is not None:
        run.setdefault("horizon", env.horizon)
    world = builtin_world(env)
    if world is not None:
        return resolve(world, explorer, "as_written", run)
    if may_be_deterministic(env) and Replay.of(run.get("replay", "full")).memory == "full":
        run.setdefault("sweeps", SWEEPS)
    # A name that is both a setting and an option, such as γ_w, is used as the setting; the option's default follows it.
    settings = {key: value for key, value in run.items() if key in SETTING_NAMES}
    return Settings(**settings), {key: value for key, value in run.items() if key not in settings}


def builtin_world(env: Tabular) -> World | None:
    """Return the built-in world of an environment, or None. Built-in worlds keep the paper's settings."""
    world = getattr(env.unwrapped, "world", None)
    return world if isinstance(world, World) else None


def may_be_deterministic(env: Tabular) -> bool:
    """Return whether the adaptive settings may treat an environment as deterministic.

    False with bins, since the outcome of an action varies within a bin, and for built-in worlds.
    """
    return not env.is_binned and builtin_world(env) is None


def adapted_options(explorer: str | type, changes: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the options to adapt: for explorers like vv-ucb, those that the caller did not give."""
    names = [option.name for option in class_options(explorer_class(explorer))]
    if "initial_bound" not in names:
        return ()
    return tuple(name for name in ("kappa", "gamma_w", "initial_bound") if name not in changes)


class TaskEstimate(NamedTuple):
    """The observed properties of a task that determine the adapted options."""

    reward_range: tuple[float, float]
    is_stochastic: bool
    """Whether an action had two different outcomes in the same state."""
    stage: int
    """The fraction of the budget that is used, in steps of 1 / `N_STAGES`; 0 while the schedules have not started."""


def estimate_task(agent: Agent, reward_range: tuple[float, float]) -> TaskEstimate:
    """Return the estimate from the agent's transitions so far."""
    low, high = reward_range
    is_stochastic = agent.is_stochastic
    stage = min(N_STAGES * agent.steps // agent.settings.budget, N_STAGES) if is_stochastic and high > low else 0
    return TaskEstimate(reward_range, is_stochastic, stage)


def next_stage(agent: Agent) -> int:
    """Return the step at which the next stage of the schedules begins."""
    budget = agent.settings.budget
    return -(-(N_STAGES * agent.steps // budget + 1) * budget // N_STAGES)


def adapted_values(agent: Agent, task: TaskEstimate, names: Sequence[str], *, binned: bool) -> dict[str, Any]:
    """Return the values of the adapted options; none while the environment looks deterministic."""
    if not task.is_stochastic:
        return {}
    low, high = task.reward_range
    kappa = agent.settings.problem(agent.n_actions, task.reward_range).value_range
    values = {"initial_bound": INITIAL_BOUND, "kappa": kappa}
    if high > low:
        progress = task.stage / N_STAGES
        first, last = WEIGHT_SCHEDULE_BINS if binned else WEIGHT_SCHEDULE
        gamma_w = GAMMA_W if binned else GAMMA_W * math.sqrt(1.0 - progress)
        if "gamma_w" not in names:
            gamma_w = agent.configured_explorer.gamma_w
        values["kappa"] = kappa * first * (last / first) ** progress / (1.0 - gamma_w)
        values["gamma_w"] = gamma_w
    return {name: value for name, value in values.items() if name in names}
