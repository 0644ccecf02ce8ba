"""An explorer's methods as functions that the compiled loop calls by address; see `wanderlust.learning.hooks`.

These few short functions are all that is compiled for another explorer class.
"""

from __future__ import annotations

import difflib
import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wanderlust._numba.cache import class_fingerprint, source_hash
from wanderlust._numba.jit import INTERNAL, JIT_ENABLED, address_of, by_pointer, njit
from wanderlust.core.errors import InvalidExplorer
from wanderlust.explorers.protocol import View, explorer_name, view_of
from wanderlust.learning.hooks import Hooks, transition_signal, write_signals
from wanderlust.learning.planned import Model, Transition
from wanderlust.learning.state import LearnerState
from wanderlust.learning.td import FULL, NO_MEMORY, NO_SIGNAL, Floats, TableSpec
from wanderlust.learning.update import (
    learn_by_sweeps,
    learn_with_heads,
    learn_with_limited_memory,
    learn_with_own_tables,
)

VIEW_NAMES = ("q", "w", "n", "total", "head", "n_actions", "n_heads", "step", "notes")
"""What an explorer may use of a view."""
_NOISE = re.compile("Failed in|During:|- Resolution|There are|- Of which|Overload|With arg|Rejected|raised from")
_SOURCE_LINE = re.compile(r'^File "(.*)", (line \d+):\n(?:.*\n)*?(.*)\n *\^$', re.MULTILINE)
_ATTRIBUTE = re.compile(r"Unknown attribute '(\w+)' of type (\w+)")


def compilation_reason(error: BaseException, cls: type) -> str:
    """Return the reason and the source line from numba's message, which repeats them for every caller."""
    message = str(error)
    source = _SOURCE_LINE.search(message)
    lines = [line.strip() for line in message[: source.start() if source else None].splitlines()]
    reason = " ".join(line for line in lines if line not in ("", "None") and not _NOISE.match(line))
    if attribute := _ATTRIBUTE.search(reason):
        reason = unknown_attribute(attribute[2], attribute[1], cls) or reason
    # A line of the package only calls the method.
    if source is None or Path(source[1]).parts[-3:-1] == ("wanderlust", "explorers"):
        return reason
    return f"{reason} ({source[1]}, {source[2]}: `{source[3].strip()}`)"


def python_reason(error: Exception, cls: type) -> str:
    """Return the reason of an error that a method of an explorer raised in plain Python."""
    if isinstance(error, AttributeError) and error.name is not None and isinstance(error.obj, tuple):
        return unknown_attribute(type(error.obj).__name__, error.name, cls) or str(error)
    return str(error) or type(error).__name__


def unknown_attribute(owner: str, name: str, cls: type) -> str | None:
    """Return a sentence on an attribute that a view or the explorer does not have; None if it is of another object."""
    fields: Any = getattr(cls, "_fields", ())
    if owner == View.__name__:
        subject, known = "the view", VIEW_NAMES
    elif owner == cls.__name__:
        subject, known = cls.__name__, tuple(fields)
    else:
        return None
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"{subject} has no attribute {name!r}.{hint} It has {', '.join(known)}."


class ExplorerBox(NamedTuple):
    """An explorer as a field of a struct, so that compiled code takes it by pointer."""

    explorer: Any


def _choose(box: ExplorerBox, learner: LearnerState, spec: TableSpec, state: int) -> int:
    view = view_of(state, learner, spec)
    return box.explorer.choose(view, learner.scores, learner.streams)  # type: ignore[no-any-return]


def _begin_episode(box: ExplorerBox, learner: LearnerState, spec: TableSpec) -> None:
    box.explorer.begin_episode(learner.notes, learner.streams)


def _plan_episode(box: ExplorerBox, learner: LearnerState, spec: TableSpec) -> None:
    box.explorer.begin_episode(learner.notes, learner.streams)
    box.explorer.plan_episode(Model(learner, spec), learner.streams)


def _learn_own(
    box: ExplorerBox, learner: LearnerState, spec: TableSpec, state: int, action: int, reward: float, next_state: int
) -> None:
    pair = state * spec.n_actions + action
    transition = Transition(state, action, pair, reward, next_state)
    box.explorer.learn_tables(Model(learner, spec), transition, learner.streams)


