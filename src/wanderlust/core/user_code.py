"""User-defined code by its name, 'module:attribute': when a name may be imported, and what it may stand for.

A name that the user typed, as an argument of a function or on the command line, is imported. A name that was read from
a file is refused unless the user allowed its module: data must not decide what is executed. In both cases
what is called must be a Python function or a suitable class of that package, so that a name cannot reach into other
modules.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from wanderlust.core.errors import UnknownName, UntrustedCode

__all__ = ["announce_imports", "check_allowed", "defined_in", "import_named", "modules_named"]

_NAME = re.compile(r"([^\W\d][\w.]*):.*")
_NOT_CODE = ("info",)
"""Prefixes of names that no code stands for: 'info:field' is a state key."""


def modules_named(data: Any) -> list[str]:
    """Return the modules of all names 'module:attribute' in keys and values of plain data, each once."""
    matches = (_NAME.fullmatch(text) for text in _texts(data))
    return list(dict.fromkeys(match[1] for match in matches if match is not None and match[1] not in _NOT_CODE))


def check_allowed(place: str, data: Any, allowed: Collection[str] = ()) -> list[str]:
    """Return the modules that data from a file names; raise `UntrustedCode` unless each or its package is allowed."""
    named = modules_named(data)
    refused = [module for module in named if not any(_is_in(module, package) for package in allowed)]
    if refused:
        names, option = ", ".join(refused), " ".join(f"--allow-code {name}" for name in refused)
        raise UntrustedCode(
            f"{place}: names code of {names}, which is not imported without your permission. If you trust it, add "
            f"{option} (in Python, allow_code={refused})."
        )
    return named


def announce_imports(modules: Collection[str], why: str) -> None:
    """Say on standard error, beforehand, which modules are imported and why."""
    if modules:
        print(f"wanderlust: importing {', '.join(modules)}, {why}.", file=sys.stderr, flush=True)


def import_named(what: str, name: str) -> tuple[ModuleType, Any]:
    """Import the module of 'module:attribute'; return it and the attribute, None if there is none."""
    if not modules_named(name):  # What `check_allowed` does not see is not imported.
        raise UnknownName(f"{what} {name!r}: code is named by 'module:attribute'.")
    module_name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # User code can raise any exception.
        why = f"{type(error).__name__}: {error}"
        raise UnknownName(f"{what} {name!r}: module {module_name!r} cannot be imported ({why}).") from error
    return module, getattr(module, attribute, None)


def defined_in(module: ModuleType, value: Any, base: type | tuple[()] = ()) -> bool:
    """Return whether the package of the module defines a value: a Python function, or a class derived from `base`."""
    package = module.__name__.partition(".")[0]
    is_code = inspect.isfunction(value) or (inspect.isclass(value) and issubclass(value, base))
    return is_code and _is_in(str(getattr(value, "__module__", "")), package)


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(data, Sequence):
        for value in data:
            yield from _texts(value)
