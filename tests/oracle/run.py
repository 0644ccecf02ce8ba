"""The outer lines of every algorithm: episodes until the budget is spent, with an evaluation now and then."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle.chance import Chance
from oracle.explorers import EXPLORERS
from oracle.learning import QLearning
from oracle.memory import Transition
from wanderlust.agents.presets import resolve
from wanderlust.worlds import World


@dataclass
class SlowRecord:
    """What came of a run, in arrays as `wanderlust.train` gives them."""

    states: NDArray[np.int64]
    actions: NDArray[np.int64]
    visits: NDArray[np.int64]
    first_visit: NDArray[np.int64]
    discovered: NDArray[np.int64]
    returns: NDArray[np.float64]
    """Empty in a stochastic world, where no rollout gives the expected return."""
    tables: dict[str, NDArray[np.float64]]


def train_slowly(world: World, explorer: str, *, seed: int, preset: str = "as_written", **changes: Any) -> SlowRecord:
    """Run an explorer in a world; the arguments are those of `wanderlust.train`."""
    settings, options = resolve(world, explorer, preset, changes)
    agent = EXPLORERS[explorer](world, settings, options, seed)
    world_chance, evaluation_chance = Chance(seed, "world"), Chance(seed, "evaluation")
    states: list[int] = []
    actions: list[int] = []
    discovered: list[int] = []
    returns: list[float] = []
    while agent.i < settings.run_length:
        s = reset(world, world_chance)
        agent.begin_episode()
        agent.meet(s)
        for _ in range(settings.horizon):
            a = agent.choose(s)
            s_next, r, terminal = step(world, s, a, world_chance)
            if not terminal:
                agent.meet(s_next)
            states.append(s)
            actions.append(a)
            agent.observe(Transition(s, a, r, s_next, terminal))
            if agent.i % settings.evaluate_every == 0:
                discovered.append(len(set(states)))
                if world.mdp.deterministic:
                    returns.append(greedy_return(agent, evaluation_chance))
            if terminal or agent.i == settings.run_length:
                break
            s = s_next
    return SlowRecord(
        states=np.array(states),
        actions=np.array(actions),
        visits=np.array(agent.n),
        first_visit=np.array([states.index(s) if s in states else -1 for s in range(world.n_states)]),
        discovered=np.array(discovered),
        returns=np.array(returns),
        tables={name: np.array(values) for name, values in agent.tables().items()},
    )


def reset(world: World, chance: Chance) -> int:
    """Return where an episode starts; only a choice takes a random number."""
    starts = np.flatnonzero(world.mdp.start)
    return int(starts[0] if len(starts) == 1 else starts[chance.pick(world.mdp.start[starts].tolist())])


def step(world: World, s: int, a: int, chance: Chance) -> tuple[int, float, bool]:
    """Return the next state, the reward, and whether it is over; only a choice takes a random number."""
    mdp = world.mdp
    k = 0 if mdp.n_outcomes == 1 else chance.pick(mdp.probability[s, a].tolist())
    return int(mdp.next_state[s, a, k]), float(mdp.reward[s, a, k]), bool(mdp.terminal[s, a, k])


def greedy_return(agent: QLearning, chance: Chance) -> float:
    """Return what the greedy policy can expect to collect in a world whose start alone is left to chance."""
    world, settings = agent.world, agent.settings
    mdp, Q = world.mdp, agent.evaluated().values
    expected = 0.0
    for start in np.flatnonzero(mdp.start):
        s, gain, weight = int(start), 0.0, 1.0
        for _ in range(settings.rollout_length):
            a = chance.argmax(Q[s])
            k = int(np.argmax(mdp.probability[s, a]))
            gain += weight * float(mdp.reward[s, a, k])
            weight *= settings.discount
            if mdp.terminal[s, a, k]:
                break
            s = int(mdp.next_state[s, a, k])
        expected += float(mdp.start[start]) * gain
    return expected
