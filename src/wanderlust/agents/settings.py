"""The settings of a run, presets of them, and the tables that follow from them.

A preset is a named set of settings and options:

* `as_written` follows the paper's text. All defaults are those of the text.
* `as_published_code` has the values of the code that the authors released, where it differs from the text;
  docs/deviations.md lists each with its reason.
* `adaptive` starts like `as_written` and adapts to the task during training; see `wanderlust.training.adaptive`. It
  works in environments and on their models.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from wanderlust.core.errors import (
    InvalidExplorer,
    InvalidSetting,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    check_options,
    shown,
)
from wanderlust.explorers.formulas import untried_ucb
from wanderlust.explorers.protocol import ExtraTables, Problem, explorer_class, explorer_name, option_names
from wanderlust.learning.td import FULL, MAX_UPDATES, NO_MEMORY, NO_SIGNAL, REWARD, TARGET, WINDOW, TableSpec
from wanderlust.worlds import World

__all__ = ["WORLD_PRESETS", "Replay", "Settings"]

MAX_EPISODES = 10**6
"""Of one evaluation."""
MAX_STEPS = 10**12
MAX_ACTIONS = 1_000_000
"""The maximum number of actions."""
MAX_HEADS = 10_000
"""The maximum number of heads of an ensemble."""
MAX_TABLE_ACTIONS = 2**22
"""The maximum product of tables and actions; the first states of a learner then need about 3 GB."""
MAX_VALUE = 1e150
"""The maximum Q-value: the square of a larger one may not be finite."""

MAX_STORED = 2**31 - 1
"""The maximum number of transitions in a replay memory, and of its minibatches: indices have 32 bits."""

_MEMORY = {"full": FULL, "none": NO_MEMORY, "window": WINDOW}


def _store(instance: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass while it is created: the values as plain numbers, which JSON can represent."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


@dataclass(frozen=True)
class Replay:
    """The replay memory, and how much of it is replayed at every step."""

    memory: str = "full"
    """'full': every step sweeps over all transitions. 'none': only the current transition is used. 'window': a
    minibatch of the latest transitions."""
    capacity: int | None = None
    """The number of transitions in a window; 20 times the horizon if not given."""
    batch: int = 32
    """The minibatch size of a window."""

    def __post_init__(self) -> None:
        _store(self, memory=check_choice("replay memory", self.memory, _MEMORY))
        _store(self, batch=check_integer("replay batch", self.batch, low=1, high=MAX_STORED))
        if self.capacity is not None:
            _store(self, capacity=check_integer("replay capacity", self.capacity, low=1, high=MAX_STORED))

    @classmethod
    def of(cls, given: str | Mapping[str, Any] | Replay) -> Replay:
        """Return the replay itself, the one of a memory's name such as 'none', or the one with the given fields."""
        if isinstance(given, Mapping):
            check_options("replay", given, (each.name for each in fields(cls)))
            return cls(**given)
        return given if isinstance(given, Replay) else cls(check_choice("replay", given, _MEMORY))


