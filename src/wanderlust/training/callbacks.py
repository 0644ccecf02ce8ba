"""What can be hung into the loop of `learn`."""

from __future__ import annotations

from pathlib import Path

from wanderlust.core.errors import check_integer
from wanderlust.training.loop import TrainingLoop


class Callback:
    """Called while an agent learns. Override what you need; a method that returns False ends the loop."""

    def on_start(self, loop: TrainingLoop) -> None:
        """Be told that learning begins, or goes on."""

    def on_step(self, loop: TrainingLoop) -> bool | None:
        """Be told of every step that was learnt from."""

    def on_episode_end(self, loop: TrainingLoop) -> bool | None:
        """Be told of every end of an episode, after `on_step`."""

    def on_end(self, loop: TrainingLoop) -> None:
        """Be told that learning is over, also when it was stopped or failed."""


class Checkpoint(Callback):
    """Saves agent and loop every so many steps and at the end; `learn(env, resume=path)` goes on from there.

    With `{step}` in the path, files are kept side by side; otherwise each takes the place of the one before.
    """

    def __init__(self, path: str | Path, every: int | None = None) -> None:
        self.path = str(path)
        self.every = None if every is None else check_integer("every", every, low=1)
        self._saved_at: int | None = None

    def on_step(self, loop: TrainingLoop) -> None:
        """Save when it is time."""
        if loop.step == 1:
            # StateKeys of some kind cannot be saved: that is known now, not when all is learnt.
            loop.env.keys.to_array()
        if self.every is not None and loop.step % self.every == 0:
            self._save(loop)

    def on_end(self, loop: TrainingLoop) -> None:
        """Save what there is in the end."""
        if self._saved_at != loop.step:
            self._save(loop)

    def _save(self, loop: TrainingLoop) -> None:
        loop.save(self.path.replace("{step}", str(loop.step)))
        self._saved_at = loop.step
