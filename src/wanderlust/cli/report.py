"""The command `report`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from wanderlust.cli.options import Folder, Name, Names, OptionalFolder
from wanderlust.core.errors import BadFile, check_choice

if TYPE_CHECKING:
    from wanderlust.experiments.report.text_tables import Report


def report(
    folder: Annotated[
        Positional[Folder],
        arg(help="Output folder of `sweep`, `exam`, `reproduce` or `compare`, or one with a summary, runs.csv.gz."),
    ],
    *,
    out: Annotated[OptionalFolder, arg(help="Write the reports to this folder, not to the same one.")] = None,
    formats: Annotated[Names, arg(metavar="FORMAT ...", help="Of the figures: png, svg, pdf; all if not given.")] = (),
    quiet: Annotated[bool, arg(help="Print errors only.")] = False,
    measure: Annotated[
        Name,
        arg(
            help="What the settings of a sweep are compared by: success, steps_to_learn, discovery, area_under_curve "
            "or final_return; by default, success, or final_return where the optimum is not known."
        ),
    ] = "",
) -> None:
    """Rebuild tables, plots and the scorecard from stored runs, without executing any run.

    For a sweep: a table of its settings, the best one with its interval, and plots over the swept fields. For an exam:
    its report card. For a comparison: its table.

    Example: wanderlust report results/

    Example: wanderlust report results/ --measure steps_to_learn --out figures/ --formats pdf

    Example: wanderlust report results/compare-FrozenLake-v1

    Example: wanderlust report docs/results --out report/ --formats png
    """
    from wanderlust.core.extensions import report_kinds
    from wanderlust.core.files import shown_path
    from wanderlust.experiments.report.sweep_report import TITLES
    from wanderlust.experiments.report.text_tables import FORMATS, new_console, print_problems, show_report

    chosen = tuple(dict.fromkeys(check_choice("format", each, FORMATS) for each in formats or FORMATS))
    if measure:
        check_choice("measure", measure, TITLES)
    console, problems = new_console(), list[str]()
    try:
        kinds = [kind for kind in report_kinds() if any(folder.glob(f"*/{kind.REQUEST_FILE}"))]
        reports = list(_reports(folder, measure, problems))
    except (OSError, UnicodeEncodeError) as error:
        raise BadFile(f"{shown_path(folder)}: cannot be read ({getattr(error, 'strerror', None) or error}).") from error
    print_problems(dict.fromkeys(problems))
    if not kinds and not reports:
        raise BadFile(
            f"{folder}: there is no experiment, sweep, exam or comparison in this folder. `wanderlust reproduce list` "
            "names the experiments; `wanderlust compare` has a folder for each environment."
        )
    for place, made in reports:
        target = place if out is None else out / place.relative_to(folder)
        show_report(made, target, console, formats=chosen, quiet=quiet)
    for kind in kinds:
        kind.write_reports(folder, console, quiet=quiet, out=out, formats=chosen)


def _reports(folder: Path, measure: str, problems: list[str]) -> Iterator[tuple[Path, Report]]:
    """Yield the folder and the report of the comparison, the sweeps and the exams of a results folder."""
    from wanderlust.cli.runs import comparison_report, stored_results
    from wanderlust.exams.card import card_report, make_card
    from wanderlust.exams.exam import exams_in, stored_scores
    from wanderlust.experiments.comparison import ComparisonReport, read_comparison
    from wanderlust.experiments.report.sweep_report import sweep_report, sweeps_in
    from wanderlust.experiments.store import Store

    store = Store(folder)
    if (comparison := read_comparison(folder)) is not None:
        results = stored_results(comparison.runs, store)
        if not any(results.values()):
            raise BadFile(f"{folder}: none of the runs of this comparison is stored; repeat `wanderlust compare`.")
        yield folder, comparison_report(ComparisonReport(comparison, results))
    for place, sweep in sweeps_in(folder, problems):
        yield place, sweep_report(sweep, store, problems, measure)
    for exam in exams_in(folder, problems):
        card = make_card(exam.selection, tuple(stored_scores(exam, store, problems)))
        yield exam.folder, card_report(card)
