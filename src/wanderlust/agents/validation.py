"""Checks of the arrays in an agent's file.

Compiled code does not check indices: a wrong one would read or overwrite other memory, and a cycle in a linked list
would never end. So every shape, index, list and counter of a file is checked here before compiled code sees it, with a
few passes over each array. `wanderlust.learning.state` describes the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.learning.allocation import N_NOTES, count_flags, count_signals
from wanderlust.learning.random_streams import NAMES
from wanderlust.learning.spec import FULL, NO_MEMORY, WINDOW, TableSpec
from wanderlust.learning.state import COUNTERS, NONE, TERMINAL
from wanderlust.learning.sweep import DENSE_RUN

MIN_STATES = 65
"""The fewest states that the arrays of a new agent hold, with `TERMINAL`."""
MAX_INDEX = 2**31 - 1

Arrays = Mapping[str, NDArray[Any]]


class InvalidArray(ValueError):
    """An array that no agent has; the message names it and says what is valid."""


class Sizes(NamedTuple):
    """The counters of a file, and the sizes that follow from them."""

    n_states: int
    n_outcomes: int
    n_stored: int
    n_stochastic: int
    max_visits: int
    step: int
    n_discovered: int
    capacity: int
    """The number of states in the arrays, with `TERMINAL`."""
    n_pairs: int
    """The number of pairs in the arrays."""


def check_arrays(arrays: Arrays, spec: TableSpec, state_index: NDArray[Any]) -> None:
    """Raise `InvalidArray` unless the arrays of a learner and the index of its states are valid and consistent."""
    sizes = _checked_sizes(arrays, spec)
    for name, (kind, shape) in _layout(spec, sizes, arrays["transitions"].size).items():
        check_form(name, arrays[name], kind, shape)
    _check_state_index(state_index, sizes)
    _check_visits(arrays, spec, sizes)
    _check_values(arrays, spec)
    _check_outcomes(arrays, spec, sizes)
    _check_lists(arrays, spec, sizes)
    _check_sweep_inputs(arrays, spec, sizes)
    _check_work(arrays, spec, sizes)
    _check_transitions(arrays, spec, sizes)
    _check_temporary(arrays, sizes)


def check_form(name: str, array: NDArray[Any], kind: Any, shape: tuple[int, ...]) -> None:
    """Raise `InvalidArray` unless an array has the given dtype and shape."""
    if array.dtype != np.dtype(kind) or array.shape != shape:
        raise InvalidArray(f"{name} is {array.dtype} {array.shape}; it must be {np.dtype(kind)} {shape}")


def _checked_sizes(arrays: Arrays, spec: TableSpec) -> Sizes:
    found = arrays["counters"]
    check_form("counters", found, np.int64, (len(COUNTERS.fields or ()),))
    counters = dict(zip(COUNTERS.names or (), found.tolist(), strict=True))
    capacity, step = counters.pop("n_initialised"), counters["step"]
    remembers, replays = spec.memory != NO_MEMORY, spec.memory == WINDOW or (spec.memory == FULL and spec.n_heads > 0)
    n_stored = min(step, spec.capacity) if spec.memory == WINDOW else step if replays else 0
    n_pairs = capacity * spec.n_actions
    for name, value, low, high in (
        ("n_initialised", capacity, MIN_STATES, MAX_INDEX // spec.n_actions),
        ("n_states", counters["n_states"], 0, capacity - 1),
        ("step", step, 0, 2**53),
        ("n_outcomes", counters["n_outcomes"], 0, min(step, MAX_INDEX) if remembers else 0),
        ("n_stored", counters["n_stored"], max(n_stored, 0), max(n_stored, 0)),
        ("n_stochastic", counters["n_stochastic"], 0, min(n_pairs, max(counters["n_outcomes"], 0))),
        ("policy_changed", counters.pop("policy_changed"), 0, 1),
    ):
        if not low <= value <= high:
            valid = f"it must be {low:,}" if low == high else f"valid are {low:,} to {high:,}"
            raise InvalidArray(f"counters.{name} is {value:,}; {valid}")
    return Sizes(**counters, capacity=capacity, n_pairs=n_pairs)


def _layout(spec: TableSpec, sizes: Sizes, n_transitions: int) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Return the dtype and the shape of every array; see `wanderlust.learning.allocation`."""
    states, pairs, outcomes, swept = sizes.capacity, sizes.n_pairs, sizes.n_outcomes, spec.n_swept
    n_tables, n_signals = len(spec.signal), count_signals(spec)
    transitions = {NO_MEMORY: 0, WINDOW: spec.capacity + 1, FULL: 1}[spec.memory]
    if spec.memory == FULL and spec.n_heads:  # This list alone is saved with its reserve.
        transitions = max(n_transitions, sizes.n_stored)
    rates = pairs if spec.memory == FULL and spec.n_heads else 0
    return {
        "visits": (np.int64, (pairs,)),
        "stored": (np.int64, (pairs,)),
        "values": (np.float64, (n_tables, pairs)),
        "state_values": (np.float64, (n_tables, states)),
        "sweep_reward": (np.float64, (swept, pairs)),
        "sweep_next": (np.uint32, (pairs,)),
        "first_outcome": (np.int32, (pairs,)),
        "first_into": (np.int32, (states,)),
        **{f"outcomes.{name}": (np.int32, (outcomes,)) for name in ("pair", "state", "next_state")},
        **{f"outcomes.{name}": (np.int32, (outcomes,)) for name in ("next_of_pair", "next_into")},
        **{f"outcomes.{name}": (np.float64, (outcomes,)) for name in ("stored", "weight")},
        "outcomes.signals": (np.float64, (n_signals, outcomes)),
        "stochastic_pairs": (np.int32, (pairs,)),
        "work": (np.int32, (swept + 1, states)),
        "flags": (np.uint8, (count_flags(spec), states)),
        "sweep_mode": (np.int64, (2 * swept,)),
        "scratch": (np.float64, (2, pairs)),
        "transitions": (np.uint32, (transitions,)),
        "slots": (np.uint32, (spec.capacity if spec.memory == WINDOW else 0,)),
        "batch": (np.int32, (spec.batch_size,)),
        "batch_counts": (np.int32, (outcomes,)),
        "batch_rates": (np.float64, (rates,)),
        "converged": (np.uint8, (spec.n_heads,)),
        "streams": (np.uint64, (len(NAMES),)),
        "notes": (np.float64, (N_NOTES,)),
        "scores": (np.float64, (spec.n_actions,)),
    }


