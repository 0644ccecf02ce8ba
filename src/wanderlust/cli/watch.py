"""The command `watch`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from wanderlust.cli.arguments import DEFAULT_EXPLORER, read_options
from wanderlust.core.errors import check_number

if TYPE_CHECKING:
    from rich.console import Console

    from wanderlust.cli.live_view.frame import FrameRenderer
    from wanderlust.cli.live_view.run import WatchedRun

DEFAULT_SECONDS = 60
"""The duration of a run without --speed."""
_FRAMES_PER_SECOND = 12
_MAX_SECONDS_PER_FRAME = 0.5
_MAX_PAUSE = 60
"""The maximum number of seconds between frames."""
_PLAIN_FRAMES = 4


def watch(
    world: Annotated[Positional[str], arg(metavar="WORLD", help="Built-in world (prison) or map file (mine.txt).")],
    *,
    explorer: Annotated[
        str, arg(metavar="NAME", help="Explorer; `wanderlust explorers` lists them.")
    ] = DEFAULT_EXPLORER,
    seed: Annotated[int, arg(metavar="N", help="Random seed.")] = 0,
    steps: Annotated[int | None, arg(metavar="N", help="Number of steps; the world's budget if not given.")] = None,
    speed: Annotated[
        float | None, arg(metavar="STEPS", help="Steps per second; if not given, the run takes one minute.")
    ] = None,
    option: Annotated[
        tuple[str, ...],
        arg(metavar="NAME=VALUE ...", help="Options of the world and of the explorer, and settings of the run."),
    ] = (),
) -> None:
    """Show a run live in the terminal: the agent's position, the visits and the exploration value of every state.

    Stop with Ctrl-C. If the output is a file or a pipe, a few frames are printed as plain text.

    Example: wanderlust watch prison --explorer vv-ucb

    Example: wanderlust watch deep-sea --explorer bonus --speed 200 --option depth=15 flag=treasure scale=0.5
    """
    show_run(world, explorer, seed=seed, steps=steps, speed=speed, options=option)


def show_run(
    world_name: str,
    explorer: str,
    *,
    seed: int = 0,
    steps: int | None = None,
    speed: float | None = None,
    options: Iterable[str] = (),
    console: Console | None = None,
) -> None:
    """Run and show the frames: live on a terminal, otherwise a few of them as plain text."""
    from rich.console import Console

    from wanderlust.cli.live_view.frame import FrameRenderer
    from wanderlust.cli.live_view.run import WatchedRun, make_world_and_settings

    parsed = read_options(options)
    if steps is not None:
        parsed["steps"] = steps
    if speed is not None:
        speed = check_number("speed", speed, low=0, open_low=True)
    console = console or Console()
    world, settings = make_world_and_settings(world_name, explorer, parsed)
    run = WatchedRun(world, explorer, seed=seed, **settings)
    run.prepare()
    renderer = FrameRenderer(run, f"{world.name}, {explorer}, seed {seed}")
    if console.is_terminal:
        _show_live(run, renderer, console, speed or run.length / DEFAULT_SECONDS)
    else:
        _print_frames(run, renderer, console)


def _show_live(run: WatchedRun, renderer: FrameRenderer, console: Console, speed: float) -> None:
    from rich.live import Live

    pause = max(1 / _FRAMES_PER_SECOND, min(1 / speed, _MAX_PAUSE))
    with contextlib.suppress(KeyboardInterrupt), Live(console=console, auto_refresh=False) as live:
        start = time.monotonic()
        live.update(renderer.frame(console.size), refresh=True)
        while not run.finished:
            time.sleep(pause)
            _advance(run, int(min(speed * (time.monotonic() - start), run.length)))
            live.update(renderer.frame(console.size), refresh=True)
    if not run.finished:
        console.print(f"stopped at step {run.step:,} of {run.length:,}", highlight=False)


def _advance(run: WatchedRun, until: int) -> None:
    """Run up to a step, but stop early if the next frame is due."""
    deadline = time.monotonic() + _MAX_SECONDS_PER_FRAME
    while run.step < until and not run.finished and time.monotonic() < deadline:
        run.advance()


def _print_frames(run: WatchedRun, renderer: FrameRenderer, console: Console) -> None:
    for i in range(1, _PLAIN_FRAMES + 1):
        while run.step < run.length * i // _PLAIN_FRAMES:
            run.advance()
        console.print(renderer.plain_text(), markup=False, highlight=False, soft_wrap=True)
