"""Learning in any Gymnasium environment.

    agent = wl.learn("FrozenLake-v1", "vv-ucb", steps=50_000, seed=0, callbacks=[wl.ProgressBar()])
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gymnasium import Env

from wanderlust.adapters import Tabular, tabular
from wanderlust.agent import Agent
from wanderlust.errors import InvalidSetting, WanderlustError, check_flag, check_integer
from wanderlust.learning.settings import MOST_STEPS
from wanderlust.practice import checkpoints
from wanderlust.practice.callbacks import Callback, Checkpoint
from wanderlust.practice.clock import Clock
from wanderlust.practice.defaults import adapted_options, has_sure_states, own_world, settings_for
from wanderlust.practice.idleness import Idleness
from wanderlust.practice.lesson import Lesson

NO_REWARDS_YET = (0.0, 0.0)


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
    **changes: Any,
) -> Agent:
    """Let an agent learn in an environment until it has taken so many steps in all; return it.

    `env` is a Gymnasium environment or the name of one; unless its observations are states as they are, say what
    tells them with `wl.tabular`. The explorer is "vv-ucb" if not given. `changes` are settings (see `Settings`) and
    options of the explorer.

    `reward_range`, the smallest and the largest reward of a step, sets the scale of exploration. If not given it
    follows the rewards that are seen, and a line on standard error says what they were, unless `quiet`. What W starts
    at, how far it looks and how much it weighs are as in the paper until some action is seen to have several outcomes;
    from then on they suit that. Until then, in environments that are neither worlds of ours nor cut into bins, several
    sweeps follow every step (`sweeps=1` is as in the paper), and actions that mostly do nothing are tried last. Rewards
    at the end of episodes that are found to fall with every step count as if paid at once. With `adapt=False` all but
    the sweeps is as in the paper.

    `resume` goes on from a file that `Checkpoint` or `save` wrote, as if learning had never stopped: settings,
    explorer and seed are those of the file, and `steps` still counts from the very first. `save` writes such a file in
    the end. An error while learning has the agent as it was then: `error.agent`.
    """
    steps = check_integer("steps", steps, low=1, high=MOST_STEPS)
    hung_in = [*callbacks, *([] if save is None else [Checkpoint(save)])]
    for callback in hung_in:
        if not isinstance(callback, Callback):
            raise InvalidSetting(f"callbacks must be wanderlust.Callback objects, got {callback!r}.")
    states = env if isinstance(env, Tabular) else tabular(env)
    if resume is None:
        lesson = _new_lesson(states, explorer, steps, seed, reward_range, check_flag("adapt", adapt), changes)
        first_seed: int | None = lesson.agent.seed
    else:
        _refuse("seed", seed, "reward_range", reward_range, *(part for item in changes.items() for part in item))
        lesson = checkpoints.load(states, Path(resume), _class_given(explorer, resume), steps=steps)
        first_seed = None
    lesson.agent.env = states
    try:
        _run(lesson, hung_in, first_seed)
    except WanderlustError as error:
        error.agent = lesson.agent
        error.add_note("What was learnt until then is in this error's `agent`.")
        raise
    if not quiet:
        for sentence in _noticed(lesson):
            print(f"wanderlust: {sentence}", file=sys.stderr)
    return lesson.agent


def _new_lesson(
    env: Tabular,
    explorer: str | type | None,
    steps: int,
    seed: int | None,
    reward_range: tuple[float, float] | None,
    adapt: bool,
    changes: dict[str, Any],
) -> Lesson:
    chosen = "vv-ucb" if explorer is None else explorer
    settings, options = settings_for(env, chosen, steps, changes)
    agent = Agent(
        chosen,
        n_actions=env.n_actions,
        reward_range=NO_REWARDS_YET if reward_range is None else reward_range,
        seed=0 if seed is None else seed,
        settings=settings,
        **options,
    )
    adapt = adapt and own_world(env) is None
    adapts = adapted_options(chosen, changes) if adapt else ()
    lesson = Lesson(env, agent, steps=steps, estimates_rewards=reward_range is None, adapts=adapts)
    if adapt:
        lesson.clock = Clock()
    if "initial_bound" in adapts and has_sure_states(env):
        lesson.idleness = Idleness(env.n_actions)
    return lesson


def _run(lesson: Lesson, callbacks: list[Callback], seed: int | None) -> None:
    """Go on until the steps are done or a callback has had enough; whatever happens, all are told of the end."""
    started: list[Callback] = []
    try:
        for callback in callbacks:
            started.append(callback)
            callback.on_start(lesson)
        on_step = [callback.on_step for callback in callbacks if _overrides(callback, "on_step")]
        on_episode_end = [c.on_episode_end for c in callbacks if _overrides(c, "on_episode_end")]
        while lesson.step < lesson.steps:
            if lesson.over:
                lesson.begin_episode(seed)
                seed = None
            lesson.take_step()
            go_on = _call(on_step, lesson)
            if lesson.over:
                go_on = _call(on_episode_end, lesson) and go_on
            if not go_on:
                break
    finally:
        with contextlib.ExitStack() as ends:  # Which goes through them from behind, and also past one that fails.
            for callback in reversed(started):
                ends.callback(callback.on_end, lesson)


def _call(methods: Sequence[Callable[[Lesson], bool | None]], lesson: Lesson) -> bool:
    go_on = True
    for method in methods:
        go_on = method(lesson) is not False and go_on
    return go_on


def _overrides(callback: Callback, name: str) -> bool:
    return getattr(type(callback), name) is not getattr(Callback, name)


def _class_given(explorer: str | type | None, path: str | Path) -> type | None:
    if isinstance(explorer, str):
        raise InvalidSetting(
            f"resume={str(path)!r} goes on with the explorer of that file; leave {explorer!r} out (only a class of "
            "your own must be given)."
        )
    return explorer


def _refuse(*names_and_values: Any) -> None:
    for name, value in zip(names_and_values[::2], names_and_values[1::2], strict=True):
        if value is not None:
            raise InvalidSetting(f"resume goes on with the settings of its file; leave {name}={value!r} out.")


def _noticed(lesson: Lesson) -> Iterator[str]:
    if lesson.estimates_rewards:
        yield _seen(lesson)
    if lesson.clock is not None and lesson.clock.falls:
        yield f"{lesson.clock.in_words()} (adapt=False takes them as they are)."


def _seen(lesson: Lesson) -> str:
    low, high = lesson.agent.reward_range
    if (low, high) == NO_REWARDS_YET:
        return "no reward but 0 was ever seen; exploration was scaled as if the largest were 1."
    return (
        f"rewards from {low:g} to {high:g} were seen, and exploration was scaled to them; reward_range=({low:g}, "
        f"{high:g}) would do so from the start."
    )
