"""The command line for any Gymnasium environment: what each command takes. What it does is in a module of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from wanderlust.cli.environment import Environment

USUAL_EXPLORERS = ("epsilon-greedy", "ucb1", "bonus", "vv-ucb", "vv-count")

_Environment = Annotated[Environment, arg(name="")]
_Changes = Annotated[
    tuple[str, ...],
    arg(
        name="set",
        metavar="NAME=VALUE ...",
        help="Further settings, such as discount=0.995 learning_rate=0.1 reward_range=[0,1], and options of explorers.",
    ),
]
_Explorers = Annotated[tuple[str, ...], arg(metavar="NAME ...", help="Who explores; one of your own is module:Class.")]
_Steps = Annotated[int, arg(metavar="N", help="How many steps every agent learns from.")]
_Jobs = Annotated[int | None, arg(metavar="N", help="How many runs at a time; one for each core if not given.")]
_Quiet = Annotated[bool, arg(help="Print results and errors only.")]


def train(
    environment: _Environment,
    *,
    explorer: Annotated[
        str | None, arg(metavar="NAME", help="Who explores; vv-ucb if not given, one of your own is module:Class.")
    ] = None,
    steps: Annotated[int, arg(metavar="N", help="How many steps to learn from, counted from the very first.")] = 20_000,
    seed: Annotated[int | None, arg(metavar="N", help="The same seed gives the same run; 0 if not given.")] = None,
    changes: _Changes = (),
    episodes: Annotated[int, arg(metavar="N", help="Episodes in which the policy is evaluated in the end.")] = 20,
    save: Annotated[Path | None, arg(metavar="FILE", help="Keep the agent in this file.")] = None,
    resume: Annotated[
        Path | None, arg(metavar="FILE", help="Go on from a file that --save wrote, as if it had never stopped.")
    ] = None,
    log: Annotated[Path | None, arg(metavar="FILE", help="Write a line per episode to this CSV file.")] = None,
    tensorboard: Annotated[Path | None, arg(metavar="FOLDER", help="Write the same for TensorBoard.")] = None,
    video: Annotated[
        Path | None, arg(metavar="FILE", help="Show an episode of what was learnt as a .gif or .mp4.")
    ] = None,
    quiet: _Quiet = False,
) -> None:
    """Let an agent learn in any Gymnasium environment, and say what came of it.

    Example: wanderlust train FrozenLake-v1 --env map_name=8x8 --steps 20000 --save agent.npz --video run.gif

    Example: wanderlust train MountainCar-v0 --bins 24 24 --steps 50000

    Example: wanderlust train MiniGrid-DoorKey-6x6-v0 --key hash --reset-seed 0 --explorer vv-count
    """
    from wanderlust.cli import train as command

    command.train(
        environment,
        command.Wishes(explorer, steps, seed, changes, episodes, save, resume, log, tensorboard, video, quiet),
    )


def compare(
    environment: _Environment,
    *,
    explorers: _Explorers = USUAL_EXPLORERS,
    seeds: Annotated[int, arg(metavar="N", help="How many seeds of each, counted from 0.")] = 10,
    steps: _Steps = 20_000,
    changes: _Changes = (),
    episodes: Annotated[int, arg(metavar="N", help="Episodes per evaluation of the greedy policy.")] = 10,
    solved_at: Annotated[
        float | None,
        arg(
            metavar="RETURN",
            help="The mean return that counts as solved; if not given, what the environment says, or the best possible "
            "return if its model is known.",
        ),
    ] = None,
    jobs: _Jobs = None,
    out: Annotated[
        Path | None, arg(metavar="FOLDER", help="Where runs are kept; results/compare-NAME if not given.")
    ] = None,
    plot: Annotated[Path | None, arg(metavar="FILE", help="Draw the curves, as .png, .svg or .pdf.")] = None,
    quiet: _Quiet = False,
) -> None:
    """Let several explorers learn in an environment, with several seeds each, and print who solved it, and when.

    Stopped at any time, the same command goes on where it was: a run that is stored in the folder is not made again.

    Example: wanderlust compare FrozenLake-v1 --env map_name=8x8 is_slippery=false --seeds 20 --plot lake.png

    Example: wanderlust compare prison --explorers vv-ucb ucb1 mine:Fading --steps 2000 --jobs 2
    """
    from wanderlust.cli import compare as command

    asked = command.Comparison(environment, explorers, seeds, steps, changes, episodes, solved_at)
    folder = out or Path("results") / f"compare-{environment.folder}"
    sys.exit(command.compare(asked, folder, jobs=jobs, plot=plot, quiet=quiet))


def diagnose(
    environment: _Environment,
    *,
    explorers: _Explorers = ("random", *USUAL_EXPLORERS),
    seeds: Annotated[int, arg(metavar="N", help="How many seeds of each, counted from 0.")] = 2,
    steps: _Steps = 20_000,
    changes: _Changes = (),
    jobs: _Jobs = None,
    out: Annotated[
        Path | None, arg(metavar="FOLDER", help="Where runs are kept; results/diagnose-NAME if not given.")
    ] = None,
    json: Annotated[Path | None, arg(metavar="FILE", help="Also write all numbers to this file.")] = None,
    quiet: _Quiet = False,
) -> None:
    """Find out how hard an environment is to explore: how sparse, how deep, what distracts, and what would find it.

    Several explorers get the same number of steps. The report says what they met, in words, and ends with a command
    to paste.

    Example: wanderlust diagnose my_package:make_env --steps 50000

    Example: wanderlust diagnose prison --steps 1000 --json prison.json
    """
    from wanderlust.cli import diagnose as command

    asked = command.Question(environment, explorers, seeds, steps, changes)
    folder = out or Path("results") / f"diagnose-{environment.folder}"
    sys.exit(command.diagnose(asked, folder, jobs=jobs, json=json, quiet=quiet))


def explain(
    file: Annotated[Positional[Path], arg(metavar="FILE", help="An agent, as `train --save` or Agent.save wrote it.")],
    *,
    state: Annotated[int, arg(metavar="N", help="The number of the state.")],
    explorer: Annotated[
        str | None, arg(metavar="module:Class", help="The agent's explorer, if it is one of your own.")
    ] = None,
    json: Annotated[bool, arg(help="Print JSON instead of a table.")] = False,
) -> None:
    """Say what a saved agent would do in a state, and why: counts, Q, W and the exploration term of every action.

    Example: wanderlust explain agent.npz --state 12
    """
    from wanderlust.cli import explain as command

    command.explain(file, state, explorer=explorer, as_json=json)
