"""Callbacks that evaluate the greedy policy during training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium import Env
from numpy.typing import NDArray

from wanderlust.agents.settings import MAX_EPISODES
from wanderlust.core.errors import InvalidSetting, check_integer, check_number
from wanderlust.environments.tabular import Tabular
from wanderlust.training.callbacks import Callback
from wanderlust.training.evaluation import evaluate
from wanderlust.training.loop import TrainingLoop, call_environment
from wanderlust.training.repeated_evaluation import RepeatedEvaluation


class Evaluation(NamedTuple):
    """The returns of the greedy policy after a training step."""

    step: int
    returns: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(self.returns.mean())


class EvaluateEvery(Callback):
    """Evaluates the greedy policy every `steps` steps in a separate environment; `history` has all results.

    Without `env`, that is a copy of the training environment. Then a policy that has not changed is not evaluated
    again, and one episode is enough if training has shown one start state and one outcome per action.
    """

    def __init__(self, steps: int, *, episodes: int = 10, env: Env[Any, Any] | None = None, seed: int = 0) -> None:
        self.every = check_integer("steps", steps, low=1)
        self.episodes = check_integer("episodes", episodes, low=1, high=MAX_EPISODES)
        self.seed = check_integer("seed", seed, low=0)
        self.history: list[Evaluation] = []
        self.evaluator: RepeatedEvaluation | None = None
        self._user_env = env
        self._env: Tabular | None = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Create the evaluation environment, a copy of the training environment."""
        self._env = call_environment(loop.env, lambda: loop.env.copy(self._user_env), lambda: "its copy for evaluation")
        if self._user_env is None:
            self.evaluator = RepeatedEvaluation(self._env, self.episodes, self.seed)

    def on_step(self, loop: TrainingLoop) -> bool | None:
        """Evaluate every `every` steps."""
        if self.evaluator is not None:
            self.evaluator.outcomes.record(loop)
        return None if loop.step % self.every else self._evaluate(loop)

    def _evaluate(self, loop: TrainingLoop) -> bool | None:
        assert self._env is not None
        if self.evaluator is not None:
            returns = self.evaluator.returns(loop.agent)
        else:
            returns = evaluate(loop.agent, self._env, episodes=self.episodes, seed=self.seed)
        evaluation = Evaluation(loop.step, returns)
        self.history.append(evaluation)
        loop.metrics["evaluation"] = evaluation.mean
        return self.on_evaluation(evaluation)

    def on_end(self, loop: TrainingLoop) -> None:
        """Close the evaluation environment."""
        if self._env is not None and self._user_env is None:
            call_environment(self._env, self._env.close, lambda: "close after evaluation")

    def on_evaluation(self, evaluation: Evaluation) -> bool | None:
        """Called after every evaluation; return False to stop training."""
        return None


class StopWhenSolved(EvaluateEvery):
    """Stops training once the greedy policy's mean return reaches a threshold, by default the environment's."""

    def __init__(
        self,
        threshold: float | None = None,
        *,
        every: int = 1_000,
        episodes: int = 20,
        env: Env[Any, Any] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(every, episodes=episodes, env=env, seed=seed)
        self.threshold = None if threshold is None else check_number("threshold", threshold)
        self.solved_at: int | None = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Use the environment's threshold if none is given."""
        super().on_start(loop)
        if self.threshold is None:
            spec = loop.env.env.spec
            if spec is None or spec.reward_threshold is None:
                name = loop.env.name
                raise InvalidSetting(f"{name} has no reward threshold; give StopWhenSolved(threshold).")
            self.threshold = float(spec.reward_threshold)

    def on_evaluation(self, evaluation: Evaluation) -> bool | None:
        """Stop training at the threshold."""
        assert self.threshold is not None
        if evaluation.mean < self.threshold:
            return None
        self.solved_at = evaluation.step
        return False
