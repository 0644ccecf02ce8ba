"""What the command `explain` does: an agent's reasons in one state, as a table and a sentence, or as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from wanderlust.agents import file
from wanderlust.agents.agent import Agent
from wanderlust.agents.explanation import Explanation
from wanderlust.core.errors import InvalidObservation
from wanderlust.envs.state_keys import StateKeys
from wanderlust.explorers.registry import explorer_class
from wanderlust.training.checkpoints import environment_in, keys_in

_WIDTH = 100


def explain(path: Path, state: int, *, explorer: str | None, as_json: bool) -> None:
    """Print what a saved agent would do in a state, and why."""
    given = None if explorer is None else explorer_class(explorer)
    agent, about, arrays = file.load_all(Agent, path, given)
    keys = keys_in(arrays)
    _check_state(agent, state, keys, path)
    reasons = agent.explain(state)
    key = keys.key_of(state) if keys is not None else None
    if as_json:
        print(json.dumps(_as_plain(agent, reasons, environment_in(about), key), indent=1, allow_nan=False))
    else:
        _print(agent, reasons, environment_in(about), key)


def _check_state(agent: Agent, state: int, keys: StateKeys | None, path: Path) -> None:
    n_states = len(keys) if keys is not None else agent.n_states
    if state < 0 or (n_states is not None and state >= n_states):
        last = f"from 0 to {n_states - 1:,}" if n_states else "0 or more"
        raise InvalidObservation(f"{path}: there is no state {state}; states are numbered {last}.")


def _sentence(reasons: Explanation) -> str:
    """Return why the action would be taken."""
    chosen, visits = reasons.actions[reasons.chosen], sum(each.count for each in reasons.actions)
    if visits == 0:
        return f"No action was ever tried here, so nothing is known: action {chosen.action} is as good as any."
    why = {
        "exploit": "it has the best Q, and exploring speaks for no other more",
        "explore": f"exploring it is worth {chosen.bonus:.4g}, which outweighs its smaller Q",
        "tie": "it is one of several that are equally good, drawn at random",
        "chance": "it was drawn at random, whatever the scores say",
    }[reasons.reason]
    return f"Action {chosen.action}, because {why}."


def _print(agent: Agent, reasons: Explanation, environment: Mapping[str, Any] | None, key: Any) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH)
    where = "" if environment is None else f" in {environment['name']}"
    told = "" if key is None else f", which is told by {key!r}"
    console.print(f"{agent.explorer}{where}, after {agent.steps:,} steps", markup=False)
    console.print(f"state {reasons.state}{told}", markup=False)
    table = Table()
    for head in ("action", "visits", "Q", "W", "exploration", "score", "choice"):
        table.add_column(head, justify="right" if head != "choice" else "left")
    for each in reasons.actions:
        table.add_row(
            str(each.action),
            f"{each.count:,}",
            f"{each.q:.6g}",
            "–" if each.w is None else f"{each.w:.6g}",
            f"{each.bonus:.6g}",
            f"{each.score:.6g}",
            f"<- {reasons.reason}" if each.chosen else "",
        )
    console.print(table)
    console.print(_sentence(reasons), markup=False)


def _as_plain(agent: Agent, reasons: Explanation, environment: Mapping[str, Any] | None, key: Any) -> dict[str, Any]:
    found = {
        "environment": environment,
        "explorer": agent.explorer,
        "steps": agent.steps,
        "key": key.hex() if isinstance(key, bytes) else key,
        **dataclasses.asdict(reasons),
        "sentence": _sentence(reasons),
    }
    found["actions"] = [{name: _finite(value) for name, value in each.items()} for each in found["actions"]]
    return found


def _finite(value: Any) -> Any:
    """Return a number as JSON can have it, which knows no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
