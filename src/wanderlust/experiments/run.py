"""A run: one training with one seed, the unit of every experiment; and its result.

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
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.errors import (
    InvalidSetting,
    check_choice,
    check_instance,
    check_integer,
    check_list,
    check_options,
    shown,
)
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.code_version import git_commit, is_installed, library_hash, source_hash

__all__ = ["OPTIMAL_SUCCESS", "Result", "Run", "evenness", "step_learnt"]

ALGORITHM_VERSION = 5
"""Increase this when the result of any run changes, or when the format of stored files changes. Results stored with
another version are ignored, and their runs are executed again when requested. `tests/fingerprints.json` has the version
of its results."""

ADAPTIVE_VERSION = 8
"""The same for runs with `kind="environment"`, whose defaults come from `wanderlust.training.adaptive`, and for runs
with `kind="model"` and the preset 'adaptive'."""

UNTIL = ("budget", "positive-return")
MEASURES = {
    "world": ("returns", "values", "exam"),
    "environment": ("returns",),
    "model": ("returns", "discounted-returns"),
}
"""What runs of each kind can measure."""
KINDS = tuple(MEASURES)
_UNUSED = {
    "world": ("encoder_options", "episodes", "env_version", "model"),
    "environment": ("until", "model"),
    "model": ("encoder_options", "episodes", "env_version", "until"),
}
"""Fields that runs of each kind do not use."""

DEFAULT_EVALUATIONS = 25
"""Number of evaluations of the greedy policy in an environment or on its model, unless `evaluate_every` is set."""
_KEY_LENGTH = 24
_PACKAGE = "wanderlust"
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
    `wanderlust.experiments.world_run`."""
    kind: str = "world"
    """What `world` names: a built-in 'world', a Gymnasium or user-defined 'environment', or such an environment whose
    'model', its transition table, is used instead of its steps."""
    encoder_options: Options = field(default_factory=dict)
    """Encoding of the states and actions of an environment; see `wanderlust.environments.tabular`."""
    episodes: int = 10
    """Number of episodes in each evaluation of the greedy policy in an environment without a known model; more if
    their mean is not precise."""
    env_version: str = ""
    """The user's version of an environment; if empty, a hash of its code is part of the key instead."""
    model: str = ""
    """A hash of the environment's model, with `kind="model"`; `Run.of_model` computes it."""

    def __post_init__(self) -> None:
        # Not at the top: `wanderlust status` reads a store without importing numba, which takes most of a second.
        from wanderlust.agents.settings import MAX_EPISODES

        for name in ("world", "explorer", "env_version", "model"):
            if not isinstance(value := getattr(self, name), str):
                raise InvalidSetting(f"the {name} of a run must be a string, got {shown(value)}.")
        if self.world.endswith((".toml", ".txt")):
            raise InvalidSetting(
                f"a run cannot depend on the file {self.world!r}, which may change: "
                "give the map's text as the world's option `map`."
            )
        object.__setattr__(self, "seed", check_integer("seed", self.seed, low=0))
        check_choice("kind", self.kind, KINDS)
        object.__setattr__(self, "preset", self._checked_preset())
        check_choice("until", self.until, UNTIL)
        check_choice(f"measure with kind={self.kind!r}", self.measure, MEASURES[self.kind])
        episodes = check_integer("episodes", self.episodes, low=1, high=MAX_EPISODES)
        object.__setattr__(self, "episodes", episodes)
        for name in ("world_options", "explorer_options", "settings", "encoder_options"):
            object.__setattr__(self, name, plain_options(name, getattr(self, name)))
        if self.kind == "model" and not self.model:
            raise InvalidSetting("a run with kind='model' needs a hash of the model: create it with Run.of_model.")
        description = self.description
        for name in _UNUSED[self.kind]:
            if name in description:
                raise InvalidSetting(f"{name} cannot be set with kind={self.kind!r}, got {getattr(self, name)!r}.")
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
        from wanderlust.worlds.registry import is_built_in

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
            if isinstance(value, MappingProxyType):
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
        check_instance("the description of a run", text, str)
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidSetting(f"a run must be described by JSON, got {text!r} ({error}).") from None
        if not isinstance(values, dict) or not {"world", "explorer"} <= values.keys():
            raise InvalidSetting(f"a run must be a JSON object with the fields 'world' and 'explorer', got {text!r}.")
        check_options("a run", values, (each.name for each in fields(cls)))
        return cls(**values)

    @functools.cached_property
    def key(self) -> str:
        """The name of the result: a hash of the description, `ALGORITHM_VERSION`, and the code."""
        return self.key_with(self.code)

    @functools.cached_property
    def code(self) -> tuple[str, ...]:
        """Hashes of the library, and of the code of the explorer, of the environment and of the state key.

        Only files are read; no module is imported. A hash is "" for an installed release of the library, and for code
        that is part of the library.
        """
        return library_hash(), *map(source_hash, self._modules)

    @functools.cached_property
    def git(self) -> str:
        """The commit of the user's code that the run executes, with "-dirty" if it is modified; "" if there is none."""
        return git_commit(self._modules)

    @property
    def _modules(self) -> tuple[str, ...]:
        from wanderlust.explorers.protocol import explorer_module

        return explorer_module(self.explorer) or _PACKAGE, *self.environment_modules

    @property
    def environment_modules(self) -> tuple[str, ...]:
        """The modules of a world or environment and its state key; none if they are built-in or have a version."""
        if self.kind == "model" or self.env_version:
            return ()
        from wanderlust.worlds.registry import world_module

        modules = [world_module(self.world)]
        if self.kind == "environment":
            from wanderlust.environments.tabular import module_of, registered_module

            named = [module_of(self.world), module_of(str(self.encoder_options.get("key", "")))]
            registered = registered_module(self.world)
            modules += [*named, None if registered is None or is_installed(registered) else registered]
        return tuple(name for name in modules if name is not None and name.partition(".")[0] != _PACKAGE)

    def key_with(self, code: tuple[str, ...]) -> str:
        """Return the key for the given hashes of code, as a stored result contains them."""
        adapts = self.kind == "environment" or (self.kind == "model" and self.preset == "adaptive")
        versions = str(ALGORITHM_VERSION), f"adaptive {ADAPTIVE_VERSION}" if adapts else ""
        parts = (self.json, *versions, *check_list("code", code, str))
        return hashlib.sha256("\n".join(parts).encode(errors="surrogatepass")).hexdigest()[:_KEY_LENGTH]

    @property
    def command(self) -> str:
        """The shell command that repeats this run."""
        return f"wanderlust run {shlex.quote(self.json)}"

    def train(self, should_stop: Callable[[], bool] = lambda: False, *, steps: int | None = None) -> Result:
        """Execute the run; raise `RunCancelled` once `should_stop()` is true. `steps` truncates it, for a test."""
        if self.kind == "environment":
            from wanderlust.experiments.environment_run import train_in_environment as train
        elif self.kind == "model":
            from wanderlust.experiments.world_run import train_on_model as train
        else:
            from wanderlust.experiments.world_run import train_in_world as train
        return train(self, should_stop, steps=steps)

    @property
    def overrides(self) -> dict[str, Any]:
        """Settings and explorer options merged, as keyword arguments of `train` and `learn`."""
        overrides = dict(self.settings)
        duplicates = overrides.keys() & self.explorer_options.keys()
        if duplicates:
            raise InvalidSetting(f"{', '.join(sorted(duplicates))}: given in both `settings` and `explorer_options`.")
        return overrides | dict(self.explorer_options)


