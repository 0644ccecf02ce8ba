"""Everything that changes while an agent learns, as flat arrays.

States are indexed in the order in which they are first visited, from 1. Index 0 (`TERMINAL`) is the terminal state: its
value is always 0, so a terminal transition is one that leads to `TERMINAL`, and no formula checks for it. A pair
(state, action) has the index `state * n_actions + action`.

An **outcome** is a distinct (state, action, next state) that was observed, with its count and its mean reward. Full
memory needs nothing more: the mean TD error over all stored transitions of a pair is a weighted sum over its outcomes.
The outcomes of one pair form a linked list (`Outcomes.next_of_pair`), and so do the outcomes that lead into one state
(`Outcomes.next_into`): the pairs to update when the value of that state changes.

The dense sweep reads one reward and one next state per pair (`sweep_reward`, `sweep_next`). For pairs that it must
not change (untried, or with several outcomes), the reward is the pair's own value and the next state is `TERMINAL`.

Arrays grow without long pauses: they double while they are small, then they are enlarged once to a size that is rarely
exceeded, of which only the used part takes memory. States get their initial values some thousands at a time.

Named, independent **random streams** come from one seed. A stream is one 64-bit counter. Each draw adds a constant and
scrambles the sum (SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). NumPy's
`SeedSequence` derives the initial counters from the seed and the stream's name. A draw takes about a nanosecond in
compiled code, a stream is saved as one integer, and it gives the same numbers in a fused run, step by step, and in
plain Python.
"""

from __future__ import annotations

import math
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import formula
from wanderlust.learning.td import EXCLUDED, FULL, NO_MEMORY, NO_SIGNAL, REWARD, TARGET, WINDOW, Floats, Ints, TableSpec

TERMINAL = 0
NONE = -1

COUNTERS = np.dtype(
    (
        np.record,
        [
            ("n_states", np.int64),  # states visited so far, without TERMINAL
            ("n_outcomes", np.int64),
            ("n_stored", np.int64),  # stored transitions, where single ones are replayed
            ("n_stochastic", np.int64),  # pairs with several outcomes
            ("max_visits", np.int64),  # the largest visit count of any pair
            ("step", np.int64),
            ("policy_changed", np.int64),  # whether the evaluated table changed since the last evaluation
            ("n_discovered", np.int64),  # states in which an action was taken
            ("n_initialized", np.int64),  # states whose initial values are written, with TERMINAL
        ],
    )
)
SWEEP_MODE = np.dtype(
    (
        np.record,
        [
            ("n_active", np.int64),  # states on the table's work list
            ("dense_left", np.int64),  # dense sweeps until the next check for activity; 0: active sweeps
        ],
    )
)


class Outcomes(NamedTuple):
    """Distinct observed (state, action, next state), one per row."""

    pair: NDArray[np.int32]
    state: NDArray[np.int32]
    next_state: NDArray[np.int32]
    next_of_pair: NDArray[np.int32]
    """The next outcome of the same pair, or `NONE`."""
    next_into: NDArray[np.int32]
    """The next outcome with the same next state, or `NONE`."""
    stored: Floats
    """The number of stored transitions."""
    weight: Floats
    """Its share of the stored transitions of its pair."""
    signals: Floats
    """[signal, outcome]: the mean reward, then the explorer's own signals."""


class LearnerState(NamedTuple):
    """Everything that changes while an agent learns; see the module's docstring for the terms."""

    counters: Any
    """A record of `COUNTERS`."""
    visits: Ints
    """[pair]: n(s, a), the visit count."""
    stored: Ints
    """[pair]: the number of stored transitions; the same array as `visits` unless a window forgets some."""
    values: Floats
    """[table, pair]"""
    state_values: Floats
    """[table, state]: the value of the best action."""
    sweep_reward: Floats
    """[swept table, pair]"""
    sweep_next: NDArray[np.uint32]
    """[pair]"""
    first_outcome: NDArray[np.int32]
    """[pair]: the first of its outcomes, or `NONE`."""
    first_into: NDArray[np.int32]
    """[state]: the first outcome that leads into it, or `NONE`."""
    outcomes: Outcomes
    stochastic_pairs: NDArray[np.int32]
    """The pairs with several outcomes, in the order in which that was observed."""
    work: NDArray[np.int32]
    """[swept table, i]: the states on its work list; the last row is a spare list."""
    flags: NDArray[np.uint8]
    """[swept table, state]: whether it is on the work list; next row: whether it has a pair with several outcomes; with
    tables that the explorer updates itself, another row: whether planning must back up the state."""
    sweep_mode: NDArray[np.void]
    """[swept table]: records of `SWEEP_MODE`."""
    scratch: Floats
    """Two temporary arrays, [2, pair]."""
    transitions: NDArray[np.uint32]
    """The outcome of each stored transition."""
    slots: NDArray[np.uint32]
    """Indices of stored transitions in random order, where a window is sampled."""
    batch: NDArray[np.int32]
    """The outcomes of the current minibatch."""
    batch_counts: NDArray[np.int32]
    """[outcome]: how often it is in the current minibatch."""
    batch_rates: Floats
    """[pair]: its learning rate for the current minibatch."""
    converged: NDArray[np.uint8]
    """[head]: whether no minibatch can change it until something new is observed."""
    streams: NDArray[np.uint64]
    """The random streams."""
    notes: Floats
    """Numbers that the explorer keeps between steps."""
    scores: Floats
    """[action]: temporary."""

    @property
    def state_capacity(self) -> int:
        """The number of states that the arrays can hold, `TERMINAL` included."""
        return int(self.state_values.shape[1])

    @property
    def outcome_capacity(self) -> int:
        """The number of outcomes that the arrays can hold."""
        return len(self.outcomes.pair)


