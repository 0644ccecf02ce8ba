"""Measurements of single results, and their median over seeds. Events that never occurred are at step infinity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wanderlust.core.errors import counted

if TYPE_CHECKING:
    from wanderlust.cli.threshold import Threshold
    from wanderlust.experiments.result import Result


def steps_to_solve(result: Result, threshold: Threshold) -> float:
    """Return the step of the first evaluation that reached the threshold."""
    # Runs that were stored by earlier versions have no improvements.
    evaluations = result.improvements if len(result.improvements) else np.stack([result.steps, result.returns], axis=1)
    reached = [step for step, value in evaluations.reshape(-1, 2) if threshold.reached(value)]
    return float(reached[0]) if reached else math.inf


def first_reward(result: Result) -> float:
    """Return the step of the first positive reward."""
    if len(result.events):
        return float(result.events[0])
    return float(min(result.rewards[result.rewards[:, 0] > 0, 2], default=math.inf))


def first_termination(result: Result) -> float:
    """Return the step at which an episode first terminated."""
    if len(result.events):
        return float(result.events[1])
    return float(min(result.episodes[result.episodes[:, 3] > 0, 0], default=math.inf))


def median(values: Sequence[float]) -> float:
    """Return the median; the mean of a number and infinity is infinity."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def format_steps(steps: float, budget: int) -> str:
    """Return a number of steps as text; infinity becomes '>budget'."""
    return f"{steps:,.0f}" if math.isfinite(steps) else f">{budget:,}"


def time_penalties(results: Sequence[Result]) -> list[float]:
    """Return the time penalty per step of each result in whose run one was removed from the rewards for learning."""
    return [float(result.time_penalty[0]) for result in results if len(result.time_penalty)]


def time_penalty_sentence(penalties: Sequence[float], n_runs: int) -> str:
    """Return a sentence on the runs that learned from rewards without their time penalty; "" if there are none."""
    if not penalties:
        return ""
    low, high = f"{min(penalties):g}", f"{max(penalties):g}"
    size = low if low == high else f"{low} to {high}"
    return (
        f"Terminal rewards decrease by {size} per step. {len(penalties):,} of {counted(n_runs, 'run')} removed this "
        "time penalty for learning (--set remove_time_penalty=false keeps it); all returns include it."
    )
