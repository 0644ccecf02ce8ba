"""The command line. Each command is a function; what it takes is its parameters, and its help is its docstring.

Heavy modules are imported by the command that needs them, so that asking for help takes no time.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import Positional, arg
from tyro.extras import SubcommandApp

from wanderlust.cli import line
from wanderlust.core.errors import InvalidSetting, WanderlustError

app = SubcommandApp()
for _command in (line.train, line.compare, line.diagnose, line.explain):
    app.command(_command)


@app.command
def bench(
    *,
    quick: Annotated[bool, arg(help="Fewer repeats, smaller sizes: about a minute.")] = False,
    json: Annotated[Path | None, arg(metavar="FILE", help="Also write machine and results to this file.")] = None,
    markdown: Annotated[Path | None, arg(metavar="FILE", help="Also write the table as Markdown.")] = None,
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
    from wanderlust.cli.files import check_writable, write_text

    # Before minutes of measuring, not after them.
    for file in (json, markdown, plot):
        if file is not None:
            check_writable(file)
    if peers_python is not None and shutil.which(peers_python) is None:
        raise InvalidSetting(f"--peers-python: there is no program {peers_python!r}; name a Python, such as python3.")

    # Wide enough for the table where there is no terminal to ask.
    console = Console() if sys.stdout.isatty() else Console(width=150)
    found = report.collect(measures.all_lines(quick, peers_python), console)
    console.print(report.table(found))
    for file, text in ((json, report.as_json(found, quick)), (markdown, report.as_markdown(found))):
        if file is not None:
            write_text(file, f"{text}\n")
            console.print(f"written to {file}")
    if plot is not None:
        report.plot_growth(found, plot)
        console.print(f"drawn to {plot}")


@app.command
def worlds() -> None:
    """List the worlds, each with its options, their usual values and what they mean.

    Example: wanderlust worlds
    """
    from wanderlust.cli import listing

    listing.list_worlds()


@app.command
def explorers() -> None:
    """List the explorers, each with its options, their usual values and what they mean.

    Example: wanderlust explorers
    """
    from wanderlust.cli import listing

    listing.list_explorers()


@app.command
def reproduce(
    experiment: Annotated[
        Positional[str], arg(metavar="EXPERIMENT", help="Its name, or 'list' for all names, or 'all'.")
    ],
    *,
    quick: Annotated[bool, arg(help="Fewer seeds, smaller sizes: minutes. All that is printed says so.")] = False,
    worlds: Annotated[tuple[str, ...] | None, arg(metavar="NAME ...", help="Only these of its worlds.")] = None,
    explorers: Annotated[tuple[str, ...] | None, arg(metavar="NAME ...", help="Only these of its explorers.")] = None,
    seeds: Annotated[int | None, arg(metavar="N", help="How many seeds, from 1 on; the paper's if not given.")] = None,
    preset: Annotated[
        str, arg(help="'as_published_code', which made the paper's numbers, or 'as_written', its text.")
    ] = "as_published_code",
    jobs: Annotated[
        int | None, arg(metavar="N", help="How many runs at a time; one for each core if not given.")
    ] = None,
    out: Annotated[Path, arg(metavar="FOLDER", help="Where runs and reports are kept.")] = Path("results"),
    quiet: Annotated[bool, arg(help="Print errors only.")] = False,
) -> None:
    """Repeat an experiment of the paper and print its numbers beside the paper's.

    Stopped at any time, the same command goes on where it was: a run that is stored in the folder is not made again.

    Example: wanderlust reproduce recap --quick

    Example: wanderlust reproduce recap --worlds prison taxi --seeds 5 --jobs 2 --out results/
    """
    from wanderlust.cli import experiments
    from wanderlust.experiments.paper.registry import StudySelection

    if experiment == "list":
        experiments.list_studies(jobs)
        return
    choice = StudySelection(worlds, explorers, seeds, preset, quick)
    sys.exit(experiments.reproduce(experiment, choice, out, jobs=jobs, quiet=quiet))


@app.command
def report(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER", help="Where `reproduce` kept its runs.")],
) -> None:
    """Make tables and scorecard again from stored runs; nothing is run.

    Example: wanderlust report results/
    """
    from wanderlust.cli import experiments

    experiments.report(folder)


@app.command
def export(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER", help="Where `reproduce` kept its runs.")],
    *,
    format: Annotated[str, arg(help="'csv' (a line per run), 'json' or 'parquet' (with the curves).")] = "csv",
    to: Annotated[Path | None, arg(metavar="FILE", help="What to write; runs.csv in the folder if not given.")] = None,
) -> None:
    """Write all stored runs to one file for other programs.

    Example: wanderlust export results/ --format json
    """
    from wanderlust.cli import experiments

    experiments.export_runs(folder, format, to)


@app.command
def run(
    description: Annotated[Positional[str], arg(metavar="JSON", help="A run, as reports and error messages print it.")],
    *,
    out: Annotated[Path | None, arg(metavar="FOLDER", help="Keep the result in this folder, too.")] = None,
) -> None:
    """Make one run, described by JSON, and print what came of it.

    Example: wanderlust run '{"world":"prison","explorer":"vv-ucb","seed":1}'
    """
    from wanderlust.cli import experiments

    experiments.run_one(description, out)


@app.command
def watch(
    world: Annotated[Positional[str], arg(metavar="WORLD", help="Its name, or the path of a map's file.")],
    *,
    explorer: Annotated[str, arg(metavar="NAME", help="Who explores; `wanderlust explorers` lists them.")] = "vv-ucb",
    seed: Annotated[int, arg(metavar="N", help="The same seed shows the same run.")] = 0,
    steps: Annotated[int | None, arg(metavar="N", help="How long the run is; the world's budget if not given.")] = None,
    speed: Annotated[
        float | None, arg(metavar="STEPS", help="Steps a second; what makes a run of a minute if not given.")
    ] = None,
    option: Annotated[
        tuple[str, ...],
        arg(metavar="NAME=VALUE ...", help="Options of the world and of the explorer, and settings of the run."),
    ] = (),
) -> None:
    """Show a run live in the terminal: the agent, how often it was where, and what draws it on.

    Stop with Ctrl-C. Where the output goes to a file or a pipe, a few frames are printed as plain text.

    Example: wanderlust watch prison --explorer vv-ucb

    Example: wanderlust watch deep-sea --explorer bonus --speed 200 --option depth=15 flag=treasure kappa=0.5
    """
    from wanderlust.cli.live_view import command

    command.watch(world, explorer, seed=seed, steps=steps, speed=speed, options=option)


def main() -> None:
    """Run the command that the user typed; bad input gets a sentence, not a traceback."""
    # What users write as module:name is in the folder where they are, which `python -m` knows by itself.
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())
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
