"""How an agent learns, in a user's words, and the spec that follows from it."""

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
from wanderlust.learning.state import FULL, MAX_MOVES, NO_MEMORY, ROW_REWARD, TARGET, WINDOW, TableSpec

MAX_STEPS = 10**12

_MEMORY = {"full": FULL, "none": NO_MEMORY, "window": WINDOW}


@dataclass(frozen=True)
class Replay:
    """What is remembered, and how much of it every step replays."""

    memory: str = "full"
    """'full': every step sweeps over all that was ever seen. 'none': only the current transition. 'window': a
    minibatch of the
    latest transitions."""
    capacity: int | None = None
    """How many transitions a window holds; 20 times the horizon if not given."""
    batch: int = 32
    """How many transitions of a window every step replays."""

    def __post_init__(self) -> None:
        check_choice("replay memory", self.memory, _MEMORY)
        check_integer("replay batch", self.batch, low=1)
        if self.capacity is not None:
            check_integer("replay capacity", self.capacity, low=1)

    @classmethod
    def of(cls, given: str | Replay) -> Replay:
        """Return the replay itself, or the one that a word such as 'none' names."""
        return given if isinstance(given, Replay) else cls(check_choice("replay", given, _MEMORY))


@dataclass(frozen=True)
class Settings:
    """How an agent learns and is evaluated: everything but the world, the explorer's own options and the seed."""

    discount: float = 0.99
    """γ of Q."""
    learning_rate: float = 0.5
    """η of every table."""
    replay: Replay = field(default_factory=Replay)
    initial: str = "zero"
    """What the behaviour's Q starts at: 'zero', or 'optimistic', r_max / (1 - γ). The target's Q starts at zero."""
    gamma_w: float = 0.99
    """γ_w of W, unless the explorer's option of that name says otherwise."""
    horizon: int = 1000
    """After how many steps an episode is cut off."""
    budget: int = 100_000
    """Over how many steps ε decays; also how long a run is, unless `steps` says otherwise."""
    steps: int | None = None
    """How long a run is; the budget if not given."""
    epsilon_start: float = 1.0
    epsilon_end: float = 0.1
    evaluate_every: int = 50
    """The greedy policy is evaluated after every so many steps."""
    evaluation_horizon: int | None = None
    """After how many steps an evaluation is cut off; 10 % more than the horizon if not given."""
    plain_sweeps: bool = False
    """Whether every sweep goes over every pair of every table, without the shortcuts that give the same bits faster."""
    sweeps: int = 1
    """How many sweeps over a full memory follow every step. With more than the paper's one, what is new spreads at
    once. They are fewer where they would move more than 100,000 pairs, and one once an action had several outcomes."""
    evaluated: str = "target"
    """Which table's greedy policy is evaluated: 'target', or 'behaviour' (of an ensemble, the first head)."""

    def __post_init__(self) -> None:
        check_number("discount", self.discount, low=0, high=1, open_high=True)
        check_number("learning_rate", self.learning_rate, low=0, high=1, open_low=True)
        object.__setattr__(self, "replay", Replay.of(self.replay))
        check_choice("initial", self.initial, ("zero", "optimistic"))
        check_number("gamma_w", self.gamma_w, low=0, high=1, open_high=True)
        check_number("epsilon_start", self.epsilon_start, low=0, high=1)
        check_number("epsilon_end", self.epsilon_end, low=0, high=1)
        check_flag("plain_sweeps", self.plain_sweeps)
        check_integer("sweeps", self.sweeps, low=1, high=MAX_MOVES)
        if self.sweeps > 1 and self.replay.memory != "full":
            raise InvalidSetting(
                f"sweeps={self.sweeps} needs a full memory to sweep over; with replay {self.replay.memory!r} leave it "
                "at 1."
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
        """The number of steps after which an evaluation is cut off (Appendix A: 10 % longer than the horizon)."""
        return self.evaluation_horizon if self.evaluation_horizon is not None else round(1.1 * self.horizon)

    def problem(self, n_actions: int, reward_range: tuple[float, float]) -> Problem:
        """Return what the explorer may know of the task."""
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


def make_spec(rule: Any, problem: Problem, settings: Settings, *, learns_q: bool = True) -> tuple[TableSpec, float]:
    """Return the spec of an explorer's tables, and the noise on the initial values of its heads."""
    extra_tables = rule.extra_tables()
    if not isinstance(extra_tables, ExtraTables):
        raise InvalidExplorer(f"{type(rule).__name__}.extra_tables must return a ExtraTables, got {extra_tables!r}.")
    replay, ensemble, visitation = settings.replay, extra_tables.ensemble, extra_tables.visitation
    start = problem.value_range if settings.initial == "optimistic" else 0.0
    augmented = extra_tables.augmented and learns_q
    bonus_row = ROW_REWARD + 1 if augmented else 0
    visit_row = (bonus_row or ROW_REWARD) + 1 if visitation else 0
    # (signal, discount, minimise, initial) of each table; see TableSpec for their order.
    tables: list[tuple[int, float, bool, float]] = [(ROW_REWARD, settings.discount, False, 0.0)]
    if augmented:
        tables.append((bonus_row, settings.discount, False, start))
    elif ensemble is None and learns_q and (start != 0.0 or settings.plain_sweeps):
        tables.append((ROW_REWARD, settings.discount, False, start))
    behaviour = len(tables) - 1
    if visitation:
        tables.append((visit_row, visitation.discount, visitation.minimise, visitation.initial))
    n_swept, heads = len(tables), ensemble.heads if ensemble else 0
    acts_on = n_swept if ensemble else behaviour
    tables += [(ROW_REWARD, settings.discount, False, start)] * heads
    signal, discount, minimise, initial = zip(*tables, strict=True)
    spec = TableSpec(
        n_actions=problem.n_actions,
        learning_rate=float(settings.learning_rate),
        memory=_MEMORY[replay.memory],
        batch=ensemble.batch if ensemble and replay.memory == "full" else replay.batch,
        window=(replay.capacity or 20 * settings.horizon) if replay.memory == "window" else 0,
        n_swept=n_swept,
        n_heads=heads,
        prior_weight=float(ensemble.prior_weight) if ensemble else 0.0,
        behaviour=behaviour,
        evaluated=acts_on if settings.evaluated == "behaviour" else TARGET,
        visitation=n_swept - 1 if visitation else 0,
        bonus_row=bonus_row,
        visit_row=visit_row,
        largest_matters=bool(visitation and visitation.largest_matters),
        learns_q=learns_q,
        plain_sweeps=settings.plain_sweeps,
        sweeps=settings.sweeps,
        signal=np.array(signal, np.int64),
        discount=np.array(discount, np.float64),
        minimise=np.array(minimise, np.bool_),
        initial=np.array(initial, np.float64),
    )
    return spec, float(ensemble.noise) if ensemble else 0.0
