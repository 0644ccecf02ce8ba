"""Visit counts of runs as maps (Figures 19 and 21)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.planning import reachable_states
from wanderlust.experiments.result import evenness
from wanderlust.experiments.run import Result, Run
from wanderlust.worlds import CellKind, World, make_world
from wanderlust_paper.figures.maps import CountMap

Counts = NDArray[np.int64]


def cell_counts(run: Run, visits: Counts) -> Counts:
    """Return [row, column]: the visits of each cell, summed over its states and actions."""
    layout = make_world(run.world, **run.world_options).layout
    assert layout is not None
    counts = np.zeros((layout.rows, layout.columns), np.int64)
    np.add.at(counts, (layout.row, layout.column), visits.sum(axis=1))
    return counts


def count_map(run: Run, result: Result, title: str) -> CountMap:
    """Return the count map of a run, with the evenness of the visits in its title."""
    world = make_world(run.world, **run.world_options)
    layout = world.layout
    assert layout is not None
    unreachable = np.ones((layout.rows, layout.columns), dtype=np.bool_)
    reachable = reachable_states(world.mdp)
    unreachable[layout.row[reachable], layout.column[reachable]] = False
    percent = evenness(result.visits.sum(axis=1), int(result.reachable))
    return CountMap(
        f"{title}\nevenness {percent:.0f} %", cell_counts(run, result.visits), unreachable, cell_marks(world)
    )


def cell_marks(world: World) -> tuple[tuple[str, int, int], ...]:
    """Return (kind, row, column) of the start, the treasures, the penalties and the prisons of a world."""
    layout = world.layout
    assert layout is not None
    marks = {("start", int(layout.row[s]), int(layout.column[s])): None for s in np.flatnonzero(world.mdp.start > 0)}
    for kind in (CellKind.TREASURE, CellKind.PENALTY, CellKind.PRISON):
        for row, column in np.argwhere((layout.kind == kind).any(axis=0)):
            # The last cell of the deep sea is a treasure or a bomb.
            if kind is not CellKind.PENALTY or not (layout.kind[:, row, column] == CellKind.TREASURE).any():
                marks[kind.name.lower(), int(row), int(column)] = None
    return tuple(marks)
