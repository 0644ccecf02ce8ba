"""A whole run inside one compiled loop, for worlds that are tables.

The loop reads aloud: choose, step, learn, evaluate now and then, start over when the episode ends. It is the same
mathematics as `Agent`, function for function and random number for random number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.compiled import compiled, kernel
from wanderlust.errors import InvalidSetting
from wanderlust.exploration.protocol import Ruled
from wanderlust.exploration.view import view_of
from wanderlust.learning.experience import has_room, known_state
from wanderlust.learning.learner import Manner, learn
from wanderlust.learning.mind import END, N_SEEN, NO_MEMORY, NONE, POLICY_CHANGED, STEP, Mind, Plan
from wanderlust.learning.settings import Settings
from wanderlust.mdp import FloatArray, TabularMDP
from wanderlust.simulation import draw_outcome, draw_start, greedy_return, greedy_set, greedy_sets, starts_of
from wanderlust.streams import WORLD

# What `run` answers.
DONE, NO_ROOM, BAD_ACTION = 0, 1, 2

MOST_ACTIONS_AS_BITS = 64
MOST_POLICY_ENTRIES = 50_000_000

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
def _evaluate(course: Course, mind: Mind, plan: Plan, acted_in: int) -> None:
    """Record the return of the greedy policy; of a stochastic world the policy itself, to be solved afterwards."""
    i = course.place[N_EVALUATED]
    course.place[N_EVALUATED] += 1
    course.discovered[i] = mind.numbers[N_SEEN]
    if len(course.greedy) > 0:
        if i > 0 and course.evaluate_every == 1 and plan.memory == NO_MEMORY:
            # Since the step before, only the state just acted in can have got other best actions.
            # Trap: a whole row copied in one assignment takes numba seconds to compile, for its error messages.
            for other in range(len(course.ids)):
                course.greedy[i, other] = course.greedy[i - 1, other]
            course.greedy[i, acted_in] = greedy_set(course.ids[acted_in], mind, plan)
        else:
            greedy_sets(course.ids, mind, plan, course.greedy[i])
        return
    # A policy without ties that has not changed returns what it returned before.
    if i > 0 and mind.numbers[POLICY_CHANGED] == 0 and course.place[LAST_IS_SURE] == 1:
        course.returns[i] = course.returns[i - 1]
        return
    mind.numbers[POLICY_CHANGED] = 0
    expected, sure = greedy_return(
        course.mdp,
        course.starts,
        course.chances,
        course.ids,
        course.evaluation_horizon,
        course.discount,
        mind,
        plan,
    )
    course.returns[i] = expected
    course.place[LAST_IS_SURE] = 1 if sure else 0


def _run(ruled: Ruled, mind: Mind, plan: Plan, course: Course, until: int, manner: Manner) -> int:
    """Run up to step `until`, or until something is in the way."""
    rule = ruled.rule
    mdp, ids, place = course.mdp, course.ids, course.place
    state, t = place[STATE], place[EPISODE_STEP]
    begins = state == NONE
    while True:
        if begins:
            t = 0
            state = draw_start(course.starts, course.chances, mind.streams, WORLD)
            rule.begin_episode(mind.notes, mind.streams)
        if mind.numbers[STEP] >= until:
            break
        if not has_room(mind, plan):
            place[STATE], place[EPISODE_STEP] = state, t
            return NO_ROOM
        step = mind.numbers[STEP]
        number = known_state(state, ids, mind)
        action = rule.choose(view_of(number, mind, plan), mind.scores, mind.streams)
        if action < 0 or action >= plan.n_actions:
            place[OFFENDING_ACTION] = action
            return BAD_ACTION
        outcome = draw_outcome(mdp, state, action, mind.streams, WORLD)
        reward = mdp.reward[state, action, outcome]
        over = mdp.terminal[state, action, outcome]
        next_state = mdp.next_state[state, action, outcome]
        following = END if over else known_state(next_state, ids, mind)
        if course.first_visit[state] < 0:
            course.first_visit[state] = step
        if step < len(course.actions):
            course.actions[step] = action
            course.states[step] = state
        learn(rule, number, action, reward, following, mind, plan, manner)
        if mind.numbers[STEP] % course.evaluate_every == 0:
            _evaluate(course, mind, plan, state)
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
    if solved and n_evaluations * mdp.n_states > MOST_POLICY_ENTRIES:
        raise InvalidSetting(
            f"evaluate_every={settings.evaluate_every} asks for {n_evaluations} exact solutions of a stochastic world "
            f"with {mdp.n_states} states; evaluate at most {MOST_POLICY_ENTRIES // mdp.n_states} times."
        )
    if solved and mdp.n_actions > MOST_ACTIONS_AS_BITS:
        raise InvalidSetting(
            f"a fused run of a stochastic world takes at most {MOST_ACTIONS_AS_BITS} actions, got {mdp.n_actions}; "
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
