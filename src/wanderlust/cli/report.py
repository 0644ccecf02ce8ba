"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from wanderlust.core.errors import BadFile, InvalidSetting, check_choice, counted

_OPTIONS = "--out, --formats and --quiet are for the reports of `wanderlust reproduce` and `wanderlust sweep`"


def report(
    folder: Annotated[
        Positional[Path],
        arg(
            metavar="FOLDER",
            help="Output folder of `sweep`, `exam`, `reproduce` or `compare`, or one with a summary, runs.csv.gz.",
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        arg(metavar="FOLDER", help="Write the reports of `reproduce` and `sweep` to this folder, not to the same one."),
    ] = None,
    formats: Annotated[
        tuple[str, ...] | None,
        arg(metavar="FORMAT ...", help="Formats of these figures: png, svg and pdf; all if not given."),
    ] = None,
    quiet: Annotated[bool, arg(help="Print errors only; for the same reports.")] = False,
    measure: Annotated[
        str,
        arg(
            metavar="NAME",
            help="What the settings of a sweep are compared by: success, steps_to_learn, discovery, area_under_curve "
            "or final_return; by default, success, or final_return where the optimum is not known.",
        ),
    ] = "",
) -> None:
    """Rebuild tables, plots and the scorecard from stored runs, without executing any run.

    For a sweep: a table of its settings, the best one with its interval, lines over one swept number and heat maps
    over two. For an exam: its report card; it is left out with --out, --formats or --quiet.

    Example: wanderlust report results/

    Example: wanderlust report results/ --measure steps_to_learn --out figures/ --formats pdf

    Example: wanderlust report results/compare-FrozenLake-v1

    Example: wanderlust report docs/results --out report/ --formats png
    """
    from wanderlust.cli.exam import show_card
    from wanderlust.cli.runs import show_comparison, stored_results
    from wanderlust.core.extensions import report_kinds
    from wanderlust.core.files import shown_path
    from wanderlust.exams.card import make_card
    from wanderlust.exams.exam import exams_in, stored_scores
    from wanderlust.experiments.comparison import read_comparison
    from wanderlust.experiments.report.figures import FORMATS
    from wanderlust.experiments.report.sweep_report import TITLES, show_sweep_report, sweeps_in
    from wanderlust.experiments.report.text_tables import new_console, print_problems
    from wanderlust.experiments.store import Store

    chosen = tuple(dict.fromkeys(check_choice("format", each, FORMATS) for each in formats or FORMATS))
    if measure:
        check_choice("measure", measure, TITLES)
    has_options = out is not None or formats is not None or quiet
    if (comparison := read_comparison(folder)) is not None:
        if has_options:
            raise InvalidSetting(f"{folder}: is a comparison; {_OPTIONS}.")
        results = stored_results(comparison.runs, Store(folder))
        if not any(results.values()):
            raise BadFile(f"{folder}: none of the runs of this comparison is stored; repeat `wanderlust compare`.")
        show_comparison(comparison, results, folder)
        return
    problems: list[str] = []
    try:
        sweeps, exams = list(sweeps_in(folder, problems)), list(exams_in(folder, problems))
        kinds = [kind for kind in report_kinds() if any(folder.glob(f"*/{kind.REQUEST_FILE}"))]
    except (OSError, UnicodeEncodeError) as error:
        raise BadFile(f"{shown_path(folder)}: cannot be read ({getattr(error, 'strerror', None) or error}).") from error
    print_problems(problems)
    left_out = counted(len(exams), "exam")
    if has_options and exams and not kinds and not sweeps:
        raise InvalidSetting(f"{folder}: has {left_out} and no other experiment; {_OPTIONS}.")
    console = new_console()
    for place, sweep in sweeps:
        target = place if out is None else out / place.relative_to(folder)
        show_sweep_report(sweep, target, Store(folder), console, measure=measure, formats=chosen, quiet=quiet)
    for exam in [] if has_options else exams:
        problems = []
        scores = stored_scores(exam, Store(folder), problems)
        print_problems(problems)
        show_card(make_card(exam.selection, tuple(scores)), exam.folder)
    if has_options and exams and not quiet:
        console.print(f"{left_out} left out: {_OPTIONS}.", markup=False, highlight=False, soft_wrap=True)
    if not kinds and not exams and not sweeps:
        raise BadFile(
            f"{folder}: there is no experiment, sweep, exam or comparison in this folder. `wanderlust reproduce list` "
            "names the experiments; `wanderlust compare` has a folder for each environment."
        )
    for kind in kinds:
        kind.write_reports(folder, console, quiet=quiet, out=out, formats=chosen)
