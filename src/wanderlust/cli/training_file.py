"""The checkpoints of `train`: in the file of --save, or in a new file if training ends early."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

from wanderlust.core.errors import WanderlustError, counted
from wanderlust.core.files import cannot_write
from wanderlust.training.callbacks import Checkpoint
from wanderlust.training.loop import TrainingLoop


class TrainingFile(Checkpoint):
    """Saves to the file of --save, at the end and every --checkpoint-every steps.

    Without --save, the file is a new one with the name `unfinished`. It is written at these steps and if training ends
    early. `command` returns the command that continues the training from a file. For the summary, it also records the
    first positive reward and the first termination.
    """

    def __init__(self, save: Path | None, every: int | None, *, unfinished: str, command: Callable[[str], str]) -> None:
        super().__init__(save or f"{unfinished}.npz", every)
        self._unfinished, self._command = unfinished, command
        self._has_name = save is not None
        self.loop: TrainingLoop | None = None
        self.first_reward: int | None = None
        self.first_termination: int | None = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Store the loop, to save it after an error."""
        self.loop = loop
        if self._has_name:
            super().on_start(loop)

    def on_step(self, loop: TrainingLoop) -> None:
        """Record the first events; save every --checkpoint-every steps."""
        if self.first_reward is None and loop.reward > 0:
            self.first_reward = loop.step
        if self.first_termination is None and loop.terminated:
            self.first_termination = loop.step
        if self._has_name or self.every is not None:
            super().on_step(loop)

    def on_end(self, loop: TrainingLoop) -> None:
        """Save the final state, if --save or --checkpoint-every is given."""
        if self._has_name or self.every is not None:
            super().on_end(loop)

    def save(self, loop: TrainingLoop) -> None:
        """Save the current state; a new file never replaces an existing one."""
        if self._has_name:
            super().save(loop)
            return
        self.path = str(_new_file(self._unfinished))
        try:
            super().save(loop)
        except BaseException:
            Path(self.path).unlink()
            raise
        self._has_name = True

    @property
    def is_complete(self) -> bool:
        """Whether all steps were taken."""
        return self.loop is not None and self.loop.step >= self.loop.steps

    def save_unfinished(self) -> str:
        """Save the state after an error or an interrupt; return a sentence that says where and how to continue."""
        loop = self.loop
        if loop is None or loop.step == 0:
            return ""
        if loop.between_steps and self.saved_at != loop.step:
            try:
                self._save_anywhere(loop)
            except WanderlustError as error:
                return f" The agent trained so far could not be saved: {error}"
        if self.saved_at is None:
            return " Nothing could be saved, since the agent was interrupted while it learned from a step."
        is_latest = self.saved_at == loop.step
        agent = "The agent trained so far" if is_latest else f"The agent after {counted(self.saved_at, 'step')}"
        return f" {agent} is saved in {self.path}; continue with --resume {self.path}: {self._command(self.path)}"

    def _save_anywhere(self, loop: TrainingLoop) -> None:
        """Save to the file of --save or, if that fails, to a new file."""
        try:
            self.save(loop)
        except WanderlustError:
            if not self._has_name:
                raise
            self._has_name = False
            self.save(loop)


def _new_file(name: str) -> Path:
    """Create and return `name`.npz, or `name`-2.npz and so on if that file exists."""
    for number in itertools.count(1):
        path = Path(f"{name}.npz" if number == 1 else f"{name}-{number}.npz")
        try:
            path.touch(exist_ok=False)  # So that another process cannot choose the same name.
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot_write(path, error) from error
        return path
    raise AssertionError
