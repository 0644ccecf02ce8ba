"""Figures 1, 2, 5, 7, 9, 11, 13 to 15 and 24, Table 2: the environments, drawn, and the statements about them.

There are no runs: the statements follow from the transitions and rewards of the worlds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from wanderlust.core.planning import reachable_states
from wanderlust.experiments.report.report import Report
from wanderlust.experiments.report.style import styled
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import StoredRun
from wanderlust.worlds import World, make_world
from wanderlust.worlds.pictures import draw_graph
from wanderlust_paper.claims.environment_claims import check_claims, optimal_steps
from wanderlust_paper.registry import Study, StudySelection
from wanderlust_paper.studies.example_worlds import STATES, problem_chain, uniform_count_chain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORLDS = ("toy-example", "deep-sea", "taxi", "deep-gridworld", "toy", "prison", "wall", "chain")
_PICTURES: dict[str, tuple[str, Callable[[], World]]] = {
    "problem-chain": ("Naive exploration performs poorly: up and down return to the start", problem_chain),
    "toy-example": ("The toy problem", functools.partial(make_world, "toy-example")),
    "deep-sea": ("The deep sea, here with depth 10", functools.partial(make_world, "deep-sea", depth=10)),
    "taxi": ("The taxi driver", functools.partial(make_world, "taxi")),
    "deep-gridworld": ("The deep gridworld", functools.partial(make_world, "deep-gridworld")),
    "toy": ("The toy gridworld", functools.partial(make_world, "toy")),
    "prison": ("The prison gridworld", functools.partial(make_world, "prison")),
    "wall": ("The wall gridworld", functools.partial(make_world, "wall")),
    "chain": ("The ergodic chain", functools.partial(make_world, "chain")),
}


def runs(selection: StudySelection) -> list[Run]:
    """Return an empty list: this experiment has no runs."""
    selection.select_worlds(WORLDS)
    return []


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return a table of the worlds, a picture of each, and the claims."""
    title = "The environments"
    heads = [
        "world",
        "reachable states",
        "actions",
        "steps of the optimal policy",
        "short horizon",
        "long horizon",
        "steps",
    ]
    rows = [_row(make_world(name)) for name in WORLDS]
    figures: dict[str, Callable[[], Figure]] = {
        name: functools.partial(_draw, build, caption) for name, (caption, build) in _PICTURES.items()
    }
    figures["uniform-count-chain"] = draw_uniform_count_chain
    return Report(
        renderables=[as_rich_table(title, heads, rows, note, text_columns=1)],
        files={"table.md": as_markdown_table(title, heads, rows, "", note), "table.csv": as_csv(heads, rows)},
        figures=figures,
        claims=check_claims(),
    )


def _row(world: World) -> list[str]:
    defaults, steps = world.defaults, optimal_steps(world)
    return [
        world.name,
        f"{int(reachable_states(world.mdp).sum()):,}",
        str(world.n_actions),
        "–" if steps is None else str(steps),
        f"{defaults.horizon:,}",
        "–" if defaults.long_horizon is None else f"{defaults.long_horizon:,}",
        f"{defaults.budget:,}",
    ]


@styled
def _draw(build: Callable[[], World], title: str) -> Figure:
    return build().draw(title=title)


@styled
def draw_uniform_count_chain() -> Figure:
    """Draw the states of Figure 5 with the transitions of its two episodes."""
    world, executed = uniform_count_chain()
    title = "The chain with uniform counts\nepisodes A, D, E (blue) and A, C, D, D, C, B, B, B (red)"
    return draw_graph(world, title=title, names=STATES, colors=executed, only_colored=True)


STUDY = Study(
    id="environments",
    reference="Figures 1, 2, 5, 7, 9, 11, 13–15, 24, Table 2",
    description="pictures of the environments, and the statements about them",
    runs=runs,
    report=report,
    quick_changes="nothing: it takes seconds",
)
