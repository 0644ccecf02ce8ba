"""Steps that `wl.learn` needs to solve Gymnasium environments with the preset `adaptive`, compared with ε-greedy.

A row of the table names the options that differ from the defaults.

    python benchmarks/gymnasium_bars.py                       # 10 to 40 seeds per task: about an hour
    python benchmarks/gymnasium_bars.py --quick               # 2 seeds per task: minutes
    python benchmarks/gymnasium_bars.py --only taxi cliff-walking --markdown table.md --json table.json

Needs minigrid (pip install minigrid). All results are numbers of steps, so the table is the same on any machine.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import minigrid  # noqa: F401
import numpy as np

import wanderlust as wl
from wanderlust.core.planning import optimal_values, policy_value, uniform_over_ties
from wanderlust.training.loop import TrainingLoop

BASELINE = "epsilon-greedy"
N_BINS = 16


@dataclass(frozen=True)
class Task:
    """An environment and the criterion by which it is solved."""

    name: str
    criterion: str
    make: Callable[[], wl.Tabular]
    solved: Callable[[TrainingLoop], bool]
    steps: int
    """The step limit."""
    every: int
    """The number of steps between two evaluations of the criterion."""
    min_solved: float = 1.0
    """The fraction of the seeds that must be solved."""
    seeds: int = 10
    """The number of seeds; more if `min_solved` is below 1, since ten cannot distinguish 0.9 from 0.8."""
    explorer: str = "vv-ucb"
    options: dict[str, Any] = field(default_factory=dict)
    """Options of `learn` for the explorer, other than the defaults."""
    baseline_steps: int | None = None
    """The step limit of ε-greedy; None if it is not run."""
    min_ratio: float = 1.0
    """The median steps of ε-greedy must be at least this multiple of the explorer's."""


@dataclass
class Result:
    """The step at which each seed solved a task, or None."""

    name: str
    criterion: str
    explorer: str
    limit: int
    steps: list[int | None]
    passed: bool
    baseline_limit: int | None = None
    baseline_steps: list[int | None] = field(default_factory=list)


# --- Criteria ------------------------------------------------------------------------------------------


def relative_value(loop: TrainingLoop) -> float:
    """Return the exact value of the greedy policy at the start, as a fraction of the optimal value."""
    env, agent = loop.env, loop.agent
    world = wl.world_from_gym(env.env)
    q, target = np.zeros((world.n_states, world.n_actions)), agent.tables["target"]
    for state in range(min(env.n_states, len(target))):
        q[env.key_of(state)] = target[state]
    mdp, discount = world.mdp, agent.settings.discount
    best = float(mdp.start @ optimal_values(mdp, discount).v)
    value = float(mdp.start @ policy_value(mdp, uniform_over_ties(q), discount))
    # If the values are negative (costs), the ratio is inverted.
    return value / best if best > 0 else best / value


def is_optimal(loop: TrainingLoop) -> bool:
    """Return whether the greedy policy is optimal from all starts."""
    return relative_value(loop) > 1 - 1e-9


def is_within_five_percent(loop: TrainingLoop) -> bool:
    """Return whether the greedy policy has at least 95 % of the optimal value."""
    return relative_value(loop) >= 0.95


def takes_shortest_path(loop: TrainingLoop) -> bool:
    """Return whether the greedy policy takes a shortest path to a grid's goal, judged by its return."""
    best = 1 - 0.9 * shortest_path_length(loop.env) / loop.env.unwrapped.max_steps
    return float(wl.evaluate(loop.agent, loop.env.copy(), episodes=1)[0]) >= best - 1e-9


def shortest_path_length(env: wl.Tabular) -> int:
    """Return the minimum number of steps to a grid's goal, found by breadth-first search in copies of the grid."""
    cached = vars(env).setdefault("shortest_path", 0)
    if cached:
        return int(cached)
    start = env.copy()
    start.reset()
    visited, frontier, steps = set(), [start.unwrapped], 0
    while frontier:
        steps += 1
        next_frontier = []
        for grid_env in frontier:
            for action in range(start.n_actions):
                copied = copy.deepcopy(grid_env)
                _, reward, terminated, _, _ = copied.step(action)
                if reward > 0:
                    env.shortest_path = steps  # type: ignore[attr-defined]
                    return steps
                key = (copied.hash(), copied.carrying is None)
                if not terminated and key not in visited:
                    visited.add(key)
                    next_frontier.append(copied)
        frontier = next_frontier
    raise RuntimeError(f"the goal of {env.name} cannot be reached.")


