"""What `train` does: training by steps or on the model, with checkpoints that survive errors and interrupts."""

from __future__ import annotations

import contextlib
import itertools
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from wanderlust.agents.agent import Agent
from wanderlust.cli.options import DEFAULT_EXPLORER, EnvironmentOptions, option_words, read_options, read_settings
from wanderlust.cli.train import TrainOptions
from wanderlust.core.errors import (
    BadFile,
    EnvironmentFailed,
    InvalidSetting,
    WanderlustError,
    check_integer,
    counted,
)
from wanderlust.core.files import cannot_write, check_writable, write_json
from wanderlust.core.planning import optimal_episode_return
from wanderlust.environments.model import world_from_gym
from wanderlust.environments.tabular import Tabular, saved_environment
from wanderlust.experiments.environment_run import evaluation_env
from wanderlust.explorers.protocol import explorer_class
from wanderlust.training.adaptive import chosen_preset
from wanderlust.training.callbacks import Callback, Checkpoint, CsvLog, ProgressBar, TensorBoard
from wanderlust.training.evaluation import evaluate
from wanderlust.training.learn import learn
from wanderlust.training.loop import TrainingLoop, call_environment
from wanderlust.training.model_training import ModelTraining
from wanderlust.training.video import check_video, record_video, rendering_env

_NEW_EPISODE = "\nIf the environment then fails at the same step, add --new-episode."


def check_files(environment: EnvironmentOptions, options: TrainOptions) -> None:
    """Check all files before the training, so that no training is lost."""
    check_integer("episodes", options.episodes, low=1)
    if options.new_episode and options.resume is None:
        raise InvalidSetting("--new-episode needs --resume FILE.")
    if options.checkpoint_every is not None:
        check_integer("checkpoint_every", options.checkpoint_every, low=1)
        if options.save is None:
            raise InvalidSetting("--checkpoint-every needs --save FILE.")
    if options.video is not None:
        check_video(environment.name, environment.env_options, options.video)
    if options.resume is not None and not options.resume.exists():
        raise BadFile(f"{options.resume}: there is no such file to resume from.")
    for file in (options.save, options.log, options.json, options.tensorboard and options.tensorboard / "file"):
        if file is not None:
            check_writable(file)


# --- On the model of an environment ----------------------------------------------------------------------


