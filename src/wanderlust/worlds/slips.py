"""Noise as a map from MDP to MDP: actions that slip (Section 4.2.5).

With probability `success` an action does what it says, with `random` the outcome is that of an action drawn
uniformly from all of them (the intended one included), and with `stay` the agent does not move, while the
reward and the end of the episode are those of the intended action.

The text gives probabilities that sum to two ("p, 1−p/2 stay, 1−p/2 random adjacent"); the published
experiments used 0.9, 0.05 and 0.05 as here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import InvalidSetting, InvalidWorld, check_number
from wanderlust.core.mdp import TabularMDP
from wanderlust.worlds.base import World
from wanderlust.worlds.gridworlds import Escape, StepPenalty, deep_gridworld, prison, toy
from wanderlust.worlds.outcomes import merge_outcomes

Success = Annotated[float, "probability that an action does what it says"]
Random = Annotated[float, "probability that an action drawn uniformly from all takes its place"]
Stay = Annotated[float, "probability that the agent stays where it is"]


def slip_mdp(mdp: TabularMDP, *, success: float = 0.9, random: float = 0.05, stay: float = 0.05) -> TabularMDP:
    """Return the MDP in which the actions of `mdp` slip; the three probabilities must sum to 1."""
    success, random, stay = _checked(success, random, stay)
    n_states, n_actions, n_outcomes = mdp.probability.shape

    def anyones(array: NDArray[Any]) -> NDArray[Any]:
        """Return, for every action, the outcomes of all actions side by side."""
        flat = array.reshape(n_states, 1, n_actions * n_outcomes)
        return np.broadcast_to(flat, (n_states, n_actions, n_actions * n_outcomes))

    here = np.broadcast_to(np.arange(n_states, dtype=np.int32)[:, None, None], mdp.next_state.shape)
    # Trap: in a terminal state the agent still "moves" or "stays", as in the authors' transition matrix, but
    # here every such outcome keeps its terminal flag. Their matrix has none: solved as it stands, it would go
    # on collecting rewards beyond the end of the episode.
    return merge_outcomes(
        TabularMDP(
            probability=np.concatenate(
                [
                    success * mdp.probability,
                    random / n_actions * anyones(mdp.probability),
                    stay * mdp.probability,
                ],
                axis=2,
            ),
            next_state=np.concatenate([mdp.next_state, anyones(mdp.next_state), here], axis=2),
            reward=np.concatenate([mdp.reward, anyones(mdp.reward), mdp.reward], axis=2),
            terminal=np.concatenate([mdp.terminal, anyones(mdp.terminal), mdp.terminal], axis=2),
            start=mdp.start,
        )
    )


def with_slips(world: World, *, success: float = 0.9, random: float = 0.05, stay: float = 0.05) -> World:
    """Return the world in which actions slip.

    A deterministic world also takes on the paper's settings for noise, η = 0.1 and γ_w = 0.9; one that was
    stochastic already keeps its own.
    """
    if not isinstance(world, World):
        raise InvalidWorld(f"a world must be a World, got {type(world).__name__}.")
    chances = _checked(success, random, stay)
    defaults = world.defaults
    if world.mdp.deterministic:
        defaults = replace(defaults, learning_rate=0.1, gamma_w=0.9)
    before = world.options.get("slips", [])
    earlier = before if not before or isinstance(before[0], (list, tuple)) else [before]
    slips = [*earlier, list(chances)] if earlier else list(chances)
    return replace(
        world,
        mdp=slip_mdp(world.mdp, success=success, random=random, stay=stay),
        defaults=defaults,
        options={**world.options, "slips": slips},
    )


def apply_slips(world: World, slips: Any) -> World:
    """Return the world with the option `slips`: one triple (success, random, stay), or a list of triples."""
    try:
        triples = slips if isinstance(slips[0], (list, tuple)) else [slips]
        for success, random, stay in triples:
            world = with_slips(world, success=success, random=random, stay=stay)
    except (TypeError, IndexError, KeyError, ValueError) as error:
        wanted = "three probabilities (success, random, stay)"
        raise InvalidSetting(f"slips must be {wanted}, got {slips!r}: {error}") from None
    return world


def _checked(success: float, random: float, stay: float) -> tuple[float, float, float]:
    chances = [
        check_number(name, value, low=0, high=1)
        for name, value in (("success", success), ("random", random), ("stay", stay))
    ]
    total = sum(chances)
    if abs(total - 1.0) > 1e-9:
        raise InvalidSetting(f"success, random and stay must sum to 1, got {chances} with sum {total:g}.")
    return chances[0] / total, chances[1] / total, chances[2] / total


def _noisy(name: str, world: World, *, horizon: int, budget: int, success: float, random: float, stay: float) -> World:
    slipping = with_slips(world, success=success, random=random, stay=stay)
    return replace(
        slipping,
        name=name,
        defaults=replace(slipping.defaults, horizon=horizon, long_horizon=None, budget=budget),
        options={**world.options, "success": success, "random": random, "stay": stay},
    )


def noisy_toy(
    *,
    step_penalty: StepPenalty = 0.0,
    success: Success = 0.9,
    random: Random = 0.05,
    stay: Stay = 0.05,
) -> World:
    """`toy` with actions that slip."""
    world = toy(step_penalty=step_penalty)
    return _noisy("noisy-toy", world, horizon=15, budget=1500, success=success, random=random, stay=stay)


def noisy_prison(
    *,
    escape: Escape = 0.0,
    step_penalty: StepPenalty = -0.01,
    success: Success = 0.9,
    random: Random = 0.05,
    stay: Stay = 0.05,
) -> World:
    """`prison` with actions that slip."""
    world = prison(escape=escape, step_penalty=step_penalty)
    return _noisy("noisy-prison", world, horizon=25, budget=5000, success=success, random=random, stay=stay)


def noisy_deep_gridworld(
    *,
    step_penalty: StepPenalty = 0.0,
    success: Success = 0.9,
    random: Random = 0.05,
    stay: Stay = 0.05,
) -> World:
    """`deep-gridworld` with actions that slip."""
    world = deep_gridworld(step_penalty=step_penalty)
    return _noisy("noisy-deep-gridworld", world, horizon=55, budget=10_000, success=success, random=random, stay=stay)
