"""The settings of a run, and the tables that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from wanderlust.core.errors import (
    InvalidExplorer,
    InvalidSetting,
    check_choice,
    check_flag,
    check_integer,
    check_number,
)
from wanderlust.explorers.protocol import ExtraTables, Problem
from wanderlust.learning.spec import (
    FULL,
    MAX_UPDATES,
    NO_MEMORY,
    NO_SIGNAL,
    REWARD,
    TARGET,
    WINDOW,
    TableSpec,
)

MAX_STEPS = 10**12

_MEMORY = {"full": FULL, "none": NO_MEMORY, "window": WINDOW}


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
        check_choice("replay memory", self.memory, _MEMORY)
        check_integer("replay batch", self.batch, low=1)
        if self.capacity is not None:
            check_integer("replay capacity", self.capacity, low=1)

    @classmethod
    def of(cls, given: str | Replay) -> Replay:
        """Return the replay itself, or the one of a memory's name such as 'none'."""
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
    evaluated: str = "target"
    """The table whose greedy policy is evaluated: 'target', or 'behaviour' (of an ensemble, the first head)."""

    def __post_init__(self) -> None:
        check_number("discount", self.discount, low=0, high=1, open_high=True)
        check_number("learning_rate", self.learning_rate, low=0, high=1, open_low=True)
        object.__setattr__(self, "replay", Replay.of(self.replay))
        check_choice("initial", self.initial, ("zero", "optimistic"))
        check_number("gamma_w", self.gamma_w, low=0, high=1, open_high=True)
        check_number("epsilon_start", self.epsilon_start, low=0, high=1)
        check_number("epsilon_end", self.epsilon_end, low=0, high=1)
        check_flag("plain_sweeps", self.plain_sweeps)
        check_integer("sweeps", self.sweeps, low=1, high=MAX_UPDATES)
        if self.sweeps > 1 and self.replay.memory != "full":
            raise InvalidSetting(
                f"sweeps={self.sweeps} needs full memory; with replay {self.replay.memory!r} it must be 1."
            )
        check_choice("evaluated", self.evaluated, ("target", "behaviour"))
        for name in ("horizon", "budget", "evaluate_every"):
            check_integer(name, getattr(self, name), low=1, high=MAX_STEPS)
        for name in ("steps", "evaluation_horizon"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), low=1, high=MAX_STEPS)

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
        except (TypeError, ValueError):
            raise InvalidSetting(
                f"reward_range must be two numbers, the smallest and the largest reward, got {reward_range!r}."
            ) from None
        low = check_number("the smallest reward of reward_range", low)
        high = check_number("the largest reward of reward_range", high, low=low)
        return Problem(
            n_actions=check_integer("n_actions", n_actions, low=1),
            reward_range=(low, high),
            discount=self.discount,
            gamma_w=self.gamma_w,
            budget=self.budget,
            epsilon_start=self.epsilon_start,
            epsilon_end=self.epsilon_end,
        )


SETTING_NAMES = tuple(f.name for f in fields(Settings))


def make_spec(explorer: Any, problem: Problem, settings: Settings, *, learns_q: bool = True) -> tuple[TableSpec, float]:
    """Return the tables of an explorer, and the standard deviation of the noise on its heads' initial values."""
    extra = explorer.extra_tables()
    if not isinstance(extra, ExtraTables):
        raise InvalidExplorer(f"{type(explorer).__name__}.extra_tables must return ExtraTables, got {extra!r}.")
    replay, ensemble, visitation = settings.replay, extra.ensemble, extra.visitation
    initial_q = problem.value_range if settings.initial == "optimistic" else 0.0
    has_bonus = extra.bonus and learns_q
    bonus_signal = REWARD + 1 if has_bonus else NO_SIGNAL
    visitation_signal = max(REWARD, bonus_signal) + 1 if visitation else NO_SIGNAL
    # (signal, discount, minimise, initial) of each table; see TableSpec for their order.
    tables: list[tuple[int, float, bool, float]] = [(REWARD, settings.discount, False, 0.0)]
    if has_bonus:
        tables.append((bonus_signal, settings.discount, False, initial_q))
    elif ensemble is None and learns_q and (initial_q != 0.0 or settings.plain_sweeps):
        tables.append((REWARD, settings.discount, False, initial_q))
    behaviour = len(tables) - 1
    if visitation:
        tables.append((visitation_signal, visitation.discount, visitation.minimise, visitation.initial))
    n_swept, heads = len(tables), ensemble.heads if ensemble else 0
    behaviour_or_head = n_swept if ensemble else behaviour
    tables += [(REWARD, settings.discount, False, initial_q)] * heads
    signal, discount, minimise, initial = zip(*tables, strict=True)
    spec = TableSpec(
        n_actions=problem.n_actions,
        learning_rate=float(settings.learning_rate),
        memory=_MEMORY[replay.memory],
        batch_size=ensemble.batch if ensemble and replay.memory == "full" else replay.batch,
        capacity=(replay.capacity or 20 * settings.horizon) if replay.memory == "window" else 0,
        n_swept=n_swept,
        n_heads=heads,
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
        signal=np.array(signal, np.int64),
        discount=np.array(discount, np.float64),
        minimise=np.array(minimise, np.bool_),
        initial=np.array(initial, np.float64),
    )
    return spec, float(ensemble.noise) if ensemble else 0.0
