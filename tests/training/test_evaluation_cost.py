"""Evaluations during training leave out the steps whose result is known, and give the same returns."""

import gymnasium as gym
import numpy as np
import pytest

import corridor
import wanderlust as wl
from wanderlust.experiments.comparison import Threshold, steps_to_solve
from wanderlust.experiments.run import Run


class Corridor(corridor.Corridor):
    """Six cells and costs, without a time limit of its own."""

    def __init__(self, length=6, *, step_reward=-1.0, limit=None, **options):
        super().__init__(length, step_reward=step_reward, limit=limit, **options)


class Plain(wl.Callback):
    """Evaluates with `wl.evaluate`, every time and with all episodes."""

    def __init__(self, every, episodes):
        self.every, self.episodes, self.means = every, episodes, []

    def on_start(self, loop):
        self.env = loop.env.copy()

    def on_step(self, loop):
        if loop.step % self.every == 0:
            self.means.append(wl.evaluate(loop.agent, self.env, episodes=self.episodes).mean())


def limited(limit=60, **options):
    return gym.wrappers.TimeLimit(Corridor(**options), limit)


@pytest.mark.parametrize(
    "make",
    [
        limited,
        lambda: limited(step_reward=0.0),
        lambda: limited(slip=0.2),
        lambda: limited(starts=3),
        lambda: limited(noise=0.5),
        lambda: gym.wrappers.TimeLimit(Corridor(limit=25), 200),
        lambda: wl.tabular(limited(slip=0.2), reset_seed=3),
    ],
    ids=["deterministic", "no step reward", "slips", "several starts", "noisy rewards", "own limit", "reset seed"],
)
def test_returns_are_those_of_plain_evaluations(make):
    plain, cheap = Plain(20, 5), wl.EvaluateEvery(20, episodes=5)
    wl.learn(make(), "vv-ucb", steps=600, seed=1, callbacks=[plain], quiet=True, preset="as_written")
    wl.learn(make(), "vv-ucb", steps=600, seed=1, callbacks=[cheap], quiet=True, preset="as_written")
    assert [each.mean for each in cheap.history] == pytest.approx(plain.means, abs=1e-9)


def test_evaluations_take_few_steps():
    steps = {}
    for name, callback in (("none", None), ("plain", Plain(20, 10)), ("cheap", wl.EvaluateEvery(20, episodes=10))):
        corridor.Corridor.total_steps = 0
        wl.learn(limited(), "ucb1", steps=600, seed=0, callbacks=[callback] if callback else [], quiet=True)
        steps[name] = corridor.Corridor.total_steps
    assert steps["none"] == 600
    assert (steps["plain"] - 600) > 5 * (steps["cheap"] - 600)


class Clock(gym.Wrapper):
    """Its terminal reward depends on the time."""

    def step(self, action):
        state, _, terminated, truncated, info = self.env.step(action)
        return state, 1.0 - 0.01 * self.unwrapped.t if terminated else 0.0, terminated, truncated, info


@pytest.mark.parametrize(
    ("make", "steps", "expected"),
    [
        (limited, 400, True),
        (lambda: limited(slip=0.2), 400, False),
        (lambda: limited(noise=0.1), 400, False),
        (lambda: limited(starts=3), 400, False),
        (limited, 10, False),
        (lambda: Clock(limited(length=4)), 400, True),
    ],
    ids=["deterministic", "slips", "noisy rewards", "several starts", "few steps", "reward depends on time"],
)
def test_what_training_shows_of_an_environment(make, steps, expected):
    assert outcomes_of(make(), steps).is_deterministic == expected


def outcomes_of(env, steps=400):
    evaluation = wl.EvaluateEvery(10**6)
    wl.learn(env, "random", steps=steps, seed=0, callbacks=[evaluation], quiet=True)
    return evaluation.evaluator.dynamics


def test_the_sets_and_ranges_that_training_shows():
    assert outcomes_of(limited(starts=3)).starts == {0, 1, 2}
    assert outcomes_of(Clock(limited(length=4))).stochastic_pairs
    truncated = outcomes_of(gym.wrappers.TimeLimit(Corridor(12, limit=9), 50))
    assert (truncated.shortest_truncation, truncated.return_range) == (9, (-9.0, -9.0))


def test_steps_to_solve_are_finer_than_the_curves():
    run = Run(
        kind="environment",
        world="FrozenLake-v1",
        world_options={"is_slippery": False},
        explorer="vv-ucb",
        settings={"steps": 1_000, "evaluate_every": 500},
    )
    result = run.train()
    assert result.steps.tolist() == [500, 1_000]
    assert result.returns.tolist() == [1.0, 1.0]
    solved = steps_to_solve(result, Threshold(1.0, ""))
    assert solved < 500
    assert solved % 50 == 0
    assert (np.diff(result.improvements, axis=0) > 0).all()
    assert steps_to_solve(result._replace(improvements=np.zeros(0)), Threshold(1.0, "")) == 500
