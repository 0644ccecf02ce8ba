"""The command `train`."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from wanderlust.cli import HELP_ONLY
from wanderlust.cli.options import (
    DEFAULT_EXPLORER,
    EnvironmentArgument,
    EnvironmentOptions,
    Exact,
    Preset,
    Quiet,
    Settings,
    read_options,
    read_settings,
)

if TYPE_CHECKING or not HELP_ONLY:
    import numpy as np
    from rich.console import Console

    from wanderlust.agents.agent import Agent
    from wanderlust.cli.runs import check_exact, without_reward_range
    from wanderlust.cli.training_file import TrainingFile
    from wanderlust.core.errors import (
        BadFile,
        EnvironmentFailed,
        InvalidSetting,
        WanderlustError,
        check_integer,
        counted,
    )
    from wanderlust.core.files import check_writable
    from wanderlust.core.planning import optimal_episode_return
    from wanderlust.environments.model import world_from_gym
    from wanderlust.environments.tabular import Tabular, saved_environment
    from wanderlust.experiments.environment_run import evaluation_env
    from wanderlust.explorers.registry import explorer_class
    from wanderlust.training.adaptive import chosen_preset
    from wanderlust.training.callbacks import Callback, CsvLog, ProgressBar, TensorBoard
    from wanderlust.training.evaluation import evaluate
    from wanderlust.training.learn import learn
    from wanderlust.training.loop import call_environment
    from wanderlust.training.model_training import ModelTraining
    from wanderlust.training.video import check_video, record_video, rendering_env

_NEW_EPISODE = "\nIf the environment then fails at the same step, add --new-episode."


@dataclass(frozen=True)
class TrainOptions:
    """The options of `train`, except those of the environment."""

    explorer: Annotated[
        str | None,
        arg(
            metavar="NAME",
            help="Explorer, vv-ucb if not given; see `wanderlust explorers`. User-defined: module:Class.",
        ),
    ] = None
    steps: Annotated[int, arg(metavar="N", help="Total number of training steps, also with --resume.")] = 20_000
    seed: Annotated[int | None, arg(metavar="N", help="Random seed; 0 if not given.")] = None
    preset: Preset = None
    settings: Settings = ()
    episodes: Annotated[int, arg(metavar="N", help="Episodes of the final evaluation of the greedy policy.")] = 20
    save: Annotated[
        Path | None,
        arg(metavar="FILE", help="Save the agent to this file, also after Ctrl-C, SIGTERM or an error."),
    ] = None
    checkpoint_every: Annotated[
        int | None,
        arg(
            metavar="N",
            help="Save every N steps as well, so that a crash loses at most N steps. Without --save, to a new file "
            "ENVIRONMENT-unfinished.npz; the agent is also saved there if training ends early.",
        ),
    ] = None
    resume: Annotated[
        Path | None,
        arg(metavar="FILE", help="Continue from a file of --save, with its settings. --set budget=N can be larger."),
    ] = None
    new_episode: Annotated[
        bool,
        arg(help="With --resume: begin a new episode, if the environment fails at the same step again and again."),
    ] = False
    log: Annotated[
        Path | None,
        arg(metavar="FILE", help="Write one line per episode to this CSV file; with --resume, continue the file."),
    ] = None
    overwrite_log: Annotated[bool, arg(help="Let --log replace the file of another training.")] = False
    tensorboard: Annotated[Path | None, arg(metavar="FOLDER", help="Write TensorBoard events to this folder.")] = None
    video: Annotated[
        Path | None, arg(metavar="FILE", help="Record an episode of the greedy policy as .gif or .mp4.")
    ] = None
    exact: Exact = False
    quiet: Quiet = False


def train(options: Annotated[TrainOptions, arg(name="")], environment: EnvironmentArgument) -> None:
    """Train an agent in any Gymnasium environment and print a summary.

    Example: wanderlust train FrozenLake-v1 --env map_name=8x8 --steps 20000 --save agent.npz --video run.gif

    Example: wanderlust train Taxi-v4 --exact --steps 100000 --save taxi.npz

    Example: wanderlust train MountainCar-v0 --bins 24 24 --steps 50000

    Example: wanderlust train MiniGrid-DoorKey-6x6-v0 --key hash --reset-seed 0 --explorer vv-count
    """
    _check_files(environment, options)
    if options.exact:
        _train_exactly(environment, options)
        return
    env = environment.make()
    file = TrainingFile(
        options.save,
        options.checkpoint_every,
        unfinished=f"{environment.file_name}-unfinished",
        command=lambda path: _resume_command(environment, options, path),
    )
    try:
        _train(env, environment, options, file)
    except WanderlustError as error:
        saved = file.save_unfinished()
        again = _NEW_EPISODE if saved and isinstance(error, EnvironmentFailed) else ""
        raise type(error)(f"{error}{saved}{again}") from error
    except KeyboardInterrupt as interrupt:
        saved = file.save_unfinished() or " Nothing was saved, since no step was completed."
        interrupt.args = (f"interrupted.{saved}",)
        raise
    except BrokenPipeError:  # The reader of the output has finished; that is no error after the training.
        if not file.is_complete:
            file.save_unfinished()
        raise
    except Exception as error:
        error.add_note(file.save_unfinished())
        raise


def _train(env: Tabular, environment: EnvironmentOptions, options: TrainOptions, file: TrainingFile) -> None:
    """Train, print the summary and record the video."""
    agent = learn(
        env,
        _explorer(options),
        steps=options.steps,
        seed=options.seed,
        callbacks=[*_loggers(options), file],
        resume=options.resume,
        preset=options.preset,
        new_episode=options.new_episode,
        quiet=True,
        **_settings(options),
    )
    _print_summary(agent, file, options)
    _record_video(agent, env, environment, options)
    call_environment(env, env.close, lambda: "close")


def _train_exactly(environment: EnvironmentOptions, options: TrainOptions) -> None:
    """Train on the model of an environment, print a summary, and save the agent."""
    check_exact(environment)
    for name in ("resume", "checkpoint_every", "log", "tensorboard"):
        if getattr(options, name) is not None:
            raise InvalidSetting(f"--{name.replace('_', '-')} is not possible with --exact, which trains in one go.")
    world = world_from_gym(environment.name, **environment.env_options)
    env = environment.make()
    steps = check_integer("steps", options.steps, low=1)
    training = ModelTraining(
        world,
        options.explorer or DEFAULT_EXPLORER,
        preset=chosen_preset(env, options.preset),
        seed=options.seed or 0,
        undiscounted_returns=True,
        changes={"budget": steps, "evaluate_every": steps, **without_reward_range(_settings(options)), "steps": steps},
    )
    training.advance(steps)
    agent = training.agent
    agent.encoding, agent.environment = env.encoding, saved_environment(env)
    low, high = agent.reward_range
    optimal = optimal_episode_return(world.mdp, agent.settings.horizon)
    best = "" if optimal is None else f"; optimal is {optimal:.6g}"
    print(f"trained    {env.name} with {agent.explorer}, {agent.steps:,} steps on its model, preset {agent.preset}")
    print(f"states     {agent.discovered:,} acted in, {agent.n_states:,} in the model")
    print(f"rewards    {low:g} to {high:g} per step; {_first_events(*training.run.events)}")
    print(f"greedy     expected return of an episode {training.run.record().returns[-1]:.6g}{best}")
    if options.save is not None:
        agent.save(options.save)
        print(f"saved      {options.save}; inspect with `wanderlust explain`")
    _record_video(agent, env, environment, options)
    env.close()


def _record_video(agent: Agent, env: Tabular, environment: EnvironmentOptions, options: TrainOptions) -> None:
    """Record a video, if --video is given."""
    if options.video is not None:
        with _video_errors(environment):
            rendering = env.copy(rendering_env(environment.name, environment.env_options))
            frames = record_video(agent, rendering, options.video, seed=options.seed or 0)
        print(f"video      {options.video}, {counted(frames, 'frame')} of one episode")


def _check_files(environment: EnvironmentOptions, options: TrainOptions) -> None:
    """Check all files before the training, so that no training is lost."""
    check_integer("episodes", options.episodes, low=1)
    if options.new_episode and options.resume is None:
        raise InvalidSetting("--new-episode needs --resume FILE.")
    if options.checkpoint_every is not None:
        check_integer("checkpoint_every", options.checkpoint_every, low=1)
    if options.video is not None:
        with _video_errors(environment):
            check_video(environment.name, environment.env_options, options.video)
    if options.resume is not None and not options.resume.exists():
        raise BadFile(f"{options.resume}: there is no such file to resume from.")
    for file in (options.save, options.log):
        if file is not None:
            check_writable(file)
    if options.tensorboard is not None:
        check_writable(options.tensorboard / "file")


@contextlib.contextmanager
def _video_errors(environment: EnvironmentOptions) -> Iterator[None]:
    """Raise exceptions of the environment, while a video is recorded, as `EnvironmentFailed`."""
    try:
        yield
    except WanderlustError:
        raise
    except Exception as error:
        name = environment.environment
        raise EnvironmentFailed(f"{name} failed in --video with {type(error).__name__}: {error}.") from error


def _loggers(options: TrainOptions) -> list[Callback]:
    callbacks: list[Callback] = [] if options.quiet else [ProgressBar(Console(stderr=True))]
    if options.log is not None:
        callbacks.append(CsvLog(options.log, overwrite=options.overwrite_log))
    if options.tensorboard is not None:
        callbacks.append(TensorBoard(options.tensorboard))
    return callbacks


def _explorer(options: TrainOptions) -> Any:
    """Return the explorer to train with; None if the checkpoint stores it."""
    if options.resume is None:
        return options.explorer or DEFAULT_EXPLORER
    if options.explorer is None:
        return None
    if ":" not in options.explorer:
        raise InvalidSetting(
            f"--resume continues with the explorer of its file; leave --explorer {options.explorer} out (only a "
            "user-defined explorer must be given, as module:Class)."
        )
    return explorer_class(options.explorer)


def _settings(options: TrainOptions) -> dict[str, Any]:
    """Return the settings and the explorer's options; with --resume only the budget, the rest is in the checkpoint."""
    if options.resume is not None:
        given = read_options(options.settings)
        others = [name for name in given if name != "budget"]
        if others:
            raise InvalidSetting(
                f"--resume continues with the settings of its file; leave --set {others[0]}={given[others[0]]} out."
            )
        if options.preset is not None:
            raise InvalidSetting(
                f"--resume continues with the preset of its file; leave --preset {options.preset} out."
            )
        return given
    explorer = options.explorer or DEFAULT_EXPLORER
    return read_settings(options.settings, [explorer])[explorer]


