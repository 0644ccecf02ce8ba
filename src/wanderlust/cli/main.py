"""The entry point: assembles the commands, and turns errors into messages and exit codes.

A command is a function: its parameters are the arguments, its docstring is the help text. Commands import heavy modules
inside functions, so that `wanderlust --help` starts fast.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from typing import Any

import tyro
from tyro.extras import SubcommandApp

from wanderlust.cli.bench import bench
from wanderlust.cli.compare import compare
from wanderlust.cli.diagnose import diagnose
from wanderlust.cli.evaluate import evaluate
from wanderlust.cli.exam import exam
from wanderlust.cli.explain import explain
from wanderlust.cli.explorers import explorers
from wanderlust.cli.export import export
from wanderlust.cli.interrupts import exit_code
from wanderlust.cli.report import report
from wanderlust.cli.reproduce import reproduce
from wanderlust.cli.results import results
from wanderlust.cli.run import run
from wanderlust.cli.status import status
from wanderlust.cli.studio import studio
from wanderlust.cli.sweep import sweep
from wanderlust.cli.train import train
from wanderlust.cli.watch import watch
from wanderlust.cli.worlds import worlds
from wanderlust.core.errors import WanderlustError
from wanderlust.version import __version__

app = SubcommandApp()
for _command in (
    train, evaluate, compare, diagnose, explain, watch, studio, worlds, explorers, exam, reproduce, sweep, status,
    results, report, export, run, bench,
):  # fmt: skip
    app.command(_command)


_READING_COMMANDS = ("report", "export", "results", "status")
"""Commands that read the files of others and execute none of their code."""


def main() -> None:
    """Run the command given on the command line; invalid input prints a message instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # Not all terminals have all characters.
    if sys.argv[1:2] == ["--version"]:
        print(f"wanderlust {__version__}")
        return
    # User-defined module:name arguments are imported from the working directory, as with `python -m`.
    if not {"", os.getcwd()} & set(sys.path) and not {*sys.argv[1:2]} & {*_READING_COMMANDS}:
        sys.path.append(os.getcwd())
    try:
        try:
            _run_command()
        finally:
            sys.stdout.flush()  # Here, an error becomes a message.
    except WanderlustError as error:
        print(f"wanderlust: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as interrupt:
        print(f"wanderlust: {str(interrupt) or 'interrupted.'}", file=sys.stderr)
        sys.exit(exit_code(interrupt))
    except BrokenPipeError:
        # The reader of the output, such as `head`, has closed the pipe.
        _discard_output()
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _discard_output()
        print("wanderlust: the output cannot be written: no space left on the device.", file=sys.stderr)
        sys.exit(1)


def _run_command() -> None:
    """Parse the command line and run the command; warnings are printed as sentences, each once."""
    printed: set[str] = set()

    def print_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        kind = "" if issubclass(category, UserWarning) else f"{category.__name__}: "
        if str(message) not in printed:
            printed.add(str(message))
            print(f"wanderlust: warning: {kind}{message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = print_warning
        app.cli(
            prog="wanderlust",
            description="Exploration for sparse-reward reinforcement learning; --version prints the version.",
            config=(tyro.conf.FlagCreatePairsOff,),
        )


def _discard_output() -> None:
    """Discard what is not flushed yet, and the output that follows."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
