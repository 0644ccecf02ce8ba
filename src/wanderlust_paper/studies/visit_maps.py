"""Section 4.2.1, Figure 19: visit counts at the end of learning."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust import Run, make_world
from wanderlust.core.mdp import TabularMDP
from wanderlust.core.planning import reachable_states
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.run import Result, evenness
from wanderlust.experiments.store import StoredRun
from wanderlust.worlds.drawing import logarithmic, shaded
from wanderlust_paper.claims import SIMILAR, Claim, check_all, check_claim
from wanderlust_paper.figures.maps import CountMap, cell_counts, count_map, maps_figure
from wanderlust_paper.registry import Report, Study, StudySelection
from wanderlust_paper.reports.recap_tables import world_title
from wanderlust_paper.summary_file import reduced

EXPLORERS = ("vv-ucb", "vv-count", "random-prior", "bootstrapped", "ucb1", "bonus", "epsilon-greedy")
"""Figure 19 has vv-ucb, a bootstrap, UCB1, the bonus and ε-greedy; the text discusses the bootstrap with a prior."""
OTHERS = EXPLORERS[2:]
BOOTSTRAPS = ("random-prior", "bootstrapped")
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


def measure_visits(run: Run, result: Result) -> Visits:
    """Return the measures of a run."""
    from scipy.stats import spearmanr

    mdp = make_world(run.world, **run.world_options).mdp
    reachable = reachable_states(mdp)
    counts = result.visits.sum(axis=1)[reachable]
    steps = distances(mdp)[reachable]
    correlation = float(spearmanr(steps, counts).statistic)
    start = float(counts[steps == 0].mean() / counts.mean())
    return Visits(result.discovery, float(counts.min()), evenness(counts, len(counts)), correlation, start)


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


Table = Mapping[str, Mapping[str, Visits]]
"""World -> explorer -> measures."""


def check_claims(visits: Mapping[tuple[str, str], Visits]) -> list[Claim]:
    """Check the statements about the worlds that have all explorers."""
    table: dict[str, dict[str, Visits]] = {}
    for (world, explorer), each in visits.items():
        table.setdefault(world, {})[explorer] = each
    table = {world: each for world, each in table.items() if set(each) == set(EXPLORERS)}
    return check_all(CHECKS if table else (), table)


def _coverage(table: Table) -> Iterator[Claim]:
    parts, only, most = [], 0, 0
    for world, visits in table.items():
        vv = visits["vv-ucb"]
        best = max(OTHERS, key=lambda name: (visits[name].smallest, visits[name].coverage))
        parts.append(
            f"{world} {vv.coverage:.1f} % with counts from {vv.smallest:,.0f} (best other: {best}, "
            f"{visits[best].coverage:.1f} %, from {visits[best].smallest:,.0f})"
        )
        only += vv.coverage >= 100.0 and all(visits[name].coverage < 100.0 for name in OTHERS)
        most += vv.coverage >= 100.0 and vv.smallest >= max(visits[name].smallest for name in OTHERS)
    yield check_claim(
        _PLACE,
        "only vv uniformly explores all states",
        f"coverage of vv-ucb, and its smallest count: {'; '.join(parts)}",
        tolerance="only vv visits all states, in every world; it has the largest smallest count in every world",
        holds=only == len(table),
        partly=most == len(table),
    )


def _entropy(table: Table) -> Iterator[Claim]:
    parts, first = [], []
    for world, visits in table.items():
        second = max(OTHERS, key=lambda name: visits[name].evenness)
        parts.append(f"{world} {visits['vv-ucb'].evenness:.1f} % ({second} {visits[second].evenness:.1f} %)")
        first.append(visits["vv-ucb"].evenness > visits[second].evenness)
    yield _in_worlds(
        _PLACE,
        "vv explores the environment as uniformly as possible",
        f"entropy of the counts of vv-ucb in percent of the maximum, and of the best other: {'; '.join(parts)}; "
        f"the highest in {sum(first)} of {len(table)} worlds",
        "the highest",
        first,
    )


def _vv_count(table: Table) -> Iterator[Claim]:
    differences = {
        world: (
            visits["vv-count"].coverage - visits["vv-ucb"].coverage,
            visits["vv-count"].evenness - visits["vv-ucb"].evenness,
        )
        for world, visits in table.items()
    }
    text = "; ".join(f"{world} {a:+.1f} and {b:+.1f}" for world, (a, b) in differences.items())
    yield _in_worlds(
        _PLACE,
        "the count-based W-function performs very similarly",
        f"vv-count minus vv-ucb, coverage and evenness in points: {text}",
        f"differences ≤ {SIMILAR:g} points",
        [max(map(abs, pair)) <= SIMILAR for pair in differences.values()],
    )


def _start(table: Table) -> Iterator[Claim]:
    ratios = {world: visits["vv-ucb"].start for world, visits in table.items()}
    yield _in_worlds(
        "3.4",
        "the initial state has a higher visitation count",
        "count of the start divided by the mean of all reachable states, vv-ucb: "
        + ", ".join(f"{world} {ratio:.2g} times" for world, ratio in ratios.items()),
        "above 1",
        [ratio > 1.0 for ratio in ratios.values()],
    )


def _distance(table: Table) -> Iterator[Claim]:
    values = {world: visits["vv-ucb"].distance for world, visits in table.items()}
    yield check_claim(
        _PLACE,
        "the count of vv decreases with the distance from the initial state",
        "rank correlation of count and distance: "
        + ", ".join(f"{world} {value:.2f}" for world, value in values.items()),
        tolerance="at most −0.5 in every world; negative in every world",
        holds=max(values.values()) <= -0.5,
        partly=max(values.values()) < 0.0,
    )


def _slow(table: Table) -> Iterator[Claim]:
    both = {world: (visits["ucb1"].coverage, visits["vv-ucb"].coverage) for world, visits in table.items()}
    yield _in_worlds(
        _PLACE,
        "UCB1 explores very slowly",
        f"coverage of UCB1: {'; '.join(f'{world} {a:.1f} % (vv-ucb {b:.1f} %)' for world, (a, b) in both.items())}",
        "lower than vv-ucb's",
        [ucb1 < vv for ucb1, vv in both.values()],
    )


def _in_worlds(place: str, claim: str, found: str, what: str, holds: Sequence[bool]) -> Claim:
    """Check a statement about every world; it is partly reproduced if it holds in half of them."""
    tolerance = f"{what} in every world; in half of them"
    return check_claim(place, claim, found, tolerance=tolerance, holds=all(holds), partly=sum(holds) >= len(holds) / 2)


def _bootstraps(table: Table) -> Iterator[Claim]:
    grids = [world for world in _GRIDWORLDS if world in table]
    if "deep-sea" not in table or not grids:
        return
    parts = [
        f"{name} {table['deep-sea'][name].coverage:.1f} % in the deep sea, "
        + ", ".join(f"{table[world][name].coverage:.1f} % in {world}" for world in grids)
        for name in BOOTSTRAPS
    ]
    deep = min(table["deep-sea"][name].coverage for name in BOOTSTRAPS)
    others = max(table[world][name].coverage for world in grids for name in BOOTSTRAPS)
    yield check_claim(
        _PLACE,
        "the bootstraps perform very well on the deep sea, and barely explore the gridworlds",
        f"coverage: {'; '.join(parts)}",
        tolerance="at least 95 % in the deep sea and at most 80 % in every gridworld; more in the deep sea than in any",
        holds=deep >= 95.0 and others <= 80.0,
        partly=deep > others,
    )


CHECKS = (_coverage, _entropy, _vv_count, _start, _distance, _slow, _bootstraps)
WORLDS = ("deep-sea", "deep-gridworld", "prison", "wall")
TITLE = "Visit counts at the end of learning"
_LEGEND = (
    "coverage: states visited, in percent of the reachable ones; smallest: the smallest count of a reachable state; "
    "evenness: entropy of the counts in percent of that of uniform counts; distance: rank correlation of the count "
    "of a state with its distance from the start. One seed, as in the paper."
)


def runs(selection: StudySelection) -> list[Run]:
    """Return world x explorer, one seed."""
    return [
        Run(
            world=world,
            world_options={"depth": 20} if selection.quick and world == "deep-sea" else {},
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"budget": 50_000} if selection.quick and world == "deep-sea" else {},
        )
        for world in selection.select_worlds(WORLDS)
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(1, 1)
    ]


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return measures of the counts, the counts, and maps of them; the figure shows the first seed."""
    lines, drawings = [], [note] if note else []
    maps: dict[str, dict[str, CountMap]] = {}
    measured: dict[tuple[str, str], list[Visits]] = {}
    for run, result, _ in stored:
        counts = cell_counts(run, result.visits)
        maps.setdefault(world_title(run.world), {}).setdefault(run.explorer, count_map(run, result, run.explorer))
        measured.setdefault((run.world, run.explorer), []).append(measure_visits(run, result))
        # The darkness of a character shows the logarithm of the count.
        drawing = "\n".join(shaded(logarithmic(counts)))
        drawings.append(f"{run.world}, {run.explorer}, seed {run.seed}\n{drawing}\n")
        for (row, column), count in np.ndenumerate(counts):
            lines.append([run.world, run.explorer, run.seed, row + 1, column + 1, count])
    heads = ["world", "explorer", "seeds", "coverage (%)", "smallest", "evenness (%)", "distance"]
    labels = dict.fromkeys((run.world, run.explorer) for run in requested)
    table = [[*label, *_numbers(measured.get(label, []))] for label in labels]
    rows = {world: list(world_maps.values()) for world, world_maps in maps.items()}
    return Report(
        renderables=[as_rich_table(TITLE, heads, table, f"{_LEGEND} {note}".strip(), text_columns=2)],
        files={
            "table.md": as_markdown_table(TITLE, heads, table, _LEGEND, note),
            "table.csv": as_csv([*heads, "note"], [[*row, note] for row in table]),
            "counts.csv": as_csv(["world", "explorer", "seed", "row", "column", "visits"], lines),
            "maps.txt": "\n".join(drawings),
        },
        figures={"maps": functools.partial(maps_figure, TITLE, rows, note=note)} if rows else {},
        claims=check_claims({label: seeds[0] for label, seeds in measured.items()}),
    )


def _numbers(seeds: list[Visits]) -> list[str]:
    if not seeds:
        return ["0", *["–"] * 4]
    means = np.mean(seeds, axis=0)
    return [str(len(seeds)), f"{means[0]:.2f}", f"{means[1]:,.0f}", f"{means[2]:.1f}", f"{means[3]:.2f}"]


STUDY = Study(
    id="visit-maps",
    reference="Section 4.2.1, Figure 19",
    description="visit counts at the end of learning: 4 worlds, 7 explorers",
    runs=runs,
    report=report,
    quick_changes="deep-sea of depth 20 with 50,000 steps instead of depth 50 with 500,000",
    summarise=lambda run, result: reduced(result, keep=("visits",)),
)
