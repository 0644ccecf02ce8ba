"""Tables and counts in the environment's own numbering of states, instead of the order in which they were met."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.learning.state import TARGET, TERMINAL, Floats, LearnerState, TableSpec


def by_state(flat: NDArray[Any], ids: NDArray[np.int32], spec: TableSpec) -> NDArray[Any]:
    """Return [..., state, action] of an array [..., pair]; states never met show as the end of an episode does:
    zeros.
    """
    shaped = flat.reshape(*flat.shape[:-1], -1, spec.n_actions)
    return shaped[..., ids, :]


def tables_by_state(learner: LearnerState, ids: NDArray[np.int32], spec: TableSpec) -> dict[str, Floats]:
    """Return the learnt tables by name; states never met have their initial values."""
    values = by_state(learner.values, ids, spec)
    values[:, ids == TERMINAL, :] = spec.initial[:, None, None]
    tables = {"target": values[TARGET], "behaviour": values[spec.behaviour]}
    if spec.visit_row > 0:
        tables["visitation"] = values[spec.visitation]
    if spec.n_heads > 0:
        tables["heads"] = values[spec.n_swept :]
        del tables["behaviour"]
    return tables
