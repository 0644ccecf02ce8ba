"""How long a run takes, roughly: what comes first when many wait, and what to tell people who wait.

The numbers are microseconds a step, measured once on a two-core machine. Only their ratios matter while a sweep
goes on: the time left is their sum, scaled by how long the finished runs really took.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import NamedTuple

from wanderlust.core.errors import WanderlustError
from wanderlust.experiments.run import Run

ENSEMBLES = ("bootstrapped", "random-prior", "thompson")

_PER_STEP = 0.3
# For each pair of state and action: a step sweeps over those that were visited.
_PER_PAIR = {"vv-ucb": 0.0009, "vv-count": 0.0009, "bonus": 0.0014}
_PER_PAIR_OF_Q = 0.0003
# Ensembles gather minibatches from so many pairs at most. They are often converged, once they have learnt or found nothing
# more; from zero they never get far from the start of the wall.
_PER_STEP_OF_MINIBATCHES, _PER_PAIR_OF_MINIBATCHES, _MAX_PAIRS_OF_MINIBATCHES = 25.0, 0.02, 5000
_PER_STEP_OF_NOISY_MINIBATCHES = 100.0
_ASLEEP = {"wall": 0.03}
_PER_SOLVED_STEP = {"vv-ucb": 1.2, "bonus": 3.0}
_PER_SOLVED_STEP_OF_OTHERS = 0.4
_PER_EXACT_EVALUATION = 150.0
# How many steps for each pair of the deep sea, to learn it; others take all they may.
_STEPS_TO_LEARN = {"vv-ucb": 2, "vv-count": 4, "random-prior": 7, "bootstrapped": 13}
_PER_STEP_IN_PYTHON = 60.0
"""Of an environment that Python runs, evaluations included."""


class _Size(NamedTuple):
    """What of a world decides how long a run in it takes."""

    pairs: int = 0
    budget: int = 0
    deterministic: bool = True
    replay: str = "full"


@functools.lru_cache(maxsize=256)
def _size(world: str, options: str) -> _Size:
    """Return the size of a world; one that is wrong takes no time."""
    from wanderlust.worlds import make_world

    try:
        made = make_world(world, **json.loads(options))
    except WanderlustError:
        return _Size()
    pairs, defaults = made.n_states * made.n_actions, made.defaults
    return _Size(pairs, defaults.budget, bool(made.mdp.deterministic), defaults.replay)


def seconds(run: Run) -> float:
    """Return how long a run may take, in seconds, once its explorer is compiled."""
    if run.kind == "environment":
        return 1e-6 * _PER_STEP_IN_PYTHON * float(run.settings.get("steps", 0))
    size = _size(run.world, json.dumps(dict(run.world_options)))
    steps = int(run.settings.get("steps") or run.settings.get("budget") or size.budget)
    if run.until == "positive-return" and run.explorer in _STEPS_TO_LEARN:
        steps = min(steps, _STEPS_TO_LEARN[run.explorer] * size.pairs)
    each = _PER_STEP
    if run.settings.get("replay", size.replay) == "full":
        each += _of_replay(run, size)
    if run.measure == "values":
        each += _PER_SOLVED_STEP.get(run.explorer, _PER_SOLVED_STEP_OF_OTHERS)
    elif not size.deterministic:
        each += _PER_EXACT_EVALUATION / int(run.settings.get("evaluate_every", 50))
    return 1e-6 * each * steps


def _of_replay(run: Run, size: _Size) -> float:
    """Return how long a step replays the whole memory, in microseconds."""
    if run.explorer not in ENSEMBLES:
        return _PER_PAIR.get(run.explorer, _PER_PAIR_OF_Q) * size.pairs
    if not size.deterministic:
        return _PER_STEP_OF_NOISY_MINIBATCHES
    awake = 1.0 if run.settings.get("initial") == "optimistic" else _ASLEEP.get(run.world, 1.0)
    pairs = min(size.pairs, _MAX_PAIRS_OF_MINIBATCHES)
    return awake * (_PER_STEP_OF_MINIBATCHES + _PER_PAIR_OF_MINIBATCHES * pairs)


def in_words(total: float) -> str:
    """Return a number of seconds as people say it."""
    if total < 90:
        return f"{total:.0f} s"
    return f"{total / 60:.0f} min" if total < 5400 else f"{total / 3600:.1f} h"


def total(runs: Iterable[Run], jobs: int) -> float:
    """Return how long many runs may take, so many at a time."""
    times = [seconds(run) for run in runs]
    return max([sum(times) / max(jobs, 1), *times]) if times else 0.0
