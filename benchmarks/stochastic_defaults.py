"""Final performance of `wl.learn` with its defaults in stochastic environments.

    python benchmarks/stochastic_defaults.py                         # 12 seeds per environment: minutes
    python benchmarks/stochastic_defaults.py --frozen-lake-seeds 80  # also the 8x8 FrozenLake with 100,000 steps

Results are exact values of the final policies as fractions of the optimal value. They are the same on any machine.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium_bars import CLIFF, TAXI, relative_value

import wanderlust as wl
from wanderlust.training.loop import TrainingLoop

SEEDS = 12
SOLVED = 0.95
TASKS: tuple[tuple[str, dict[str, Any], int], ...] = (
    ("FrozenLake-v1", {"map_name": "4x4"}, 5_000),
    ("FrozenLake-v1", {"map_name": "4x4"}, 20_000),
    ("FrozenLake-v1", {"map_name": "8x8"}, 20_000),
    (CLIFF, {"is_slippery": True}, 50_000),
    (TAXI, {"is_rainy": True}, 50_000),
)


class FinalValue(wl.Callback):
    """Stores the relative value of the final policy."""

    value = 0.0

    def on_end(self, loop: TrainingLoop) -> None:
        """Compute the value."""
        self.value = relative_value(loop)


def final_values(name: str, options: dict[str, Any], steps: int, seeds: int) -> list[float]:
    """Return the relative value of each seed's final policy."""
    values = []
    for seed in range(seeds):
        final = FinalValue()
        wl.learn(gym.make(name, **options), steps=steps, seed=seed, callbacks=[final], quiet=True)
        values.append(final.value)
    return values


def main() -> None:
    """Print the results as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frozen-lake-seeds", type=int, default=0, help="seeds of the 8x8 FrozenLake, 100,000 steps")
    arguments = parser.parse_args()
    print("| environment | steps | seeds | mean | median | minimum | 95 % at the end |\n|---|---|---|---|---|---|---|")
    tasks = [(*task, SEEDS) for task in TASKS]
    if arguments.frozen_lake_seeds:
        tasks.append(("FrozenLake-v1", {"map_name": "8x8"}, 100_000, arguments.frozen_lake_seeds))
    for name, options, steps, seeds in tasks:
        values = np.array(final_values(name, options, steps, seeds))
        option_text = ", ".join(f"{option}={value}" for option, value in options.items())
        statistics = f"{values.mean():.3f} | {np.median(values):.3f} | {values.min():.3f} | {(values >= SOLVED).sum()}"
        print(f"| {name}, {option_text} | {steps:,} | {seeds} | {statistics} |", flush=True)


if __name__ == "__main__":
    main()
