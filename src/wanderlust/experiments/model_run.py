"""A run on the transition table of an environment, in the compiled loop: many times faster than its steps.

Returns have the same meaning as in the environment, the undiscounted return of an episode of the greedy policy, but
they are exact expected values, computed from the table. Ties of the greedy policy are broken at random.
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
    from wanderlust.envs.model import model_hash

    return model_hash(model_world_of(run))


def train_on_model(run: Run, should_stop: Callable[[], bool], *, steps: int | None = None) -> Result:
    """Execute a run on a model; `steps` truncates it, for a test."""
    from wanderlust.agents.session import Session
    from wanderlust.agents.settings import MAX_STEPS
    from wanderlust.experiments.result import Result
    from wanderlust.experiments.run import RunCancelled

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
    session = Session(world, run.explorer, seed=run.seed, preset=run.preset, undiscounted_returns=True, **overrides)
    end = length if steps is None else min(steps, length)
    while session.step < end:
        if should_stop():
            raise RunCancelled
        session.advance(min(session.step + _STEPS_PER_CHUNK, end))
    record = session.record()
    optimal, n_reachable = _optimum_and_reachable(run.world, _options(run), session.settings.horizon)
    return Result(
        steps=record.steps,
        returns=record.returns,
        discovered=record.discovered,
        visits=record.visits,
        first_visit=record.first_visit,
        optimal_return=np.full((), math.nan if optimal is None else optimal),
        reachable=np.full((), n_reachable, np.int64),
        events=np.array([math.inf if step is None else step for step in record.events], np.float64),
    )


def _options(run: Run) -> str:
    return json.dumps(dict(run.world_options), sort_keys=True)


def model_world_of(run: Run) -> World:
    """Return the world of the model of a run's environment."""
    return model_world(run.world, _options(run))


@functools.lru_cache(maxsize=64)
def model_world(name: str, options: str) -> World:
    """Return the world of an environment's model; `options` are those of the environment as JSON."""
    from wanderlust.envs.model import world_from_gym

    return world_from_gym(name, **json.loads(options))


@functools.lru_cache(maxsize=64)
def _optimum_and_reachable(name: str, options: str, horizon: int) -> tuple[float | None, int]:
    from wanderlust.core.planning import optimal_episode_return, reachable_states

    mdp = model_world(name, options).mdp
    return optimal_episode_return(mdp, horizon), int(reachable_states(mdp).sum())
