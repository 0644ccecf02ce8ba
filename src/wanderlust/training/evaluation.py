"""Evaluation of the greedy policy, after or during training."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from gymnasium import Env
from numpy.typing import NDArray

from wanderlust.agents.agent import Agent
from wanderlust.agents.settings import MAX_EPISODES
from wanderlust.core.errors import InvalidEnvironment, InvalidSetting, check_integer
from wanderlust.environments.make import make_environment
from wanderlust.environments.tabular import Tabular, remake_environment, tabular
from wanderlust.training.loop import call_environment, checked_reward

MAX_EPISODE_STEPS = 10_000


def evaluate(
    agent: Agent, env: Env[Any, Any] | str | None = None, *, episodes: int = 10, seed: int = 0
) -> NDArray[np.float64]:
    """Return the undiscounted returns of episodes of the greedy policy. The agent does not learn from them.

    `env` is an environment like the one that the agent was trained in, or its name; if it is not given, a new one is
    made. Ties are broken at random. Episodes are truncated after 10,000 steps.
    """
    env = evaluation_env(agent, env)
    random = np.random.default_rng(check_integer("seed", seed, low=0))
    returns = np.zeros(check_integer("episodes", episodes, low=1, high=MAX_EPISODES))
    for i in range(len(returns)):
        returns[i] = run_episode(agent, env, i + 1, seed if i == 0 else None, random).total
    return returns


def evaluation_env(agent: Agent, env: Env[Any, Any] | str | None = None) -> Tabular:
    """Return an environment whose states have the indices that they have for the agent."""
    if agent.encoding is None:
        if env is None:
            raise InvalidSetting("evaluate needs env: this agent was not trained by `learn`, so it has no environment.")
        return _with_sizes_of(agent, env if isinstance(env, Tabular) else tabular(env))
    if env is None:
        return agent.env.copy() if agent.env is not None else _encoded(remake_environment(agent.environment), agent)
    if not isinstance(env, Tabular):
        return _encoded(make_environment(env), agent)
    difference = agent.encoding.difference(env.encoding)
    if difference is not None:
        raise InvalidEnvironment(f"the agent was trained in another environment: for the agent, {difference}.")
    return env if env.encoding is agent.encoding else _encoded(env.env, agent)


def _with_sizes_of(agent: Agent, env: Tabular) -> Tabular:
    """Return an environment if it has the agent's numbers of states and actions."""
    sizes = (("actions", agent.n_actions, env.n_actions), ("states", agent.n_states, env.fixed_n_states))
    for what, here, there in sizes:
        if here is not None and there is not None and here != there:
            raise InvalidEnvironment(f"the agent has {here:,} {what}, but {env.name} has {there:,}.")
    return env


def _encoded(env: Env[Any, Any], agent: Agent) -> Tabular:
    saved = agent.environment or {}
    encoded = Tabular(env, encoding=agent.encoding, reset_seed=saved.get("reset_seed"))
    encoded.adds_new_states = False
    return encoded


class Episode(NamedTuple):
    """One episode of the greedy policy."""

    total: float
    """The undiscounted return."""
    had_tie: bool
    """Whether an action was drawn from several greedy ones."""


def run_episode(
    agent: Agent,
    env: Tabular,
    number: int,
    seed: int | None,
    random: np.random.Generator,
    remaining_return: Callable[[int, list[float]], float | None] | None = None,
) -> Episode:
    """Run one episode of the greedy policy.

    If a state repeats, `remaining_return`, if given, is called with the step and the rewards since then, and returns
    the return of all further steps, or None if it does not know it.
    """
    where = f"of evaluation episode {number} (after {agent.steps:,} training steps)"
    total, had_tie = 0.0, False
    rewards: list[float] = []
    last_step: dict[int, int] = {}
    state, _ = call_environment(env, lambda: env.reset(seed=seed), lambda: f"reset {where}")
    for step in range(1, MAX_EPISODE_STEPS + 1):
        if remaining_return is not None and not had_tie:
            if state in last_step and (rest := remaining_return(step, rewards[last_step[state] :])) is not None:
                return Episode(total + rest, had_tie)
            last_step[state] = len(rewards)
        action, is_tie = _greedy_action(agent, state, random)
        had_tie |= is_tie
        take_step = partial(_transition, env, action)
        state, reward, is_over = call_environment(env, take_step, partial("step {} {}".format, step, where))
        rewards.append(reward)
        total += reward
        if is_over:
            break
    return Episode(total, had_tie)


def _transition(env: Tabular, action: int) -> tuple[int, float, bool]:
    state, reward, terminated, truncated, _ = env.step(action)
    return state, checked_reward(reward), bool(terminated or truncated)


def _greedy_action(agent: Agent, state: int, random: np.random.Generator) -> tuple[int, bool]:
    """Return a greedy action, and whether it was drawn from several."""
    values = agent.action_values(state)
    best = np.flatnonzero(values == values.max())
    return (int(best[0]), False) if len(best) == 1 else (int(random.choice(best)), True)
