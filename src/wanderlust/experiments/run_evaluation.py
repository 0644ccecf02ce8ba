"""The evaluations of a run in an environment: curves at regular steps, and how the best return grows between them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from wanderlust.environments.tabular import Tabular
from wanderlust.training.callbacks import Callback
from wanderlust.training.evaluation import RepeatedEvaluation
from wanderlust.training.loop import TrainingLoop

FINER = 10
"""Evaluations between two points of the curves, where one episode is enough."""


def fine_interval(every: int) -> int:
    """Return the number of steps between two evaluations where one episode is enough."""
    return max(every // FINER, 1)


class RunEvaluation(Callback):
    """Evaluates the greedy policy every `every` steps, and more often while the environment appears deterministic."""

    def __init__(self, env: Tabular, every: int, episodes: int) -> None:
        self.every, self.finer = every, fine_interval(every)
        self.evaluator = RepeatedEvaluation(env, episodes, seed=0)
        self.steps: list[int] = []
        self.returns: list[float] = []
        self._improvements: list[tuple[int, float]] = []

    def on_step(self, loop: TrainingLoop) -> None:
        """Evaluate if an evaluation is due."""
        self.evaluator.dynamics.record(loop)
        mean: float | None = None
        if loop.step % self.every == 0:
            mean = float(self.evaluator.returns(loop.agent).mean())
            self.steps.append(loop.step)
            self.returns.append(mean)
        elif loop.step % self.finer == 0:
            mean = self.evaluator.improved_return(loop.agent, self._best)
        if mean is not None and mean > self._best:
            self._improvements.append((loop.step, mean))

    @property
    def _best(self) -> float:
        return self._improvements[-1][1] if self._improvements else -math.inf

    @property
    def improvements(self) -> NDArray[np.float64]:
        """[improvement, (step, mean return)]: the evaluations with a larger return than all before."""
        return np.array(self._improvements, np.float64).reshape(-1, 2)
