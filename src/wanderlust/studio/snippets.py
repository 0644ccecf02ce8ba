"""A setup as text that repeats it: Python, commands for a shell, and a TOML file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from wanderlust.agents.settings import AS_WRITTEN
from wanderlust.experiments.run import Run
from wanderlust.studio.setup import Setup


def snippets(setup: Setup, runs: Sequence[Run]) -> dict[str, str]:
    """Return the setup as Python, as commands, and as TOML."""
    return {"python": as_python(runs), "command": as_command(setup, runs), "toml": as_toml(setup)}


def as_python(runs: Sequence[Run]) -> str:
    """Return a script that trains the explorers of all lanes; its numbers are those that the studio shows."""
    first = runs[0]
    options = dict(first.world_options)
    lines = ["import wanderlust as wl", ""]
    if "map" in options:
        lines += [f'MAP = """\\\n{_in_quotes(options.pop("map"))}"""', ""]
        arguments = [repr(first.world), "map=MAP"]
    else:
        arguments = [repr(first.world)]
    lines.append(f"world = wl.make_world({', '.join([*arguments, *_keywords(options)])})")
    lines.append("runs = [")
    for run in runs:
        preset = {} if run.preset == AS_WRITTEN else {"preset": run.preset}
        values = {**preset, **run.settings, **run.explorer_options}
        changes = ", ".join(f"{name!r}: {value!r}" for name, value in values.items())
        lines.append(f"    ({run.explorer!r}, {{{changes}}}),")
    lines += [
        "]",
        "for explorer, changes in runs:",
        f"    record = wl.train(world, explorer, seed={first.seed}, **changes)",
        '    print(f"{explorer}: return {record.returns[-1]:.4g}, {record.discovered[-1]} states discovered")',
    ]
    return "\n".join(lines) + "\n"


def _in_quotes(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return escaped if escaped.endswith("\n") else f"{escaped}\n"


def _keywords(options: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value!r}" for name, value in options.items()]


def as_command(setup: Setup, runs: Sequence[Run]) -> str:
    """Return the commands that execute the run of every lane and print its result."""
    lines = [run.command for run in runs]
    if not setup.world_options and not setup.settings and not any(len(lane) > 1 for lane in setup.description["lanes"]):
        names = " ".join(shlex.quote(run.explorer) for run in runs)
        lines.insert(0, f"wanderlust studio {setup.world} --explorers {names} --seed {setup.seed}")
    return "\n".join(lines) + "\n"


def as_toml(setup: Setup) -> str:
    """Return the file that `wanderlust studio FILE.toml` opens."""
    description = setup.description
    lines = [f"world = {_toml_value(description['world'])}", f"seed = {description['seed']}"]
    for name in ("world_options", "settings"):
        if name in description:
            lines += ["", f"[{name}]", *_toml_lines(description[name])]
    for lane in description["lanes"]:
        lines += ["", "[[lanes]]", f"explorer = {_toml_value(lane['explorer'])}"]
        if "preset" in lane:
            lines.append(f"preset = {_toml_value(lane['preset'])}")
        for name in ("options", "settings"):
            if name in lane:
                lines.append(f"{name} = {_toml_value(lane[name])}")
    return "\n".join(lines) + "\n"


def _toml_lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_toml_value(value)}" for name, value in table.items()]


def _toml_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_toml_lines(value))} }}"
    if isinstance(value, str) and "\n" in value and "'''" not in value and value.isascii():
        return f"'''\n{value}'''"
    # JSON's texts, numbers and lists are TOML's as well; a number such as 1e-08 needs no change.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
