"""The curves of a training, in the same fields whether `train` or `learn` did it."""

from __future__ import annotations

import importlib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from wanderlust.core.errors import BadFile, MissingPackage, counted
from wanderlust.core.mdp import FloatArray
from wanderlust.core.schema import Strict, checked
from wanderlust.worlds.drawing import figure_html, text_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREEDY_POLICY, TRAINING_EPISODES = "greedy policy", "training episodes"
GREEDY_POLICY_EPISODES = "episodes of the greedy policy"
MAX_POINTS = 500
"""The number of points at which every second one is dropped, so that memory is bounded."""
_ARRAYS = {"steps": np.int64, "returns": np.float64, "discovered": np.int64, "first_visit": np.int64}
HISTORY_ARRAYS = {f"history.{name}": kind for name, kind in _ARRAYS.items()}
"""The arrays of a file and their types; each has one dimension."""


class _Saved(Strict, frozen=True):
    """The part of the curves that is not arrays."""

    interval: Annotated[int, Meta(gt=0, lt=2**62)]
    returns_of: Literal["greedy policy", "episodes of the greedy policy", "training episodes"]


@dataclass(frozen=True, kw_only=True, repr=False)
class History:
    """How a training went. Arrays are indexed by states, or by the points in time that `steps` lists."""

    steps: NDArray[np.int64]
    """[point]: the number of steps taken."""
    returns: FloatArray
    """[point]: the return at that step, of what `returns_of` says."""
    discovered: NDArray[np.int64]
    """[point]: the number of distinct states in which an action was taken."""
    visits: NDArray[np.int64]
    """[state, action]: n(s, a), the visit counts."""
    first_visit: NDArray[np.int64]
    """[state]: the step of the first action in it; -1 for never."""
    returns_of: str = GREEDY_POLICY
    """'greedy policy': its expected discounted return from the start. 'episodes of the greedy policy': the expected
    undiscounted return of one of its episodes. 'training episodes': the mean undiscounted return of the latest
    episodes, at most 100 of them; NaN before the end of the first one."""

    def plot(self) -> Figure:
        """Return a matplotlib figure of the curves: the returns, and the states discovered."""
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        figure = Figure(figsize=(7.0, 2.8), layout="constrained")
        figure.suptitle(self._title(), fontsize=10, fontweight="bold")
        curves = {self._returns_title(): self.returns, "states discovered": self.discovered}
        for axes, (name, values) in zip(figure.subplots(1, 2), curves.items(), strict=True):
            axes.plot(self.steps, values, color="#0072b2")
            axes.set_title(name, fontsize=9)
            axes.set_xlabel("step")
            axes.xaxis.set_major_locator(MaxNLocator(4))
            axes.xaxis.set_major_formatter("{x:,.0f}")
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(color="#e4e4e4", linewidth=0.5)
        return figure

    def _title(self) -> str:
        return ""

    def _returns_title(self) -> str:
        return f"return of {'the ' if self.returns_of == GREEDY_POLICY else ''}{self.returns_of}"

    def to_pandas(self) -> Any:
        """Return the curves as a pandas DataFrame with the columns step, return and discovered."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise MissingPackage("to_pandas needs the package pandas: pip install 'wanderlust[dataframes]'.") from error
        return pandas.DataFrame({"step": self.steps, "return": self.returns, "discovered": self.discovered})

    def __str__(self) -> str:
        name = ": ".join(filter(None, (type(self).__name__, self._title())))
        steps, states = counted(int(self.visits.sum()), "step"), counted(int((self.first_visit >= 0).sum()), "state")
        first = f"{name}: {steps}, {states} visited, {counted(self.visits.shape[1], 'action')}"
        if not np.isfinite(self.returns).any():
            return first
        last = f"{self.returns[-1]:.6g} at step {self.steps[-1]:,}, at most {np.nanmax(self.returns):.6g}"
        return f"{first}\n{self._returns_title()} {last}"

    def __repr__(self) -> str:
        return f"<{str(self).splitlines()[0]}>"

    def _repr_html_(self) -> str:
        return figure_html(self.plot(), str(self)) if len(self.steps) else text_html(str(self))


class TrainingCurves:
    """The curves while an agent is trained: a point every `interval` steps, which doubles when there are too many."""

    def __init__(self, interval: int = 1, returns_of: str = TRAINING_EPISODES) -> None:
        self.interval, self.returns_of = interval, returns_of
        self.points: list[tuple[int, float, int]] = []
        """(step, return, states discovered)"""
        self.first_visits: dict[int, int] = {}
        """State to the step of the first action in it."""
        self.next_step = interval
        """The step of the next point."""

    @classmethod
    def of(cls, history: History) -> TrainingCurves:
        """Return the curves of a finished training, as they are saved with its agent."""
        curves = cls(int(history.steps[0]) if len(history.steps) else 1, history.returns_of)
        return curves._with(*(getattr(history, name) for name in _ARRAYS))

    def _with(self, *arrays: NDArray[Any]) -> TrainingCurves:
        *columns, first_visit = arrays
        self.points = list(zip(*(column.tolist() for column in columns), strict=True))
        self.first_visits = {int(state): int(first_visit[state]) for state in np.flatnonzero(first_visit >= 0)}
        return self

    def add(self, step: int, recent_returns: Collection[float], discovered: int) -> None:
        """Add a point; `recent_returns` are those of the latest episodes."""
        mean = sum(recent_returns) / len(recent_returns) if recent_returns else math.nan
        self.points.append((step, mean, discovered))
        if len(self.points) >= MAX_POINTS:
            self.interval *= 2
            self.points = [point for point in self.points if point[0] % self.interval == 0]
        self.next_step = (step // self.interval + 1) * self.interval

    def first_visit_steps(self) -> NDArray[np.int64]:
        """Return the step of the first action in each state that was visited, in the order of the visits."""
        return np.fromiter(self.first_visits.values(), np.int64, len(self.first_visits))

    def history(self, visits: NDArray[np.int64]) -> History:
        """Return the curves so far, with the agent's visit counts."""
        return History(**self._arrays(len(visits)), visits=visits, returns_of=self.returns_of)

    def to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the curves as JSON values and arrays."""
        arrays = self._arrays(max(self.first_visits, default=-1) + 1)
        plain = {"interval": self.interval, "returns_of": self.returns_of}
        return plain, {f"history.{name}": array for name, array in arrays.items()}

    @classmethod
    def from_file(cls, plain: Any, arrays: Mapping[str, NDArray[Any]], n_states: int, step: int) -> TrainingCurves:
        """Return the curves that `to_file` described, of an agent with so many states after so many steps.

        The types of the arrays have been checked.
        """
        saved = checked("its history", plain, _Saved)
        if missing := sorted(HISTORY_ARRAYS.keys() - arrays.keys()):
            raise BadFile(f"{', '.join(missing)} missing")
        steps, returns, discovered, first_visit = found = [arrays[name] for name in HISTORY_ARRAYS]
        in_order = len(steps) == len(returns) == len(discovered) and (np.diff(steps, prepend=0) > 0).all()
        valid = (steps <= step).all() and len(first_visit) <= n_states
        if not in_order or not valid or not ((first_visit >= -1) & (first_visit < step)).all():
            raise BadFile("the arrays of its history do not fit together")
        curves = cls(saved.interval, saved.returns_of)._with(*found)
        curves.next_step = (step // saved.interval + 1) * saved.interval
        return curves

    def _arrays(self, n_states: int) -> dict[str, Any]:
        first_visit = np.full(n_states, -1, np.int64)
        first_visit[list(self.first_visits)] = list(self.first_visits.values())
        columns: list[Any] = list(zip(*self.points, strict=True)) or [(), (), ()]
        columns.append(first_visit)
        return {name: np.array(column, kind) for column, (name, kind) in zip(columns, _ARRAYS.items(), strict=True)}
