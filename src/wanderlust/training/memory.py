"""A warning if states do not repeat, and a stop before they fill the memory.

Memory is known from `/proc`, so on Linux only. A limit of a container is not known here.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from wanderlust.agents.agent import Agent
from wanderlust.core.errors import InsufficientMemory
from wanderlust.core.repeats import SELDOM, RepeatRate
from wanderlust.core.repeats import WINDOW as REPEAT_WINDOW

CHECK_STEPS, CHECK_PAIRS = REPEAT_WINDOW, 2**20
"""A training is checked every so many steps, or as often as so many pairs could be new."""
RESERVE = 2**28
"""Bytes that are left to others."""
REPEATING = 0.9
"""The repeat rate above which training is not stopped: it hardly needs more memory."""
FIRST_WARNING = 2 * REPEAT_WINDOW
"""The step from which there is a warning if states seldom repeat; at first, all states are new."""


def available_memory() -> int | None:
    """Return the bytes that can be used before the machine swaps, or None if that is unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def used_memory() -> int:
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


class TrainingGuard:
    """Checks, every `interval` steps, whether states repeat and whether the memory suffices to go on."""

    def __init__(self, agent: Agent, steps: int, *, warns_of_states: bool) -> None:
        self._agent, self._steps, self._warns_of_states = agent, steps, warns_of_states
        self.interval = max(min(CHECK_PAIRS // agent.n_actions, CHECK_STEPS), 1)
        self._used_before: int | None = None
        """The memory used at the first check, when everything is compiled."""
        self._repeats = RepeatRate(step=agent.steps, discovered=agent.discovered)

    def check(self) -> None:
        """Warn once if states seldom repeat; raise `InsufficientMemory` before the tables fill the memory."""
        step, available = self._agent.steps, available_memory()
        self._repeats.add(step, self._agent.discovered)
        if self._warns_of_states and step >= FIRST_WARNING and self._repeats.rate < SELDOM:
            self._warns_of_states = False
            warnings.warn(
                f"states seldom repeat: {self._repeats.rate:.0%} of the latest {self._repeats.steps:,} steps were in a "
                "state visited before. Use a coarser `key`, fewer `bins` or, if layouts change, a `reset_seed`.",
                RuntimeWarning,
                stacklevel=4,
            )
        if available is None or step >= self._steps or self._repeats.rate > REPEATING:
            return
        used = used_memory()
        if self._used_before is None:
            self._used_before = used
            return
        # To enlarge the tables and to save them takes another copy of what has grown.
        if available < RESERVE + used - self._used_before:
            raise InsufficientMemory(
                f"training was stopped after {step:,} steps, before the machine swaps: {1 - self._repeats.rate:.2g} "
                f"new states per step, {available / 1e9:.1f} GB of memory are left. States that seldom repeat need a "
                "coarser `key` or fewer `bins`."
            )
