"""The API reference: one page per package, and a list of the public names."""

from __future__ import annotations

import functools
import inspect

from paper_map import SOURCES, definitions, module_name

import wanderlust as wl

_ORDER = ("core", "worlds", "environments", "learning", "explorers", "agents", "training", "experiments")
"""Each package imports only from those above it; packages that are not listed follow."""
_PARTS = ("experiments.report",)
"""Packages inside others with a page of their own."""
_PAPER = "wanderlust_paper"


@functools.cache
def packages() -> dict[str, str]:
    """Return package -> the first line of its docstring. Compilation, `_numba`, is private."""
    known = definitions()
    folders = {file.parent.name for file in SOURCES.glob("wanderlust/*/__init__.py")}
    order = [*_ORDER, *sorted(name for name in folders - {*_ORDER, "cli"} if not name.startswith("_")), "cli"]
    found = [each for name in order for each in (name, *(part for part in _PARTS if part.startswith(f"{name}.")))]
    every = [*(f"wanderlust.{name}" for name in found), _PAPER]
    return {name: known[name][2].partition("\n")[0] for name in every}


def modules() -> dict[str, list[str]]:
    """Return package -> its modules, each in the most specific package."""
    found: dict[str, list[str]] = {package: [] for package in packages()}
    for name, (file, line, _) in definitions().items():
        if line == 1 and name == module_name(file):
            fitting = [each for each in packages() if f"{name}.".startswith(f"{each}.")]
            if fitting:
                found[max(fitting, key=len)].append(name)
    found["wanderlust.agents"].append("wanderlust.checks")
    return found


def pages() -> dict[str, str]:
    """Return the text of every page by its path without suffix."""
    return {"api/index": _index(), **{f"api/{_file(package)}": _page(package) for package in packages()}}


def _file(package: str) -> str:
    return package.removeprefix("wanderlust.")


def _index() -> str:
    rows = []
    for name in sorted(set(wl.__all__) - {"__version__"}, key=str.lower):
        value = getattr(wl, name)
        line = (inspect.getdoc(value) or "").partition("\n")[0]
        where = value.__name__ if inspect.ismodule(value) else f"{value.__module__}.{name}"
        rows.append(f"| {{py:obj}}`wl.{name} <{where}>` | {line.replace('|', chr(92) + '|')} |")
    rows_of_packages = "\n".join(f"| [`{name}`]({_file(name)}.md) | {text} |" for name, text in packages().items())
    return f"""\
(api)=
# API reference

## Public names

After `import wanderlust as wl`:

| name | |
|---|---|
{chr(10).join(rows)}

## Packages

Each package imports only from those above it.

| package | contents |
|---|---|
{rows_of_packages}

```{{toctree}}
:hidden:

{chr(10).join(map(_file, packages()))}
```
"""


def _page(package: str) -> str:
    parts = [f"# {package}\n"]
    for module in modules()[package]:
        title = "" if module == package else f"## {module.removeprefix(f'{package}.')}\n\n"
        parts.append(
            f"{title}```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n   :ignore-module-all:\n```\n"
        )
    return "\n".join(parts)
