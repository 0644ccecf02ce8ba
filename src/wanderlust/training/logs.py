"""Logs of training: a progress bar, a CSV file of episodes, TensorBoard."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from wanderlust.core.errors import BadFile, MissingPackage
from wanderlust.training.callbacks import Callback
from wanderlust.training.loop import TrainingLoop

LINES_WITHOUT_TERMINAL = 10
COLUMNS = ("step", "episode", "return", "length", "states", "evaluation")


class ProgressBar(Callback):
    """Shows a progress bar on standard error; if that is not a terminal, prints ten lines in total."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._next_line = 0

    def on_start(self, loop: TrainingLoop) -> None:
        """Start the bar."""
        interval = max(loop.steps // LINES_WITHOUT_TERMINAL, 1)
        self._next_line = (loop.step // interval + 1) * interval
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn(f"{loop.env.name}, {loop.agent.explorer}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}"),
                console=self._console,
            )
            self._task = self._bar.add_task("", total=loop.steps, completed=loop.step)
            self._bar.start()

    def on_step(self, loop: TrainingLoop) -> None:
        """Update the bar, or print a line after every tenth of the steps."""
        if self._bar is not None:
            # Every 16 steps only, to keep the cost low: rich redraws at most ten times a second.
            if loop.step % 16 == 0 or loop.step == loop.steps:
                self._bar.update(self._task, completed=loop.step, description=_summary(loop))
        elif loop.step >= self._next_line:
            self._next_line += max(loop.steps // LINES_WITHOUT_TERMINAL, 1)
            line = f"{loop.env.name}, {loop.agent.explorer}: {loop.step:,} of {loop.steps:,} steps"
            self._console.print(f"{line}, {_summary(loop)}", highlight=False, soft_wrap=True)

    def on_end(self, loop: TrainingLoop) -> None:
        """Stop the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _summary(loop: TrainingLoop) -> str:
    text = f"{loop.episode:,} episodes, {loop.agent.discovered:,} states"
    if loop.recent_returns:
        text += f", mean return {np.mean(loop.recent_returns):.4g}"
    if "evaluation" in loop.metrics:
        text += f", greedy {loop.metrics['evaluation']:.4g}"
    return text


class CsvLog(Callback):
    """Writes a row for every episode: step, episode, return, length, discovered states, latest evaluation."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: io.TextIOWrapper | None = None
        self._writer: Any = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Open the file; if training is resumed, keep the rows up to the checkpoint."""
        earlier = self._rows_until(loop.step) if loop.step > 0 and self.path.exists() else []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file)
        self._writer.writerows([COLUMNS, *earlier])

    def on_episode_end(self, loop: TrainingLoop) -> None:
        """Write the episode's row."""
        assert self._file is not None
        evaluation = loop.metrics.get("evaluation", "")
        row = [loop.step, loop.episode, loop.episode_return, loop.episode_steps, loop.agent.discovered]
        self._writer.writerow([*row, evaluation])
        self._file.flush()

    def on_end(self, loop: TrainingLoop) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _rows_until(self, step: int) -> list[list[str]]:
        with self.path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        if not rows or tuple(rows[0]) != COLUMNS:
            raise BadFile(f"{self.path}: not a file written by CsvLog, so it will not be overwritten.")
        # The last row may be incomplete if the process was killed.
        return [row for row in rows[1:] if len(row) == len(COLUMNS) and int(row[0]) <= step]


class TensorBoard(Callback):
    """Writes the values of `CsvLog` as TensorBoard events into a folder; needs the package tensorboard."""

    def __init__(self, folder: str | Path) -> None:
        try:
            from tensorboard.summary import Writer
        except ImportError as error:
            raise MissingPackage(
                "TensorBoard needs the package tensorboard: pip install 'wanderlust[tensorboard]'. "
                "CsvLog writes the same values without it."
            ) from error
        self.folder = Path(folder)
        self._make_writer = Writer
        self._writer: Any = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Open an event file; TensorBoard combines all event files of a folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._writer = self._make_writer(str(self.folder))

    def on_episode_end(self, loop: TrainingLoop) -> None:
        """Write the episode's values."""
        for tag, value in (
            ("episode/return", loop.episode_return),
            ("episode/length", loop.episode_steps),
            ("exploration/states", loop.agent.discovered),
        ):
            self._writer.add_scalar(tag, value, loop.step)
        if "evaluation" in loop.metrics:
            self._writer.add_scalar("evaluation/return", loop.metrics["evaluation"], loop.step)

    def on_end(self, loop: TrainingLoop) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
