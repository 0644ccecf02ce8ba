"""A whole run inside one compiled loop, for worlds that are tables.

The loop reads aloud: choose, step, learn, evaluate now and then, start over when the episode ends. It is the same
mathematics as `Agent`, function for function and random number for random number.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.compiled import announce, by_reference, compiled, compiled_now, kernel
from wanderlust.exploration.view import view_of
from wanderlust.errors import check_integer
from wanderlust.exploration.protocol import Ruled
from wanderlust.exploration.registry import configured, explorer_name
from wanderlust.learning.allocation import Soil, enlarged, new_mind
from wanderlust.learning.experience import has_room, known_state
from wanderlust.learning.learner import learn
from wanderlust.learning.inspection import by_state, tables_by_state
from wanderlust.learning.mind import END, N_SEEN, NONE, STEP, POLICY_CHANGED, Mind, Plan
from wanderlust.learning.settings import Settings, make_plan
from wanderlust.mdp import FloatArray, TabularMDP
from wanderlust.simulation import draw_outcome, draw_start, greedy_return, greedy_sets, starts_of
from wanderlust.planning import policy_value
from wanderlust.presets import resolve
from wanderlust.streams import WORLD
from wanderlust.worlds import World, make_world

# Columns of `Course.place`.
STATE, EPISODE_STEP, N_EVALUATED, LAST_IS_SURE = 0, 1, 2, 3


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
def _evaluate(course: Course, mind: Mind, plan: Plan) -> None:
    """Record the return of the greedy policy; of a stochastic world the policy itself, to be solved afterwards."""
    i = course.place[N_EVALUATED]
    course.place[N_EVALUATED] += 1
    course.discovered[i] = mind.numbers[N_SEEN]
    if len(course.greedy) > 0:
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


def _run(ruled: Ruled, mind: Mind, plan: Plan, course: Course, until: int) -> bool:
    """Run up to step `until`; return False when the mind must grow first."""
    rule = ruled.rule
    mdp, ids, place = course.mdp, course.ids, course.place
    if place[STATE] == NONE:
        place[STATE] = draw_start(course.starts, course.chances, mind.streams, WORLD)
        rule.begin_episode(mind.notes, mind.streams)
    state = place[STATE]
    number = known_state(state, ids, mind)
    t = place[EPISODE_STEP]
    while mind.numbers[STEP] < until:
        if not has_room(mind, plan):
            place[STATE], place[EPISODE_STEP] = state, t
            return False
        step = mind.numbers[STEP]
        action = rule.choose(view_of(number, mind, plan), mind.scores, mind.streams)
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
        learn(rule, number, action, reward, following, mind, plan)
        if mind.numbers[STEP] % course.evaluate_every == 0:
            _evaluate(course, mind, plan)
        t += 1
        if over or t == course.horizon:
            t = 0
            state = draw_start(course.starts, course.chances, mind.streams, WORLD)
            rule.begin_episode(mind.notes, mind.streams)
        else:
            state = next_state
        number = known_state(state, ids, mind)
    place[STATE], place[EPISODE_STEP] = state, t
    return True


_run_for = kernel(_run)


@dataclass(frozen=True)
class Record:
    """What came of a run. Arrays are indexed by the world's own states."""

    world: str
    explorer: str
    seed: int
    settings: Settings
    steps: NDArray[np.int64]
    """The steps after which the greedy policy was evaluated."""
    returns: FloatArray
    """Its expected discounted return from the start, at each of them."""
    discovered: NDArray[np.int64]
    """How many distinct states had been acted in, at each of them."""
    visits: NDArray[np.int64]
    """How often each action was tried in each state."""
    first_visit: NDArray[np.int64]
    """The step at which each state was first acted in; -1 for never."""
    tables: Mapping[str, FloatArray]
    """The final tables [state, action]: 'target', 'behaviour', 'visitation' as far as there are any, 'heads' [head, state, action]."""
    greedy: NDArray[np.uint64]
    """In a stochastic world, the best actions of every state at each evaluation, as bits."""
    states: NDArray[np.int32]
    actions: NDArray[np.int16]
    """Every state and action of the run, if it was asked to keep them."""


