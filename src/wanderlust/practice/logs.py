"""What an agent is doing, for people: a bar, a table of episodes, TensorBoard."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from wanderlust.errors import BadFile, MissingPackage
from wanderlust.practice.callbacks import Callback
from wanderlust.practice.lesson import Lesson

LINES_WITHOUT_TERMINAL = 10
COLUMNS = ("step", "episode", "return", "length", "states", "evaluation")


class ProgressBar(Callback):
    """Shows on standard error how far learning is; where that is no terminal, a line at every tenth."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = Console(stderr=True) if console is None else console
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._next_line = 0

    def on_start(self, lesson: Lesson) -> None:
        """Draw the bar."""
        part = max(lesson.steps // LINES_WITHOUT_TERMINAL, 1)
        self._next_line = (lesson.step // part + 1) * part
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn(f"{lesson.env.name}, {lesson.agent.explorer}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}"),
                console=self._console,
            )
            self._task = self._bar.add_task("", total=lesson.steps, completed=lesson.step)
            self._bar.start()

    def on_step(self, lesson: Lesson) -> None:
        """Move the bar, or print a line when it is time."""
        if self._bar is not None:
            # Few enough calls that the bar costs nothing: rich draws ten times a second at most.
            if lesson.step % 16 == 0 or lesson.step == lesson.steps:
                self._bar.update(self._task, completed=lesson.step, description=_in_words(lesson))
        elif lesson.step >= self._next_line:
            self._next_line += max(lesson.steps // LINES_WITHOUT_TERMINAL, 1)
            line = f"{lesson.env.name}, {lesson.agent.explorer}: {lesson.step:,} of {lesson.steps:,} steps"
            self._console.print(f"{line}, {_in_words(lesson)}", highlight=False, soft_wrap=True)

    def on_end(self, lesson: Lesson) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _in_words(lesson: Lesson) -> str:
    words = f"{lesson.episode:,} episodes, {lesson.agent.discovered:,} states"
    if lesson.recent_returns:
        words += f", mean return {np.mean(lesson.recent_returns):.4g}"
    if "evaluation" in lesson.measures:
        words += f", greedy {lesson.measures['evaluation']:.4g}"
    return words


class CsvLog(Callback):
    """Writes a line for every episode: step, episode, return, length, states met, the latest evaluation."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: io.TextIOWrapper | None = None
        self._writer: Any = None

    def on_start(self, lesson: Lesson) -> None:
        """Begin the file; of a lesson that goes on, keep what was written before its checkpoint."""
        earlier = self._lines_until(lesson.step) if lesson.step > 0 and self.path.exists() else []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file)
        self._writer.writerows([COLUMNS, *earlier])

    def on_episode_end(self, lesson: Lesson) -> None:
        """Write the episode's line."""
        assert self._file is not None
        evaluation = lesson.measures.get("evaluation", "")
        line = [lesson.step, lesson.episode, lesson.episode_return, lesson.episode_steps, lesson.agent.discovered]
        self._writer.writerow([*line, evaluation])
        self._file.flush()

    def on_end(self, lesson: Lesson) -> None:
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

    def on_start(self, lesson: Lesson) -> None:
        """Begin a file of events; TensorBoard joins it to earlier ones of the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._writer = self._make_writer(str(self.folder))

    def on_episode_end(self, lesson: Lesson) -> None:
        """Write the episode's numbers."""
        for tag, value in (
            ("episode/return", lesson.episode_return),
            ("episode/length", lesson.episode_steps),
            ("exploration/states", lesson.agent.discovered),
        ):
            self._writer.add_scalar(tag, value, lesson.step)
        if "evaluation" in lesson.measures:
            self._writer.add_scalar("evaluation/return", lesson.measures["evaluation"], lesson.step)

    def on_end(self, lesson: Lesson) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
