"""Runs in the compiled loop: in a built-in world, or on the model of an environment.

On a model, its transition table, a run is many times faster than steps of the environment. It has the presets of
`learn`; `wanderlust.training.model_training` tells what differs. Returns are exact expected values of the greedy
policy, computed from the table: with `measure="returns"` the undiscounted return of an episode, as in the environment,
and with `measure="discounted-returns"` the discounted return from the start. Ties of the greedy policy are broken at
random.

With `measure="values"` a run in a stochastic world also measures the sample complexity and the value error of the
greedy policy (Section 4.2.4). With π_t the greedy policy before step t, in state s_t, and V^π the solution of the
Bellman equation:

    sample complexity   the number of steps t at which V*(s_t) − V^{π_t}(s_t) > ε
    value error         the mean over all states s of (V*(s) − V^{π_t}(s))²
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wanderlust.agents.session import Record, Session
from wanderlust.agents.settings import MAX_STEPS, Settings
from wanderlust.core.errors import InvalidSetting, check_integer
from wanderlust.core.mdp import TabularMDP
from wanderlust.core.planning import optimal_episode_return, optimal_values, policy_values, reachable_states
from wanderlust.experiments.result import Result
from wanderlust.experiments.run import DEFAULT_EVALUATIONS, Run, RunCancelled
from wanderlust.worlds import World, make_world

__all__ = ["THRESHOLDS", "optimum_and_reachable", "train_in_world", "train_on_model", "value_measures"]

_STEPS_PER_CHUNK = 10_000
"""Steps between two checks for cancellation: about one second for the slowest explorers."""
THRESHOLDS = np.array([0.0, *(10.0**-k for k in range(24, -2, -1))])
"""The thresholds ε: 0 and powers of ten. Values are of the order 1 to 100, so differences below 1e-14 are rounding
errors. Equal policies have bitwise equal values, so a smaller ε requires the optimal policy itself."""
_N_MOMENTS = 160


def train_in_world(run: Run, should_stop: Callable[[], bool], *, steps: int | None = None) -> Result:
    """Execute a run in a built-in world; `steps` truncates it, for a test."""
    world, options = make_world(run.world, **run.world_options), run.overrides
    if run.measure == "exam":
        from wanderlust.experiments.exact_returns import take_exam

        return take_exam(run, world, options, should_stop, steps)
    every = check_integer("evaluate_every", options.get("evaluate_every", Settings.evaluate_every), low=1)
    by_step = run.measure == "values"
    if by_step:
        options["evaluate_every"] = 1
    session = Session(world, run.explorer, seed=run.seed, preset=run.preset, keep_trajectory=by_step, **options)
    if run.measure == "values" or run.until != "budget":
        _check_world(run, deterministic=bool(world.mdp.deterministic))
    end = session.settings.run_length if steps is None else min(steps, session.settings.run_length)
    chunk = every if run.until == "positive-return" else _STEPS_PER_CHUNK
    while session.step < end:
        if should_stop():
            raise RunCancelled
        session.advance(min(session.step + chunk, end))
        evaluated = session.step // every
        if run.until == "positive-return" and evaluated and session.run_state.returns[evaluated - 1] > 0.0:
            break
    record = session.record()
    optimal_return, n_reachable = optimum_and_reachable(run, session.settings.discount)
    evaluations = slice(every - 1, None, every) if by_step else slice(None)
    return Result(
        steps=record.steps[evaluations],
        returns=record.returns[evaluations],
        discovered=record.discovered[evaluations],
        visits=record.visits,
        first_visit=record.first_visit,
        optimal_return=np.float64(optimal_return) + np.zeros(()),
        reachable=np.zeros((), np.int64) + n_reachable,
        **(value_measures(record, world.mdp) if by_step else {}),
    )


def _check_world(run: Run, *, deterministic: bool) -> None:
    if run.measure == "values" and deterministic:
        raise InvalidSetting(f"measure='values' is for stochastic worlds; {run.world!r} is deterministic.")
    if run.until != "budget" and not deterministic:
        raise InvalidSetting(f"until={run.until!r} is for deterministic worlds; {run.world!r} is stochastic.")


def optimum_and_reachable(run: Run, horizon_or_discount: float) -> tuple[float, int]:
    """Return the optimal return of a run's world or model, and the number of its reachable states.

    The return is that of an episode for a horizon, an integer, and from the start for a discount; NaN if there is none.
    """
    return _optimum_and_reachable(run.kind, run.world, _options(run), horizon_or_discount)


@functools.lru_cache(maxsize=256)
def _optimum_and_reachable(kind: str, world: str, options: str, horizon_or_discount: float) -> tuple[float, int]:
    mdp = (model_world(world, options) if kind == "model" else make_world(world, **json.loads(options))).mdp
    if isinstance(horizon_or_discount, int):
        optimal = optimal_episode_return(mdp, horizon_or_discount)
    else:
        optimal = float(mdp.start @ optimal_values(mdp, horizon_or_discount).v)
    return math.nan if optimal is None else optimal, int(reachable_states(mdp).sum())


# --- Models of environments ------------------------------------------------------------------------------


def hash_of_model(run: Run) -> str:
    """Return the hash of the model of a run's environment."""
    from wanderlust.environments.model import model_hash

    return model_hash(model_world_of(run))


def train_on_model(run: Run, should_stop: Callable[[], bool], *, steps: int | None = None) -> Result:
    """Execute a run on a model; `steps` truncates it, for a test."""
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
    history, settings = training.run.record(), agent.settings
    horizon_or_discount = settings.horizon if undiscounted else settings.discount
    optimal_return, n_reachable = optimum_and_reachable(run, horizon_or_discount)
    return Result(
        steps=history.steps,
        returns=history.returns,
        discovered=history.discovered,
        visits=history.visits,
        first_visit=history.first_visit,
        optimal_return=np.full((), optimal_return),
        reachable=np.full((), n_reachable, np.int64),
        events=np.array([math.inf if step is None else step for step in training.run.events], np.float64),
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


# --- Sample complexity and value error -------------------------------------------------------------------


def value_measures(record: Record, mdp: TabularMDP) -> dict[str, Any]:
    """Return the measures of a run that was evaluated after every step and stored its trajectory."""
    discount, steps = record.settings.discount, len(record.states)
    optimal = policy_values(mdp, [optimal_values(mdp, discount).policy], discount)[0]
    # Before the first step all values are equal, so the greedy policy is uniform.
    uniform = np.full((mdp.n_states, mdp.n_actions), 1.0 / mdp.n_actions)
    values = np.concatenate([record.policy_values, policy_values(mdp, [uniform], discount)])
    before = np.append(len(values) - 1, record.policy_at)[:steps]
    gap = (optimal - values)[before, record.states]
    errors = ((optimal - values) ** 2).mean(axis=1)
    moments = np.unique(np.geomspace(1, max(steps, 1), _N_MOMENTS).round().astype(np.int64))[: max(steps, 0)]
    return {
        "gaps": THRESHOLDS,
        "bad_steps": (gap[:, None] > THRESHOLDS).sum(axis=0),
        "ends_good": gap[-1] <= THRESHOLDS if steps else np.zeros(len(THRESHOLDS), np.bool_),
        "moments": moments,
        "value_errors": errors[before][moments - 1],
        "visits_by_moment": _visits_at(record.states, moments, mdp.n_states),
    }


def _visits_at(states: Any, moments: Any, n_states: int) -> Any:
    """Return [moment, state]: the visits of each state until each moment."""
    chunks = np.split(states, moments)[: len(moments)]
    return np.cumsum([np.bincount(chunk, minlength=n_states) for chunk in chunks], axis=0)
