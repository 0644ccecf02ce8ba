"""The statements of Section 3.4 about a separate W-function and about auxiliary rewards, checked with the agents."""

from __future__ import annotations

import numpy as np

from wanderlust.agents.agent import Agent
from wanderlust.core.mdp import FloatArray, TabularMDP
from wanderlust.explorers.formulas import ucb
from wanderlust_paper.claims.claim_rules import fact
from wanderlust_paper.claims.claims import Claim
from wanderlust_paper.claims.w_function_claims import AfterVisits

_PLACE = "3.4"
_GAMMAS = (0.0, 0.5, 0.9, 0.99)
_UNVISITED = ((0, 0),)
_EQUAL = 1e-7
_SWEEPS = 3000


def check_claims(after_visits: AfterVisits, explored: Agent, mdp: TabularMDP, kappa: float) -> list[Claim]:
    """Check all statements; `explored` is a converged agent with vv-ucb in `mdp`, in which γ_w is γ."""
    return [*_independent(after_visits), *_stationary(after_visits), *_not_equivalent(explored, mdp, kappa)]


def _independent(after_visits: AfterVisits) -> list[Claim]:
    agents = [after_visits("vv-ucb", gamma_w, 1, _UNVISITED).tables for gamma_w in _GAMMAS]
    q, w = (max(_difference(agents[0][name], each[name]) for each in agents) for name in ("target", "visitation"))
    return [
        fact(
            _PLACE,
            "W does not influence the Q-function, so γ_w can differ from γ",
            f"toy example, vv-ucb with γ_w = {_GAMMAS[0]:g} to {_GAMMAS[-1]:g} after the same transitions: largest "
            f"difference of Q {q:.1g}, of W {w:.2g}",
            tolerance="Q is identical, W is not",
            holds=q == 0.0 and w > 0.0,
        )
    ]


def _stationary(after_visits: AfterVisits) -> list[Claim]:
    """Compare the tables after one and after three visits of every pair."""
    augmented = _difference(*(after_visits("bonus", 0.9, n, _UNVISITED).tables["behaviour"] for n in (1, 3)))
    once, thrice = (after_visits("vv-ucb", 0.9, n, _UNVISITED).tables for n in (1, 3))
    q, w = (_difference(once[name], thrice[name]) for name in ("target", "visitation"))
    return [
        fact(
            _PLACE,
            "an auxiliary reward makes the target of the Q-function non-stationary; a separate W-function does not",
            "toy example, the same transitions once and three times, largest difference: augmented Q-function "
            f"{augmented:.2g}, Q beside W {q:.1g}, W {w:.2g}",
            tolerance="Q beside W is the same, the others are not",
            holds=q < _EQUAL < min(augmented, w),
        )
    ]


def _not_equivalent(agent: Agent, mdp: TabularMDP, kappa: float) -> list[Claim]:
    """Compare Q + αW with the Q-function of the reward r + αrʷ, for the same transitions and counts."""
    discount = agent.settings.discount
    alpha = kappa * (1.0 - discount)
    separate = agent.tables["target"] + alpha * agent.tables["visitation"]
    visits = agent.visits
    bonus = np.array([[ucb(int(n), int(row.sum()), 0.0) for n in row] for row in visits])
    together = _fixed_point(mdp, mdp.reward[:, :, 0] + alpha * bonus, discount)
    cells = sum(set(_best(a)) != set(_best(b)) for a, b in zip(separate, together, strict=True))
    error = _difference(separate, together)
    return [
        fact(
            _PLACE,
            "a W-function is not equivalent to an auxiliary reward: the maximum of a sum is not the sum of the maxima",
            f"toy example with non-terminal treasures, γ_w = γ: the values differ by up to {error:.3g}, the best "
            f"actions in {cells} of {mdp.n_states} cells",
            tolerance="the values differ",
            holds=error > _EQUAL,
        )
    ]


def _fixed_point(mdp: TabularMDP, reward: FloatArray, discount: float) -> FloatArray:
    """Return the optimal action values of a deterministic MDP for another reward."""
    q = np.zeros_like(reward)
    following = np.where(mdp.terminal[:, :, 0], 0.0, discount)
    for _ in range(_SWEEPS):
        q = reward + following * q.max(axis=1)[mdp.next_state[:, :, 0]]
    return q


def _best(values: FloatArray) -> list[int]:
    return [int(action) for action in np.flatnonzero(values >= values.max() - _EQUAL)]


def _difference(a: FloatArray, b: FloatArray) -> float:
    return float(np.abs(a - b).max())
