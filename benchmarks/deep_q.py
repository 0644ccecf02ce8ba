"""W beside Stable-Baselines3's DQN, and other explorers with the same DQN: steps to the goal, and to solve a task.

    python benchmarks/deep_q.py --tuning    # the tuning seeds, three scales of each explorer
    python benchmarks/deep_q.py --choose    # write the best scales to deep_q_scales.json
    python benchmarks/deep_q.py             # the reported seeds, with these scales; resumes where it was
    python benchmarks/deep_q.py --page      # write table and figure of docs/deep-q.md
    python benchmarks/deep_q.py --paired    # the first goal in DoorKey-5x5, by groups of seeds
    python benchmarks/deep_q.py --cost      # the explorer's share of a step of DQN

It needs `pip install -e '.[sb3]' minigrid`. The tasks are in `deep_q_tasks.py`, the explorers in `deep_q_explorers.py`.
The reported seeds had no part in choosing anything.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium as gym
import numpy as np
import torch
from deep_q_explorers import explorers, without_overhead
from deep_q_tasks import SMALL, TASKS, Task
from stable_baselines3.common.callbacks import BaseCallback

from wanderlust.integrations.stable_baselines3 import VisitationDQN

TUNING_SEEDS, REPORTED_SEEDS = range(5), range(3000, 3010)
EPSILON_SEEDS = range(1000, 1010)
"""Of ε-greedy. Three rules of W were changed after its results with other seeds were known, so it has fresh ones."""
PAIRED_TASK, PAIRED_SEEDS = "DoorKey-5x5", range(4000, 4020)
"""Further seeds of W and of ε-greedy, which then meet the same layouts: in this task the first goal depends on them."""
TUNING_TASK = "deep sea 10"
SCALES = {"count bonus": (0.01, 0.1, 1.0), "RND": (0.01, 0.1, 1.0), "bootstrapped": (1.0, 3.0, 10.0)}
"""The scales tried, of the bonuses β, of the ensemble the prior's; W has its default κ, ε-greedy one schedule."""
ALL = ("W", "W, half greedy", "W per episode, half greedy", "ε-greedy", *SCALES)
W_AND_EPSILON = ("W", "W, half greedy", "ε-greedy")
HALF_GREEDY = ("W, half greedy", "ε-greedy")
QUANTILES = ("QR-DQN: W, half greedy", "QR-DQN: ε-greedy")
REPORTED = {
    "deep sea 10": ALL, "deep sea 20": ALL, "deep sea 30": W_AND_EPSILON, "deep gridworld, image": ALL,
    "KeyCorridorS3R1": ALL,
    "DoorKey-5x5": HALF_GREEDY, "deep sea 50": W_AND_EPSILON, "FrozenLake 8x8": HALF_GREEDY + QUANTILES,
    "FrozenLake 8x8, slippery": HALF_GREEDY + QUANTILES, "deep sea 10, 8 noise dimensions": HALF_GREEDY,
    "MultiRoom-N4-S5": HALF_GREEDY, "DoorKey-8x8": HALF_GREEDY, "MountainCar": HALF_GREEDY,
    "MountainCar, every action 4 times": HALF_GREEDY,
}  # fmt: skip
"""Task: the explorers that are run; all of them where a run takes a few seconds."""
FIELDS = ("task", "explorer", "scale", "seed", "first", "goals", "solved")
FOLDER = Path(__file__).parent
RUNS, CHOSEN = FOLDER / "deep_q.csv", FOLDER / "deep_q_scales.json"
PAGE = FOLDER.parent / "docs" / "deep-q.md"