def train(
    world: World | str,
    explorer: str | type,
    *,
    seed: int = 0,
    preset: str = "as_written",
    keep_trajectory: bool = False,
    **changes: Any,
) -> Record:
    """Train an agent in a tabular world for the world's budget; return curves and final tables.

    `changes` are settings (see `Settings`) or options of the explorer (see `wanderlust.explorer_options`); the rest is
    as in the paper. With `preset="as_published_code"` it is as in the code that the paper's authors released.
    """
    if not isinstance(world, World):
        world = make_world(world)
    settings, options = resolve(world, explorer, preset, changes)
    problem = settings.problem(world.n_actions, world.reward_range)
    rule = configured(explorer, problem, options)
    plan, noise = make_plan(rule, problem, settings)
    seed = check_integer("seed", seed, low=0)
    soil = Soil(plan, noise, seed)
    mind = new_mind(plan, soil, seed)
    course = _new_course(world.mdp, settings, keep_trajectory)
    run = functools.partial(_run_for(type(rule)), by_reference(Ruled(rule)))
    compiling = announce(type(rule), "fused")
    while not run(by_reference(mind), by_reference(plan), by_reference(course), settings.run_length):
        mind = enlarged(mind, plan, soil)
    if compiling:
        compiled_now(type(rule), "fused")
    return _record(world, explorer_name(type(rule)), seed, settings, mind, plan, course)


def _new_course(mdp: TabularMDP, settings: Settings, keep_trajectory: bool) -> Course:
    n_evaluations = settings.run_length // settings.evaluate_every
    starts, chances = starts_of(mdp)
    kept = settings.run_length if keep_trajectory else 0
    return Course(
        mdp=mdp,
        starts=starts,
        chances=chances,
        ids=np.zeros(mdp.n_states, np.int32),
        place=np.array([NONE, 0, 0, 0], np.int64),
        returns=np.zeros(n_evaluations),
        discovered=np.zeros(n_evaluations, np.int64),
        greedy=np.zeros((0 if mdp.deterministic else n_evaluations, mdp.n_states), np.uint64),
        first_visit=np.full(mdp.n_states, -1, np.int64),
        actions=np.zeros(kept, np.int16),
        states=np.zeros(kept, np.int32),
        horizon=settings.horizon,
        evaluation_horizon=settings.rollout_length,
        evaluate_every=settings.evaluate_every,
        discount=settings.discount,
    )


def _record(
    world: World, explorer: str, seed: int, settings: Settings, mind: Mind, plan: Plan, course: Course
) -> Record:
    returns = course.returns
    if len(course.greedy):
        returns = solved_returns(world.mdp, course.greedy, settings.discount)
    return Record(
        world=world.name,
        explorer=explorer,
        seed=seed,
        settings=settings,
        steps=settings.evaluate_every * np.arange(1, len(returns) + 1),
        returns=returns,
        discovered=course.discovered,
        visits=by_state(mind.tries, course.ids, plan),
        first_visit=course.first_visit,
        tables=tables_by_state(mind, course.ids, plan),
        greedy=course.greedy,
        states=course.states,
        actions=course.actions,
    )


def solved_returns(mdp: TabularMDP, greedy: NDArray[np.uint64], discount: float) -> FloatArray:
    """Return V^π from the start for each recorded greedy policy, uniform over its best actions."""
    returns = np.zeros(len(greedy))
    for i, sets in enumerate(greedy):
        if i > 0 and np.array_equal(sets, greedy[i - 1]):
            returns[i] = returns[i - 1]
            continue
        chosen = (sets[:, None] >> np.arange(mdp.n_actions, dtype=np.uint64)) & np.uint64(1)
        policy = chosen / chosen.sum(axis=1, keepdims=True)
        returns[i] = mdp.start @ policy_value(mdp, policy, discount)
    return returns
