"""A whole run inside one compiled loop, for worlds that are tables.

The loop reads aloud: choose, step, learn, evaluate now and then, start over when the episode ends. It is the same
mathematics as `Agent`, function for function and random number for random number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust._numba.jit import compiled, kernel
from wanderlust.agents.settings import Settings
from wanderlust.agents.simulation import draw_outcome, draw_start, greedy_return, greedy_set, greedy_sets, starts_of
from wanderlust.core.errors import InvalidSetting
from wanderlust.core.mdp import FloatArray, TabularMDP
from wanderlust.explorers.protocol import ExplorerBox
from wanderlust.explorers.view import view_of
from wanderlust.learning.memory import has_room, known_state
from wanderlust.learning.random_streams import WORLD
from wanderlust.learning.state import N_SEEN, NO_MEMORY, NONE, POLICY_CHANGED, STEP, TERMINAL, LearnerState, TableSpec
from wanderlust.learning.update import UpdateMode, learn

# What `run` answers.
DONE, NO_ROOM, BAD_ACTION = 0, 1, 2

MAX_ACTIONS_AS_BITS = 64
MAX_POLICY_ENTRIES = 50_000_000

# Columns of `Course.place`.
STATE, EPISODE_STEP, N_EVALUATED, LAST_IS_SURE, OFFENDING_ACTION = 0, 1, 2, 3, 4


class Course(NamedTuple):
    """Where a run is, and what has been recorded of it."""

    mdp: TabularMDP
    starts: NDArray[np.int32]
    chances: FloatArray
    ids: NDArray[np.int32]
    place: NDArray[np.int64]
    returns: FloatArray
    discovered: NDArray[np.int64]
    greedy: NDArray[np.uint64]
    first_visit: NDArray[np.int64]
    actions: NDArray[np.int16]
    states: NDArray[np.int32]
    horizon: int
    evaluation_horizon: int
    evaluate_every: int
    discount: float


@compiled
def _evaluate(course: Course, learner: LearnerState, spec: TableSpec, acted_in: int) -> None:
    """Record the return of the greedy policy; of a stochastic world the policy itself, to be solved afterwards."""
    i = course.place[N_EVALUATED]
    course.place[N_EVALUATED] += 1
    course.discovered[i] = learner.numbers[N_SEEN]
    if len(course.greedy) > 0:
        if i > 0 and course.evaluate_every == 1 and spec.memory == NO_MEMORY:
            # Since the step before, only the state just acted in can have got other best actions.
            # Trap: a whole row copied in one assignment takes numba seconds to compile, for its error messages.
            for other in range(len(course.ids)):
                course.greedy[i, other] = course.greedy[i - 1, other]
            course.greedy[i, acted_in] = greedy_set(course.ids[acted_in], learner, spec)
        else:
            greedy_sets(course.ids, learner, spec, course.greedy[i])
        return
    # A policy without ties that has not changed returns what it returned before.
    if i > 0 and learner.numbers[POLICY_CHANGED] == 0 and course.place[LAST_IS_SURE] == 1:
        course.returns[i] = course.returns[i - 1]
        return
    learner.numbers[POLICY_CHANGED] = 0
    expected, sure = greedy_return(
        course.mdp,
        course.starts,
        course.chances,
        course.ids,
        course.evaluation_horizon,
        course.discount,
        learner,
        spec,
    )
    course.returns[i] = expected
    course.place[LAST_IS_SURE] = 1 if sure else 0


def _run(ruled: ExplorerBox, learner: LearnerState, spec: TableSpec, course: Course, until: int, mode: UpdateMode) -> int:
    """Run up to step `until`, or until something is in the way."""
    rule = ruled.rule
    mdp, ids, place = course.mdp, course.ids, course.place
    state, t = place[STATE], place[EPISODE_STEP]
    begins = state == NONE
    while True:
        if begins:
            t = 0
            state = draw_start(course.starts, course.chances, learner.streams, WORLD)
            rule.begin_episode(learner.notes, learner.streams)
        if learner.numbers[STEP] >= until:
            break
        if not has_room(learner, spec):
            place[STATE], place[EPISODE_STEP] = state, t
            return NO_ROOM
        step = learner.numbers[STEP]
        number = known_state(state, ids, learner)
        action = rule.choose(view_of(number, learner, spec), learner.scores, learner.streams)
        if action < 0 or action >= spec.n_actions:
            place[OFFENDING_ACTION] = action
            return BAD_ACTION
        outcome = draw_outcome(mdp, state, action, learner.streams, WORLD)
        reward = mdp.reward[state, action, outcome]
        over = mdp.terminal[state, action, outcome]
        next_state = mdp.next_state[state, action, outcome]
        following = TERMINAL if over else known_state(next_state, ids, learner)
        if course.first_visit[state] < 0:
            course.first_visit[state] = step
        if step < len(course.actions):
            course.actions[step] = action
            course.states[step] = state
        learn(rule, number, action, reward, following, learner, spec, mode)
        if learner.numbers[STEP] % course.evaluate_every == 0:
            _evaluate(course, learner, spec, state)
        t += 1
        begins = over or t == course.horizon
        state = next_state
    place[STATE], place[EPISODE_STEP] = state, t
    return DONE


run_for = kernel(_run)


def new_course(mdp: TabularMDP, settings: Settings, keep_trajectory: bool) -> Course:
    """Return the course of a run that has not begun."""
    n_evaluations = settings.run_length // settings.evaluate_every
    starts, chances = starts_of(mdp)
    solved = not mdp.deterministic
    if solved and n_evaluations * mdp.n_states > MAX_POLICY_ENTRIES:
        raise InvalidSetting(
            f"evaluate_every={settings.evaluate_every} asks for {n_evaluations} exact solutions of a stochastic world "
            f"with {mdp.n_states} states; evaluate at most {MAX_POLICY_ENTRIES // mdp.n_states} times."
        )
    if solved and mdp.n_actions > MAX_ACTIONS_AS_BITS:
        raise InvalidSetting(
            f"a fused run of a stochastic world takes at most {MAX_ACTIONS_AS_BITS} actions, got {mdp.n_actions}; "
            "use Agent."
        )
    kept = settings.run_length if keep_trajectory else 0
    return Course(
        mdp=mdp,
        starts=starts,
        chances=chances,
        ids=np.zeros(mdp.n_states, np.int32),
        place=np.array([NONE, 0, 0, 0, 0], np.int64),
        returns=np.zeros(n_evaluations),
        discovered=np.zeros(n_evaluations, np.int64),
        greedy=np.zeros((n_evaluations if solved else 0, mdp.n_states), np.uint64),
        first_visit=np.full(mdp.n_states, -1, np.int64),
        actions=np.zeros(kept, np.int16),
        states=np.zeros(kept, np.int32),
        horizon=settings.horizon,
        evaluation_horizon=settings.rollout_length,
        evaluate_every=settings.evaluate_every,
        discount=settings.discount,
    )