N_NOTES = 8
CACHE_LINE = 64

MAX_COPIED, INITIALIZED_STATES, RESERVED_PAIRS = 2**14, 2**12, 2**23
"""Arrays up to `MAX_COPIED` states or outcomes are copied when they grow, which takes no noticeable time."""
FIRST_STATES = 64
"""The number of states for which a new learner has room."""

_BY_STATE = ("state_values", "first_into", "work", "flags")
_BY_PAIR = ("visits", "values", "sweep_reward", "sweep_next", "first_outcome", "stochastic_pairs", "scratch")


class InitialValues:
    """The initial values of states not visited yet; they do not depend on how often the tables have grown.

    Heads of an ensemble start with Gaussian noise. It is drawn state by state.
    """

    def __init__(self, spec: TableSpec, noise: float, seed: int) -> None:
        self.spec = spec
        self.noise = noise
        self._generator = np.random.Generator(np.random.PCG64(named_seed(seed, "initial values")))

    def draw(self, n_states: int) -> NDArray[np.float64]:
        """Return the initial values of the next `n_states` states: [table, state, action]."""
        spec = self.spec
        values = np.repeat(spec.initial, n_states * spec.n_actions).reshape(-1, n_states, spec.n_actions)
        if spec.n_heads and self.noise:
            noise = self._generator.standard_normal((n_states, spec.n_heads, spec.n_actions))
            values[spec.n_swept : spec.n_swept + spec.n_heads] += self.noise * noise.transpose(1, 0, 2)
        return values


def new_learner(
    spec: TableSpec, initial_values: InitialValues, seed: int, *, states: int = FIRST_STATES
) -> LearnerState:
    """Return the state of a learner that has observed nothing, with room for some states."""
    n_tables = len(spec.signal)
    n_signals = count_signals(spec)
    visits = np.zeros(0, np.int64)
    empty = LearnerState(
        counters=np.zeros(1, COUNTERS)[0],
        visits=visits,
        stored=np.zeros(0, np.int64) if spec.memory == WINDOW else visits,
        values=np.zeros((n_tables, 0)),
        state_values=np.zeros((n_tables, 0)),
        sweep_reward=np.zeros((spec.n_swept, 0)),
        sweep_next=np.zeros(0, np.uint32),
        first_outcome=np.zeros(0, np.int32),
        first_into=np.zeros(0, np.int32),
        outcomes=Outcomes(
            pair=np.zeros(0, np.int32),
            state=np.zeros(0, np.int32),
            next_state=np.zeros(0, np.int32),
            next_of_pair=np.zeros(0, np.int32),
            next_into=np.zeros(0, np.int32),
            stored=np.zeros(0),
            weight=np.zeros(0),
            signals=np.zeros((n_signals, 0)),
        ),
        stochastic_pairs=np.zeros(0, np.int32),
        work=np.zeros((spec.n_swept + 1, 0), np.int32),
        flags=np.zeros((count_flags(spec), 0), np.uint8),
        sweep_mode=np.zeros(spec.n_swept, SWEEP_MODE),
        scratch=np.zeros((2, 0)),
        transitions=np.zeros(0, np.uint32),
        slots=np.zeros(0, np.uint32),
        batch=np.zeros(spec.batch_size, np.int32),
        batch_counts=np.zeros(0, np.int32),
        batch_rates=np.zeros(0),
        converged=np.zeros(spec.n_heads, np.uint8),
        streams=new_streams(seed),
        notes=np.zeros(N_NOTES),
        scores=np.zeros(spec.n_actions),
    )
    learner = resized(empty, spec, states=states + 1, outcomes=states * spec.n_actions, stored=states)
    initialize_states(learner, spec, initial_values)
    return learner


