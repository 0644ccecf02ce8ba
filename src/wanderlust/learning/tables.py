"""Tables and counts indexed by the environment's own states instead of the order in which they were visited."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.learning.spec import NO_SIGNAL, TARGET, Floats, TableSpec
from wanderlust.learning.state import TERMINAL, LearnerState


def by_state(flat: NDArray[Any], state_index: NDArray[np.int32], spec: TableSpec) -> NDArray[Any]:
    """Return [..., state, action] of an array [..., pair]; states never visited get the terminal state's zeros."""
    shaped = flat.reshape(*flat.shape[:-1], -1, spec.n_actions)
    return shaped[..., state_index, :]


def tables_by_state(learner: LearnerState, state_index: NDArray[np.int32], spec: TableSpec) -> dict[str, Floats]:
    """Return the learnt tables by name; states never visited have their initial values."""
    values = by_state(learner.values, state_index, spec)
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
