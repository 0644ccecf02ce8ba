"""A run: one training with one seed, the unit of every experiment.

A `Run` holds everything that determines the result: world, explorer, their options, settings, preset and seed. The
same run gives the same result, bit for bit, on every machine. A run is serialized as one line of JSON; a hash of that
line, its `key`, names the file of its result.

By default a run trains in a built-in world, in one compiled loop. With `kind="environment"` it trains in any Gymnasium
environment; see `wanderlust.experiments.environment_run`. With `kind="model"` it trains in the compiled loop on the
environment's transition table; see `wanderlust.experiments.world_run`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from wanderlust.core.errors import InvalidSetting, check_choice, check_integer, check_options
from wanderlust.experiments.code_version import source_hash
from wanderlust.experiments.result import Result as Result

ALGORITHM_VERSION = 2
"""Increase this when the result of any run changes, or when the format of stored files changes. Results stored with
another version are ignored, and their runs are executed again when requested."""

ADAPTIVE_VERSION = 7
"""The same for runs with `kind="environment"`, whose defaults come from `wanderlust.training.adaptive`, and for runs
with `kind="model"` and the preset 'adaptive'."""

UNTIL = ("budget", "positive-return")
MEASURES = {
    "world": ("returns", "values", "exam"),
    "environment": ("returns",),
    "model": ("returns", "discounted-returns"),
}
"""What runs of each kind can measure."""
KINDS = ("world", "environment", "model")

DEFAULT_EVALUATIONS = 25
"""Number of evaluations of the greedy policy in an environment or on its model, unless `evaluate_every` is set."""
_KEY_LENGTH = 24
Options = Mapping[str, Any]


class RunCancelled(Exception):
    """A run was cancelled before its end."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Everything that determines the result of one training; runs with equal fields are equal."""

    world: str
    """A registered name, or with the option `map` the name to give that map."""
    explorer: str
    """A registered name, or `module:Class`."""
    seed: int = 0
    preset: str = ""
    """'as_written', the paper's text; 'as_published_code', the released code; or 'adaptive', in environments and on
    their models only. If empty, 'as_written' in built-in worlds and 'adaptive' in other environments."""
    world_options: Options = field(default_factory=dict)
    explorer_options: Options = field(default_factory=dict)
    settings: Options = field(default_factory=dict)
    """Overrides of `Settings`; `replay` is a name or a table of the fields of `Replay`."""
    until: str = "budget"
    """When the run ends: 'budget', or 'positive-return': after the first evaluation with a return above zero."""
    measure: str = "returns"
    """'returns'. 'values': in a stochastic world also V^π of the greedy policy after every step. 'discounted-returns':
    on a model, instead of undiscounted ones. 'exam': exact returns at a few steps of a world, see
    `wanderlust.experiments.exact_returns`."""
    kind: str = "world"
    """What `world` names: a built-in 'world', a Gymnasium or user-defined 'environment', or such an environment whose
    'model', its transition table, is used instead of its steps."""
    encoder_options: Options = field(default_factory=dict)
    """Encoding of the states and actions of an environment; see `wanderlust.environments.tabular`."""
    episodes: int = 10
    """Number of episodes in each evaluation of the greedy policy in an environment."""
    env_version: str = ""
    """The user's version of an environment; if empty, a hash of its code is part of the key instead."""
    model: str = ""
    """A hash of the environment's model, with `kind="model"`; `Run.of_model` computes it."""

    def __post_init__(self) -> None:
        # Not at the top: `wanderlust status` reads a store without importing numba, which takes most of a second.
        from wanderlust.agents.settings import MAX_EPISODES

        for name in ("world", "explorer", "env_version", "model"):
            if not isinstance(getattr(self, name), str):
                raise InvalidSetting(f"the {name} of a run must be a string, got {getattr(self, name)!r}.")
        if self.world.endswith((".toml", ".txt")):
            raise InvalidSetting(
                f"a run cannot depend on the file {self.world!r}, which may change: "
                "give the map's text as the world's option `map`."
            )
        check_integer("seed", self.seed, low=0)
        check_choice("kind", self.kind, KINDS)
        object.__setattr__(self, "preset", self._checked_preset())
        check_choice("until", self.until, UNTIL)
        check_choice(f"measure with kind={self.kind!r}", self.measure, MEASURES[self.kind])
        check_integer("episodes", self.episodes, low=1, high=MAX_EPISODES)
        for name in ("world_options", "explorer_options", "settings", "encoder_options"):
            object.__setattr__(self, name, plain_options(name, getattr(self, name)))
        self._check_fields_of_kind()
        try:
            self.json.encode()
        except UnicodeEncodeError as error:
            raise InvalidSetting(f"a run must be described by valid Unicode, got {self.json!r} ({error}).") from None

    @classmethod
    def of_model(cls, world: str, **others: Any) -> Run:
        """Return a run on the transition table of an environment; the parameters are the fields of a run."""
        from wanderlust.experiments.world_run import hash_of_model

        run = cls(world=world, kind="model", model="not computed yet", **others)
        return replace(run, model=hash_of_model(run))

    def _checked_preset(self) -> str:
        from wanderlust.agents.settings import ADAPTIVE, AS_WRITTEN, PRESETS, WORLD_PRESETS

        if not isinstance(self.preset, str) or self.preset:
            return check_choice("preset", self.preset, WORLD_PRESETS if self.kind == "world" else PRESETS)
        if self.kind == "world":
            return AS_WRITTEN
        from wanderlust.environments.registration import is_built_in

        return AS_WRITTEN if is_built_in(self.world) else ADAPTIVE

    def __hash__(self) -> int:
        return hash(self.json)

    def __reduce__(self) -> tuple[Callable[[str], Run], tuple[str]]:
        return Run.from_json, (self.json,)

    @property
    def description(self) -> dict[str, Any]:
        """The fields that differ from their default, as plain values."""
        from wanderlust.agents.settings import AS_WRITTEN

        changed: dict[str, Any] = {}
        for each in fields(self):
            value, default = getattr(self, each.name), each.default
            if isinstance(value, Mapping):
                value, default = dict(value), {}
            if value != (AS_WRITTEN if each.name == "preset" and self.kind == "world" else default):
                changed[each.name] = value
        return changed

    @functools.cached_property
    def json(self) -> str:
        """The run as one line of JSON; equal runs give the same line."""
        return json.dumps(self.description, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Run:
        """Return the run of a line written by `json`."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidSetting(f"a run must be described by JSON, got {text!r} ({error}).") from None
        if not isinstance(values, dict):
            raise InvalidSetting(f"a run must be described by a JSON object, got {text!r}.")
        check_options("a run", values, (each.name for each in fields(cls)))
        for name in ("world", "explorer"):
            if name not in values:
                raise InvalidSetting(f"a run needs the field {name!r}, got {text!r}.")
        return cls(**values)

    @functools.cached_property
    def key(self) -> str:
        """The name of the result: a hash of the description, `ALGORITHM_VERSION`, and user-defined code."""
        return self.key_with(self.code)

    @functools.cached_property
    def code(self) -> tuple[str, ...]:
        """Hashes of the code of the explorer, of the environment and of the state key; "" for built-in code.

        Only the files are read; no module is imported.
        """
        from wanderlust.explorers.registry import explorer_module

        explorer = explorer_module(self.explorer)
        return tuple(source_hash(name) if name else "" for name in (explorer, *self.environment_modules))

    @property
    def environment_modules(self) -> tuple[str, ...]:
        """The modules whose code identifies the environment; none if it is built-in or `env_version` is given."""
        if self.kind != "environment" or self.env_version:
            return ()
        from wanderlust.environments.tabular import module_of

        names = (self.world, str(self.encoder_options.get("key", "")))
        return tuple(module for module in map(module_of, names) if module is not None)

    def key_with(self, code: tuple[str, ...]) -> str:
        """Return the key for the given hashes of code, as a stored result contains them."""
        adapts = self.kind == "environment" or (self.kind == "model" and self.preset == "adaptive")
        environment = (f"adaptive {ADAPTIVE_VERSION}", *code[1:]) if adapts else ()
        parts = (self.json, str(ALGORITHM_VERSION), code[0], *environment)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_KEY_LENGTH]

    @property
    def command(self) -> str:
        """The shell command that repeats this run."""
        return f"wanderlust run {shlex.quote(self.json)}"

    def train(self, should_stop: Callable[[], bool] = lambda: False, *, steps: int | None = None) -> Result:
        """Execute the run; raise `RunCancelled` once `should_stop()` is true. `steps` truncates it, for a test."""
        if self.kind == "environment":
            from wanderlust.experiments.environment_run import train_in_environment

            return train_in_environment(self, should_stop, steps=steps)
        if self.kind == "model":
            from wanderlust.experiments.world_run import train_on_model

            return train_on_model(self, should_stop, steps=steps)
        from wanderlust.experiments.world_run import train_in_world

        return train_in_world(self, should_stop, steps=steps)

    @property
    def overrides(self) -> dict[str, Any]:
        """Settings and explorer options merged, as keyword arguments of `train` and `learn`."""
        overrides = dict(self.settings)
        duplicates = overrides.keys() & self.explorer_options.keys()
        if duplicates:
            raise InvalidSetting(f"{', '.join(sorted(duplicates))}: given in both `settings` and `explorer_options`.")
        return overrides | dict(self.explorer_options)

    def _check_fields_of_kind(self) -> None:
        """Reject fields that a run of this kind would ignore."""
        unused = {
            "world": ("encoder_options", "episodes", "env_version", "model"),
            "environment": ("until", "model"),
            "model": ("encoder_options", "episodes", "env_version", "until"),
        }
        if self.kind == "model" and not self.model:
            raise InvalidSetting("a run with kind='model' needs a hash of the model: create it with Run.of_model.")
        for name in unused[self.kind]:
            if name in self.description:
                raise InvalidSetting(f"{name} cannot be set with kind={self.kind!r}, got {getattr(self, name)!r}.")


def plain_options(name: str, given: Any) -> Options:
    """Return options as JSON reads them back, so that a run equals its copy read from a file."""
    if not isinstance(given, Mapping):
        raise InvalidSetting(f"{name} must be a table of names and values, got {given!r}.")
    try:
        plain = json.loads(json.dumps(dict(given), default=_plain_value, allow_nan=False), parse_int=_plain_integer)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidSetting(
            f"{name} must contain numbers, strings, lists or tables of these, got {given!r} ({error})."
        ) from None
    return MappingProxyType(plain)


def _plain_integer(text: str) -> int:
    if abs(number := int(text)) >= 2**63:
        raise ValueError("an integer has more than 64 bits")
    return number


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