def train_exactly(environment: EnvironmentOptions, options: TrainOptions) -> None:
    """Train on the model of an environment, print a summary, and save the agent."""
    for word in option_words(options, "resume", "checkpoint_every", "log", "tensorboard")[:1]:
        raise InvalidSetting(f"{word} is not possible with --exact, which trains in one go.")
    settings = environment.exact_settings(_settings(options))
    world = world_from_gym(environment.name, **environment.env_options)
    env = environment.make()
    steps = check_integer("steps", options.steps, low=1)
    training = ModelTraining(
        world,
        options.explorer or DEFAULT_EXPLORER,
        preset=chosen_preset(env, options.preset),
        seed=options.seed or 0,
        undiscounted_returns=True,
        changes={"budget": steps, "evaluate_every": steps, **settings, "steps": steps},
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
    expected = float(training.run.record().returns[-1])
    print(f"greedy     expected return of an episode {expected:.6g}{best}")
    first = dict(zip(("first_reward", "first_termination"), training.run.events, strict=True))
    _write_summary(options, agent, env, {"optimal_return": optimal, **first, "greedy_return": {"mean": expected}})
    if options.save is not None:
        agent.save(options.save)
        print(f"saved      {options.save}; inspect with `wanderlust explain`")
    _record_video(agent, env, environment, options)
    env.close()


# --- By steps --------------------------------------------------------------------------------------------


def train_by_steps(environment: EnvironmentOptions, options: TrainOptions) -> None:
    """Train, print the summary and record the video; save the agent, also if any of this fails."""
    env, training = environment.make(), Training(environment, options)
    callbacks: list[Callback] = [] if options.quiet else [ProgressBar(Console(stderr=True))]
    if options.log is not None:
        callbacks.append(CsvLog(options.log, overwrite=options.overwrite_log))
    if options.tensorboard is not None:
        callbacks.append(TensorBoard(options.tensorboard))
    with training.saving_unfinished():
        agent = learn(
            env,
            _explorer(options),
            steps=options.steps,
            seed=options.seed,
            callbacks=[*callbacks, *training.files, training],
            resume=options.resume,
            preset=options.preset,
            new_episode=options.new_episode,
            quiet=True,
            **_settings(options),
        )
        _print_summary(agent, training, options)
        _record_video(agent, env, environment, options)
        call_environment(env, env.close, lambda: "close")


class Training(Callback):
    """The files of a training, and for its summary, the steps of the first positive reward and the first termination.

    If training ends early, the agent is saved in any case: without --save, in a new file.
    """

    def __init__(self, environment: EnvironmentOptions, options: TrainOptions) -> None:
        self._environment, self._options = environment, options
        self.files = [] if options.save is None else [Checkpoint(options.save, options.checkpoint_every)]
        self.loop: TrainingLoop | None = None
        self.first_reward: int | None = None
        self.first_termination: int | None = None

    def on_start(self, loop: TrainingLoop) -> None:
        """Store the loop, to save it after an error."""
        self.loop = loop

    def on_step(self, loop: TrainingLoop) -> None:
        """Record the first events."""
        if self.first_reward is None and loop.reward > 0:
            self.first_reward = loop.step
        if self.first_termination is None and loop.terminated:
            self.first_termination = loop.step

    @contextlib.contextmanager
    def saving_unfinished(self) -> Iterator[None]:
        """Save the agent if training ends early; the error says where the file is and how to continue."""
        try:
            yield
        except BrokenPipeError:  # What reads the output has ended; after the training, nothing is unfinished.
            if self.loop is None or self.loop.step < self.loop.steps:
                self._save_unfinished()
            raise
        except (Exception, KeyboardInterrupt) as error:
            saved = self._save_unfinished()
            if isinstance(error, WanderlustError):
                again = _NEW_EPISODE if saved and isinstance(error, EnvironmentFailed) else ""
                raise type(error)(f"{error}{saved}{again}") from error
            if isinstance(error, KeyboardInterrupt):
                error.args = (f"interrupted.{saved or ' Nothing was saved, since no step was completed.'}",)
            error.add_note(saved)
            raise

    def _save_unfinished(self) -> str:
        """Save the state after an error or an interrupt; return a sentence that says where and how to continue."""
        loop = self.loop
        if loop is None or loop.step == 0:
            return ""
        path, saved_at = next(((file.path, file.saved_at) for file in self.files), ("", None))
        if loop.between_steps and saved_at != loop.step:
            new = _new_file(f"{self._environment.file_name}-unfinished")
            path, saved_at = str(new), loop.step
            try:
                loop.save(new)
            except BaseException as error:
                new.unlink()
                if not isinstance(error, WanderlustError):
                    raise
                return f" The agent trained so far could not be saved: {error}"
        if saved_at is None:
            return " Nothing could be saved, since the agent was interrupted while it learnt from a step."
        agent = "The agent trained so far" if saved_at == loop.step else f"The agent after {counted(saved_at, 'step')}"
        return f" {agent} is saved in {path}; continue with --resume {path}: {self._resume_command(path)}"

    def _resume_command(self, path: str) -> str:
        """Return the command that continues the training from the file."""
        options = self._options
        words = ["--steps", str(options.steps), "--resume", path, "--save", path]
        if options.explorer is not None and ":" in options.explorer:
            words += ["--explorer", options.explorer]
        words += option_words(options, "checkpoint_every", "log", "tensorboard", "video")
        return f"wanderlust train {self._environment.command_line} {shlex.join(words)}"


def _new_file(name: str) -> Path:
    """Create and return `name`.npz, or `name`-2.npz and so on if that file exists."""
    for number in itertools.count(1):
        path = Path(f"{name}.npz" if number == 1 else f"{name}-{number}.npz")
        try:
            path.touch(exist_ok=False)  # So that another process cannot choose the same name.
        except FileExistsError:
            continue
        except OSError as error:
            raise cannot_write(path, error) from error
        return path
    raise AssertionError


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
    if options.resume is None:
        explorer = options.explorer or DEFAULT_EXPLORER
        return read_settings(options.settings, [explorer])[explorer]
    given = read_options(options.settings)
    left_out = [f"--set {name}={value}" for name, value in given.items() if name != "budget"]
    left_out += option_words(options, "preset")[:1]
    if left_out:
        raise InvalidSetting(f"--resume continues with the settings of its file; leave {left_out[0]} out.")
    return given


def _print_summary(agent: Agent, training: Training, options: TrainOptions) -> None:
    """Evaluate the greedy policy and print the summary."""
    env, loop = agent.env, training.loop
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
    first = _first_events(training.first_reward, training.first_termination, since)
    print(f"rewards    {low:g} to {high:g} per step; {first}")
    if loop.time_penalty is not None and loop.time_penalty.detected:
        print(f"penalty    {loop.time_penalty.describe()}")
    if loop.recent_returns:
        latest = f"mean of the last {counted(len(loop.recent_returns), 'training episode')}"
        print(f"exploring  return {np.mean(loop.recent_returns):.6g}, {latest}")
    mean = f"mean of {counted(len(returns), 'evaluation episode')}{spread}"
    print(f"greedy     return {returns.mean():.6g}, {mean}")
    recent = float(np.mean(loop.recent_returns)) if loop.recent_returns else None
    greedy = {"mean": returns.mean(), "min": returns.min(), "max": returns.max(), "episodes": len(returns)}
    first_events = {"first_reward": training.first_reward, "first_termination": training.first_termination}
    measured = {"episodes": loop.episode, **first_events, "training_return": recent}
    _write_summary(options, agent, env, {**measured, "greedy_return": {name: float(x) for name, x in greedy.items()}})
    for file in training.files:
        print(f"saved      {file.path}; continue with --resume, inspect with `wanderlust explain`")
    for label, path in (("log", options.log), ("events", options.tensorboard)):
        if path is not None:
            print(f"{label:<10} {path}")
    sys.stdout.flush()
    call_environment(env, eval_env.close, lambda: "close after evaluation")


def _write_summary(options: TrainOptions, agent: Agent, env: Tabular, measured: dict[str, Any]) -> None:
    """Write what was measured to the file of --json, if it is given; events that never occurred are null."""
    if options.json is not None:
        about: dict[str, Any] = {"environment": env.name, "explorer": agent.explorer, "preset": agent.preset}
        about |= {"seed": agent.seed, "steps": agent.steps, "states": agent.discovered}
        about["reward_range"] = list(agent.reward_range)
        write_json(options.json, about | measured)
        print(f"summary    {options.json}")


def _first_events(first_reward: int | None, first_termination: int | None, since: str = "") -> str:
    if first_reward is not None:
        return f"first positive reward{since} at step {first_reward:,}"
    if first_termination is not None:
        return f"no positive reward{since}; first terminated episode at step {first_termination:,}"
    return f"no positive reward and no terminated episode{since}"


def _record_video(agent: Agent, env: Tabular, environment: EnvironmentOptions, options: TrainOptions) -> None:
    """Record a video, if --video is given."""
    if options.video is not None:
        rendering = env.copy(rendering_env(environment.name, environment.env_options))
        frames = record_video(agent, rendering, options.video, seed=options.seed or 0)
        print(f"video      {options.video}, {counted(frames, 'frame')} of one episode")
