"""A run on the transition table of an environment, in the compiled loop: many times faster than its steps.

It has the presets of `learn`; `wanderlust.training.model_training` tells what differs. Returns are exact expected
values of the greedy policy, computed from the table: with `measure="returns"` the undiscounted return of an episode, as
in the environment, and with `measure="values"` the discounted return from the start. Ties of the greedy policy are
broken at random.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from wanderlust.core.errors import InvalidSetting, check_integer
from wanderlust.experiments.environment_run import DEFAULT_EVALUATIONS

if TYPE_CHECKING:
    from wanderlust.experiments.result import Result
    from wanderlust.experiments.run import Run
    from wanderlust.worlds import World

_STEPS_PER_CHUNK = 10_000


def hash_of_model(run: Run) -> str:
    """Return the hash of the model of a run's environment."""
    from wanderlust.environments.model import model_hash

    return model_hash(model_world_of(run))


def train_on_model(run: Run, should_stop: Callable[[], bool], *, steps: int | None = None) -> Result:
    """Execute a run on a model; `steps` truncates it, for a test."""
    from wanderlust.agents.settings import MAX_STEPS
    from wanderlust.experiments.result import Result
    from wanderlust.experiments.run import RunCancelled
    from wanderlust.training.model_training import ModelTraining

    world = model_world_of(run)
    if hash_of_model(run) != run.model:
        raise InvalidSetting(
            f"the model of {run.world} is no longer the one of this run: its hash is {hash_of_model(run)}, not "
            f"{run.model}. Create the run again with Run.of_model."
        )
    overrides = run.overrides
    if "steps" not in overrides:
        raise InvalidSetting("a run on a model needs the setting 'steps', its number of steps.")
    length = check_integer("steps", overrides["steps"], low=1, high=MAX_STEPS)
    overrides.setdefault("budget", length)
    every = check_integer("evaluate_every", overrides.get("evaluate_every", length // DEFAULT_EVALUATIONS or 1), low=1)
    # At least one evaluation: without any, the run has no return to report.
    overrides["evaluate_every"] = min(every, length)
    undiscounted = run.measure == "returns"
    training = ModelTraining(
        world, run.explorer, preset=run.preset, seed=run.seed, undiscounted_returns=undiscounted, changes=overrides
    )
    agent, end = training.agent, length if steps is None else min(steps, length)
    while agent.steps < end:
        if should_stop():
            raise RunCancelled
        training.advance(min(agent.steps + _STEPS_PER_CHUNK, end))
    history, settings = training.run.history(), agent.settings
    horizon_or_discount = settings.horizon if undiscounted else settings.discount
    optimal, n_reachable = _optimum_and_reachable(run.world, _options(run), horizon_or_discount)
    return Result(
        steps=history.steps,
        returns=history.returns,
        discovered=history.discovered,
        visits=history.visits,
        first_visit=history.first_visit,
        optimal_return=np.full((), math.nan if optimal is None else optimal),
        reachable=np.full((), n_reachable, np.int64),
        events=np.array([math.inf if step is None else step for step in training.run.first_events], np.float64),
    )


def _options(run: Run) -> str:
    return json.dumps(dict(run.world_options), sort_keys=True)


def model_world_of(run: Run) -> World:
    """Return the world of the model of a run's environment."""
    return model_world(run.world, _options(run))


@functools.lru_cache(maxsize=64)
def model_world(name: str, options: str) -> World:
    """Return the world of an environment's model; `options` are those of the environment as JSON."""
    from wanderlust.environments.model import world_from_gym

    return world_from_gym(name, **json.loads(options))


@functools.lru_cache(maxsize=64)
def _optimum_and_reachable(name: str, options: str, horizon_or_discount: float) -> tuple[float | None, int]:
    """Return the optimal return of an episode for a horizon (an integer), or from the start for a discount."""
    from wanderlust.core.planning import optimal_episode_return, optimal_values, reachable_states

    mdp = model_world(name, options).mdp
    optimal: float | None
    if isinstance(horizon_or_discount, int):
        optimal = optimal_episode_return(mdp, horizon_or_discount)
    else:
        optimal = float(mdp.start @ optimal_values(mdp, horizon_or_discount).v)
    return optimal, int(reachable_states(mdp).sum())
