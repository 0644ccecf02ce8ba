"""Videos of an agent: one episode of its greedy policy as an animated GIF."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from wanderlust.agents.agent import Agent
from wanderlust.core.errors import (
    EnvironmentFailed,
    InvalidEnvironment,
    InvalidSetting,
    MissingPackage,
    WanderlustError,
)
from wanderlust.core.files import cannot_write, check_writable, shown_path
from wanderlust.environments.make import make_environment
from wanderlust.environments.tabular import Tabular

MAX_FRAMES = 1_000
_DEFAULT_FPS = 10
_LAST_FRAME_MS = 1_500

Frame = NDArray[np.uint8]


def check_video(name: str, options: Mapping[str, Any], path: Path) -> None:
    """Check before the training that the video can be recorded and written."""
    check_video_file(path)
    with _errors(name), contextlib.closing(rendering_env(name, options)) as env:
        env.reset(seed=0)
        _render(env)


@contextlib.contextmanager
def _errors(name: str) -> Iterator[None]:
    """Raise exceptions of an environment as `EnvironmentFailed`."""
    try:
        yield
    except WanderlustError:
        raise
    except Exception as error:  # User-defined code may raise anything.
        raise EnvironmentFailed(f"{name} failed in --video with {type(error).__name__}: {error}.") from error


def check_video_file(path: Path) -> None:
    """Check that the file of a video can be written."""
    # rgb_array needs no screen, but pygame, which many environments use, would search for one and warn.
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    if path.suffix.lower() != ".gif":
        raise InvalidSetting(f"--video must be a .gif file, got {shown_path(path)!r}.")
    check_writable(path)


def record_video(agent: Agent, env: Tabular, path: Path, *, seed: int = 0) -> int:
    """Write one episode of the greedy policy in an environment that renders to a file; return the number of frames.

    The environment is closed.
    """
    from PIL import Image

    with _errors(env.name), contextlib.closing(env):
        images = [Image.fromarray(frame) for frame in _record_episode(agent, env, seed)]
        frame_ms = round(1000 / float(env.metadata.get("render_fps") or _DEFAULT_FPS))
    durations = [frame_ms] * (len(images) - 1) + [_LAST_FRAME_MS]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        images[0].save(path, save_all=True, append_images=images[1:], duration=durations, loop=0)
    except OSError as error:
        raise cannot_write(path, error) from error
    return len(images)


def rendering_env(name: str, options: Mapping[str, Any]) -> Any:
    """Return an environment with render_mode='rgb_array'."""
    reason = "it has another render_mode"
    try:
        env = make_environment(name, **{"render_mode": "rgb_array", **options})
    except WanderlustError as error:
        # A function without this parameter may always return an rgb_array environment.
        reason = str(error)
        env = make_environment(name, **options)
    if env.render_mode != "rgb_array":
        env.close()
        raise InvalidEnvironment(
            f"--video needs an environment with render_mode='rgb_array', but {name!r} cannot be "
            f"made with it: {reason}. Leave --video out, or let the function that returns the environment accept "
            "render_mode."
        )
    return env


def _render(env: Any) -> Frame:
    name = type(env.unwrapped).__name__
    try:
        frame = np.asarray(env.render())
    except DependencyNotInstalled as error:
        raise MissingPackage(f"--video of {name} needs another package: {error}. Or leave --video out.") from error
    if frame.ndim != 3 or frame.shape[2] not in (3, 4):
        raise InvalidEnvironment(f"{env} must render an array of shape (rows, columns, 3 or 4), got {frame.shape}.")
    return frame[:, :, :3].astype(np.uint8)


def _record_episode(agent: Agent, env: Tabular, seed: int) -> list[Frame]:
    """Return the frames of one episode, the first of `evaluate` with this seed, at most `MAX_FRAMES`."""
    state, info = env.reset(seed=seed)
    random = np.random.default_rng(seed)
    frames = [_render(env)]
    done = False
    while not done and len(frames) < MAX_FRAMES:
        mask = env.action_mask(info) if agent.uses_masks else None
        state, _, terminated, truncated, info = env.step(agent.greedy_action(state, random, mask=mask))
        frames.append(_render(env))
        done = bool(terminated or truncated)
    return frames
