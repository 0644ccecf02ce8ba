"""A run: one training with one seed, the unit of every experiment.

A `Run` holds everything that determines the result: world, explorer, their options, settings, preset and seed. The
same run gives the same result, bit for bit, on every machine. A run is serialised as one line of JSON; a hash of that
line, its `key`, names the file of its result.

By default a run trains in a built-in world, in one compiled loop. With `kind="environment"` it trains in any Gymnasium
environment; see `wanderlust.experiments.environment_run`. With `kind="model"` it trains in the compiled loop on the
environment's transition table; see `wanderlust.experiments.model_run`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from wanderlust.core.errors import InvalidSetting, check_choice, check_integer, check_options
from wanderlust.experiments.code_version import source_hash
from wanderlust.experiments.plain_options import Options, plain_options
from wanderlust.experiments.result import Result as Result

ALGORITHM_VERSION = 2
"""Increase this when the result of any run changes, or when the format of stored files changes. Results stored with
another version are ignored, and their runs are executed again when requested."""

ADAPTIVE_VERSION = 7
"""The same for runs with `kind="environment"`, whose defaults come from `wanderlust.training.adaptive`, and for runs
with `kind="model"` and the preset 'adaptive'."""

UNTIL = ("budget", "positive-return")
MEASURES = ("returns", "values", "exam")
KINDS = ("world", "environment", "model")

_KEY_LENGTH = 24
_STEPS_PER_CHUNK = 10_000
"""Steps between two checks for cancellation: about one second for the slowest explorers."""


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
    """'returns'; 'values': in a stochastic world also V^π of the greedy policy after every step, on a model discounted
    returns; 'exam': exact returns at a few steps of a world, see `wanderlust.experiments.exact_returns`."""
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
        check_choice("measure", self.measure, MEASURES)
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
        from wanderlust.experiments.model_run import hash_of_model

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
        # Part of the hash of every stored run: this word cannot change.
        environment = (f"practice {ADAPTIVE_VERSION}", *code[1:]) if adapts else ()
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
            from wanderlust.experiments.model_run import train_on_model

            return train_on_model(self, should_stop, steps=steps)
        from wanderlust.agents.session import Session
        from wanderlust.agents.settings import Settings
        from wanderlust.experiments.value_measures import value_measures
        from wanderlust.worlds import make_world

        world, options = make_world(self.world, **self.world_options), self.overrides
        if self.measure == "exam":
            from wanderlust.experiments.exact_returns import take_exam

            return take_exam(self, world, options, should_stop, steps)
        every = check_integer("evaluate_every", options.get("evaluate_every", Settings.evaluate_every), low=1)
        by_step = self.measure == "values"
        if by_step:
            options["evaluate_every"] = 1
        session = Session(world, self.explorer, seed=self.seed, preset=self.preset, keep_trajectory=by_step, **options)
        if self.measure == "values" or self.until != "budget":
            self._check_world(deterministic=bool(world.mdp.deterministic))
        end = session.settings.run_length if steps is None else min(steps, session.settings.run_length)
        chunk = every if self.until == "positive-return" else _STEPS_PER_CHUNK
        while session.step < end:
            if should_stop():
                raise RunCancelled
            session.advance(min(session.step + chunk, end))
            evaluated = session.step // every
            if self.until == "positive-return" and evaluated and session.run_state.returns[evaluated - 1] > 0.0:
                break
        record = session.record()
        optimal_return, n_reachable = optimum_and_reachable(self, session.settings.discount)
        evaluations = slice(every - 1, None, every) if by_step else slice(None)
        return Result(
            steps=record.steps[evaluations],
            returns=record.returns[evaluations],
            discovered=record.discovered[evaluations],
            visits=record.visits,
            first_visit=record.first_visit,
            optimal_return=np.float64(optimal_return) + np.zeros(()),
            reachable=np.zeros((), np.int64) + n_reachable,
            **(value_measures(record, world.mdp) if by_step else {}),
        )

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
            "environment": ("until", "model", "measure"),
            "model": ("encoder_options", "episodes", "env_version", "until"),
        }
        if self.kind == "model":
            if not self.model:
                raise InvalidSetting("a run with kind='model' needs a hash of the model: create it with Run.of_model.")
            check_choice("measure on a model", self.measure, ("returns", "values"))
        for name in unused[self.kind]:
            if name in self.description:
                raise InvalidSetting(f"{name} cannot be set with kind={self.kind!r}, got {getattr(self, name)!r}.")

    def _check_world(self, *, deterministic: bool) -> None:
        if self.measure == "values" and deterministic:
            raise InvalidSetting(f"measure='values' is for stochastic worlds; {self.world!r} is deterministic.")
        if self.until != "budget" and not deterministic:
            raise InvalidSetting(f"until={self.until!r} is for deterministic worlds; {self.world!r} is stochastic.")


def optimum_and_reachable(run: Run, discount: float) -> tuple[float, int]:
    """Return the optimal return from the start of a run's world, and the number of its reachable states."""
    return _optimum_and_reachable(run.world, json.dumps(dict(run.world_options)), discount)


@functools.lru_cache(maxsize=256)
def _optimum_and_reachable(world: str, options: str, discount: float) -> tuple[float, int]:
    """Return the optimal return from the start, and the number of reachable states."""
    from wanderlust.core.planning import optimal_values, reachable_states
    from wanderlust.worlds import make_world

    mdp = make_world(world, **json.loads(options)).mdp
    return float(mdp.start @ optimal_values(mdp, discount).v), int(reachable_states(mdp).sum())
