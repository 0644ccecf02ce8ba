"""What an explorer is: a NamedTuple of numbers with a few methods, which run compiled and as plain Python.

The smallest explorer has one field and one method:

    @register_explorer("least-tried")
    class LeastTried(NamedTuple):
        \"\"\"Prefers the actions with the fewest visits.\"\"\"

        scale: float = 1.0

        def score(self, view, scores):
            for action in range(view.n_actions):
                scores[action] = view.q(action) + self.scale / (1 + view.n(action))

It derives from no class of this package: `complete` adds the methods that it does not define.

Methods that compiled code calls; each has a default:

* `score(view, scores)` writes a score for every action. Default: Q.
* `choose(view, scores, random)` returns an action. Default: the largest score, ties broken at random.
* `begin_episode(notes, random)` is called when an episode starts; `notes` are eight numbers kept between steps.
* `bonus(visits)` is added to the reward that the behaviour's Q-table learns from, if `extra_tables` asks for it.
* `visitation_reward(visits, total, max_visits)` and `terminal_visitation_reward(visits, total, max_visits)` are the
  rewards of a W-table; `total` is Σ_a n(s, a), `max_visits` the largest count of any pair.

`view` has Q, W and the visit counts of the state: `view.q(action)`, `view.w(action)`, `view.n(action)`, `view.total()`,
`view.step`, `view.notes`; see `wanderlust.explorers.protocol`.

An explorer with tables of its own (`ExtraTables.own`) may also define:

* `learn_tables(model, transition, random)` updates them after every transition.
* `plan_episode(model, random)` is called when an episode starts, after `begin_episode`.
* `backup(model, pair)` returns the new value of a pair; `wanderlust.learning.planned.plan` computes it for every pair
  until the values of the first own table converge.

`model` has the counts and the remembered outcomes of all pairs; see `wanderlust.learning.planned`.

Methods that Python calls once, before a run:

* classmethod `configure(problem, **options)` computes the fields from the user's options. Default: `cls(**options)`.
* `extra_tables()` returns the tables to learn beside the target Q-table. Default: none.
* `computes()` returns what a step computes beside Q: "learns" (updates with a learning rate), "one sweep" (of planning)
  or "plans" (at some steps, until values converge). Default: "plans" with a `backup`, otherwise "learns".
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import typing
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from wanderlust._numba.jit import inlined, with_methods
from wanderlust.core.errors import InvalidExplorer, check_number, check_options, shown, unknown_name
from wanderlust.core.user_code import defined_in, import_named
from wanderlust.explorers.choice import greedy_action
from wanderlust.learning.hooks import total_visits
from wanderlust.learning.planned import Model, Transition
from wanderlust.learning.state import LearnerState, Streams
from wanderlust.learning.td import Floats, Ints, TableSpec


@with_methods
class View(NamedTuple):
    """Values and visit counts of one state, the step, and the numbers that the explorer keeps between steps.

    An explorer uses `q(action)`, `w(action)`, `n(action)`, `total()`, `head(head, action)`, `n_actions`, `n_heads`,
    `step` and `notes`; the other fields are where these are found.
    """

    values: Floats
    visits: Ints
    first_pair: int
    n_actions: int
    """The number of actions."""
    behaviour: int
    visitation: int
    first_head: int
    n_heads: int
    step: int
    """The number of steps so far."""
    notes: Floats
    """Eight numbers that the explorer may write; they are saved with the agent."""

    def q(self, action: int) -> float:
        """Return Q(s, a) of the behaviour: with a bonus it includes that, otherwise it is the target's Q(s, a)."""
        return self.values[self.behaviour, self.first_pair + action]  # type: ignore[no-any-return]

    def w(self, action: int) -> float:
        """Return W(s, a), the visitation value, if `extra_tables` asks for it."""
        return self.values[self.visitation, self.first_pair + action]  # type: ignore[no-any-return]

    def head(self, head: int, action: int) -> float:
        """Return Q(s, a) of one head of the ensemble."""
        return self.values[self.first_head + head, self.first_pair + action]  # type: ignore[no-any-return]

    def own(self, number: int, action: int) -> float:
        """Return the value of an action in one of the explorer's own tables."""
        return self.values[self.first_head + number, self.first_pair + action]  # type: ignore[no-any-return]

    def n(self, action: int) -> int:
        """Return the visit count of an action; 0 if it was never taken."""
        return self.visits[self.first_pair + action]  # type: ignore[no-any-return]

    def total(self) -> int:
        """Return Σ_a n(s, a), the visit count of the state."""
        return total_visits(self.visits, self.first_pair, self.n_actions)