def _resume_command(environment: EnvironmentOptions, options: TrainOptions, path: str) -> str:
    """Return the command that continues the training from a file."""
    words = ["--steps", str(options.steps), "--resume", path, "--save", path]
    if options.explorer is not None and ":" in options.explorer:
        words += ["--explorer", options.explorer]
    for name in ("checkpoint_every", "log", "tensorboard", "video"):
        value = getattr(options, name)
        words += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
    return f"wanderlust train {environment.command_line} {shlex.join(words)}"


def _print_summary(agent: Agent, file: TrainingFile, options: TrainOptions) -> None:
    """Evaluate the greedy policy and print the summary."""
    env, loop = agent.env, file.loop
    assert loop is not None
    low, high = agent.reward_range
    eval_env = call_environment(env, lambda: evaluation_env(env), lambda: "its copy for evaluation")
    returns = evaluate(agent, eval_env, episodes=options.episodes)
    spread = f", from {returns.min():.6g} to {returns.max():.6g}" if np.ptp(returns) else ""
    n_episodes = counted(loop.episode, "episode")
    print(f"trained    {env.name} with {agent.explorer}, {counted(agent.steps, 'step')}, {n_episodes}")
    print(f"preset     {agent.preset}")
    if agent.steps > agent.settings.budget:
        budget = counted(agent.settings.budget, "step")
        print(f"budget     {budget}; later steps explored as at its end (--set budget={agent.steps} extends it)")
    known = "encountered (with terminal states)" if env.fixed_n_states is None else "in the observation space"
    print(f"states     {agent.discovered:,} acted in, {env.n_states:,} {known}")
    since = "" if options.resume is None else " since resuming"
    first = _first_events(file.first_reward, file.first_termination, since)
    print(f"rewards    {low:g} to {high:g} per step; {first}")
    if loop.time_penalty is not None and loop.time_penalty.detected:
        print(f"penalty    {loop.time_penalty.describe()}")
    if loop.recent_returns:
        latest = f"mean of the last {counted(len(loop.recent_returns), 'training episode')}"
        print(f"exploring  return {np.mean(loop.recent_returns):.6g}, {latest}")
    mean = f"mean of {counted(len(returns), 'evaluation episode')}{spread}"
    print(f"greedy     return {returns.mean():.6g}, {mean}")
    if file.saved_at is not None:
        print(f"saved      {file.path}; continue with --resume, inspect with `wanderlust explain`")
    for label, path in (("log", options.log), ("events", options.tensorboard)):
        if path is not None:
            print(f"{label:<10} {path}")
    sys.stdout.flush()
    call_environment(env, eval_env.close, lambda: "close after evaluation")


def _first_events(first_reward: int | None, first_termination: int | None, since: str = "") -> str:
    if first_reward is not None:
        return f"first positive reward{since} at step {first_reward:,}"
    if first_termination is not None:
        return f"no positive reward{since}; first terminated episode at step {first_termination:,}"
    return f"no positive reward and no terminated episode{since}"