def received_reward(loop: TrainingLoop) -> bool:
    """Return whether the latest reward is positive."""
    return loop.reward > 0


def always_reaches_goal(loop: TrainingLoop) -> bool:
    """Return whether the greedy policy reaches the goal in all of twenty episodes with random starts."""
    return bool((wl.evaluate(loop.agent, episodes=20) > 0).all())


# --- Tasks ---------------------------------------------------------------------------------------------


class GoalRewardOnly(gym.Wrapper[Any, Any, Any, Any]):
    """Gives a reward of 1 on termination and 0 otherwise."""

    def step(self, action: Any) -> Any:
        """Take a step."""
        observation, _, terminated, truncated, info = self.env.step(action)
        return observation, float(terminated), terminated, truncated, info


def frozen_lake(**options: Any) -> Callable[[], wl.Tabular]:
    """Return a function that creates an 8x8 FrozenLake."""
    return lambda: wl.tabular(gym.make("FrozenLake-v1", map_name="8x8", **options))


def grid(name: str) -> Callable[[], wl.Tabular]:
    """Return a function that creates a MiniGrid environment with a fixed layout."""
    return lambda: wl.tabular(gym.make(name), key="hash", reset_seed=0)


def mountain_car() -> wl.Tabular:
    """Return MountainCar with binned observations and a reward at the goal only."""
    return wl.tabular(GoalRewardOnly(gym.make("MountainCar-v0")), bins=(N_BINS, N_BINS))


def newest_version(name: str) -> str:
    """Return the id of the newest registered version of an environment."""
    return max((id for id in gym.registry if id.startswith(f"{name}-v")), key=lambda id: int(id.rpartition("v")[2]))


TAXI, CLIFF = newest_version("Taxi"), newest_version("CliffWalking")
GRIDS = {
    "door-key": ("MiniGrid-DoorKey-5x5-v0", 1_500, 50, 7_500, {"sweeps": 50}),
    "four-rooms": ("MiniGrid-FourRooms-v0", 6_000, 100, 18_000, {}),
    "multi-room": ("MiniGrid-MultiRoom-N2-S4-v0", 1_000, 50, 5_000, {}),
}
"""Id, step limit, evaluation interval, step limit of ε-greedy and options of `learn`."""
TASKS = {
    "frozen-lake": Task(
        "FrozenLake-v1 8x8, not slippery", "optimal", frozen_lake(is_slippery=False), is_optimal, 1_000, 50,
        baseline_steps=20_000, min_ratio=5,
    ),
    "frozen-lake-slippery": Task(
        "FrozenLake-v1 8x8, slippery", "95 % of the optimum, exactly", frozen_lake(), is_within_five_percent,
        100_000, 2_000, min_solved=0.9, seeds=40,
    ),
    "cliff-walking": Task(CLIFF, "optimal", lambda: wl.tabular(CLIFF), is_optimal, 1_000, 50, baseline_steps=10_000),
    "taxi": Task(
        TAXI, "optimal from all 300 starts", lambda: wl.tabular(TAXI), is_optimal, 12_000, 250, baseline_steps=120_000
    ),
    **{
        key: Task(
            id, "shortest path", grid(id), takes_shortest_path, steps, every, options=options, baseline_steps=baseline
        )
        for key, (id, steps, every, baseline, options) in GRIDS.items()
    },
    "mountain-car-first-goal": Task(
        f"MountainCar-v0, {N_BINS}x{N_BINS} bins", "goal reached once", mountain_car, received_reward, 10_000, 1,
        baseline_steps=40_000, min_ratio=3,
    ),
    "mountain-car": Task(
        f"MountainCar-v0, {N_BINS}x{N_BINS} bins", "goal reached in 20 of 20 episodes, at the end", mountain_car,
        always_reaches_goal, 100_000, 100_000, min_solved=0.8, seeds=20,
    ),
}  # fmt: skip