@dataclass(frozen=True)
class Settings:
    """How an agent learns and is evaluated: everything but the world, the explorer's options and the seed."""

    discount: float = 0.99
    """γ of Q."""
    learning_rate: float = 0.5
    """η of every table."""
    replay: Replay = field(default_factory=Replay)
    initial: str = "zero"
    """Initial Q of the behaviour: 'zero', or 'optimistic', r_max / (1 - γ). Q of the target policy starts at zero."""
    gamma_w: float = 0.99
    """γ_w, the discount of W."""
    horizon: int = 1000
    """The number of steps after which an episode is truncated."""
    budget: int = 100_000
    """The number of steps over which ε decays; also the length of a run, unless `steps` is given."""
    steps: int | None = None
    """The length of a run; the budget if not given."""
    epsilon_start: float = 1.0
    epsilon_end: float = 0.1
    evaluate_every: int = 50
    """The number of steps between evaluations of the greedy policy."""
    evaluation_horizon: int | None = None
    """The number of steps after which an evaluation is truncated; 10 % more than the horizon if not given."""
    plain_sweeps: bool = False
    """Whether every sweep updates every pair of every table, without the shortcuts that give the same bits faster."""
    sweeps: int = 1
    """The number of sweeps over a full memory per step. The paper has one; with more, new values propagate at once.
    They are limited to 100,000 pairs, and to one sweep once an action had several outcomes."""
    sweep_pairs: int | None = None
    """The number of state-action pairs that a sweep updates at most; a larger table is swept in blocks, one per step.
    All if not given."""
    evaluated: str = "target"
    """The table whose greedy policy is evaluated: 'target', or 'behaviour' (of an ensemble, the first head)."""

    def __post_init__(self) -> None:
        for name in ("discount", "gamma_w"):
            _store(self, **{name: check_number(name, getattr(self, name), low=0, high=1, open_high=True)})
        for name in ("epsilon_start", "epsilon_end"):
            _store(self, **{name: check_number(name, getattr(self, name), low=0, high=1)})
        for name in ("horizon", "budget", "evaluate_every", "steps", "evaluation_horizon", "sweep_pairs"):
            if getattr(self, name) is not None or name not in ("steps", "evaluation_horizon", "sweep_pairs"):
                _store(self, **{name: check_integer(name, getattr(self, name), low=1, high=MAX_STEPS)})
        _store(
            self,
            learning_rate=check_number("learning_rate", self.learning_rate, low=0, high=1, open_low=True),
            replay=Replay.of(self.replay),
            initial=check_choice("initial", self.initial, ("zero", "optimistic")),
            plain_sweeps=check_flag("plain_sweeps", self.plain_sweeps),
            sweeps=check_integer("sweeps", self.sweeps, low=1, high=MAX_UPDATES),
            evaluated=check_choice("evaluated", self.evaluated, ("target", "behaviour")),
        )
        if self.sweeps > 1 and self.replay.memory != "full":
            raise InvalidSetting(
                f"sweeps={self.sweeps} needs full memory; with replay {self.replay.memory!r} it must be 1."
            )

    @property
    def run_length(self) -> int:
        """The number of steps of a run."""
        return self.steps if self.steps is not None else self.budget

    @property
    def rollout_length(self) -> int:
        """The number of steps after which an evaluation is truncated (Appendix A: 10 % more than the horizon)."""
        return self.evaluation_horizon if self.evaluation_horizon is not None else round(1.1 * self.horizon)

    def problem(self, n_actions: int, reward_range: tuple[float, float]) -> Problem:
        """Return what the explorer knows of the task."""
        try:
            low, high = reward_range
        except Exception:  # Any object that is not a pair.
            raise InvalidSetting(
                f"reward_range must be two numbers, the smallest and the largest reward, got {shown(reward_range)}."
            ) from None
        low = check_number("the smallest reward of reward_range", low)
        high = check_number("the largest reward of reward_range", high, low=low)
        problem = Problem(
            n_actions=check_integer("n_actions", n_actions, low=1, high=MAX_ACTIONS),
            reward_range=(low, high),
            discount=self.discount,
            gamma_w=self.gamma_w,
            budget=self.budget,
            epsilon_start=self.epsilon_start,
            epsilon_end=self.epsilon_end,
        )
        # Values are sums of discounted rewards; their square is computed by some explorers.
        if not problem.value_range < MAX_VALUE or max(-low, high) >= MAX_VALUE:
            raise InvalidSetting(
                f"reward_range must not be larger than {MAX_VALUE:g} * (1 - discount), got {shown(reward_range)}."
            )
        return problem


@contextlib.contextmanager
def sufficient_memory(spec: TableSpec) -> Iterator[None]:
    """Turn a `MemoryError` into `InvalidSetting`, with what makes the tables of a learner large."""
    try:
        yield
    except MemoryError:
        raise InvalidSetting(
            f"the tables do not fit into memory: {len(spec.signal):,} tables, {spec.n_actions:,} actions, replay "
            f"capacity {spec.capacity:,}, batch {spec.batch_size:,}; use fewer states, actions or heads, or a smaller "
            "replay."
        ) from None


SETTING_NAMES = tuple(f.name for f in fields(Settings))


