"""Section 4.2.1, Figure 19: visit counts at the end of learning."""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust import Run, make_world
from wanderlust.core.mdp import TabularMDP
from wanderlust.core.planning import reachable_states
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.run import Result
from wanderlust.experiments.store import StoredRun
from wanderlust.worlds.drawing import logarithmic, shaded
from wanderlust_paper.claims import (
    LEARNT,
    Claim,
    Found,
    check_all,
    claim_of,
    correlated,
    larger,
    mostly,
    never,
    rarely,
    similar,
)
from wanderlust_paper.figures.maps import CountMap, cell_counts, count_map, evenness, maps_figure
from wanderlust_paper.registry import Report, Study, StudySelection
from wanderlust_paper.reports.recap_tables import PAPER_SEEDS, world_title
from wanderlust_paper.studies.recap import DEEP_SEA_BUDGET, MAPS, is_mapped
from wanderlust_paper.studies.recap import runs as recap_runs
from wanderlust_paper.summary_file import reduced

EXPLORERS = ("vv-ucb", "vv-count", "random-prior", "bootstrapped", "ucb1", "bonus", "epsilon-greedy")
"""Figure 19 has vv-ucb, a bootstrap, UCB1, the bonus and ε-greedy; the text discusses the bootstrap with a prior."""
OTHERS = EXPLORERS[2:]
_ALL = 100.0 - 1e-9
_GRIDWORLDS = ("deep-gridworld", "prison", "wall")
_PLACE = "4.2.1"


class Visits(NamedTuple):
    """Measures of the visit counts of one run."""

    coverage: float
    """Visited states in percent of the reachable ones."""
    smallest: float
    """The smallest count of a reachable state."""
    evenness: float
    """The entropy of the counts in percent of that of uniform counts."""
    distance: float
    """The rank correlation of the count of a state with its distance from the start."""
    start: float
    """The mean count of the start states divided by that of all reachable states."""
    distractors: float
    """The share of the steps in cells whose reward ends the episode and is not the largest."""
    success: float
    after: float
    """States discovered after the first evaluation with a positive return, in percent of the reachable ones."""


def measure_visits(run: Run, result: Result) -> Visits:
    """Return the measures of a run."""
    from scipy.stats import spearmanr

    nan, found = math.nan, np.flatnonzero(result.returns > 0.0)
    after = result.discovered[-1] - result.discovered[found[0]] if len(found) else nan
    after = 100.0 * float(after) / int(result.reachable)
    if not result.visits.any():  # A summary that does not have the visits of this run.
        return Visits(result.discovery, nan, nan, nan, nan, nan, result.success, after)
    mdp = make_world(run.world, **run.world_options).mdp
    reachable = reachable_states(mdp)
    counts = result.visits.sum(axis=1)[reachable]
    steps = distances(mdp)[reachable]
    correlation = float(spearmanr(steps, counts).statistic)
    start = float(counts[steps == 0].mean() / counts.mean())
    ends = mdp.terminal.any(axis=(1, 2)) & (mdp.reward.max(axis=(1, 2)) < mdp.reward.max())
    distractors = float(result.visits.sum(axis=1)[ends].sum() / counts.sum())
    even = evenness(counts, len(counts))
    return Visits(result.discovery, float(counts.min()), even, correlation, start, distractors, result.success, after)


def distances(mdp: TabularMDP) -> NDArray[np.int64]:
    """Return [state]: the number of steps of the shortest path from a start; -1 for unreachable states."""
    steps = np.full(mdp.n_states, -1, np.int64)
    queue = deque(np.flatnonzero(mdp.start > 0).tolist())
    steps[list(queue)] = 0
    while queue:
        state = queue.popleft()
        possible = (mdp.probability[state] > 0) & ~mdp.terminal[state]
        for next_state in np.unique(mdp.next_state[state][possible]).tolist():
            if steps[next_state] < 0:
                steps[next_state] = steps[state] + 1
                queue.append(next_state)
    return steps


Table = Found[Found[list[Visits]]]
"""World -> explorer -> measures of each seed."""


def column(seeds: list[Visits], name: str) -> list[float]:
    """Return a measure of every seed that has it."""
    return [value for each in seeds if math.isfinite(value := getattr(each, name))]


def mean(seeds: list[Visits], name: str) -> float:
    """Return the mean of a measure."""
    return float(np.mean(column(seeds, name)))


def check_claims(visits: Mapping[tuple[str, str], list[Visits]]) -> list[Claim]:
    """Check the statements about the worlds that have all explorers, with all seeds."""
    table: Table = Found()
    for (world, explorer), seeds in visits.items():
        table.setdefault(world, Found())[explorer] = seeds
    table = Found({world: each for world, each in table.items() if set(each) == set(EXPLORERS)})
    return check_all(CHECKS if table else (), table)


