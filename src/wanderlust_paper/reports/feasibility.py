"""Which ± a mean over seeds can have: the arithmetic that shows that a printed cell is not a sample of some outcomes.

With the paper's ± = 2 σ/√n, σ with divisor n, for n numbers with the mean m:

    if one of them is x, σ is smallest if all others are equal      ± ≥ 2 |x − m| / √(n (n − 1))
    if none exceeds u, σ is largest if all others are equal to u    ± ≤ 2 (u − m) √(n − 1) / √n
"""

from __future__ import annotations

import math


def smallest_interval(mean: float, value: float, n: int) -> float:
    """Return the smallest ± of `n` numbers with this mean, one of which is `value`."""
    return 2.0 * abs(value - mean) / math.sqrt(n * (n - 1))


def largest_interval(mean: float, upper: float, n: int) -> float:
    """Return the largest ± of `n` numbers with this mean that do not exceed `upper`."""
    return 2.0 * (upper - mean) * math.sqrt((n - 1) / n)