def _check_own_tables(explorer: Any, extra: ExtraTables, replay: Replay) -> None:
    """Raise an error if an explorer combines its own tables with others, or plans without a full memory."""
    if extra.own is None:
        return
    if extra.bonus or extra.visitation or extra.ensemble or not extra.own.initial:
        raise InvalidExplorer(
            f"{type(explorer).__name__}.extra_tables: `own` needs at least one initial value, and cannot be combined "
            "with bonus, visitation or ensemble."
        )
    if extra.own.plans and replay.memory != "full":
        raise InvalidSetting(
            f"{type(explorer).__name__} plans with every transition that it has observed; use replay='full' instead of "
            f"{replay.memory!r}."
        )


def split_changes(
    explorer: str | type, changes: Mapping[str, Any], settings: Settings | None = None
) -> tuple[Settings, dict[str, Any]]:
    """Return the settings and the explorer's options that keyword arguments give; an unknown name is an error.

    Without `settings` a name that is both, such as γ_w, is the setting, which the option's default follows.
    """
    name, of_explorer = explorer_name(explorer_class(explorer)), option_names(explorer)
    check_options(f"a run of explorer {name!r}", changes, [*of_explorer, *SETTING_NAMES])
    if not isinstance(settings, Settings | None):
        raise InvalidSetting(f"settings must be a wanderlust.Settings, got {shown(settings)}.")
    is_option = (set(of_explorer) - set(SETTING_NAMES) if settings is None else of_explorer).__contains__
    options = {name: value for name, value in changes.items() if is_option(name)}
    return replace(settings or Settings(), **{n: v for n, v in changes.items() if n not in options}), options


def make_spec(explorer: Any, problem: Problem, settings: Settings, *, learns_q: bool = True) -> tuple[TableSpec, float]:
    """Return the tables of an explorer, and the standard deviation of the noise on its heads' initial values."""
    extra = explorer.extra_tables()
    if not isinstance(extra, ExtraTables):
        raise InvalidExplorer(f"{type(explorer).__name__}.extra_tables must return ExtraTables, got {shown(extra)}.")
    if extra.ensemble is not None:
        check_integer("heads", extra.ensemble.heads, low=1, high=MAX_HEADS)
        check_integer("batch", extra.ensemble.batch, low=1, high=MAX_STORED)
    replay, ensemble, visitation, own = settings.replay, extra.ensemble, extra.visitation, extra.own
    _check_own_tables(explorer, extra, replay)
    capacity = (replay.capacity or 20 * settings.horizon) if replay.memory == "window" else 0
    if capacity > MAX_STORED:
        raise InvalidSetting(f"horizon={settings.horizon:,} needs a window of {capacity:,}; set Replay(capacity=...).")
    initial_q = problem.value_range if settings.initial == "optimistic" or extra.optimistic else 0.0
    has_bonus = extra.bonus and learns_q
    bonus_signal = REWARD + 1 if has_bonus else NO_SIGNAL
    visitation_signal = max(REWARD, bonus_signal) + 1 if visitation else NO_SIGNAL
    # (signal, discount, minimise, initial) of each table; see TableSpec for their order.
    tables: list[tuple[int, float, bool, float]] = [(REWARD, settings.discount, False, 0.0)]
    if has_bonus:
        tables.append((bonus_signal, settings.discount, False, initial_q))
    elif ensemble is None and own is None and learns_q and (initial_q != 0.0 or settings.plain_sweeps):
        tables.append((REWARD, settings.discount, False, initial_q))
    behaviour = len(tables) - 1
    if visitation:
        tables.append((visitation_signal, visitation.discount, visitation.minimise, visitation.initial))
    n_swept, heads = len(tables), ensemble.heads if ensemble else 0
    behaviour_or_head = n_swept if ensemble else behaviour
    tables += [(REWARD, settings.discount, False, initial_q)] * heads
    if own is not None:
        if own.is_q:
            behaviour = behaviour_or_head = n_swept
        tables += [(REWARD, settings.discount, False, float(initial)) for initial in own.initial]
    if len(tables) * problem.n_actions > MAX_TABLE_ACTIONS:
        raise InvalidSetting(
            f"heads={heads:,} with {problem.n_actions:,} actions is too large: tables × actions must be at most "
            f"{MAX_TABLE_ACTIONS:,}."
        )
    signal, discount, minimise, initial = zip(*tables, strict=True)
    spec = TableSpec(
        n_actions=problem.n_actions,
        learning_rate=float(settings.learning_rate),
        memory=_MEMORY[replay.memory],
        batch_size=ensemble.batch if ensemble and replay.memory == "full" else replay.batch,
        capacity=capacity,
        n_swept=n_swept,
        n_heads=heads,
        own=n_swept if own else 0,
        n_own=len(own.initial) if own else 0,
        own_signal=REWARD + 1 if own and own.outcome_numbers else NO_SIGNAL,
        prior_weight=float(ensemble.prior_weight) if ensemble else 0.0,
        behaviour=behaviour,
        evaluated=behaviour_or_head if settings.evaluated == "behaviour" else TARGET,
        visitation=n_swept - 1 if visitation else 0,
        bonus_signal=bonus_signal,
        visitation_signal=visitation_signal,
        uses_max_visits=bool(visitation and visitation.uses_max_visits),
        learns_q=learns_q,
        plain_sweeps=settings.plain_sweeps,
        sweeps=settings.sweeps,
        sweep_pairs=0 if settings.sweep_pairs is None else max(settings.sweep_pairs, problem.n_actions),
        signal=np.array(signal, np.int64),
        discount=np.array(discount, np.float64),
        minimise=np.array(minimise, np.bool_),
        initial=np.array(initial, np.float64),
    )
    return spec, float(ensemble.noise) if ensemble else 0.0