@inlined
def view_of(state: int, learner: LearnerState, spec: TableSpec) -> View:
    """Return the view of a state, by its index."""
    return View(
        learner.values,
        learner.visits,
        state * spec.n_actions,
        spec.n_actions,
        spec.behaviour,
        spec.visitation,
        spec.n_swept,
        spec.n_heads,
        learner.counters.step,
        learner.notes,
    )


C = TypeVar("C", bound=type)


@dataclass(frozen=True)
class Problem:
    """What an explorer knows of the task before training."""

    n_actions: int
    reward_range: tuple[float, float]
    """The smallest and the largest reward of a step."""
    discount: float = 0.99
    gamma_w: float = 0.99
    """γ_w, the discount of W, unless the explorer has an option of that name."""
    budget: int = 100_000
    """The number of steps over which ε decays."""
    epsilon_start: float = 1.0
    epsilon_end: float = 0.1

    @property
    def value_range(self) -> float:
        """Q_max - Q_min: r_max / (1 - γ) as in the paper's experiments.

        If no reward is positive it is (r_max - r_min) / (1 - γ), as in the paper's footnote, and 1 / (1 - γ) if all
        rewards are equal: with a range of 0 there would be no exploration.
        """
        low, high = self.reward_range
        span = high if high > 0.0 else high - low
        return (span if span > 0.0 else 1.0) / (1.0 - self.discount)

    def kappa_and_span(self, kappa: float | None) -> tuple[float, float]:
        """Return κ, by default the range of Q-values, and (Q_max - Q_min) / κ, which is 0 for κ = 0."""
        kappa = check_number("kappa", self.value_range if kappa is None else kappa, low=0)
        return kappa, self.value_range / kappa if kappa > 0.0 else 0.0


Kappa = Annotated[
    float | None, "κ, the weight of exploration against Q; r_max / (1 - γ), the range of Q-values, if not given."
]


class Visitation(NamedTuple):
    """A W-table that learns from the explorer's visitation rewards."""

    discount: float
    initial: float
    minimise: bool = False
    uses_max_visits: bool = False
    """Whether visitation rewards depend on the largest visit count of any pair."""


class Ensemble(NamedTuple):
    """Q-tables ("heads") that each learn from their own minibatches."""

    heads: int = 10
    batch: int = 1024
    noise: float = 1.0
    """Standard deviation of the noise added to the initial values."""
    prior_weight: float = 0.0


class OwnTables(NamedTuple):
    """Tables that the explorer updates itself, in `learn_tables` and `plan_episode`."""

    initial: tuple[float, ...]
    """The initial value of each table."""
    is_q: bool = True
    """Whether the first one is the behaviour's Q-table."""
    plans: bool = True
    """Whether it needs the remembered outcomes, and so a full memory."""
    outcome_numbers: bool = False
    """Whether it also keeps a number for each outcome: `model.outcome_numbers()`."""


class ExtraTables(NamedTuple):
    """The tables that an explorer needs beside the target Q-table."""

    bonus: bool = False
    """A Q-table of the behaviour that learns from reward + `bonus`."""
    visitation: Visitation | None = None
    ensemble: Ensemble | None = None
    optimistic: bool = False
    """Whether the behaviour's Q-table starts at r_max / (1 - γ), whatever the setting `initial`."""
    own: OwnTables | None = None


