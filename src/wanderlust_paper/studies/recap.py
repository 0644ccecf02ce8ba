"""Section 4.1 and Appendix A.6: learning curves and recap tables of six worlds and nine algorithms.

It reproduces Figures 8 (deep sea), 10 (taxi), 12 (deep gridworld), 16 (toy), 17 (prison) and 18 (wall), Table 1, and
Tables 3 to 8, with zero and optimistic initialization of Q, and short and long horizons.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wanderlust import Run, make_world
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.execute.progress import ENSEMBLES
from wanderlust.experiments.report.figures import Curves, curves_figure, explorer_styles, mean_curves, thinned
from wanderlust.experiments.report.text_tables import as_csv
from wanderlust.experiments.run import Result, step_learnt
from wanderlust.experiments.statistics import probability_of_improvement
from wanderlust.experiments.store import StoredRun
from wanderlust.experiments.table import Group, row_of
from wanderlust_paper.claims import LEARNT, Groups, check_all, seeds_of, with_fresh_seeds
from wanderlust_paper.registry import EXPLORERS, Report, Study, StudySelection, figure_note
from wanderlust_paper.reports import recap_tables, scorecard
from wanderlust_paper.reports.recap_tables import (
    AGREES,
    DIFFERS,
    FRESH,
    INFERRED,
    NOTHING_INFERRED,
    TABLES,
    Cell,
    Row,
    compare_group,
    first_seeds,
    make_row,
)
from wanderlust_paper.studies.recap_claims import CHECKS
from wanderlust_paper.summary_file import reduced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVE_POINTS = 200
"""Evaluations that curves have at most."""
_LOG_SCALE_WORLDS = ("wall",)
"""Worlds whose returns are drawn on a logarithmic axis, as in Figure 18."""


class AlternativeSetting(NamedTuple):
    """A setting with which the runs of a cell are executed a second time, or reported a second time."""

    description: str
    budget: int | None = None
    preset: str = "as_published_code"
    states: int | None = None
    """The number of states of which discovery is a percentage, if it is not that of the reachable ones: no new runs."""


_LONGER_RUNS = AlternativeSetting("200,000 steps instead of 100,000", budget=200_000)
ALTERNATIVE_SETTINGS: Mapping[Cell, AlternativeSetting] = {
    Cell("deep-sea", "optimistic", "fixed", "ucb1"): AlternativeSetting(
        "κ of the text instead of the released code", preset="as_written"
    ),
    Cell("taxi", "optimistic", "long", "thompson"): AlternativeSetting(
        "discovery in percent of the 33 × 8 = 264 open states instead of the 252 reachable ones", states=264
    ),
    Cell("wall", "zero", "short", "random"): _LONGER_RUNS,
    Cell("wall", "zero", "long", "random"): _LONGER_RUNS,
    Cell("wall", "optimistic", "short", "random"): _LONGER_RUNS,
    Cell("wall", "optimistic", "long", "random"): _LONGER_RUNS,
}


def with_alternative_setting(run: Run, cell: Cell) -> Run | None:
    """Return the run with the alternative setting of its row, or None if the row needs no other run."""
    alternative = ALTERNATIVE_SETTINGS.get(cell)
    if alternative is None or alternative.states or run.preset != "as_published_code":
        return None
    budget = {} if alternative.budget is None else {"budget": alternative.budget}
    return replace(run, preset=alternative.preset, settings={**run.settings, **budget})


_SINGLE_TABLES = ("ucb1", "bonus", "epsilon-greedy", "random")
FRESH_CELLS = {
    *(Cell("deep-sea", initial, "fixed", name) for initial in ("zero", "optimistic") for name in _SINGLE_TABLES),
    *(cell for cell in ALTERNATIVE_SETTINGS if cell.environment != "deep-sea"),
}
"""Cells that differ with nothing inferred, and for which new seeds take minutes, not hours."""
FRESH_SEEDS = 20
WORLDS = ("deep-sea", "taxi", "deep-gridworld", "toy", "prison", "wall")
"""In the order of Table 1."""
MAPS = {"deep-sea": "fixed", "deep-gridworld": "short", "prison": "short", "wall": "short"}
"""The worlds of Figure 19, whose visits are kept in the summary of the runs, and their horizons."""
INITIALS = ("zero", "optimistic")
SEEDS = 20
"""As in the paper."""
MORE_SEEDS = 200
"""Seeds where runs are short, so that our own sampling error is small."""

FIRST_AREA = 39 * 39 + 4
"""Cells of `wall` before its wall, and in its passage."""

DEEP_SEA_BUDGET = 100_000
"""Table 3 was not produced with the 500,000 steps of the released code: explorers that learn nothing discover as many
states as in the table after 100,000 steps, and many more after 500,000; see docs/deviations.md."""

RELEASED_DEEP_SEA_BUDGET = 500_000
RELEASED_SEEDS_OF_ENSEMBLES = 5
"""Each of these runs takes a minute or more."""

_FAST_WORLDS = ("toy", "prison", "deep-gridworld")
_FAST_WORLDS_EXCEPT_ENSEMBLES = ("taxi",)
_QUICK_SEEDS = {"deep-sea": 2, "wall": 2}
_QUICK_DEEP_SEA: dict[str, Any] = {"depth": 20}
_QUICK_DEEP_SEA_BUDGET = 50_000


def runs(selection: StudySelection) -> list[Run]:
    """Return world x horizon x initialization x explorer x seed, and some rows again with other settings.

    These are the alternative settings, and the deep sea with the 500,000 steps of the released code.
    """
    default = [
        Run(
            world=world,
            world_options=_QUICK_DEEP_SEA if selection.quick and world == "deep-sea" else {},
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"initial": initial, **horizon},
        )
        for world in selection.select_worlds(WORLDS)
        for horizon in _horizons(world, selection.quick)
        for initial in INITIALS
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(_n_seeds(world, explorer), _QUICK_SEEDS.get(world, 5))
    ]
    if selection.quick:
        return default
    second = [run for each in default if (run := with_alternative_setting(each, cell_of(each)))]
    released = [run for each in default if (run := with_released_budget(each))]
    return default + second + released + [run for each in default + released for run in fresh_runs(each)]


def fresh_runs(run: Run) -> list[Run]:
    """Return runs with new seeds of the cells that differ with seeds 1 to 20, where these are the only ones."""
    cell, is_released = cell_of(run), run.settings.get("budget") == RELEASED_DEEP_SEA_BUDGET
    if run.seed > FRESH_SEEDS or run.preset != "as_published_code" or cell not in FRESH_CELLS:
        return []
    return [replace(run, seed=SEEDS + run.seed)] if is_released or run.world != "deep-sea" else []


def with_released_budget(run: Run) -> Run | None:
    """Return a run of the deep sea with the budget of the released code; None for other runs, and for more seeds."""
    max_seed = RELEASED_SEEDS_OF_ENSEMBLES if run.explorer in ENSEMBLES else SEEDS
    if run.world != "deep-sea" or run.preset != "as_published_code" or run.seed > max_seed:
        return None
    return replace(run, settings={**run.settings, "budget": RELEASED_DEEP_SEA_BUDGET})


def _n_seeds(world: str, explorer: str) -> int:
    fast = world in _FAST_WORLDS or (world in _FAST_WORLDS_EXCEPT_ENSEMBLES and explorer not in ENSEMBLES)
    return MORE_SEEDS if fast else SEEDS


def _horizons(world: str, quick: bool) -> list[dict[str, int]]:
    """Return the settings of the short and the long horizon; only one for the deep sea, which has a fixed horizon."""
    if world == "deep-sea":
        return [{"budget": _QUICK_DEEP_SEA_BUDGET if quick else DEEP_SEA_BUDGET}]
    return [{"horizon": horizon} for horizon in _horizons_of(world)]


@functools.cache
def _horizons_of(world: str) -> tuple[int, int]:
    defaults = make_world(world).defaults
    assert defaults.long_horizon is not None
    return defaults.horizon, defaults.long_horizon


def cell_of(run: Run) -> Cell:
    """Return the cell of the recap tables to which a run belongs."""
    horizon = "fixed"
    if "horizon" in run.settings:
        horizon = "short" if run.settings["horizon"] == _horizons_of(run.world)[0] else "long"
    return Cell(run.world, run.settings["initial"], horizon, run.explorer)


DEFAULT, ALTERNATIVE, RELEASED = "default", "alternative", "released"
Key = tuple[str, Cell]
"""One of the three settings, or new seeds, and the cell."""


def group_cells(requested: Iterable[Run], stored: Iterable[StoredRun]) -> tuple[Counter[Key], dict[Key, Group]]:
    """Return the number of requested runs of each cell with each setting, and the stored ones."""
    requested = list(requested)
    second = {with_alternative_setting(run, cell_of(run)) for run in requested}
    released = {with_released_budget(run) for run in requested}
    fresh = {new for run in requested for new in fresh_runs(run)}

    def keys(run: Run) -> list[Key]:
        cell = cell_of(run)
        if run in fresh or run in second or run in released:
            return [(FRESH if run in fresh else ALTERNATIVE if run in second else RELEASED, cell)]
        setting = ALTERNATIVE_SETTINGS.get(cell)
        is_rescaled = setting is not None and setting.states and run.preset == "as_published_code"
        return [(DEFAULT, cell), *([(ALTERNATIVE, cell)] if is_rescaled else [])]

    planned = Counter(key for run in requested for key in keys(run))
    groups = {(kind, cell): Group({"setting": kind, **cell._asdict()}, []) for kind, cell in planned}
    for each in stored:
        key, *rescaled = keys(each.run)
        row = row_of(each) | _curve_columns(each.result)
        if each.run.world == "wall" and key[1].initialization == "zero":
            row["beyond_the_wall"] = is_beyond_the_wall(each.run, each.result)
        groups[key].rows.append(row)
        for other in rescaled:
            share = int(each.result.reachable) / (ALTERNATIVE_SETTINGS[other[1]].states or 1)
            curves = row["curves"] * np.array([[1.0], [share], [1.0]])
            groups[other].rows.append(row | {"discovery": share * row["discovery"], "curves": curves})
    return planned, groups


def is_beyond_the_wall(run: Run, result: Result) -> bool:
    """Return whether a run left the first area of `wall`: it visited cells beyond, or more cells than that area has."""
    if not (_keeps_visits(run) and result.visits.any()):
        return result.n_discovered > FIRST_AREA
    layout = make_world(run.world).layout
    assert layout is not None
    return bool(result.visits.sum(axis=1)[(layout.row >= 40) | (layout.column >= 40)].any())


def _curve_columns(result: Result) -> dict[str, Any]:
    """Return the curves of a run, their means, the first evaluation without later discoveries, and executed pairs."""
    curves = result.percent_curves
    curves = curves[:, thinned(curves.shape[1], CURVE_POINTS)].copy()
    discovery, success = curves[1:].mean(axis=1)
    last = curves[0, int(np.argmax(curves[1] >= curves[1, -1]))]
    return {
        "curves": curves,
        "learnt_at": step_learnt(result.percent_curves, LEARNT),
        "mean_discovery": discovery,
        "mean_success": success,
        "last_discovery": last,
        **({"pairs": int((result.visits > 0).sum())} if result.visits.any() else {}),
    }


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the tables, the learning curves and the claims."""
    planned, groups = group_cells(requested, stored)
    scaled_down = {cell_of(run) for run in requested if run.world_options}
    rows = [compare_cell(cell, planned, groups, cell not in scaled_down) for kind, cell in planned if kind == DEFAULT]
    cells = Groups({cell: group for (kind, cell), group in groups.items() if kind == DEFAULT and len(group)})
    return Report(
        renderables=[*recap_tables.rich_tables(rows, note), scorecard.summary(rows, note)],
        files={
            "tables.md": recap_tables.as_markdown(rows, note),
            "tables.csv": recap_tables.rows_as_csv(rows, note),
            "curves.csv": _curves_csv(rows, groups),
            "improvement.csv": _improvement_csv(cells),
        },
        cells=[recap_tables.rounded(row) for row in rows],
        note=note,
        figures={
            f"curves-{world}": functools.partial(_draw_curves, world, rows, groups, note)
            for world in dict.fromkeys(cell.environment for cell in cells)
        },
        claims=with_fresh_seeds(
            check_all(CHECKS, cells),
            check_all(CHECKS, seeds_of(cells, above=SEEDS)),
            f"seeds {SEEDS + 1} to {MORE_SEEDS}",
        ),
    )


