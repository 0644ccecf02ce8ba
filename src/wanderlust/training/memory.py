"""What a training may need, said beforehand; a warning if states do not repeat, and a stop before they fill the memory.

Memory is known from `/proc`, so on Linux only. A limit of a container is not known here.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import NamedTuple

from wanderlust.agents.agent import Agent
from wanderlust.core.errors import InsufficientMemory
from wanderlust.core.repeats import SELDOM, RepeatRate
from wanderlust.core.repeats import WINDOW as REPEAT_WINDOW
from wanderlust.learning.state import bytes_per_entry
from wanderlust.learning.td import WINDOW

CHECK_STEPS, CHECK_PAIRS = REPEAT_WINDOW, 2**20
"""A training is checked every so many steps, or as often as so many pairs could be new."""
RESERVE = 2**28
"""Bytes that are left to others."""
GROWING = 0.1
"""New states per step from which training can be stopped."""
FIRST_WARNING = 2 * REPEAT_WINDOW
"""The step from which there is a warning if states seldom repeat; at first, all states are new."""


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


class TrainingGuard:
    """Checks, every `interval` steps, whether states repeat, and how the memory grows since the first check."""

    def __init__(self, agent: Agent, steps: int, *, warns_of_states: bool) -> None:
        self._agent, self._steps = agent, steps
        self.interval = max(min(CHECK_PAIRS // agent.n_actions, CHECK_STEPS), 1)
        self._first: _Measured | None = None
        self._repeats = RepeatRate(step=agent.steps, discovered=agent.discovered)
        self._warns_of_states, self._has_warned_of_memory = warns_of_states, False

    def check(self) -> None:
        """Warn once if states seldom repeat, and if the rest may not fit; raise `InsufficientMemory` in time."""
        self._repeats.add(self._agent.steps, self._agent.discovered)
        if self._warns_of_states and self._agent.steps >= FIRST_WARNING and self._repeats.rate < SELDOM:
            self._warns_of_states = False
            warnings.warn(
                f"states seldom repeat: {100 * self._repeats.rate:.0f} % of the latest {self._repeats.steps:,} steps "
                "were in a state visited before, so a tabular agent learns little. A coarser `key`, fewer `bins` or, "
                "if layouts change, a `reset_seed` let states repeat; `wanderlust diagnose` tells which.",
                RuntimeWarning,
                stacklevel=4,
            )
        available = available_memory()
        if available is None or self._agent.steps >= self._steps:
            return
        now = _Measured(self._agent.steps, self._agent.discovered, _used_memory())
        rate, first = 1.0 - self._repeats.rate, self._first
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
        if not self._has_warned_of_memory and rate >= GROWING and needed > available:
            self._has_warned_of_memory = True
            warnings.warn(
                f"memory may not suffice: {growth}, and the other {self._steps - now.step:,} steps may need "
                f"{_size(needed)}.",
                RuntimeWarning,
                stacklevel=4,
            )


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"
