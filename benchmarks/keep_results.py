"""Write docs/results from a full reproduction: the summary of its runs, and from it every table, figure and page.

    wanderlust reproduce all --jobs 2 --out results/
    wanderlust reproduce recap --preset as_written --explorers vv-ucb vv-count thompson ucb1 --jobs 2 --out results/
    python benchmarks/keep_results.py results/
    python benchmarks/keep_results.py docs/results   # again, from the summary of the runs

Runs that results/ does not have are taken from the present docs/results/runs.csv.gz; the page says when runs finished.

All reports are made from docs/results/runs.csv.gz, as `wanderlust report docs/results` does. Every number is read from
the results; none is written by hand. The README gets one sentence between the lines of `MARKERS`.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from wanderlust.core.files import write_file
from wanderlust.experiments.run import step_learnt
from wanderlust_paper.claims import EMPIRICAL, ERRATUM, EXACT, KINDS, LEARNT, VERDICTS, step_text
from wanderlust_paper.registry import study_names
from wanderlust_paper.reports.captions import CAPTIONS
from wanderlust_paper.reports.recap_tables import DAGGER, world_title
from wanderlust_paper.reproduce import REQUEST_FILE, studies_in, summarize_runs, write_reports
from wanderlust_paper.studies.recap import DEEP_SEA_BUDGET
from wanderlust_paper.summary_file import FILE, Summary

PROJECT = Path(__file__).parents[1]
DESTINATION = PROJECT / "docs" / "results"
README = PROJECT / "README.md"
MARKERS = ("<!-- results: written by benchmarks/keep_results.py -->", "<!-- end of results -->")
LARGE_FILES = ("curves.csv", "improvement.csv", "counts.csv", "maps.txt")
FIXED_ORDER = "2026-11-18"
"""Since this day small linear systems are solved in a fixed order of operations."""
COMMAND = "wanderlust reproduce all --jobs 2 --out results/"
CODE, AS_WRITTEN = "as_published_code", "as_written"
AS_WRITTEN_COMMAND = (
    f"wanderlust reproduce recap --preset {AS_WRITTEN} --explorers vv-ucb vv-count thompson ucb1 --jobs 2 --out "
    "results/"
)


def main() -> None:
    """Write docs/results, and the sentence in the README."""
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/keep_results.py RESULTS")
    results = Path(sys.argv[1])
    missing = [study for study in study_names() if not (results / study / REQUEST_FILE).exists()]
    if missing:
        sys.exit(f"{results}: no results of {', '.join(missing)}; run `{COMMAND.replace('results/', str(results))}`.")
    requests = [each for each in studies_in(results) if not any(selection.quick for selection in each.selections)]
    texts = {each.folder.name: (each.folder / REQUEST_FILE).read_bytes() for each in requests}
    with tempfile.TemporaryDirectory() as folder:
        summary_file = Path(folder) / FILE
        earlier = DESTINATION / FILE
        earlier = earlier if earlier.exists() and results.resolve() != DESTINATION else None
        print(f"{summarize_runs(results, summary_file, earlier):,} runs written to {DESTINATION / FILE}")
        shutil.rmtree(DESTINATION, ignore_errors=True)
        DESTINATION.mkdir(parents=True)
        shutil.move(summary_file, DESTINATION)
    for name, text in texts.items():
        write_file(DESTINATION / name / REQUEST_FILE, text)
    write_reports(DESTINATION, Console(), quiet=True, formats=("png",))
    for name in LARGE_FILES:
        for file in DESTINATION.glob(f"*/{name}"):
            file.unlink()
    (DESTINATION / "README.md").write_text(page(DESTINATION), encoding="utf-8")
    README.write_text(with_sentence(README.read_text(encoding="utf-8"), DESTINATION), encoding="utf-8")


def with_sentence(text: str, results: Path) -> str:
    """Return the README with the present sentence between its markers; unchanged if it has none."""
    before, first, rest = text.partition(MARKERS[0])
    _, last, after = rest.partition(MARKERS[1])
    return f"{before}{first}\n{summary(results)}\n{last}{after}" if first and last else text


def summary(results: Path) -> str:
    """Return the sentence for the project's README."""
    return (
        f"{score(results)}: see the [scorecard](docs/results/scorecard.md) and [all results](docs/results/README.md)."
    )