def plain_options(name: str, given: Any) -> Options:
    """Return options as JSON reads them back, so that a run equals its copy read from a file."""
    if not isinstance(given, Mapping):
        raise InvalidSetting(f"{name} must be a table of names and values, got {shown(given)}.")
    if not given:
        return MappingProxyType({})
    try:
        plain = json.loads(json.dumps(dict(given), default=_plain_value, allow_nan=False), parse_int=_plain_integer)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidSetting(
            f"{name} must contain numbers, strings, lists or tables of these, got {shown(given)} ({error})."
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


# --- The result ------------------------------------------------------------------------------------------

_EMPTY = np.zeros(0)
OPTIMAL_SUCCESS = 100.0 - 1e-6
"""Success, in percent, from which a policy is optimal, with a tolerance for rounding."""


class Result(NamedTuple):
    """The result of a run, without its value tables. Arrays are indexed by the world's states."""

    steps: NDArray[np.int64]
    """[evaluation]: the step after which the greedy policy was evaluated."""
    returns: FloatArray
    """[evaluation]: its expected discounted return from the start; in an environment, its undiscounted return, exact
    if the model is known, otherwise the mean of episodes."""
    discovered: NDArray[np.int64]
    """[evaluation]: the number of distinct states visited so far."""
    visits: NDArray[np.int64]
    """[state, action]: the visit count n(s, a)."""
    first_visit: NDArray[np.int64]
    """[state]: the step of the first visit; -1 for never."""
    optimal_return: NDArray[np.float64]
    """The optimal expected discounted return from the start, a scalar; NaN in an environment."""
    reachable: NDArray[np.int64]
    """The number of reachable states, a scalar; 0 in an environment, where it is unknown."""
    gaps: FloatArray = _EMPTY
    """[ε], with `measure="values"`: the thresholds ε for V* - V^π."""
    bad_steps: NDArray[Any] = _EMPTY
    """[ε]: the sample complexity: the number of steps with V*(s) - V^π(s) > ε for the current state s."""
    ends_good: NDArray[Any] = _EMPTY
    """[ε]: whether V*(s) - V^π(s) <= ε at the last step."""
    moments: NDArray[Any] = _EMPTY
    """[moment]: the steps, evenly spaced on a logarithmic scale, of the next two arrays."""
    value_errors: FloatArray = _EMPTY
    """[moment]: the mean over all states of (V* - V^π)²."""
    visits_by_moment: NDArray[Any] = _EMPTY
    """[moment, state]: the visits of each state so far."""
    improvements: FloatArray = np.zeros((0, 2))
    """[improvement, (step, mean return)], in an environment: the evaluations whose return was larger than all before,
    also those between two points of the curves."""
    episodes: FloatArray = np.zeros((0, 4))
    """[episode, (last step, length, return, terminated)], in an environment."""
    rewards: FloatArray = np.zeros((0, 3))
    """[reward, (value, count, first step)]: the distinct rewards in order of first occurrence; if there are more than
    `MAX_REWARDS`, the last row counts all others, with the value NaN."""
    reward_places: NDArray[Any] = _EMPTY
    """[reward]: the state and action that first received it, as text."""
    pairs: NDArray[Any] = _EMPTY
    """(number of state-action pairs visited more than once, number of these with more than one outcome, number of
    distinct first states of episodes)"""
    outcomes: FloatArray = np.zeros((0, 5))
    """[outcome, (state, action, next state, or -1 if it terminated, count, mean reward)], in an environment; empty if
    there are more than `MAX_OUTCOMES`."""
    starts: FloatArray = np.zeros((0, 2))
    """[state, (first state of an episode, count)], in an environment."""
    time_penalty: FloatArray = _EMPTY
    """In an environment: the decrease per step of the terminal rewards, if it was removed for learning."""
    hidden: FloatArray = np.zeros((0, 6))
    """In an environment: [what the key hides, (equal and same outcome, equal and another outcome, different and same
    outcome, different and another outcome, deviation, its variance)]: successive visits of pairs with several outcomes;
    see `HiddenState`."""
    events: FloatArray = _EMPTY
    """(number of steps up to the first positive reward, up to the first termination), with `kind="model"`; infinity for
    never."""
    data_returns: FloatArray = _EMPTY
    """[evaluation], with `measure="exam"`: the return of the policy that is best by the collected data."""
    learning_return: FloatArray = _EMPTY
    """With `measure="exam"`: the mean discounted return of the episodes while learning, with expected rewards."""

    @property
    def success(self) -> float:
        """The last evaluation's return in percent of the optimum: "success" in the paper's recap tables.

        NaN if there was no evaluation, or if the optimal return is zero.
        """
        return float(self.percent_curves[2, -1]) if len(self.returns) else math.nan

    @property
    def area_under_curve(self) -> float:
        """The mean over the steps of the return in percent of the optimum; of the return itself if that is unknown.

        Between two evaluations the return is interpolated.
        """
        steps, _, success = self.percent_curves
        curve = self.returns if np.isnan(success).all() else success
        if len(steps) < 2:
            return float(curve[-1]) if len(curve) else math.nan
        return float(np.trapezoid(curve, steps) / (steps[-1] - steps[0]))

    @property
    def discovery(self) -> float:
        """The states visited, in percent of the reachable states; NaN if these are unknown."""
        return 100.0 * self.n_discovered / (int(self.reachable) or math.nan)

    @property
    def first_events(self) -> tuple[float, float]:
        """The steps of the first positive reward and of the first termination in training; infinity for never."""
        if len(self.events) == 2:
            return float(self.events[0]), float(self.events[1])
        found = self.rewards[self.rewards[:, 0] > 0, 2], self.episodes[self.episodes[:, 3] > 0, 0]
        return float(min(found[0], default=math.inf)), float(min(found[1], default=math.inf))

    @property
    def n_discovered(self) -> int:
        """The number of distinct states visited by the end."""
        return int((self.first_visit >= 0).sum())

    @property
    def percent_curves(self) -> FloatArray:
        """[3, evaluation]: steps, discovery in percent of the reachable states, return in percent of the optimum."""
        discovered = 100.0 * self.discovered / (int(self.reachable) or math.nan)
        return np.stack([self.steps, discovered, 100.0 * self.returns / (float(self.optimal_return) or math.nan)])


def step_learnt(curves: FloatArray, success_threshold: float = OPTIMAL_SUCCESS) -> float:
    """Return the step from which the success in [steps, discovery, success] stays above a threshold; inf for never."""
    steps, _, success = curves
    if not len(steps) or success[-1] < success_threshold:
        return np.inf
    below = np.flatnonzero(success < success_threshold)
    return float(steps[below[-1] + 1] if len(below) else steps[0])


def evenness(counts: NDArray[np.int64], reachable: int) -> float:
    """Return the entropy of the state visits in percent of the maximum, that of uniform visits."""
    share = counts[counts > 0] / counts.sum()
    return 100.0 * float(-(share * np.log(share)).sum()) / float(np.log(reachable)) if reachable > 1 else 100.0
