"""The memory of a training: what it may need, said beforehand, and a stop before states that never repeat fill it.

Both need `/proc`, so they are for Linux; elsewhere nothing is checked. A limit of a container is not known here.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import NamedTuple

from wanderlust.agents.agent import Agent
from wanderlust.core.errors import InsufficientMemory
from wanderlust.learning.state import bytes_per_entry
from wanderlust.learning.td import WINDOW

CHECK_STEPS, CHECK_PAIRS = 10_000, 2**20
"""Memory is checked every so many steps, or as often as so many pairs could be new."""
RESERVE = 2**28
"""Bytes that are left to others."""
GROWING, NEVER_REPEATING = 0.1, 0.9
"""New states per step from which training can be stopped, and from which there is a warning in any case."""


def available_memory() -> int | None:
    """Return the bytes that can be used before the machine swaps, or None if that is unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _used_memory() -> int:
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def warn_of_need(agent: Agent, steps: int) -> None:
    """Warn if the tables of all states that an agent knows of, and its replay memory, may not fit."""
    spec, available = agent.spec, available_memory()
    of_state, of_outcome = bytes_per_entry(agent.learner)
    n_states = min(agent.n_states or 0, steps + 2)
    n_stored = min(steps, spec.capacity if spec.memory == WINDOW else steps)
    n_outcomes = min(n_stored, n_states**2 * agent.n_actions)
    n_transitions = n_stored if spec.memory == WINDOW or spec.n_heads else 0
    needed = n_states * of_state + n_outcomes * of_outcome + 8 * n_transitions
    if available is not None and needed > available:
        warnings.warn(
            f"{steps:,} steps may need {_size(needed)} of memory (tables of {n_states:,} states and "
            f"{agent.n_actions:,} actions, {n_transitions:,} stored transitions); {_size(available)} are available.",
            RuntimeWarning,
            stacklevel=3,
        )


class _Measured(NamedTuple):
    step: int
    states: int
    used: int


class MemoryGuard:
    """Checks, every `interval` steps, how the memory of a training grows; the first check is the reference."""

    def __init__(self, agent: Agent, steps: int) -> None:
        self._agent, self._steps = agent, steps
        self.interval = max(min(CHECK_PAIRS // agent.n_actions, CHECK_STEPS), 1)
        self._first: _Measured | None = None
        self._latest_states = agent.discovered
        self._has_warned = False

    def check(self) -> None:
        """Warn once if nearly every state is new, or if the rest may not fit; raise `InsufficientMemory` in time."""
        available = available_memory()
        if available is None or self._agent.steps >= self._steps:
            return
        now = _Measured(self._agent.steps, self._agent.discovered, _used_memory())
        rate = (now.states - self._latest_states) / self.interval
        self._latest_states, first = now.states, self._first
        if first is None or now.states == first.states:
            self._first = now
            return
        grown = max(now.used - first.used, 0)
        needed = grown / (now.step - first.step) * (self._steps - now.step)
        growth = (
            f"{rate:.2g} new states per step, {grown / (now.states - first.states):,.0f} bytes per state; "
            f"{_size(available)} of memory are left"
        )
        # To enlarge the tables and to save them takes another copy.
        if rate >= GROWING and available < RESERVE + grown:
            raise InsufficientMemory(
                f"training was stopped after {now.step:,} steps, before the machine swaps: {growth}. States that "
                "seldom repeat need a coarser `key` or fewer `bins`."
            )
        if not self._has_warned and (rate >= NEVER_REPEATING or (rate >= GROWING and needed > available)):
            self._has_warned = True
            warnings.warn(
                f"states seldom repeat: {growth}, and the other {self._steps - now.step:,} steps may need "
                f"{_size(needed)}. A coarser `key` or fewer `bins` let states repeat.",
                RuntimeWarning,
                stacklevel=4,
            )


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"
