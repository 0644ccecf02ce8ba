"""The command `evaluate`."""

from __future__ import annotations

from typing import Annotated

from tyro.conf import Positional, arg

from wanderlust.cli.options import AgentExplorer, AgentFile, AgentKey, OptionalFile, load_agent, read_options
from wanderlust.core.errors import InvalidSetting, counted


def evaluate(
    file: AgentFile,
    environment: Annotated[
        Positional[str | None],
        arg(metavar="ENVIRONMENT", help="Name or module:function; by default that of the file, if Gymnasium knows it."),
    ] = None,
    *,
    env: Annotated[tuple[str, ...], arg(metavar="NAME=VALUE ...", help="Options of ENVIRONMENT.")] = (),
    episodes: Annotated[int, arg(metavar="N", help="Number of episodes.")] = 100,
    seed: Annotated[int, arg(metavar="N", help="Seed of the first episode.")] = 0,
    explorer: AgentExplorer = None,
    key: AgentKey = None,
    video: Annotated[OptionalFile, arg(help="Also record one episode of the greedy policy as a .gif.")] = None,
) -> None:
    """Evaluate the greedy policy of a saved agent.

    Example: wanderlust evaluate agent.npz --episodes 100 --video run.gif
    """
    import numpy as np

    from wanderlust.environments.make import make_environment
    from wanderlust.environments.tabular import remake_environment
    from wanderlust.training.evaluation import evaluate as evaluate_agent
    from wanderlust.training.evaluation import evaluation_env
    from wanderlust.training.video import check_video_file, record_video, rendering_env

    if env and environment is None:
        raise InvalidSetting("--env needs ENVIRONMENT: the options in the file belong to the environment in the file.")
    if video is not None:
        check_video_file(video)
    agent = load_agent(file, explorer, key, needs_key=True)
    options = read_options(env)
    made = None if environment is None else make_environment(environment, **options)
    tabular_env = evaluation_env(agent, made)
    try:
        returns = evaluate_agent(agent, tabular_env, episodes=episodes, seed=seed)
    finally:
        tabular_env.close()
    error = returns.std(ddof=1) / np.sqrt(len(returns)) if len(returns) > 1 else 0.0
    trained = counted(agent.steps, "training step") + (f" with preset {agent.preset}" if agent.preset else "")
    print(f"{agent.explorer} in {tabular_env.name}, after {trained}, greedy policy")
    n_episodes = counted(len(returns), "episode")
    print(f"mean return {returns.mean():.6g} ± {error:.2g} (standard error), {n_episodes} from seed {seed}")
    print(f"median {np.median(returns):.6g}, smallest {returns.min():.6g}, largest {returns.max():.6g}")
    if video is not None:
        rendering = (
            remake_environment(agent.environment, render_mode="rgb_array")
            if environment is None
            else rendering_env(environment, options)
        )
        frames = record_video(agent, evaluation_env(agent, rendering), video, seed=seed)
        print(f"video {video}, {counted(frames, 'frame')} of one episode")
