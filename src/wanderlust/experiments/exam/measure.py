"""One run of the exam: the exact returns of two policies at 12 steps, evenly spaced on a logarithmic scale.

The policies are the explorer's own target policy, greedy for Q with ties broken uniformly, and the policy that is best
by the data (`wanderlust.experiments.exam.data_policy`). The return is E[Σ γᵗ r_t] from the start, without a time limit,
by a solution of the Bellman equation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.agents.session import Session
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import policy_value, uniform_over_ties
from wanderlust.experiments.exam.data_policy import best_actions, data_policy, empirical_model
from wanderlust.experiments.result import Result
from wanderlust.learning.spec import TARGET
from wanderlust.learning.tables import by_state
from wanderlust.worlds import World

if TYPE_CHECKING:
    from wanderlust.experiments.run import Run

N_LOOKS = 12
FIRST_LOOK = 1 / 16
"""The first look, as a fraction of the budget."""


def look_fractions() -> FloatArray:
    """Return the looks as fractions of the budget."""
    return np.geomspace(FIRST_LOOK, 1.0, N_LOOKS)


def look_steps(budget: int) -> list[int]:
    """Return the steps after which the policies are evaluated."""
    return sorted({max(1, round(float(fraction) * budget)) for fraction in look_fractions()})


class ExactReturns:
    """The exact returns of policies in a world; each policy is evaluated once, since many looks have the same one."""

    def __init__(self, world: World, discount: float) -> None:
        self._world, self._discount = world, discount
        self._known: dict[bytes, float] = {}

    def __call__(self, policy: FloatArray) -> float:
        """Return E[Σ γᵗ r_t] from the start, for a policy as probabilities [state, action]."""
        key = policy.tobytes()
        if key not in self._known:
            mdp = self._world.mdp
            self._known[key] = float(mdp.start @ policy_value(mdp, policy, self._discount))
        return self._known[key]


def take_exam(
    run: Run, world: World, options: Mapping[str, Any], should_stop: Callable[[], bool], steps: int | None
) -> Result:
    """Train from look to look and return the measurements; `steps` truncates it, for a test."""
    from wanderlust.experiments.run import RunCancelled, optimum_and_reachable

    # The session's own evaluations are not used.
    settings = {**options, "evaluate_every": world.defaults.budget}
    session = Session(world, run.explorer, seed=run.seed, preset=run.preset, **settings)
    discount = session.settings.discount
    looks = look_steps(session.settings.run_length)
    looks = looks if steps is None else [min(steps, look) for look in looks[:1]]
    exact_return = ExactReturns(world, discount)
    returns, data_returns, discovered = [], [], []
    actions = None
    for look in looks:
        if should_stop():
            raise RunCancelled
        session.advance(look)
        q = by_state(session.learner.values[TARGET], session.run_state.state_index, session.spec)
        returns.append(exact_return(uniform_over_ties(q)))
        model = empirical_model(session)
        if model is None:
            data_returns.append(np.nan)
        else:
            actions = best_actions(model, discount, actions)
            data_returns.append(exact_return(data_policy(session, actions)))
        discovered.append(int(session.learner.counters.n_discovered))
    uniform = np.full((world.n_states, world.n_actions), 1.0 / world.n_actions)
    optimal_return, n_reachable = optimum_and_reachable(run, discount)
    return Result(
        steps=np.array(looks, np.int64),
        returns=np.array(returns),
        discovered=np.array(discovered, np.int64),
        visits=by_state(session.learner.visits, session.run_state.state_index, session.spec),
        first_visit=session.run_state.first_visit.copy(),
        optimal_return=np.zeros(()) + optimal_return,
        reachable=np.zeros((), np.int64) + n_reachable,
        data_returns=np.array(data_returns),
        random_return=np.array([exact_return(uniform)]),
    )
