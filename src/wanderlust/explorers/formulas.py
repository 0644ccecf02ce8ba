"""One function per equation of the paper, then those of other papers. Counts may be visit counts or pseudocounts.

`span` is (Q_max - Q_min) / κ, the range of Q-values in units of the exploration coefficient; it is 1 in the paper.
"""

from __future__ import annotations

import math

from wanderlust._numba.jit import public_formula
from wanderlust.core.errors import check_flag, check_integer, check_number


@public_formula
def ucb(visits: float, total: float, plus: float) -> float:
    """Return √(2 log(plus + Σn) / n), the upper confidence bound of the visit count, for n > 0 (Eq. 5).

    `plus` is 0 in the equation, and 1 where the appendix adds +1 inside the logarithm.
    """
    return math.sqrt(2.0 * math.log(plus + total) / visits)


@public_formula
def count_bonus(visits: int, scale: float) -> float:
    """Return α n(s, a)^(-1/2), the exploration bonus (Eq. 6)."""
    return scale / math.sqrt(visits)


def untried_ucb(n_actions: int, span: float, *, counts_itself: bool) -> float:
    """Return UCB1's value of an untried action, (Q_max - Q_min)/κ + √(2 log |A|) (Appendix A.1).

    The published code has |A| - 1 in the logarithm: the untried action does not count itself.
    """
    n_actions, span = check_integer("n_actions", n_actions, low=1), check_number("span", span)
    others = n_actions if check_flag("counts_itself", counts_itself) else max(n_actions - 1, 1)
    return span + math.sqrt(2.0 * math.log(others))


@public_formula
def long_term_ucb(w: float, gamma_w: float) -> float:
    """Return U_W = (1 - γ_w) W, the exploration term of W as a long-term UCB (Eq. 14)."""
    return (1.0 - gamma_w) * w


def long_term_ucb_bound(n_actions: int, span: float, gamma_w: float) -> float:
    """Return the bound that the initial W of vv-ucb must exceed (Eq. 24).

    W > (Q_max - Q_min) / (κ (1 - γ_w)²) + √(2 log(|A| - 1)) / (1 - γ_w)
    """
    n_actions, span, rest = _checked(n_actions, span, gamma_w)
    return span / rest**2 + math.sqrt(2.0 * math.log(max(n_actions - 1, 1))) / rest


@public_formula
def pseudocount(w: float, gamma_w: float) -> float:
    """Return n̂ = (1 - γ_w) W, the pseudocount of W as a long-term count (Eq. 19)."""
    return (1.0 - gamma_w) * w


def untried_pseudocount_ucb(n_actions: int, span: float, gamma_w: float, *, plus: float) -> float:
    """Return the exploration term of an action with pseudocount zero (Eq. 27).

    U > (Q_max - Q_min)/κ + √(2 log(plus + (1 - γ_w) + |A| - 2) / (1 - γ_w))

    `plus` is 1 in the text ("we add +1 inside the logarithm") and 0 in the equation, which is undefined for two
    actions.
    """
    n_actions, span, rest = _checked(n_actions, span, gamma_w)
    plus = check_number("plus", plus, low=3 - n_actions - rest)
    return span + math.sqrt(2.0 * math.log(plus + rest + n_actions - 2) / rest)


def _checked(n_actions: int, span: float, gamma_w: float) -> tuple[int, float, float]:
    """Return checked arguments, with 1 - γ_w for the last."""
    gamma_w = check_number("gamma_w", gamma_w, low=0, high=1, open_high=True)
    return check_integer("n_actions", n_actions, low=1), check_number("span", span), 1.0 - gamma_w


@public_formula
def discounted_forever(reward: float, gamma_w: float) -> float:
    """Return r / (1 - γ_w), the return of the same reward at every step forever (terminal case of Eq. 10 and 15)."""
    return reward / (1.0 - gamma_w)


@public_formula
def decayed_epsilon(start: float, decay: float, step: int) -> float:
    """Return ε_i = ε_0 ξ^i (Appendix A)."""
    return start * math.pow(decay, float(step))


def epsilon_decay(start: float, end: float, budget: int) -> float:
    """Return ξ such that ε decays from `start` to `end` over the budget (Appendix A)."""
    start, end = check_number("start", start), check_number("end", end)
    budget = check_integer("budget", budget, low=1)
    return math.pow(end / start, 1.0 / budget) if start > 0.0 and end > 0.0 else 1.0


@public_formula
def doubled(visits: int) -> bool:
    """Return whether a count is 1, 2, 4, 8, ...: it has doubled since the last such event."""
    return visits > 0 and visits & (visits - 1) == 0


@public_formula
def annealed_rate(visits: int, horizon: float) -> float:
    """Return α = (H + 1) / (H + n), the learning rate of optimistic Q-learning (Jin et al. 2018)."""
    return (horizon + 1.0) / (horizon + visits)


def effective_horizon(discount: float, accuracy: float = 0.05) -> float:
    """Return H = ln(1 / ((1 - γ) ε₁)) / ln(1 / γ) for a policy within ε of the best one (Dong et al. 2020).

    ε₁ = ε / (24 R M ln(1 / (1 - γ))), R = ⌈ln(3 / (ε (1 - γ))) / (1 - γ)⌉, M = max(2 log₂(1 / ((1 - γ) ε)), 10)
    """
    discount = check_number("discount", discount, low=0, high=1, open_high=True)
    epsilon = check_number("accuracy", accuracy, low=1e-9, high=1)
    rest = 1.0 - discount
    if rest == 1.0:
        return 1.0
    r, m = math.ceil(math.log(3.0 / (epsilon * rest)) / rest), max(2.0 * math.log2(1.0 / (rest * epsilon)), 10.0)
    return max(math.log(24.0 * r * m * math.log(1.0 / rest) / (epsilon * rest)) / math.log(1.0 / discount), 1.0)


@public_formula
def hoeffding_bonus(visits: int) -> float:
    """Return √(ln((n + 1)(n + 2)) / n), the bonus of optimistic Q-learning without its constants (Dong et al. 2020)."""
    return math.sqrt(math.log((visits + 1.0) * (visits + 2.0)) / visits)
