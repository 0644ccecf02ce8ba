"""The arguments that several commands share: environment, settings, explorers and execution of runs.

The text below a field is its help.
"""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, Suppress, arg

from wanderlust.core.errors import InvalidEnvironment, InvalidSetting, unknown_name
from wanderlust.core.files import check_path, check_regular_file
from wanderlust.experiments.execute import Execution

if TYPE_CHECKING:
    from gymnasium import Env

    from wanderlust.agents.agent import Agent
    from wanderlust.environments.tabular import Tabular

__all__ = ["LOCAL", "ExecutionArgument"]

DEFAULT_EXPLORER = "vv-ucb"
DEFAULT_EXPLORERS = ("epsilon-greedy", "ucb1", "bonus", "vv-ucb", "vv-count")
REWARD_RANGE = "reward_range"
"""A parameter of `learn`, not of `Settings`: the smallest and the largest reward."""

_MAX_NAME = 80
_OPTIONS_HINT = "As options: --bins 8, --bounds 1=-3,3, --action-bins 5, --key hash."

Number = Annotated[int, arg(metavar="N")]
OptionalNumber = Annotated[int | None, arg(metavar="N")]
OptionalNumbers = Annotated[tuple[int, ...] | None, arg(metavar="N ...")]
Name = Annotated[str, arg(metavar="NAME")]
Text = Annotated[str, arg(metavar="TEXT")]
Place = Annotated[str, arg(metavar="PLACE")]
OptionalName = Annotated[str | None, arg(metavar="NAME")]
Names = Annotated[tuple[str, ...], arg(metavar="NAME ...")]
Pairs = Annotated[tuple[str, ...], arg(metavar="NAME=VALUE ...")]
OptionalFile = Annotated[Path | None, arg(metavar="FILE")]
Folder = Annotated[Path, arg(metavar="FOLDER")]
OptionalFolder = Annotated[Path | None, arg(metavar="FOLDER")]
AgentFile = Annotated[Positional[Path], arg(metavar="FILE", help="Agent saved by `train --save` or Agent.save.")]
AgentExplorer = Annotated[str | None, arg(metavar="module:Class", help="The agent's explorer, if it is user-defined.")]
AgentKey = Annotated[
    str | None, arg(metavar="module:function", help="The agent's key function, if it is user-defined.")
]
Settings = Annotated[
    tuple[str, ...],
    arg(
        name="set",
        metavar="NAME=VALUE ...",
        help="Settings, such as discount=0.995 learning_rate=0.1 reward_range=[0,1], and options of the explorers.",
    ),
]
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


@dataclass(frozen=True, kw_only=True)
class ExecutionOptions(Execution):
    """Where and how runs are executed."""

    on: Place = "local"
    """Where runs are executed: local (this machine), ray (RAY_ADDRESS, or a cluster of its own), or ray://HOST:PORT."""
    jobs: OptionalNumber = None
    time_limit: Annotated[float | None, arg(metavar="SECONDS")] = None
    processes: Suppress[bool | None] = None
    all_in_processes: Annotated[bool, arg(name="processes")] = False
    """Execute all runs in processes; otherwise only those with your own code (module:name)."""
    ray_memory: Annotated[float | None, arg(metavar="GB")] = None
    fallback: Place = ""
    quiet: Quiet = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "processes", self.all_in_processes or None)
        super().__post_init__()


ExecutionArgument = Annotated[ExecutionOptions, arg(name="")]
LOCAL = ExecutionOptions()


@dataclass(frozen=True)
class RunsOptions:
    """The options of commands that run several explorers with several seeds."""

    explorers: Names = DEFAULT_EXPLORERS
    """Explorers; `wanderlust explorers` lists them. A user-defined one is module:Class."""
    seeds: Number = 10
    """Number of seeds per explorer: 0 to N-1."""
    steps: Number = 20_000
    """Number of training steps of each run."""
    preset: Preset = None
    settings: Settings = ()
    env_version: Text = ""
    """Version of a user-defined environment: stored runs of others are not used. If empty, a hash of its files."""


