"""Hardness measures in tables and reports: exact from a model, or estimated from the transitions of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.core.errors import WanderlustError
from wanderlust.core.estimated_mdp import estimated_mdp
from wanderlust.core.files import finite_values
from wanderlust.core.hardness import Hardness, hardness, short_number
from wanderlust.experiments.episode_recorder import MAX_OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from wanderlust.cli.runs import Results
    from wanderlust.environments.tabular import Tabular
    from wanderlust.experiments.result import Result
    from wanderlust.worlds import World


def hardness_table(*, exam: bool = False) -> Table:
    """Return the measures of every built-in world, one row each; with `exam`, of the held-out worlds of the exam."""
    from rich.table import Table

    from wanderlust.worlds import make_world, world_names

    table = Table()
    for heading in (
        "world",
        "states",
        "horizon",
        "random walks per visit of the rarest state",
        "random return / optimal (%)",
        "smallest action gap",
        "value norm",
        "steps to the farthest state",
        "diameter",
    ):
        table.add_column(heading, justify="left" if heading == "world" else "right", no_wrap=heading == "world")
    for name, world in _exam_worlds() if exam else ((name, make_world(name)) for name in world_names()):
        table.add_row(name, *_cells(world.hardness()))
    return table


def _exam_worlds() -> Iterator[tuple[str, World]]:
    from wanderlust.worlds.exam.suite import FAMILIES, LEVELS, exam_world

    for family in FAMILIES:
        for level in LEVELS:
            yield f"{family} {level}", exam_world(family, level=level, held_out=True)


def _cells(found: Hardness) -> list[str]:
    share = found.random_share
    return [
        f"{found.n_states:,}",
        f"{found.horizon:,}",
        short_number(found.rarest_visit),
        "–" if math.isnan(share) else f"{100 * share:.3g}",
        f"{found.action_gap:.3g}",
        f"{found.value_norm:.3g}",
        "–" if found.farthest is None else short_number(found.farthest),
        "–" if found.diameter is None else short_number(found.diameter),
    ]


@dataclass(frozen=True)
class FoundHardness:
    """The measures of an environment, and where they come from."""

    hardness: Hardness | None
    source: str
    """'model', 'data' or, without any measures, 'none'."""
    explanation: str

    @property
    def sentences(self) -> list[str]:
        """The section of a report."""
        return [self.explanation, *(repr(self.hardness).splitlines() if self.hardness is not None else [])]

    @property
    def json_values(self) -> dict[str, Any]:
        """The measures as JSON values; infinity is null, and the steps to reach each state are left out."""
        found = {"source": self.source, "explanation": self.explanation}
        if self.hardness is None:
            return found
        names = [each.name for each in fields(self.hardness) if each.name != "steps_to_reach"]
        values = {name: getattr(self.hardness, name) for name in (*names, "farthest", "random_share")}
        return found | finite_values(values)


def model_hardness(env: Tabular) -> FoundHardness | None:
    """Return the measures of an environment with a known model, otherwise None."""
    from wanderlust.environments.model import world_from_gym

    try:
        found = world_from_gym(env.env).hardness(horizon=env.horizon)
    except WanderlustError:
        return None
    return FoundHardness(found, "model", "Computed from the environment's model:")


def estimated_hardness(results: Results, *, n_actions: int, horizon: int | None) -> FoundHardness:
    """Return the measures estimated from the run that visited the most states.

    Without a time limit, the random walk is as long as the longest episode of that run. One run only: two runs can
    number the same states in different ways.
    """
    found = [(explorer, result) for explorer, each in results.items() for result in each]
    runs = [(explorer, result) for explorer, result in found if _has_outcomes(result, n_actions)]
    if not runs:
        reason = f"the runs had more than {MAX_OUTCOMES:,} distinct outcomes, or were stored by an older version."
        return FoundHardness(None, "none", f"The environment has no known model, and none was estimated: {reason}")
    explorer, widest = max(runs, key=lambda run: run[1].n_discovered)
    mdp = estimated_mdp(widest.outcomes, widest.starts, n_actions)
    if mdp is None:
        return FoundHardness(None, "none", "The environment has no known model, and an estimated one is too large.")
    lengths = widest.episodes[:, 1] if len(widest.episodes) else widest.outcomes[:, 3].sum(keepdims=True)
    pairs = len(np.unique(widest.outcomes[:, :2], axis=0))
    text = (
        f"Estimated, because the environment has no known model: from the transitions of a run of {explorer}, which "
        f"took {pairs:,} of {mdp.n_states * n_actions:,} state-action pairs. Other actions count as staying in place:"
    )
    return FoundHardness(hardness(mdp, horizon=int(lengths.max()) if horizon is None else horizon), "data", text)


def _has_outcomes(result: Result, n_actions: int) -> bool:
    """Return whether a result, which may come from a file of others, has outcomes from which an MDP can be made."""
    outcomes, starts = result.outcomes, result.starts
    if [outcomes.ndim, starts.ndim] != [2, 2] or [outcomes.shape[1], starts.shape[1]] != [5, 2]:
        return False
    if not len(outcomes) or not len(starts) or not (np.isfinite(outcomes).all() and np.isfinite(starts).all()):
        return False
    actions, counts = outcomes[:, 1], np.concatenate([outcomes[:, 3], starts[:, 1]])
    states = np.concatenate([outcomes[:, 0], starts[:, 0]])
    is_valid = states.min() >= 0 and actions.min() >= 0 and actions.max() < n_actions and counts.min() >= 1
    return bool(is_valid and outcomes[:, 2].min() >= -1)