def count_signals(spec: TableSpec) -> int:
    """Return the number of signals of each outcome."""
    return 1 + max(REWARD, spec.bonus_signal, spec.visitation_signal, spec.own_signal)


def count_flags(spec: TableSpec) -> int:
    """Return the number of flags of each state; see `LearnerState.flags`."""
    return spec.n_swept + 1 + (spec.n_own > 0)


def enlarged(learner: LearnerState, spec: TableSpec, initial_values: InitialValues) -> LearnerState:
    """Return the learner with more room wherever there is none left."""
    counters = learner.counters
    states, outcomes, stored = learner.state_capacity, learner.outcome_capacity, len(learner.transitions)
    states_full = counters.n_states + 3 > counters.n_initialized
    if states_full and counters.n_initialized == states:
        states = _next_size(states, RESERVED_PAIRS // spec.n_actions)
    if counters.n_outcomes + 1 > outcomes:
        outcomes = _next_size(outcomes, RESERVED_PAIRS)
    if counters.n_stored + 1 > stored:
        stored = 2 * stored + 2
    learner = resized(learner, spec, states=states, outcomes=outcomes, stored=stored)
    if states_full:
        initialize_states(learner, spec, initial_values)
    return learner


def _next_size(size: int, reserve: int) -> int:
    """Return twice the size; once there is much to copy, the reserve."""
    return reserve if MAX_COPIED < size < reserve else 2 * size + 2


def initialize_states(learner: LearnerState, spec: TableSpec, initial_values: InitialValues) -> None:
    """Write the initial values of the next states: of all that the arrays can hold, or of some thousands."""
    first = int(learner.counters.n_initialized)
    n_states = min(learner.state_capacity - first, INITIALIZED_STATES)
    values = initial_values.draw(n_states)
    if first == 0:
        values[:, TERMINAL, :] = 0.0
    states, pairs = slice(first, first + n_states), slice(first * spec.n_actions, (first + n_states) * spec.n_actions)
    flat = values.reshape(len(values), -1)
    sign = np.where(spec.minimise, -1.0, 1.0)[:, None]
    learner.values[:, pairs] = flat
    learner.state_values[:, states] = sign * (sign[:, :, None] * values).max(axis=2)
    learner.sweep_reward[:, pairs] = flat[: spec.n_swept]
    learner.first_outcome[pairs] = NONE
    learner.first_into[states] = NONE
    learner.counters.n_initialized += n_states


def resized(learner: LearnerState, spec: TableSpec, *, states: int, outcomes: int, stored: int) -> LearnerState:
    """Return the learner with arrays of the given sizes; new entries are zero.

    The operating system provides pages of zeros when they are first written to, so a large reserve costs nothing.
    """
    # A multiple of the cache line, so that the row of every table begins with one.
    states += -states % (CACHE_LINE // learner.values.itemsize)
    new_states, new_outcomes = states - learner.state_capacity, outcomes - learner.outcome_capacity
    new_pairs = new_states * spec.n_actions
    changes: dict[str, Any] = {name: _extended(getattr(learner, name), new_states) for name in _BY_STATE}
    changes |= {name: _extended(getattr(learner, name), new_pairs) for name in _BY_PAIR}
    changes["stored"] = _extended(learner.stored, new_pairs) if spec.memory == WINDOW else changes["visits"]
    if spec.memory == FULL and spec.n_heads:
        changes["batch_rates"] = _extended(learner.batch_rates, new_pairs)
    if spec.memory != NO_MEMORY:
        changes["outcomes"] = Outcomes._make(_extended(array, new_outcomes) for array in learner.outcomes)
        changes["batch_counts"] = _extended(learner.batch_counts, new_outcomes)
    if spec.memory == WINDOW:
        changes["transitions"] = _extended(learner.transitions, spec.capacity + 1 - len(learner.transitions))
        changes["slots"] = _extended(learner.slots, spec.capacity - len(learner.slots))
    elif spec.memory == FULL:
        # Only minibatches need single transitions; sweeps need the outcomes alone.
        needed = stored - len(learner.transitions) if spec.n_heads else 1 - len(learner.transitions)
        changes["transitions"] = _extended(learner.transitions, max(needed, 0))
    return learner._replace(**changes)


def copied(learner: LearnerState, spec: TableSpec) -> LearnerState:
    """Return a copy of the learner without reserved entries."""
    states, outcomes = int(learner.counters.n_initialized), int(learner.counters.n_outcomes)
    pairs = states * spec.n_actions
    used = dict.fromkeys(_BY_STATE, states) | dict.fromkeys((*_BY_PAIR, "stored", "batch_rates"), pairs)
    used["batch_counts"] = outcomes
    copies: dict[str, Any] = {
        name: array[..., : used[name]].copy() if name in used else array.copy()
        for name, array in learner._asdict().items()
        if name not in ("counters", "outcomes")
    }
    copies["counters"] = np.array([learner.counters], COUNTERS)[0]
    copies["outcomes"] = Outcomes._make(array[..., :outcomes].copy() for array in learner.outcomes)
    if learner.stored is learner.visits:
        copies["stored"] = copies["visits"]
    return LearnerState(**copies)


def _extended(array: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the array with `n` zeros appended to its last axis."""
    if n == 0:
        return array
    longer = _aligned_zeros((*array.shape[:-1], array.shape[-1] + n), array.dtype)
    longer[..., : array.shape[-1]] = array
    return longer


def _aligned_zeros(shape: tuple[int, ...], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return zeros that begin with a cache line: vectors that cross two lines take longer to load."""
    size = math.prod(shape) * kind.itemsize
    block = np.zeros(size + CACHE_LINE, np.uint8)
    first = -block.ctypes.data % CACHE_LINE
    return block[first : first + size].view(kind).reshape(shape)


def by_state(flat: NDArray[Any], state_index: NDArray[np.int32], spec: TableSpec) -> NDArray[Any]:
    """Return [..., state, action] of an array [..., pair]; states never visited get the terminal state's zeros."""
    shaped = flat.reshape(*flat.shape[:-1], -1, spec.n_actions)
    return shaped[..., state_index, :]


def tables_by_state(learner: LearnerState, state_index: NDArray[np.int32], spec: TableSpec) -> dict[str, Floats]:
    """Return the learnt tables by name; states never visited have their initial values.

    Invalid actions that were never tried have the value -∞, where values are minimised ∞.
    """
    values = by_state(learner.values, state_index, spec)
    is_excluded = np.abs(values) == EXCLUDED
    if is_excluded.any():
        values[is_excluded] = np.copysign(np.inf, values[is_excluded])
    values[:, state_index == TERMINAL, :] = spec.initial[:, None, None]
    tables = {"target": values[TARGET], "behaviour": values[spec.behaviour]}
    if spec.visitation_signal != NO_SIGNAL:
        tables["visitation"] = values[spec.visitation]
    if spec.n_heads > 0:
        tables["heads"] = values[spec.n_swept : spec.n_swept + spec.n_heads]
        del tables["behaviour"]
    if spec.n_own > 0:
        tables["own"] = values[spec.own :]
    return tables


# --- Random streams ------------------------------------------------------------------------------------

Streams = NDArray[np.uint64]

# The order is part of what a seed means.
WORLD, EXPLORER, REPLAY, EVALUATION = 0, 1, 2, 3
NAMES = ("world", "explorer", "replay", "evaluation")

STRIDE = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_30, _SHIFT_27, _SHIFT_31, _SHIFT_11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_TO_UNIT = math.ldexp(1.0, -53)
_TWO_TO_32 = np.uint64(2**32)
HALF_WORD, LOW_HALF = np.uint64(32), np.uint64(2**32 - 1)


def new_streams(seed: int) -> Streams:
    """Return the counters of all named streams for a seed."""
    return np.array([named_seed(seed, name).generate_state(1, np.uint64)[0] for name in NAMES])


def named_seed(seed: int, name: str) -> np.random.SeedSequence:
    """Return the seed sequence of one named stream."""
    return np.random.SeedSequence([seed, zlib.crc32(name.encode())])


@formula
def scrambled(counter: np.uint64) -> np.uint64:
    """Return the 64 random bits of a stream's counter."""
    bits = (counter ^ (counter >> _SHIFT_30)) * _MIX_1
    bits = (bits ^ (bits >> _SHIFT_27)) * _MIX_2
    return bits ^ (bits >> _SHIFT_31)


@formula
def uniform(streams: Streams, which: int) -> float:
    """Draw a number from [0, 1) from one stream."""
    counter = streams[which] + STRIDE
    streams[which] = counter
    return float(scrambled(counter) >> _SHIFT_11) * _TO_UNIT


@formula
def below(streams: Streams, which: int, n: int) -> int:
    """Draw an integer from 0 to n - 1 from one stream."""
    return int(uniform(streams, which) * n)


@formula
def scaled(bits: np.uint64, n: np.uint64) -> np.uint64:
    """Turn 32 random bits into an integer below n: the upper half of their product (Lemire 2019)."""
    return (bits * n) >> HALF_WORD


@formula
def is_unbiased(bits: np.uint64, n: np.uint64) -> bool:
    """Return whether `scaled` may use these bits; otherwise some integers would be drawn too often."""
    return bool(is_surely_unbiased(bits, n) or (bits * n) & LOW_HALF >= _TWO_TO_32 % n)


@formula
def is_surely_unbiased(bits: np.uint64, n: np.uint64) -> bool:
    """Return the same without a division, with some false negatives."""
    return bool((bits * n) & LOW_HALF >= n)
