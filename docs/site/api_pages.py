"""The API reference: one page per package, and a list of the public names."""

from __future__ import annotations

import inspect

from paper_map import definitions, module_name

import wanderlust as wl

PACKAGES = {
    "core": "errors, archive files, tabular MDPs, exact planning",
    "worlds": "text maps, gridworlds, and the paper's environments",
    "learning": "the TD update, replay memory, sweeps, random streams",
    "explorers": "the formulas, the protocol, and the nine explorers",
    "agents": "`Agent`, `train`, `Session`, `Explorer`, settings, presets, files",
    "encoding": "observations to state indices, action indices to actions",
    "envs": "worlds as Gymnasium environments, and the wrapper `tabular`",
    "training": "`learn`, callbacks, checkpoints, evaluation, adaptive settings",
    "experiments": "runs, their storage and execution",
    "experiments.paper": "the experiments of the paper",
    "experiments.reports": "statistics, tables, figures and the scorecard",
    "bench": "speed measurements",
    "cli": "the command line",
}
"""The packages with a page. Compilation (`_numba`) is described in "How it works inside"."""

_LEFT_OUT = ("wanderlust.bench.peer_script",)
"""A script for the environment of other libraries, which need not be installed."""


def modules() -> dict[str, list[str]]:
    """Return package -> its modules, each in the most specific package."""
    found: dict[str, list[str]] = {package: [] for package in PACKAGES}
    for name, (file, line, _) in definitions().items():
        if line == 1 and name == module_name(file) and name not in _LEFT_OUT:
            fitting = [each for each in PACKAGES if f"{name}.".startswith(f"wanderlust.{each}.")]
            if fitting:
                found[max(fitting, key=len)].append(name)
    found["agents"].append("wanderlust.checks")
    return found


def pages() -> dict[str, str]:
    """Return the text of every page by its path without suffix."""
    return {"api/index": _index(), **{f"api/{package}": _page(package) for package in PACKAGES}}


def _index() -> str:
    rows = []
    for name in sorted(set(wl.__all__) - {"__version__"}, key=str.lower):
        value = getattr(wl, name)
        line = (inspect.getdoc(value) or "").partition("\n")[0]
        where = value.__name__ if inspect.ismodule(value) else f"{value.__module__}.{name}"
        rows.append(f"| {{py:obj}}`wl.{name} <{where}>` | {line.replace('|', chr(92) + '|')} |")
    packages = "\n".join(f"| [`wanderlust.{name}`]({name}.md) | {text} |" for name, text in PACKAGES.items())
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
{packages}

```{{toctree}}
:hidden:

{chr(10).join(PACKAGES)}
```
"""


def _page(package: str) -> str:
    parts = [f"# wanderlust.{package}\n\n{PACKAGES[package][0].upper()}{PACKAGES[package][1:]}.\n"]
    for module in modules()[package]:
        title = module if module != f"wanderlust.{package}" else f"{module} (package)"
        parts.append(
            f"## {title.removeprefix(f'wanderlust.{package}.')}\n\n"
            f"```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n   :ignore-module-all:\n```\n"
        )
    return "\n".join(parts)
