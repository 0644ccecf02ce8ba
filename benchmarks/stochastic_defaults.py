"""What `wl.learn` comes to where chance has its say, with its defaults: exact values of the policies that it ends with.

    python benchmarks/chance_defaults.py                  # twelve seeds each: minutes
    python benchmarks/chance_defaults.py --lake-seeds 80  # and the 8x8 lake with 100,000 steps, which takes longer

A value is a share of the optimum. Nothing here depends on the machine.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium_bars import CLIFF, TAXI, greedy_share

import wanderlust as wl
from wanderlust.training.loop import TrainingLoop

SEEDS = 12
ENOUGH = 0.95
TASKS: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("FrozenLake-v1", {"map_name": "4x4"}, 5_000),
    ("FrozenLake-v1", {"map_name": "4x4"}, 20_000),
    ("FrozenLake-v1", {"map_name": "8x8"}, 20_000),
    (CLIFF, {"is_slippery": True}, 50_000),
    (TAXI, {"is_rainy": True}, 50_000),
)


class Last(wl.Callback):
    """Notes what the policy is worth in the end."""

    share = 0.0

    def on_end(self, loop: TrainingLoop) -> None:
        """Work it out."""
        self.share = greedy_share(loop)


def shares(name: str, options: dict[str, Any], steps: int, seeds: int) -> list[float]:
    """Return what each seed's policy is worth in the end."""
    found = []
    for seed in range(seeds):
        last = Last()
        wl.learn(gym.make(name, **options), steps=steps, seed=seed, callbacks=[last], quiet=True)
        found.append(last.share)
    return found


def main() -> None:
    """Print a table of what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lake-seeds", type=int, default=0, help="how many seeds of the 8x8 lake with 100,000 steps")
    given = parser.parse_args()
    print("| environment | steps | seeds | mean | median | smallest | 95 % at the end |\n|---|---|---|---|---|---|---|")
    tasks = [(*task, SEEDS) for task in TASKS]
    if given.lake_seeds:
        tasks.append(("FrozenLake-v1", {"map_name": "8x8"}, 100_000, given.lake_seeds))
    for name, options, steps, seeds in tasks:
        found = np.array(shares(name, options, steps, seeds))
        words = ", ".join(f"{option}={value}" for option, value in options.items())
        numbers = f"{found.mean():.3f} | {np.median(found):.3f} | {found.min():.3f} | {(found >= ENOUGH).sum()}"
        print(f"| {name}, {words} | {steps:,} | {seeds} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
