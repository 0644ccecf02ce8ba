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

With `measure="exam"` a run measures the exact returns of two policies at 12 steps, evenly spaced on a logarithmic
scale: of the explorer's own target policy, greedy for Q with ties broken uniformly, and of the policy that is best by
the data, optimal in the model with the observed frequencies and mean rewards. The return is E[Σ γᵗ r_t] from the start,
without a time limit. The second policy shows what the data of an explorer are worth, whatever its own Q-table has
learnt from them. Actions that were never taken are not available in its model. In states without any action taken the
policy is uniform, and their value is 0. `learning_return` is the return of the behaviour.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.agents.session import Record, Session
from wanderlust.agents.settings import MAX_STEPS, Settings
from wanderlust.core.errors import InvalidSetting, check_integer
from wanderlust.core.mdp import FloatArray, TabularMDP
from wanderlust.core.planning import (
    expected_reward,
    optimal_episode_return,
    optimal_values,
    policy_values,
    reachable_states,
    start_value,
    uniform_over_ties,
)
from wanderlust.experiments.run import DEFAULT_EVALUATIONS, Result, Run, RunCancelled
from wanderlust.learning.state import TERMINAL
from wanderlust.learning.td import FULL, REWARD
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
        return take_exam(run, world, options, should_stop, steps)
    every = check_integer("evaluate_every", options.get("evaluate_every", Settings.evaluate_every), low=1)
    by_step, until_positive = run.measure == "values", run.until == "positive-return"
    if by_step:
        options["evaluate_every"] = 1
    session = Session(world, run.explorer, seed=run.seed, preset=run.preset, keep_trajectory=by_step, **options)
    if by_step and world.mdp.deterministic:
        raise InvalidSetting(f"measure='values' is for stochastic worlds; {run.world!r} is deterministic.")
    if until_positive and not world.mdp.deterministic:
        raise InvalidSetting(f"until={run.until!r} is for deterministic worlds; {run.world!r} is stochastic.")
    end = session.settings.run_length
    end = end if steps is None else min(check_integer("steps", steps, low=1), end)
    chunk = every if until_positive else _STEPS_PER_CHUNK
    while session.step < end:
        if should_stop():
            raise RunCancelled
        session.advance(min(session.step + chunk, end))
        evaluated = session.step // every
        if until_positive and evaluated and session.run_state.returns[evaluated - 1] > 0.0:
            break
    record = session.record()
    evaluations = slice(every - 1, None, every) if by_step else slice(None)
    return Result(
        steps=record.steps[evaluations],
        returns=record.returns[evaluations],
        discovered=record.discovered[evaluations],
        visits=record.visits,
        first_visit=record.first_visit,
        **_bounds(run, session.settings.discount),
        **(value_measures(record, world.mdp) if by_step else {}),
    )


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
        optimal = start_value(mdp, optimal_values(mdp, horizon_or_discount).v)
    return math.nan if optimal is None else optimal, int(reachable_states(mdp).sum())


def _bounds(run: Run, horizon_or_discount: float) -> dict[str, Any]:
    """Return the same as fields of a `Result`."""
    optimal_return, n_reachable = optimum_and_reachable(run, horizon_or_discount)
    return {"optimal_return": np.full((), optimal_return), "reachable": np.full((), n_reachable, np.int64)}


# --- Models of environments ------------------------------------------------------------------------------


