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

from wanderlust.agents.agent import Agent
from wanderlust.agents.settings import MAX_STEPS
from wanderlust.core.errors import InvalidSetting, WanderlustError, check_flag, check_integer
from wanderlust.envs.tabular import Tabular, tabular
from wanderlust.training import checkpoints
from wanderlust.training.adaptive import adapted_options, has_sure_states, own_world, settings_for
from wanderlust.training.callbacks import Callback, Checkpoint
from wanderlust.training.idle_actions import IdleActions
from wanderlust.training.loop import TrainingLoop
from wanderlust.training.time_penalty import TimePenalty

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
    steps = check_integer("steps", steps, low=1, high=MAX_STEPS)
    hung_in = [*callbacks, *([] if save is None else [Checkpoint(save)])]
    for callback in hung_in:
        if not isinstance(callback, Callback):
            raise InvalidSetting(f"callbacks must be wanderlust.Callback objects, got {callback!r}.")
    states = env if isinstance(env, Tabular) else tabular(env)
    if resume is None:
        loop = _new_loop(states, explorer, steps, seed, reward_range, check_flag("adapt", adapt), changes)
        first_seed: int | None = loop.agent.seed
    else:
        _refuse("seed", seed, "reward_range", reward_range, *(part for item in changes.items() for part in item))
        loop = checkpoints.load(states, Path(resume), _class_given(explorer, resume), steps=steps)
        first_seed = None
    loop.agent.env = states
    try:
        _run(loop, hung_in, first_seed)
    except WanderlustError as error:
        error.agent = loop.agent
        error.add_note("What was learnt until then is in this error's `agent`.")
        raise
    if not quiet:
        for sentence in _noticed(loop):
            print(f"wanderlust: {sentence}", file=sys.stderr)
    return loop.agent


def _new_loop(
    env: Tabular,
    explorer: str | type | None,
    steps: int,
    seed: int | None,
    reward_range: tuple[float, float] | None,
    adapt: bool,
    changes: dict[str, Any],
) -> TrainingLoop:
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
    loop = TrainingLoop(env, agent, steps=steps, estimates_rewards=reward_range is None, adapts=adapts)
    if adapt:
        loop.clock = TimePenalty()
    if "initial_bound" in adapts and has_sure_states(env):
        loop.idleness = IdleActions(env.n_actions)
    return loop


def _run(loop: TrainingLoop, callbacks: list[Callback], seed: int | None) -> None:
    """Go on until the steps are done or a callback has had enough; whatever happens, all are told of the end."""
    started: list[Callback] = []
    try:
        for callback in callbacks:
            started.append(callback)
            callback.on_start(loop)
        on_step = [callback.on_step for callback in callbacks if _overrides(callback, "on_step")]
        on_episode_end = [c.on_episode_end for c in callbacks if _overrides(c, "on_episode_end")]
        while loop.step < loop.steps:
            if loop.over:
                loop.begin_episode(seed)
                seed = None
            loop.take_step()
            go_on = _call(on_step, loop)
            if loop.over:
                go_on = _call(on_episode_end, loop) and go_on
            if not go_on:
                break
    finally:
        with contextlib.ExitStack() as ends:  # Which goes through them from behind, and also past one that fails.
            for callback in reversed(started):
                ends.callback(callback.on_end, loop)


def _call(methods: Sequence[Callable[[TrainingLoop], bool | None]], loop: TrainingLoop) -> bool:
    go_on = True
    for method in methods:
        go_on = method(loop) is not False and go_on
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


def _noticed(loop: TrainingLoop) -> Iterator[str]:
    if loop.estimates_rewards:
        yield _seen(loop)
    if loop.clock is not None and loop.clock.falls:
        yield f"{loop.clock.in_words()} (adapt=False takes them as they are)."


def _seen(loop: TrainingLoop) -> str:
    low, high = loop.agent.reward_range
    if (low, high) == NO_REWARDS_YET:
        return "no reward but 0 was ever seen; exploration was scaled as if the largest were 1."
    return (
        f"rewards from {low:g} to {high:g} were seen, and exploration was scaled to them; reward_range=({low:g}, "
        f"{high:g}) would do so from the start."
    )
