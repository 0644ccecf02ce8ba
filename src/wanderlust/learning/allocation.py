"""Making a mind and letting it grow: arrays double when states, rows or stored transitions outgrow them."""

from __future__ import annotations

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
    ROW_REWARD,
    WINDOW,
    Mind,
    Plan,
)
from wanderlust.streams import named_seed, new_streams

N_NOTES = 8


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
        numbers=np.zeros(8, np.int64),
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
    return grown(empty, plan, soil, states=states + 1, rows=states, stored=states)


def enlarged(mind: Mind, plan: Plan, soil: Soil) -> Mind:
    """Return the mind with twice the room wherever there is none left."""
    states, rows, stored = mind.state_capacity, mind.row_capacity, len(mind.memory)
    if mind.numbers[N_STATES] + 3 > states:
        states = 2 * states + 2
    if mind.numbers[N_ROWS] + 1 > rows:
        rows = 2 * rows + 2
    if mind.numbers[N_STORED] + 1 > stored:
        stored = 2 * stored + 2
    return grown(mind, plan, soil, states=states, rows=rows, stored=stored)


def grown(mind: Mind, plan: Plan, soil: Soil, *, states: int, rows: int, stored: int) -> Mind:
    """Return the mind in arrays of the given sizes, what is new filled with "never seen"."""
    old_states, new_states = mind.state_capacity, states - mind.state_capacity
    changes: dict[str, Any] = {}
    if new_states:
        fresh = soil.values(new_states)
        if old_states == 0:
            fresh[:, END, :] = 0.0
        flat = fresh.reshape(len(fresh), -1)
        pairs = new_states * plan.n_actions
        sign = np.where(plan.minimise, -1.0, 1.0)[:, None]
        changes |= {
            "tries": _longer(mind.tries, pairs, 0),
            "values": np.concatenate([mind.values, flat], axis=1),
            "best": np.concatenate([mind.best, sign * (sign[:, :, None] * fresh).max(axis=2)], axis=1),
            "mirror": np.concatenate([mind.mirror, flat[: plan.n_swept]], axis=1),
            "next_id": _longer(mind.next_id, pairs, END),
            "first_row": _longer(mind.first_row, pairs, NONE),
            "into": _longer(mind.into, new_states, NONE),
            "multi": _longer(mind.multi, pairs, NONE),
            "work": _longer(mind.work, new_states, 0),
            "flags": _longer(mind.flags, new_states, 0),
            "scratch": _longer(mind.scratch, pairs, 0),
        }
        if plan.n_heads and plan.memory == FULL:
            changes["rates"] = _longer(mind.rates, pairs, 0)
        changes["stored"] = _longer(mind.stored, pairs, 0) if plan.memory == WINDOW else changes["tries"]
    if plan.memory != NO_MEMORY:
        changes["row_ints"] = _longer(mind.row_ints, rows - mind.row_capacity, NONE)
        changes["row_floats"] = _longer(mind.row_floats, rows - mind.row_capacity, 0)
        changes["times"] = _longer(mind.times, rows - mind.row_capacity, 0)
    if plan.memory == WINDOW:
        changes["memory"] = _longer(mind.memory, plan.window + 1 - len(mind.memory), 0)
        changes["slots"] = _longer(mind.slots, plan.window - len(mind.slots), 0)
    elif plan.memory == FULL:
        # Only minibatches look at single transitions; sweeps need the rows alone.
        needed = stored - len(mind.memory) if plan.n_heads else 1 - len(mind.memory)
        changes["memory"] = _longer(mind.memory, max(needed, 0), 0)
    return mind._replace(**changes)


def _longer(array: NDArray[Any], more: int, fill: int) -> NDArray[Any]:
    """Return the array with `more` entries behind its last axis."""
    if more == 0:
        return array
    return np.concatenate([array, np.full((*array.shape[:-1], more), fill, array.dtype)], axis=-1)
