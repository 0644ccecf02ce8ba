"""Tables and counts in the environment's own numbering of states, instead of the order in which they were met."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.learning.mind import END, TARGET, Floats, Mind, Plan


def by_state(flat: NDArray[Any], ids: NDArray[np.int32], plan: Plan) -> NDArray[Any]:
    """Return [..., state, action] of an array [..., pair]; states never met show as the end of an episode does:
    zeros.
    """
    shaped = flat.reshape(*flat.shape[:-1], -1, plan.n_actions)
    return shaped[..., ids, :]


def tables_by_state(mind: Mind, ids: NDArray[np.int32], plan: Plan) -> dict[str, Floats]:
    """Return the learnt tables by name; states never met have their initial values."""
    values = by_state(mind.values, ids, plan)
    values[:, ids == END, :] = plan.initial[:, None, None]
    tables = {"target": values[TARGET], "behaviour": values[plan.behaviour]}
    if plan.visit_row > 0:
        tables["visitation"] = values[plan.visitation]
    if plan.n_heads > 0:
        tables["heads"] = values[plan.n_swept :]
        del tables["behaviour"]
    return tables
