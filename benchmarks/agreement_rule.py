"""How often the scorecard's rule says that two samples differ which are of the same, by the standard error it takes.

    python benchmarks/agreement_rule.py results/       # after `wanderlust reproduce recap --out results/`

Of every line of the recap tables with more seeds than the paper's twenty, twenty are drawn to stand for the paper's,
and compared with the others, many times over. The rule allows 2.58 standard errors, so about one in a hundred may
differ. `pooled` is the rule's own error; `separate` is √(SE² + SE²), each sample with its own spread.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments import recap
from wanderlust.experiments.paper.registry import Choice
from wanderlust.experiments.reports.cells import PAPER_SEEDS, Cell
from wanderlust.experiments.reports.recap import ERRORS_ALLOWED, ROUNDING_ALLOWED, compared
from wanderlust.experiments.reports.statistics import Percent, paper_percent
from wanderlust.experiments.store import Store

DRAWS = 400


def samples(store: Store) -> dict[Cell, FloatArray]:
    """Return discovery and success of every seed, [seed, number], of the lines with enough of them."""
    asked = [run for run in recap.runs(Choice()) if recap.OTHER_SETTINGS.get(recap.cell_of(run)) is None]
    found: dict[Cell, list[tuple[float, float]]] = defaultdict(list)
    for stored in store.each(asked, problems := []):
        found[recap.cell_of(stored.run)].append((stored.result.discovery, stored.result.success))
    for problem in problems:
        print(problem, file=sys.stderr)
    return {cell: np.array(seeds) for cell, seeds in found.items() if len(seeds) >= 2 * PAPER_SEEDS}


def agrees_separately(ours: Percent, theirs: Percent) -> bool:
    """Tell whether two means agree, each with its own spread."""
    error = float(np.hypot(ours.standard_error, theirs.standard_error))
    return abs(ours.mean - theirs.mean) <= ERRORS_ALLOWED * error + ROUNDING_ALLOWED


def shares_that_differ(seeds: FloatArray, random: np.random.Generator) -> tuple[float, float]:
    """Return in what share of the draws a line differs from itself: pooled, and separate."""
    pooled = separate = 0
    for _ in range(DRAWS):
        mixed = random.permutation(seeds).T
        pairs = [(paper_percent(x[PAPER_SEEDS:]), paper_percent(x[:PAPER_SEEDS])) for x in mixed]
        pooled += not all(compared(mine, drawn, len(seeds) - PAPER_SEEDS)[1] for mine, drawn in pairs)
        separate += not all(agrees_separately(mine, drawn) for mine, drawn in pairs)
    return pooled / DRAWS, separate / DRAWS


def main() -> int:
    """Print a line for each error, and the lines of the tables that it does worst on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the folder of a full `reproduce recap`")
    random = np.random.default_rng(0)
    lines = {c: x for c, x in samples(Store(parser.parse_args().results)).items() if x.std(axis=0).any()}
    if not lines:
        print("no line has more seeds than the paper's, or none that varies.", file=sys.stderr)
        return 1
    shares = {cell: shares_that_differ(seeds, random) for cell, seeds in lines.items()}
    print(f"{len(lines)} lines that vary over the seeds; {DRAWS} draws each\n\n| error | differ, mean | worst line | |")
    print("|---|---:|---|---:|")
    for i, name in enumerate(("pooled", "separate")):
        worst = max(shares, key=lambda cell: shares[cell][i])
        mean = float(np.mean([share[i] for share in shares.values()]))
        print(f"| {name} | {100 * mean:.1f} % | {' '.join(worst)} | {100 * shares[worst][i]:.1f} % |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
