"""What an agent is doing, for people: a bar, a table of episodes, TensorBoard."""

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
    """Shows on standard error how far learning is; where that is no terminal, a line at every tenth."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._next_line = 0

    def on_start(self, loop: TrainingLoop) -> None:
        """Draw the bar."""
        part = max(loop.steps // LINES_WITHOUT_TERMINAL, 1)
        self._next_line = (loop.step // part + 1) * part
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
        """Move the bar, or print a line when it is time."""
        if self._bar is not None:
            # Few enough calls that the bar costs nothing: rich draws ten times a second at most.
            if loop.step % 16 == 0 or loop.step == loop.steps:
                self._bar.update(self._task, completed=loop.step, description=_in_words(loop))
        elif loop.step >= self._next_line:
            self._next_line += max(loop.steps // LINES_WITHOUT_TERMINAL, 1)
            line = f"{loop.env.name}, {loop.agent.explorer}: {loop.step:,} of {loop.steps:,} steps"
            self._console.print(f"{line}, {_in_words(loop)}", highlight=False, soft_wrap=True)

    def on_end(self, loop: TrainingLoop) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _in_words(loop: TrainingLoop) -> str:
    words = f"{loop.episode:,} episodes, {loop.agent.discovered:,} states"
    if loop.recent_returns:
        words += f", mean return {np.mean(loop.recent_returns):.4g}"
    if "evaluation" in loop.measures:
        words += f", greedy {loop.measures['evaluation']:.4g}"
    return words


class CsvLog(Callback):
    """Writes a line for every episode: step, episode, return, length, states met, the latest evaluation."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: io.TextIOWrapper | None = None
        self._writer: Any = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Begin the file; of a loop that goes on, keep what was written before its checkpoint."""
        earlier = self._lines_until(loop.step) if loop.step > 0 and self.path.exists() else []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file)
        self._writer.writerows([COLUMNS, *earlier])

    def on_episode_end(self, loop: TrainingLoop) -> None:
        """Write the episode's line."""
        assert self._file is not None
        evaluation = loop.measures.get("evaluation", "")
        line = [loop.step, loop.episode, loop.episode_return, loop.episode_steps, loop.agent.discovered]
        self._writer.writerow([*line, evaluation])
        self._file.flush()

    def on_end(self, loop: TrainingLoop) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _lines_until(self, step: int) -> list[list[str]]:
        with self.path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
        if not lines or tuple(lines[0]) != COLUMNS:
            raise BadFile(f"{self.path}: not a table that CsvLog wrote, so it will not be overwritten.")
        # The last line may have been cut short when the process ended.
        return [line for line in lines[1:] if len(line) == len(COLUMNS) and int(line[0]) <= step]


class TensorBoard(Callback):
    """Writes what `CsvLog` writes for TensorBoard, into a folder; it needs the package tensorboard."""

    def __init__(self, folder: str | Path) -> None:
        try:
            from tensorboard.summary import Writer
        except ImportError as error:
            raise MissingPackage(
                "TensorBoard needs the package tensorboard: pip install 'wanderlust[tensorboard]'. "
                "CsvLog writes the same without it."
            ) from error
        self.folder = Path(folder)
        self._make_writer = Writer
        self._writer: Any = None
        self._evaluation: float | None = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Begin a file of events; TensorBoard joins it to earlier ones of the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._writer = self._make_writer(str(self.folder))

    def on_episode_end(self, loop: TrainingLoop) -> None:
        """Write the episode's numbers."""
        for tag, value in (
            ("episode/return", loop.episode_return),
            ("episode/length", loop.episode_steps),
            ("exploration/states", loop.agent.discovered),
        ):
            self._writer.add_scalar(tag, value, loop.step)
        if "evaluation" in loop.measures:
            self._writer.add_scalar("evaluation/return", loop.measures["evaluation"], loop.step)

    def on_end(self, loop: TrainingLoop) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
