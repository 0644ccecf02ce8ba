"""What `learn` does unless told otherwise.

The paper's settings are for tasks where an action has one outcome. There a few things are done better: a table that is
small is swept many times after every step, not once, so that what is new spreads at once, to Q and to W; actions that
mostly do nothing are tried last (`idleness`); and rewards that fall with the clock count as if paid at once (`clock`).

Where chance has its say, as on ice or where bins hide what differs within them, the paper's settings explore for ever:
an untried action is worth any way to it, however unlikely, and κ is the range of the values of rewards that last for
ever. So once an action was seen to have two outcomes, W starts lower; and once there are rewards to be had, it looks
less far and weighs less and less. In the end, on ice, it looks no further than the action itself: what is left to find
out then is not where rewards are, but which of two good actions is the better one.
docs/settings.md has what was tried, with numbers.
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
from wanderlust.learning.state import N_MULTI
from wanderlust.worlds import World

INITIAL_BOUND = "here"
"""What W starts above where chance has its say."""
NEAR = 0.8
"""γ_w where chance has its say and rewards are not all alike; but for bins it falls to 0 over the budget."""
WEIGHT_FALLS = (0.02, 0.0004)
"""κ (1 - γ_w), what the visitation reward of the next step weighs, where chance has its say and rewards are not all
alike: it falls over the budget, as ε does, from the one share of the paper's κ to the other."""
WEIGHT_FALLS_IN_BINS = (0.2, 0.0006)
"""The same where observations are cut into bins, in which little exploration soon gets used to a poor way."""
STAGES = 100
"""In how many stages it falls."""
SWEEPS = 50
"""Sweeps after a step as long as no chance was met."""


def settings_for(
    env: Tabular, explorer: str | type, steps: int, changes: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """Return the settings of a loop and the explorer's options: the defaults, then the caller's changes."""
    cls = explorer_class(explorer)
    option_names = [option.name for option in class_options(cls)]
    check_options(f"learning with explorer {explorer_name(cls)!r}", changes, [*option_names, *SETTING_NAMES])
    run: dict[str, Any] = {"budget": steps} | dict(changes)
    if env.horizon is not None:
        run.setdefault("horizon", env.horizon)
    world = own_world(env)
    if world is not None:
        return resolve(world, explorer, "as_written", run)
    if has_sure_states(env) and Replay.of(run.get("replay", "full")).memory == "full":
        run.setdefault("sweeps", SWEEPS)
    # A name that is both a setting and an option, such as γ_w, works as the setting: options not given follow it.
    settings = {key: value for key, value in run.items() if key in SETTING_NAMES}
    return Settings(**settings), {key: value for key, value in run.items() if key not in settings}


def own_world(env: Tabular) -> World | None:
    """Return the world that an environment is, if it is one of ours: there all is as in the paper."""
    world = getattr(env.unwrapped, "world", None)
    return world if isinstance(world, World) else None


def has_sure_states(env: Tabular) -> bool:
    """Tell whether an environment may be one in which an action has one outcome.

    Not in bins: what happens in a bin is up to chance. Not in our own worlds, which keep to the paper's settings.
    """
    return env.encoder_options["bins"] is None and own_world(env) is None


def adapted_options(explorer: str | type, changes: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which of an explorer's options follow what is seen: those of W as a bound that the caller did not give."""
    names = [option.name for option in class_options(explorer_class(explorer))]
    if "initial_bound" not in names:
        return ()
    return tuple(name for name in ("kappa", "gamma_w", "initial_bound") if name not in changes)


class TaskEstimate(NamedTuple):
    """What an agent's options follow from."""

    reward_range: tuple[float, float]
    is_stochastic: bool
    """Whether some action was seen to have several outcomes."""
    stage: int
    """How much of the budget is gone, in hundredths, where that matters."""


def outlook(agent: Agent, reward_range: tuple[float, float]) -> TaskEstimate:
    """Return what is to be expected of a task after what has been seen of it."""
    low, high = reward_range
    chance = bool(agent.learner.numbers[N_MULTI] > 0)
    stage = min(STAGES * agent.steps // agent.settings.budget, STAGES) if chance and high > low else 0
    return TaskEstimate(reward_range, chance, stage)


def options_for(agent: Agent, expected: TaskEstimate, names: Sequence[str], *, in_bins: bool) -> dict[str, Any]:
    """Return the options that suit an outlook; as long as no chance was met, there is nothing to change."""
    if not expected.is_stochastic:
        return {}
    low, high = expected.reward_range
    kappa = agent.settings.problem(agent.n_actions, expected.reward_range).value_range
    options = {"initial_bound": INITIAL_BOUND, "kappa": kappa}
    if high > low:
        gone = expected.stage / STAGES
        first, last = WEIGHT_FALLS_IN_BINS if in_bins else WEIGHT_FALLS
        discount = NEAR if in_bins else NEAR * math.sqrt(1.0 - gone)
        if "gamma_w" not in names:
            discount = agent.rule.gamma_w
        options["kappa"] = kappa * first * (last / first) ** gone / (1.0 - discount)
        options["gamma_w"] = discount
    return {name: option for name, option in options.items() if name in names}
