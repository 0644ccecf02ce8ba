"""Sample complexity and value error of the greedy policy (Section 4.2.4).

With π_t the greedy policy before step t, in state s_t, and V^π the solution of the Bellman equation:

    sample complexity   the number of steps t at which V*(s_t) − V^{π_t}(s_t) > ε
    value error         the mean over all states s of (V*(s) − V^{π_t}(s))²
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wanderlust.agents.session import Record
from wanderlust.core.mdp import TabularMDP
from wanderlust.core.planning import optimal_values, policy_values

THRESHOLDS = np.array([0.0, *(10.0**-k for k in range(24, -2, -1))])
"""The thresholds ε: 0 and powers of ten. Values are of the order 1 to 100, so differences below 1e-14 are rounding
errors. Equal policies have bitwise equal values, so a smaller ε requires the optimal policy itself."""
_N_MOMENTS = 160


def value_measures(record: Record, mdp: TabularMDP) -> dict[str, Any]:
    """Return the measures of a run that was evaluated after every step and stored its trajectory."""
    discount, steps = record.settings.discount, len(record.states)
    optimal = policy_values(mdp, [optimal_values(mdp, discount).policy], discount)[0]
    # Before the first step all values are equal, so the greedy policy is uniform.
    uniform = np.full((mdp.n_states, mdp.n_actions), 1.0 / mdp.n_actions)
    values = np.concatenate([record.policy_values, policy_values(mdp, [uniform], discount)])
    before = np.append(len(values) - 1, record.policy_at)[:steps]
    gap = (optimal - values)[before, record.states]
    errors = ((optimal - values) ** 2).mean(axis=1)
    moments = np.unique(np.geomspace(1, max(steps, 1), _N_MOMENTS).round().astype(np.int64))[: max(steps, 0)]
    return {
        "gaps": THRESHOLDS,
        "bad_steps": (gap[:, None] > THRESHOLDS).sum(axis=0),
        "ends_good": gap[-1] <= THRESHOLDS if steps else np.zeros(len(THRESHOLDS), np.bool_),
        "moments": moments,
        "value_errors": errors[before][moments - 1],
        "visits_by_moment": _visits_at(record.states, moments, mdp.n_states),
    }


def _visits_at(states: Any, moments: Any, n_states: int) -> Any:
    """Return [moment, state]: the visits of each state until each moment."""
    chunks = np.split(states, moments)[: len(moments)]
    return np.cumsum([np.bincount(chunk, minlength=n_states) for chunk in chunks], axis=0)