AS_WRITTEN, AS_PUBLISHED_CODE, ADAPTIVE = "as_written", "as_published_code", "adaptive"
WORLD_PRESETS = (AS_WRITTEN, AS_PUBLISHED_CODE)
"""The presets of runs in built-in worlds."""
PRESETS = (*WORLD_PRESETS, ADAPTIVE)
"""All presets; `adaptive` starts with the settings of `as_written`, which are the defaults."""
LEARN_OPTIONS = ("action_masks", "remove_time_penalty")
"""The options of `learn` that are neither settings nor options of an explorer."""


def as_published_code(run: Settings, explorer: str, n_actions: int) -> dict[str, Any]:
    """Return the settings and options in which the released code differs from the text, for a run as given."""
    changes: dict[str, Any] = {"steps": max(run.budget - 1, 1), "evaluation_horizon": run.horizon}
    if explorer == "ucb1":
        # The coefficient and the bound changed places in a call.
        changes["kappa"] = untried_ucb(n_actions, 1.0, counts_itself=True)
        changes["untried_value"] = untried_ucb(n_actions, 1.0, counts_itself=False)
    if explorer == "vv-ucb":
        changes["initial_margin"] = 2e-8
    if explorer == "vv-count":
        changes["terminal_count"] = "largest"
    if explorer == "thompson":
        changes["draw"] = "action"
    if run.replay.memory == "none" and explorer in ("bonus", "thompson"):
        changes["evaluated"] = "behaviour"
    return changes


def resolve(
    world: World, explorer: str | type, preset: str, changes: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """Return the settings of a run and the explorer's options: the world's, the preset's, then the caller's changes."""
    if isinstance(preset, str) and preset == ADAPTIVE:
        raise InvalidSetting(
            "preset 'adaptive' works in `wl.learn`, `wl.Run.of_model` and with --exact; a run in a world has "
            "'as_written' and 'as_published_code'."
        )
    check_choice("preset", preset, WORLD_PRESETS)
    return resolve_settings(world_settings(world), world.n_actions, explorer, preset, changes)


def world_settings(world: World) -> dict[str, Any]:
    """Return the settings that a world comes with."""
    return {f.name: getattr(world.defaults, f.name) for f in fields(world.defaults) if f.name in SETTING_NAMES}


def resolve_settings(
    defaults: Mapping[str, Any], n_actions: int, explorer: str | type, preset: str, changes: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """Return settings and options of the explorer: the defaults, those of the preset, then the caller's changes."""
    run = {**defaults, **changes}
    settings, _ = split_changes(explorer, run)
    if check_choice("preset", preset, PRESETS) == AS_PUBLISHED_CODE:
        run |= {**as_published_code(settings, explorer_name(explorer_class(explorer)), n_actions), **changes}
    return split_changes(explorer, run)
