"""The command `exam`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from wanderlust.cli.options import LOCAL, ExecutionArgument, OptionalNumbers, Pairs, read_options, read_settings
from wanderlust.core.errors import InvalidSetting


@dataclass(frozen=True)
class ExamOptions:
    """The part of the exam to take."""

    families: Annotated[tuple[str, ...] | None, arg(metavar="NAME ...")] = None
    """Families of worlds, such as depth slip; all if not given."""
    levels: OptionalNumbers = None
    """Levels of difficulty, 1 to 4; all if not given."""
    seeds: Annotated[int | None, arg(metavar="N")] = None
    """Number of seeds per world; 5 if not given."""
    quick: bool = False
    """Levels 1 and 2 and 2 seeds, unless --levels or --seeds are given."""
    development: bool = False
    """The worlds for development, on which explorers may be tuned, instead of the held-out ones."""
    set: Pairs = ()
    """Options of the explorers and settings, such as kappa=0.1 gamma_w=0.9."""


_WHOLE = ExamOptions()


def exam(
    explorers: Annotated[
        Positional[tuple[str, ...]],
        arg(metavar="EXPLORER ...", help="Explorers; see `wanderlust explorers`. A user-defined one is module:Class."),
    ] = (),
    *,
    options: Annotated[ExamOptions, arg(name="")] = _WHOLE,
    execution: ExecutionArgument = LOCAL,
    out: Annotated[Path, arg(metavar="FOLDER", help="Folder for runs and report cards.")] = Path("results"),
    leaderboard: Annotated[
        bool, arg(help="Print the kept results of all explorers of the package; no run is executed.")
    ] = False,
) -> None:
    """Examine explorers in families of worlds, each of which tests one thing, and print a report card.

    The card says how good an explorer is in total, in which families it is weak, and which command replays a run in
    which it fails. It is also written as a page, card.html, as card.md and card.json. If interrupted, the same command
    continues: runs that are stored in the folder are not repeated.

    Example: wanderlust exam vv-ucb

    Example: wanderlust exam mine:Fading vv-ucb ucbvi --jobs 2

    Example: wanderlust exam vv-ucb --families depth slip --levels 1 2 --seeds 3 --set kappa=0.1

    Example: wanderlust exam --leaderboard
    """
    from wanderlust.exams.card import card_report, print_leaderboard
    from wanderlust.exams.exam import check_not_fixed, exam_folder, select, take
    from wanderlust.exams.scores import kept_leaderboard
    from wanderlust.experiments.report.text_tables import new_console, show_report

    if leaderboard:
        if explorers or options != _WHOLE:
            raise InvalidSetting("--leaderboard prints kept results; leave the explorers and the other options out.")
        board = kept_leaderboard()
        if board is None:
            raise InvalidSetting("this version of wanderlust has no leaderboard of its suite of worlds.")
        print_leaderboard(board, new_console(160, highlight=False))
        return
    if not explorers:
        raise InvalidSetting("give at least one explorer, such as `wanderlust exam vv-ucb`, or --leaderboard.")
    names = list(dict.fromkeys(explorers))
    check_not_fixed(read_options(options.set))
    selection = select(
        names,
        families=options.families,
        levels=options.levels,
        seeds=options.seeds,
        quick=options.quick,
        held_out=not options.development,
        options=read_settings(options.set, names),
    )
    result = take(selection, out, quiet=execution.quiet, execution=execution)
    result.summary.print(quiet=execution.quiet)
    if not execution.quiet:
        print()
    console = new_console()
    show_report(card_report(result.card), exam_folder(out, result.selection), console)
    sys.exit(int(bool(result.failures)))
