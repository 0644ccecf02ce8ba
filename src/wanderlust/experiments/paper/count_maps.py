"""Visit counts of runs as maps: what the figures of Sections 4.2.1 and 4.2.2 show."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wanderlust.core.planning import reachable_states
from wanderlust.experiments.reports.figures.maps import CountMap
from wanderlust.experiments.reports.summary import evenness
from wanderlust.experiments.run import Result, Run
from wanderlust.worlds import make_world

Counts = NDArray[np.int64]


def cell_counts(run: Run, visits: Counts) -> Counts:
    """Return the visits of each cell, all its states and actions together."""
    layout = make_world(run.world, **run.world_options).layout
    assert layout is not None
    counts = np.zeros((layout.rows, layout.columns), np.int64)
    np.add.at(counts, (layout.row, layout.column), visits.sum(axis=1))
    return counts


def count_map(run: Run, result: Result, title: str) -> CountMap:
    """Return the map of a run, with its title and how even the visits are."""
    world = make_world(run.world, **run.world_options)
    layout = world.layout
    assert layout is not None
    closed = np.ones((layout.rows, layout.columns), dtype=np.bool_)
    reachable = reachable_states(world.mdp)
    closed[layout.row[reachable], layout.column[reachable]] = False
    even = evenness(result.visits.sum(axis=1), int(result.reachable))
    return CountMap(f"{title}\nevenness {even:.0f} %", cell_counts(run, result.visits), closed)
