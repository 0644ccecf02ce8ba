"""What the command `train` does: learn in any environment, then say what came of it."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from wanderlust.agents.agent import Agent
from wanderlust.cli.environment import Environment
from wanderlust.cli.files import check_folder_writable, check_writable
from wanderlust.cli.settings import read_settings
from wanderlust.cli.video import check_video, record_video
from wanderlust.core.errors import BadFile, InvalidSetting, WanderlustError, check_integer
from wanderlust.experiments.environment_run import evaluation_env
from wanderlust.explorers.registry import explorer_class
from wanderlust.training.callbacks import Callback
from wanderlust.training.evaluation import evaluate
from wanderlust.training.learn import learn
from wanderlust.training.logs import CsvLog, ProgressBar, TensorBoard
from wanderlust.training.loop import TrainingLoop
from wanderlust.training.time_penalty import TimePenalty

USUAL_EXPLORER = "vv-ucb"


@dataclass(frozen=True)
class Wishes:
    """What was asked for beside the environment."""

    explorer: str | None
    steps: int
    seed: int | None
    changes: tuple[str, ...] = ()
    """Settings and the explorer's options, as name=value."""
    episodes: int = 20
    save: Path | None = None
    resume: Path | None = None
    log: Path | None = None
    tensorboard: Path | None = None
    video: Path | None = None
    quiet: bool = False


class Notes(Callback):
    """Notes the first step that was paid more than nothing, the first that ended an episode, how rewards fall."""

    def __init__(self) -> None:
        self.loop: TrainingLoop | None = None
        self.episodes = 0
        self.reward_at: int | None = None
        self.end_at: int | None = None
        self.clock = TimePenalty()

    def on_start(self, loop: TrainingLoop) -> None:
        """Note whose loop it is."""
        self.loop = loop

    def on_step(self, loop: TrainingLoop) -> None:
        """Look at the latest step."""
        if self.reward_at is None and loop.reward > 0:
            self.reward_at = loop.step
        if self.end_at is None and loop.terminated:
            self.end_at = loop.step

    def on_end(self, loop: TrainingLoop) -> None:
        """Note how many episodes there were, and what was found out."""
        self.episodes = loop.episode
        self.clock = loop.time_penalty or self.clock


def train(environment: Environment, wishes: Wishes) -> None:
    """Let an agent learn and print a summary; nothing is learnt before all that is to be written can be."""
    _check_files(environment, wishes)
    env = environment.make()
    notes = Notes()
    callbacks: list[Callback] = [notes]
    if not wishes.quiet:
        callbacks.append(ProgressBar(Console(stderr=True)))
    if wishes.log is not None:
        callbacks.append(CsvLog(wishes.log))
    if wishes.tensorboard is not None:
        callbacks.append(TensorBoard(wishes.tensorboard))
    try:
        agent = learn(
            env,
            _explorer(wishes),
            steps=wishes.steps,
            seed=wishes.seed,
            callbacks=callbacks,
            resume=wishes.resume,
            save=wishes.save,
            quiet=True,
            **_changes(wishes),
        )
    except WanderlustError as error:
        raise type(error)(f"{error}{_rescued(notes.loop, environment, wishes)}") from error
    _print_summary(agent, notes, wishes)
    if wishes.video is not None:
        frames = record_video(agent, environment, wishes.video, seed=wishes.seed or 0)
        print(f"video      {wishes.video}, {frames:,} frames of one episode")
    env.close()


def _rescued(loop: TrainingLoop | None, environment: Environment, wishes: Wishes) -> str:
    """Keep what was learnt before an error, also if nobody asked for it; return where it is."""
    if loop is None or loop.step == 0:
        return ""
    path = wishes.save or _unused(f"{environment.folder}-unfinished")
    try:
        loop.save(path)
    except WanderlustError as error:
        return f" What was learnt until then is lost: {error}"
    return f" What was learnt until then is in {path}: --resume {path} goes on from there."


def _unused(name: str) -> Path:
    """Return a file of that name, or with a number behind it, that is not there yet."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(path for each in names if not (path := Path(f"{each}.npz")).exists())


def _check_files(environment: Environment, wishes: Wishes) -> None:
    check_integer("episodes", wishes.episodes, low=1)
    if wishes.video is not None:
        check_video(environment, wishes.video)
    if wishes.resume is not None and not wishes.resume.exists():
        raise BadFile(f"{wishes.resume}: there is no such file to go on from.")
    for file in (wishes.save, wishes.log):
        if file is not None:
            check_writable(file)
    if wishes.tensorboard is not None:
        check_folder_writable(wishes.tensorboard)


def _explorer(wishes: Wishes) -> Any:
    """Return the explorer, which a checkpoint names itself unless it is a class of the user's own."""
    if wishes.resume is None:
        return wishes.explorer or USUAL_EXPLORER
    if wishes.explorer is None:
        return None
    if ":" not in wishes.explorer:
        raise InvalidSetting(
            f"--resume goes on with the explorer of its file; leave --explorer {wishes.explorer} out (only a class of "
            "your own must be given, as module:Class)."
        )
    return explorer_class(wishes.explorer)


def _changes(wishes: Wishes) -> dict[str, Any]:
    """Return settings and the explorer's options; a checkpoint brings its own."""
    if wishes.resume is not None:
        if wishes.changes:
            raise InvalidSetting(f"--resume goes on with its file's settings; leave --set {wishes.changes[0]} out.")
        return {}
    explorer = wishes.explorer or USUAL_EXPLORER
    return read_settings(wishes.changes, [explorer])[explorer]


def _print_summary(agent: Agent, notes: Notes, wishes: Wishes) -> None:
    env = agent.env
    low, high = agent.reward_range
    other = evaluation_env(env)
    returns = evaluate(agent, other, episodes=wishes.episodes)
    other.close()
    spread = f", from {returns.min():.6g} to {returns.max():.6g}" if np.ptp(returns) else ""
    print(f"learnt     {env.name} with {agent.explorer}, {agent.steps:,} steps, {notes.episodes:,} episodes")
    print(f"states     {agent.discovered:,} acted in, {env.n_states:,} met")
    print(f"rewards    {low:g} to {high:g} a step; {_first_in_words(notes, resumed=wishes.resume is not None)}")
    if notes.clock.detected:
        print(f"clock      {notes.clock.describe()}")
    over = f"mean of {len(returns)} episodes{spread}" if len(returns) > 1 else "in one episode"
    print(f"greedy     return {returns.mean():.6g}, {over}")
    if wishes.save is not None:
        print(f"saved      {wishes.save}: go on with --resume, look into it with `wanderlust explain`")
    for what, where in (("log", wishes.log), ("events", wishes.tensorboard)):
        if where is not None:
            print(f"{what:<10} {where}")
    sys.stdout.flush()


def _first_in_words(notes: Notes, *, resumed: bool) -> str:
    where = " since it went on" if resumed else ""
    if notes.reward_at is not None:
        return f"the first above 0{where} at step {notes.reward_at:,}"
    if notes.end_at is not None:
        return f"none above 0{where}; the first episode that ended by itself did at step {notes.end_at:,}"
    return f"none above 0{where}, and no episode ended by itself"
