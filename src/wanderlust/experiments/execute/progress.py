"""Progress of an experiment: a bar on a terminal, otherwise a line every 30 seconds, nothing if quiet."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from wanderlust.core.errors import counted
from wanderlust.experiments.execute import estimate
from wanderlust.experiments.run import Run

__all__ = ["Progress"]

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
        self._work, self._work_done = sum(estimate.seconds(run) for run in runs), 0.0
        self._start = self._last_line = time.monotonic()
        skipped = f", {stored:,} already stored" if stored else ""
        where = f" on {place}" if place and runs else ""
        parallel = f"; {min(jobs, len(runs)):,} at a time" if len(runs) > 1 else ""
        self.message(f"{counted(len(runs), 'run')} to execute{skipped}{parallel}{where}")
        if self.quiet or not runs or not self.console.is_terminal:
            yield
            self._line(final=True)
            return
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
        self._work_done += estimate.seconds(run)

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
            return f"{failed}{speed}, {estimate.format_duration(time.monotonic() - self._start)} in total"
        return f"{failed}{speed}, about {estimate.format_duration(left or 0.0)} left"
