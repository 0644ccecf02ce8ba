"""The command `train`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from wanderlust.cli.arguments import DEFAULT_EXPLORER, Exact, Preset, Quiet, Settings, read_options, read_settings
from wanderlust.cli.environment_options import EnvironmentArgument, EnvironmentOptions
from wanderlust.core.errors import BadFile, EnvironmentFailed, InvalidSetting, WanderlustError, check_integer, counted

if TYPE_CHECKING:
    from wanderlust.cli.training_file import TrainingFile
    from wanderlust.environments.tabular import Tabular
    from wanderlust.training.callbacks import Callback


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
    from wanderlust.cli.exact import train_exactly
    from wanderlust.cli.training_file import TrainingFile

    if options.exact:
        _check_files(environment, options)
        train_exactly(environment, options, _settings(options))
        return
    _check_files(environment, options)
    env = environment.make()
    file = TrainingFile(environment, options)
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
    from wanderlust.cli.training_summary import TrainingStatistics, print_summary
    from wanderlust.training.learn import learn
    from wanderlust.training.loop import call_environment
    from wanderlust.training.video import record_video, rendering_env

    statistics = TrainingStatistics()
    agent = learn(
        env,
        _explorer(options),
        steps=options.steps,
        seed=options.seed,
        callbacks=[statistics, *_loggers(options), file],
        resume=options.resume,
        preset=options.preset,
        new_episode=options.new_episode,
        quiet=True,
        **_settings(options),
    )
    print_summary(agent, statistics, options, saved=file.saved_path)
    if options.video is not None:
        with _video_errors(environment):
            rendering = env.copy(rendering_env(environment.name, environment.env_options))
            frames = record_video(agent, rendering, options.video, seed=options.seed or 0)
        print(f"video      {options.video}, {counted(frames, 'frame')} of one episode")
    call_environment(env, env.close, lambda: "close")


def _check_files(environment: EnvironmentOptions, options: TrainOptions) -> None:
    """Check all files before the training, so that no training is lost."""
    from wanderlust.core.files import check_writable
    from wanderlust.training.video import check_video

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
    from rich.console import Console

    from wanderlust.training.callbacks import CsvLog, ProgressBar, TensorBoard

    callbacks: list[Callback] = [] if options.quiet else [ProgressBar(Console(stderr=True))]
    if options.log is not None:
        callbacks.append(CsvLog(options.log, overwrite=options.overwrite_log))
    if options.tensorboard is not None:
        callbacks.append(TensorBoard(options.tensorboard))
    return callbacks


def _explorer(options: TrainOptions) -> Any:
    """Return the explorer to train with; None if the checkpoint stores it."""
    from wanderlust.explorers.registry import explorer_class

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