class Progress(BaseCallback):  # type: ignore[misc]
    """Counts goals, and stops when the greedy policy solves the task after the goal was received."""

    def __init__(self, task: Task, seed: int) -> None:
        super().__init__()
        self.task, self.first, self.goals, self.solved = task, None, 0, None
        self.envs = [task.make(seed + 1_000_000 * i, True) for i in range(task.episodes)]
        for i, env in enumerate(self.envs):
            env.reset(seed=seed + 1_000_000 * i)

    def _on_step(self) -> bool:
        terminated = self.locals["dones"][0] and not self.locals["infos"][0].get("TimeLimit.truncated", False)
        if self.task.goal(self.locals["rewards"][0], terminated):
            self.goals += 1
            self.first = self.first or self.num_timesteps
        # An untrained network may prefer the actions that lead to a goal: that is not exploration.
        is_due = self.first is not None and self.num_timesteps % self.task.evaluate_every == 0
        if is_due and self._success() >= self.task.threshold:
            self.solved = self.num_timesteps
        return self.solved is None

    def _success(self) -> float:
        """Return the share of episodes of the greedy policy that reach the goal; they run side by side."""
        observations = [env.reset()[0] for env in self.envs]
        running, reached = list(range(len(self.envs))), 0
        for _ in range(self.task.max_steps):
            actions = self.model.predict(np.array([observations[i] for i in running]), deterministic=True)[0]
            still_running = []
            for i, action in zip(running, actions, strict=True):
                observations[i], reward, terminated, truncated, _ = self.envs[i].step(int(action))
                is_goal = self.task.goal(float(reward), terminated)
                reached += is_goal
                if not (is_goal or terminated or truncated):
                    still_running.append(i)
            running = still_running
            if not running:
                break
        return reached / len(self.envs)


def run(task_name: str, explorer: str, scale: float | None, seed: int) -> dict[str, Any]:
    """Return the steps to the first goal and to a greedy policy that solves the task; empty if that did not happen."""
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="states seldom repeat")
    task = TASKS[task_name]
    create = explorers({} if scale is None else {explorer: scale})[explorer]
    model = without_overhead(create(task.make(seed, False), task.explorer, seed=seed, device="cpu", **task.learner))
    progress = Progress(task, seed)
    model.learn(task.steps, callback=progress)
    values = (task_name, explorer, scale, seed, progress.first, progress.goals, progress.solved)
    return dict(zip(FIELDS, values, strict=True))


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
    policy = {"net_arch": [64, 64]}  # With the default optimizer.
    options = {**SMALL, "policy_kwargs": policy, "buffer_size": 10_000, "device": "cpu"}
    explorer = {"max_states": 2 * n_states, "sweep_pairs": 10_000}
    model = VisitationDQN("MlpPolicy", env, key="hash", seed=0, explorer_kwargs=explorer, **options)
    for state in range(n_states):
        # Stable-Baselines3 has the channels of an image first.
        here, following = (env.observation(each % n_states).transpose(2, 0, 1) for each in (state, state + 1))
        model.visitation.observe(here, 0, following, terminated=False)
    spent, steps_at = np.zeros(steps + 2), [time.perf_counter()]
    for name in ("act", "observe"):
        call = getattr(model.visitation, name)

        def timed(*args: Any, call: Any = call, **kwargs: Any) -> Any:
            start = time.perf_counter()
            result = call(*args, **kwargs)
            spent[len(steps_at)] += time.perf_counter() - start
            return result

        setattr(model.visitation, name, timed)
    model.learn(steps, callback=lambda *_: steps_at.append(time.perf_counter()) is None)
    whole = np.diff(steps_at)[200:]  # of a step in which the network learns
    explorer = spent[201 : 201 + len(whole)]
    own, step, dqn = (1e6 * np.median(times) for times in (explorer, whole, whole - explorer))
    print(f"{model.visitation.n_states:,} states, window of 10,000: {own:.0f} µs of a step of {step:.0f} µs, "
          f"{own / dqn:.1%} of a step of DQN alone (medians)")  # fmt: skip


def reported_seeds(task: str, explorer: str) -> list[int]:
    """Return the reported seeds of an explorer in a task."""
    seeds = EPSILON_SEEDS if explorer.endswith("ε-greedy") else REPORTED_SEEDS
    return [*seeds, *(PAIRED_SEEDS if task == PAIRED_TASK else ())]


def read_rows() -> list[dict[str, str]]:
    """Return the stored runs."""
    return list(csv.DictReader(RUNS.open(encoding="utf-8"))) if RUNS.exists() else []


