"""Command-line arguments: the options that several commands share, and reading of name=value pairs."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from tyro.conf import arg

from wanderlust.core.errors import InvalidSetting, unknown_name

DEFAULT_EXPLORER = "vv-ucb"
DEFAULT_EXPLORERS = ("epsilon-greedy", "ucb1", "bonus", "vv-ucb", "vv-count")
REWARD_RANGE = "reward_range"
"""A parameter of `learn`, not of `Settings`: the smallest and the largest reward."""

Settings = Annotated[
    tuple[str, ...],
    arg(
        name="set",
        metavar="NAME=VALUE ...",
        help="Settings, such as discount=0.995 learning_rate=0.1 reward_range=[0,1], and options of the explorers.",
    ),
]
Explorers = Annotated[
    tuple[str, ...],
    arg(metavar="NAME ...", help="Explorers; `wanderlust explorers` lists them. A user-defined one is module:Class."),
]
Steps = Annotated[int, arg(metavar="N", help="Number of training steps of each run.")]
Seeds = Annotated[int, arg(metavar="N", help="Number of seeds per explorer: 0 to N-1.")]
Jobs = Annotated[int | None, arg(metavar="N", help="Number of parallel runs; the number of cores if not given.")]
Exact = Annotated[
    bool,
    arg(
        help="Train on the environment's model (env.unwrapped.P, built-in worlds) in the compiled loop, many times "
        "faster than by its steps, with exact expected returns."
    ),
]
Preset = Annotated[
    str | None,
    arg(
        metavar="NAME",
        help="as_written (the paper's text), as_published_code (the authors' code) or adaptive (adapts to the task). "
        "The default is adaptive, in built-in worlds as_written.",
    ),
]
Quiet = Annotated[bool, arg(help="Print results and errors only.")]
On = Annotated[
    str,
    arg(
        metavar="PLACE",
        help="Where runs are executed: local (this machine), ray (the cluster of RAY_ADDRESS, or a new one here), or "
        "ray://HOST:PORT.",
    ),
]
TimeLimit = Annotated[
    float | None, arg(metavar="SECONDS", help="A run that takes longer fails; its worker process is ended.")
]
ShipPackage = Annotated[bool, arg(help="Send this version of the package to the workers of a Ray cluster.")]


@dataclass(frozen=True)
class ExecutionOptions:
    """Where and how runs are executed."""

    on: On = "local"
    jobs: Jobs = None
    time_limit: TimeLimit = None
    ship_package: ShipPackage = False
    quiet: Quiet = False


@dataclass(frozen=True)
class RunsOptions:
    """The options of commands that run several explorers with several seeds."""

    explorers: Explorers = DEFAULT_EXPLORERS
    seeds: Seeds = 10
    steps: Steps = 20_000
    preset: Preset = None
    settings: Settings = ()
    jobs: Jobs = None
    on: On = "local"
    time_limit: TimeLimit = None
    quiet: Quiet = False
    env_version: Annotated[
        str,
        arg(
            metavar="TEXT",
            help="Version of a user-defined environment: stored runs of other versions are not used. By default, "
            "stored runs are used until a file of its code changes.",
        ),
    ] = ""


def read_options(options: Iterable[str], example: str = "kappa=0.1") -> dict[str, Any]:
    """Parse options written as name=value; a value that is neither JSON nor a Python literal is a string."""
    parsed: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not (name and equals):
            raise InvalidSetting(f"an option must be written as name=value, such as {example}, got {option!r}.")
        if name in parsed:
            raise InvalidSetting(f"option {name!r} is given twice, as {parsed[name]!r} and as {value!r}.")
        parsed[name] = read_value(value)
    return parsed


def read_value(text: str) -> Any:
    """Parse a number, list, table, true, false or null; return any other text unchanged."""
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return text


def format_options(options: dict[str, Any]) -> list[str]:
    """Return options as name=value, the inverse of `read_options`."""
    return [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in options.items()]


def read_settings(settings: Iterable[str], explorers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Parse --set; return the settings of each explorer, without the options that only other explorers have."""
    from wanderlust.agents.settings import LEARN_OPTIONS, SETTING_NAMES
    from wanderlust.explorers.registry import explorer_options

    parsed = read_options(settings)
    if "steps" in parsed:
        raise InvalidSetting(f"give the number of steps as --steps {parsed['steps']}, not with --set.")
    shared = {*SETTING_NAMES, *LEARN_OPTIONS, REWARD_RANGE} - {"steps"}
    known = {name: shared | {option.name for option in explorer_options(name)} for name in explorers}
    for setting in parsed:
        if not any(setting in names for names in known.values()):
            every = shared.union(*known.values())
            raise unknown_name("setting or option", setting, every, of=" or ".join(explorers))
    return {name: {setting: value for setting, value in parsed.items() if setting in known[name]} for name in explorers}
