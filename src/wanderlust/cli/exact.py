"""The option --exact: training on the model of an environment in the compiled loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wanderlust.cli.arguments import DEFAULT_EXPLORER, REWARD_RANGE, RunsOptions, read_settings
from wanderlust.cli.environment_options import EnvironmentOptions
from wanderlust.core.errors import InvalidSetting, check_integer, counted

if TYPE_CHECKING:
    from wanderlust.cli.train import TrainOptions
    from wanderlust.experiments.run import Run
    from wanderlust.training.model_training import ModelTraining

EXACT_NOTE = (
    "Exact: trained on the environment's model, with its range of rewards. Returns are exact expected values of the "
    "greedy policy; stored runs are used while the model is the same."
)


def plan_exact_runs(environment: EnvironmentOptions, options: RunsOptions, evaluate_every: int | None) -> list[Run]:
    """Return one run per explorer and seed; raise an error if the environment has no model or a run is invalid.

    `evaluate_every` is a default that --set may override.
    """
    from wanderlust.agents.settings import MAX_STEPS
    from wanderlust.experiments.model_run import model_world_of
    from wanderlust.experiments.run import Run
    from wanderlust.training.model_training import ModelTraining

    check_integer("seeds", options.seeds, low=1)
    check_integer("steps", options.steps, low=1, high=MAX_STEPS)
    _check_environment(environment)
    if options.env_version:
        raise InvalidSetting("--env-version is not used with --exact: a hash of the model identifies it; leave it out.")
    names = list(dict.fromkeys(options.explorers))
    if not names:
        raise InvalidSetting("give at least one explorer, such as --explorers vv-ucb; see `wanderlust explorers`.")
    parsed = read_settings(options.settings, names)
    runs, defaults = [], {} if evaluate_every is None else {"evaluate_every": evaluate_every}
    for explorer in names:
        fields: dict[str, Any] = {
            "explorer": explorer,
            "preset": options.preset or "",
            "world_options": environment.env_options,
            "settings": {**defaults, **_without_reward_range(parsed[explorer]), "steps": options.steps},
        }
        first = Run.of_model(environment.name, **fields)
        # Raises an error for invalid settings.
        ModelTraining(
            model_world_of(first),
            explorer,
            preset=first.preset,
            seed=0,
            undiscounted_returns=True,
            changes=first.overrides,
        )
        runs += [replace(first, seed=seed) for seed in range(options.seeds)]
    return runs


def train_exactly(environment: EnvironmentOptions, options: TrainOptions, settings: dict[str, Any]) -> None:
    """Train on the model of an environment, print a summary, and save the agent."""
    from wanderlust.core.planning import optimal_episode_return
    from wanderlust.environments.model import world_from_gym
    from wanderlust.environments.tabular import saved_environment
    from wanderlust.training.adaptive import chosen_preset
    from wanderlust.training.model_training import ModelTraining
    from wanderlust.training.video import record_video, rendering_env

    _check_environment(environment)
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
        changes={"budget": steps, "evaluate_every": steps, **_without_reward_range(settings), "steps": steps},
    )
    training.advance(steps)
    agent = training.agent
    agent.encoding, agent.environment = env.encoding, saved_environment(env)
    optimal = optimal_episode_return(world.mdp, agent.settings.horizon)
    _print_summary(env.name, training, optimal)
    if options.save is not None:
        agent.save(options.save)
        print(f"saved      {options.save}; inspect with `wanderlust explain`")
    if options.video is not None:
        rendering = env.copy(rendering_env(environment.name, environment.env_options))
        frames = record_video(agent, rendering, options.video, seed=options.seed or 0)
        print(f"video      {options.video}, {counted(frames, 'frame')} of one episode")
    env.close()


def _print_summary(name: str, training: ModelTraining, optimal: float | None) -> None:
    agent, last_return = training.agent, training.run.history().returns[-1]
    low, high = agent.reward_range
    first_reward, first_termination = training.run.first_events
    first = "no positive reward and no terminated episode"
    if first_reward is not None:
        first = f"first positive reward at step {first_reward:,}"
    elif first_termination is not None:
        first = f"no positive reward; first terminated episode at step {first_termination:,}"
    print(f"trained    {name} with {agent.explorer}, {agent.steps:,} steps on its model, preset {agent.preset}")
    print(f"states     {agent.discovered:,} acted in, {agent.n_states:,} in the model")
    print(f"rewards    {low:g} to {high:g} per step; {first}")
    best = "" if optimal is None else f"; optimal is {optimal:.6g}"
    print(f"greedy     expected return of an episode {last_return:.6g}{best}")


def _check_environment(environment: EnvironmentOptions) -> None:
    if environment.encoder_options:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in environment.encoder_options)
        raise InvalidSetting(f"--exact uses the states and actions of the environment's model; leave {names} out.")


def _without_reward_range(settings: dict[str, Any]) -> dict[str, Any]:
    if REWARD_RANGE in settings:
        raise InvalidSetting(f"{REWARD_RANGE} cannot be set with --exact: the model contains all rewards.")
    return settings