def _coverage(table: Table) -> Iterator[Claim]:
    parts, cases = [], []
    for world, visits in table.items():
        full = {name: sum(x >= _ALL for x in column(seeds, "coverage")) for name, seeds in visits.items()}
        total = sum(len(visits[name]) for name in OTHERS)
        exceptions = sum(full[name] for name in OTHERS)
        vv = len(visits["vv-ucb"])
        cases.append(never(vv - full["vv-ucb"], vv, paper_runs=PAPER_SEEDS))
        some = ", ".join(f"{name} {full[name]}" for name in OTHERS if full[name])
        parts.append(
            f"{world} {full['vv-ucb']} of {len(visits['vv-ucb'])}, others {exceptions} of "
            f"{total}{f' ({some})' if some else ''}"
        )
        cases.append(never(exceptions, total, paper_runs=PAPER_SEEDS * len(OTHERS)))
    yield claim_of(
        _PLACE,
        "only the proposed method, vv-ucb in Figure 19, explores all states (“uniformly” is the next claim)",
        f"runs of vv-ucb that visit all states: {'; '.join(parts)}",
        *cases,
    )


def _entropy(table: Table) -> Iterator[Claim]:
    parts, cases = [], []
    for world, visits in table.items():
        best = max(OTHERS, key=lambda name: mean(visits[name], "evenness"))
        parts.append(
            f"{world} {mean(visits['vv-ucb'], 'evenness'):.1f} % ({best} {mean(visits[best], 'evenness'):.1f} %; "
            f"vv-count {mean(visits['vv-count'], 'evenness'):.1f} %)"
        )
        cases += [larger(column(visits["vv-ucb"], "evenness"), column(visits[name], "evenness")) for name in OTHERS]
    yield claim_of(
        _PLACE,
        "vv-ucb explores the environment as uniformly as possible",
        f"entropy of the counts of vv-ucb in percent of the maximum, of the best other, and of vv-count, which is not "
        f"judged here: {'; '.join(parts)}",
        *cases,
    )


def _vv_count(table: Table) -> Iterator[Claim]:
    differences = {
        world: [mean(visits["vv-count"], name) - mean(visits["vv-ucb"], name) for name in ("coverage", "evenness")]
        for world, visits in table.items()
    }
    text = "; ".join(f"{world} {a:+.1f} and {b:+.1f}" for world, (a, b) in differences.items())
    yield claim_of(
        _PLACE,
        "the count-based W-function performed very similarly",
        f"vv-count minus vv-ucb, coverage and evenness in points: {text}",
        *(similar(*pair) for pair in differences.values()),
    )


def _start(table: Table) -> Iterator[Claim]:
    ratios = {world: column(visits["vv-ucb"], "start") for world, visits in table.items()}
    yield claim_of(
        "3.4",
        "the agent's initial state will naturally have a higher visitation count",
        "count of the start divided by the mean of all reachable states, vv-ucb: "
        + ", ".join(f"{world} {np.mean(each):.2g} times" for world, each in ratios.items()),
        *(never(sum(ratio <= 1.0 for ratio in each), len(each), paper_runs=PAPER_SEEDS) for each in ratios.values()),
    )


def _distance(table: Table) -> Iterator[Claim]:
    values = {world: -mean(visits["vv-ucb"], "distance") for world, visits in table.items()}
    other = {world: mean(visits["vv-count"], "distance") for world, visits in table.items()}
    yield claim_of(
        _PLACE,
        "the count of vv-ucb uniformly decreases with the distance from the initial state",
        "rank correlation of count and distance, mean of the seeds, and that of vv-count, which is not judged here: "
        + ", ".join(f"{world} {-value:.2f} ({other[world]:.2f})" for world, value in values.items()),
        *(correlated(value) for value in values.values()),
    )


def _slow(table: Table) -> Iterator[Claim]:
    both = {world: [visits[name] for name in ("vv-ucb", "ucb1")] for world, visits in table.items()}
    yield claim_of(
        _PLACE,
        "UCB1 explores very slowly",
        "coverage of UCB1: "
        + "; ".join(
            f"{world} {mean(b, 'coverage'):.1f} % (vv-ucb {mean(a, 'coverage'):.1f} %)"
            for world, (a, b) in both.items()
        ),
        *(larger(column(a, "coverage"), column(b, "coverage")) for a, b in both.values()),
    )


def _distractors(table: Table) -> Iterator[Claim]:
    """Compare the share of the steps in cells of smaller treasures and penalties with that of vv-ucb."""
    parts, cases = [], []
    for world in _GRIDWORLDS:
        shares = {name: column(seeds, "distractors") for name, seeds in table[world].items()}
        parts.append(
            f"{world}: " + ", ".join(f"{name} {100 * np.mean(shares[name]):.2g} %" for name in ("vv-ucb", *OTHERS))
        )
        cases += [larger(shares[name], shares["vv-ucb"]) for name in OTHERS]
    yield claim_of(
        _PLACE,
        "Figure 19: other algorithms myopically focus on distractors",
        f"share of the steps in cells with smaller rewards or penalties: {'; '.join(parts)}",
        *cases,
    )


