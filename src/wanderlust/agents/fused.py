"""A whole run inside one compiled loop, for tabular worlds.

The loop: choose, step, learn, evaluate at intervals, start a new episode. It uses the same functions and the same
random numbers as `Agent`, so that both give the same results, bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import compiled, entry
from wanderlust.agents.settings import Settings
from wanderlust.agents.simulation import (
    draw_outcome,
    draw_start,
    greedy_actions,
    greedy_return,
    start_distribution,
    write_greedy_policy,
)
from wanderlust.core.errors import InvalidExplorer, InvalidSetting
from wanderlust.core.mdp import FloatArray, TabularMDP
from wanderlust.learning.hooks import Hooks, begin_episode, choose_action, learn
from wanderlust.learning.memory import has_room, index_of
from wanderlust.learning.random_streams import WORLD
from wanderlust.learning.spec import NO_MEMORY, TableSpec
from wanderlust.learning.state import NONE, TERMINAL, LearnerState

# What `run_until` returns.
DONE, NO_ROOM, INVALID_ACTION = 0, 1, 2

MAX_ACTIONS_AS_BITS = 64
MAX_POLICY_ENTRIES = 50_000_000

POSITION = np.dtype(
    (
        np.record,
        [
            ("state", np.int64),  # the current state, or NONE before the first episode
            ("episode_step", np.int64),
            ("n_evaluations", np.int64),
            ("without_ties", np.int64),  # whether the last evaluation broke no tie
            ("invalid_action", np.int64),
            ("first_reward", np.int64),  # the number of steps up to the first positive reward, or 0
            ("first_termination", np.int64),  # the same for the first termination
            ("lowest_reward", np.float64),  # of all steps so far
            ("highest_reward", np.float64),
        ],
    )
)


class RunState(NamedTuple):
    """The world of a run, the current position in it, and what has been recorded."""

    mdp: TabularMDP
    starts: NDArray[np.int32]
    start_probabilities: FloatArray
    state_index: NDArray[np.int32]
    """[state]: its index in the learner; `TERMINAL` if it was not visited yet."""
    position: Any
    """A record of `POSITION`."""
    returns: FloatArray
    discovered: NDArray[np.int64]
    greedy: NDArray[np.uint64]
    """[evaluation, state]: the greedy actions as bits, in stochastic worlds."""
    first_visit: NDArray[np.int64]
    actions: NDArray[np.signedinteger[Any]]
    states: NDArray[np.int32]
    horizon: int
    evaluation_horizon: int
    evaluate_every: int
    discount: float


@compiled
def _evaluate(run: RunState, learner: LearnerState, spec: TableSpec, last_state: int) -> None:
    """Record the return of the greedy policy; in a stochastic world the policy itself, which is solved later."""
    position, counters = run.position, learner.counters
    i = position.n_evaluations
    position.n_evaluations += 1
    run.discovered[i] = counters.n_discovered
    if len(run.greedy) > 0:
        if i > 0 and run.evaluate_every == 1 and spec.memory == NO_MEMORY and spec.n_own == 0:
            # Since the previous step, only the greedy actions of the state acted in can have changed.
            # Trap: numba takes seconds to compile the copy of a whole row, for its error messages.
            for state in range(len(run.state_index)):
                run.greedy[i, state] = run.greedy[i - 1, state]
            run.greedy[i, last_state] = greedy_actions(run.state_index[last_state], learner, spec)
        else:
            write_greedy_policy(run.state_index, learner, spec, run.greedy[i])
        return
    # The return of a policy without ties that has not changed is the same as before.
    if i > 0 and counters.policy_changed == 0 and position.without_ties == 1:
        run.returns[i] = run.returns[i - 1]
        return
    counters.policy_changed = 0
    expected, without_ties = greedy_return(
        run.mdp,
        run.starts,
        run.start_probabilities,
        run.state_index,
        run.evaluation_horizon,
        run.discount,
        learner,
        spec,
    )
    run.returns[i] = expected
    position.without_ties = 1 if without_ties else 0


@entry
def run_until(hooks: Hooks, learner: LearnerState, spec: TableSpec, run: RunState, until: int) -> int:
    """Run up to step `until`, or until the arrays are full or the explorer chooses an invalid action."""
    mdp, state_index, position, counters = run.mdp, run.state_index, run.position, learner.counters
    state, t = position.state, position.episode_step
    begins = state == NONE
    while True:
        if begins:
            t = 0
            state = draw_start(run.starts, run.start_probabilities, learner.streams, WORLD)
            begin_episode(hooks, learner, spec)
        if counters.step >= until:
            break
        if not has_room(learner, spec):
            position.state, position.episode_step = state, t
            return NO_ROOM
        step = counters.step
        index = index_of(state, state_index, learner)
        action = choose_action(hooks, index, learner, spec)
        if action < 0 or action >= spec.n_actions:
            position.invalid_action = action
            return INVALID_ACTION
        outcome = draw_outcome(mdp, state, action, learner.streams, WORLD)
        reward = mdp.reward[state, action, outcome]
        terminated = mdp.terminal[state, action, outcome]
        next_state = mdp.next_state[state, action, outcome]
        next_index = TERMINAL if terminated else index_of(next_state, state_index, learner)
        if run.first_visit[state] < 0:
            run.first_visit[state] = step
        if step < len(run.actions):
            run.actions[step] = action
            run.states[step] = state
        learn(hooks, index, action, reward, next_index, learner, spec)
        if reward < position.lowest_reward:
            position.lowest_reward = reward
        if reward > position.highest_reward:
            position.highest_reward = reward
        if reward > 0.0 and position.first_reward == 0:
            position.first_reward = counters.step
        if terminated and position.first_termination == 0:
            position.first_termination = counters.step
        if counters.step % run.evaluate_every == 0:
            _evaluate(run, learner, spec, state)
        t += 1
        begins = terminated or t == run.horizon
        state = next_state
    position.state, position.episode_step = state, t
    return DONE


def action_dtype(n_actions: int) -> type[np.int16] | type[np.int32]:
    """Return the type in which the actions of a trajectory are stored: int16, or int32 if there are too many."""
    return np.int16 if n_actions - 1 <= np.iinfo(np.int16).max else np.int32


def invalid_choice(explorer: str, n_actions: int, run: RunState, step: int) -> InvalidExplorer:
    """Return the error of a run that ended with `INVALID_ACTION`."""
    action, valid = run.position.invalid_action, f"0 to {n_actions - 1}"
    return InvalidExplorer(f"explorer {explorer!r} chose action {action} at step {step}; valid are {valid}.")


def new_run(mdp: TabularMDP, settings: Settings, keep_trajectory: bool, undiscounted_returns: bool) -> RunState:
    """Return the state of a run that has not begun."""
    try:
        return _allocated_run(mdp, settings, keep_trajectory, undiscounted_returns)
    except MemoryError:
        raise InvalidSetting(
            f"the results of {settings.run_length:,} steps, evaluated every {settings.evaluate_every:,} steps, do "
            "not fit into memory; reduce steps, increase evaluate_every, or set keep_trajectory=False."
        ) from None


def _allocated_run(mdp: TabularMDP, settings: Settings, keep_trajectory: bool, undiscounted_returns: bool) -> RunState:
    n_evaluations = settings.run_length // settings.evaluate_every
    starts, probabilities = start_distribution(mdp)
    stochastic = not mdp.deterministic
    if stochastic and n_evaluations * mdp.n_states > MAX_POLICY_ENTRIES:
        raise InvalidSetting(
            f"evaluate_every={settings.evaluate_every} needs {n_evaluations} exact solutions of a stochastic world "
            f"with {mdp.n_states} states; evaluate at most {MAX_POLICY_ENTRIES // mdp.n_states} times."
        )
    if stochastic and mdp.n_actions > MAX_ACTIONS_AS_BITS:
        raise InvalidSetting(
            f"a fused run of a stochastic world takes at most {MAX_ACTIONS_AS_BITS} actions, got {mdp.n_actions}; "
            "use Agent."
        )
    kept = settings.run_length if keep_trajectory else 0
    position = np.zeros(1, POSITION)[0]
    position.state, position.lowest_reward, position.highest_reward = NONE, np.inf, -np.inf
    return RunState(
        mdp=mdp,
        starts=starts,
        start_probabilities=probabilities,
        state_index=np.zeros(mdp.n_states, np.int32),
        position=position,
        returns=np.zeros(n_evaluations),
        discovered=np.zeros(n_evaluations, np.int64),
        greedy=np.zeros((n_evaluations if stochastic else 0, mdp.n_states), np.uint64),
        first_visit=np.full(mdp.n_states, -1, np.int64),
        actions=np.zeros(kept, action_dtype(mdp.n_actions)),
        states=np.zeros(kept, np.int32),
        horizon=settings.horizon,
        evaluation_horizon=settings.horizon if undiscounted_returns else settings.rollout_length,
        evaluate_every=settings.evaluate_every,
        discount=1.0 if undiscounted_returns else settings.discount,
    )
