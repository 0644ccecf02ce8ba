"""The command `watch`."""

from __future__ import annotations

from typing import Annotated

from tyro.conf import Positional, arg

from wanderlust.cli.options import DEFAULT_EXPLORER, Name, Pairs, Settings, read_options, read_settings
from wanderlust.core.errors import check_number

DEFAULT_SECONDS = 60
"""The duration of a run without --speed."""
_LINES = 4


def watch(
    world: Annotated[
        Positional[str],
        arg(
            metavar="WORLD",
            help="Built-in world (prison), map file (mine.txt), or Gymnasium environment with a model (FrozenLake-v1).",
        ),
    ],
    *,
    explorer: Annotated[Name, arg(help="Explorer; `wanderlust explorers` lists them.")] = DEFAULT_EXPLORER,
    env: Annotated[Pairs, arg(help="Options of the world, such as depth=15 or map_name=8x8.")] = (),
    settings: Settings = (),
    seed: Annotated[int, arg(metavar="N", help="Random seed.")] = 0,
    steps: Annotated[int | None, arg(metavar="N", help="Number of steps; the world's budget if not given.")] = None,
    speed: Annotated[
        float | None,
        arg(metavar="STEPS", help="Steps per second, at most 24,000; if not given, the run takes a minute or more."),
    ] = None,
) -> None:
    """Show a run live in the terminal: the agent's position, the visits and the exploration value of every state.

    Ctrl-C stops it. If the output is a file or a pipe, or the terminal has no colours, it prints a few lines of text.

    Example: wanderlust watch prison --explorer vv-ucb

    Example: wanderlust watch deep-sea --explorer bonus --speed 200 --env depth=15 flag=treasure --set scale=0.5

    Example: wanderlust watch FrozenLake-v1 --env map_name=8x8 --steps 2000
    """
    from rich.console import Console

    from wanderlust.cli.live_view import WatchedRun, make_watched_world, show_live

    changes = read_settings(settings, [explorer])[explorer] | ({} if steps is None else {"steps": steps})
    if speed is not None:
        check_number("speed", speed, low=0, open_low=True)
    console = Console()
    run = WatchedRun(make_watched_world(world, read_options(env, "depth=15")), explorer, seed=seed, **changes)
    if console.is_terminal and console.color_system is not None and not console.no_color:
        show_live(run, console, speed or run.length / DEFAULT_SECONDS)
    else:
        for i in range(1, _LINES + 1):
            run.session.advance(run.length * i // _LINES)
            snapshot = run.snapshot()
            print(f"{snapshot.title}: {', '.join(snapshot.status)}")
