"""Callbacks of `learn`: checkpoints, a progress bar, a CSV file of episodes, TensorBoard."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.core.errors import BadFile, InvalidSetting, MissingPackage, check_flag, check_integer, counted
from wanderlust.core.files import cannot_write, check_path, check_writable, open_without_waiting, write_file
from wanderlust.environments.vector import SubEnvironment
from wanderlust.training.loop import TrainingLoop

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

LINES_WITHOUT_TERMINAL = 10
COLUMNS = ("step", "episode", "return", "length", "states", "evaluation")
"""The columns of `CsvLog`."""


class Callback:
    """Base class of callbacks. Training stops if `on_step` or `on_episode_end` returns False."""

    def on_start(self, loop: TrainingLoop) -> None:
        """Called before the first step, also when training is resumed."""

    def on_step(self, loop: TrainingLoop) -> bool | None:
        """Called after every step."""

    def on_episode_end(self, loop: TrainingLoop) -> bool | None:
        """Called at the end of every episode, after `on_step`."""

    def on_end(self, loop: TrainingLoop) -> None:
        """Called when training ends, also if it was stopped or failed."""


class Checkpoint(Callback):
    """Saves the agent and the training loop every `every` steps and at the end; `learn(env, resume=path)` resumes.

    If the path contains `{step}`, every checkpoint is a separate file; otherwise each one replaces the previous one.
    Checkpoints are always taken between two steps. If a step was interrupted while the agent learnt from it, nothing
    is saved at the end, and the previous checkpoint remains.
    """

    def __init__(self, path: str | Path, every: int | None = None) -> None:
        self.path = str(check_path("path", path))
        self.every = None if every is None else check_integer("every", every, low=1)
        self.saved_at: int | None = None
        """The step of the latest checkpoint in this training."""

    def on_start(self, loop: TrainingLoop) -> None:
        """Check that the file can be written, before any training."""
        if isinstance(loop.env.env, SubEnvironment):
            raise InvalidSetting("a VectorEnv cannot be restored, so there are no checkpoints of it; use agent.save.")
        self.saved_at = None
        check_writable(self._path_at(loop.step))

    def on_step(self, loop: TrainingLoop) -> None:
        """Save every `every` steps."""
        if loop.step == 1:
            # Some state keys cannot be saved. Fail at the first step, not after hours of training.
            loop.env.keys.to_array()
        if self.every is not None and loop.step % self.every == 0:
            self.save(loop)

    def on_end(self, loop: TrainingLoop) -> None:
        """Save the final state."""
        if loop.step > 0 and loop.between_steps and self.saved_at != loop.step:
            self.save(loop)

    def save(self, loop: TrainingLoop) -> None:
        """Save the current state."""
        loop.save(self._path_at(loop.step))
        self.saved_at = loop.step

    def _path_at(self, step: int) -> Path:
        return Path(self.path.replace("{step}", str(step)))


class ProgressBar(Callback):
    """Shows a progress bar on standard error; if that is not a terminal, prints ten lines in total."""

    def __init__(self, console: Console | None = None) -> None:
        from rich.console import Console

        self._console = Console(stderr=True) if console is None else console
        self._bar: Progress | None = None
        self._task: Any = None
        self._next_line = 0

    def on_start(self, loop: TrainingLoop) -> None:
        """Start the bar."""
        interval = max(loop.steps // LINES_WITHOUT_TERMINAL, 1)
        self._next_line = (loop.step // interval + 1) * interval
        if self._console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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
            line = f"{loop.env.name}, {loop.agent.explorer}: {loop.step:,} of {counted(loop.steps, 'step')}"
            self._console.print(f"{line}, {_summary(loop)}", highlight=False, soft_wrap=True)

    def on_end(self, loop: TrainingLoop) -> None:
        """Stop the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _summary(loop: TrainingLoop) -> str:
    text = f"{counted(loop.episode, 'episode')}, {counted(loop.agent.discovered, 'state')}"
    if loop.recent_returns:
        text += f", return while exploring {np.mean(loop.recent_returns):.4g}"
    if "evaluation" in loop.metrics:
        text += f", greedy return {loop.metrics['evaluation']:.4g}"
    return text


