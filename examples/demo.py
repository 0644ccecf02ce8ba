"""Discovery and success of four explorers in the `prison` world, compared with the paper.

A 5 by 5 grid with a reward of 5 in the far corner, two smaller rewards on the way, and a cell that cannot be left.
Each explorer has 1,000 steps, in episodes of at most 11 steps, to learn the path to the largest reward.
"""

import sys

import numpy as np

import wanderlust as wl
from wanderlust.core.planning import optimal_values, reachable_states

SEEDS = range(1, 21)
# Discovery and success in percent for "prison", zero initial Q, short horizon: the paper's recap tables.
PAPER = {
    "vv-ucb": (100.0, 100.0),
    "vv-count": (100.0, 100.0),
    "ucb1": (80.78, 32.31),
    "epsilon-greedy": (58.38, 22.84),
}
LEGEND = """
discovery  states in which an action was taken, in percent of the reachable states: mean of {seeds} seeds
success    return of the greedy policy in percent of the optimal return: mean of {seeds} seeds
paper      the value of the column to the left as reported in the paper: mean of 20 seeds
+-         twice the standard error over the seeds
"""


def main() -> None:
    """Train and print one row per explorer."""
    world = wl.make_world("prison")
    reachable = int(reachable_states(world.mdp).sum())
    optimal = float(world.mdp.start @ optimal_values(world.mdp).v)
    print(__doc__.split("\n\n", 1)[1])
    print(f"{'explorer':<16}{'discovery':>16}{'paper':>8}{'success':>18}{'paper':>8}")
    for name, (paper_discovery, paper_success) in PAPER.items():
        # The settings of the authors' code, which produced the paper's results.
        records = [wl.train(world, name, seed=seed, preset="as_published_code") for seed in SEEDS]
        discovery = 100 * np.array([record.discovered[-1] for record in records]) / reachable
        success = 100 * np.array([record.returns[-1] for record in records]) / optimal
        print(
            f"{name:<16}{_with_error(discovery):>16}{paper_discovery:>8.1f}"
            f"{_with_error(success):>18}{paper_success:>8.1f}",
            flush=True,
        )
    print(LEGEND.format(seeds=len(SEEDS)))


def _with_error(values: np.ndarray) -> str:
    return f"{values.mean():.1f} +- {2 * values.std() / np.sqrt(len(values)):.1f}"


if __name__ == "__main__":
    sys.exit(main())
