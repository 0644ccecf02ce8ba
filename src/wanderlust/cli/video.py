"""An episode of what was learnt, as a moving picture."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from wanderlust.agents.agent import Agent
from wanderlust.cli.environment import Environment
from wanderlust.cli.files import check_writable
from wanderlust.core.errors import (
    EnvironmentFailed,
    InvalidEnvironment,
    InvalidSetting,
    MissingPackage,
    WanderlustError,
)
from wanderlust.envs.make import make_environment
from wanderlust.envs.tabular import Tabular

SUFFIXES = (".gif", ".mp4")
MAX_FRAMES = 1_000
_FRAMES_PER_SECOND = 10
_STILL_SECONDS = 1.5
"""How long the last picture stays."""

Frame = NDArray[np.uint8]


def check_video(environment: Environment, path: Path) -> None:
    """See, before anything is learnt, that a video can be made: the kind of file, and that the environment draws."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidSetting(f"a video is a file that ends in .gif or .mp4, got {str(path)!r}.")
    if path.suffix.lower() == ".mp4":
        _clip_class()
    check_writable(path)
    env = _drawing(environment)
    try:
        env.reset(seed=0)
        _picture_of(env)
    finally:
        env.close()


def record_video(agent: Agent, environment: Environment, path: Path, *, seed: int = 0) -> int:
    """Write an episode of the greedy policy to a file; return the number of its frames."""
    env = agent.env.copy(_drawing(environment))
    try:
        frames = _episode(agent, env, seed)
        speed = float(env.metadata.get("render_fps") or _FRAMES_PER_SECOND)
    finally:
        env.close()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (_write_gif if path.suffix.lower() == ".gif" else _write_mp4)(frames, path, speed)
    except OSError as error:
        raise WanderlustError(f"{path}: the video cannot be written ({error.strerror or error}).") from error
    return len(frames)


def _drawing(environment: Environment) -> Any:
    """Return the environment in the mode in which it returns pictures."""
    # Pictures need no screen. pygame, with which many environments draw, would look for one and complain.
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    why = "it is made in another mode"
    try:
        env = make_environment(environment.name, **{"render_mode": "rgb_array", **environment.options})
    except WanderlustError as error:
        # Perhaps it takes no such option because it always draws.
        why = str(error)
        env = make_environment(environment.name, **environment.options)
    if env.render_mode != "rgb_array":
        env.close()
        raise _cannot_draw(environment.environment, why)
    return env


def _cannot_draw(name: str, why: str) -> InvalidEnvironment:
    return InvalidEnvironment(
        f"a video needs an environment that can be made with render_mode='rgb_array', which {name!r} cannot: {why}. "
        "Leave --video out, or let what makes the environment take render_mode."
    )


def _picture_of(env: Any) -> Frame:
    name = type(env.unwrapped).__name__
    try:
        picture = np.asarray(env.render())
    except DependencyNotInstalled as error:
        raise MissingPackage(f"a video of {name} needs another package: {error}. Or leave --video out.") from error
    except Exception as error:  # An environment's drawing may fail in any way.
        raise EnvironmentFailed(f"{name} could not be drawn: {type(error).__name__}: {error}") from error
    if picture.ndim != 3 or picture.shape[2] not in (3, 4):
        raise InvalidEnvironment(f"{env} drew no picture of rows, columns and colours, but {picture.shape}.")
    return picture[:, :, :3].astype(np.uint8)


def _episode(agent: Agent, env: Tabular, seed: int) -> list[Frame]:
    """Return the pictures of one episode; of a long one, the beginning."""
    state, _ = env.reset(seed=seed)
    frames = [_picture_of(env)]
    over = False
    while not over and len(frames) < MAX_FRAMES:
        state, _, terminated, truncated, _ = env.step(agent.greedy_action(state))
        frames.append(_picture_of(env))
        over = bool(terminated or truncated)
    return frames


def _write_gif(frames: list[Frame], path: Path, speed: float) -> None:
    from PIL import Image

    pictures = [Image.fromarray(frame) for frame in frames]
    durations = [1000 / speed] * (len(frames) - 1) + [1000 * _STILL_SECONDS]
    pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=[round(d) for d in durations], loop=0)


def _write_mp4(frames: list[Frame], path: Path, speed: float) -> None:
    # Most players want an even number of rows and columns.
    even = [frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2] for frame in frames]
    clip = _clip_class()(even + [even[-1]] * round(_STILL_SECONDS * speed), fps=speed)
    clip.write_videofile(str(path), logger=None)


def _clip_class() -> Any:
    try:
        from moviepy.video.io.ImageSequenceClip import ImageSequenceClip
    except ImportError as error:
        raise MissingPackage(
            "an .mp4 needs the package moviepy: pip install moviepy. A .gif needs nothing more."
        ) from error
    return ImageSequenceClip
