"""A run: the atom of every experiment.

A `Run` says all that matters: world, explorer, their options, settings, preset and seed. Its result is a pure function
of it, so that two computers, or one and the same tomorrow, agree to the last bit. A run is written as one line of
JSON, and a hash of that line, its `key`, is the name under which the result is kept.

Usually it is one of our worlds that is trained in, in one compiled loop. With `kind="environment"` it is any Gymnasium
environment; see `wanderlust.experiments.environment_run`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from wanderlust.agents.presets import PRESETS
from wanderlust.core.errors import InvalidSetting, WanderlustError, check_choice, check_integer, check_options
from wanderlust.experiments.result import Result as Result

MATHEMATICS = 2
"""Raise this by one when some run would give another result than before, or when the form of stored files changes:
what was stored earlier is then left alone, and made anew when it is asked for."""

PRACTICE = 4
"""The same for runs in any environment alone, which also follow what `wanderlust.training.adaptive` says."""

UNTIL = ("budget", "positive-return")
MEASURES = ("returns", "values")
KINDS = ("world", "environment")

_KEY_LENGTH = 24
_PIECE = 10_000
"""Steps between two looks at whether the run was called off: a second or so at the slowest."""

Options = Mapping[str, Any]


class Stopped(Exception):
    """A run was called off before its end."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """Everything that decides what comes of a training; two runs are equal if they are described alike."""

    world: str
    """A registered name, or with the option `map` the name to give that map."""
    explorer: str
    """A registered name, or `module:Class`."""
    seed: int = 0
    preset: str = "as_written"
    """'as_written', the paper's text, or 'as_published_code', which made its numbers."""
    world_options: Options = field(default_factory=dict)
    explorer_options: Options = field(default_factory=dict)
    settings: Options = field(default_factory=dict)
    """Changes to `Settings`; a `replay` is a word or a table of its fields."""
    until: str = "budget"
    """When the run ends: 'budget', or 'positive-return': after the first evaluation with a return above zero."""
    measure: str = "returns"
    """'returns', or 'values': in a stochastic world, the greedy policy of every single step is solved as well."""
    kind: str = "world"
    """What `world` is: a 'world' of ours, or an 'environment' of Gymnasium's or the user's."""
    encoder_options: Options = field(default_factory=dict)
    """What tells the states and actions of an environment; see `wanderlust.envs.by_name`."""
    episodes: int = 10
    """Over how many episodes the greedy policy is evaluated in an environment."""

    def __post_init__(self) -> None:
        for name in ("world", "explorer"):
            if not isinstance(getattr(self, name), str):
                raise InvalidSetting(f"the {name} of a run is named by a string, got {getattr(self, name)!r}.")
        if self.world.endswith((".toml", ".txt")):
            raise InvalidSetting(
                f"a run cannot depend on the file {self.world!r}, which may change: "
                "give the map's text as the world's option `map`."
            )
        check_integer("seed", self.seed, low=0)
        check_choice("preset", self.preset, PRESETS)
        check_choice("until", self.until, UNTIL)
        check_choice("measure", self.measure, MEASURES)
        check_choice("kind", self.kind, KINDS)
        check_integer("episodes", self.episodes, low=1)
        for name in ("world_options", "explorer_options", "settings", "encoder_options"):
            object.__setattr__(self, name, _plain_options(name, getattr(self, name)))
        self._check_fields_of_kind()

    def __hash__(self) -> int:
        return hash(self.json)

    def __reduce__(self) -> tuple[Callable[[str], Run], tuple[str]]:
        return Run.from_json, (self.json,)

    @property
    def description(self) -> dict[str, Any]:
        """All fields as plain values, those with their usual value left out."""
        found: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            usual = each.default
            if isinstance(value, Mapping):
                value, usual = dict(value), {}
            if value != usual:
                found[each.name] = value
        return found

    @property
    def json(self) -> str:
        """The run as one line, always the same for the same run."""
        return json.dumps(self.description, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Run:
        """Return the run that `json` wrote."""
        try:
            found = json.loads(text)
        except ValueError as error:
            raise InvalidSetting(f"a run is described by JSON, got {text!r} ({error}).") from None
        if not isinstance(found, dict):
            raise InvalidSetting(f"a run is described by a JSON object, got {text!r}.")
        check_options("a run", found, (each.name for each in fields(cls)))
        for name in ("world", "explorer"):
            if name not in found:
                raise InvalidSetting(f"a run needs the field {name!r}, got {text!r}.")
        return cls(**found)

    @functools.cached_property
    def key(self) -> str:
        """The name of the result: a hash of the description, of the mathematics, and of an explorer's own code."""
        parts = (self.json, str(MATHEMATICS), _foreign_code(self.explorer), *self._environment_code())
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_KEY_LENGTH]

    @property
    def command(self) -> str:
        """The line that repeats this run in a shell."""
        return f"wanderlust run {shlex.quote(self.json)}"

    def train(self, stopped: Callable[[], bool] = lambda: False, *, steps: int | None = None) -> Result:
        """Carry it out. `stopped` is asked now and then whether to give up; `steps` ends it early, for a trial."""
        if self.kind == "environment":
            from wanderlust.experiments.environment_run import train_in_environment

            return train_in_environment(self, stopped, steps=steps)
        from wanderlust.agents.session import Session
        from wanderlust.agents.settings import Settings
        from wanderlust.experiments.value_measures import value_measures
        from wanderlust.worlds import make_world

        world = make_world(self.world, **self.world_options)
        changes = self.changes
        every = int(changes.get("evaluate_every", Settings.evaluate_every))
        by_step = self.measure == "values"
        if by_step:
            changes["evaluate_every"] = 1
        session = Session(world, self.explorer, seed=self.seed, preset=self.preset, keep_trajectory=by_step, **changes)
        if self.measure == "values" or self.until != "budget":
            self._check_kind(deterministic=bool(world.mdp.deterministic))
        end = session.settings.run_length if steps is None else min(steps, session.settings.run_length)
        piece = every if self.until == "positive-return" else _PIECE
        while session.step < end:
            if stopped():
                raise Stopped
            session.advance(min(session.step + piece, end))
            evaluated = session.step // every
            if self.until == "positive-return" and evaluated and session.run_state.returns[evaluated - 1] > 0.0:
                break
        record = session.record()
        best, reachable = _facts(self.world, json.dumps(dict(self.world_options)), session.settings.discount)
        kept = slice(every - 1, None, every) if by_step else slice(None)
        return Result(
            steps=record.steps[kept],
            returns=record.returns[kept],
            discovered=record.discovered[kept],
            visits=record.visits,
            first_visit=record.first_visit,
            optimal_return=np.float64(best) + np.zeros(()),
            reachable=np.zeros((), np.int64) + reachable,
            **(value_measures(record, world.mdp) if by_step else {}),
        )

    @property
    def changes(self) -> dict[str, Any]:
        """Settings and the explorer's options together, as `train` and `learn` take them."""
        from wanderlust.agents.settings import Replay

        changes = dict(self.settings)
        if isinstance(changes.get("replay"), Mapping):
            check_options("replay", changes["replay"], (each.name for each in fields(Replay)))
            changes["replay"] = Replay(**changes["replay"])
        twice = changes.keys() & self.explorer_options.keys()
        if twice:
            raise InvalidSetting(f"{', '.join(sorted(twice))}: given as a setting and as an option of the explorer.")
        return changes | dict(self.explorer_options)

    def _check_fields_of_kind(self) -> None:
        """Refuse what would be ignored."""
        not_for = {
            "world": ("encoder_options", "episodes"),
            "environment": ("preset", "until", "measure"),
        }
        for name in not_for[self.kind]:
            if name in self.description:
                raise InvalidSetting(f"{name} is not for a run of the kind {self.kind!r}, got {getattr(self, name)!r}.")

    def _environment_code(self) -> tuple[str, ...]:
        """Return what tells runs in an environment apart: our defaults, and a hash of each of the user's own files."""
        if self.kind == "world":
            return ()
        from wanderlust.envs.by_name import module_of

        names = [self.world, str(self.encoder_options.get("key", ""))]
        own = [_code_of_module(module) for module in map(module_of, names) if module is not None]
        return (f"practice {PRACTICE}", *own)

    def _check_kind(self, *, deterministic: bool) -> None:
        if self.measure == "values" and deterministic:
            raise InvalidSetting(f"measure='values' is for stochastic worlds; {self.world!r} is deterministic.")
        if self.until != "budget" and not deterministic:
            raise InvalidSetting(f"until={self.until!r} is for deterministic worlds; {self.world!r} is stochastic.")