def reported_rows() -> list[dict[str, str]]:
    """Return the runs of the explorers and tasks that have all of the reported seeds."""
    rows = [row for row in read_rows() if int(row["seed"]) in reported_seeds(row["task"], row["explorer"])]
    count = Counter((row["task"], row["explorer"]) for row in rows)
    return [row for row in rows if count[pair := (row["task"], row["explorer"])] == len(reported_seeds(*pair))]


def choose_scales() -> None:
    """Write the scale of each explorer with the fewest steps to solve the tuning task, if equal to the first goal.

    What did not happen counts as twice the budget.
    """
    rows, chosen = [row for row in read_rows() if int(row["seed"]) in TUNING_SEEDS], {}
    for explorer, scales in SCALES.items():
        losses = {}
        for scale in scales:
            of_scale = [row for row in rows if (row["explorer"], row["scale"]) == (explorer, str(scale))]
            budget = TASKS[TUNING_TASK].steps
            losses[scale] = [
                float(np.mean([float(row[what] or 2 * budget) / budget for row in of_scale]))
                for what in ("solved", "first")
            ]
            print(f"{explorer}: scale {scale}, mean losses {losses[scale]}, {len(of_scale)} runs")
        chosen[explorer] = min(losses, key=losses.__getitem__)
    CHOSEN.write_text(json.dumps(chosen, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def table(rows: list[dict[str, str]]) -> str:
    """Return the table of the page; a median needs more than half of the seeds."""
    lines = ["| task | steps | explorer | seeds | first goal, median | goals, median | solved | solved after, median |"]
    lines.append("|" + "---|" * 8)
    for task, names in REPORTED.items():
        for explorer in names:
            chosen = [row for row in rows if (row["task"], row["explorer"]) == (task, explorer)]
            if chosen:
                first, solved = ([row[name] for row in chosen] for name in ("first", "solved"))
                goals = np.median([int(row["goals"]) for row in chosen])
                medians = f"{_median(first)} | {goals:g} | {sum(map(bool, solved))} | {_median(solved)}"
                lines.append(f"| {task} | {TASKS[task].steps:,} | {explorer} | {len(chosen)} | {medians} |")
    return "\n".join(lines)


def _median(values: list[str]) -> str:
    median = float(np.median([float(value) if value else np.inf for value in values]))
    return f"{median:,.0f}" if np.isfinite(median) else "–"


def draw(rows: list[dict[str, str]], path: Path) -> None:
    """Draw the steps to solve each task: a point for each seed, those that did not solve it at the right edge."""
    import matplotlib.pyplot as plt

    names = [task for task in REPORTED if any(row["task"] == task for row in rows)]
    figure, axes = plt.subplots((len(names) + 1) // 2, 2, figsize=(11, 2.1 * ((len(names) + 1) // 2)))
    for axis, task in zip(axes.flat, names, strict=False):
        used = [name for name in REPORTED[task] if any((row["task"], row["explorer"]) == (task, name) for row in rows)]
        steps = TASKS[task].steps
        for i, explorer in enumerate(reversed(used)):
            colour = "C0" if "W" in explorer else "0.45"
            chosen = [row for row in rows if (row["task"], row["explorer"]) == (task, explorer)]
            chosen.sort(key=lambda row: float(row["solved"] or np.inf))
            for shift, row in zip(np.linspace(-0.25, 0.25, len(chosen)), chosen, strict=True):
                place = float(row["solved"]) if row["solved"] else 1.06 * steps
                axis.plot(place, i + shift, "o", markersize=3.5, color=colour, alpha=0.8)
        axis.axvline(steps, color="0.8", linewidth=1)
        axis.set(yticks=range(len(used)), yticklabels=used[::-1], xlim=(0, 1.1 * steps), title=task)
        axis.tick_params(labelsize=8)
        axis.title.set_fontsize(9)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    label = "steps until the greedy policy solves the task; right of the line: not within the budget"
    figure.supxlabel(label, fontsize=9)
    figure.tight_layout()
    figure.savefig(path)


def print_paired() -> None:
    """Print when the goal of `PAIRED_TASK` was first received, with the first seeds, the further ones, and all."""
    firsts: dict[str, dict[int, float]] = {name: {} for name in HALF_GREEDY}
    for row in reported_rows():
        if row["task"] == PAIRED_TASK:
            firsts[row["explorer"]][int(row["seed"])] = float(row["first"] or np.inf)
    for what, keep in (("first", False), ("further", True), ("all", None)):
        own, other = (
            np.array([value for seed, value in firsts[name].items() if keep in (None, seed in PAIRED_SEEDS)])
            for name in HALF_GREEDY
        )
        medians = np.median(own), np.median(other)
        print(f"{what} seeds: medians {medians[0]:g} and {medians[1]:g}, ratio {medians[1] / medians[0]:.2f}")
    sooner = sum(firsts[HALF_GREEDY[0]][seed] < firsts[HALF_GREEDY[1]][seed] for seed in PAIRED_SEEDS)
    rng, n = np.random.default_rng(0), len(own)
    ratios = [np.median(rng.choice(other, n)) / np.median(rng.choice(own, n)) for _ in range(5_000)]
    low, high = np.quantile(ratios, [0.025, 0.975])
    print(f"W is sooner in {sooner} of {len(PAIRED_SEEDS)}; ratio of all: {low:.1f} to {high:.1f}")


def write_page() -> None:
    """Write the table into the page, and the figure."""
    rows = reported_rows()
    begin, end = "<!-- results: written by benchmarks/deep_q.py -->", "<!-- end of results -->"
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n{table(rows)}\n{end}", text, flags=re.S), "utf-8")
    draw(rows, PAGE.parent / "pictures" / "deep-q.svg")


def execute(wanted: list[tuple[str, str, float | None, int]], jobs: int) -> None:
    """Execute the runs that are not stored, and append each to the file."""
    is_new = not RUNS.exists()
    done = {(row["task"], row["explorer"], row["scale"], row["seed"]) for row in read_rows()}
    missing = [run for run in wanted if tuple("" if part is None else str(part) for part in run) not in done]
    with RUNS.open("a", newline="", encoding="utf-8") as file, ProcessPoolExecutor(jobs) as pool:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        for i, finished in enumerate(as_completed([pool.submit(run, *one) for one in missing]), 1):
            writer.writerow(finished.result())
            file.flush()
            print(f"{i} of {len(missing)}:", *finished.result().values(), file=sys.stderr)


def main() -> None:
    """Execute what is missing, or write what follows from it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=list(REPORTED), choices=list(REPORTED), metavar="TASK")
    parser.add_argument("--explorers", nargs="+", choices=ALL + QUANTILES, metavar="EXPLORER")
    parser.add_argument("--tuning", action="store_true", help="the tuning seeds and scales instead of the others")
    parser.add_argument("--choose", action="store_true", help=f"write {CHOSEN.name} from the runs of --tuning")
    parser.add_argument("--page", action="store_true", help=f"write table and figure of {PAGE.name}")
    parser.add_argument("--paired", action="store_true", help=f"print the first goals in {PAIRED_TASK}")
    parser.add_argument("--cost", action="store_true", help="measure the explorer's share of a step")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.cost:
        torch.set_num_threads(1)
        print_cost()
    elif arguments.choose:
        choose_scales()
    elif arguments.paired:
        print_paired()
    elif arguments.page:
        write_page()
    elif arguments.tuning:
        trials = [(name, scale) for name, scales in SCALES.items() for scale in scales]
        execute([(TUNING_TASK, *trial, seed) for trial in trials for seed in TUNING_SEEDS], arguments.jobs)
    else:
        scales = json.loads(CHOSEN.read_text(encoding="utf-8"))
        wanted = [
            (task, name, scales.get(name), seed)
            for task in arguments.tasks
            for name in REPORTED[task]
            if name in (arguments.explorers or ALL + QUANTILES)
            for seed in reported_seeds(task, name)
        ]
        execute(wanted, arguments.jobs)


if __name__ == "__main__":
    main()