# --- Running -------------------------------------------------------------------------------------------


class StopAtCriterion(wl.Callback):
    """Stops training once a task is solved."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.solved_at: int | None = None

    def on_step(self, loop: TrainingLoop) -> bool | None:
        """Evaluate the criterion every `task.every` steps."""
        if loop.step % self.task.every or not self.task.solved(loop):
            return None
        self.solved_at = loop.step
        return False


def solved_at(task: Task, explorer: str, seed: int, limit: int) -> int | None:
    """Return the step at which an explorer solves a task, or None if it does not within the limit."""
    stop = StopAtCriterion(task)
    options = task.options if explorer == task.explorer else {}
    wl.learn(task.make(), explorer, steps=limit, seed=seed, callbacks=[stop], quiet=True, **options)
    return stop.solved_at


def run_task(task: Task, seeds: int) -> Result:
    """Run a task with every seed, and with ε-greedy as well if the task has a step limit for it."""
    steps = [solved_at(task, task.explorer, seed, task.steps) for seed in range(seeds)]
    passed = sum(step is not None for step in steps) >= task.min_solved * seeds
    options = "".join(f", {name}={value}" for name, value in task.options.items())
    result = Result(task.name, task.criterion, f"{task.explorer}{options}", task.steps, steps, passed)
    if task.baseline_steps is not None:
        baseline = [solved_at(task, BASELINE, seed, task.baseline_steps) for seed in range(seeds)]
        result.baseline_limit, result.baseline_steps = task.baseline_steps, baseline
        ratio = median(baseline, task.baseline_steps) / median(steps, task.steps)
        result.passed = passed and ratio >= task.min_ratio and ratio > 1
    return result


def median(steps: list[int | None], limit: int) -> float:
    """Return the median, with unsolved seeds counted as the limit."""
    return float(statistics.median(limit if step is None else step for step in steps))


def as_markdown(results: list[Result]) -> str:
    """Return the results as a Markdown table."""
    lines = ["| environment | criterion | explorer | solved | steps: median (maximum) | ε-greedy | passed |"]
    lines.append("|---|---|---|---|---|---|---|")
    for r in results:
        solved_steps = [step for step in r.steps if step is not None]
        steps = f"{median(r.steps, r.limit):,.0f} ({max(solved_steps):,})" if solved_steps else "-"
        baseline = "-"
        if r.baseline_limit is not None:
            seeds, n_solved = len(r.baseline_steps), sum(step is not None for step in r.baseline_steps)
            typical = f"{median(r.baseline_steps, r.baseline_limit):,.0f}"
            within = f"{n_solved} of {seeds} within {r.baseline_limit:,}"
            baseline = f"{typical if 2 * n_solved > seeds else f'more than {r.baseline_limit:,}'}; {within}"
        solved = f"{len(solved_steps)} of {len(r.steps)} within {r.limit:,}"
        verdict = "yes" if r.passed else "NO"
        lines.append(f"| {r.name} | {r.criterion} | {r.explorer} | {solved} | {steps} | {baseline} | {verdict} |")
    return "\n".join(lines)


def main() -> int:
    """Run the selected tasks; return 0 if all of them passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 seeds per task")
    parser.add_argument("--seeds", type=int, help="number of seeds per task")
    parser.add_argument("--only", nargs="+", choices=list(TASKS), metavar="NAME", help=f"some of: {', '.join(TASKS)}")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    parser.add_argument("--json", type=Path, help="also write all results to this file")
    arguments = parser.parse_args()
    results = []
    for name in arguments.only or TASKS:
        seeds = arguments.seeds or (2 if arguments.quick else TASKS[name].seeds)
        results.append(run_task(TASKS[name], seeds))
        print(f"{name}: {results[-1].steps}, {BASELINE}: {results[-1].baseline_steps}", file=sys.stderr, flush=True)
    table = as_markdown(results)
    print(table)
    if arguments.markdown is not None:
        arguments.markdown.write_text(table + "\n", encoding="utf-8")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"tasks": [asdict(r) for r in results]}, indent=1) + "\n")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
