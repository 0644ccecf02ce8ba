"""How soon `wl.learn` solves well-known Gymnasium environments with its defaults, beside ε-greedy exploration.

    python benchmarks/gymnasium_bars.py                       # ten seeds each, or more: about an hour
    python benchmarks/gymnasium_bars.py --quick               # two seeds each: minutes
    python benchmarks/gymnasium_bars.py --only taxi cliff --markdown table.md --json table.json

It needs minigrid (pip install minigrid). Every number is a count of steps, so the table is the same on any machine.
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

RIVAL = "epsilon-greedy"
CAR_BINS = 16


@dataclass(frozen=True)
class Bar:
    """A task and what is asked of it."""

    name: str
    asked: str
    make: Callable[[], wl.Tabular]
    solved: Callable[[TrainingLoop], bool]
    steps: int
    """Within how many steps it must be solved."""
    every: int
    """It is looked at after every so many steps."""
    needed: float = 1.0
    """In which share of the seeds."""
    seeds: int = 10
    """How many; more where not all need be solved, since ten cannot tell a share of 0.9 from one of 0.8."""
    explorer: str = "vv-ucb"
    rival_steps: int | None = None
    """How long ε-greedy is given; None if it is not asked."""
    rival_ratio: float = 1.0
    """How many times the steps ε-greedy must need, in the median."""


@dataclass
class Result:
    """The steps after which a task was solved, seed by seed; None where it was not."""

    name: str
    asked: str
    explorer: str
    limit: int
    steps: list[int | None]
    passed: bool
    rival_limit: int | None = None
    rival_steps: list[int | None] = field(default_factory=list)


# --- When a task is solved -----------------------------------------------------------------------------


def greedy_share(loop: TrainingLoop) -> float:
    """Return what the greedy policy is worth from the start, exactly, as a share of the optimum."""
    env, agent = loop.env, loop.agent
    world = wl.world_from_gym(env.env)
    q, target = np.zeros((world.n_states, world.n_actions)), agent.tables["target"]
    for state in range(min(env.n_states, len(target))):
        q[env.key_of(state)] = target[state]
    mdp, discount = world.mdp, agent.settings.discount
    best = float(mdp.start @ optimal_values(mdp, discount).v)
    value = float(mdp.start @ policy_value(mdp, uniform_over_ties(q), discount))
    # Of a cost, twice as much is half as good.
    return value / best if best > 0 else best / value


def is_optimal(loop: TrainingLoop) -> bool:
    """Tell whether the greedy policy is as good as the best, from every start."""
    return greedy_share(loop) > 1 - 1e-9


def is_within_five_percent(loop: TrainingLoop) -> bool:
    """Tell whether the greedy policy is worth 95 % of the best."""
    return greedy_share(loop) >= 0.95


def takes_a_shortest_way(loop: TrainingLoop) -> bool:
    """Tell whether the greedy policy reaches a grid's goal in as few steps as possible, told by what it is paid."""
    best = 1 - 0.9 * shortest_way(loop.env) / loop.env.unwrapped.max_steps
    return float(wl.evaluate(loop.agent, loop.env.copy(), episodes=1)[0]) >= best - 1e-9


def shortest_way(env: wl.Tabular) -> int:
    """Return the smallest number of steps to a grid's goal, searched through copies of the grid."""
    known = vars(env).setdefault("shortest_way", 0)
    if known:
        return int(known)
    twin = env.copy()
    twin.reset()
    seen, front, steps = set(), [twin.unwrapped], 0
    while front:
        steps += 1
        following = []
        for place in front:
            for action in range(twin.n_actions):
                copied = copy.deepcopy(place)
                _, reward, over, _, _ = copied.step(action)
                if reward > 0:
                    env.shortest_way = steps  # type: ignore[attr-defined]
                    return steps
                key = (copied.hash(), copied.carrying is None)
                if not over and key not in seen:
                    seen.add(key)
                    following.append(copied)
        front = following
    raise RuntimeError(f"the goal of {env.name} cannot be reached.")


def has_found_a_reward(loop: TrainingLoop) -> bool:
    """Tell whether this step was rewarded."""
    return loop.reward > 0


def always_gets_there(loop: TrainingLoop) -> bool:
    """Tell whether the greedy policy reaches the goal in all of twenty episodes, from starts as they come."""
    return bool((wl.evaluate(loop.agent, episodes=20) > 0).all())


# --- The tasks -----------------------------------------------------------------------------------------


class OnlyTheGoalPays(gym.Wrapper[Any, Any, Any, Any]):
    """Pays 1 where the task ends and 0 elsewhere."""

    def step(self, action: Any) -> Any:
        """Take a step."""
        observation, _, terminated, truncated, info = self.env.step(action)
        return observation, float(terminated), terminated, truncated, info


def lake(**options: Any) -> Callable[[], wl.Tabular]:
    """Return the maker of an 8x8 lake."""
    return lambda: wl.tabular(gym.make("FrozenLake-v1", map_name="8x8", **options))


def grid(name: str) -> Callable[[], wl.Tabular]:
    """Return the maker of a grid whose layout is always the same."""
    return lambda: wl.tabular(gym.make(name), key="hash", reset_seed=0)


def car() -> wl.Tabular:
    """Return the car in bins; only the goal pays."""
    return wl.tabular(OnlyTheGoalPays(gym.make("MountainCar-v0")), bins=(CAR_BINS, CAR_BINS))


def newest(name: str) -> str:
    """Return the newest version of an environment that Gymnasium knows."""
    return max((id for id in gym.registry if id.startswith(f"{name}-v")), key=lambda id: int(id.rpartition("v")[2]))


