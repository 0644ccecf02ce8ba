"""Stochastic versions of worlds: actions that slip (Section 4.2.5).

With probability `success` an action has its normal outcome. With probability `random` it is replaced by an action
drawn uniformly from all actions, the intended one included. With probability `stay` the agent does not move, but the
reward and the terminal flag are those of the intended action.

The paper's text gives probabilities that sum to two ("p, 1−p/2 stay, 1−p/2 random adjacent"). The defaults 0.9, 0.05
and 0.05 are those of the published experiments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import InvalidSetting, InvalidWorld, check_number, shown
from wanderlust.core.mdp import TabularMDP, merge_outcomes
from wanderlust.worlds.base import World


def slip_mdp(mdp: TabularMDP, *, success: float = 0.9, random: float = 0.05, stay: float = 0.05) -> TabularMDP:
    """Return `mdp` with slipping actions; the three probabilities must sum to 1."""
    success, random, stay = _check_probabilities(success, random, stay)
    n_states, n_actions, n_outcomes = mdp.probability.shape

    def of_all_actions(array: NDArray[Any]) -> NDArray[Any]:
        """Return, for every action, the concatenated outcomes of all actions."""
        flat = array.reshape(n_states, 1, n_actions * n_outcomes)
        return np.broadcast_to(flat, (n_states, n_actions, n_actions * n_outcomes))

    same_state = np.broadcast_to(np.arange(n_states, dtype=np.int32)[:, None, None], mdp.next_state.shape)
    p = mdp.probability
    # In a terminal state the agent still "moves" or "stays", as in the authors' transition matrix, but every outcome
    # keeps its terminal flag. Their matrix has no terminal flags, so solving it would count rewards after termination.
    return merge_outcomes(
        TabularMDP(
            probability=np.concatenate([success * p, random / n_actions * of_all_actions(p), stay * p], axis=2),
            next_state=np.concatenate([mdp.next_state, of_all_actions(mdp.next_state), same_state], axis=2),
            reward=np.concatenate([mdp.reward, of_all_actions(mdp.reward), mdp.reward], axis=2),
            terminal=np.concatenate([mdp.terminal, of_all_actions(mdp.terminal), mdp.terminal], axis=2),
            start=mdp.start,
        )
    )


def with_slips(world: World, *, success: float = 0.9, random: float = 0.05, stay: float = 0.05) -> World:
    """Return the world with slipping actions.

    For a deterministic world, the default settings become those of the paper for stochastic worlds, η = 0.1 and
    γ_w = 0.9. A stochastic world keeps its settings.
    """
    if not isinstance(world, World):
        raise InvalidWorld(f"a world must be a World, got {type(world).__name__}.")
    probabilities = _check_probabilities(success, random, stay)
    defaults = world.defaults
    if world.mdp.deterministic:
        defaults = replace(defaults, learning_rate=0.1, gamma_w=0.9)
    option = world.options.get("slips", [])
    earlier = option if not option or isinstance(option[0], (list, tuple)) else [option]
    slips = [*earlier, list(probabilities)] if earlier else list(probabilities)
    return replace(
        world,
        mdp=slip_mdp(world.mdp, success=success, random=random, stay=stay),
        later=world.later and slip_mdp(world.later, success=success, random=random, stay=stay),
        defaults=defaults,
        options={**world.options, "slips": slips},
    )


def apply_slips(world: World, slips: Any) -> World:
    """Return the world with the option `slips`, one triple (success, random, stay) or a list of triples."""
    try:
        triples = slips if isinstance(slips[0], (list, tuple)) else [slips]
        for success, random, stay in triples:
            world = with_slips(world, success=success, random=random, stay=stay)
    except Exception as error:  # Any object can be given.
        expected = "three probabilities (success, random, stay)"
        raise InvalidSetting(f"slips must be {expected}, got {shown(slips)}: {error}") from None
    return world


def _check_probabilities(success: float, random: float, stay: float) -> tuple[float, float, float]:
    """Return the three probabilities, normalized to sum to 1."""
    values = [
        check_number(name, value, low=0, high=1)
        for name, value in (("success", success), ("random", random), ("stay", stay))
    ]
    total = sum(values)
    if abs(total - 1.0) > 1e-9:
        raise InvalidSetting(f"success, random and stay must sum to 1, got {values} with sum {total:g}.")
    return values[0] / total, values[1] / total, values[2] / total
