"""Training in any Gymnasium environment.

agent = wl.learn("FrozenLake-v1", "vv-ucb", steps=50_000, seed=0, callbacks=[wl.ProgressBar()])
"""

from __future__ import annotations

import contextlib
import functools
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array

from wanderlust.agents.agent import ACTION_MASKS, Agent
from wanderlust.agents.settings import ADAPTIVE, MAX_STEPS
from wanderlust.core.errors import InvalidSetting, check_flag, check_integer, check_list, check_number, shown
from wanderlust.core.files import check_path
from wanderlust.environments.tabular import ENCODER_OPTIONS, Tabular, saved_environment, tabular
from wanderlust.environments.vector import SubEnvironment, entry_of, info_of
from wanderlust.training import checkpoints
from wanderlust.training.adaptive import TimePenalty, adapt, adapted_fields, chosen_preset, settings_for
from wanderlust.training.callbacks import Callback, Checkpoint
from wanderlust.training.loop import MAX_REWARD, TrainingLoop, call_environment
from wanderlust.training.memory import TrainingGuard

NO_REWARDS = (0.0, 0.0)
POSITION = (
    "next_state", "info", "episode_return", "episode_steps", "episode_over", "episode_start", "episode_actions",
    "terminated", "truncated",
)  # fmt: skip
"""The fields of a loop that each environment has for itself."""
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask a process to stop; Windows has no SIGHUP."""


def learn(
    env: Env[Any, Any] | VectorEnv[Any, Any, Any] | str,
    explorer: str | type | None = None,
    *,
    steps: int,
    seed: int | None = None,
    callbacks: Iterable[Callback] = (),
    reward_range: tuple[float, float] | None = None,
    resume: str | Path | Agent | None = None,
    save: str | Path | None = None,
    preset: str | None = None,
    quiet: bool = False,
    new_episode: bool = False,
    action_masks: bool = False,
    **changes: Any,
) -> Agent:
    """Train an agent in an environment until it has taken `steps` steps in total, and return it.

    `env` is a Gymnasium environment or its name; wrap it with `wl.tabular` if its observations are not discrete. It may
    be a `VectorEnv` with Gymnasium's default autoreset mode: the agent then acts in several environments in turn, and
    each of their steps counts; there are no checkpoints. The default explorer is "vv-ucb". `changes` are settings (see
    `Settings`) and options of the explorer.

    `reward_range`, the minimum and maximum reward of a step, sets the scale of exploration. If not given, it is
    estimated from the observed rewards and reported on standard error, unless `quiet`.

    `preset` is "as_written" (the paper's text), "as_published_code" (the authors' code) or "adaptive", which starts as
    the paper's text and adapts to the task (docs/settings.md). The default is "adaptive", in built-in worlds
    "as_written". One more option has a name: `remove_time_penalty`, by default True with "adaptive" and False
    otherwise, learns from terminal rewards without the part that decreases with the steps of the episode.

    Schedules (ε, and with "adaptive" the weight and the reach of exploration) are functions of `budget`, a number of
    steps; it is `steps` if not given. `save` writes a checkpoint at the end, also after an error; so does the callback
    `Checkpoint`. `resume` continues from such a file, from a file of `agent.save`, or from an agent, which is not
    changed, with its settings, explorer, seed and budget; `steps` includes the steps before. The result is the same,
    bit for bit, as that of one training of `steps` steps with the first budget. After the budget, ε decays further and
    the other schedules keep their last values. A larger `budget` given with `resume` applies from there on: exploration
    increases again, and the result is not that of one training. An agent that another loop has trained goes on with
    its range of rewards, and nothing is estimated.

    With `action_masks`, only valid actions are taken: those of `info["action_mask"]`, or of the environment's method
    `action_masks()`. See `Agent.act`.

    If the environment fails again at the same step of the restored episode, `new_episode=True` resumes with a new
    episode. An error during training has the agent trained so far as `error.agent`.

    Ctrl-C raises `KeyboardInterrupt` after the current step, a second Ctrl-C at once. Rewards are numbers from -1e100
    to 1e100. If states seldom repeat, there is a warning, and training stops with `InsufficientMemory` before the
    machine swaps.
    """
    steps = check_integer("steps", steps, low=1, high=MAX_STEPS)
    quiet = check_flag("quiet", quiet)
    if check_flag("new_episode", new_episode) and resume is None:
        raise InvalidSetting("new_episode=True needs resume: without it, every training begins with a new episode.")
    all_callbacks = check_list("callbacks", callbacks, Callback)
    if save is not None:
        all_callbacks.append(Checkpoint(check_path("save", save)))
    for name in changes.keys() & set(ENCODER_OPTIONS):
        where = f"wl.learn(wl.tabular(env, {name}={shown(changes[name])}), ...)"
        raise InvalidSetting(f"{name} is an option of wl.tabular, not of learn: {where}.")
    tabular_env = env if isinstance(env, Tabular) else tabular(env)
    action_masks = check_flag("action_masks", action_masks)
    is_vector = isinstance(tabular_env.env, SubEnvironment)
    if resume is None:
        loop = new_loop(tabular_env, explorer, steps, seed, reward_range, preset, changes)
        first_seed: int | None = loop.agent.seed
    else:
        budget = changes.pop("budget", None)
        cls = explorer if isinstance(explorer, type) else None
        given = {"seed": seed, "reward_range": reward_range, "preset": preset, **changes}
        for name, value in {"explorer": None if cls else explorer, **given}.items():
            if value is not None:
                raise InvalidSetting(f"resume uses the explorer and the settings of its file; remove {name}={value!r}.")
        source = resume if isinstance(resume, Agent) else check_path("resume", resume)
        is_new = new_episode or is_vector
        loop, first_seed = checkpoints.load(tabular_env, source, cls, steps=steps, new_episode=is_new)
        _extend_budget(loop, budget, quiet=quiet)
    loop.uses_masks = action_masks or loop.agent.uses_masks
    loop.agent.env, loop.agent.encoding = None if is_vector else tabular_env, tabular_env.encoding
    loop.agent.environment = saved_environment(tabular_env)
    if loop.uses_masks:
        loop.agent.environment[ACTION_MASKS] = True
    loop.agent.layout, loop.agent.action_names = tabular_env.layout, tabular_env.action_names
    try:
        _run(loop, all_callbacks, first_seed)
    except BaseException as error:
        error.agent = loop.agent  # type: ignore[attr-defined]
        error.add_note("The agent trained so far is the attribute `agent` of this error.")
        if not loop.between_steps:
            error.add_note("It was interrupted while it learnt from a step; earlier checkpoints are unchanged.")
        raise
    if not is_vector:
        loop.agent.resumable = checkpoints.described(loop)
    if not quiet:
        for sentence in _notices(loop):
            print(f"wanderlust: {sentence}", file=sys.stderr)
    return loop.agent


def new_loop(
    env: Tabular,
    explorer: str | type | None,
    steps: int,
    seed: int | None,
    reward_range: tuple[float, float] | None,
    preset: str | None,
    changes: Mapping[str, Any],
) -> TrainingLoop:
    """Return the loop of a new training; raise an error if a setting or an option is invalid."""
    explorer = "vv-ucb" if explorer is None else explorer
    preset = chosen_preset(env, preset)
    changes = dict(changes)
    removes_penalty = check_flag("remove_time_penalty", changes.pop("remove_time_penalty", preset == ADAPTIVE))
    settings, options = settings_for(env, explorer, preset, steps, changes)
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
    agent.preset = preset
    extra = agent.configured_explorer.extra_tables()
    adapted = adapted_fields(explorer, extra, changes) if preset == ADAPTIVE else None
    loop = TrainingLoop(env, agent, steps=steps, estimates_reward_range=reward_range is None, adapted=adapted)
    adapt(agent, loop.task_estimate, loop.adapted or (), binned=env.is_binned)
    if removes_penalty:
        loop.time_penalty = TimePenalty()
    return loop


def _extend_budget(loop: TrainingLoop, budget: int | None, *, quiet: bool) -> None:
    """Let the schedules of a resumed training continue over a larger budget, if one is given."""
    agent, before = loop.agent, loop.agent.settings.budget
    if budget is not None:
        check_integer("budget", budget, low=before, high=MAX_STEPS)
        agent.settings = replace(agent.settings, budget=budget)
        agent.adapt()
    elif loop.steps > before and not quiet:
        advice = f"later steps explore as at its end. budget={loop.steps} would extend it."
        print(f"wanderlust: the budget of this training is {before:,} steps; {advice}", file=sys.stderr)


def _run(loop: TrainingLoop, callbacks: list[Callback], seed: int | None) -> None:
    """Train until the last step or until a callback stops it; `on_end` is called in any case."""
    started: list[Callback] = []
    with deferred_signals() as deliver:
        try:
            for callback in callbacks:
                started.append(callback)
                callback.on_start(loop)
            _take_steps(loop, callbacks, seed, deliver)
        finally:
            with contextlib.ExitStack() as stack:  # Calls all of them, also after one that raises, last added first.
                for callback in reversed(started):
                    stack.callback(callback.on_end, loop)


def _take_steps(loop: TrainingLoop, callbacks: list[Callback], seed: int | None, deliver: Callable[[], None]) -> None:
    def overriding(name: str) -> list[Callable[[TrainingLoop], bool | None]]:
        """Return this method of the callbacks that define it: calls take time."""
        return [getattr(each, name) for each in callbacks if getattr(type(each), name) is not getattr(Callback, name)]

    on_step, on_episode_end = overriding("on_step"), overriding("on_episode_end")
    guard, unchecked = TrainingGuard(loop.agent, loop.steps, warns_of_states=loop.warns_of_states), 0
    proceed = True
    env = loop.env.env
    steps = _vector_steps(loop, env, seed) if isinstance(env, SubEnvironment) else _single_steps(loop, seed)
    while proceed and loop.step < loop.steps:
        next(steps)
        for method in on_step:
            proceed = method(loop) is not False and proceed
        if loop.episode_over:
            for method in on_episode_end:
                proceed = method(loop) is not False and proceed
        unchecked += 1
        if unchecked == guard.interval:
            guard.check()
            unchecked = 0
        if proceed:
            deliver()


def _single_steps(loop: TrainingLoop, seed: int | None) -> Iterator[None]:
    """Take steps without end; yield after each one."""
    while True:
        if loop.episode_over:
            loop.begin_episode(seed)
            seed = None
        loop.complete_step(loop.choose_action())
        yield


def _vector_steps(loop: TrainingLoop, current: SubEnvironment, seed: int | None) -> Iterator[None]:
    """Take steps without end in the environments of a `VectorEnv`, in turn; yield after each that is learnt from."""
    vector = current.vector
    n, space = vector.num_envs, vector.single_action_space
    positions: list[dict[str, Any]] = [{} for _ in range(n)]
    notes = [loop.agent.learner.notes.copy() for _ in range(n)]
    """What the explorer keeps between steps, such as the head of an episode."""

    def enter(i: int) -> None:
        """Give the loop the position in an environment."""
        loop.__dict__.update(positions[i])
        loop.agent.learner.notes[:] = notes[i]

    def leave(i: int) -> None:
        positions[i] = {name: getattr(loop, name) for name in POSITION}
        notes[i][:] = loop.agent.learner.notes

    def where() -> str:
        return f"step {loop.step:,} of {n} environments side by side"

    observations, infos = call_environment(loop.env, lambda: vector.reset(seed=seed), where)
    over, actions = np.ones(n, np.bool_), [0] * n
    rewards = terminated = truncated = np.zeros(n)
    while True:
        for i in range(n):
            observation, info = entry_of(observations, i), info_of(infos, i)
            if over[i]:  # This step was a reset, which ignores the action.
                current.put((observation, info))
                loop.begin_episode()
                leave(i)
                continue
            enter(i)
            current.put((observation, float(rewards[i]), bool(terminated[i]), bool(truncated[i]), info))
            loop.complete_step(actions[i])
            leave(i)
            yield
        over = np.logical_or(terminated, truncated)
        for i in np.flatnonzero(~over).tolist():
            enter(i)
            actions[i] = loop.choose_action()
            leave(i)
        empty: Any = create_empty_array(space, n)
        batch = concatenate(space, [loop.env.action_of(action) for action in actions], empty)
        observations, rewards, terminated, truncated, infos = call_environment(
            loop.env, functools.partial(vector.step, batch), where
        )


def _notices(loop: TrainingLoop) -> Iterator[str]:
    """Return what the training has estimated, as sentences."""
    low, high = loop.agent.reward_range
    if loop.estimates_reward_range and (low, high) == NO_REWARDS:
        yield "all rewards were 0; exploration was scaled to a maximum reward of 1."
    elif loop.estimates_reward_range:
        observed = f"all rewards were {low:g}" if low == high else f"observed rewards from {low:g} to {high:g}"
        use = f"reward_range=({low:g}, {high:g}) would use it from the first step."
        yield f"{observed}; exploration was scaled to this range. {use}"
    if loop.time_penalty is not None and loop.time_penalty.detected:
        yield f"{loop.time_penalty.describe()} (remove_time_penalty=False keeps it)."


@contextlib.contextmanager
def deferred_signals() -> Iterator[Callable[[], None]]:
    """Let the process's own handlers of `SIGNALS` run only when the yielded function is called.

    Usually that is Ctrl-C, which raises `KeyboardInterrupt`. A signal without a Python handler, such as SIGTERM unless
    the program handles it, keeps its effect. A second signal is handled at once, since an environment may block. Python
    handles signals in the main thread only, so in other threads nothing changes.
    """
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
    waiting: list[int] = []
    """The signal that waits, or 0 while its handler runs."""

    def receive(number: int, frame: FrameType | None) -> None:
        if not waiting:
            waiting.append(number)
            return
        first, waiting[0] = waiting[0], 0
        handlers[number](number, frame)
        waiting[0] = first  # The handler has returned.

    def deliver() -> None:
        if waiting and waiting[0]:
            number, waiting[0] = waiting[0], 0
            handlers[number](number, sys._getframe())
            waiting.clear()

    try:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler):
                    handlers[number] = handler
                    signal.signal(number, receive)
        yield deliver
    finally:
        for number, handler in handlers.items():
            if signal.getsignal(number) == receive:  # Otherwise, a callback has set another handler.
                signal.signal(number, handler)
        deliver()
