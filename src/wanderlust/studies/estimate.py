"""How long a run takes, roughly: what comes first when many wait, and what to tell people who wait.

The numbers are microseconds a step, measured once on a two-core machine. Only their ratios matter while a sweep
goes on: the time left is their sum, scaled by how long the finished runs really took.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any

from wanderlust.errors import WanderlustError
from wanderlust.studies.run import Run

ENSEMBLES = ("bootstrapped", "random-prior", "thompson")

_PER_STEP = 0.3
_PER_STEP_OF_MINIBATCHES = 5.0
# For each pair of state and action: a step sweeps over those that were visited, minibatches are gathered from them.
# Ensembles are often asleep, once they have learnt or found nothing more.
_PER_PAIR = {"vv-ucb": 0.0006, "vv-count": 0.0006, "bonus": 0.0003} | dict.fromkeys(ENSEMBLES, 0.01)
_PER_SOLVED_STEP = 1.0
_PER_PAIR_OF_Q = 0.00005
_PER_EXACT_EVALUATION = 700.0
_PER_STEP_IN_PYTHON = 60.0
"""Of an environment that Python runs, evaluations included."""


@functools.lru_cache(maxsize=256)
def _size(world: str, options: str) -> tuple[int, int, bool]:
    """Return the pairs of a world, its budget, and whether it is deterministic; a world that is wrong takes no time."""
    from wanderlust.worlds import make_world

    try:
        made = make_world(world, **json.loads(options))
    except WanderlustError:
        return 0, 0, True
    return made.n_states * made.n_actions, made.defaults.budget, bool(made.mdp.deterministic)


def seconds(run: Run) -> float:
    """Return how long a run may take, in seconds, once its explorer is compiled."""
    if run.kind == "environment":
        return 1e-6 * _PER_STEP_IN_PYTHON * float(run.settings.get("steps", 0))
    pairs, budget, deterministic = _size(run.world, json.dumps(dict(run.world_options)))
    steps = int(run.settings.get("steps") or run.settings.get("budget") or budget)
    if run.until == "positive-return" and run.explorer != "bonus":
        # Most learn the deep sea long before the limit.
        steps = min(steps, round(pairs**1.3))
    replay: Any = run.settings.get("replay", "full")
    each = _PER_STEP
    if replay == "full":
        each += _PER_PAIR.get(run.explorer, _PER_PAIR_OF_Q) * pairs
        each += _PER_STEP_OF_MINIBATCHES if run.explorer in ENSEMBLES else 0.0
    if not deterministic:
        each += _PER_EXACT_EVALUATION / int(run.settings.get("evaluate_every", 50))
    if run.measure == "values":
        each += _PER_SOLVED_STEP
    return 1e-6 * each * steps


def in_words(total: float) -> str:
    """Return a number of seconds as people say it."""
    if total < 90:
        return f"{total:.0f} s"
    return f"{total / 60:.0f} min" if total < 5400 else f"{total / 3600:.1f} h"


def total(runs: Iterable[Run], jobs: int) -> float:
    """Return how long many runs may take, so many at a time."""
    times = [seconds(run) for run in runs]
    return max([sum(times) / max(jobs, 1), *times]) if times else 0.0
