"""One line per run: its fields by name and its measurements, without the arrays.

The lines of packed runs are stored in their pack, so that tables of thousands of runs need not read every result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wanderlust.core.files import finite

if TYPE_CHECKING:
    from wanderlust.experiments.store import StoredRun

Line = dict[str, Any]
MEASURES = (
    "success",
    "discovery",
    "final_return",
    "optimal_return",
    "states_discovered",
    "states_reachable",
    "steps_to_learn",
    "first_reward",
)
"""The measurements in a line; None where a run does not have one."""
_EXECUTION = ("seconds", "finished", "wanderlust", "numpy", "numba", "machine")
_ALWAYS: Line = {"kind": "world", "world": "", "explorer": "", "seed": 0}
"""Fields that every row has, with their defaults."""
_SOMETIMES = ("preset", "until", "measure", "episodes", "env_version")


def summarise(stored: StoredRun) -> Line:
    """Return the line of a stored run: its key, its description, and its measurements."""
    from wanderlust.experiments.result import step_learnt

    run, result, metadata = stored
    measured = {
        "success": result.success,
        "discovery": result.discovery,
        "final_return": float(result.returns[-1]) if len(result.returns) else math.nan,
        "optimal_return": float(result.optimal_return),
        "states_discovered": result.n_discovered,
        "states_reachable": int(result.reachable) or math.nan,
        "steps_to_learn": step_learnt(result.percent_curves) if run.kind == "world" else math.nan,
        "first_reward": _first_reward(result.rewards),
    }
    return {
        "key": metadata["key"],
        "run": run.description,
        **{name: finite(value) for name, value in measured.items()},
        **{name: metadata.get(name) for name in _EXECUTION},
    }


def columns(line: Line) -> Line:
    """Return a line as flat columns: every option and setting has a column of its own name."""
    return {"key": line["key"], **fields_of(line["run"]), **{name: line.get(name) for name in (*MEASURES, *_EXECUTION)}}


def fields_of(description: Mapping[str, Any]) -> Line:
    """Return the fields of a run, given as `Run.description`, with every option and setting under its own name.

    The replay memory is the column `memory`. An option that has the name of another column gets the prefix `option_`.
    """
    flat: Line = {name: description.get(name, default) for name, default in _ALWAYS.items()}
    flat |= {name: description[name] for name in _SOMETIMES if name in description}
    taken = {*_ALWAYS, *_SOMETIMES, *MEASURES, *_EXECUTION, "key", "memory"}
    for table in ("settings", "explorer_options", "world_options", "encoder_options"):
        options = description.get(table, {})
        for name, value in options.items() if isinstance(options, Mapping) else ():
            if table == "settings" and name == "replay":
                flat["memory"] = value
            else:
                flat[f"option_{name}" if name in taken else name] = value
                taken.add(name)
    return flat


def _first_reward(rewards: Any) -> float:
    """Return the step of the first positive reward of a run in an environment; NaN if there was none."""
    return float(min(rewards[rewards[:, 0] > 0, 2], default=math.nan)) if rewards.ndim == 2 else math.nan
