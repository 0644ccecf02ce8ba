"""The summary that `train` prints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wanderlust.agents.agent import Agent
from wanderlust.core.errors import counted
from wanderlust.experiments.environment_run import evaluation_env
from wanderlust.training.adaptive import TimePenalty
from wanderlust.training.callbacks import Callback
from wanderlust.training.evaluation import evaluate
from wanderlust.training.loop import TrainingLoop, call_environment

if TYPE_CHECKING:
    from wanderlust.cli.train import TrainOptions


class TrainingStatistics(Callback):
    """Records the first positive reward, the first termination, the number of episodes and the time penalty."""

    def __init__(self) -> None:
        self.episodes = 0
        self.recent_returns: list[float] = []
        self.first_reward: int | None = None
        self.first_termination: int | None = None
        self.time_penalty = TimePenalty()

    def on_step(self, loop: TrainingLoop) -> None:
        """Record the first positive reward and the first termination."""
        if self.first_reward is None and loop.reward > 0:
            self.first_reward = loop.step
        if self.first_termination is None and loop.terminated:
            self.first_termination = loop.step

    def on_end(self, loop: TrainingLoop) -> None:
        """Record the number of episodes and the time penalty."""
        self.episodes = loop.episode
        self.recent_returns = list(loop.recent_returns)
        self.time_penalty = loop.time_penalty or self.time_penalty


def print_summary(agent: Agent, statistics: TrainingStatistics, options: TrainOptions, *, saved: Path | None) -> None:
    """Evaluate the greedy policy and print the summary."""
    env = agent.env
    low, high = agent.reward_range
    eval_env = call_environment(env, lambda: evaluation_env(env), lambda: "its copy for evaluation")
    returns = evaluate(agent, eval_env, episodes=options.episodes)
    spread = f", from {returns.min():.6g} to {returns.max():.6g}" if np.ptp(returns) else ""
    n_episodes = counted(statistics.episodes, "episode")
    print(f"trained    {env.name} with {agent.explorer}, {counted(agent.steps, 'step')}, {n_episodes}")
    print(f"preset     {agent.preset}")
    if agent.steps > agent.settings.budget:
        budget = counted(agent.settings.budget, "step")
        print(f"budget     {budget}; later steps explored as at its end (--set budget={agent.steps} extends it)")
    known = "encountered (with terminal states)" if env.fixed_n_states is None else "in the observation space"
    print(f"states     {agent.discovered:,} acted in, {env.n_states:,} {known}")
    print(f"rewards    {low:g} to {high:g} per step; {_first_events(statistics, resumed=options.resume is not None)}")
    if statistics.time_penalty.detected:
        print(f"penalty    {statistics.time_penalty.describe()}")
    if statistics.recent_returns:
        latest = f"mean of the last {counted(len(statistics.recent_returns), 'training episode')}"
        print(f"exploring  return {np.mean(statistics.recent_returns):.6g}, {latest}")
    mean = f"mean of {counted(len(returns), 'evaluation episode')}{spread}"
    print(f"greedy     return {returns.mean():.6g}, {mean}")
    if saved is not None:
        print(f"saved      {saved}; continue with --resume, inspect with `wanderlust explain`")
    for label, path in (("log", options.log), ("events", options.tensorboard)):
        if path is not None:
            print(f"{label:<10} {path}")
    sys.stdout.flush()
    call_environment(env, eval_env.close, lambda: "close after evaluation")


def _first_events(statistics: TrainingStatistics, *, resumed: bool) -> str:
    since = " since resuming" if resumed else ""
    if statistics.first_reward is not None:
        return f"first positive reward{since} at step {statistics.first_reward:,}"
    if statistics.first_termination is not None:
        return f"no positive reward{since}; first terminated episode at step {statistics.first_termination:,}"
    return f"no positive reward and no terminated episode{since}"
