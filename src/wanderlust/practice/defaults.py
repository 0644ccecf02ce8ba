"""What `learn` does unless told otherwise.

The paper's settings are for tasks where an action has one outcome. Where chance has its say, as on ice or where bins
hide what differs within them, they explore for ever: an untried action is worth any way to it, however unlikely, and
κ is the range of the values of rewards that last for ever. So once an action was seen to have two outcomes, W starts
lower, looks less far, and weighs less. docs/settings.md has what was tried, with numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wanderlust.adapters import Tabular
from wanderlust.agent import Agent
from wanderlust.errors import check_options
from wanderlust.exploration.protocol import explorer_options
from wanderlust.exploration.registry import explorer_class, explorer_name
from wanderlust.learning.mind import N_MULTI
from wanderlust.learning.settings import SETTING_NAMES, Settings

KAPPA_SHARE = 0.1
"""κ where chance has its say, as a share of the paper's, the range of Q-values."""
VISITATION_DISCOUNT = 0.95
"""γ_w where chance has its say."""
INITIAL_BOUND = "here"
"""What W starts above where chance has its say."""


def settings_for(
    env: Tabular, explorer: str | type, steps: int, changes: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """Return the settings of a lesson and the explorer's options: the defaults, then the caller's changes."""
    cls = explorer_class(explorer)
    option_names = [option.name for option in explorer_options(cls)]
    check_options(f"learning with explorer {explorer_name(cls)!r}", changes, [*option_names, *SETTING_NAMES])
    run: dict[str, Any] = {"budget": steps} | dict(changes)
    if env.horizon is not None:
        run.setdefault("horizon", env.horizon)
    # A name that is both a setting and an option, such as γ_w, works as the setting: options not given follow it.
    settings = {key: value for key, value in run.items() if key in SETTING_NAMES}
    return Settings(**settings), {key: value for key, value in run.items() if key not in settings}


def adapted_options(explorer: str | type, changes: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which of an explorer's options follow what is seen: those of W as a bound that the caller did not give."""
    names = [option.name for option in explorer_options(explorer_class(explorer))]
    if "initial_bound" not in names:
        return ()
    return tuple(name for name in ("kappa", "visitation_discount", "initial_bound") if name not in changes)


def meets_chance(agent: Agent) -> bool:
    """Tell whether some action was seen to have several outcomes."""
    return bool(agent.mind.numbers[N_MULTI] > 0)


def options_by_chance(agent: Agent, reward_range: tuple[float, float], names: Sequence[str]) -> dict[str, Any]:
    """Return the options for an agent that has met chance; as long as it has not, there is nothing to change."""
    if not names or not meets_chance(agent):
        return {}
    value_range = agent.settings.problem(agent.n_actions, reward_range).value_range
    options = {
        "kappa": KAPPA_SHARE * value_range,
        "visitation_discount": VISITATION_DISCOUNT,
        "initial_bound": INITIAL_BOUND,
    }
    return {name: options[name] for name in names}
