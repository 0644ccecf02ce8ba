"""The command `watch`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from wanderlust.cli import HELP_ONLY
from wanderlust.cli.options import DEFAULT_EXPLORER, Settings, read_options, read_settings

if TYPE_CHECKING or not HELP_ONLY:
    from rich.console import Console
    from rich.live import Live

    from wanderlust.cli.live_view.frames import FrameRenderer, write_gif
    from wanderlust.cli.live_view.player import KEYS, Player, key_reader
    from wanderlust.cli.live_view.watched_run import WatchedRun, make_watched_world
    from wanderlust.core.errors import InvalidSetting, check_number, counted
    from wanderlust.core.files import check_writable, shown_path

DEFAULT_SECONDS = 60
"""The duration of a run without --speed."""
_FRAMES_PER_SECOND = 12
_MAX_PAUSE = 60
"""The maximum number of seconds between frames."""
_PLAIN_FRAMES = 4


def watch(
    world: Annotated[
        Positional[str],
        arg(
            metavar="WORLD",
            help="Built-in world (prison), map file (mine.txt), or Gymnasium environment with a model (FrozenLake-v1).",
        ),
    ],
    *,
    explorer: Annotated[
        str, arg(metavar="NAME", help="Explorer; `wanderlust explorers` lists them.")
    ] = DEFAULT_EXPLORER,
    env: Annotated[
        tuple[str, ...],
        arg(metavar="NAME=VALUE ...", help="Options of the world, such as depth=15 or map_name=8x8."),
    ] = (),
    settings: Settings = (),
    seed: Annotated[int, arg(metavar="N", help="Random seed.")] = 0,
    steps: Annotated[int | None, arg(metavar="N", help="Number of steps; the world's budget if not given.")] = None,
    speed: Annotated[
        float | None, arg(metavar="STEPS", help="Steps per second; if not given, the run takes one minute.")
    ] = None,
    gif: Annotated[
        Path | None, arg(metavar="FILE", help="Record the whole run as an animated GIF instead of showing it.")
    ] = None,
) -> None:
    """Show a run live in the terminal: the agent's position, the visits and the exploration value of every state.

    Keys: space pauses and continues, → takes one step, ← goes back one frame, + and - change the speed, q quits. If the
    output is a file or a pipe, a few frames are printed as plain text.

    Example: wanderlust watch prison --explorer vv-ucb

    Example: wanderlust watch deep-sea --explorer bonus --speed 200 --env depth=15 flag=treasure --set scale=0.5

    Example: wanderlust watch FrozenLake-v1 --env map_name=8x8 --steps 2000 --gif lake.gif
    """
    show_run(world, explorer, seed=seed, steps=steps, speed=speed, env=env, settings=settings, gif=gif)


def show_run(
    world_name: str,
    explorer: str,
    *,
    seed: int = 0,
    steps: int | None = None,
    speed: float | None = None,
    env: Iterable[str] = (),
    settings: Iterable[str] = (),
    gif: Path | None = None,
    console: Console | None = None,
) -> None:
    """Run and show the frames: live on a terminal, in a GIF, or a few of them as plain text."""
    changes = read_settings(settings, [explorer])[explorer]
    changes |= {} if steps is None else {"steps": steps}
    if speed is not None:
        speed = check_number("speed", speed, low=0, open_low=True)
    if gif is not None:
        if gif.suffix.lower() != ".gif":
            raise InvalidSetting(f"--gif must be a .gif file, got {shown_path(gif)!r}.")
        check_writable(gif)
    console = console or Console()
    world = make_watched_world(world_name, read_options(env, "depth=15"))
    run = WatchedRun(world, explorer, seed=seed, **changes)
    run.prepare()
    renderer = FrameRenderer(run, f"{world.name}, {explorer}, seed {seed}")
    if gif is not None:
        console.print(f"{gif}: {counted(write_gif(run, renderer, gif), 'frame')}", highlight=False, soft_wrap=True)
    elif console.is_terminal:
        _show_live(run, renderer, console, speed or run.length / DEFAULT_SECONDS)
    else:
        _print_frames(run, renderer, console)


def _show_live(run: WatchedRun, renderer: FrameRenderer, console: Console, speed: float) -> None:
    player = Player(run, speed)
    with (
        contextlib.suppress(KeyboardInterrupt),
        key_reader() as read,
        Live(console=console, auto_refresh=False) as live,
    ):
        before = time.monotonic()
        while True:
            more = [] if read is None else [*(["paused"] if player.paused else []), *KEYS]
            live.update(renderer.frame(console.size, player.snapshot, more), refresh=True)
            if player.is_over:
                break
            pause = max(1 / _FRAMES_PER_SECOND, min(1 / player.speed, _MAX_PAUSE))
            if read is None:
                time.sleep(pause)
            else:
                for key in read(pause):
                    player.press(key)
            now = time.monotonic()
            player.play(now - before)
            before = now
    if not run.finished:
        console.print(f"stopped at step {run.step:,} of {run.length:,}", highlight=False)


def _print_frames(run: WatchedRun, renderer: FrameRenderer, console: Console) -> None:
    for i in range(1, _PLAIN_FRAMES + 1):
        while run.step < run.length * i // _PLAIN_FRAMES:
            run.advance()
        console.print(renderer.plain_text(), markup=False, highlight=False, soft_wrap=True)