def compare_cell(cell: Cell, planned: Mapping[Key, int], groups: Mapping[Key, Group], is_compared: bool) -> Row:
    """Return the row of a cell with the default setting; with its alternative setting if only that agrees."""
    row, alternative = (
        make_row(cell, groups[key], planned[key], is_compared=is_compared) if key in groups else None
        for key in ((DEFAULT, cell), (ALTERNATIVE, cell))
    )
    assert row is not None
    if row.theirs is None or TABLES not in row.variants:
        return row
    released, fresh = groups.get((RELEASED, cell)), groups.get((FRESH, cell))
    variants = {NOTHING_INFERRED: row.variants[TABLES], **row.variants}
    if released:
        variants[NOTHING_INFERRED] = compare_group(first_seeds(released), row.theirs)
    if fresh is None and not released:
        default = groups[DEFAULT, cell]
        fresh = Group(default.fields, [each for each in default.rows if each["seed"] > SEEDS])
    if fresh:
        variants[FRESH] = compare_group(fresh, row.theirs)
    if alternative and TABLES in alternative.variants:
        variants[INFERRED] = alternative.variants[TABLES]
    row = row._replace(variants=variants, is_inferred=bool(released))
    if alternative and (row.verdict, alternative.verdict) == (DIFFERS, AGREES):
        setting = ALTERNATIVE_SETTINGS[cell]
        row = alternative._replace(
            setting=setting.description,
            follows_text=setting.preset == "as_written",
            default=row.ours,
            variants=variants,
            is_inferred=row.is_inferred,
        )
    return row


