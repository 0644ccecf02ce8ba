"""Progress of an experiment: a bar on a terminal, otherwise a line every 30 seconds, nothing if quiet.

The time of a run is estimated roughly, to order runs and to show the remaining time. The constants are microseconds per
step, measured once on a two-core machine. During an experiment only their ratios matter: the remaining time is scaled
by the time that the finished runs took.
"""

from __future__ import annotations

import contextlib
import functools
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console

from wanderlust.core.errors import WanderlustError, counted
from wanderlust.experiments.run import Run

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["ENSEMBLES", "Progress", "estimated_seconds", "format_duration", "total_seconds"]

_SECONDS_BETWEEN_LINES = 30.0
_SECONDS_BETWEEN_UPDATES = 0.1


class Progress:
    """Shows the finished and failed runs, their rate and the remaining time, estimated from the finished runs."""

    def __init__(self, console: Console | None = None, *, quiet: bool = False) -> None:
        self.console = console or Console(stderr=True, markup=False, emoji=False)
        self.quiet = quiet
        self._bar: Bar | None = None
        self._total = self._done = self._failed = 0
        self._work = self._work_done = 0.0
        self._start = self._last_line = self._last_update = 0.0

    def message(self, text: str) -> None:
        """Print a message, unless quiet."""
        if not self.quiet:
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextlib.contextmanager
    def track(self, runs: Sequence[Run], jobs: int, *, stored: int, place: str = "") -> Iterator[None]:
        """Show the progress of these runs inside the context."""
        self._total, self._done, self._failed = len(runs), 0, 0
        self._work, self._work_done = sum(estimated_seconds(run) for run in runs), 0.0
        self._start = self._last_line = time.monotonic()
        skipped = f", {stored:,} already stored" if stored else ""
        where = f" on {place}" if place and runs else ""
        parallel = f"; {min(jobs, len(runs)):,} at a time" if len(runs) > 1 and jobs else ""
        waiting = "" if jobs else "; no CPU is free at the moment"
        self.message(f"{counted(len(runs), 'run')} to execute{skipped}{parallel or waiting}{where}")
        if self.quiet or not runs or not self.console.is_terminal:
            yield
            self._line(final=True)
            return
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        with Bar(*columns, console=self.console) as bar:
            bar.add_task(self._rate(), total=len(runs))
            self._bar = bar
            try:
                yield
            finally:
                self._update()
                self._bar = None

    def run_finished(self, run: Run, *, is_failed: bool = False) -> None:
        """Count a finished run."""
        self._done += 1
        self._failed += is_failed
        self._work_done += estimated_seconds(run)

    def refresh(self) -> None:
        """Update the bar, or print a line if the last one is old enough."""
        now = time.monotonic()
        if self._bar is not None and now - self._last_update > _SECONDS_BETWEEN_UPDATES:
            self._update()
        elif self._bar is None and now - self._last_line > _SECONDS_BETWEEN_LINES:
            self._line()

    def pace(self) -> tuple[float, float | None]:
        """Return the finished runs per second, and the estimated seconds left, None if unknown."""
        elapsed = time.monotonic() - self._start
        if not self._done or elapsed <= 0:
            return 0.0, None
        share = self._work_done / self._work if self._work > 0 else self._done / self._total
        return self._done / elapsed, elapsed * (1 - share) / share if share > 0 else None

    def _update(self) -> None:
        assert self._bar is not None
        self._last_update = time.monotonic()
        self._bar.update(self._bar.task_ids[0], completed=self._done, description=self._rate())

    def _line(self, *, final: bool = False) -> None:
        self._last_line = time.monotonic()
        if self._total and (not final or self._done):
            self.message(f"{self._done:,} of {counted(self._total, 'run')}, {self._rate()}")

    def _rate(self) -> str:
        rate, left = self.pace()
        if not rate:
            return "..."
        failed = f"{self._failed:,} failed, " if self._failed else ""
        speed = f"{rate:.1f} runs per second" if rate >= 1 else f"{60 * rate:.1f} runs per minute"
        if self._done == self._total:
            return f"{failed}{speed}, {format_duration(time.monotonic() - self._start)} in total"
        return f"{failed}{speed}, about {format_duration(left or 0.0)} left"


# --- Estimates -------------------------------------------------------------------------------------------

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
_PER_STEP_OF_KIND = {"environment": 60.0, "model": 3.0}
"""In Python, evaluations included; in the compiled loop on a transition table."""


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


def estimated_seconds(run: Run) -> float:
    """Return the estimated seconds of a run, without compilation."""
    if run.kind != "world":
        return 1e-6 * _PER_STEP_OF_KIND[run.kind] * float(run.settings.get("steps", 0))
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
    times = [estimated_seconds(run) for run in runs]
    return max([sum(times) / max(jobs, 1), *times]) if times else 0.0