@dataclass(frozen=True)
class EnvironmentOptions:
    """The environment and its state encoding."""

    environment: Annotated[
        Positional[str],
        arg(
            metavar="ENVIRONMENT",
            help="Gymnasium id (FrozenLake-v1), built-in world (prison), map file (mine.txt), module:id (imports the "
            "module first) or module:function (a function that returns the environment).",
        ),
    ]
    env: Pairs = ()
    """Arguments of the environment, such as map_name=8x8 is_slippery=false."""
    key: Annotated[str | None, arg(metavar="KEY")] = None
    """State key, for observations that are not states themselves: hash, info:FIELD or module:function."""
    bins: OptionalNumbers = None
    """Discretize continuous observations into N bins: one number, or one per dimension."""
    bounds: Annotated[tuple[str, ...] | None, arg(metavar="I=LOW,HIGH ...")] = None
    """Clip dimension I of the observation before binning, such as 1=-3,3."""
    action_bins: OptionalNumbers = None
    """Discretize continuous actions into N values: one number, or one per dimension."""
    reset_seed: OptionalNumber = None
    """Reset every episode with this seed: same layout, same random numbers."""

    @property
    def _is_map(self) -> bool:
        from wanderlust.worlds.grid import MAP_SUFFIXES

        return self.environment.endswith(MAP_SUFFIXES)

    @property
    def name(self) -> str:
        """The name with which the environment is created; map files use the grid environment."""
        from wanderlust.worlds.registry import GRID_ID

        return GRID_ID if self._is_map else self.environment

    @cached_property
    def env_options(self) -> dict[str, Any]:
        """The environment's arguments. They include the text of a map, so that an edited map is a new environment."""
        from wanderlust.worlds.grid import read_map_file

        parsed = read_options(self.env, "map_name=8x8")
        if not self._is_map:
            return parsed
        text = read_map_file(check_path("the map", self.environment))
        # A text without a newline would be taken for a path.
        return {"map": text.rstrip("\n") + "\n", **parsed}

    @cached_property
    def encoder_options(self) -> dict[str, Any]:
        """The options of the state and action encoding, as JSON values."""
        options = {
            "key": self.key,
            "bins": _scalar_or_list(self.bins),
            "bounds": _read_bounds(self.bounds),
            "action_bins": _scalar_or_list(self.action_bins),
            "reset_seed": self.reset_seed,
        }
        return {name: value for name, value in options.items() if value is not None}

    def make(self) -> Tabular:
        """Return a new environment with discrete states and actions."""
        from wanderlust.environments.make import make_environment
        from wanderlust.environments.tabular import tabular_from_options

        env = make_environment(self.name, **self.env_options)
        try:
            return tabular_from_options(env, {}, self.encoder_options)
        except (InvalidEnvironment, InvalidSetting) as error:
            # The message names Python parameters; on the command line these are options.
            raise type(error)(f"{error} {self._bins_advice(env)}") from error

    def _bins_advice(self, env: Env[Any, Any]) -> str:
        """Return options for continuous observations, from the ranges that are observed; otherwise all options."""
        from gymnasium.spaces import Box

        from wanderlust.environments.bins import RANDOM_STEPS, bins_options

        needs_action_bins = isinstance(env.action_space, Box) and self.action_bins is None
        options = None if self.key is not None or needs_action_bins else bins_options(env)
        if options is None:
            return _OPTIONS_HINT
        return f"From the ranges observed in {RANDOM_STEPS:,} random steps: {options} (or --key)."

    def exact_settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return settings of training on the environment's model; raise an error for options that it does not use."""
        if self.encoder_options:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in self.encoder_options)
            raise InvalidSetting(f"--exact uses the states and actions of the environment's model; leave {names} out.")
        if REWARD_RANGE in settings:
            raise InvalidSetting(f"{REWARD_RANGE} cannot be set with --exact: the model contains all rewards.")
        return settings

    @property
    def command_line(self) -> str:
        """The environment and its options, quoted for a shell."""
        words = option_words(self, "bins", "bounds", "action_bins", "key", "reset_seed")
        return shlex.join([self.environment, *(["--env", *self.env] if self.env else []), *words])

    @property
    def file_name(self) -> str:
        """The end of the environment's name, with only characters that are valid in file names."""
        name = self.environment[-_MAX_NAME:]
        return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)


EnvironmentArgument = Annotated[EnvironmentOptions, arg(name="")]


def option_words(options: object, *names: str) -> list[str]:
    """Return those of the named options that are given, as words of a command line."""
    words = []
    for name in names:
        value = getattr(options, name)
        if value is not None:
            words += [f"--{name.replace('_', '-')}", *map(str, value if isinstance(value, tuple) else [value])]
    return words


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


def read_settings(settings: Iterable[str], explorers: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Parse --set; return the settings of each explorer, without the options that only other explorers have."""
    from wanderlust.agents.settings import LEARN_OPTIONS, SETTING_NAMES
    from wanderlust.explorers.protocol import option_names

    parsed = read_options(settings)
    if "steps" in parsed:
        raise InvalidSetting(f"give the number of steps as --steps {parsed['steps']}, not with --set.")
    shared = {*SETTING_NAMES, *LEARN_OPTIONS, REWARD_RANGE} - {"steps"}
    known = {name: shared | set(option_names(name)) for name in explorers}
    for setting in parsed:
        if not any(setting in names for names in known.values()):
            every = shared.union(*known.values())
            raise unknown_name("setting or option", setting, every, of=" or ".join(explorers))
    return {name: {setting: value for setting, value in parsed.items() if setting in known[name]} for name in explorers}


def load_agent(file: Path, explorer: str | None, key: str | None, *, needs_key: bool) -> Agent:
    """Return a saved agent; a user-defined explorer and, if observations are used, key function are module:name."""
    from wanderlust.agents.agent import Agent
    from wanderlust.environments.encoding import FUNCTION
    from wanderlust.environments.tabular import load_function
    from wanderlust.explorers.protocol import explorer_class

    check_regular_file(file)
    user_defined = None if explorer is None else explorer_class(explorer)
    agent = Agent.load(file, explorer=user_defined, key=None if key is None else load_function(key))
    if needs_key and key is None and agent.encoding is not None and agent.encoding.encoder.kind == FUNCTION:
        name = agent.encoding.encoder.name
        raise InvalidSetting(
            f"{file}: the state key of this agent is the result of the function {name!r}, which is not in the file; "
            f"give --key module:{name}."
        )
    return agent


def _scalar_or_list(numbers: tuple[int, ...] | None) -> int | list[int] | None:
    if numbers is None:
        return None
    return numbers[0] if len(numbers) == 1 else list(numbers)


def _read_bounds(bounds: tuple[str, ...] | None) -> Mapping[str, Any] | None:
    if bounds is None:
        return None
    parsed = read_options(bounds, "1=-3,3")
    return {dimension: list(pair) if isinstance(pair, tuple) else pair for dimension, pair in parsed.items()}
