"""Each rule of the preset `adaptive` alone, and the options that are not part of it, with vv-ucb.

Each is added to the preset `as_written`. Runs train on the model of the environment, if it has one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptive_tasks import MAX_LOSS, SEEDS, Summary, Task, ratio, ratio_text

from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store

EXPLORER = "vv-ucb"
SCHEDULES, PENALTY, SWEEPS = "schedules of κ and γ_w", "remove_time_penalty", "sweeps=50"
RULES = (SCHEDULES, PENALTY, SWEEPS)
WRITTEN, ADAPTIVE = "as_written", "adaptive"


def runs_of(task: Task, rule: str) -> list[Run]:
    """Return the runs of a rule in an environment."""
    preset, changes = WRITTEN, dict[str, Any]()
    if rule == SCHEDULES:
        preset = ADAPTIVE
        changes = {"remove_time_penalty": False} if task.is_minigrid else {}
    elif rule == PENALTY and task.is_minigrid:  # The rewards of a model have no time penalty.
        changes = {"remove_time_penalty": True}
    elif rule == SWEEPS:
        changes = {"sweeps": 50}
    return [task.run(EXPLORER, preset, seed, changes) for seed in range(SEEDS)]


def measure_rules(tasks: Mapping[str, Task], store: Store, out: Path, jobs: int) -> dict[tuple[str, str], Summary]:
    """Execute what is not stored, unless `jobs` is 0; return the summary of every (environment, rule)."""
    runs = {(name, rule): runs_of(task, rule) for name, task in tasks.items() for rule in RULES}
    if jobs:
        outcome = run_all(
            [run for group in runs.values() for run in group], store, jobs=jobs, progress=Progress()
        )
        for failure in outcome.failures:
            print(f"failed: {failure}\n{failure.trace}", file=sys.stderr)
    return {
        cell: tasks[cell[0]].summary(each.result for each in store.load_many(group, []))
        for cell, group in runs.items()
    }


def rules_table(tasks: Mapping[str, Task], written: Mapping[str, Summary], rules: Mapping[Any, Summary]) -> list[str]:
    """Return the section with each rule alone; unfinished environments are left out."""
    finished = {name: task for name, task in tasks.items() if all(len(rules[name, r].final) == SEEDS for r in RULES)}
    ratios = {(name, rule): ratio(rules[name, rule], written[name]) for name in finished for rule in RULES}
    lines = [f"## Each rule alone, {EXPLORER}", ""]
    lines += [
        f"Each column adds one rule or option to `{WRITTEN}`. The first two are part of `{ADAPTIVE}`, the last is",
        "an option that has to be given. A cell is the median number of steps, and the ratio to",
        f"`{WRITTEN}`; above {MAX_LOSS} it is bold. `{SWEEPS}` stands for 50 sweeps per step instead of one.",
        "",
        f"| environment | {WRITTEN} | {' | '.join(RULES)} |",
        f"|---|---{'|---' * len(RULES)}|",
    ]
    for name, task in finished.items():
        cells = [f"{rules[name, rule].cell}: {ratio_text(ratios[name, rule])}" for rule in RULES]
        lines.append(f"| {task.title} | {written[name].cell} | {' | '.join(cells)} |")
    for word, counts in (
        ("sooner", lambda value: value < 1 / MAX_LOSS),
        ("later", lambda value: value > MAX_LOSS),
    ):
        cells = [str(sum(counts(ratios[name, rule]) for name in finished)) for rule in RULES]
        lines.append(f"| **{word} by more than a factor of {MAX_LOSS}** | | {' | '.join(cells)} |")
    return lines