class CsvLog(Callback):
    """Writes a row for every episode: step, episode, return, length, discovered states, latest evaluation.

    Rows are written at once, so that none is lost if the process is killed. If training is resumed, the log continues
    after the checkpoint's step. The log of another training is not overwritten unless `overwrite` is True.
    """

    def __init__(self, path: str | Path, *, overwrite: bool = False) -> None:
        self.path = check_path("path", path)
        self.overwrite = check_flag("overwrite", overwrite)
        self._file: io.FileIO | None = None
        self._episode = 0
        """The latest episode that has a row."""

    def on_start(self, loop: TrainingLoop) -> None:
        """Open the file; if training is resumed, keep the rows up to the checkpoint."""
        check_writable(self.path)
        rows = self._earlier_rows()
        kept = [row for row in rows if _place(row)[0] <= loop.step]
        place = _place(kept[-1]) if kept else (0, 0)
        ended_at = loop.step - (0 if loop.episode_over else loop.episode_steps)
        # The log may also have ended before the checkpoint; then no row is lost.
        fits = place == (ended_at, loop.episode) or (kept == rows and place[1] <= loop.episode)
        is_of_this_training = loop.step > 0 and fits
        if rows and not is_of_this_training and not self.overwrite:
            raise BadFile(
                f"{self.path}: the log of another training, so it will not be overwritten; choose another path, or "
                f"replace it with CsvLog({str(self.path)!r}, overwrite=True), on the command line with --overwrite-log."
            )
        write_file(self.path, "".join([_HEADER, *(kept if is_of_this_training else [])]))
        self._episode = loop.episode
        try:
            self._file = io.FileIO(self.path, "a", opener=open_without_waiting)
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def on_episode_end(self, loop: TrainingLoop) -> None:
        """Write the episode's row."""
        evaluation = loop.metrics.get("evaluation", "")
        row = [loop.step, loop.episode, loop.episode_return, loop.episode_steps, loop.agent.discovered, evaluation]
        self._append(_line(row).encode())
        self._episode = loop.episode

    def on_end(self, loop: TrainingLoop) -> None:
        """Write a row that is still missing because something failed after the episode, and close the file."""
        if self._file is None:
            return
        try:
            if loop.between_steps and loop.episode > self._episode:
                self.on_episode_end(loop)
        finally:
            self._file.close()
            self._file = None

    def _append(self, row: bytes) -> None:
        """Write a whole row or, if the disk is full, nothing."""
        assert self._file is not None
        size = os.fstat(self._file.fileno()).st_size
        try:
            while row:
                row = row[self._file.write(row) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(size)
            raise cannot_write(self.path, error) from error

    def _earlier_rows(self) -> list[str]:
        """Return the rows of an existing log, except for a part of a row at the end, as left by a killed process."""
        try:
            contents = self.path.read_bytes() if self.path.is_file() else b""
        except OSError as error:
            raise cannot_write(self.path, error) from error
        text = contents.decode(errors="replace")
        if _HEADER.startswith(text):  # Empty, or killed within the header.
            return []
        rows = text[: text.rfind("\n") + 1].removeprefix(_HEADER).splitlines(keepends=True)
        if not text.startswith(_HEADER) or not all(map(_ROW.fullmatch, rows)):
            raise BadFile(
                f"{self.path}: not a file written by CsvLog, so it will not be overwritten; choose another path."
            )
        return rows


def _line(values: Iterable[Any]) -> str:
    return ",".join(map(str, values)) + "\r\n"


def _place(row: str) -> tuple[int, int]:
    """Return the step and the episode of a row."""
    step, episode, *_ = row.split(",")
    return int(step), int(episode)


_HEADER, _ROW = _line(COLUMNS), re.compile(r"\d+,\d+,[^,\s]+,\d+,\d+,[^,\s]*\r\n")


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
        self.folder = check_path("folder", folder, folder=True)
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
