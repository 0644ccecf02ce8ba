"""Action masks: which actions of a state are valid.

Explorers choose as if the state had the valid actions only: they get a view of those alone, so nothing in an explorer
knows of masks. In the tables, an untried invalid action has the worst value (`EXCLUDED`), so that no maximum and no
planning takes it for a promising one: with an optimistic W, states with invalid actions would attract forever.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import by_pointer
from wanderlust.core.errors import InvalidObservation, shown
from wanderlust.learning.memory import activate_all
from wanderlust.learning.state import LearnerState
from wanderlust.learning.td import EXCLUDED, TARGET, Floats, TableSpec

Mask = NDArray[np.bool_]


def checked_mask(mask: Any, n_actions: int) -> Mask:
    """Return a mask as booleans: one for each action, or zeros and ones, and at least one action is valid."""
    try:
        given = np.asarray(mask)
    except Exception:  # Any object can be given.
        given = np.zeros(0)
    is_binary = given.dtype.kind == "b" or (given.dtype.kind in "iuf" and np.isin(given, (0, 1)).all())
    if given.shape != (n_actions,) or not is_binary or not given.any():
        valid = f"{n_actions} booleans, or zeros and ones, of which at least one is true"
        raise InvalidObservation(f"an action mask must be {valid}; got {shown(mask)}.")
    return given.astype(np.bool_)


def excluded_actions(index: int, learner: LearnerState, spec: TableSpec) -> Mask:
    """Return the actions of a state, by its index, that are invalid as far as is known."""
    first = index * spec.n_actions
    return np.asarray(learner.values[TARGET, first : first + spec.n_actions] == -EXCLUDED)


def set_valid_actions(index: int, mask: Mask, learner: LearnerState, spec: TableSpec) -> None:
    """Exclude untried invalid actions of a state from all maxima; those that have become valid get initial values."""
    first = index * spec.n_actions
    pairs = slice(first, first + spec.n_actions)
    wanted = ~mask & (learner.visits[pairs] == 0)
    changed = np.flatnonzero(excluded_actions(index, learner, spec) != wanted)
    if not len(changed):
        return
    for table in range(spec.n_swept + spec.n_heads + (spec.n_own > 0)):
        worst = EXCLUDED if spec.minimise[table] else -EXCLUDED
        values = learner.values[table, pairs]
        values[changed] = np.where(wanted[changed], worst, spec.initial[table])
        if table < spec.n_swept:
            learner.sweep_reward[table, first + changed] = values[changed]
        best = values.min() if spec.minimise[table] else values.max()
        if best != learner.state_values[table, index]:
            learner.state_values[table, index] = best
            if table < spec.n_swept:
                activate_all(table, learner)
    learner.converged[:] = 0
    learner.counters.policy_changed = 1
    if spec.n_own:
        learner.flags[spec.n_swept + 1, 1 : learner.counters.n_states + 1] = 1


class MaskedView(NamedTuple):
    """A learner with one state that has `n` actions, for the explorer's choice; other arrays are the learner's own."""

    values: Floats
    visits: NDArray[np.int64]
    learner: LearnerState
    spec: TableSpec

    @classmethod
    def of(cls, learner: LearnerState, spec: TableSpec, n: int) -> MaskedView:
        """Return a view of `n` actions; `learner` and `spec` are pointers in it."""
        values, visits = np.zeros((len(spec.signal), n)), np.zeros(n, np.int64)
        one_state = learner._replace(values=values, visits=visits, scores=np.zeros(n))
        return cls(values, visits, by_pointer(one_state), by_pointer(spec._replace(n_actions=n)))

    def show(self, index: int, valid: NDArray[np.intp], learner: LearnerState, n_actions: int) -> None:
        """Copy the values and visits of a state's valid actions."""
        pairs = index * n_actions + valid
        self.values[:], self.visits[:] = learner.values[:, pairs], learner.visits[pairs]
