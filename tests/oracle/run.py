"""The outer loop of every algorithm: episodes until the end of the budget, with regular evaluations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle.field import EXPLORERS
from oracle.learning import QLearning
from oracle.memory import Transition
from oracle.random_stream import RandomStream
from wanderlust.agents.settings import resolve
from wanderlust.worlds import World


@dataclass
class SlowRecord:
    """The results of a run, in the same arrays as the record of `wanderlust.train`."""

    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    visits: NDArray[np.int64]
    first_visit: NDArray[np.int64]
    discovered: NDArray[np.int64]
    returns: NDArray[np.float64]
    """Empty in a stochastic world, where one rollout does not give the expected return."""
    tables: dict[str, NDArray[np.float64]]


def train_slowly(
    world: World,
    explorer: str,
    *,
    seed: int,
    preset: str = "as_written",
    replays: int = 0,
    masks: Any = None,
    **changes: Any,
) -> SlowRecord:
    """Run an explorer in a world; the arguments are those of `wanderlust.train`.

    After every tenth step the memory is replayed `replays` times. `masks` are the valid actions, [state, action].
    """
    settings, options = resolve(world, explorer, preset, changes)
    agent = EXPLORERS[explorer](world, settings, options, seed)
    world_random, evaluation_random = RandomStream(seed, "world"), RandomStream(seed, "evaluation")
    states: list[int] = []
    actions: list[int] = []
    discovered: list[int] = []
    returns: list[float] = []
    while agent.i < settings.run_length:
        s = reset(world, world_random)
        agent.begin_episode()
        agent.visit(s)
        last = agent.i + settings.horizon
        for _ in range(settings.horizon):
            if masks is not None:
                agent.restrict(s, masks[s])
            a = agent.choose(s)
            s_next, r, terminal = step(world, s, a, world_random)
            if not terminal:
                agent.visit(s_next)
            states.append(s)
            actions.append(a)
            agent.observe(Transition(s, a, r, s_next, terminal))
            if replays and agent.i % 10 == 0:
                agent.replay(replays)
            if agent.i % settings.evaluate_every == 0:
                discovered.append(len(set(states)))
                if world.mdp.deterministic:
                    returns.append(greedy_return(agent, evaluation_random))
            if terminal or agent.i == settings.run_length:
                break
            s = s_next
    if terminal or agent.i == last:  # The next episode begins, without a step.
        agent.begin_episode()
    return SlowRecord(
        states=np.array(states),
        actions=np.array(actions),
        visits=np.array(agent.n),
        first_visit=np.array([states.index(s) if s in states else -1 for s in range(world.n_states)]),
        discovered=np.array(discovered),
        returns=np.array(returns),
        tables={name: np.array(values) for name, values in agent.tables().items()},
    )


def reset(world: World, random: RandomStream) -> int:
    """Return the initial state; a random number is drawn only if there are several."""
    starts = np.flatnonzero(world.mdp.start)
    return int(starts[0] if len(starts) == 1 else starts[random.sample(world.mdp.start[starts].tolist())])


def step(world: World, s: int, a: int, random: RandomStream) -> tuple[int, float, bool]:
    """Return next state, reward and terminal; a random number is drawn only if several outcomes are possible."""
    mdp = world.mdp
    k = 0 if mdp.n_outcomes == 1 else random.sample(mdp.probability[s, a].tolist())
    return int(mdp.next_state[s, a, k]), float(mdp.reward[s, a, k]), bool(mdp.terminal[s, a, k])


def greedy_return(agent: QLearning, random: RandomStream) -> float:
    """Return the expected discounted return of the greedy policy; only the initial state may be stochastic."""
    world, settings = agent.world, agent.settings
    mdp, Q = world.mdp, agent.evaluated_table().values
    expected = 0.0
    for start in np.flatnonzero(mdp.start):
        s, discounted_return, weight = int(start), 0.0, 1.0
        for _ in range(settings.rollout_length):
            a = random.argmax(Q[s])
            k = int(np.argmax(mdp.probability[s, a]))
            discounted_return += weight * float(mdp.reward[s, a, k])
            weight *= settings.discount
            if mdp.terminal[s, a, k]:
                break
            s = int(mdp.next_state[s, a, k])
        expected += float(mdp.start[start]) * discounted_return
    return expected
