"""Rough estimates of the time of runs, to order them and to show the remaining time.

The constants are microseconds per step, measured once on a two-core machine. During an experiment only their ratios
matter: the remaining time is scaled by the time that the finished runs took.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import NamedTuple

from wanderlust.core.errors import WanderlustError
from wanderlust.experiments.run import Run

__all__ = ["ENSEMBLES", "format_duration", "total_seconds"]

ENSEMBLES = ("bootstrapped", "random-prior", "thompson")

_SECONDS_PER_RUN = 0.008
"""To create the learner and to seal the result; mostly Python code, which two threads execute in turns."""
_SECONDS_PER_EXAM = 0.05
"""For the twelve evaluations of two policies."""
_PER_STEP = 0.3
# Explorers that plan again and again, in a world of the exam with 180 states.
_PER_STEP_OF_PLANNING = {"goal-directed": 6.0, "ucbvi": 20.0, "rlsvi": 120.0, "psrl": 500.0}
# Per state-action pair: each step sweeps over the visited pairs.
_PER_PAIR = {"vv-ucb": 0.0006, "vv-count": 0.0006}
_PER_PAIR_OF_Q = 0.0003
# Ensembles draw minibatches from at most this number of pairs. Converged ensembles skip most updates; with zero
# initialization they never get far from the start of `wall`.
_PER_STEP_OF_MINIBATCHES, _PER_PAIR_OF_MINIBATCHES, _MAX_PAIRS_OF_MINIBATCHES = 18.0, 0.0144, 5000
_PER_STEP_OF_NOISY_MINIBATCHES = 50.0
_ACTIVE_SHARE = {"wall": 0.03}
_PER_SOLVED_STEP = {"vv-ucb": 1.2, "bonus": 3.0}
_PER_SOLVED_STEP_OF_OTHERS = 0.4
_PER_EXACT_EVALUATION = 150.0
# Steps per state-action pair to learn the deep sea; other explorers use their whole budget.
_STEPS_TO_LEARN = {"vv-ucb": 1, "vv-count": 6, "random-prior": 4, "bootstrapped": 8}
_STEPS_TO_LEARN_OPTIMISTICALLY = 1
"""The same with an optimistic initialization."""
_PER_STEP_IN_PYTHON = 60.0
"""In a Gymnasium environment, evaluations included."""
_PER_STEP_ON_MODEL = 3.0
"""In the compiled loop on the transition table of an environment."""


class _Size(NamedTuple):
    """The properties of a world that determine the time of a run."""

    pairs: int = 0
    budget: int = 0
    deterministic: bool = True
    replay: str = "full"


@functools.lru_cache(maxsize=256)
def _size(world: str, options: str) -> _Size:
    """Return the size of a world; zero if its name or options are invalid."""
    from wanderlust.worlds import make_world

    try:
        built = make_world(world, **json.loads(options))
    except WanderlustError:
        return _Size()
    pairs, defaults = built.n_states * built.n_actions, built.defaults
    return _Size(pairs, defaults.budget, bool(built.mdp.deterministic), defaults.replay)


def seconds(run: Run) -> float:
    """Return the estimated seconds of a run, without compilation."""
    if run.kind == "environment":
        return 1e-6 * _PER_STEP_IN_PYTHON * float(run.settings.get("steps", 0))
    if run.kind == "model":
        return 1e-6 * _PER_STEP_ON_MODEL * float(run.settings.get("steps", 0))
    size = _size(run.world, json.dumps(dict(run.world_options)))
    steps = int(run.settings.get("steps") or run.settings.get("budget") or size.budget)
    is_optimistic = run.settings.get("initial") == "optimistic"
    if run.until == "positive-return" and run.explorer in _STEPS_TO_LEARN:
        per_pair = _STEPS_TO_LEARN_OPTIMISTICALLY if is_optimistic else _STEPS_TO_LEARN[run.explorer]
        steps = min(steps, per_pair * size.pairs)
    per_step = _PER_STEP
    if run.settings.get("replay", size.replay) == "full":
        per_step += _per_step_of_replay(run, size)
    if run.measure == "values":
        per_step += _PER_SOLVED_STEP.get(run.explorer, _PER_SOLVED_STEP_OF_OTHERS)
    elif not size.deterministic:
        per_step += _PER_EXACT_EVALUATION / int(run.settings.get("evaluate_every", 50))
    per_run = _SECONDS_PER_RUN + (_SECONDS_PER_EXAM if run.measure == "exam" else 0.0)
    return per_run + 1e-6 * per_step * steps


def _per_step_of_replay(run: Run, size: _Size) -> float:
    """Return the microseconds per step for replaying the whole memory."""
    if run.explorer not in ENSEMBLES:
        return _PER_PAIR.get(run.explorer, _PER_PAIR_OF_Q) * size.pairs + _PER_STEP_OF_PLANNING.get(run.explorer, 0.0)
    if not size.deterministic:
        return _PER_STEP_OF_NOISY_MINIBATCHES
    active = 1.0 if run.settings.get("initial") == "optimistic" else _ACTIVE_SHARE.get(run.world, 1.0)
    pairs = min(size.pairs, _MAX_PAIRS_OF_MINIBATCHES)
    return active * (_PER_STEP_OF_MINIBATCHES + _PER_PAIR_OF_MINIBATCHES * pairs)


def format_duration(duration: float) -> str:
    """Return a number of seconds as text in seconds, minutes or hours."""
    if duration < 90:
        return f"{duration:.0f} s"
    return f"{duration / 60:.0f} min" if duration < 5400 else f"{duration / 3600:.1f} h"


def total_seconds(runs: Iterable[Run], jobs: int) -> float:
    """Return the estimated seconds of many runs, `jobs` at a time."""
    times = [seconds(run) for run in runs]
    return max([sum(times) / max(jobs, 1), *times]) if times else 0.0
