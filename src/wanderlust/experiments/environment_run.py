"""A run in a Gymnasium environment: `learn` with an `EpisodeRecorder`.

The result depends only on the run's fields: the seed determines all randomness of the agent and of the environment,
and the greedy policy is evaluated in a copy of the environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from wanderlust.core.errors import InvalidSetting, check_integer

if TYPE_CHECKING:
    from wanderlust.environments.tabular import Tabular
    from wanderlust.experiments.result import Result
    from wanderlust.experiments.run import Run

DEFAULT_EVALUATIONS = 25
"""Number of evaluations of the greedy policy, unless `evaluate_every` is set."""
MAX_EVALUATION_STEPS = 1_000
"""Steps after which an evaluation episode without a time limit is truncated, unless `horizon` is set."""


def evaluation_env(env: Tabular, limit: int = MAX_EVALUATION_STEPS) -> Tabular:
    """Return a copy of an environment for evaluation, with a time limit, since a policy may loop indefinitely."""
    from gymnasium.wrappers import TimeLimit

    from wanderlust.environments.make import copy_environment

    return env.copy() if env.horizon is not None else env.copy(TimeLimit(copy_environment(env.env), limit))


def train_in_environment(run: Run, should_stop: Callable[[], bool], *, steps: int | None = None) -> Result:
    """Execute a run in an environment; `steps` truncates it, for a test."""
    from wanderlust.agents.settings import MAX_STEPS
    from wanderlust.environments.tabular import tabular_by_name
    from wanderlust.experiments.episode_recorder import EpisodeRecorder
    from wanderlust.experiments.result import Result
    from wanderlust.experiments.run_evaluation import RunEvaluation
    from wanderlust.training.learn import learn
    from wanderlust.training.loop import call_environment

    overrides = run.overrides
    if "steps" not in overrides:
        raise InvalidSetting("a run in an environment needs the setting 'steps', its number of steps.")
    length = check_integer("steps", overrides.pop("steps"), low=1, high=MAX_STEPS)
    default_every = max(length // DEFAULT_EVALUATIONS, 1)
    every = check_integer("evaluate_every", overrides.get("evaluate_every", default_every), low=1)
    limit = check_integer("horizon", overrides.get("horizon", MAX_EVALUATION_STEPS), low=1, high=MAX_STEPS)
    env = tabular_by_name(run.world, run.world_options, run.encoder_options)
    eval_env = call_environment(env, lambda: evaluation_env(env, limit), lambda: "its copy for evaluation")
    # At least one evaluation: without any, the run has no return to report.
    evaluations = RunEvaluation(eval_env, min(every, length), run.episodes)
    recorder = EpisodeRecorder(evaluations.evaluator.dynamics, should_stop, last_step=steps)
    try:
        overrides |= {"steps": length, "seed": run.seed, "preset": run.preset}
        agent = learn(env, run.explorer, callbacks=[evaluations, recorder], quiet=True, **overrides)
    finally:
        call_environment(env, env.close, lambda: "close")
        call_environment(eval_env, eval_env.close, lambda: "close after evaluation")
    visits = np.zeros((env.n_states, env.n_actions), np.int64)
    agent_visits = agent.visits[: env.n_states]
    visits[: len(agent_visits)] = agent_visits
    recorded = recorder.arrays(env.n_states)
    evaluation_steps = np.array(evaluations.steps, np.int64)
    first_visits = recorded["first_visit"][recorded["first_visit"] >= 0]
    return Result(
        steps=evaluation_steps,
        returns=np.array(evaluations.returns, np.float64),
        discovered=(first_visits[None, :] < evaluation_steps[:, None]).sum(axis=1),
        visits=visits,
        optimal_return=np.full((), np.nan),
        reachable=np.zeros((), np.int64),
        improvements=evaluations.improvements,
        **recorded,
    )