def _write_signals(box: ExplorerBox, learner: LearnerState, spec: TableSpec, first: int, end: int) -> None:
    write_signals(box.explorer, first, end, learner, spec)


def _transition_signal(
    box: ExplorerBox, learner: LearnerState, spec: TableSpec, signal: int, reward: float, pair: int, next_state: int
) -> float:
    return transition_signal(box.explorer, signal, reward, pair, next_state, learner, spec)


def _score(box: ExplorerBox, learner: LearnerState, spec: TableSpec, state: int, scores: Floats) -> None:
    box.explorer.score(view_of(state, learner, spec), scores)


@functools.cache
def _compiled_for(cls: Any, function: Callable[..., Any]) -> Any:
    return njit(function, _dependencies(cls), **INTERNAL) if JIT_ENABLED else function


def _dependencies(cls: type) -> str | None:
    """Return what the compiled methods of a class depend on, or None if they cannot be cached."""
    if cls.__module__.partition(".")[0] == "wanderlust":
        return source_hash()
    # Cached code names the class; another process must find this very class under that name.
    found = getattr(sys.modules.get(cls.__module__), cls.__qualname__, None)
    if found is not cls or cls.__module__ == "__main__":
        return None
    fingerprint = class_fingerprint(cls)
    return None if fingerprint is None else f"{source_hash()} {fingerprint}"


def learn_functions(spec: TableSpec) -> tuple[Any, Any]:
    """Return the function that learns from one transition, and that for the swept tables if the first one calls it."""
    if spec.n_own > 0:
        return learn_with_own_tables, learn_by_sweeps if spec.memory == FULL else learn_with_limited_memory
    if spec.memory != FULL:
        return learn_with_limited_memory, None
    return (learn_with_heads, learn_by_sweeps) if spec.n_heads > 0 else (learn_by_sweeps, None)


@functools.cache
def _empty_hooks() -> Hooks:
    """Return hooks of which only the type matters."""
    return by_pointer(Hooks(0, 0, 0, 0, 0, 0, 0, 0))


class ExplorerHooks:
    """The compiled functions of one explorer, for learners and specs of the form of those given by pointer."""

    def __init__(self, explorer: Any, learner: LearnerState, spec_pointer: TableSpec, spec: TableSpec) -> None:
        self._class: Any = type(explorer)
        self._box: Any = by_pointer(ExplorerBox(explorer))
        """Keeps the explorer's fields in memory while compiled code uses their address."""
        self._arguments = learner, spec_pointer
        learn, swept = learn_functions(spec)
        has_signals = spec.bonus_signal != NO_SIGNAL or spec.visitation_signal != NO_SIGNAL
        self.values = Hooks(
            explorer=self.explorer,
            choose=self._address(_choose, *self._arguments, 0),
            begin_episode=self._address(_plan_episode if spec.n_own else _begin_episode, *self._arguments),
            write_signals=self._address(_write_signals, *self._arguments, 0, 0) if has_signals else 0,
            transition_signal=(
                self._address(_transition_signal, *self._arguments, 0, 0.0, 0, 0) if spec.memory == NO_MEMORY else 0
            ),
            learn=self._learn_address(learn),
            learn_by_sweeps=self._learn_address(swept) if swept else 0,
            learn_own=self._address(_learn_own, *self._arguments, 0, 0, 0.0, 0) if spec.n_own else 0,
        )
        self.pointer = by_pointer(self.values)
        """What compiled functions take."""

    @property
    def explorer(self) -> Any:
        """The address of the explorer's fields."""
        return self._box.address if JIT_ENABLED else self._box

    @functools.cached_property
    def score(self) -> Any:
        """The address of the function that writes the scores of a state."""
        scores: Floats = np.zeros(1)
        return self._address(_score, *self._arguments, 0, scores)

    def _learn_address(self, function: Callable[..., Any]) -> Any:
        return address_of(function, _empty_hooks(), *self._arguments, 0, 0, 0.0, 0)

    def _address(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return address_of(_compiled_for(self._class, function), self._box, *arguments)
        except Exception as error:
            if not type(error).__module__.startswith("numba."):
                raise
            # numba's own message is a page long and begins with the functions that call the explorer.
            name = explorer_name(self._class)
            reason = compilation_reason(error, self._class)
            raise InvalidExplorer(f"explorer {name!r} cannot be compiled: {reason}") from None
