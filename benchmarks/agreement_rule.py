"""False positive rate of the scorecard's agreement rule, for two definitions of the standard error.

    python benchmarks/agreement_rule.py results/       # after `wanderlust reproduce recap --out results/`
    python benchmarks/agreement_rule.py docs/results   # from the summary of the kept run

For every row of the recap tables with more than the paper's 20 seeds, 20 random seeds take the place of the paper's
sample and are compared with the others, many times. The rule allows 2.58 standard errors, so about 1 % may differ.
`pooled` is the error used by the rule; `separate` is √(SE² + SE²), each sample with its own variance.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.statistics import Percent, paper_percent
from wanderlust_paper.registry import StudySelection
from wanderlust_paper.reports.recap_tables import MAX_ROUNDING, MAX_STANDARD_ERRORS, PAPER_SEEDS, Cell, compare
from wanderlust_paper.studies import recap
from wanderlust_paper.summary_file import RunSource, source_in

DRAWS = 400


def samples(store: RunSource) -> dict[Cell, FloatArray]:
    """Return [seed, (discovery, success)] of each cell with at least twice the seeds of the paper."""
    requested = [
        run
        for run in recap.runs(StudySelection())
        if recap.cell_of(run) not in recap.ALTERNATIVE_SETTINGS and recap.with_released_budget(run) != run
    ]
    results: dict[Cell, list[tuple[float, float]]] = defaultdict(list)
    for stored in store.load_many(requested, problems := []):
        results[recap.cell_of(stored.run)].append((stored.result.discovery, stored.result.success))
    for problem in problems:
        print(problem, file=sys.stderr)
    return {cell: np.array(seeds) for cell, seeds in results.items() if len(seeds) >= 2 * PAPER_SEEDS}


def agrees_separately(ours: Percent, theirs: Percent) -> bool:
    """Return whether two means agree, each with its own variance."""
    error = float(np.hypot(ours.standard_error, theirs.standard_error))
    return abs(ours.mean - theirs.mean) <= MAX_STANDARD_ERRORS * error + MAX_ROUNDING


def shares_that_differ(seeds: FloatArray, random: np.random.Generator) -> tuple[float, float]:
    """Return the share of the draws in which a cell differs from itself: pooled, and separate."""
    pooled = separate = 0
    for _ in range(DRAWS):
        shuffled = random.permutation(seeds).T
        pairs = [(paper_percent(x[PAPER_SEEDS:]), paper_percent(x[:PAPER_SEEDS])) for x in shuffled]
        pooled += not all(compare(rest, drawn, len(seeds) - PAPER_SEEDS)[1] for rest, drawn in pairs)
        separate += not all(agrees_separately(rest, drawn) for rest, drawn in pairs)
    return pooled / DRAWS, separate / DRAWS


def main() -> int:
    """Print the mean false positive rate of each error, and the cell with the highest rate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the folder of a full `reproduce recap`, or of its summary")
    random = np.random.default_rng(0)
    cells = {c: x for c, x in samples(source_in(parser.parse_args().results)).items() if x.std(axis=0).any()}
    if not cells:
        print(f"no row varies over seeds and has at least {2 * PAPER_SEEDS} seeds.", file=sys.stderr)
        return 1
    shares = {cell: shares_that_differ(seeds, random) for cell, seeds in cells.items()}
    print(f"{len(cells)} rows that vary over seeds; {DRAWS} draws each\n\n| error | differ, mean | worst row | |")
    print("|---|---:|---|---:|")
    for i, name in enumerate(("pooled", "separate")):
        worst = max(shares, key=lambda cell: shares[cell][i])
        mean = float(np.mean([share[i] for share in shares.values()]))
        print(f"| {name} | {100 * mean:.1f} % | {' '.join(worst)} | {100 * shares[worst][i]:.1f} % |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
