"""Callbacks of `learn`."""

from __future__ import annotations

from pathlib import Path

from wanderlust.core.errors import check_integer
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
    """

    def __init__(self, path: str | Path, every: int | None = None) -> None:
        self.path = str(path)
        self.every = None if every is None else check_integer("every", every, low=1)
        self._saved_at: int | None = None

    def on_step(self, loop: TrainingLoop) -> None:
        """Save every `every` steps."""
        if loop.step == 1:
            # Some state keys cannot be saved. Fail at the first step, not after hours of training.
            loop.env.keys.to_array()
        if self.every is not None and loop.step % self.every == 0:
            self._save(loop)

    def on_end(self, loop: TrainingLoop) -> None:
        """Save the final state."""
        if self._saved_at != loop.step:
            self._save(loop)

    def _save(self, loop: TrainingLoop) -> None:
        loop.save(self.path.replace("{step}", str(loop.step)))
        self._saved_at = loop.step
