"""Making a mind and letting it grow, without ever making its owner wait.

Arrays double while they are small. Then they leap to a size that will hardly be outgrown, of which only what is used
takes memory, and states get their initial values some thousands at a time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.learning.mind import (
    END,
    FULL,
    N_ROWS,
    N_STATES,
    N_STORED,
    NO_MEMORY,
    NONE,
    ROOM,
    ROW_REWARD,
    WINDOW,
    Mind,
    Plan,
)
from wanderlust.streams import named_seed, new_streams

N_NOTES = 8
CACHE_LINE = 64

# Arrays of so many states or rows are copied in no time. Above, growing must not make anybody wait.
LARGEST_COPY, PREPARED_STATES, RESERVED_PAIRS = 2**14, 2**12, 2**23

_BY_STATE = ("best", "into", "work", "flags")
_BY_PAIR = ("tries", "values", "mirror", "next_id", "first_row", "multi", "scratch")
_BY_ROW = ("row_ints", "row_floats", "times")


class Soil:
    """The initial values of states not met yet, the same however often the tables have grown.

    Heads of an ensemble start with Gaussian noise. It is drawn state by state, so that it does not depend on the sizes
    in which the tables grew.
    """

    def __init__(self, plan: Plan, noise: float, seed: int) -> None:
        self.plan = plan
        self.noise = noise
        self._generator = np.random.Generator(np.random.PCG64(named_seed(seed, "initial values")))

    def values(self, n_states: int) -> NDArray[np.float64]:
        """Return the initial values of the next `n_states` states: [table, state, action]."""
        plan = self.plan
        fresh = np.repeat(plan.initial, n_states * plan.n_actions).reshape(-1, n_states, plan.n_actions)
        if plan.n_heads and self.noise:
            drawn = self._generator.standard_normal((n_states, plan.n_heads, plan.n_actions))
            fresh[plan.n_swept :] += self.noise * drawn.transpose(1, 0, 2)
        return fresh

    def skip(self, n_states: int) -> None:
        """Go past states whose values are known already."""
        self.values(n_states)


def new_mind(plan: Plan, soil: Soil, seed: int, *, states: int = 64) -> Mind:
    """Return the mind of an agent that has seen nothing, with room for some states."""
    n_tables = len(plan.signal)
    n_rows_of_floats = 1 + max(ROW_REWARD, plan.bonus_row, plan.visit_row)
    tries = np.zeros(0, np.int64)
    empty = Mind(
        numbers=np.zeros(ROOM + 1, np.int64),
        tries=tries,
        stored=np.zeros(0, np.int64) if plan.memory == WINDOW else tries,
        values=np.zeros((n_tables, 0)),
        best=np.zeros((n_tables, 0)),
        mirror=np.zeros((plan.n_swept, 0)),
        next_id=np.zeros(0, np.uint32),
        first_row=np.zeros(0, np.int32),
        into=np.zeros(0, np.int32),
        row_ints=np.zeros((5, 0), np.int32),
        row_floats=np.zeros((n_rows_of_floats, 0)),
        multi=np.zeros(0, np.int32),
        work=np.zeros((plan.n_swept + 1, 0), np.int32),
        flags=np.zeros((plan.n_swept + 1, 0), np.uint8),
        pace=np.zeros((plan.n_swept, 2), np.int64),
        scratch=np.zeros((2, 0)),
        memory=np.zeros(0, np.uint32),
        slots=np.zeros(0, np.uint32),
        drawn=np.zeros(plan.batch, np.int32),
        times=np.zeros(0, np.int32),
        rates=np.zeros(0),
        asleep=np.zeros(plan.n_heads, np.uint8),
        streams=new_streams(seed),
        notes=np.zeros(N_NOTES),
        scores=np.zeros(plan.n_actions),
    )
    mind = reserved(empty, plan, states=states + 1, rows=states * plan.n_actions, stored=states)
    prepare(mind, plan, soil)
    return mind


def enlarged(mind: Mind, plan: Plan, soil: Soil) -> Mind:
    """Return the mind with more room wherever there is none left."""
    states, rows, stored = mind.state_capacity, mind.row_capacity, len(mind.memory)
    states_full = mind.numbers[N_STATES] + 3 > mind.room
    if states_full and mind.room == states:
        states = _next_size(states, RESERVED_PAIRS // plan.n_actions)
    if mind.numbers[N_ROWS] + 1 > rows:
        rows = _next_size(rows, RESERVED_PAIRS)
    if mind.numbers[N_STORED] + 1 > stored:
        stored = 2 * stored + 2
    mind = reserved(mind, plan, states=states, rows=rows, stored=stored)
    if states_full:
        prepare(mind, plan, soil)
    return mind


def _next_size(size: int, leap: int) -> int:
    """Return twice the size; once there is much to copy, as much as will hardly ever be outgrown."""
    return leap if LARGEST_COPY < size < leap else 2 * size + 2


def prepare(mind: Mind, plan: Plan, soil: Soil) -> None:
    """Put the initial values of further states in their places: of all that the arrays can hold, if they are few."""
    first = mind.room
    n_states = min(mind.state_capacity - first, PREPARED_STATES)
    fresh = soil.values(n_states)
    if first == 0:
        fresh[:, END, :] = 0.0
    states, pairs = slice(first, first + n_states), slice(first * plan.n_actions, (first + n_states) * plan.n_actions)
    flat = fresh.reshape(len(fresh), -1)
    sign = np.where(plan.minimise, -1.0, 1.0)[:, None]
    mind.values[:, pairs] = flat
    mind.best[:, states] = sign * (sign[:, :, None] * fresh).max(axis=2)
    mind.mirror[:, pairs] = flat[: plan.n_swept]
    mind.first_row[pairs] = NONE
    mind.into[states] = NONE
    mind.numbers[ROOM] += n_states


def reserved(mind: Mind, plan: Plan, *, states: int, rows: int, stored: int) -> Mind:
    """Return the mind in arrays of the given sizes, what is new being zero.

    The operating system hands out memory of zeros only when it is written to, so that a large reserve costs nothing.
    """
    # So many that every table begins with a line of the cache, not only the first.
    states += -states % (CACHE_LINE // mind.values.itemsize)
    more_states, more_rows = states - mind.state_capacity, rows - mind.row_capacity
    pairs = more_states * plan.n_actions
    changes: dict[str, Any] = {name: _longer(getattr(mind, name), more_states) for name in _BY_STATE}
    changes |= {name: _longer(getattr(mind, name), pairs) for name in _BY_PAIR}
    changes["stored"] = _longer(mind.stored, pairs) if plan.memory == WINDOW else changes["tries"]
    if plan.memory == FULL and plan.n_heads:
        changes["rates"] = _longer(mind.rates, pairs)
    if plan.memory != NO_MEMORY:
        changes |= {name: _longer(getattr(mind, name), more_rows) for name in _BY_ROW}
    if plan.memory == WINDOW:
        changes["memory"] = _longer(mind.memory, plan.window + 1 - len(mind.memory))
        changes["slots"] = _longer(mind.slots, plan.window - len(mind.slots))
    elif plan.memory == FULL:
        # Only minibatches look at single transitions; sweeps need the rows alone.
        needed = stored - len(mind.memory) if plan.n_heads else 1 - len(mind.memory)
        changes["memory"] = _longer(mind.memory, max(needed, 0))
    return mind._replace(**changes)


def trimmed(mind: Mind, plan: Plan) -> Mind:
    """Return the mind without what is merely reserved, as it is kept in files."""
    states, pairs, rows = mind.room, mind.room * plan.n_actions, int(mind.numbers[N_ROWS])
    changes = {name: getattr(mind, name)[..., :states] for name in _BY_STATE}
    changes |= {name: getattr(mind, name)[..., :pairs] for name in (*_BY_PAIR, "stored", "rates")}
    changes |= {name: getattr(mind, name)[..., :rows] for name in _BY_ROW}
    return mind._replace(**changes)


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
