"""Keep the compact part of a full reproduction: tables, figures, scorecard in docs/results, a summary in the README.

    wanderlust reproduce all --jobs 2 --out results/
    wanderlust reproduce recap --preset as_written --explorers vv-ucb vv-count thompson ucb1 --jobs 2 --out results/
    python benchmarks/keep_results.py results/

Every number is read from the results; none is typed in.
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

from wanderlust.experiments.paper.registry import Choice, find_study
from wanderlust.experiments.store import Store

PROJECT = Path(__file__).parents[1]
KEPT = PROJECT / "docs" / "results"
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
SMALL_FILES = (".md", ".csv", ".tex", ".json")
LARGE_FILES = ("curves.csv", "improvement.csv", "cells.json", "counts.csv")


def main() -> None:
    """Copy, then write the two pages."""
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/keep_results.py RESULTS")
    results = Path(sys.argv[1])
    missing = [study for study in FIGURES if not (results / study / "study.json").exists()]
    if missing:
        sys.exit(f"{results}: no results of {', '.join(missing)}; first `wanderlust reproduce all --out {results}`.")
    shutil.rmtree(KEPT, ignore_errors=True)
    KEPT.mkdir(parents=True)
    for file in results.glob("scorecard*.*"):
        if "quick" not in file.name:
            shutil.copy(file, KEPT)
    for study, figures in FIGURES.items():
        copy_tables(results / study)
        for figure in figures:
            shutil.copy(results / study / f"{figure}.png", KEPT / study)
    if (results / f"recap-{AS_WRITTEN}").exists():
        copy_tables(results / f"recap-{AS_WRITTEN}")
    (KEPT / "README.md").write_text(page(results), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    block = f"{TITLE}\n\n{summary(results)}\n"
    README.write_text(re.sub(rf"{TITLE}\n.*?(?=\n## )", lambda _: block, text, flags=re.S), encoding="utf-8")


def copy_tables(folder: Path) -> None:
    """Copy what is small of the tables of a study."""
    (KEPT / folder.name).mkdir()
    for file in folder.iterdir():
        if file.suffix in SMALL_FILES and file.name not in LARGE_FILES:
            shutil.copy(file, KEPT / folder.name)


def score(results: Path, suffix: str = "") -> str:
    """Return the outcome of a scorecard in one sentence."""
    card = json.loads((results / f"scorecard{suffix}.json").read_text(encoding="utf-8"))
    text = str(card["summary"]).partition(". ")[0].rstrip(".")
    if suffix:
        return text
    claims = Counter(claim["verdict"] for claim in card["claims"])
    held = f"{claims['reproduced']} were reproduced, {claims['partly']} in part, {claims['not reproduced']} not"
    return f"{text}; of {claims.total()} claims of its text {held}"


def table(results: Path) -> str:
    """Return the success of every explorer in every world, beside the paper's."""
    with (results / "recap" / "tables.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["initialization"] == "zero" and row["horizon"] != "long"]
    worlds = list(dict.fromkeys(row["environment"] for row in rows))
    lines = [f"| success (%) | {' | '.join(world.replace('-', ' ') for world in worlds)} |"]
    lines.append("|---|" + "---:|" * len(worlds))
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        cells = {row["environment"]: row for row in rows if row["algorithm"] == algorithm}
        numbers = [f"{whole(cells[w]['success_mean'])} *({whole(cells[w]['paper_success_mean'])})*" for w in worlds]
        lines.append(f"| `{algorithm}` | {' | '.join(numbers)} |")
    return "\n".join(lines)


def whole(number: str) -> str:
    """Return a number without decimals, and zero without a sign."""
    return str(round(float(number)))


def summary(results: Path) -> str:
    """Return what the project's README says."""
    return f"""Return learnt in percent of the best, mean over 20 seeds or more, Q starting at zero, short episodes;
*the paper's number in brackets*:

{table(results)}

Over all scenarios, {score(results)}:
the [scorecard](docs/results/scorecard.md) has each with its numbers and, where we differ, the reason.
[All tables and figures](docs/results/README.md).

![States discovered and return in the deep sea over the steps](docs/results/recap/curves-deep-sea.png)

![How often each cell was visited in the end, by world and explorer](docs/results/visit-maps/maps.png)"""


def page(results: Path) -> str:
    """Return the page on the results."""
    runs = [run for study in FIGURES for run in find_study(study).runs(Choice())]
    abouts = [stored.about for stored in Store(results).each(runs, [])]
    hours = sum(about["seconds"] for about in abouts) / 3600
    parts = [
        f"""# What a full run gave

```sh
wanderlust reproduce all --jobs 2 --out results/
```

with {versions(abouts)}. Its {len(abouts):,} runs took {hours:.1f} hours of one core in all,
by the clock, on a machine that had other work as well.
They are not kept here; every one can be made again, to the last bit, from its description.

{score(results)}: [scorecard](scorecard.md), also as [a page](scorecard.html) and [for machines](scorecard.json).

`random` is not affected by where Q starts, so its rows for zero and optimistic starts are the same runs. The deep sea's
tables are those of 100,000 steps, as the paper's must have been ([deviations](../deviations.md)).
"""
    ]
    if (results / f"scorecard-{AS_WRITTEN}.json").exists():
        parts.append(
            f"""These are the mathematics of the authors' released code, which made the paper's numbers. With those of
its text, for the explorers whose formulas differ, {score(results, f"-{AS_WRITTEN}")}:
[scorecard](scorecard-{AS_WRITTEN}.md), [tables](recap-{AS_WRITTEN}/tables.md), from

```sh
wanderlust reproduce recap --preset {AS_WRITTEN} --explorers vv-ucb vv-count thompson ucb1 --jobs 2 --out results/
```
"""
        )
    for study, figures in FIGURES.items():
        tables = "tables" if (KEPT / study / "tables.md").exists() else "table"
        parts.append(f"## {study}\n\n[{tables.capitalize()}]({study}/{tables}.md)\n")
        parts += [f"![{study}: {figure}]({study}/{figure}.png)\n" for figure in figures]
    return "\n".join(parts).rstrip() + "\n"


def versions(abouts: list[dict[str, Any]]) -> str:
    """Return the versions of all that took part in the runs."""
    told = []
    for name in ("wanderlust", "python", "numpy", "numba"):
        found = sorted({str(about[name]) for about in abouts})
        told.append(f"{name} {' and '.join(found)}")
    return ", ".join(told)


if __name__ == "__main__":
    main()
