"""Explorers by name: those of the package, those that users register, and `module:Class`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

from wanderlust.errors import InvalidExplorer, UnknownName, check_options, unknown_name
from wanderlust.exploration.protocol import Problem, complete, explorer_options

C = TypeVar("C", bound=type)

_EXPLORERS: dict[str, type] = {}
_PACKAGE_MODULES = ("long_term", "ensembles", "counts", "dithering")


def explorer(name: str) -> Callable[[C], C]:
    """Register an explorer class under a name."""

    def register(cls: C) -> C:
        _EXPLORERS[name] = complete(cls)
        return cls

    return register


def explorer_names() -> list[str]:
    """Return the registered names, the paper's own methods first."""
    for module in _PACKAGE_MODULES:
        importlib.import_module(f"wanderlust.exploration.{module}")
    return list(_EXPLORERS)


def explorer_class(which: str | type) -> type:
    """Return the explorer class of a registered name, of `module:Class`, or the class itself."""
    if isinstance(which, type):
        return complete(which)
    if not isinstance(which, str):
        raise InvalidExplorer(f"an explorer is named by a string or given as a class, got {which!r}.")
    names = explorer_names()
    if which in _EXPLORERS:
        return _EXPLORERS[which]
    if ":" not in which:
        raise unknown_name("explorer", which, names)
    module_name, _, class_name = which.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (ImportError, TypeError, ValueError) as error:
        raise UnknownName(f"explorer {which!r}: module {module_name!r} cannot be imported ({error}).") from error
    cls = getattr(module, class_name, None)
    if cls is None:
        classes = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise unknown_name(f"class of module {module_name!r}", class_name, classes)
    return complete(cls)


def explorer_name(cls: type) -> str:
    """Return the name under which `explorer_class` finds a class again."""
    for name, known in _EXPLORERS.items():
        if known is cls:
            return name
    return f"{cls.__module__}:{cls.__qualname__}"


def configured(which: str | type, problem: Problem, options: dict[str, Any]) -> Any:
    """Return an explorer ready for a problem; a wrong option is named with the right ones."""
    cls = explorer_class(which)
    check_options(f"explorer {explorer_name(cls)!r}", options, [o.name for o in explorer_options(cls)])
    return cls.configure(problem, **options)  # type: ignore[attr-defined]