def _curves_of(row: Row, groups: Mapping[Key, Group]) -> list[FloatArray]:
    """Return the curves of the runs of a row, with the setting of all rows of its table."""
    return [each["curves"] for each in groups[DEFAULT, row.cell].rows]


def _curves_csv(rows: Iterable[Row], groups: Mapping[Key, Group]) -> str:
    """Return the mean curves of the rows with the paper's interval, as CSV."""
    lines = []
    for row in rows:
        curves = _curves_of(row, groups)
        for step, *numbers in mean_curves(curves).points() if curves else ():
            lines.append([*row.cell, len(curves), int(step), *(f"{number:.4f}" for number in numbers)])
    return as_csv([*Cell._fields, "seeds", "step", *recap_tables.NUMBERS], lines)


def _improvement_csv(cells: Mapping[Cell, Group]) -> str:
    """Return the probability of improvement for all pairs of explorers of a scenario, as CSV."""
    lines = []
    for (x, one), (y, other) in combinations(cells.items(), 2):
        if x[:3] == y[:3]:
            shares = [
                f"{probability_of_improvement(one.column(name), other.column(name)):.4f}"
                for name in ("discovery", "success")
            ]
            lines.append([*x, y.algorithm, *shares])
    return as_csv([*Cell._fields, "than", "probability_discovery", "probability_success"], lines)


