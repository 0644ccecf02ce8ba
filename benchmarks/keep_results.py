"""Copy tables, figures and scorecard of a full reproduction to docs/results, and write a summary to the README.

    wanderlust reproduce all --jobs 2 --out results/
    wanderlust reproduce recap --preset as_written --explorers vv-ucb vv-count thompson ucb1 --jobs 2 --out results/
    python benchmarks/keep_results.py results/

Every number is read from the results; none is written by hand.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from wanderlust.experiments.paper.registry import StudySelection, find_study
from wanderlust.experiments.store import Store

PROJECT = Path(__file__).parents[1]
DESTINATION = PROJECT / "docs" / "results"
README = PROJECT / "README.md"
TITLE = "## The paper, reproduced"

FIGURES = {
    "toy-example": ["part-1", "part-2", "part-3"],
    "recap": [f"curves-{world}" for world in ("deep-sea", "taxi", "deep-gridworld", "toy", "prison", "wall")],
    "visit-maps": ["maps"],
    "gamma-w": ["curves", "maps"],
    "deep-sea-scaling": ["steps-to-learn"],
    "chain": ["counts", "sample-complexity", "accuracy", "value-error"],
    "stochastic": ["curves"],
    "memory": ["curves"],
}
AS_WRITTEN = "as_written"
TABLE_SUFFIXES = (".md", ".csv", ".tex", ".json")
LARGE_FILES = ("curves.csv", "improvement.csv", "cells.json", "counts.csv")


def main() -> None:
    """Copy the files, then write docs/results/README.md and the summary in the README."""
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/keep_results.py RESULTS")
    results = Path(sys.argv[1])
    missing = [study for study in FIGURES if not (results / study / "study.json").exists()]
    if missing:
        sys.exit(f"{results}: no results of {', '.join(missing)}; run `wanderlust reproduce all --out {results}`.")
    shutil.rmtree(DESTINATION, ignore_errors=True)
    DESTINATION.mkdir(parents=True)
    for file in results.glob("scorecard*.*"):
        if "quick" not in file.name:
            shutil.copy(file, DESTINATION)
    for study, figures in FIGURES.items():
        copy_tables(results / study)
        for figure in figures:
            shutil.copy(results / study / f"{figure}.png", DESTINATION / study)
    if (results / f"recap-{AS_WRITTEN}").exists():
        copy_tables(results / f"recap-{AS_WRITTEN}")
    (DESTINATION / "README.md").write_text(page(results), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    block = f"{TITLE}\n\n{summary(results)}\n"
    README.write_text(re.sub(rf"{TITLE}\n.*?(?=\n## )", lambda _: block, text, flags=re.S), encoding="utf-8")


def copy_tables(folder: Path) -> None:
    """Copy the small tables of a study."""
    (DESTINATION / folder.name).mkdir()
    for file in folder.iterdir():
        if file.suffix in TABLE_SUFFIXES and file.name not in LARGE_FILES:
            shutil.copy(file, DESTINATION / folder.name)


def score(results: Path, suffix: str = "") -> str:
    """Return the summary of a scorecard in one sentence."""
    card = json.loads((results / f"scorecard{suffix}.json").read_text(encoding="utf-8"))
    text = str(card["summary"]).partition(". ")[0].rstrip(".")
    if suffix:
        return text
    claims = Counter(claim["verdict"] for claim in card["claims"])
    verdicts = f"{claims['reproduced']} are reproduced, {claims['partly']} partly, {claims['not reproduced']} not"
    return f"{text}; of {claims.total()} claims of its text {verdicts}"


def table(results: Path) -> str:
    """Return a table of the success of every explorer in every world, ours and the paper's."""
    with (results / "recap" / "tables.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["initialization"] == "zero" and row["horizon"] != "long"]
    worlds = list(dict.fromkeys(row["environment"] for row in rows))
    lines = [f"| success (%) | {' | '.join(world.replace('-', ' ') for world in worlds)} |"]
    lines.append("|---|" + "---:|" * len(worlds))
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        cells = {row["environment"]: row for row in rows if row["algorithm"] == algorithm}
        numbers = [f"{rounded(cells[w]['success_mean'])} *({rounded(cells[w]['paper_success_mean'])})*" for w in worlds]
        lines.append(f"| `{algorithm}` | {' | '.join(numbers)} |")
    return "\n".join(lines)


def rounded(number: str) -> str:
    """Return a number rounded to an integer, and zero without a sign."""
    return str(round(float(number)))


def summary(results: Path) -> str:
    """Return the summary for the project's README."""
    return f"""Final return in percent of the optimum, mean over at least 20 seeds, zero initialization, short horizon;
*the paper's number in brackets*:

{table(results)}

Over all scenarios, {score(results)}:
the [scorecard](docs/results/scorecard.md) lists each with its numbers and an explanation of each difference.
[All tables and figures](docs/results/README.md).

![States discovered and return in the deep sea by step](docs/results/recap/curves-deep-sea.png)

![Visit counts at the end of learning, by world and explorer](docs/results/visit-maps/maps.png)"""


def page(results: Path) -> str:
    """Return the page docs/results/README.md."""
    runs = [run for study in FIGURES for run in find_study(study).runs(StudySelection())]
    metadata = [stored.metadata for stored in Store(results).load_many(runs, [])]
    hours = sum(each["seconds"] for each in metadata) / 3600
    parts = [
        f"""# Results of a full reproduction

```sh
wanderlust reproduce all --jobs 2 --out results/
```

with {versions(metadata)}. Its {len(metadata):,} runs took {hours:.1f} core hours of wall-clock time in total,
on a machine with other load.
The runs are not part of the repository; each can be repeated from its description with bitwise equal results.

{score(results)}: [scorecard](scorecard.md), also as [HTML](scorecard.html) and [JSON](scorecard.json).

`random` does not depend on the initialization of Q, so its rows for zero and optimistic initialization are the same
runs. The table of the deep sea has 100,000 steps, as the paper's must have had ([deviations](../deviations.md)).
"""
    ]
    if (results / f"scorecard-{AS_WRITTEN}.json").exists():
        parts.append(
            f"""These results follow the authors' released code, which produced the paper's numbers. With the formulas
of its text, for the explorers whose formulas differ, {score(results, f"-{AS_WRITTEN}")}:
[scorecard](scorecard-{AS_WRITTEN}.md), [tables](recap-{AS_WRITTEN}/tables.md), from

```sh
wanderlust reproduce recap --preset {AS_WRITTEN} --explorers vv-ucb vv-count thompson ucb1 --jobs 2 --out results/
```
"""
        )
    for study, figures in FIGURES.items():
        tables = "tables" if (DESTINATION / study / "tables.md").exists() else "table"
        parts.append(f"## {study}\n\n[{tables.capitalize()}]({study}/{tables}.md)\n")
        parts += [f"![{study}: {figure}]({study}/{figure}.png)\n" for figure in figures]
    return "\n".join(parts).rstrip() + "\n"


def versions(metadata: list[dict[str, Any]]) -> str:
    """Return the versions of the software that executed the runs."""
    parts = []
    for name in ("wanderlust", "python", "numpy", "numba"):
        distinct = sorted({str(each[name]) for each in metadata})
        parts.append(f"{name} {' and '.join(distinct)}")
    return ", ".join(parts)


if __name__ == "__main__":
    main()