@functools.lru_cache(maxsize=256)
def _facts(world: str, options: str, discount: float) -> tuple[float, int]:
    """Return the best return from the start, and how many states can be reached."""
    from wanderlust.core.planning import optimal_values, reachable_states
    from wanderlust.worlds import make_world

    mdp = make_world(world, **json.loads(options)).mdp
    return float(mdp.start @ optimal_values(mdp, discount).v), int(reachable_states(mdp).sum())


def _foreign_code(explorer: str) -> str:
    """Return a hash of the file of an explorer that is not the package's own: edited, it is another explorer."""
    from wanderlust.explorers.registry import explorer_class

    try:
        cls = explorer_class(explorer)
        file = inspect.getsourcefile(cls)
    except (WanderlustError, TypeError, OSError):
        return ""
    if file is None or cls.__module__.partition(".")[0] == "wanderlust":
        return ""
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _code_of_module(name: str) -> str:
    """Return a hash of a module's file, which is not imported for that."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return ""
    if found is None or found.origin is None or not found.has_location:
        return ""
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()


def _plain_options(name: str, given: Any) -> Options:
    """Return options as JSON has them, so that a run and its copy from a file are equal."""
    if not isinstance(given, Mapping):
        raise InvalidSetting(f"{name} must be a table of names and values, got {given!r}.")
    try:
        plain = json.loads(json.dumps(dict(given), default=_plain_value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InvalidSetting(
            f"{name} must be numbers, texts, lists or tables of these, got {given!r} ({error})."
        ) from None
    return MappingProxyType(plain)


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
