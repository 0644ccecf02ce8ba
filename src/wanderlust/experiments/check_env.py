"""Whether a tabular agent can work in an environment, from a short random walk."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from gymnasium import Env

from wanderlust.agents.settings import MAX_STEPS
from wanderlust.core.errors import InvalidEnvironment, check_integer
from wanderlust.environments.tabular import Tabular, tabular
from wanderlust.experiments.diagnosis import Diagnosis, diagnose_results, report_sections
from wanderlust.experiments.environment_run import EpisodeRecorder
from wanderlust.experiments.run import Result
from wanderlust.training.callbacks import Callback
from wanderlust.training.evaluation import ObservedDynamics
from wanderlust.training.learn import learn
from wanderlust.training.loop import TrainingLoop

SECTIONS = ("Rewards", "States", "Stochasticity", "Episodes")
"""The sections of the report of `diagnose` that a random walk can fill."""


class EnvironmentCheck(NamedTuple):
    """The result of `check_env`."""

    works: bool
    """Whether a tabular agent can work: states are discrete, repeat and are not aliased, as far as observed."""
    problems: tuple[str, ...]
    report: tuple[str, ...]
    """What was measured, in sentences."""

    def __str__(self) -> str:
        verdict = "A tabular agent can work here." if self.works else "A tabular agent will have problems here:"
        return "\n".join([verdict, *(f"* {problem}" for problem in self.problems), "", *self.report]).rstrip()


class _Dynamics(Callback):
    def __init__(self) -> None:
        self.observed = ObservedDynamics()

    def on_step(self, loop: TrainingLoop) -> None:
        self.observed.record(loop)


def check_env(env: Env[Any, Any] | str, *, steps: int = 5_000, seed: int = 0, **encoding: Any) -> EnvironmentCheck:
    """Return whether a tabular agent can work in an environment, with the reasons and what helps.

    A random walk of `steps` steps shows how often states repeat, and whether they are aliased. `encoding` are options
    of `wl.tabular`. The environment is reset. `wanderlust diagnose` takes longer and says more.
    """
    steps = check_integer("steps", steps, low=100, high=MAX_STEPS)
    try:
        made = env if isinstance(env, Tabular) and not encoding else tabular(env, **encoding)
    except InvalidEnvironment as error:
        return EnvironmentCheck(works=False, problems=(str(error),), report=())
    dynamics = _Dynamics()
    recorder = EpisodeRecorder(dynamics.observed)
    agent = learn(made, "random", steps=steps, seed=seed, callbacks=[dynamics, recorder], quiet=True)
    recorded = recorder.arrays(made.n_states)
    result = Result(
        steps=np.array([steps]),
        returns=np.zeros(1),
        discovered=np.array([agent.discovered]),
        visits=agent.visits,
        optimal_return=np.full((), np.nan),
        reachable=np.zeros((), np.int64),
        **recorded,
    )
    kind = made.encoding.encoder.kind
    found = diagnose_results({"random": [result]}, steps=steps, horizon=made.horizon, encoding=kind)
    sections = dict(report_sections(found))
    problems = tuple(_problems(found, sections))
    report = tuple(sentence for name in SECTIONS for sentence in sections[name] if sentence not in problems)
    return EnvironmentCheck(works=not problems, problems=problems, report=report)


def _problems(found: Diagnosis, sections: dict[str, list[str]]) -> list[str]:
    """Return the sentences of a report that say why a tabular agent may not work."""
    problems = [each for each in sections["States"] if found.seldom_repeat and each.startswith("States seldom repeat")]
    problems += sections["Stochasticity"] if found.hidden is not None else []
    return problems + [each for each in sections["Episodes"] if found.layouts_change and "layout changes" in each]
