"""Acting in a tabular world: one step, one start, one greedy rollout. Both drivers use these functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import as_int64, by_pointer, compiled, entry, inlined
from wanderlust.core.errors import InvalidObservation
from wanderlust.core.mdp import TabularMDP
from wanderlust.explorers.choice import greedy_index
from wanderlust.learning.random_streams import EVALUATION, WORLD, Streams, uniform
from wanderlust.learning.spec import Floats, TableSpec
from wanderlust.learning.state import LearnerState


@inlined
def draw_outcome(mdp: TabularMDP, state: int, action: int, streams: Streams, which: int) -> int:
    """Draw the outcome of an action; a certain outcome uses no random number."""
    n_outcomes = mdp.next_state.shape[2]
    if n_outcomes == 1:
        return 0
    left = uniform(streams, which)
    last = 0
    for outcome in range(n_outcomes):
        probability = mdp.probability[state, action, outcome]
        if probability > 0.0:
            last = outcome
            if left < probability:
                return outcome
            left -= probability
    return last


@inlined
def draw_start(starts: NDArray[np.int32], probabilities: Floats, streams: Streams, which: int) -> int:
    """Draw the first state of an episode; a certain one uses no random number."""
    if len(starts) == 1:
        return starts[0]  # type: ignore[no-any-return]
    left = uniform(streams, which)
    for i in range(len(starts) - 1):
        if left < probabilities[i]:
            return starts[i]  # type: ignore[no-any-return]
        left -= probabilities[i]
    return starts[-1]  # type: ignore[no-any-return]


def start_distribution(mdp: TabularMDP) -> tuple[NDArray[np.int32], Floats]:
    """Return the possible first states of an episode and their probabilities."""
    starts = np.flatnonzero(mdp.start).astype(np.int32)
    return starts, mdp.start[starts]


@compiled
def greedy_return(
    mdp: TabularMDP,
    starts: NDArray[np.int32],
    probabilities: Floats,
    state_index: NDArray[np.int32],
    horizon: int,
    discount: float,
    learner: LearnerState,
    spec: TableSpec,
) -> tuple[float, bool]:
    """Roll out the greedy policy of the evaluated table from every start of a deterministic world.

    Return the expected discounted return, and whether no tie was broken.
    """
    without_ties = True
    expected = 0.0
    values = learner.values[spec.evaluated]
    for i in range(len(starts)):
        state = starts[i]
        total, weight = 0.0, 1.0
        for _ in range(horizon):
            before = learner.streams[EVALUATION]
            action = greedy_index(
                values, state_index[state] * spec.n_actions, spec.n_actions, learner.streams, as_int64(EVALUATION)
            )
            if learner.streams[EVALUATION] != before:
                without_ties = False
            total += weight * mdp.reward[state, action, 0]
            weight *= discount
            if mdp.terminal[state, action, 0]:
                break
            state = mdp.next_state[state, action, 0]
        expected += probabilities[i] * total
    return expected, without_ties


@inlined
def greedy_actions(index: int, learner: LearnerState, spec: TableSpec) -> np.uint64:
    """Return the greedy actions of a state by the evaluated table, as bits."""
    first = index * spec.n_actions
    best = learner.values[spec.evaluated, first]
    bits = np.uint64(1)
    for action in range(1, spec.n_actions):
        value = learner.values[spec.evaluated, first + action]
        if value > best:
            best = value
            bits = np.uint64(0)
        if value == best:
            bits |= np.uint64(1) << np.uint64(action)
    return bits


@compiled
def write_greedy_policy(
    state_index: NDArray[np.int32], learner: LearnerState, spec: TableSpec, policy: Any
) -> None:
    """Write the greedy actions of every state of the world."""
    for state in range(len(state_index)):
        policy[state] = greedy_actions(state_index[state], learner, spec)


@entry
def _start(starts: NDArray[np.int32], probabilities: Floats, streams: Streams) -> int:
    return draw_start(starts, probabilities, streams, WORLD)


@entry
def _step(mdp: TabularMDP, state: int, action: int, streams: Streams) -> int:
    return draw_outcome(mdp, state, action, streams, WORLD)


class Simulator:
    """A tabular world to act in step by step, with the random numbers of a fused run with the same seed."""

    def __init__(self, mdp: TabularMDP, streams: Streams) -> None:
        self.mdp = mdp
        self.streams = streams
        self._mdp = by_pointer(mdp)
        self._starts, self._probabilities = start_distribution(mdp)

    def reset(self) -> int:
        """Return the first state of the next episode."""
        return int(_start(self._starts, self._probabilities, self.streams))

    def step(self, state: int, action: int) -> tuple[int, float, bool]:
        """Return the next state, the reward, and whether the episode terminated."""
        if not (0 <= state < self.mdp.n_states and 0 <= action < self.mdp.n_actions):
            valid = f"state 0 to {self.mdp.n_states - 1}, action 0 to {self.mdp.n_actions - 1}"
            raise InvalidObservation(f"there is no action {action!r} in state {state!r}; valid are {valid}.")
        index = (state, action, _step(self._mdp, state, action, self.streams))
        return int(self.mdp.next_state[index]), float(self.mdp.reward[index]), bool(self.mdp.terminal[index])
