"""How far the greedy policy of every step was from the best one (Section 4.2.4).

With π_t the greedy policy before step t, in state s_t, and V^π solved from Bellman's equation:

    sample complexity   the number of steps t at which V*(s_t) − V^{π_t}(s_t) > ε
    value error         the mean over all states s of (V*(s) − V^{π_t}(s))²
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wanderlust.agents.session import Record
from wanderlust.core.mdp import TabularMDP
from wanderlust.core.planning import optimal_values, policy_values

GAPS = np.array([0.0, *(10.0**-k for k in range(24, -2, -1))])
"""The thresholds ε: 0 and powers of ten. Values are around 1 to 100, so that differences below 1e-14 are rounding, but
the same policy has the same values to the last bit: from there on, ε asks for the best policy itself."""
_MOMENTS = 160


def value_measures(record: Record, mdp: TabularMDP) -> dict[str, Any]:
    """Return the measures of a run that was evaluated after every step and kept its trajectory."""
    discount, steps = record.settings.discount, len(record.states)
    best = policy_values(mdp, [optimal_values(mdp, discount).policy], discount)[0]
    # Before the first step all values are alike, and the greedy policy is any action at all.
    anything = np.full((mdp.n_states, mdp.n_actions), 1.0 / mdp.n_actions)
    values = np.concatenate([record.policy_values, policy_values(mdp, [anything], discount)])
    before = np.append(len(values) - 1, record.policy_at)[:steps]
    gap = (best - values)[before, record.states]
    errors = ((best - values) ** 2).mean(axis=1)
    moments = np.unique(np.geomspace(1, max(steps, 1), _MOMENTS).round().astype(np.int64))[: max(steps, 0)]
    return {
        "gaps": GAPS,
        "bad_steps": (gap[:, None] > GAPS).sum(axis=0),
        "ends_good": gap[-1] <= GAPS if steps else np.zeros(len(GAPS), np.bool_),
        "moments": moments,
        "value_errors": errors[before][moments - 1],
        "visits_by_moment": _counts_at(record.states, moments, mdp.n_states),
    }


def _counts_at(states: Any, moments: Any, n_states: int) -> Any:
    """Return how often each state had been acted in after each of some numbers of steps."""
    pieces = np.split(states, moments)[: len(moments)]
    return np.cumsum([np.bincount(piece, minlength=n_states) for piece in pieces], axis=0)
