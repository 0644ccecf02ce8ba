"""The empirical model of the remembered outcomes, and value iteration on it, for explorers that update own tables.

The outcomes of a pair are an empirical model: P̂(s' | s, a) is the share of the pair's transitions that led to s', and
r̂(s, a) their mean reward.

A sweep backs up the states one after another, each with the latest values of the others (Gauss-Seidel), alternately
from the latest discovered state to the first and back. Backing up a state again changes nothing unless the value of
one of its next states has changed, or the explorer has marked it. Unmarked states are skipped, exactly.

These functions take an explorer and are compiled for each explorer class; see `wanderlust.explorers.compiled`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from wanderlust._numba.jit import inlined, with_methods
from wanderlust.learning.hooks import total_visits
from wanderlust.learning.state import NONE, LearnerState
from wanderlust.learning.sweep import mean_td_target
from wanderlust.learning.td import EXCLUDED, REWARD, TARGET, Floats, TableSpec, best_action_value, better


class Transition(NamedTuple):
    """The transition just observed; states are given by their index."""

    state: int
    action: int
    pair: int
    reward: float
    next_state: int
    """`TERMINAL` if the episode terminated; all its values are 0."""


@with_methods
class Model(NamedTuple):
    """The empirical model, and the tables that the explorer updates itself. Pairs are given by their index."""

    learner: LearnerState
    spec: TableSpec

    def step(self) -> int:
        """Return the number of steps before the current transition."""
        return self.learner.counters.step  # type: ignore[no-any-return]

    def notes(self) -> Floats:
        """Return the eight numbers that the explorer keeps between steps."""
        return self.learner.notes

    def first_pair(self) -> int:
        """Return the index of the first pair."""
        return self.spec.n_actions

    def end_pair(self) -> int:
        """Return the index after the last pair of a visited state."""
        return (self.learner.counters.n_states + 1) * self.spec.n_actions  # type: ignore[no-any-return]

    def n(self, pair: int) -> int:
        """Return the visit count of a pair."""
        return self.learner.visits[pair]  # type: ignore[no-any-return]

    def is_valid(self, pair: int) -> bool:
        """Return whether a pair is not excluded by an action mask."""
        return self.learner.values[TARGET, pair] != -EXCLUDED  # type: ignore[no-any-return]

    def total(self, pair: int) -> int:
        """Return Σ_a n(s, a), the visit count of the state of a pair."""
        n_actions = self.spec.n_actions
        return total_visits(self.learner.visits, pair - pair % n_actions, n_actions)

    def table(self, number: int) -> Floats:
        """Return one of the explorer's own tables: [pair]."""
        return self.learner.values[self.spec.own + number]  # type: ignore[no-any-return]

    def value(self, number: int, pair: int) -> float:
        """Return a value of one of the explorer's own tables; faster than `table(number)[pair]` in a `backup`."""
        return self.learner.values[self.spec.own + number, pair]  # type: ignore[no-any-return]

    def set_value(self, number: int, pair: int, value: float) -> None:
        """Write a value of one of the explorer's own tables, and the value of the best action of its state."""
        table, n_actions = self.spec.own + number, self.spec.n_actions
        self.learner.values[table, pair] = value
        state = pair // n_actions
        self.learner.state_values[table, state] = best_action_value(self.learner.values[table], state, n_actions, False)

    def best(self, number: int, state: int) -> float:
        """Return the value of the best action of a state in one of the explorer's own tables."""
        return self.learner.state_values[self.spec.own + number, state]  # type: ignore[no-any-return]

    def target(self, pair: int) -> float:
        """Return r̂ + γ Σ_s' P̂(s') V(s') of a tried pair, where V is the best value in the first own table."""
        own = self.spec.own
        return mean_td_target(pair, own, self.learner, self.spec, self.learner.state_values[own])

    def next_mean(self, pair: int) -> float:
        """Return Σ_s' P̂(s') V(s') of a tried pair."""
        outcomes, state_values = self.learner.outcomes, self.learner.state_values[self.spec.own]
        mean, outcome = 0.0, self.learner.first_outcome[pair]
        while outcome != NONE:
            mean += outcomes.weight[outcome] * state_values[outcomes.next_state[outcome]]
            outcome = outcomes.next_of_pair[outcome]
        return mean

    def next_variance(self, pair: int) -> float:
        """Return the variance of V(s') over s' ~ P̂ of a tried pair."""
        outcomes, state_values = self.learner.outcomes, self.learner.state_values[self.spec.own]
        first = self.learner.first_outcome[pair]
        if outcomes.next_of_pair[first] == NONE:
            return 0.0
        mean = self.next_mean(pair)
        variance, outcome = 0.0, first
        while outcome != NONE:
            deviation = state_values[outcomes.next_state[outcome]] - mean
            variance += outcomes.weight[outcome] * deviation * deviation
            outcome = outcomes.next_of_pair[outcome]
        return variance

    def mean_reward(self, pair: int) -> float:
        """Return r̂, the mean reward of a tried pair."""
        outcomes, outcome, mean = self.learner.outcomes, self.learner.first_outcome[pair], 0.0
        while outcome != NONE:
            mean += outcomes.weight[outcome] * outcomes.signals[REWARD, outcome]
            outcome = outcomes.next_of_pair[outcome]
        return mean

    def visited_pair(self, number: float) -> int:
        """Return the index of a pair that the explorer has kept as a number; an invalid one becomes a valid one."""
        pair, last = int(number), self.end_pair() - 1
        return 0 if pair < 0 else last if pair > last else pair

    def first_outcome(self, pair: int) -> int:
        """Return the first outcome of a pair, or `NONE` if it is untried."""
        return self.learner.first_outcome[pair]  # type: ignore[no-any-return]

    def next_outcome(self, outcome: int) -> int:
        """Return the next outcome of the same pair, or `NONE`."""
        return self.learner.outcomes.next_of_pair[outcome]  # type: ignore[no-any-return]

    def outcome_number(self, outcome: int) -> float:
        """Return the explorer's own number of an outcome; faster than `outcome_numbers()[outcome]` in a `backup`."""
        return self.learner.outcomes.signals[self.spec.own_signal, outcome]  # type: ignore[no-any-return]

    def outcome_numbers(self) -> Any:
        """Return the explorer's own number of each outcome: [outcome]."""
        return self.learner.outcomes.signals[self.spec.own_signal]


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
            for pair in range(state * n_actions, (state + 1) * n_actions):
                if not model.is_valid(pair):
                    continue
                value = explorer.backup(model, pair)
                largest = better(largest, abs(value - values[pair]), False)
                values[pair] = value
            best = best_action_value(values, state, n_actions, False)
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