def _draw_curves(world: str, rows: Iterable[Row], groups: Mapping[Key, Group], note: str) -> Figure:
    """Draw the learning curves of a world, a column for each scenario, all with the setting of its table.

    An alternative setting with other runs of the same length is a second line.
    """
    columns: dict[str, dict[str, Curves]] = {}
    seeds: dict[str, int] = {}
    rows = [row for row in rows if row.cell.environment == world]
    styles = explorer_styles(row.cell.algorithm for row in rows)
    for row in rows:
        column = columns.setdefault(row.cell.scenario, {})
        curves = _curves_of(row, groups)
        if curves:
            column[row.cell.algorithm] = mean_curves(curves)
            seeds[row.cell.algorithm] = len(curves)
        setting, other = ALTERNATIVE_SETTINGS.get(row.cell), groups.get((ALTERNATIVE, row.cell))
        if setting and other and not setting.states and setting.budget is None:
            name = f"{row.cell.algorithm}, {setting.description}"
            column[name] = mean_curves([each["curves"] for each in other.rows])
            styles[name] = styles[row.cell.algorithm]._replace(dash=":")
    steps = f"; {DEEP_SEA_BUDGET:,} steps, inferred from the paper's tables" if world == "deep-sea" else ""
    if any(kind == ALTERNATIVE and cell.environment == "wall" == world for kind, cell in groups):
        steps = "; random: 100,000 steps here, 200,000 in the tables"
    what = figure_note(note, seeds, steps)
    title = f"{recap_tables.world_title(world)}: means over the seeds"
    return curves_figure(title, columns, styles, note=what, log_scale=world in _LOG_SCALE_WORLDS)


def is_mapped(run: Run) -> bool:
    """Return whether a run is one of Figure 19: zero initialization, short horizon, the setting of the tables."""
    cell = cell_of(run)
    is_default = run.settings.get("budget") != RELEASED_DEEP_SEA_BUDGET
    return cell.initialization == "zero" and MAPS.get(run.world) == cell.horizon and run.seed <= SEEDS and is_default


def _keeps_visits(run: Run) -> bool:
    return is_mapped(run) and run.explorer not in ("thompson", "random")


def summarize(run: Run, result: Result) -> Result:
    """Keep the visits of the runs of Figure 19, and which pairs ε-greedy executes with optimistic initialization."""
    cell = cell_of(run)
    if _keeps_visits(run):
        return reduced(result, keep=("visits",), max_points=CURVE_POINTS)
    if (cell.algorithm, cell.initialization) == ("epsilon-greedy", "optimistic"):
        executed = (result.visits > 0).astype(np.int64).reshape(-1, 1)
        return reduced(result, max_points=CURVE_POINTS)._replace(visits=executed)
    return reduced(result, max_points=CURVE_POINTS)


STUDY = Study(
    id="recap",
    reference="Section 4.1, Figures 8, 10, 12, 16–18, Tables 1, 3–8",
    description="states discovered and return: 6 worlds, 9 explorers, 2 initializations of Q, 2 horizons",
    runs=runs,
    report=report,
    quick_changes="5 seeds (deep-sea and wall: 2) instead of 20 or 200, no runs with alternative settings or with new "
    "seeds; deep-sea of depth 20 with 50,000 steps instead of depth 50, which is not compared with the paper",
    summarize=summarize,
)
