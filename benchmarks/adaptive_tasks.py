"""The environments of benchmarks/adaptive_preset.py: those on which the rules of `adaptive` were made, and others."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import adaptive_environments
import numpy as np

import wanderlust as wl
from wanderlust.core.planning import optimal_values, policy_value
from wanderlust.experiments.run import Run

SEEDS = 10
EVALUATIONS = 50
MAX_LOSS = 1.25
"""The largest permitted ratio of the median steps to solve."""
DISCOUNT = 0.99


class Curve(Protocol):
    """The results of one run: the returns of the greedy policy at some steps."""

    @property
    def steps(self) -> Any:
        """The steps of the evaluations."""

    @property
    def returns(self) -> Any:
        """The return at each of them."""


@dataclass(frozen=True)
class Summary:
    """The results of one explorer in one environment: all seeds."""

    solved_at: list[float]
    final: list[float]
    """The score at the last evaluation."""

    @property
    def median(self) -> float:
        """The median of the steps to solve; infinity if at most half of the seeds solved it."""
        return float(np.median(self.solved_at)) if np.isfinite(self.solved_at).mean() > 0.5 else np.inf

    @property
    def fraction(self) -> float:
        """The fraction of the seeds that solved it."""
        return float(np.isfinite(self.solved_at).mean())

    @property
    def cell(self) -> str:
        """The median and the fraction as text."""
        steps = f"{self.median:,.0f}" if np.isfinite(self.median) else "–"
        return steps if self.fraction == 1 else f"{steps} ({self.fraction:.0%})"


def ratio(ours: Summary, written: Summary) -> float:
    """Return the ratio of the median steps to solve; NaN if neither solved it."""
    if np.isinf(ours.median) and np.isinf(written.median):
        return np.nan
    return ours.median / written.median


def ratio_text(value: float) -> str:
    """Return a ratio as text; one that is too large is bold."""
    if np.isnan(value):
        return "–"
    text = "∞" if np.isinf(value) else f"{value:.2f}" if value else "0"
    return f"**{text}**" if value > MAX_LOSS else text


@dataclass(frozen=True)
class Task:
    """An environment of `adaptive_environments`, and the number of steps of a run."""

    function: str
    options: Mapping[str, Any]
    steps: int
    title: str
    deterministic: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_minigrid(self) -> bool:
        """Whether the greedy policy is evaluated by an episode, since there is no table of transitions."""
        return self.function == "minigrid"

    def env(self) -> Any:
        """Return a new environment."""
        return getattr(adaptive_environments, self.function)(**self.options)

    def run(self, explorer: str, preset: str, seed: int, changes: Mapping[str, Any]) -> Run:
        """Return the run of an explorer: on the model of the environment if it has one."""
        fields: dict[str, Any] = {
            "world": f"adaptive_environments:{self.function}",
            "world_options": self.options,
            "explorer": explorer,
            "preset": preset,
            "seed": seed,
            "settings": {"steps": self.steps, "evaluate_every": self.steps // EVALUATIONS, **self.settings, **changes},
        }
        if self.is_minigrid:
            return Run(kind="environment", episodes=1, env_version="1", **fields)
        return Run.of_model(measure="discounted-returns", **fields)

    @functools.cached_property
    def bounds(self) -> tuple[float, float]:
        """The return of the random policy and of an optimal policy; in MiniGrid, 0 and that of a shortest path."""
        env = self.env()
        if self.is_minigrid:
            return 0.0, 1.0 - 0.9 * env.shortest_path / env.known["max_steps"]
        mdp = wl.world_from_gym(env).mdp
        uniform = np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions)
        random = float(mdp.start @ policy_value(mdp, uniform, DISCOUNT))
        return random, float(mdp.start @ optimal_values(mdp, DISCOUNT).v)

    def summary(self, results: Iterable[Curve]) -> Summary:
        """Return the summary of several seeds."""
        solved_at, final = [], []
        low, high = self.bounds
        level = 1.0 - 1e-6 if self.deterministic or self.is_minigrid else 0.95
        for result in results:
            scores = (result.returns - low) / (high - low)
            solved = scores >= level
            solved_at.append(float(result.steps[np.argmax(solved)]) if solved.any() else np.inf)
            final.append(float(scores[-1]))
        return Summary(solved_at, final)


def minigrid(name: str, layout: int, steps: int) -> Task:
    """Return a task of MiniGrid with one layout."""
    title = f"MiniGrid {name}, layout {layout}, deterministic"
    return Task("minigrid", {"name": f"MiniGrid-{name}-v0", "layout": layout}, steps, title)


DEVELOPMENT = {
    "lake-12x10": Task("lake", {"rows": 12, "columns": 10, "seed": 3}, 60_000, "lake 12x10, slippery"),
    "cliff-4x9": Task("cliff", {"rows": 4, "columns": 9}, 10_000, "cliff 4x9, slippery"),
    "random-50": Task("random_mdp", {"states": 50, "seed": 1}, 10_000, "random MDP, 50 states"),
    "dense-50": Task("dense_mdp", {"states": 50, "seed": 1}, 8_000, "random MDP, 50 states, dense rewards"),
    "key-door-24": Task("key_door", {"cells": 12}, 5_000, "key and door, 24 states, stochastic"),
    "river-8": Task("river_swim", {"states": 8}, 8_000, "RiverSwim, 8 states"),
    "two-goals-8x8": Task("two_goals", {"rows": 8, "columns": 8}, 5_000, "two goals 8x8, slippery"),
    "maze-7x7": Task("maze", {"rows": 7, "columns": 7, "seed": 1}, 6_000, "maze 7x7, deterministic", True),
    "lake-6x9": Task("lake", {"rows": 6, "columns": 9, "seed": 11}, 15_000, "lake 6x9, slippery"),
    "random-100": Task("random_mdp", {"states": 100, "seed": 15}, 8_000, "random MDP, 100 states"),
    "lake-5x5": Task("lake", {"rows": 5, "columns": 5, "seed": 12, "slip": 0.5}, 5_000, "lake 5x5, less slippery"),
    "river-12": Task("river_swim", {"states": 12}, 5_000, "RiverSwim, 12 states"),
    "door-key-5x5": minigrid("DoorKey-5x5", 0, 6_000),
    "multi-room": minigrid("MultiRoom-N2-S4", 0, 4_000),
    "crossing": minigrid("SimpleCrossingS9N1", 0, 5_000),
}
"""The environments on which the rules were made."""
HELD_OUT = {
    "lake-7x5": Task("lake", {"rows": 7, "columns": 5, "seed": 31}, 15_000, "lake 7x5, slippery"),
    "lake-6x6": Task("lake", {"rows": 6, "columns": 6, "seed": 42, "slip": 0.5}, 8_000, "lake 6x6, less slippery"),
    "cliff-5x7": Task("cliff", {"rows": 5, "columns": 7, "slip": 0.2}, 6_000, "cliff 5x7, slippery"),
    "slippery-maze": Task("maze", {"rows": 5, "columns": 6, "seed": 13, "slip": 0.15}, 6_000, "maze 5x6, slippery"),
    "two-goals-6x12": Task("two_goals", {"rows": 6, "columns": 12, "slip": 0.2}, 6_000, "two goals 6x12, slippery"),
    "random-20": Task("random_mdp", {"states": 20, "seed": 14}, 3_000, "random MDP, 20 states"),
    "random-80": Task("random_mdp", {"states": 80, "seed": 32}, 10_000, "random MDP, 80 states"),
    "random-120": Task("random_mdp", {"states": 120, "seed": 33, "rewards": 6}, 12_000, "random MDP, 120 states"),
    "random-200": Task("dense_mdp", {"states": 200, "seed": 16}, 10_000, "random MDP, 200 states, dense rewards"),
    "dense-80": Task("dense_mdp", {"states": 80, "seed": 17}, 5_000, "random MDP, 80 states, dense rewards"),
    "key-door-40": Task("key_door", {"cells": 20}, 5_000, "key and door, 40 states, stochastic"),
    "river-10": Task("river_swim", {"states": 10}, 5_000, "RiverSwim, 10 states"),
    "blackjack": Task("blackjack", {}, 10_000, "Blackjack"),
    "maze-10x6": Task("maze", {"rows": 10, "columns": 6, "seed": 18}, 6_000, "maze 10x6, deterministic", True),
    "costly-maze": Task(
        "maze", {"rows": 5, "columns": 8, "seed": 19, "step_reward": -0.01}, 5_000,
        "maze 5x8 with a cost per step, deterministic", True,
    ),
    "door-key-6x6": minigrid("DoorKey-6x6", 0, 8_000),
    "unlock-0": minigrid("Unlock", 0, 8_000),
    "unlock-1": minigrid("Unlock", 1, 8_000),
    "key-corridor": minigrid("KeyCorridorS3R1", 0, 4_000),
}  # fmt: skip
"""The environments that had no part in making the rules.

Earlier sets also had `lake-6x9`, `random-100`, `lake-5x5` and `river-12`. There earlier rules lost: they reduced
exploration too early. The rules were changed, these joined the development set, and others replaced them.
"""
SETS = {"development": DEVELOPMENT, "held-out": HELD_OUT}