class _Defaults:
    """The methods of an explorer that does not define them."""

    def score(self: Any, view: View, scores: Floats) -> None:
        for action in range(view.n_actions):
            scores[action] = view.q(action)

    def choose(self: Any, view: View, scores: Floats, random: Streams) -> int:
        self.score(view, scores)
        return greedy_action(scores, random)

    def begin_episode(self: Any, notes: Floats, random: Streams) -> None:
        return

    def bonus(self: Any, visits: int) -> float:
        return 0.0

    def visitation_reward(self: Any, visits: int, total: int, max_visits: int) -> float:
        return 0.0

    terminal_visitation_reward = visitation_reward

    def learn_tables(self: Any, model: Model, transition: Transition, random: Streams) -> None:
        return

    def plan_episode(self: Any, model: Model, random: Streams) -> None:
        return

    def backup(self: Any, model: Model, pair: int) -> float:
        return model.target(pair)

    def extra_tables(self: Any) -> ExtraTables:
        return ExtraTables()

    def computes(self: Any) -> str:
        return "learns" if getattr(type(self), "backup", _Defaults.backup) is _Defaults.backup else "plans"


def _configure(cls: Any, problem: Problem, **options: Any) -> Any:
    check_options(f"explorer {cls.__name__}", options, cls._fields)
    return cls(**options)


_COMPILED_METHODS = (
    "score", "choose", "begin_episode", "bonus", "visitation_reward", "terminal_visitation_reward",
)  # fmt: skip
_OWN_TABLE_METHODS = ("learn_tables", "plan_episode", "backup")
"""Only explorers that define one of these get the others: every method lengthens the import."""


_COMPLETE: weakref.WeakSet[type] = weakref.WeakSet()
"""The classes that are complete already; checking the parameters of all methods again takes a millisecond."""


def complete(cls: C) -> C:
    """Add the default methods to an explorer class, and let compiled code call all its methods."""
    if isinstance(cls, type) and cls in _COMPLETE:
        return cls
    fields = getattr(cls, "_fields", None)
    if not (isinstance(cls, type) and issubclass(cls, tuple) and fields is not None):
        raise InvalidExplorer(
            f"an explorer is a class that derives from typing.NamedTuple, got {shown(cls)}: "
            "give it at least one field and a `score` or `choose` method."
        )
    if not fields:
        raise InvalidExplorer(
            f"explorer {cls.__name__} has no fields; compiled code needs at least one, such as `scale: float = 1.0`."
        )
    has_own_tables = any(hasattr(cls, name) for name in _OWN_TABLE_METHODS)
    for name in (*_COMPILED_METHODS, *(_OWN_TABLE_METHODS if has_own_tables else ())):
        own, default = getattr(cls, name, None), getattr(_Defaults, name)
        if own is None:
            setattr(cls, name, default)
        elif list(inspect.signature(own).parameters) != list(inspect.signature(default).parameters):
            wanted = ", ".join(inspect.signature(default).parameters)
            raise InvalidExplorer(
                f"{cls.__name__}.{name} must take ({wanted}), "
                f"but takes ({', '.join(inspect.signature(own).parameters)})."
            )
    for name in ("extra_tables", "computes"):
        if not hasattr(cls, name):
            setattr(cls, name, getattr(_Defaults, name))
    if not hasattr(cls, "configure"):
        cls.configure = classmethod(_configure)  # type: ignore[attr-defined, arg-type]
    _COMPLETE.add(cls)
    return with_methods(cls)


class Option(NamedTuple):
    """An option of an explorer: name, default and description."""

    name: str
    default: Any
    text: str


def has_own_choice(cls: type) -> bool:
    """Return whether a complete explorer class chooses by a rule of its own, not the action with the largest score."""
    return cls.choose is not _Defaults.choose  # type: ignore[attr-defined]


@functools.cache
def class_options(cls: type) -> tuple[Option, ...]:
    """Return the options of an explorer class with their defaults and descriptions."""
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


# --- Explorers by name ---------------------------------------------------------------------------------

ADJUSTABLE_FIELDS = ("kappa", "scale", "initial")
"""The weights of exploration and the initial W, by the names of the explorers' fields."""

_EXPLORERS: dict[str, type] = {}
_PAPER_MODULES = ("visitation", "ensembles", "counts", "dithering")
_SHARED_MODULES = ("choice", "compiled", "formulas", "protocol")
"""The modules of this package without explorers; every other one is imported when explorers are listed."""


def register_explorer(name: str) -> Callable[[C], C]:
    """Register an explorer class under a name."""

    def register(cls: C) -> C:
        _EXPLORERS[name] = complete(cls)
        return cls

    return register


