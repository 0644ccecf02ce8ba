"""Making a learner and letting it grow, without ever making its owner wait.

Arrays double while they are small. Then they leap to a size that will hardly be outgrown, of which only what is used
takes memory, and states get their initial values some thousands at a time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.learning.random_streams import named_seed, new_streams
from wanderlust.learning.state import (
    FULL,
    N_ROWS,
    N_STATES,
    N_STORED,
    NO_MEMORY,
    NONE,
    ROOM,
    ROW_REWARD,
    TERMINAL,
    WINDOW,
    LearnerState,
    TableSpec,
)

N_NOTES = 8
CACHE_LINE = 64

# Arrays of so many states or rows are copied in no time. Above, growing must not make anybody wait.
MAX_COPY, PREPARED_STATES, RESERVED_PAIRS = 2**14, 2**12, 2**23

_BY_STATE = ("best", "into", "work", "flags")
_BY_PAIR = ("visits", "values", "sweep_reward", "sweep_next", "first_row", "multi", "scratch")
_BY_ROW = ("row_ints", "row_floats", "times")


class InitialValues:
    """The initial values of states not met yet, the same however often the tables have grown.

    Heads of an ensemble start with Gaussian noise. It is drawn state by state, so that it does not depend on the sizes
    in which the tables grew.
    """

    def __init__(self, spec: TableSpec, noise: float, seed: int) -> None:
        self.spec = spec
        self.noise = noise
        self._generator = np.random.Generator(np.random.PCG64(named_seed(seed, "initial values")))

    def values(self, n_states: int) -> NDArray[np.float64]:
        """Return the initial values of the next `n_states` states: [table, state, action]."""
        spec = self.spec
        fresh = np.repeat(spec.initial, n_states * spec.n_actions).reshape(-1, n_states, spec.n_actions)
        if spec.n_heads and self.noise:
            drawn = self._generator.standard_normal((n_states, spec.n_heads, spec.n_actions))
            fresh[spec.n_swept :] += self.noise * drawn.transpose(1, 0, 2)
        return fresh

    def skip(self, n_states: int) -> None:
        """Go past states whose values are known already."""
        self.values(n_states)


def new_learner(spec: TableSpec, initial_values: InitialValues, seed: int, *, states: int = 64) -> LearnerState:
    """Return the learner of an agent that has seen nothing, with room for some states."""
    n_tables = len(spec.signal)
    n_rows_of_floats = 1 + max(ROW_REWARD, spec.bonus_row, spec.visit_row)
    visits = np.zeros(0, np.int64)
    empty = LearnerState(
        numbers=np.zeros(ROOM + 1, np.int64),
        visits=visits,
        stored=np.zeros(0, np.int64) if spec.memory == WINDOW else visits,
        values=np.zeros((n_tables, 0)),
        best=np.zeros((n_tables, 0)),
        sweep_reward=np.zeros((spec.n_swept, 0)),
        sweep_next=np.zeros(0, np.uint32),
        first_row=np.zeros(0, np.int32),
        into=np.zeros(0, np.int32),
        row_ints=np.zeros((5, 0), np.int32),
        row_floats=np.zeros((n_rows_of_floats, 0)),
        multi=np.zeros(0, np.int32),
        work=np.zeros((spec.n_swept + 1, 0), np.int32),
        flags=np.zeros((spec.n_swept + 1, 0), np.uint8),
        pace=np.zeros((spec.n_swept, 2), np.int64),
        scratch=np.zeros((2, 0)),
        memory=np.zeros(0, np.uint32),
        slots=np.zeros(0, np.uint32),
        drawn=np.zeros(spec.batch, np.int32),
        times=np.zeros(0, np.int32),
        rates=np.zeros(0),
        converged=np.zeros(spec.n_heads, np.uint8),
        streams=new_streams(seed),
        notes=np.zeros(N_NOTES),
        scores=np.zeros(spec.n_actions),
    )
    learner = reserved(empty, spec, states=states + 1, rows=states * spec.n_actions, stored=states)
    prepare(learner, spec, initial_values)
    return learner


def enlarged(learner: LearnerState, spec: TableSpec, initial_values: InitialValues) -> LearnerState:
    """Return the learner with more room wherever there is none left."""
    states, rows, stored = learner.state_capacity, learner.row_capacity, len(learner.memory)
    states_full = learner.numbers[N_STATES] + 3 > learner.room
    if states_full and learner.room == states:
        states = _next_size(states, RESERVED_PAIRS // spec.n_actions)
    if learner.numbers[N_ROWS] + 1 > rows:
        rows = _next_size(rows, RESERVED_PAIRS)
    if learner.numbers[N_STORED] + 1 > stored:
        stored = 2 * stored + 2
    learner = reserved(learner, spec, states=states, rows=rows, stored=stored)
    if states_full:
        prepare(learner, spec, initial_values)
    return learner


def _next_size(size: int, leap: int) -> int:
    """Return twice the size; once there is much to copy, as much as will hardly ever be outgrown."""
    return leap if MAX_COPY < size < leap else 2 * size + 2


def prepare(learner: LearnerState, spec: TableSpec, initial_values: InitialValues) -> None:
    """Put the initial values of further states in their places: of all that the arrays can hold, if they are few."""
    first = learner.room
    n_states = min(learner.state_capacity - first, PREPARED_STATES)
    fresh = initial_values.values(n_states)
    if first == 0:
        fresh[:, TERMINAL, :] = 0.0
    states, pairs = slice(first, first + n_states), slice(first * spec.n_actions, (first + n_states) * spec.n_actions)
    flat = fresh.reshape(len(fresh), -1)
    sign = np.where(spec.minimise, -1.0, 1.0)[:, None]
    learner.values[:, pairs] = flat
    learner.best[:, states] = sign * (sign[:, :, None] * fresh).max(axis=2)
    learner.sweep_reward[:, pairs] = flat[: spec.n_swept]
    learner.first_row[pairs] = NONE
    learner.into[states] = NONE
    learner.numbers[ROOM] += n_states


def reserved(learner: LearnerState, spec: TableSpec, *, states: int, rows: int, stored: int) -> LearnerState:
    """Return the learner in arrays of the given sizes, what is new being zero.

    The operating system hands out memory of zeros only when it is written to, so that a large reserve costs nothing.
    """
    # So many that every table begins with a line of the cache, not only the first.
    states += -states % (CACHE_LINE // learner.values.itemsize)
    more_states, more_rows = states - learner.state_capacity, rows - learner.row_capacity
    pairs = more_states * spec.n_actions
    changes: dict[str, Any] = {name: _longer(getattr(learner, name), more_states) for name in _BY_STATE}
    changes |= {name: _longer(getattr(learner, name), pairs) for name in _BY_PAIR}
    changes["stored"] = _longer(learner.stored, pairs) if spec.memory == WINDOW else changes["visits"]
    if spec.memory == FULL and spec.n_heads:
        changes["rates"] = _longer(learner.rates, pairs)
    if spec.memory != NO_MEMORY:
        changes |= {name: _longer(getattr(learner, name), more_rows) for name in _BY_ROW}
    if spec.memory == WINDOW:
        changes["memory"] = _longer(learner.memory, spec.window + 1 - len(learner.memory))
        changes["slots"] = _longer(learner.slots, spec.window - len(learner.slots))
    elif spec.memory == FULL:
        # Only minibatches look at single transitions; sweeps need the rows alone.
        needed = stored - len(learner.memory) if spec.n_heads else 1 - len(learner.memory)
        changes["memory"] = _longer(learner.memory, max(needed, 0))
    return learner._replace(**changes)


def trimmed(learner: LearnerState, spec: TableSpec) -> LearnerState:
    """Return the learner without what is merely reserved, as it is kept in files."""
    states, pairs, rows = learner.room, learner.room * spec.n_actions, int(learner.numbers[N_ROWS])
    changes = {name: getattr(learner, name)[..., :states] for name in _BY_STATE}
    changes |= {name: getattr(learner, name)[..., :pairs] for name in (*_BY_PAIR, "stored", "rates")}
    changes |= {name: getattr(learner, name)[..., :rows] for name in _BY_ROW}
    return learner._replace(**changes)


def _longer(array: NDArray[Any], more: int) -> NDArray[Any]:
    """Return the array with `more` zeros behind its last axis."""
    if more == 0:
        return array
    longer = _zeros((*array.shape[:-1], array.shape[-1] + more), array.dtype)
    longer[..., : array.shape[-1]] = array
    return longer


def _zeros(shape: tuple[int, ...], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return zeros that begin with a line of the cache: vectors that lie across two lines take longer to load."""
    size = math.prod(shape) * kind.itemsize
    block = np.zeros(size + CACHE_LINE, np.uint8)
    first = -block.ctypes.data % CACHE_LINE
    return block[first : first + size].view(kind).reshape(shape)
