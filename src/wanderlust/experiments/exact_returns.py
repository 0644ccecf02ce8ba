"""One run of the exam: the exact returns of two policies at 12 steps, evenly spaced on a logarithmic scale.

The policies are the explorer's own target policy, greedy for Q with ties broken uniformly, and the policy that is best
by the data: optimal in the model with the observed frequencies and mean rewards. The return is E[Σ γᵗ r_t] from the
start, without a time limit, by a solution of the Bellman equation.

The second policy shows what the data of an explorer are worth, whatever its own Q-table has learned from them. Actions
that were never taken are not available in its model. In states without any action taken the policy is uniform, and
their value is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.agents.session import Session
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import policy_value, uniform_over_ties
from wanderlust.experiments.result import Result
from wanderlust.learning.spec import FULL, REWARD
from wanderlust.learning.state import TERMINAL
from wanderlust.worlds import World

if TYPE_CHECKING:
    from wanderlust.experiments.run import Run

N_EVALUATIONS = 12
FIRST_EVALUATION = 1 / 16
"""The first evaluation, as a fraction of the budget."""
MAX_ITERATIONS = 100
_TOLERANCE = 1e-10


def evaluation_fractions() -> FloatArray:
    """Return the evaluations as fractions of the budget."""
    return np.geomspace(FIRST_EVALUATION, 1.0, N_EVALUATIONS)


def evaluation_steps(budget: int) -> list[int]:
    """Return the steps after which the policies are evaluated."""
    return sorted({max(1, round(float(fraction) * budget)) for fraction in evaluation_fractions()})


class ExactReturns:
    """The exact returns of policies in a world; a policy that is evaluated several times is solved once."""

    def __init__(self, world: World, discount: float) -> None:
        self._world, self._discount = world, discount
        self._known: dict[bytes, float] = {}

    def __call__(self, policy: FloatArray) -> float:
        """Return E[Σ γᵗ r_t] from the start, for a policy as probabilities [state, action]."""
        key = policy.tobytes()
        if key not in self._known:
            mdp = self._world.mdp
            self._known[key] = float(mdp.start @ policy_value(mdp, policy, self._discount))
        return self._known[key]


def take_exam(
    run: Run, world: World, options: Mapping[str, Any], should_stop: Callable[[], bool], steps: int | None
) -> Result:
    """Train from evaluation to evaluation and return the measurements; `steps` truncates it, for a test."""
    from wanderlust.experiments.run import RunCancelled
    from wanderlust.experiments.world_run import optimum_and_reachable

    # The session's own evaluations are not used.
    settings = {**options, "evaluate_every": world.defaults.budget}
    session = Session(world, run.explorer, seed=run.seed, preset=run.preset, **settings)
    discount = session.settings.discount
    evaluated = evaluation_steps(session.settings.run_length)
    evaluated = evaluated if steps is None else [min(steps, evaluated[0])]
    exact_return = ExactReturns(world, discount)
    returns, data_returns, discovered = [], [], []
    actions = None
    for step in evaluated:
        if should_stop():
            raise RunCancelled
        session.advance(step)
        q = session.agent.tables["target"]
        returns.append(exact_return(uniform_over_ties(q)))
        model = empirical_model(session)
        if model is None:
            data_returns.append(np.nan)
        else:
            actions = best_actions(model, discount, actions)
            data_returns.append(exact_return(data_policy(session, actions)))
        discovered.append(session.agent.discovered)
    uniform = np.full((world.n_states, world.n_actions), 1.0 / world.n_actions)
    optimal_return, n_reachable = optimum_and_reachable(run, discount)
    return Result(
        steps=np.array(evaluated, np.int64),
        returns=np.array(returns),
        discovered=np.array(discovered, np.int64),
        visits=session.agent.visits,
        first_visit=session.run_state.first_visit.copy(),
        optimal_return=np.zeros(()) + optimal_return,
        reachable=np.zeros((), np.int64) + n_reachable,
        data_returns=np.array(data_returns),
        random_return=np.array([exact_return(uniform)]),
    )


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
        best = q.argmax(axis=1)
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
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import spsolve

    return np.asarray(spsolve(eye_array(n, format="csc") - csc_array((weight, (row, column)), shape=(n, n)), reward))


def data_policy(session: Session, actions: NDArray[np.int64]) -> FloatArray:
    """Return the policy of the actions [state of the learner] as probabilities [state of the world, action]."""
    world, index = session.world, session.run_state.state_index
    policy = np.full((world.n_states, world.n_actions), 1.0 / world.n_actions)
    visits = session.agent.learner.visits.reshape(-1, world.n_actions)[index].sum(axis=1)
    known = np.flatnonzero((index != TERMINAL) & (visits > 0))
    policy[known] = np.eye(world.n_actions)[actions[index[known]]]
    return policy
