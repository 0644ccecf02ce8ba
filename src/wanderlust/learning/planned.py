"""Value iteration on the remembered outcomes, for explorers that plan.

A sweep backs up the states one after another, each with the latest values of the others (Gauss-Seidel), alternately
from the latest discovered state to the first and back. Backing up a state again changes nothing unless the value of
one of its next states has changed, or the explorer has marked it. Unmarked states are skipped, exactly.

These functions take an explorer and are compiled for each explorer class; see `wanderlust.explorers.hooks`.
"""

from __future__ import annotations

from typing import Any

from wanderlust._numba.jit import inlined
from wanderlust.learning.model import Model
from wanderlust.learning.state import NONE
from wanderlust.learning.td import better

EXACT, COARSE = 1e-8, 1e-5
"""Planning ends when no value changes by more than this share of the largest possible value."""
MAX_SWEEPS = 10_000


@inlined
def mark(model: Model, state: int) -> None:
    """Let the next sweep back up a state, because its counts or outcomes have changed."""
    model.learner.flags[model.spec.n_swept + 1, state] = 1


@inlined
def mark_all(model: Model) -> None:
    """Let the next sweep back up every visited state, because what the explorer adds to the model has changed."""
    for state in range(1, model.learner.counters.n_states + 1):
        model.learner.flags[model.spec.n_swept + 1, state] = 1


@inlined
def mark_predecessors(model: Model, state: int) -> None:
    """Let the next sweep back up the states that lead to a state, because its value has changed."""
    learner = model.learner
    outcome = learner.first_into[state]
    while outcome != NONE:
        learner.flags[model.spec.n_swept + 1, learner.outcomes.state[outcome]] = 1
        outcome = learner.outcomes.next_into[outcome]


@inlined
def sweep_planned(explorer: Any, model: Model, ascending: bool, everywhere: bool) -> float:
    """Back up every marked state of the first own table once, or every state; return the largest change of a value."""
    learner, n_actions, own = model.learner, model.spec.n_actions, model.spec.own
    values, state_values = learner.values[own], learner.state_values[own]
    marked = learner.flags[model.spec.n_swept + 1]
    n_states, largest = learner.counters.n_states, 0.0
    for i in range(1, n_states + 1):
        state = i if ascending else n_states + 1 - i
        if everywhere or marked[state] != 0:
            marked[state] = 0
            first = state * n_actions
            for pair in range(first, first + n_actions):
                value = explorer.backup(model, pair)
                largest = better(largest, abs(value - values[pair]), False)
                values[pair] = value
            best = values[first]
            for pair in range(first + 1, first + n_actions):
                best = better(best, values[pair], False)
            if best != state_values[state]:
                state_values[state] = best
                if not everywhere:
                    mark_predecessors(model, state)
    return largest


@inlined
def plan(explorer: Any, model: Model, tolerance: float, everywhere: bool) -> None:
    """Sweep until no value of the first own table changes by more than the tolerance.

    `everywhere` backs up every state in every sweep, for a `backup` that reads values of states that are not next ones.

    The best policy often runs in a cycle, most of all in a model that was drawn at random. The values of its states
    then converge slowly, by a constant factor a sweep. So after 6, 12, 24, ... sweeps they are extrapolated to the
    limit of that geometric series (Aitken's method). The sweeps that follow correct them. At regular intervals,
    extrapolation can switch between two policies forever; the growing intervals let the sweeps converge.
    """
    learner = model.learner
    state_values, before, change = learner.state_values[model.spec.own], learner.scratch[0], learner.scratch[1]
    n_states, i, extrapolate = learner.counters.n_states, 0, 6
    while i < MAX_SWEEPS:
        for state in range(1, n_states + 1):
            before[state] = state_values[state]
        if sweep_planned(explorer, model, False, everywhere) <= tolerance:
            break
        if sweep_planned(explorer, model, True, everywhere) <= tolerance:
            break
        i += 2
        for state in range(1, n_states + 1):
            last = state_values[state] - before[state]
            if i == extrapolate and is_geometric(change[state], last):
                rate = last / change[state]
                state_values[state] += last * rate / (1.0 - rate)
                mark(model, state)
                if not everywhere:
                    mark_predecessors(model, state)
            change[state] = last
        if i == extrapolate:
            extrapolate *= 2
    # Between two steps this row holds zeros.
    for state in range(1, n_states + 1):
        change[state] = 0.0


@inlined
def is_geometric(one: float, following: float) -> bool:
    """Return whether two successive changes can be terms of a geometric series that converges without alternating."""
    return bool(0.0 < following < one or one < following < 0.0)