TAXI, CLIFF = newest("Taxi"), newest("CliffWalking")
GRIDS = {
    "door": ("MiniGrid-DoorKey-5x5-v0", 1_500, 50, 7_500),
    "rooms": ("MiniGrid-FourRooms-v0", 6_000, 100, 18_000),
    "two rooms": ("MiniGrid-MultiRoom-N2-S4-v0", 1_000, 50, 5_000),
}
"""Within how many steps a grid is to be solved, how often it is looked at, and how long ε-greedy is given."""
BARS = {
    "lake": Bar(
        "FrozenLake-v1 8x8, not slippery", "optimal", lake(is_slippery=False), is_optimal, 1_000, 50,
        rival_steps=20_000, rival_ratio=5,
    ),
    "slippery": Bar(
        "FrozenLake-v1 8x8, slippery", "95 % of the optimum, exactly", lake(), is_within_five_percent,
        100_000, 2_000, needed=0.9, seeds=40,
    ),
    "cliff": Bar(CLIFF, "optimal", lambda: wl.tabular(CLIFF), is_optimal, 1_000, 50, rival_steps=10_000),
    "taxi": Bar(
        TAXI, "optimal from all 300 starts", lambda: wl.tabular(TAXI), is_optimal, 12_000, 250, rival_steps=120_000
    ),
    **{
        key: Bar(id, "a shortest way", grid(id), takes_a_shortest_way, steps, every, rival_steps=rival)
        for key, (id, steps, every, rival) in GRIDS.items()
    },
    "car finds": Bar(
        f"MountainCar-v0, {CAR_BINS}x{CAR_BINS} bins", "the goal found once", car, has_found_a_reward, 10_000, 1,
        rival_steps=40_000, rival_ratio=3,
    ),
    "car learns": Bar(
        f"MountainCar-v0, {CAR_BINS}x{CAR_BINS} bins", "the goal reached in 20 of 20 episodes, at the end", car,
        always_gets_there, 100_000, 100_000, needed=0.8, seeds=20,
    ),
}  # fmt: skip


# --- Running -------------------------------------------------------------------------------------------


class Until(wl.Callback):
    """Ends a loop once a task is solved."""

    def __init__(self, bar: Bar) -> None:
        self.bar = bar
        self.solved_at: int | None = None

    def on_step(self, loop: TrainingLoop) -> bool | None:
        """Look when it is time."""
        if loop.step % self.bar.every or not self.bar.solved(loop):
            return None
        self.solved_at = loop.step
        return False


def solved_at(bar: Bar, explorer: str, seed: int, limit: int) -> int | None:
    """Return the step after which an explorer has solved a task, or None if it has not within the limit."""
    until = Until(bar)
    wl.learn(bar.make(), explorer, steps=limit, seed=seed, callbacks=[until], quiet=True)
    return until.solved_at


def measured(bar: Bar, seeds: int) -> Result:
    """Run a task with every seed, and ε-greedy as well where that is asked."""
    ours = [solved_at(bar, bar.explorer, seed, bar.steps) for seed in range(seeds)]
    passed = sum(steps is not None for steps in ours) >= bar.needed * seeds
    result = Result(bar.name, bar.asked, bar.explorer, bar.steps, ours, passed)
    if bar.rival_steps is not None:
        theirs = [solved_at(bar, RIVAL, seed, bar.rival_steps) for seed in range(seeds)]
        result.rival_limit, result.rival_steps = bar.rival_steps, theirs
        ratio = median(theirs, bar.rival_steps) / median(ours, bar.steps)
        result.passed = passed and ratio >= bar.rival_ratio and ratio > 1
    return result


def median(steps: list[int | None], limit: int) -> float:
    """Return the median, what was not solved counting as the limit."""
    return float(statistics.median(limit if step is None else step for step in steps))


def as_markdown(results: list[Result]) -> str:
    """Return the table of all results."""
    lines = ["| environment | asked | explorer | solved | steps: median (largest) | ε-greedy | passed |"]
    lines.append("|---|---|---|---|---|---|---|")
    for r in results:
        done = [step for step in r.steps if step is not None]
        counts = f"{median(r.steps, r.limit):,.0f} ({max(done):,})" if done else "-"
        rival = "-"
        if r.rival_limit is not None:
            n_done = sum(step is not None for step in r.rival_steps)
            many = f"{median(r.rival_steps, r.rival_limit):,.0f}"
            within = f"{n_done} of {len(r.rival_steps)} within {r.rival_limit:,}"
            rival = f"{many if 2 * n_done > len(r.rival_steps) else f'more than {r.rival_limit:,}'}; {within}"
        solved = f"{len(done)} of {len(r.steps)} within {r.limit:,}"
        verdict = "yes" if r.passed else "NO"
        lines.append(f"| {r.name} | {r.asked} | {r.explorer} | {solved} | {counts} | {rival} | {verdict} |")
    return "\n".join(lines)


def main() -> int:
    """Run what was asked for; return 0 if all bars were passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two seeds each")
    parser.add_argument("--seeds", type=int, help="how many seeds each")
    parser.add_argument("--only", nargs="+", choices=list(BARS), metavar="NAME", help=f"some of: {', '.join(BARS)}")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    parser.add_argument("--json", type=Path, help="also write all numbers to this file")
    given = parser.parse_args()
    results = []
    for name in given.only or BARS:
        seeds = given.seeds or (2 if given.quick else BARS[name].seeds)
        results.append(measured(BARS[name], seeds))
        print(f"{name}: {results[-1].steps}, {RIVAL}: {results[-1].rival_steps}", file=sys.stderr, flush=True)
    table = as_markdown(results)
    print(table)
    if given.markdown is not None:
        given.markdown.write_text(table + "\n", encoding="utf-8")
    if given.json is not None:
        given.json.write_text(json.dumps({"bars": [asdict(r) for r in results]}, indent=1) + "\n")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