def explorer_names() -> list[str]:
    """Return the registered names, the paper's new explorers first."""
    modules = _explorer_modules()
    for module in modules:
        importlib.import_module(module)
    rank = {module: i for i, module in enumerate(modules)}
    return sorted(_EXPLORERS, key=lambda name: rank.get(_EXPLORERS[name].__module__, len(modules)))


@functools.cache
def _explorer_modules() -> tuple[str, ...]:
    """Return the modules of this package that register explorers, those of the paper first."""
    package = __name__.rpartition(".")[0]
    found = sorted(module.name for module in pkgutil.iter_modules(importlib.import_module(package).__path__))
    others = [name for name in found if name not in _SHARED_MODULES and name not in _PAPER_MODULES]
    return tuple(f"{package}.{name}" for name in (*_PAPER_MODULES, *others))


def explorer_class(which: str | type) -> type:
    """Return the explorer class of a registered name, of `module:Class`, or the class itself."""
    if isinstance(which, type):
        return complete(which)
    if not isinstance(which, str):
        raise InvalidExplorer(f"an explorer is named by a string or given as a class, got {shown(which)}.")
    names = explorer_names()
    if which in _EXPLORERS:
        return _EXPLORERS[which]
    if ":" not in which:
        raise unknown_name("explorer", which, names)
    module_name, _, _ = which.partition(":")
    module, cls = import_named("explorer", which)
    if not isinstance(cls, type) or not (cls in _EXPLORERS.values() or defined_in(module, cls, object)):
        classes = [value for value in vars(module).values() if getattr(value, "__module__", None) == module_name]
        known = [f"{module_name}:{value.__name__}" for value in classes if isinstance(value, type)]
        raise unknown_name("explorer", which, known)
    completed: type = complete(cls)
    return completed


def explorer_module(name: str) -> str | None:
    """Return the module of an explorer's class without importing it; None for an unknown name."""
    explorer_names()
    if name in _EXPLORERS:
        return _EXPLORERS[name].__module__
    module, colon, _ = name.partition(":")
    return module if colon else None


def explorer_name(cls: type) -> str:
    """Return the name for which `explorer_class` returns this class."""
    for name, known in _EXPLORERS.items():
        if known is cls:
            return name
    return f"{cls.__module__}:{cls.__qualname__}"


def explorer_options(which: str | type) -> tuple[Option, ...]:
    """Return the options of an explorer with their defaults and descriptions."""
    return class_options(explorer_class(which))


def option_names(which: str | type) -> list[str]:
    """Return the names of the options of an explorer."""
    return [option.name for option in explorer_options(which)]


def configured(
    which: str | type, problem: Problem, options: dict[str, Any], fields: Mapping[str, float] | None = None
) -> Any:
    """Return an explorer configured for a problem; an unknown option raises an error with the known ones.

    `fields` replace some fields of `ADJUSTABLE_FIELDS`; the others stay as the options give them.
    """
    cls = explorer_class(which)
    check_options(f"explorer {explorer_name(cls)!r}", options, option_names(cls))
    try:
        explorer = cls.configure(problem, **options)  # type: ignore[attr-defined]
    except TypeError as error:
        raise InvalidExplorer(f"explorer {explorer_name(cls)!r} cannot be configured: {error}") from error
    if not isinstance(explorer, cls):
        raise InvalidExplorer(f"{cls.__name__}.configure must return a {cls.__name__}, got {shown(explorer)}.")
    for field, value in explorer._asdict().items():  # type: ignore[attr-defined]
        if not isinstance(value, int | float | np.integer | np.floating | np.bool_):
            raise InvalidExplorer(
                f"{cls.__name__}.{field} must be a number, as compiled code needs it, got {shown(value)}."
            )
    if not fields:
        return explorer
    check_options(f"the fields of explorer {explorer_name(cls)!r}", fields, adjustable_fields(cls))
    return explorer._replace(**{name: check_number(name, value, low=0) for name, value in fields.items()})  # type: ignore[attr-defined]


def adjustable_fields(cls: type) -> list[str]:
    """Return the names of a class's fields that may be replaced after it is configured."""
    return [name for name in ADJUSTABLE_FIELDS if name in cls._fields]  # type: ignore[attr-defined]
