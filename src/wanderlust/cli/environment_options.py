"""The command-line options that select an environment and its state encoding."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from wanderlust.cli.arguments import format_options, read_options
from wanderlust.core.errors import InvalidEnvironment, InvalidSetting, check_number, shown
from wanderlust.core.files import check_path
from wanderlust.environments.registration import GRID_ID

if TYPE_CHECKING:
    from gymnasium import Env

    from wanderlust.environments.tabular import Tabular

MAP_SUFFIXES = (".txt", ".toml")
_MAX_NAME, _MAX_DIGITS = 80, 9
_OPTIONS_HINT = "As options: --bins 8, --bounds 1=-3,3, --action-bins 5, --key hash."


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
    env: Annotated[
        tuple[str, ...],
        arg(metavar="NAME=VALUE ...", help="Arguments of the environment, such as map_name=8x8 is_slippery=false."),
    ] = ()
    key: Annotated[
        str | None,
        arg(
            metavar="KEY",
            help="State key, for observations that are not states themselves: hash, info:FIELD or module:function.",
        ),
    ] = None
    bins: Annotated[
        tuple[int, ...] | None,
        arg(metavar="N ...", help="Discretize continuous observations into N bins: one number, or one per dimension."),
    ] = None
    bounds: Annotated[
        tuple[str, ...] | None,
        arg(metavar="I=LOW,HIGH ...", help="Clip dimension I of the observation before binning, such as 1=-3,3."),
    ] = None
    action_bins: Annotated[
        tuple[int, ...] | None,
        arg(metavar="N ...", help="Discretize continuous actions into N values: one number, or one per dimension."),
    ] = None
    reset_seed: Annotated[
        int | None, arg(metavar="N", help="Reset every episode with this seed: same layout, same random numbers.")
    ] = None

    @cached_property
    def name(self) -> str:
        """The name with which the environment is created; map files use the grid environment."""
        return GRID_ID if self._is_map else self.environment

    @cached_property
    def env_options(self) -> dict[str, Any]:
        """The environment's arguments. They include the text of a map, so that an edited map is a new environment."""
        parsed = read_options(self.env, "map_name=8x8")
        return {"map": _map_text(Path(self.environment)), **parsed} if self._is_map else parsed

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
            return tabular_from_options(env, self.encoder_options)
        except (InvalidEnvironment, InvalidSetting) as error:
            # The message names Python parameters; on the command line these are options.
            raise type(error)(f"{error} {self._bins_advice(env)}") from error

    def _bins_advice(self, env: Env[Any, Any]) -> str:
        """Return options for continuous observations, from the ranges that are observed; otherwise all options."""
        from gymnasium.spaces import Box

        from wanderlust.environments.bins_advice import RANDOM_STEPS, bins_options

        needs_action_bins = isinstance(env.action_space, Box) and self.action_bins is None
        options = None if self.key is not None or needs_action_bins else bins_options(env)
        if options is None:
            return _OPTIONS_HINT
        return f"From the ranges observed in {RANDOM_STEPS:,} random steps: {options} (or --key)."

    @property
    def command_line(self) -> str:
        """The environment and its options, quoted for a shell."""
        words = [self.environment]
        if self.env:
            words += ["--env", *format_options(read_options(self.env))]
        for flag, values in (("bins", self.bins), ("bounds", self.bounds), ("action-bins", self.action_bins)):
            words += [] if values is None else [f"--{flag}", *map(str, values)]
        for flag, value in (("key", self.key), ("reset-seed", self.reset_seed)):
            words += [] if value is None else [f"--{flag}", str(value)]
        return shlex.join(words)

    @property
    def file_name(self) -> str:
        """The end of the environment's name, with only characters that are valid in file names."""
        name = self.environment[-_MAX_NAME:]
        return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)

    @property
    def _is_map(self) -> bool:
        return self.environment.endswith(MAP_SUFFIXES)


EnvironmentArgument = Annotated[EnvironmentOptions, arg(name="")]


def _scalar_or_list(numbers: tuple[int, ...] | None) -> int | list[int] | None:
    if numbers is None:
        return None
    return numbers[0] if len(numbers) == 1 else list(numbers)


def _read_bounds(bounds: tuple[str, ...] | None) -> Mapping[str, list[float]] | None:
    if bounds is None:
        return None
    parsed = {}
    for dimension, pair in read_options(bounds, "1=-3,3").items():
        is_dimension = dimension.isascii() and dimension.isdecimal() and len(dimension) <= _MAX_DIGITS
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and is_dimension):
            raise InvalidSetting(f"bounds must be written as dimension=low,high, such as 1=-3,3, got {shown(bounds)}.")
        parsed[dimension] = [check_number(f"a bound of dimension {dimension}", bound) for bound in pair]
    return parsed


def _map_text(path: Path) -> str:
    from wanderlust.worlds.maps import read_map_file

    text = read_map_file(check_path("the map", path))
    # A text without a newline would be taken for a path.
    return text if path.suffix == ".toml" else text.rstrip("\n") + "\n"
