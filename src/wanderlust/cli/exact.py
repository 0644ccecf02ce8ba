"""The option --exact: training on the model of an environment in the compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wanderlust.agents.presets import ADAPTIVE, AS_WRITTEN, WORLD_PRESETS
from wanderlust.cli.arguments import DEFAULT_EXPLORER, REWARD_RANGE, RunsOptions, read_settings
from wanderlust.cli.environment_options import EnvironmentOptions
from wanderlust.core.errors import InvalidSetting, check_choice, check_integer

if TYPE_CHECKING:
    from wanderlust.agents.agent import Agent
    from wanderlust.agents.session import Record
    from wanderlust.cli.train import TrainOptions
    from wanderlust.experiments.run import Run

EXACT_NOTE = (
    "Exact: trained on the environment's model; the compiled loop does not have the preset adaptive. Returns are exact "
    "expected values of the greedy policy; stored runs are used while the model is the same."
)


def plan_exact_runs(environment: EnvironmentOptions, options: RunsOptions) -> list[Run]:
    """Return one run per explorer and seed; raise an error if the environment has no model or a run is invalid."""
    from wanderlust.agents.session import Session
    from wanderlust.agents.settings import MAX_STEPS
    from wanderlust.experiments.model_run import model_world_of
    from wanderlust.experiments.run import Run

    check_integer("seeds", options.seeds, low=1)
    check_integer("steps", options.steps, low=1, high=MAX_STEPS)
    _check_environment(environment)
    if options.env_version:
        raise InvalidSetting("--env-version is not used with --exact: a hash of the model identifies it; leave it out.")
    preset = _preset(options.preset)
    names = list(dict.fromkeys(options.explorers))
    if not names:
        raise InvalidSetting("give at least one explorer, such as --explorers vv-ucb; see `wanderlust explorers`.")
    parsed = read_settings(options.settings, names)
    runs = []
    for explorer in names:
        fields: dict[str, Any] = {
            "explorer": explorer,
            "preset": preset,
            "world_options": environment.env_options,
            "settings": {**_without_reward_range(parsed[explorer]), "steps": options.steps},
        }
        first = Run.of_model(environment.name, **fields)
        # Raises an error for invalid settings.
        Session(model_world_of(first), explorer, preset=preset, undiscounted_returns=True, **first.overrides)
        runs += [
            Run(world=first.world, kind="model", model=first.model, seed=n, **fields) for n in range(options.seeds)
        ]
    return runs


def train_exactly(environment: EnvironmentOptions, options: TrainOptions, settings: dict[str, Any]) -> None:
    """Train on the model of an environment, print a summary, and save the agent."""
    from wanderlust.agents.session import train
    from wanderlust.cli.video import record_video
    from wanderlust.core.planning import optimal_episode_return
    from wanderlust.envs.model import world_from_gym
    from wanderlust.envs.saved import saved_environment

    _check_environment(environment)
    for name in ("resume", "checkpoint_every", "log", "tensorboard"):
        if getattr(options, name) is not None:
            raise InvalidSetting(f"--{name.replace('_', '-')} is not possible with --exact, which trains in one go.")
    preset = _preset(options.preset)
    world = world_from_gym(environment.name, **environment.env_options)
    env = environment.make()
    steps = check_integer("steps", options.steps, low=1)
    record = train(
        world,
        options.explorer or DEFAULT_EXPLORER,
        seed=options.seed or 0,
        preset=preset,
        undiscounted_returns=True,
        **{"budget": steps, "evaluate_every": steps, **_without_reward_range(settings), "steps": steps},
    )
    agent = record.agent
    agent.encoding, agent.environment = env.encoding, saved_environment(env)
    optimal = optimal_episode_return(world.mdp, record.settings.horizon)
    _print_summary(env.name, record, agent, optimal, preset)
    if options.save is not None:
        agent.save(options.save)
        print(f"saved      {options.save}; inspect with `wanderlust explain`")
    if options.video is not None:
        frames = record_video(agent, environment, options.video, seed=options.seed or 0)
        print(f"video      {options.video}, {frames:,} frames of one episode")
    env.close()


def _print_summary(name: str, record: Record, agent: Agent, optimal: float | None, preset: str) -> None:
    low, high = agent.reward_range
    first_reward, first_termination = record.events
    first = "no positive reward and no terminated episode"
    if first_reward is not None:
        first = f"first positive reward at step {first_reward:,}"
    elif first_termination is not None:
        first = f"no positive reward; first terminated episode at step {first_termination:,}"
    print(f"trained    {name} with {record.explorer}, {agent.steps:,} steps on its model, preset {preset}")
    print(f"states     {agent.discovered:,} acted in, {agent.n_states:,} in the model")
    print(f"rewards    {low:g} to {high:g} per step; {first}")
    best = "" if optimal is None else f"; optimal is {optimal:.6g}"
    print(f"greedy     expected return of an episode {record.returns[-1]:.6g}{best}")


def _preset(given: str | None) -> str:
    if given is None:
        return AS_WRITTEN
    if given == ADAPTIVE:
        raise InvalidSetting("--exact trains in the compiled loop, without --preset adaptive; use as_written.")
    return check_choice("preset", given, WORLD_PRESETS)


def _check_environment(environment: EnvironmentOptions) -> None:
    if environment.encoder_options:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in environment.encoder_options)
        raise InvalidSetting(f"--exact uses the states and actions of the environment's model; leave {names} out.")


def _without_reward_range(settings: dict[str, Any]) -> dict[str, Any]:
    if REWARD_RANGE in settings:
        raise InvalidSetting(f"{REWARD_RANGE} cannot be set with --exact: the model contains all rewards.")
    return settings
