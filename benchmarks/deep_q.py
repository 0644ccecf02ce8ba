"""W beside Stable-Baselines3's DQN in bsuite's deep sea: steps to the first treasure and to a policy that takes it.

    python benchmarks/deep_q.py             # all depths, explorers and seeds; resumes where it was
    python benchmarks/deep_q.py --page      # write the table into docs/deep-q.md
    python benchmarks/deep_q.py --cost      # the explorer's share of a step of DQN

It needs `pip install -e '.[sb3]'`. All explorers have the same networks, replay buffer, updates and discount. The
tuning seeds served to check that everything works; the reported seeds had no part in that.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback

from wanderlust.integrations.stable_baselines3 import VisitationDQN

BUDGETS = {10: 1_500, 20: 4_000, 30: 7_000, 50: 16_000}
"""Depth: the number of steps within which the task must be solved."""
TUNING_SEEDS, REPORTED_SEEDS = range(5), range(1000, 1010)
EXPLORERS = {
    "W": {"greedy_episodes": 0.0},
    "W, half of the episodes greedy": {"greedy_episodes": 0.5},
    "ε-greedy": None,
}
LEARNER = {
    "learning_rate": 1e-3, "learning_starts": 100, "batch_size": 64, "train_freq": 1, "target_update_interval": 100,
    "gamma": 0.99, "policy_kwargs": {"net_arch": [64, 64]}, "device": "cpu",
}  # fmt: skip
EPSILON = {"exploration_fraction": 0.5, "exploration_final_eps": 0.05}
EVALUATIONS = 10
"""Episodes between two evaluations of the greedy policy, which is deterministic here."""
FIELDS = ("depth", "explorer", "seed", "first", "solved")
RUNS = Path(__file__).with_suffix(".csv")
PAGE = Path(__file__).parents[1] / "docs" / "deep-q.md"


class DeepSea(gym.Env[Any, Any]):
    """Osband's deep sea: right in every row finds the treasure; which action is right depends on the cell."""

    def __init__(self, depth: int, seed: int) -> None:
        self.depth, self.is_flipped = depth, np.random.default_rng(seed).random((depth, depth)) < 0.5
        self.observation_space = gym.spaces.Box(0, 1, (depth * depth,), np.float32)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin in the upper left corner."""
        super().reset(seed=seed)
        self.row = self.column = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move down and left or right."""
        right, last = bool(action) != self.is_flipped[self.row, self.column], self.depth - 1
        reward = float(right and self.row == last and self.column == last) - (0.01 / self.depth if right else 0.0)
        self.column = min(self.column + 1, last) if right else max(self.column - 1, 0)
        self.row += 1
        return self._observation(), reward, self.row == self.depth, False, {}

    def _observation(self) -> Any:
        cell = np.zeros(self.depth**2, np.float32)
        cell[min(self.row, self.depth - 1) * self.depth + self.column] = 1
        return cell


class Progress(BaseCallback):  # type: ignore[misc]
    """Stops when the greedy policy takes the treasure."""

    def __init__(self, env: DeepSea) -> None:
        super().__init__()
        self.env, self.first, self.solved = env, None, None

    def _on_step(self) -> bool:
        if self.first is None and self.locals["rewards"][0] > 0.5:
            self.first = self.num_timesteps
        if self.num_timesteps % (EVALUATIONS * self.env.depth) == 0 and self._greedy_return() > 0.5:
            self.solved = self.num_timesteps
        return self.solved is None

    def _greedy_return(self) -> float:
        (observation, _), total, over = self.env.reset(), 0.0, False
        while not over:
            observation, reward, over, _, _ = self.env.step(self.model.predict(observation, deterministic=True)[0])
            total += reward
        return total


def run(depth: int, explorer: str, seed: int) -> dict[str, Any]:
    """Return the steps to the first treasure and to a greedy policy that takes it; empty if that did not happen."""
    options, progress = EXPLORERS[explorer], Progress(DeepSea(depth, seed))
    env = DeepSea(depth, seed)
    if options is None:
        model = DQN("MlpPolicy", env, seed=seed, **LEARNER, **EPSILON)
    else:
        model = VisitationDQN("MlpPolicy", env, key="hash", seed=seed, **LEARNER, **options)
    model.learn(BUDGETS[depth], callback=progress)
    return {"depth": depth, "explorer": explorer, "seed": seed, "first": progress.first, "solved": progress.solved}


