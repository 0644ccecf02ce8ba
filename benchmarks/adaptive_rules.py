"""Each rule of the preset `adaptive` alone, and the options that are not part of it, with vv-ucb.

Each is added to the preset `as_written`. `defer_idle_actions` works in `learn` only, so its runs take the steps of the
environment; all others train on its model, if it has one. The greedy policy is evaluated exactly in both cases.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from adaptive_tasks import DISCOUNT, EVALUATIONS, MAX_LOSS, SEEDS, Summary, Task, ratio, ratio_text

import wanderlust as wl
from wanderlust.core.planning import policy_value, uniform_over_ties
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store
from wanderlust.training.loop import TrainingLoop

EXPLORER = "vv-ucb"
SCHEDULES, PENALTY, SWEEPS, IDLE = "schedules of κ and γ_w", "remove_time_penalty", "sweeps=50", "defer_idle_actions"
RULES = (SCHEDULES, PENALTY, SWEEPS, IDLE)
WRITTEN, ADAPTIVE = "as_written", "adaptive"


class StepCurve(NamedTuple):
    """The results of a run by steps."""

    steps: Any
    returns: Any


def runs_of(task: Task, rule: str) -> list[Run] | None:
    """Return the runs of a rule in an environment; None if it needs the steps of an environment with a model."""
    preset, changes = WRITTEN, dict[str, Any]()
    if rule == SCHEDULES:
        preset = ADAPTIVE
        changes = {"remove_time_penalty": False} if task.is_minigrid else {}
    elif rule == PENALTY and task.is_minigrid:  # The rewards of a model have no time penalty.
        changes = {"remove_time_penalty": True}
    elif rule == SWEEPS:
        changes = {"sweeps": 50}
    elif rule == IDLE:
        if not task.is_minigrid:
            return None
        changes = {"defer_idle_actions": True}
    return [task.run(EXPLORER, preset, seed, changes) for seed in range(SEEDS)]


class ExactReturns(wl.Callback):
    """Computes the value of the greedy policy from the model of the environment."""

    def __init__(self, task: Task, env: Any) -> None:
        self.every, self.mdp = task.steps // EVALUATIONS, wl.world_from_gym(env).mdp
        self.returns: list[float] = []

    def on_step(self, loop: TrainingLoop) -> None:
        """Evaluate the policy at intervals."""
        if loop.step % self.every:
            return
        q, table = np.zeros((self.mdp.n_states, self.mdp.n_actions)), loop.agent.tables["target"]
        q[: len(table)] = table[: len(q)]
        self.returns.append(float(self.mdp.start @ policy_value(self.mdp, uniform_over_ties(q), DISCOUNT)))


def run_by_steps(task: Task, seed: int, file: Path) -> None:
    """Train with deferred idle actions, and store the returns."""
    env = task.env()
    exact = ExactReturns(task, env)
    wl.learn(
        env,
        EXPLORER,
        steps=task.steps,
        seed=seed,
        preset=WRITTEN,
        reward_range=exact.mdp.reward_range,
        defer_idle_actions=True,
        callbacks=[exact],
        quiet=True,
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(exact.returns), encoding="utf-8")


def measure_rules(tasks: Mapping[str, Task], store: Store, out: Path, jobs: int) -> dict[tuple[str, str], Summary]:
    """Execute what is not stored, unless `jobs` is 0; return the summary of every (environment, rule)."""
    runs = {(name, rule): runs_of(task, rule) for name, task in tasks.items() for rule in RULES}
    files = {
        cell: [out / "steps" / f"{cell[0]}-{seed}.json" for seed in range(SEEDS)]
        for cell, group in runs.items()
        if group is None
    }
    if jobs:
        outcome = run_all(
            [run for group in runs.values() for run in group or []], store, jobs=jobs, progress=Progress()
        )
        for failure in outcome.failures:
            print(f"failed: {failure}\n{failure.trace}", file=sys.stderr)
        with ProcessPoolExecutor(jobs) as pool:
            missing = [(c, n, f) for c, group in files.items() for n, f in enumerate(group) if not f.exists()]
            for future in [pool.submit(run_by_steps, tasks[cell[0]], seed, file) for cell, seed, file in missing]:
                future.result()
    summaries = {}
    for cell, group in runs.items():
        task = tasks[cell[0]]
        if group is None:
            steps = task.steps // EVALUATIONS * np.arange(1, EVALUATIONS + 1)
            stored = [file for file in files[cell] if file.exists()]
            summaries[cell] = task.summary(StepCurve(steps, np.array(json.loads(file.read_text()))) for file in stored)
        else:
            summaries[cell] = task.summary(each.result for each in store.load_many(group, []))
    return summaries


def rules_table(tasks: Mapping[str, Task], written: Mapping[str, Summary], rules: Mapping[Any, Summary]) -> list[str]:
    """Return the section with each rule alone; unfinished environments are left out."""
    finished = {name: task for name, task in tasks.items() if all(len(rules[name, r].final) == SEEDS for r in RULES)}
    ratios = {(name, rule): ratio(rules[name, rule], written[name]) for name in finished for rule in RULES}
    lines = [f"## Each rule alone, {EXPLORER}", ""]
    lines += [
        f"Each column adds one rule or option to `{WRITTEN}`. The first two are part of `{ADAPTIVE}`, the others are",
        "options that have to be given. A cell is the median number of steps, and the ratio to",
        f"`{WRITTEN}`; above {MAX_LOSS} it is bold. `{SWEEPS}` stands for 50 sweeps per step instead of one.",
        f"`{IDLE}` takes the steps of the environment, with other random numbers, so its ratios vary by chance.",
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