def _bootstrap(table: Table) -> Iterator[Claim]:
    name = "random-prior"
    after = {world: mean(table[world][name], "after") for world in _GRIDWORLDS}
    full = sum(x >= LEARNT for x in column(table["deep-sea"][name], "success"))
    yield claim_of(
        _PLACE,
        "bootstrapping with a prior immediately converges to the first reward found in the gridworlds, barely "
        "exploring afterward, but performs very well on the deep sea",
        f"learnt in the deep sea by {full} of {len(table['deep-sea'][name])} runs; states discovered after the first "
        "evaluation with a positive return: " + ", ".join(f"{world} {each:.1f} %" for world, each in after.items()),
        mostly(full, len(table["deep-sea"][name])),
        *(rarely(each, 100.0) for each in after.values()),
    )


CHECKS = (_coverage, _entropy, _vv_count, _start, _distance, _slow, _distractors, _bootstrap)
WORLDS = tuple(MAPS)
TITLE = "Visit counts at the end of learning"
_LEGEND = (
    "Means over the seeds. coverage: states visited, in percent of the reachable ones; smallest: the smallest count of "
    "a reachable state; evenness: entropy of the counts in percent of that of uniform counts; distance: rank "
    "correlation of the count of a state with its distance from the start; distractors: steps in cells with smaller "
    "rewards or penalties."
)
_SHOWN = (
    "each panel shows the seed with the median evenness of its explorer, whose number is in its title; the paper shows "
    "one seed."
)


def runs(selection: StudySelection) -> list[Run]:
    """Return the runs of the recap tables with zero initialization and the short horizon."""
    worlds, explorers = selection.select_worlds(WORLDS), selection.select_explorers(EXPLORERS)
    every = recap_runs(replace(selection, worlds=worlds, explorers=explorers))
    return [run for run in every if is_mapped(run)]


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return measures of the counts, the counts, and maps of those of the median seed."""
    lines: list[list[object]] = []
    drawings = [note] if note else []
    found: dict[tuple[str, str], list[tuple[Visits, StoredRun]]] = {}
    for each in stored:
        label = (each.run.world, each.run.explorer)
        found.setdefault(label, []).append((measure_visits(each.run, each.result), each))
    maps: dict[str, dict[str, CountMap]] = {}
    for (world, explorer), seeds in found.items():
        mapped = [pair for pair in seeds if math.isfinite(pair[0].evenness)]
        if not mapped:
            continue
        ordered = sorted(mapped, key=lambda pair: (pair[0].evenness, pair[1].run.seed))
        run, result, _ = ordered[(len(mapped) - 1) // 2][1]
        title = f"{explorer}, seed {run.seed}"
        maps.setdefault(world_title(world), {}).setdefault(explorer, count_map(run, result, title))
        counts = cell_counts(run, result.visits)
        # The darkness of a character shows the logarithm of the count.
        drawing = "\n".join(shaded(logarithmic(counts)))
        drawings.append(f"{world}, {title}\n{drawing}\n")
        lines += [[world, explorer, run.seed, row + 1, column + 1, n] for (row, column), n in np.ndenumerate(counts)]
    heads = ["world", "explorer", "seeds", "coverage (%)", "smallest", "evenness (%)", "distance", "distractors (%)"]
    labels = dict.fromkeys((run.world, run.explorer) for run in requested)
    measured = {label: [visits for visits, _ in seeds] for label, seeds in found.items()}
    table = [[*label, *_numbers(measured.get(label, []))] for label in labels]
    rows = {world: list(world_maps.values()) for world, world_maps in maps.items()}
    setting = (
        f"Settings of the released code; zero initialization, short horizon; deep sea with {DEEP_SEA_BUDGET:,} steps"
    )
    text = f"{setting}; {_SHOWN} {note}".strip()
    return Report(
        renderables=[as_rich_table(TITLE, heads, table, f"{_LEGEND} {note}".strip(), text_columns=2)],
        files={
            "table.md": as_markdown_table(TITLE, heads, table, _LEGEND, note),
            "table.csv": as_csv([*heads, "note"], [[*row, note] for row in table]),
            "counts.csv": as_csv(["world", "explorer", "seed", "row", "column", "visits"], lines),
            "maps.txt": "\n".join(drawings),
        },
        figures={"maps": functools.partial(maps_figure, TITLE, rows, note=text)} if rows else {},
        claims=check_claims(measured),
    )


def _numbers(seeds: list[Visits]) -> list[str]:
    if not seeds:
        return ["0", *["–"] * 5]
    names = ("coverage", "smallest", "evenness", "distance", "distractors")
    coverage, smallest, even, distance, distractors = (mean(seeds, name) for name in names)
    return [
        str(len(seeds)),
        f"{coverage:.2f}",
        f"{smallest:,.0f}",
        f"{even:.1f}",
        f"{distance:.2f}",
        f"{100 * distractors:.2g}",
    ]


STUDY = Study(
    id="visit-maps",
    reference="Section 4.2.1, Figure 19",
    description="visit counts at the end of learning: 4 worlds, 7 explorers; the runs of the recap tables",
    runs=runs,
    report=report,
    quick_changes="5 seeds (deep-sea and wall: 2) instead of 20; deep-sea of depth 20 with 50,000 steps",
    summarize=lambda run, result: reduced(result, keep=("visits",)),
)