class Images(gym.Env[Any, Any]):
    """Images, each the observation of one of many states: what the explorer costs does not depend on the task."""

    def __init__(self, n_states: int) -> None:
        self.n_states, self.observation_space = n_states, gym.spaces.Box(0, 255, (10, 10, 3), np.uint8)
        self.action_space, self.state = gym.spaces.Discrete(4), 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin anywhere."""
        super().reset(seed=seed)
        self.state = int(self.np_random.integers(self.n_states))
        return self.observation(self.state), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Go to the next state."""
        self.state = (self.state + 1 + int(action)) % self.n_states
        return self.observation(self.state), 0.0, False, bool(self.state % 50 == 0), {}

    def observation(self, state: int) -> Any:
        """Return the image of a state: its number in the first pixels."""
        image = np.zeros((10, 10, 3), np.uint8)
        image[0, :8, 0] = np.frombuffer(np.int64(state).tobytes(), np.uint8)
        return image


def print_cost(n_states: int = 100_000, steps: int = 2_000) -> None:
    """Print the time of the explorer as a share of the time of a whole step, after it has visited many states."""
    env = Images(n_states)
    options = {**LEARNER, "buffer_size": 10_000}
    model = VisitationDQN(
        "MlpPolicy", env, key="hash", seed=0, explorer_kwargs={"max_states": 2 * n_states}, **options
    )  # fmt: skip
    for state in range(n_states):
        following = (state + 1) % n_states
        model.visitation.observe(env.observation(state), 0, env.observation(following), terminated=False)
    spent = 0.0
    for name in ("act", "observe"):
        call = getattr(model.visitation, name)

        def timed(*args: Any, call: Any = call, **kwargs: Any) -> Any:
            nonlocal spent
            start = time.perf_counter()
            result = call(*args, **kwargs)
            spent += time.perf_counter() - start
            return result

        setattr(model.visitation, name, timed)
    start = time.perf_counter()
    model.learn(steps)
    whole = time.perf_counter() - start
    print(f"{model.visitation.n_states:,} states: {1e6 * spent / steps:.0f} of {1e6 * whole / steps:.0f} µs per step, "
          f"{spent / (whole - spent):.1%} of a step of DQN alone")  # fmt: skip


def table(rows: list[dict[str, str]]) -> str:
    """Return the table of the page; a median needs more than half of the seeds."""
    lines = ["| depth | steps | explorer | seeds | first treasure, median | solved | solved after, median |"]
    lines.append("|" + "---|" * 7)
    for depth, budget in BUDGETS.items():
        for explorer in EXPLORERS:
            chosen = [row for row in rows if (row["depth"], row["explorer"]) == (str(depth), explorer)]
            if chosen:
                learnt = [row["solved"] if row["first"] else "" for row in chosen]
                n, by_chance = (sum(map(bool, each)) for each in (learnt, [row["solved"] for row in chosen]))
                solved = f"{n}, {by_chance - n} by chance" if by_chance > n else str(n)
                medians = f"{_median([row['first'] for row in chosen])} | {solved} | {_median(learnt)}"
                lines.append(f"| {depth} | {budget:,} | {explorer} | {len(chosen)} | {medians} |")
    return "\n".join(lines)


def _median(values: list[str]) -> str:
    median = float(np.median([float(value) if value else np.inf for value in values]))
    return f"{median:,.0f}" if np.isfinite(median) else "–"


def main() -> None:
    """Execute what is missing, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RUNS, help="the CSV file of all runs")
    parser.add_argument("--depths", type=int, nargs="+", default=list(BUDGETS), choices=list(BUDGETS))
    parser.add_argument("--tuning", action="store_true", help="the tuning seeds instead of the reported ones")
    parser.add_argument("--page", action="store_true", help=f"write the table into {PAGE.name}")
    parser.add_argument("--cost", action="store_true", help="measure the explorer's share of a step")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.cost:
        print_cost()
        return
    rows = list(csv.DictReader(arguments.out.open())) if arguments.out.exists() else []
    if arguments.page:
        begin, end = "<!-- results: written by benchmarks/deep_q.py -->", "<!-- end of results -->"
        text = re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n{table(rows)}\n{end}", PAGE.read_text(), flags=re.S)
        PAGE.write_text(text)
        return
    done = {(row["depth"], row["explorer"], row["seed"]) for row in rows}
    with arguments.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not rows:
            writer.writeheader()
        for depth in arguments.depths:
            for seed in TUNING_SEEDS if arguments.tuning else REPORTED_SEEDS:
                for explorer in EXPLORERS:
                    if (str(depth), explorer, str(seed)) not in done:
                        row = run(depth, explorer, seed)
                        writer.writerow(row)
                        file.flush()
                        print(*row.values(), file=sys.stderr)


if __name__ == "__main__":
    main()
