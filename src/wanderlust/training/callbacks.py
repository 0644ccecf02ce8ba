"""Callbacks of `learn`."""

from __future__ import annotations

from pathlib import Path

from wanderlust.core.errors import check_integer
from wanderlust.core.files import check_path, check_writable
from wanderlust.training.loop import TrainingLoop


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
    Checkpoints are always taken between two steps. If a step was interrupted while the agent learned from it, nothing
    is saved at the end, and the previous checkpoint remains.
    """

    def __init__(self, path: str | Path, every: int | None = None) -> None:
        self.path = str(check_path("path", path))
        self.every = None if every is None else check_integer("every", every, low=1)
        self.saved_at: int | None = None
        """The step of the latest checkpoint in this training."""

    def on_start(self, loop: TrainingLoop) -> None:
        """Check that the file can be written, before any training."""
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
