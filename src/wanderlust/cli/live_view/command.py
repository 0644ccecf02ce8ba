"""What the command `watch` does: a run at a speed that eyes can follow, or a few pictures where nobody looks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

from rich.console import Console
from rich.live import Live

from wanderlust.cli.live_view.frame import Stage
from wanderlust.cli.live_view.run import WatchedRun, prepared
from wanderlust.cli.options import read_options
from wanderlust.core.errors import check_number

SECONDS_OF_A_RUN = 60
"""How long a run takes unless a speed is asked for."""
_FRAMES_PER_SECOND = 12
_LONGEST_BETWEEN_FRAMES = 0.5
"""Seconds."""
_PLAIN_FRAMES = 4


def watch(
    world: str,
    explorer: str,
    *,
    seed: int = 0,
    steps: int | None = None,
    speed: float | None = None,
    options: Iterable[str] = (),
    console: Console | None = None,
) -> None:
    """Show a run as it happens; where the output is no terminal, print a few frames of it as plain text."""
    given = read_options(options)
    if steps is not None:
        given["steps"] = steps
    if speed is not None:
        speed = check_number("speed", speed, low=0, open_low=True)
    console = console or Console()
    made, changes = prepared(world, explorer, given)
    run = WatchedRun(made, explorer, seed=seed, **changes)
    run.prepare()
    stage = Stage(run, f"{made.name}, {explorer}, seed {seed}")
    if console.is_terminal:
        _show(run, stage, console, speed or run.length / SECONDS_OF_A_RUN)
    else:
        _print(run, stage, console)


def _show(run: WatchedRun, stage: Stage, console: Console, speed: float) -> None:
    pause = 1 / min(_FRAMES_PER_SECOND, speed)
    with contextlib.suppress(KeyboardInterrupt), Live(console=console, auto_refresh=False) as live:
        begun = time.monotonic()
        live.update(stage.frame(console.size), refresh=True)
        while not run.over:
            time.sleep(pause)
            _advance(run, int(speed * (time.monotonic() - begun)))
            live.update(stage.frame(console.size), refresh=True)
    if not run.over:
        console.print(f"stopped at step {run.step:,} of {run.length:,}", highlight=False)


def _advance(run: WatchedRun, until: int) -> None:
    """Run up to a step, or not as far where that takes too long for anything to be seen."""
    deadline = time.monotonic() + _LONGEST_BETWEEN_FRAMES
    while run.step < until and not run.over and time.monotonic() < deadline:
        run.advance()


def _print(run: WatchedRun, stage: Stage, console: Console) -> None:
    for i in range(1, _PLAIN_FRAMES + 1):
        while run.step < run.length * i // _PLAIN_FRAMES:
            run.advance()
        console.print(stage.plain(), markup=False, highlight=False, soft_wrap=True)