def _check_state_index(state_index: NDArray[Any], sizes: Sizes) -> None:
    """The indices 1 to n_states are given to one state each."""
    _check_range("state_index", state_index, 0, sizes.n_states)
    times_used = np.bincount(state_index[state_index != TERMINAL], minlength=sizes.n_states + 1)[1:]
    _check_all("state_index", times_used == 1, "must contain each index from 1 to n_states once; see index", first=1)


def _check_visits(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    visits, used = arrays["visits"], (sizes.n_states + 1) * spec.n_actions
    _check_range("visits", visits, 0, sizes.step)
    _check_zero("visits of the terminal state", visits[: spec.n_actions])
    _check_zero("visits of states that are not visited yet", visits[used:])
    # As floats first: the sum of integers may overflow.
    if visits.sum(dtype=np.float64) > 2.0 * sizes.step or int(visits.sum()) != sizes.step:
        raise InvalidArray(f"visits must sum to the number of steps, {sizes.step:,}")
    discovered = int(visits.reshape(-1, spec.n_actions).any(axis=1).sum())
    for name, expected in (("max_visits", int(visits.max())), ("n_discovered", discovered)):
        if getattr(sizes, name) != expected:
            raise InvalidArray(f"counters.{name} is {getattr(sizes, name):,}; by the visits it must be {expected:,}")
    stored = arrays["stored"]
    if spec.memory == WINDOW:
        _check_all("stored", (stored >= 0) & (stored <= visits), "must be from 0 to the visits of its pair at")
    else:
        _check_all("stored", stored == visits, "must equal visits at")


def _check_values(arrays: Arrays, spec: TableSpec) -> None:
    """Values that are not finite spread to all other values. The terminal state has the value 0 in every table."""
    for name in ("values", "state_values", "sweep_reward", "outcomes.stored", "outcomes.weight", "outcomes.signals"):
        _check_all(name, np.isfinite(arrays[name]), "must be finite (rewards near 1e308 overflow) at")
    for name, width in (("values", spec.n_actions), ("sweep_reward", spec.n_actions), ("state_values", 1)):
        _check_zero(f"{name} of the terminal state", arrays[name][:, :width])
    _check_range("outcomes.weight", arrays["outcomes.weight"], 0, 1)


def _check_outcomes(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    pair, stored = arrays["outcomes.pair"], arrays["outcomes.stored"]
    _check_range("outcomes.pair", pair, spec.n_actions, (sizes.n_states + 1) * spec.n_actions - 1)
    _check_range("outcomes.next_state", arrays["outcomes.next_state"], 0, sizes.n_states)
    _check_all("outcomes.state", arrays["outcomes.state"] == pair // spec.n_actions, "must be the state of its pair at")
    if spec.memory != NO_MEMORY:
        _check_all("outcomes.stored", stored >= 0, "must not be negative at")
        by_pair = np.bincount(pair, stored, minlength=sizes.n_pairs)
        _check_all("outcomes.stored", by_pair == arrays["stored"], "must sum to `stored` of its pair; see pair")


def _check_lists(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    """Each outcome is in the list of its pair, in order of appearance, and in that of its next state, latest first."""
    for first, following, key, order in (
        ("first_outcome", "outcomes.next_of_pair", "outcomes.pair", 1),
        ("first_into", "outcomes.next_into", "outcomes.next_state", -1),
    ):
        heads, links, owner = arrays[first], arrays[following], arrays[key]
        _check_range(first, heads, NONE, sizes.n_outcomes - 1)
        _check_range(following, links, NONE, sizes.n_outcomes - 1)
        begins, linked = np.flatnonzero(heads != NONE), np.flatnonzero(links != NONE)
        _check_all(first, owner[heads[begins]] == begins, "must refer to an outcome of its own list; see list")
        target = links[linked]
        # The order excludes cycles, so that all outcomes with one predecessor each form lists that end.
        valid = (order * (target - linked) > 0) & (owner[target] == owner[linked])
        _check_all(following, valid, f"must refer to {'a later' if order > 0 else 'an earlier'} outcome of the list at")
        predecessors = np.bincount(np.append(heads[begins], target), minlength=sizes.n_outcomes)
        _check_all(following, predecessors == 1, "must contain each outcome in one list; see outcome")
    if spec.memory != NO_MEMORY:
        visited = arrays["visits"] > 0
        _check_all("first_outcome", (arrays["first_outcome"] != NONE) == visited, "must fit the visits at")


def _check_sweep_inputs(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    """Pairs with several outcomes are listed; the dense sweep reads the next state of the other remembered pairs."""
    first, following = arrays["first_outcome"], arrays["outcomes.next_of_pair"]
    tried = np.flatnonzero(first != NONE)
    is_single = following[first[tried]] == NONE
    listed, several = arrays["stochastic_pairs"], tried[~is_single]
    _check_range("stochastic_pairs", listed, 0, sizes.n_pairs - 1)
    if not np.array_equal(np.sort(listed[: sizes.n_stochastic]), several):
        raise InvalidArray(f"stochastic_pairs must list the {len(several):,} pairs with several outcomes")
    is_stochastic = np.zeros(sizes.capacity, np.uint8)
    is_stochastic[several // spec.n_actions] = 1
    _check_all("flags", arrays["flags"][spec.n_swept] == is_stochastic, "must mark the stochastic states; see state")
    expected = np.zeros(sizes.n_pairs, np.uint32)
    single = tried[is_single & (arrays["stored"][tried] > 0)]
    expected[single] = arrays["outcomes.next_state"][first[single]]
    _check_all("sweep_next", arrays["sweep_next"] == expected, "must be the next state of the pair at")


def _check_work(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    """A state is on a work list at most once, and its flag says whether it is."""
    _check_range("work", arrays["work"], 0, sizes.n_states)
    if spec.n_own > 0:
        waiting = arrays["flags"][-1]
        _check_range("flags of planning", waiting, 0, 1)
        _check_zero("flags of planning of states that are not visited yet", waiting[sizes.n_states + 1 :])
        _check_zero("flags of planning of the terminal state", waiting[: TERMINAL + 1])
    for table, (n_active, dense_left) in enumerate(arrays["sweep_mode"].reshape(-1, 2).tolist()):
        if not (0 <= n_active <= sizes.n_states and 0 <= dense_left <= DENSE_RUN):
            raise InvalidArray(
                f"sweep_mode of table {table} is n_active {n_active:,}, dense_left {dense_left:,}; valid are 0 to "
                f"{sizes.n_states:,} and 0 to {DENSE_RUN}"
            )
        times_listed = np.bincount(arrays["work"][table, :n_active], minlength=sizes.capacity)
        _check_all(f"work of table {table}", times_listed[: TERMINAL + 1] == 0, "must not list the terminal state,")
        fits = times_listed == arrays["flags"][table]
        _check_all(f"flags of table {table}", fits & (times_listed < 2), "must mark the work list; see state")


def _check_transitions(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    """Each stored transition is one of an outcome; the slots of a window are in any order."""
    transitions, slots, n = arrays["transitions"], arrays["slots"], sizes.n_stored
    _check_range("transitions", transitions, 0, max(sizes.n_outcomes - 1, 0))
    if spec.memory == WINDOW or (spec.memory == FULL and spec.n_heads):
        times_stored = np.bincount(transitions[:n], minlength=sizes.n_outcomes)
        fits = times_stored == arrays["outcomes.stored"]
        _check_all("transitions", fits, "must agree with outcomes.stored; see outcome")
    if spec.memory == WINDOW:
        _check_range("slots", slots, 0, max(n - 1, 0))
        _check_all("slots", np.bincount(slots[:n], minlength=n) == 1, "must contain each stored transition once; see")


def _check_temporary(arrays: Arrays, sizes: Sizes) -> None:
    """Between two steps, temporary arrays hold nothing, or indices of the latest minibatch."""
    _check_range("batch", arrays["batch"], 0, max(sizes.n_outcomes, sizes.n_stored, 1) - 1)
    _check_range("converged", arrays["converged"], 0, 1)
    for name in ("batch_counts", "batch_rates"):
        _check_zero(name, arrays[name])
    _check_zero("scratch, row 1,", arrays["scratch"][1])


def _check_range(name: str, array: NDArray[Any], low: int, high: int) -> None:
    if array.size and (array.min() < low or array.max() > high):
        place = int(np.flatnonzero((array < low) | (array > high))[0])
        raise InvalidArray(f"{name} is {array.reshape(-1)[place]} at {place:,}; valid are {low:,} to {high:,}")


def _check_zero(name: str, array: NDArray[Any]) -> None:
    _check_all(name, array == 0, "must be 0, but is not at")


def _check_all(name: str, valid: NDArray[np.bool_], rule: str, *, first: int = 0) -> None:
    """Raise `InvalidArray` with the rule and the first place where it does not hold."""
    if not valid.all():
        raise InvalidArray(f"{name} {rule} {first + int(np.argmin(valid)):,}")
