"""What an explorer is: a NamedTuple of numbers with a few methods, run by compiled code and by plain Python alike.

The smallest explorer has one field and one method:

    @register_explorer("optimist")
    class Optimist(NamedTuple):
        \"\"\"Prefers what it has tried least.\"\"\"

        scale: float = 1.0

        def score(self, view, scores):
            for action in range(view.n_actions):
                scores[action] = view.q(action) + self.scale / (1 + view.n(action))

Methods that compiled code calls (those left out do the usual thing):

* `score(view, scores)` fills in a score for every action; the usual score is Q.
* `choose(view, scores, random)` returns an action; usually the best score, ties at random.
* `begin_episode(notes, random)` is told of every start of an episode; `notes` are eight numbers of its own to keep.
* `bonus(visits)` is added to the reward that the behaviour's Q-table learns from.
* `visitation_reward(visits, total, largest)`, `terminal_visitation_reward(visits, total, largest)`: the reward of a W-table.

Methods that Python calls once, before a run:

* classmethod `configure(problem, **options)` works out the fields from the user's options; usually `cls(**options)`.
* `extra_tables()` says which tables are learnt beside the target Q; usually one Q-table.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from wanderlust._numba.jit import with_methods
from wanderlust.core.errors import InvalidExplorer, check_options
from wanderlust.explorers.choice import greedy_action_of
from wanderlust.explorers.view import View
from wanderlust.learning.random_streams import Streams
from wanderlust.learning.state import Floats

C = TypeVar("C", bound=type)


@dataclass(frozen=True)
class Problem:
    """What an explorer may know of the task before it begins."""

    n_actions: int
    reward_range: tuple[float, float]
    """The smallest and the largest reward of a step."""
    discount: float = 0.99
    gamma_w: float = 0.99
    """γ_w, the discount of W, unless the explorer's own option says otherwise."""
    budget: int = 100_000
    """The number of steps over which ε decays."""
    epsilon_start: float = 1.0
    epsilon_end: float = 0.1

    @property
    def value_range(self) -> float:
        """Q_max - Q_min: r_max / (1 - γ) as in the paper's experiments.

        Where no reward is positive it is (r_max - r_min) / (1 - γ), as the paper's footnote has it, and 1 / (1 - γ)
        where all rewards are alike: nothing to gain would otherwise mean nothing to explore.
        """
        low, high = self.reward_range
        span = high if high > 0.0 else high - low
        return (span if span > 0.0 else 1.0) / (1.0 - self.discount)


class Visitation(NamedTuple):
    """How a W-table is learnt from the explorer's visitation rewards."""

    discount: float
    initial: float
    minimise: bool = False
    largest_matters: bool = False
    """Whether rewards depend on the largest count of the whole table."""


class Ensemble(NamedTuple):
    """Behaviour tables that each learn from minibatches of their own."""

    heads: int = 10
    batch: int = 1024
    noise: float = 1.0
    """Standard deviation of the noise added to the initial values."""
    prior_weight: float = 0.0


class ExtraTables(NamedTuple):
    """Which tables an explorer needs beside the target Q-table."""

    augmented: bool = False
    """Whether the behaviour's Q-table learns from reward + `bonus`."""
    visitation: Visitation | None = None
    ensemble: Ensemble | None = None


class ExplorerBox(NamedTuple):
    """An explorer on its way into compiled code."""

    rule: Any


def _score(self: Any, view: View, scores: Floats) -> None:
    for action in range(view.n_actions):
        scores[action] = view.q(action)


def _choose(self: Any, view: View, scores: Floats, random: Streams) -> int:
    self.score(view, scores)
    return greedy_action_of(scores, random)


def _begin_episode(self: Any, notes: Floats, random: Streams) -> None:
    return


def _bonus(self: Any, visits: int) -> float:
    return 0.0


def _visitation_reward(self: Any, visits: int, total: int, largest: int) -> float:
    return 0.0


def _extra_tables(self: Any) -> ExtraTables:
    return ExtraTables()


def _configure(cls: Any, problem: Problem, **options: Any) -> Any:
    check_options(f"explorer {cls.__name__}", options, cls._fields)
    return cls(**options)


_COMPILED_METHODS: Mapping[str, Callable[..., Any]] = {
    "score": _score,
    "choose": _choose,
    "begin_episode": _begin_episode,
    "bonus": _bonus,
    "visitation_reward": _visitation_reward,
    "terminal_visitation_reward": _visitation_reward,
}


def complete(cls: C) -> C:
    """Give an explorer class the usual methods it left out, and make them known to compiled code."""
    fields = getattr(cls, "_fields", None)
    if not (isinstance(cls, type) and issubclass(cls, tuple) and fields is not None):
        raise InvalidExplorer(
            f"an explorer is a class that derives from typing.NamedTuple, got {cls!r}: "
            "give it at least one field of its own and a `score` or `choose` method."
        )
    if not fields:
        raise InvalidExplorer(
            f"explorer {cls.__name__} has no fields; compiled code needs at least one, such as `scale: float = 1.0`."
        )
    for name, usual in _COMPILED_METHODS.items():
        own = vars(cls).get(name)
        if own is None:
            setattr(cls, name, usual)
        elif list(inspect.signature(own).parameters) != list(inspect.signature(usual).parameters):
            wanted = ", ".join(inspect.signature(usual).parameters)
            raise InvalidExplorer(
                f"{cls.__name__}.{name} must take ({wanted}), "
                f"but takes ({', '.join(inspect.signature(own).parameters)})."
            )
    if "extra_tables" not in vars(cls):
        cls.extra_tables = _extra_tables  # type: ignore[attr-defined]
    if "configure" not in vars(cls):
        cls.configure = classmethod(_configure)  # type: ignore[attr-defined, arg-type]
    return with_methods(cls)


class Option(NamedTuple):
    """An option of an explorer or a world, as documented where it is declared."""

    name: str
    default: Any
    text: str


@functools.cache
def class_options(cls: type) -> tuple[Option, ...]:
    """Return the options of an explorer class with their defaults and the sentence on each."""
    configure = cls.configure  # type: ignore[attr-defined]
    if configure.__func__ is _configure:
        defaults = cls._field_defaults  # type: ignore[attr-defined]
        return tuple(Option(field, defaults.get(field), "") for field in cls._fields)  # type: ignore[attr-defined]
    hints = typing.get_type_hints(configure, include_extras=True)
    parameters = list(inspect.signature(configure).parameters.values())
    return tuple(
        Option(p.name, p.default, " ".join(str(m) for m in getattr(hints[p.name], "__metadata__", ())))
        for p in parameters
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    )
