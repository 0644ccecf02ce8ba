"""Creating and enlarging the arrays of a learner, without long pauses.

Arrays double while they are small. Then they are enlarged once to a size that is rarely exceeded, of which only the
used part takes memory. States get their initial values some thousands at a time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.learning.random_streams import named_seed, new_streams
from wanderlust.learning.spec import FULL, NO_MEMORY, REWARD, WINDOW, TableSpec
from wanderlust.learning.state import COUNTERS, NONE, SWEEP_MODE, TERMINAL, LearnerState, Outcomes

N_NOTES = 8
CACHE_LINE = 64

MAX_COPIED, INITIALISED_STATES, RESERVED_PAIRS = 2**14, 2**12, 2**23
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
    initialise_states(learner, spec, initial_values)
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
    states_full = counters.n_states + 3 > counters.n_initialised
    if states_full and counters.n_initialised == states:
        states = _next_size(states, RESERVED_PAIRS // spec.n_actions)
    if counters.n_outcomes + 1 > outcomes:
        outcomes = _next_size(outcomes, RESERVED_PAIRS)
    if counters.n_stored + 1 > stored:
        stored = 2 * stored + 2
    learner = resized(learner, spec, states=states, outcomes=outcomes, stored=stored)
    if states_full:
        initialise_states(learner, spec, initial_values)
    return learner


def _next_size(size: int, reserve: int) -> int:
    """Return twice the size; once there is much to copy, the reserve."""
    return reserve if MAX_COPIED < size < reserve else 2 * size + 2


def initialise_states(learner: LearnerState, spec: TableSpec, initial_values: InitialValues) -> None:
    """Write the initial values of the next states: of all that the arrays can hold, or of some thousands."""
    first = int(learner.counters.n_initialised)
    n_states = min(learner.state_capacity - first, INITIALISED_STATES)
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
    learner.counters.n_initialised += n_states


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


def trimmed(learner: LearnerState, spec: TableSpec) -> LearnerState:
    """Return the learner without reserved entries, as it is saved in files."""
    states, outcomes = int(learner.counters.n_initialised), int(learner.counters.n_outcomes)
    pairs = states * spec.n_actions
    changes: dict[str, Any] = {name: getattr(learner, name)[..., :states] for name in _BY_STATE}
    changes |= {name: getattr(learner, name)[..., :pairs] for name in (*_BY_PAIR, "stored", "batch_rates")}
    changes["outcomes"] = Outcomes._make(array[..., :outcomes] for array in learner.outcomes)
    changes["batch_counts"] = learner.batch_counts[:outcomes]
    return learner._replace(**changes)


def copied(learner: LearnerState, spec: TableSpec) -> LearnerState:
    """Return a copy of the learner without reserved entries."""
    short = trimmed(learner, spec)
    copies: dict[str, Any] = {name: array.copy() for name, array in short._asdict().items() if name != "outcomes"}
    copies["counters"] = np.array([learner.counters], COUNTERS)[0]
    copies["outcomes"] = Outcomes._make(array.copy() for array in short.outcomes)
    if learner.stored is learner.visits:
        copies["stored"] = copies["visits"]
    return LearnerState(**copies)


def n_bytes(learner: LearnerState) -> int:
    """Return the size of all arrays."""
    arrays: list[Any] = [array for array in learner if not isinstance(array, Outcomes)]
    return sum(int(array.nbytes) for array in [*arrays, *learner.outcomes])


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
