"""How often the 95 % interval of a mean return contains the true mean, with the stopping rule of evaluations on.

    python benchmarks/interval_coverage.py      writes docs/pictures/coverage.png and prints its numbers

Episodes give a return of 1 with probability p, otherwise 0. An evaluation runs 10 episodes, then more until
`is_precise` or 100 episodes, as those of `compare` do. The seed is one that no test uses.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from wanderlust.training.evaluation import MAX_ADAPTIVE_EPISODES, is_precise, mean_interval

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "coverage.png"
PROBABILITIES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
REPETITIONS, FIRST, SEED = 1_000, 10, 2_027


def evaluation(p: float, random: np.random.Generator) -> tuple[bool, bool, int]:
    """Return whether the interval covers p, whether the plain one does, and the number of episodes."""
    returns = list(map(float, random.random(FIRST) < p))
    while len(returns) < MAX_ADAPTIVE_EPISODES and not is_precise(returns, 0.0, 1.0):
        returns.append(float(random.random() < p))
    center, half_width = mean_interval(returns, 0.0, 1.0)
    plain = 1.96 * np.std(returns, ddof=1) / np.sqrt(len(returns))
    return abs(center - p) <= half_width, bool(abs(np.mean(returns) - p) <= plain), len(returns)


def main() -> None:
    """Measure, print and draw."""
    random = np.random.default_rng(SEED)
    rows = np.array([np.mean([evaluation(p, random) for _ in range(REPETITIONS)], axis=0) for p in PROBABILITIES])
    for p, (ours, plain, episodes) in zip(PROBABILITIES, rows, strict=True):
        print(f"| {p:g} | {100 * ours:.1f} | {100 * plain:.1f} | {episodes:.0f} |")
    figure = Figure(figsize=(7.0, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.axhline(95, color="#888888", linewidth=0.8)
    left.plot(PROBABILITIES, 100 * rows[:, 0], "o-", markersize=3, color="#0072b2", label="interval that is used")
    left.plot(PROBABILITIES, 100 * rows[:, 1], "s--", markersize=3, color="#d55e00", label="± 1.96 standard errors")
    left.set(title="intervals that contain the true mean (%)", xlabel="true mean return p", ylim=(0, 102))
    left.legend(fontsize=7, frameon=False)
    right.plot(PROBABILITIES, rows[:, 2], "o-", markersize=3, color="#0072b2")
    right.set(title="episodes until the rule stops", xlabel="true mean return p", ylim=(0, None))
    for axes in (left, right):
        axes.title.set_fontsize(9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e4e4e4", linewidth=0.5)
    figure.savefig(PICTURE, dpi=130)


if __name__ == "__main__":
    main()
