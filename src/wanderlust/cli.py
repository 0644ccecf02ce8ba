"""The command line. Each command is a function; what it takes is its parameters, and its help is its docstring.

Heavy modules are imported by the command that needs them, so that asking for help takes no time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import arg
from tyro.extras import SubcommandApp

from wanderlust.errors import WanderlustError

app = SubcommandApp()


@app.command
def bench(
    *,
    quick: Annotated[bool, arg(help="Fewer repeats, smaller sizes: about two minutes.")] = False,
    json: Annotated[Path | None, arg(metavar="FILE", help="Also write machine and results to this file.")] = None,
    plot: Annotated[Path | None, arg(metavar="FILE", help="Also draw how times grow with the world.")] = None,
    peers_python: Annotated[
        str | None, arg(metavar="PYTHON", help="A Python that has mushroom-rl and table-rl, if this one has not.")
    ] = None,
) -> None:
    """Measure how fast wanderlust is on this machine, as ratios to honest references.

    Example: wanderlust bench --quick
    """
    from rich.console import Console

    from wanderlust.bench import measures, report

    # Wide enough for the table where there is no terminal to ask.
    console = Console() if sys.stdout.isatty() else Console(width=150)
    found = report.collect(measures.all_lines(quick, peers_python), console)
    console.print(report.table(found))
    if json is not None:
        json.parent.mkdir(parents=True, exist_ok=True)
        json.write_text(report.as_json(found, quick) + "\n")
        console.print(f"written to {json}")
    if plot is not None:
        report.plot_growth(found, plot)
        console.print(f"drawn to {plot}")


@app.command
def worlds() -> None:
    """List the worlds with their options.

    Example: wanderlust worlds
    """
    from wanderlust.worlds import world_names, world_options

    for name in world_names():
        print(name)
        for option in world_options(name):
            print(f"    {option.name}={option.default!r}  {option.meaning}")


@app.command
def explorers() -> None:
    """List the explorers with their options.

    Example: wanderlust explorers
    """
    from wanderlust.exploration.registry import explorer_class, explorer_names, options_of

    for name in explorer_names():
        print(f"{name}  {(explorer_class(name).__doc__ or '').splitlines()[0]}")
        for option in options_of(name):
            print(f"    {option.name}={option.default!r}  {option.text}")


def main() -> None:
    """Run the command that the user typed; bad input gets a sentence, not a traceback."""
    try:
        app.cli(
            prog="wanderlust",
            description="Exploration for sparse-reward reinforcement learning.",
            config=(tyro.conf.FlagCreatePairsOff,),
        )
    except WanderlustError as error:
        print(f"wanderlust: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("wanderlust: stopped.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has seen enough, as `head` does; what is still to be flushed goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