def train_on_model(run: Run, should_stop: Callable[[], bool], *, steps: int | None = None) -> Result:
    """Execute a run on a model; `steps` truncates it, for a test."""
    from wanderlust.environments.model import model_hash
    from wanderlust.training.model_training import ModelTraining

    world = model_world_of(run)
    if (found := model_hash(world)) != run.model:
        raise InvalidSetting(
            f"the model of {run.world} is no longer the one of this run: its hash is {found}, not {run.model}. Create "
            "the run again with Run.of_model."
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
    return Result(
        steps=history.steps,
        returns=history.returns,
        discovered=history.discovered,
        visits=history.visits,
        first_visit=history.first_visit,
        **_bounds(run, settings.horizon if undiscounted else settings.discount),
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
    chunks = np.split(record.states, moments)[: len(moments)]
    return {
        "gaps": THRESHOLDS,
        "bad_steps": (gap[:, None] > THRESHOLDS).sum(axis=0),
        "ends_good": gap[-1] <= THRESHOLDS if steps else np.zeros(len(THRESHOLDS), np.bool_),
        "moments": moments,
        "value_errors": errors[before][moments - 1],
        "visits_by_moment": np.cumsum([np.bincount(chunk, minlength=mdp.n_states) for chunk in chunks], axis=0),
    }


# --- The exam --------------------------------------------------------------------------------------------

N_EVALUATIONS = 12
FIRST_EVALUATION = 1 / 16
"""The first evaluation, as a fraction of the budget."""
MAX_ITERATIONS = 100
_TOLERANCE = 1e-10
"""Smaller differences of values are rounding errors, which depend on the processor."""
_DECIMALS = 12


def evaluation_fractions() -> FloatArray:
    """Return the evaluations as fractions of the budget."""
    return np.geomspace(FIRST_EVALUATION, 1.0, N_EVALUATIONS)


def evaluation_steps(budget: int) -> list[int]:
    """Return the steps after which the policies are evaluated."""
    return sorted({max(1, round(float(fraction) * budget)) for fraction in evaluation_fractions()})


def take_exam(
    run: Run, world: World, options: Mapping[str, Any], should_stop: Callable[[], bool], steps: int | None
) -> Result:
    """Train from evaluation to evaluation and return the measurements; `steps` truncates it, for a test."""
    # The session's own evaluations are not used.
    settings = {**options, "evaluate_every": world.defaults.budget}
    session = Session(world, run.explorer, seed=run.seed, preset=run.preset, keep_trajectory=True, **settings)
    discount = session.settings.discount
    evaluated = evaluation_steps(session.settings.run_length)
    evaluated = evaluated if steps is None else [min(steps, evaluated[0])]
    policies: list[FloatArray] = []
    solved, discovered, actions = [], [], None
    for i, step in enumerate(evaluated):
        if should_stop():
            raise RunCancelled
        session.advance(step)
        policies.append(uniform_over_ties(session.agent.tables["target"]))
        model = empirical_model(session)
        if model is not None:
            actions = best_actions(model, discount, actions)
            policies.append(data_policy(session, actions))
        discovered.append(session.agent.discovered)
        mdp = world.dynamics(step)
        if step == evaluated[-1] or world.dynamics(evaluated[i + 1]) is not mdp:
            solved.append(_returns(mdp, policies, discount))
            policies = []
    by_step = np.concatenate(solved).reshape(len(evaluated), -1)
    returns = np.full((len(evaluated), 2), np.nan)
    returns[:, : by_step.shape[1]] = by_step
    return Result(
        steps=np.array(evaluated, np.int64),
        returns=returns[:, 0],
        discovered=np.array(discovered, np.int64),
        visits=session.agent.visits,
        first_visit=session.run_state.first_visit.copy(),
        **_bounds(run, discount),
        data_returns=returns[:, 1],
        learning_return=np.array([learning_return(session)]),
    )


def _returns(mdp: TabularMDP, policies: list[FloatArray], discount: float) -> FloatArray:
    """Return the expected return of each policy; a policy that is evaluated several times is solved once.

    The last digits of a sparse solution depend on the processor, so they are rounded off.
    """
    keys = [policy.tobytes() for policy in policies]
    distinct = dict(zip(keys, policies, strict=True))
    values = policy_values(mdp, list(distinct.values()), discount)
    known = {key: start_value(mdp, each) for key, each in zip(distinct, values, strict=True)}
    return np.asarray(np.round([known[key] for key in keys], _DECIMALS))


def learning_return(session: Session) -> float:
    """Return the mean over finished episodes of Σ γᵗ r(s_t, a_t), where r is the expected reward.

    An episode terminates where its last action always does, as in all worlds of the exam, or at the horizon.
    """
    world, run, n, horizon = session.world, session.run_state, session.step, session.settings.horizon
    pairs = run.states[:n], run.actions[:n]

    def of_steps(of_pairs: Callable[[TabularMDP], FloatArray]) -> FloatArray:
        before, after = (of_pairs(world.dynamics(step))[pairs] for step in (0, n))
        return np.asarray(np.where(np.arange(n) < world.changes_at, before, after))

    ends = 1 + np.flatnonzero(of_steps(lambda mdp: (mdp.probability * mdp.terminal).sum(axis=2)) > 0.5)
    starts = [0]
    while starts[-1] < n:
        following = ends[np.searchsorted(ends, starts[-1] + 1) :][:1]
        starts.append(min([starts[-1] + horizon, *following.tolist()]))
    *first, last = starts
    time = np.arange(n) - np.repeat(first, np.diff([*first, n]))
    returns = np.add.reduceat(of_steps(expected_reward) * session.settings.discount**time, first)
    return float((returns[:-1] if last > n and len(first) > 1 else returns).mean())


class EmpiricalModel(NamedTuple):
    """The observed outcomes of a session, one per row; pairs and states are indexed as in the learner."""

    pair: NDArray[np.int32]
    next_state: NDArray[np.int32]
    probability: FloatArray
    reward: FloatArray
    """[pair]: the mean reward; -inf if the action was never taken."""
    n_actions: int


def empirical_model(session: Session) -> EmpiricalModel | None:
    """Return the model of a session's data; None unless it remembers all of them."""
    learner, n_actions = session.agent.learner, session.agent.spec.n_actions
    if session.agent.spec.memory != FULL:
        return None
    n = int(learner.counters.n_outcomes)
    outcomes, n_pairs = learner.outcomes, (int(learner.counters.n_states) + 1) * n_actions
    pair, weight = outcomes.pair[:n], outcomes.weight[:n]
    reward = np.bincount(pair, weight * outcomes.signals[REWARD, :n], n_pairs).astype(np.float64)
    reward[np.bincount(pair, minlength=n_pairs) == 0] = -np.inf
    return EmpiricalModel(pair, outcomes.next_state[:n], weight, reward, n_actions)


def best_actions(model: EmpiricalModel, discount: float, first: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return an optimal action of each state of the model, by policy iteration from the policy `first`."""
    shape = (len(model.reward) // model.n_actions, model.n_actions)
    tried = np.isfinite(model.reward).reshape(shape)
    policy = tried.argmax(axis=1)
    if first is not None:  # Actions once taken stay available, so a policy of earlier data is a policy of these.
        policy[: len(first)] = np.where(tried[: len(first)].any(axis=1), first, policy[: len(first)])
    reward = np.where(tried, model.reward.reshape(shape), 0.0)
    states = np.arange(len(policy))
    for _ in range(MAX_ITERATIONS):
        v = _values(model, policy, reward[states, policy], discount)
        following = np.bincount(model.pair, model.probability * v[model.next_state], reward.size).reshape(shape)
        q = np.where(tried, reward + discount * following, -np.inf)
        # The first of the best ones: which of them is larger by a rounding error depends on the processor.
        best = (q >= q.max(axis=1, keepdims=True) - _TOLERANCE).argmax(axis=1)
        better = q[states, best] > q[states, policy] + _TOLERANCE
        if not better.any():
            break
        policy = np.where(better, best, policy)
    return np.asarray(policy)


def _values(model: EmpiricalModel, policy: NDArray[np.int64], reward: FloatArray, discount: float) -> FloatArray:
    """Return the value of each state under a policy; `TERMINAL` and states without data have the value 0."""
    n, state = len(policy), model.pair // model.n_actions
    used = policy[state] == model.pair % model.n_actions
    row, column, weight = state[used], model.next_state[used], discount * model.probability[used]
    kept = column != TERMINAL
    row, column, weight = row[kept], column[kept], weight[kept]
    # Sparse for small systems, too: the threads of a dense solver would compete with those of other runs.
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import spsolve

    states = np.arange(n, dtype=row.dtype)
    entries = np.concatenate([np.ones(n), -weight])
    places = np.concatenate([states, row]), np.concatenate([states, column])
    return np.asarray(spsolve(csc_array((entries, places), shape=(n, n)), reward))


def data_policy(session: Session, actions: NDArray[np.int64]) -> FloatArray:
    """Return the policy of the actions [state of the learner] as probabilities [state of the world, action]."""
    world, index = session.world, session.run_state.state_index
    policy = np.full((world.n_states, world.n_actions), 1.0 / world.n_actions)
    visits = session.agent.learner.visits.reshape(-1, world.n_actions)[index].sum(axis=1)
    known = np.flatnonzero((index != TERMINAL) & (visits > 0))
    policy[known] = np.eye(world.n_actions)[actions[index[known]]]
    return policy
