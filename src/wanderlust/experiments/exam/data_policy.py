"""The policy that is best by the collected data: optimal in the model with the observed frequencies and mean rewards.

It shows what the data of an explorer are worth, whatever its own Q-table has learnt from them. Actions that were never
taken are not available in this model. In states without any action taken the policy is uniform, and their value is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.agents.session import Session
from wanderlust.core.mdp import FloatArray
from wanderlust.learning.spec import FULL, REWARD
from wanderlust.learning.state import TERMINAL

MAX_ITERATIONS = 100
_TOLERANCE = 1e-10


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
    learner, n_actions = session.learner, session.spec.n_actions
    if session.spec.memory != FULL:
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
    visits = session.learner.visits.reshape(-1, world.n_actions)[index].sum(axis=1)
    known = np.flatnonzero((index != TERMINAL) & (visits > 0))
    policy[known] = np.eye(world.n_actions)[actions[index[known]]]
    return policy
