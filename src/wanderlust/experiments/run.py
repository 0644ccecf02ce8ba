"""A run: one training with one seed, the unit of every experiment; its result, and the code that determines it.

A `Run` holds everything that determines the result: world, explorer, their options, settings, preset and seed. The
same run gives the same result, bit for bit, on every machine. A run is serialized as one line of JSON; a hash of that
line and of the code, its `key`, names its result, so that stored runs are not used after the code has changed.

By default a run trains in a built-in world, in one compiled loop. With `kind="environment"` it trains in any Gymnasium
environment; see `wanderlust.experiments.environment_run`. With `kind="model"` it trains in the compiled loop on the
environment's transition table; see `wanderlust.experiments.world_run`.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import math
import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.cache import COMPILED_PACKAGES
from wanderlust._numba.cache import source_hash as package_hash
from wanderlust.core.errors import (
    BadFile,
    InvalidSetting,
    check_choice,
    check_instance,
    check_integer,
    check_list,
    check_options,
    shown,
)
from wanderlust.core.mdp import FloatArray

__all__ = ["OPTIMAL_SUCCESS", "Result", "Run", "step_learnt"]

ALGORITHM_VERSION = 6
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
        if self.world.endswith(".txt"):
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
        from wanderlust.environments.model import model_hash
        from wanderlust.experiments.world_run import model_world_of

        run = cls(world=world, kind="model", model="not computed yet", **others)
        return replace(run, model=model_hash(model_world_of(run)))

    def _checked_preset(self) -> str:
        from wanderlust.agents.settings import ADAPTIVE, AS_WRITTEN, PRESETS, WORLD_PRESETS

        if isinstance(self.preset, str) and self.preset == ADAPTIVE and self.kind == "world":
            raise InvalidSetting(
                "preset 'adaptive' is for environments only; a sweep of both excludes it in worlds: "
                f'exclude = [{{world = "{self.world}", preset = "adaptive"}}].'
            )
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


# --- The code that determines a result -------------------------------------------------------------------
#
# No module is imported: files are found by their names, and the imports in them by their syntax. What a program reads
# or imports otherwise is not found, but any module can declare it: `depends_on = ["maze.csv"]`, relative to its folder.

DEPENDS_ON = "depends_on"
NUMERICAL_SOURCES = (
    *COMPILED_PACKAGES, "core/hardness.py", "core/mdp.py", "core/planning.py", "environments", "experiments/run.py",
    "experiments/environment_run.py", "experiments/table.py", "experiments/world_run.py", "training", "worlds",
)  # fmt: skip
"""The files and folders of the library that determine the numbers of a result."""
_CODE_SUFFIXES = (*SOURCE_SUFFIXES, *EXTENSION_SUFFIXES)
_LIBRARY_FOLDERS = ("site-packages", "dist-packages")
_STDLIB = Path(os.__file__).parent
_SECONDS_FOR_GIT = 5.0
_INSTALLED: set[str] = set()
"""Installed modules that were found before: to search all folders of `sys.path` takes longest."""


@functools.cache
def library_hash() -> str:
    """Return a hash of the library's numerical sources; "" for an installed release, which has `ALGORITHM_VERSION`.

    A source tree, an editable installation and installed files that were edited are not a release.
    """
    folder = Path(__file__).parents[2]
    recorded = importlib.metadata.files(_PACKAGE) or () if _is_library(folder / _PACKAGE) else ()
    files = {folder / file: file.hash.value for file in recorded if file.suffix == ".py" and file.hash is not None}
    is_release = files and all(_recorded_hash(file) == value for file, value in files.items())
    return "" if is_release else package_hash(NUMERICAL_SOURCES)


def _recorded_hash(file: Path) -> str:
    """Return the hash of a file as an installer records it."""
    with contextlib.suppress(OSError):
        return base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).decode().rstrip("=")
    return ""


def source_hash(module: str) -> str:
    """Return a hash of the files of a module and of what they import; "" if it is not found, or part of wanderlust."""
    files, installed = _sources(module)
    if not files:
        return _session_hash(module) if module.partition(".")[0] != _PACKAGE else ""
    digest = hashlib.sha256("".join(f"{name} {_version(name)}\n" for name in sorted(installed)).encode())
    for name, file in sorted(files):
        try:
            digest.update(f"{name} {_contents_hash(file, *_stamp(file))}\n".encode(errors="replace"))
        except OSError as error:
            raise BadFile(f"{file}: code of {module!r} cannot be read ({error.strerror or error}).") from error
    return digest.hexdigest()


def _session_hash(module: str) -> str:
    """Return a hash of the functions and classes of a module without a file, as in a notebook; "" if it is not loaded.

    It changes when any of them is defined again, and is never that of another process.
    """
    values = list(vars(sys.modules[module]).values()) if module in sys.modules else []
    defined = [each for each in values if isinstance(each, type | FunctionType) and each.__module__ == module]
    return hashlib.sha256("".join(sorted(map(_token, defined))).encode()).hexdigest() if defined else ""


@functools.cache
def _token(_defined: type | FunctionType) -> str:
    return uuid.uuid4().hex


def source_files(module: str) -> dict[str, Path]:
    """Return the files that determine what a module does, by their name relative to a folder of `sys.path`.

    These are all files of its top-level package, or the single file of the module; those of the modules that they
    import, transitively, unless they are installed; and those named by `depends_on` in any of them.
    """
    return dict(_sources(module)[0])


@functools.cache
def git_commit(modules: tuple[str, ...]) -> str:
    """Return the commit of the repository of modules, with "-dirty" if a file of theirs differs; "" if there is none.

    Git runs only in a folder whose code the runs execute anyway: the configuration of a repository can name programs.
    """
    files = [file.resolve() for module in modules if not is_installed(module) for file in source_files(module).values()]
    if not files:
        return ""
    folder, _, commit = _git(files[0].parent, "rev-parse", "--show-toplevel", "HEAD").partition("\n")
    inside = [str(file) for file in files if commit and file.is_relative_to(Path(folder).resolve())]
    is_dirty = inside and _git(files[0].parent, "status", "--porcelain", "--ignored", "--", *inside)
    return f"{commit[:12]}-dirty" if is_dirty else commit[:12]


def _git(folder: Path, *words: str) -> str:
    """Return the output of a command of Git; "" if it fails or takes long."""
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", str(folder), *words]
    try:
        done = subprocess.run(
            command, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS_FOR_GIT
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def files_to_send(modules: Iterable[str]) -> dict[str, Path]:
    """Return the files of modules for a worker on another machine; installed packages must be installed there."""
    files = {name: file for module in modules if not is_installed(module) for name, file in _sources(module)[0]}
    return {name: file for name, file in files.items() if not name.startswith("..") and not os.path.isabs(name)}


def is_installed(module: str) -> bool:
    """Return whether a module is part of Python or of an installed distribution; an editable one is not installed."""
    top = module.partition(".")[0]
    if top not in _INSTALLED and any(map(_is_library, _locate(top))):
        _INSTALLED.add(top)
    return top in _INSTALLED


def _sources(module: str) -> tuple[set[tuple[str, Path]], set[str]]:
    """Return the names and paths of the files of a module, and the installed modules that they import."""
    top = module.partition(".")[0]
    files: set[tuple[str, Path]] = set()
    installed: set[str] = set()
    seen, pending = {top, _PACKAGE}, [top] if top != _PACKAGE else []
    while pending:
        name = pending.pop()
        if name != top and is_installed(name):
            installed.add(name)
            continue
        for place in _locate(name):
            for file in _code_files(place):
                files.add((_name(file, place), file))
                # An installed module depends on other distributions only.
                imports, declared = (frozenset[str](), ()) if _is_library(place) else _facts(file, *_stamp(file))
                files |= {(_name(file.parent / each, place), file.parent / each) for each in declared}
                pending += imports - seen
                seen |= imports
    return files, installed


def _name(file: Path, place: Path) -> str:
    # With "..", for a file of `depends_on` elsewhere: absolute paths differ between machines.
    return Path(os.path.relpath(file, place.parent)).as_posix()


@functools.cache
def _version(module: str) -> str:
    """Return the version of an installed module; "" for one of Python."""
    if module in sys.stdlib_module_names:
        return ""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(module)
    return " ".join(importlib.metadata.version(name) for name in sorted(set(_distributions().get(module, ()))))


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def _locate(top: str) -> list[Path]:
    """Return the file or the folders of a top-level module."""
    loaded = sys.modules.get(top)
    if loaded is not None:
        file, folders = getattr(loaded, "__file__", None), getattr(loaded, "__path__", None)
    else:
        try:
            # Of a name with dots, `find_spec` would import the package.
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError, AttributeError):
            return []
        if spec is None:
            return []
        file, folders = spec.origin if spec.has_location else None, spec.submodule_search_locations
    places = [Path(file)] if file and not folders else [Path(folder) for folder in folders or ()]
    # Of a module in a zip file, the zip file.
    return [next((path for path in (place, *place.parents) if path.exists()), place) for place in places]


def _is_library(place: Path) -> bool:
    """Return whether a file or folder belongs to Python or to an installed distribution."""
    return any(part in _LIBRARY_FOLDERS for part in place.parts) or place.is_relative_to(_STDLIB)


def _code_files(place: Path) -> Iterator[Path]:
    """Yield a file itself, or the files of code in a folder."""
    if not place.is_dir():
        yield place
        return
    for file in place.rglob("*"):
        if file.name.endswith(_CODE_SUFFIXES) and not file.name.startswith(".") and file.is_file():
            yield file


def _stamp(file: Path) -> tuple[int, int]:
    """Return what changes when a file is written; zeros if there is none."""
    with contextlib.suppress(OSError):
        return (stat := file.stat()).st_mtime_ns, stat.st_size
    return 0, 0


@functools.lru_cache(maxsize=4096)
def _contents_hash(file: Path, _modified: int, _size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@functools.lru_cache(maxsize=4096)
def _facts(file: Path, _modified: int, _size: int) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the top-level names that a file imports absolutely, and the files that it declares with `depends_on`."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(), ()  # Not Python, or it cannot be imported either.
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module.partition(".")[0])
    return frozenset(names), tuple(name for node in tree.body for name in _declared(file, node))


def _declared(file: Path, node: ast.stmt) -> Iterator[str]:
    """Yield the files that a statement `depends_on = [...]` names; raise `BadFile` if it has anything else."""
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if not any(isinstance(target, ast.Name) and target.id == DEPENDS_ON for target in targets):
        return
    for name in node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]:
        if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
            raise BadFile(f"{file}, line {node.lineno}: depends_on must be a list of file names in quotes.")
        if not (file.parent / name.value).is_file():
            raise BadFile(f"{file}, line {node.lineno}: depends_on names {name.value!r}, which is not a file.")
        yield name.value
