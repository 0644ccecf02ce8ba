"""A run in a Gymnasium environment: `learn`, step by step, with somebody who takes notes.

Its result depends on the run's fields alone: the seed decides the agent's chance and the environment's, and the greedy
policy is evaluated in an environment of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from wanderlust.core.errors import InvalidSetting, check_integer

if TYPE_CHECKING:
    from wanderlust.envs.tabular import Tabular
    from wanderlust.experiments.result import Result
    from wanderlust.experiments.run import Run

EVALUATIONS = 25
"""How often the greedy policy is evaluated, unless the setting `evaluate_every` says otherwise."""
LONGEST_EVALUATION = 1_000
"""After how many steps an evaluation's episode is cut off that nothing else ends, unless `horizon` says otherwise."""


def evaluation_env(env: Tabular, limit: int = LONGEST_EVALUATION) -> Tabular:
    """Return a second environment like this one, for a policy that may go round in circles for ever."""
    from gymnasium.wrappers import TimeLimit

    from wanderlust.envs.make import copy_environment

    return env.copy() if env.horizon is not None else env.copy(TimeLimit(copy_environment(env.env), limit))


def train_in_environment(run: Run, stopped: Callable[[], bool], *, steps: int | None = None) -> Result:
    """Carry out a run in an environment; `steps` ends it early, for a trial."""
    from wanderlust.envs.by_name import tabular_by_name
    from wanderlust.experiments.episode_recorder import EpisodeRecorder
    from wanderlust.experiments.result import Result
    from wanderlust.training.evaluation import EvaluateEvery
    from wanderlust.training.learn import learn

    changes = run.changes
    if "steps" not in changes:
        raise InvalidSetting("a run in an environment needs the setting 'steps': how long it is.")
    length = check_integer("steps", changes.pop("steps"), low=1)
    # At least once: of a run that was never evaluated there is nothing to tell.
    every = min(changes.get("evaluate_every", max(length // EVALUATIONS, 1)), length)
    env = tabular_by_name(run.world, run.world_options, run.encoder_options)
    other = evaluation_env(env, changes.get("horizon", LONGEST_EVALUATION))
    witness = EpisodeRecorder(stopped, last_step=steps)
    evaluations = EvaluateEvery(every, episodes=run.episodes, env=other)
    try:
        callbacks = [evaluations, witness]
        agent = learn(env, run.explorer, steps=length, seed=run.seed, callbacks=callbacks, quiet=True, **changes)
    finally:
        env.close()
        other.close()
    visits = np.zeros((env.n_states, env.n_actions), np.int64)
    known = agent.visits[: env.n_states]
    visits[: len(known)] = known
    notes = witness.notes(env.n_states)
    evaluated = np.array([each.step for each in evaluations.history], np.int64)
    met = notes["first_visit"][notes["first_visit"] >= 0]
    return Result(
        steps=evaluated,
        returns=np.array([each.mean for each in evaluations.history], np.float64),
        discovered=(met[None, :] < evaluated[:, None]).sum(axis=1),
        visits=visits,
        optimal_return=np.full((), np.nan),
        reachable=np.zeros((), np.int64),
        **notes,
    )
