"""Explorers by name: built-in ones, registered ones, and `module:Class`."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from wanderlust.core.errors import InvalidExplorer, check_number, check_options, shown, unknown_name
from wanderlust.core.user_code import import_named
from wanderlust.explorers.protocol import Option, Problem, class_options, complete

C = TypeVar("C", bound=type)

ADJUSTABLE_FIELDS = ("kappa", "scale", "initial")
"""The weights of exploration and the initial W, by the names of the explorers' fields."""

_EXPLORERS: dict[str, type] = {}
_PAPER_MODULES = ("visitation", "ensembles", "counts", "dithering")
_SHARED_MODULES = ("choice", "compiled", "formulas", "protocol", "registry")
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
    if not isinstance(cls, type):
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


def configured(
    which: str | type, problem: Problem, options: dict[str, Any], fields: Mapping[str, float] | None = None
) -> Any:
    """Return an explorer configured for a problem; an unknown option raises an error with the known ones.

    `fields` replace some fields of `ADJUSTABLE_FIELDS`; the others stay as the options give them.
    """
    cls = explorer_class(which)
    check_options(f"explorer {explorer_name(cls)!r}", options, [o.name for o in class_options(cls)])
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
