"""The command `train`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import arg

from wanderlust.cli import options as arguments


@dataclass(frozen=True)
class TrainOptions:
    """The options of `train`, except those of the environment."""

    explorer: arguments.OptionalName = None
    """Explorer, vv-ucb if not given; see `wanderlust explorers`. User-defined: module:Class."""
    steps: arguments.Number = 20_000
    """Total number of training steps, also with --resume."""
    seed: arguments.OptionalNumber = None
    """Random seed; 0 if not given."""
    preset: arguments.Preset = None
    settings: arguments.Settings = ()
    episodes: arguments.Number = 20
    """Episodes of the final evaluation of the greedy policy."""
    save: arguments.OptionalFile = None
    """Save the agent to this file. Training that ends early is always saved (ENVIRONMENT-unfinished.npz without it)."""
    checkpoint_every: arguments.OptionalNumber = None
    """With --save: save every N steps as well, so that a crash loses at most N steps."""
    resume: arguments.OptionalFile = None
    """Continue from a file of --save, with its settings. --set budget=N can be larger."""
    new_episode: bool = False
    """With --resume: begin a new episode, if the environment fails at the same step again and again."""
    log: arguments.OptionalFile = None
    """Write one line per episode to this CSV file; with --resume, continue the file."""
    overwrite_log: bool = False
    """Let --log replace the file of another training."""
    tensorboard: arguments.OptionalFolder = None
    """Write TensorBoard events to this folder."""
    json: arguments.OptionalFile = None
    """Also write the summary as JSON."""
    video: arguments.OptionalFile = None
    """Record an episode of the greedy policy as a .gif."""
    exact: arguments.Exact = False
    quiet: arguments.Quiet = False


def train(options: Annotated[TrainOptions, arg(name="")], environment: arguments.EnvironmentArgument) -> None:
    """Train an agent in any Gymnasium environment and print a summary.

    Example: wanderlust train FrozenLake-v1 --env map_name=8x8 --steps 20000 --save agent.npz --video run.gif

    Example: wanderlust train Taxi-v4 --exact --steps 100000 --save taxi.npz

    Example: wanderlust train MountainCar-v0 --bins 24 24 --steps 50000

    Example: wanderlust train MiniGrid-DoorKey-6x6-v0 --key hash --reset-seed 0 --explorer vv-count
    """
    from wanderlust.cli.training import check_files, train_by_steps, train_exactly

    check_files(environment, options)
    (train_exactly if options.exact else train_by_steps)(environment, options)
