"""The agents of the toy example (Section 3): tables trained to their fixed points on given transitions.

The paper denotes cells as (column, row from the bottom); `cell` takes this form.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from wanderlust import Agent, World, make_world
from wanderlust.core.mdp import FloatArray

LEFT, RIGHT, UP, DOWN = range(4)
ACTION_NAMES = ("left", "right", "up", "down")


def cell(column: int, row_from_bottom: int) -> int:
    """Return the index of the state that the paper denotes as (column, row from the bottom)."""
    return 3 * (3 - row_from_bottom) + column - 1


START, PRISON, SMALL_TREASURE, LARGE_TREASURE = cell(1, 3), cell(2, 2), cell(1, 1), cell(3, 1)
VISITED = (START, cell(1, 2), SMALL_TREASURE, cell(2, 3), PRISON)
EPISODES = (
    (LEFT, DOWN, LEFT, DOWN, DOWN),
    (UP, DOWN, RIGHT, RIGHT, RIGHT),
    (RIGHT, LEFT, RIGHT, DOWN, DOWN),
    (RIGHT, DOWN, LEFT, UP, RIGHT),
)
"""The four episodes of Section 3.1."""
UNVISITED = (START, LEFT)
"""The only state-action pair without a visit, in Section 3.3."""
DISCOUNT = 0.99

_SWEEPS = 3000


def new_agent(explorer: str, world: World, *, gamma_w: float = DISCOUNT) -> Agent:
    """Return an agent for a world."""
    return Agent(
        explorer,
        n_states=world.n_states,
        n_actions=world.n_actions,
        reward_range=(0.0, 2.0),
        discount=DISCOUNT,
        learning_rate=1.0,
        gamma_w=gamma_w,
    )


def converge(agent: Agent, sweeps: int = _SWEEPS) -> Agent:
    """Train all tables to their fixed points on the agent's replay memory.

    With γ = 0.99 and a learning rate of 1 each sweep multiplies the distance to the fixed point by 0.99, in total by
    1e-13.
    """
    agent.replay(sweeps)
    return agent


def observe_episode(agent: Agent, world: World, actions: Sequence[int], start: int = START) -> None:
    """Pass the transitions of one episode to an agent."""
    mdp, state = world.mdp, start
    for i, action in enumerate(actions):
        next_state, terminated = int(mdp.next_state[state, action, 0]), bool(mdp.terminal[state, action, 0])
        last = i == len(actions) - 1
        reward = float(mdp.reward[state, action, 0])
        agent.observe(state, action, reward, next_state, terminated, last and not terminated)
        assert last or not terminated
        state = next_state


def observe_all(agent: Agent, world: World, times: int = 1, skip: Collection[tuple[int, int]] = ()) -> None:
    """Pass the transition of every state-action pair of a deterministic world to an agent, except `skip`."""
    mdp = world.mdp
    for state, action in np.ndindex(mdp.n_states, mdp.n_actions):
        for _ in range(0 if (state, action) in skip else times):
            at = (state, action, 0)
            agent.observe(state, action, float(mdp.reward[at]), int(mdp.next_state[at]), bool(mdp.terminal[at]))


def scores(agent: Agent, state: int) -> FloatArray:
    """Return [action]: the values that the behaviour policy maximises in a state."""
    return np.array([reason.score for reason in agent.explain(state).actions])


def policy_scores(explorer: str, agent: Agent, n_states: int) -> FloatArray:
    """Return [state, action]: the values that the explorer, or the greedy policy, maximises."""
    if explorer == "greedy":
        return agent.tables["target"]
    return np.stack([scores(agent, state) for state in range(n_states)])


def after_four_episodes(explorer: str) -> tuple[FloatArray, FloatArray]:
    """Return the visit counts after the four episodes, and the converged values of a policy."""
    world = make_world("toy-example")
    agent = new_agent("ucb1" if explorer == "greedy" else explorer, world)
    for actions in EPISODES:
        observe_episode(agent, world, actions)
    counts = agent.visits.astype(float)
    return counts, policy_scores(explorer, converge(agent), world.n_states)


def after_uniform_visits(
    explorer: str, *, terminal: bool, skip: Collection[tuple[int, int]] = (UNVISITED,)
) -> FloatArray:
    """Return the converged values of a policy when all pairs except `skip` were visited once."""
    world = make_world("toy-example", terminal=terminal)
    agent = new_agent("ucb1" if explorer == "greedy" else explorer, world)
    observe_all(agent, world, skip=set(skip))
    return policy_scores(explorer, converge(agent), world.n_states)


def after_visits(explorer: str, gamma_w: float, times: int, skip: Collection[tuple[int, int]]) -> Agent:
    """Return a converged agent that visited every pair so many times, except `skip`."""
    world = make_world("toy-example")
    agent = new_agent(explorer, world, gamma_w=gamma_w)
    observe_all(agent, world, times, set(skip))
    return converge(agent)


def best(values: FloatArray) -> set[int]:
    """Return the best actions, with a tolerance for rounding."""
    return set(np.flatnonzero(values >= values.max() - 1e-7).tolist())
