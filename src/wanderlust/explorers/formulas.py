"""One function per equation of the paper. Counts come as numbers, so every formula serves counts and pseudocounts.

`span` is (Q_max - Q_min) / κ, the range of Q-values in units of the exploration coefficient; it is 1 in the paper.
"""

from __future__ import annotations

import math

from wanderlust._numba.jit import formula


@formula
def ucb(visits: float, total: float, plus: float) -> float:
    """Return √(2 log(plus + Σn) / n), the immediate upper confidence bound of Eq. (UCB1), for n > 0.

    `plus` is 0 in the equation, and 1 where the appendix adds +1 inside the logarithm.
    """
    return math.sqrt(2.0 * math.log(plus + total) / visits)


@formula
def count_bonus(visits: int, scale: float) -> float:
    """Return α n(s,a)^(-1/2), the exploration bonus of Eq. (exploration bonus)."""
    return scale / math.sqrt(visits)


def untried_ucb(n_actions: int, span: float, *, counts_itself: bool) -> float:
    """Return UCB1's value of an untried action, (Q_max - Q_min)/κ + √(2 log |A|) (Appendix A.1).

    The published code has |A| - 1 in the logarithm: the untried action does not count itself.
    """
    others = n_actions if counts_itself else max(n_actions - 1, 1)
    return span + math.sqrt(2.0 * math.log(others))


@formula
def long_term_ucb(visitation_value: float, gamma_w: float) -> float:
    """Return U_W = (1 - γ_w) W, the exploration term of W as a long-term UCB (Eq. behaviour policy, Section 3.2)."""
    return (1.0 - gamma_w) * visitation_value


def long_term_ucb_start(n_actions: int, span: float, gamma_w: float) -> float:
    """Return the bound that W as a long-term UCB must start above (Section 3.3).

    W > (Q_max - Q_min) / (κ (1 - γ_w)²) + √(2 log(|A| - 1)) / (1 - γ_w)
    """
    rest = 1.0 - gamma_w
    return span / rest**2 + math.sqrt(2.0 * math.log(max(n_actions - 1, 1))) / rest


def local_ucb_start(n_actions: int, gamma_w: float) -> float:
    """Return the bound above which an untried action goes before the tried ones of its own state, as in UCB1 with κ the
    range of Q-values.

    (1 - γ_w) W > 1 + √(2 log(|A| - 1))
    """
    return (1.0 + math.sqrt(2.0 * math.log(max(n_actions - 1, 1)))) / (1.0 - gamma_w)


@formula
def pseudocount(visitation_value: float, gamma_w: float) -> float:
    """Return n̂ = (1 - γ_w) W, the pseudocount of W as a long-term count (Section 3.2)."""
    return (1.0 - gamma_w) * visitation_value


def untried_pseudocount_ucb(n_actions: int, span: float, gamma_w: float, *, plus: float) -> float:
    """Return the exploration term of an action with pseudocount zero (Section 3.3).

    U > (Q_max - Q_min)/κ + √(2 log(plus + (1 - γ_w) + |A| - 2) / (1 - γ_w))

    `plus` is 1 by the text ("we add +1 inside the logarithm") and 0 in the equation, which has no value for two
    actions.
    """
    rest = 1.0 - gamma_w
    return span + math.sqrt(2.0 * math.log(plus + rest + n_actions - 2) / rest)


@formula
def discounted_forever(reward: float, gamma_w: float) -> float:
    """Return reward / (1 - γ_w): the same visitation reward at every step for ever, in a terminal state (Section
    3.2).
    """
    return reward / (1.0 - gamma_w)


@formula
def decayed_epsilon(start: float, decay: float, step: int) -> float:
    """Return ε_i = ε_0 ξ^i (Appendix A)."""
    return start * math.pow(decay, float(step))


def epsilon_decay(start: float, end: float, budget: int) -> float:
    """Return ξ such that ε falls from `start` to `end` over the budget (Appendix A)."""
    return math.pow(end / start, 1.0 / budget) if start > 0.0 and end > 0.0 else 1.0