def score(results: Path, suffix: str = "") -> str:
    """Return the summary of a scorecard in one sentence."""
    card = json.loads((results / f"scorecard{suffix}.json").read_text(encoding="utf-8"))
    text = str(card["summary"]).partition(". ")[0].rstrip(".")
    if suffix:
        return text
    counts = {kind: Counter(c["verdict"] for c in card["claims"] if c["kind"] == kind) for kind in KINDS}
    excepted = sum(claim["exceptions"] > 0 for claim in card["claims"])

    def verdicts(kind: str, first: str) -> str:
        numbers = [f"{counts[kind][verdict]} {verdict}" for verdict in VERDICTS if counts[kind][verdict]]
        return ", ".join([f"{numbers[0].replace(' ', ' are ', 1)}{first}", *numbers[1:]])

    return (
        f"{text}. Of the {counts[EMPIRICAL].total()} claims of its text about runs, "
        f"{verdicts(EMPIRICAL, f' ({excepted} of them with exceptions)')}; of its {counts[EXACT].total()} exact "
        f"statements, {verdicts(EXACT, '')}; {counts[ERRATUM].total()} more sentences do not hold as printed"
    )


def table_1(results: Path) -> str:
    """Return Table 1: discovery and success of every explorer in every world, ours and the paper's."""
    with (results / "recap" / "tables.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["initialization"] == "zero" and row["horizon"] != "long"]
    worlds, parts = list(dict.fromkeys(row["environment"] for row in rows)), []
    for name in ("discovery", "success"):
        lines = [f"| {name} (%) | {' | '.join(map(world_title, worlds))} |", "|---|" + "---:|" * len(worlds)]
        for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
            cells = {row["environment"]: row for row in rows if row["algorithm"] == algorithm}
            numbers = [
                f"{with_interval(cells[w], name)}{DAGGER if cells[w]['setting'] else ''} "
                f"*({with_interval(cells[w], f'paper_{name}')})*"
                for w in worlds
            ]
            lines.append(f"| `{algorithm}` | {' | '.join(numbers)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def with_interval(row: dict[str, str], name: str) -> str:
    """Return a number and its ±, without a sign of zero."""
    mean, ci = float(row[f"{name}_mean"]), float(row[f"{name}_ci95"])
    return f"{mean + 0.0 if abs(mean) >= 0.005 else 0.0:.2f} ± {ci:.2f}"


def page(results: Path) -> str:
    """Return the page docs/results/README.md."""
    requests = list(studies_in(results))
    runs = list(dict.fromkeys(run for request in requests for run in request.runs))
    metadata = []
    deep_sea: dict[tuple[str, str], list[float]] = {}
    for stored in Summary(results / FILE).load_many(runs, []):
        run = stored.run
        metadata.append(stored.metadata | {"closed_form": run.world.startswith(("chain", "noisy"))})
        if (
            run.world == "deep-sea"
            and run.settings == {"budget": DEEP_SEA_BUDGET, "initial": "zero"}
            and run.until == "budget"
        ):
            step = step_learnt(stored.result.percent_curves, LEARNT)
            deep_sea.setdefault((run.preset, run.explorer), []).append(step)
    hours = sum(each["seconds"] for each in metadata) / 3600
    days = Counter(str(each["finished"])[:10] for each in metadata)
    finished = " and ".join(f"{n:,} on {day}" for day, n in sorted(days.items()))
    parts = [
        f"""# Results of the reproduction

These commands execute all runs of this page, which were executed in parts:

```sh
{COMMAND}
{AS_WRITTEN_COMMAND}
```

with {versions(metadata)}. The {len(metadata):,} runs of this page
took {hours:.1f} hours of wall-clock time in total, each on one core of a machine with other load. They finished:
{finished}. [`{FILE}`]({FILE}) has one line for each run: its description, with which it can be repeated, and
what the reports use of its results; a value that was not measured is empty. `tests/paper/test_stored_runs.py` repeats a
random sample of its lines and compares every column but times and versions: {equal_digits(metadata)}
This page, all tables, figures and the scorecard are computed from the file:

```sh
wanderlust report docs/results --out report/
```

{score(results)}: [scorecard](scorecard.md), also as [HTML](scorecard.html) and [JSON](scorecard.json).
[Reproduce the paper](../reproducing.md) has the commands, and the paper map has every figure with its code.

## Table 1

Zero initialization, short horizon, mean ± 2 σ/√seeds over all our seeds; *the paper's numbers in brackets*. Discovery
is in percent of the reachable states, success is the final return in percent of the optimum.

{table_1(results)}

{DAGGER} 200,000 steps, inferred from the paper's numbers; the other rows of `wall` have 100,000. The deep sea has
100,000 steps in these tables, which was inferred, too; the released code has 500,000. The [scorecard](scorecard.md)
counts each inferred setting apart, [deviations](../deviations.md) has the evidence. [Tables 3 to 8](recap/tables.md)
have all scenarios, [Table 2](environments/table.md) the worlds.
"""
    ]
    if (results / f"scorecard-{AS_WRITTEN}.json").exists():
        parts.append(
            f"""These results follow the authors' released code, whose settings give most of the paper's numbers. The
second command has the formulas of the paper's text, for the explorers whose formulas differ.
{score(results, f"-{AS_WRITTEN}")}: [scorecard](scorecard-{AS_WRITTEN}.md), [tables](recap-{AS_WRITTEN}/tables.md).
Most claims compare explorers of which there are no such runs, so that scorecard has only a few of them.
{deep_sea_as_written({label: float(np.median(steps)) for label, steps in deep_sea.items()})}
"""
        )
    by_name = {request.folder.name: request for request in requests}
    for name in study_names():
        tables = "tables" if (results / name / "tables.md").exists() else "table"
        study = by_name[name].study
        parts.append(
            f"## {name}\n\n{study.reference}: {study.description}. [{tables.capitalize()}]({name}/{tables}.md)\n"
        )
        for (experiment, picture), (figure, what) in CAPTIONS.items():
            if experiment == name:
                parts.append(
                    f"### Figure {figure}\n\n![Figure {figure}, {name}: {picture}]({name}/{picture}.png)\n\n"
                    f"*The paper's Figure {figure}. {what} `wanderlust reproduce {name}`*\n"
                )
    return "\n".join(parts).rstrip() + "\n"


def deep_sea_as_written(steps: dict[tuple[str, str], float]) -> str:
    """Say how fast vv-count learns the deep sea with the formulas of the text; `steps` are medians."""
    written, code, prior = (
        steps[label] for label in ((AS_WRITTEN, "vv-count"), (CODE, "vv-count"), (CODE, "random-prior"))
    )
    return (
        "In the deep sea with zero initialization it matters: `vv-count` learns after a median of "
        f"{step_text(written)} steps\nwith the text's formula, after {step_text(code)} with that of the released code; "
        "`random-prior`, whose formulas are the same in both,\n"
        f"needs {step_text(prior)} with the settings of the released code. So “both vv explorers converge twice or "
        "more as "
        f"fast as the\nbootstraps” {'holds' if 2 * written <= prior else 'does not hold'} with the text's formulas."
    )


def equal_digits(metadata: list[dict[str, Any]]) -> str:
    """Say which columns are equal to the last bit."""
    earlier = sum(each["closed_form"] and str(each["finished"]) < FIXED_ORDER for each in metadata)
    if not earlier:
        return "they are equal to the last bit."
    return (
        f"they are equal to the last bit, except `returns`, `value_errors` and `optimal_return` in the {earlier:,} "
        "lines of "
        f"`chain` that finished before {FIXED_ORDER}, whose linear systems were solved by LAPACK. In 2,250 such "
        "lines that "
        "were repeated, returns differ by up to 2e-12 and value errors by up to 2e-10; every count is equal."
    )


def versions(metadata: list[dict[str, Any]]) -> str:
    """Return the versions of the software that executed the runs."""
    parts = []
    for name in ("wanderlust", "python", "numpy", "numba"):
        distinct = sorted({str(each[name]) for each in metadata})
        parts.append(f"{name} {' and '.join(distinct)}")
    return ", ".join(parts)


if __name__ == "__main__":
    main()
