"""Which environment a command is for, and what tells its states: the options that all of them share."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from wanderlust.cli.options import as_typed, read_options
from wanderlust.core.errors import InvalidEnvironment, InvalidMap, InvalidSetting, check_integer, check_number
from wanderlust.envs.registration import GRID_ID

if TYPE_CHECKING:
    from wanderlust.envs.tabular import Tabular

MAP_FILES = (".txt", ".toml")
_AS_OPTIONS = "As options: --bins 20, --bounds 1=-3,3, --action-bins 5, --key hash."


@dataclass(frozen=True)
class Environment:
    """The environment."""

    environment: Annotated[
        Positional[str],
        arg(
            metavar="ENVIRONMENT",
            help="An id of Gymnasium's (FrozenLake-v1), one of our worlds (prison), a map's file (mine.txt), "
            "module:id, which imports the module first, or module:function, which makes the environment.",
        ),
    ]
    env: Annotated[
        tuple[str, ...],
        arg(metavar="NAME=VALUE ...", help="Options it is made with, such as map_name=8x8 is_slippery=false."),
    ] = ()
    key: Annotated[
        str | None,
        arg(
            metavar="KEY",
            help="What tells a state, where observations are not states as they are: hash, info:FIELD or "
            "module:function.",
        ),
    ] = None
    bins: Annotated[
        tuple[int, ...] | None,
        arg(metavar="N ...", help="Cut a continuous observation into so many bins: one number, or one per dimension."),
    ] = None
    bounds: Annotated[
        tuple[str, ...] | None,
        arg(metavar="I=LOW,HIGH ...", help="Where to cut dimension I of the observation off, such as 1=-3,3."),
    ] = None
    action_bins: Annotated[
        tuple[int, ...] | None,
        arg(metavar="N ...", help="Cut continuous actions into so many values: one number, or one per dimension."),
    ] = None
    reset_seed: Annotated[
        int | None, arg(metavar="N", help="Start every episode from this seed: always the same layout and chance.")
    ] = None

    @cached_property
    def name(self) -> str:
        """Under which name the environment is made; that of a map is the grid's."""
        return GRID_ID if self._is_map else self.environment

    @cached_property
    def options(self) -> dict[str, Any]:
        """What it is made with, a map's text included, so that a file that changes is another environment."""
        given = read_options(self.env, "map_name=8x8")
        return {"map": _map_text(Path(self.environment)), **given} if self._is_map else given

    @cached_property
    def encoder_options(self) -> dict[str, Any]:
        """What tells states and actions, as plain values."""
        given = {
            "key": self.key,
            "bins": _one_or_many(self.bins),
            "bounds": _read_bounds(self.bounds),
            "action_bins": _one_or_many(self.action_bins),
            "reset_seed": self.reset_seed,
        }
        return {name: value for name, value in given.items() if value is not None}

    def make(self) -> Tabular:
        """Return a new environment with discrete states and actions."""
        from wanderlust.envs.by_name import tabular_from_options
        from wanderlust.envs.make import make_environment

        env = make_environment(self.name, **self.options)
        try:
            return tabular_from_options(env, self.encoder_options)
        except (InvalidEnvironment, InvalidSetting) as error:
            # The sentence speaks of parameters, but those who read it here have options.
            raise type(error)(f"{error} {_AS_OPTIONS}") from error

    @property
    def typed(self) -> str:
        """The environment and its options as they would be typed."""
        words = [self.environment]
        if self.env:
            words += ["--env", *as_typed(read_options(self.env))]
        for flag, values in (("bins", self.bins), ("bounds", self.bounds), ("action-bins", self.action_bins)):
            words += [] if values is None else [f"--{flag}", *map(str, values)]
        for flag, value in (("key", self.key), ("reset-seed", self.reset_seed)):
            words += [] if value is None else [f"--{flag}", str(value)]
        return shlex.join(words)

    @property
    def folder(self) -> str:
        """Its name as a folder can have it."""
        return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in self.environment)

    @property
    def _is_map(self) -> bool:
        return self.environment.endswith(MAP_FILES)


def _one_or_many(numbers: tuple[int, ...] | None) -> int | list[int] | None:
    if numbers is None:
        return None
    return numbers[0] if len(numbers) == 1 else list(numbers)


def _read_bounds(bounds: tuple[str, ...] | None) -> Mapping[str, list[float]] | None:
    if bounds is None:
        return None
    found = {}
    for dimension, pair in read_options(bounds, "1=-3,3").items():
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and dimension.isdecimal()):
            raise InvalidSetting(f"bounds must be written as dimension=low,high, such as 1=-3,3, got {bounds!r}.")
        check_integer("a dimension of bounds", int(dimension), low=0)
        found[dimension] = [check_number(f"a bound of dimension {dimension}", bound) for bound in pair]
    return found


def _map_text(path: Path) -> str:
    from wanderlust.worlds.map_text import read_toml_map

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidMap(f"cannot read the map {str(path)!r}: {error}") from None
    # A text without a line's end would be taken for a path.
    return read_toml_map(text).text if path.suffix == ".toml" else text.rstrip("\n") + "\n"
