"""Training in any Gymnasium environment.

    agent = wl.learn("FrozenLake-v1", "vv-ucb", steps=50_000, seed=0, callbacks=[wl.ProgressBar()])
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gymnasium import Env

from wanderlust.agents.agent import Agent
from wanderlust.agents.settings import MAX_STEPS
from wanderlust.core.errors import (
    EnvironmentFailed,
    InvalidSetting,
    WanderlustError,
    check_flag,
    check_integer,
    check_number,
)
from wanderlust.envs.grids import description_of
from wanderlust.envs.saved import saved_environment
from wanderlust.envs.tabular import Tabular, tabular
from wanderlust.training import checkpoints
from wanderlust.training.adaptive import adapted_options, builtin_world, may_be_deterministic, settings_for
from wanderlust.training.callbacks import Callback, Checkpoint
from wanderlust.training.idle_actions import IdleActions
from wanderlust.training.interruption import DeferredSignals
from wanderlust.training.loop import MAX_REWARD, TrainingLoop
from wanderlust.training.paths import checked_path
from wanderlust.training.time_penalty import TimePenalty

NO_REWARDS = (0.0, 0.0)


def learn(
    env: Env[Any, Any] | str,
    explorer: str | type | None = None,
    *,
    steps: int,
    seed: int | None = None,
    callbacks: Iterable[Callback] = (),
    reward_range: tuple[float, float] | None = None,
    resume: str | Path | None = None,
    save: str | Path | None = None,
    adapt: bool = True,
    quiet: bool = False,
    new_episode: bool = False,
    **changes: Any,
) -> Agent:
    """Train an agent in an environment until it has taken `steps` steps in total, and return it.

    `env` is a Gymnasium environment or its name; wrap it with `wl.tabular` if its observations are not discrete. The
    default explorer is "vv-ucb". `changes` are settings (see `Settings`) and options of the explorer.

    `reward_range`, the minimum and maximum reward of a step, sets the scale of exploration. If not given, it is
    estimated from the observed rewards and reported on standard error, unless `quiet`. With vv-ucb the initial W, γ_w
    and κ are the paper's until an action has two different outcomes; then they are adapted to a stochastic environment.
    Until then, except in built-in worlds and with bins, there are several sweeps after every step (`sweeps=1` as in the
    paper) and actions that mostly leave the state unchanged are tried last. If terminal rewards decrease with every
    step of the episode, the agent learns from them without this penalty. `adapt=False` turns these changes off, except
    for the sweeps and the estimated reward range.

    `resume` continues from a file written by `Checkpoint` or `save` exactly as if training had not been interrupted:
    settings, explorer and seed are those of the file, and `steps` includes the steps before. `save` writes such a file
    at the end, also after an error. If the environment fails again at the same step of the restored episode,
    `new_episode=True` resumes with a new episode. An error during training has the agent trained so far as
    `error.agent`.

    Ctrl-C raises `KeyboardInterrupt` after the current step, a second Ctrl-C at once. Rewards are numbers from -1e100
    to 1e100.
    """
    steps = check_integer("steps", steps, low=1, high=MAX_STEPS)
    adapt, quiet = check_flag("adapt", adapt), check_flag("quiet", quiet)
    if new_episode and resume is None:
        raise InvalidSetting("new_episode=True needs resume: without it, every training begins with a new episode.")
    all_callbacks = _checked_callbacks(callbacks)
    if save is not None:
        all_callbacks.append(Checkpoint(checked_path("save", save)))
    tabular_env = env if isinstance(env, Tabular) else tabular(env)
    if resume is None:
        loop = _new_loop(tabular_env, explorer, steps, seed, reward_range, adapt, changes)
        first_seed: int | None = loop.agent.seed
    else:
        _reject_with_resume({"seed": seed, "reward_range": reward_range, **changes})
        new_episode = check_flag("new_episode", new_episode)
        loop, first_seed = _resumed_loop(tabular_env, checked_path("resume", resume), explorer, steps, new_episode)
    loop.agent.env, loop.agent.encoding = tabular_env, tabular_env.encoding
    loop.agent.environment = saved_environment(tabular_env)
    loop.agent.layout, loop.agent.action_names = description_of(tabular_env)
    try:
        _run(loop, all_callbacks, first_seed)
    except BaseException as error:
        _add_agent(error, loop)
        raise
    if not quiet:
        for sentence in _notices(loop):
            print(f"wanderlust: {sentence}", file=sys.stderr)
    return loop.agent


def _checked_callbacks(callbacks: Any) -> list[Callback]:
    listed = list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]
    wrong = [callback for callback in listed if not isinstance(callback, Callback)]
    if wrong or not isinstance(callbacks, Iterable):
        got = wrong[0] if wrong else callbacks
        raise InvalidSetting(f"callbacks must be a list of instances of wanderlust.Callback, got {got!r}.")
    return listed


def _add_agent(error: BaseException, loop: TrainingLoop) -> None:
    """Give an error the agent trained so far."""
    error.agent = loop.agent  # type: ignore[attr-defined]
    error.add_note("The agent trained so far is the attribute `agent` of this error.")
    if not loop.between_steps:
        error.add_note(
            "It was interrupted while it learned from a step, so that it could not be saved for resuming; earlier "
            "checkpoints are unchanged."
        )


def _resumed_loop(
    env: Tabular, path: Path, explorer: str | type | None, steps: int, new_episode: bool
) -> tuple[TrainingLoop, int | None]:
    try:
        cls = _class_with_resume(explorer, path)
        return checkpoints.load(env, path, cls, steps=steps, new_episode=new_episode)
    except WanderlustError:
        raise
    except Exception as error:
        raise EnvironmentFailed(
            f"{env.name} failed while the episode of {path} was replayed with {type(error).__name__}: {error}."
        ) from error


def _new_loop(
    env: Tabular,
    explorer: str | type | None,
    steps: int,
    seed: int | None,
    reward_range: tuple[float, float] | None,
    adapt: bool,
    changes: dict[str, Any],
) -> TrainingLoop:
    explorer = "vv-ucb" if explorer is None else explorer
    settings, options = settings_for(env, explorer, steps, changes)
    for reward in settings.problem(env.n_actions, NO_REWARDS if reward_range is None else reward_range).reward_range:
        check_number("a reward of reward_range", reward, low=-MAX_REWARD, high=MAX_REWARD)
    agent = Agent(
        explorer,
        n_actions=env.n_actions,
        n_states=env.fixed_n_states,
        reward_range=NO_REWARDS if reward_range is None else reward_range,
        seed=0 if seed is None else seed,
        settings=settings,
        **options,
    )
    adapt = adapt and builtin_world(env) is None
    names = adapted_options(explorer, changes) if adapt else ()
    loop = TrainingLoop(env, agent, steps=steps, estimates_reward_range=reward_range is None, adapted_options=names)
    if adapt:
        loop.time_penalty = TimePenalty()
    if "initial_bound" in names and may_be_deterministic(env):
        loop.idle_actions = IdleActions(env.n_actions)
    return loop


def _run(loop: TrainingLoop, callbacks: list[Callback], seed: int | None) -> None:
    """Train until the last step or until a callback stops it; `on_end` is called in any case."""
    started: list[Callback] = []
    with DeferredSignals() as signals:
        try:
            for callback in callbacks:
                started.append(callback)
                callback.on_start(loop)
            _take_steps(loop, callbacks, seed, signals)
        finally:
            with contextlib.ExitStack() as stack:  # Calls all of them, also after one that raises, last added first.
                for callback in reversed(started):
                    stack.callback(callback.on_end, loop)


def _take_steps(loop: TrainingLoop, callbacks: list[Callback], seed: int | None, signals: DeferredSignals) -> None:
    on_step = [callback.on_step for callback in callbacks if _overrides(callback, "on_step")]
    on_episode_end = [c.on_episode_end for c in callbacks if _overrides(c, "on_episode_end")]
    while loop.step < loop.steps:
        if loop.episode_over:
            loop.begin_episode(seed)
            seed = None
        loop.take_step()
        proceed = _call(on_step, loop)
        if loop.episode_over:
            proceed = _call(on_episode_end, loop) and proceed
        if not proceed:
            break
        signals.deliver()


def _call(methods: Sequence[Callable[[TrainingLoop], bool | None]], loop: TrainingLoop) -> bool:
    proceed = True
    for method in methods:
        proceed = method(loop) is not False and proceed
    return proceed


def _overrides(callback: Callback, name: str) -> bool:
    return getattr(type(callback), name) is not getattr(Callback, name)


def _class_with_resume(explorer: str | type | None, path: Path) -> type | None:
    if isinstance(explorer, str):
        raise InvalidSetting(
            f"resume={str(path)!r} uses the explorer of that file; remove {explorer!r} (only a user-defined explorer "
            "must be given, as a class)."
        )
    return explorer


def _reject_with_resume(arguments: dict[str, Any]) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InvalidSetting(f"resume uses the settings of its file; remove {name}={value!r}.")


def _notices(loop: TrainingLoop) -> Iterator[str]:
    if loop.estimates_reward_range:
        yield _reward_range_notice(loop)
    if loop.time_penalty is not None and loop.time_penalty.detected:
        yield f"{loop.time_penalty.describe()} (adapt=False keeps the penalty)."


def _reward_range_notice(loop: TrainingLoop) -> str:
    low, high = loop.agent.reward_range
    if (low, high) == NO_REWARDS:
        return "all rewards were 0; exploration was scaled to a maximum reward of 1."
    return (
        f"observed rewards from {low:g} to {high:g}; exploration was scaled to this range. "
        f"reward_range=({low:g}, {high:g}) would use it from the first step."
    )
