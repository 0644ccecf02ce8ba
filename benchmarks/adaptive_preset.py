"""The presets `adaptive` and `as_written` in environments that had no part in making the rules of `adaptive`.

    python benchmarks/adaptive_preset.py                      # all explorers: about 25 minutes on one free core
    python benchmarks/adaptive_preset.py --set development    # the environments on which the rules were made
    python benchmarks/adaptive_preset.py --explorers vv-ucb ucb1 --jobs 2 --markdown docs/adaptive-results.md

Every run is stored in --out, so an interrupted command continues where it was. "Solved" is the first evaluation at
which the greedy policy has 95 % of the way from the random to the optimal policy, by the exact expected discounted
return; in deterministic environments all of it. In MiniGrid it is a shortest path to the goal. Results are steps and
values, so they are the same on any machine. MiniGrid needs the package minigrid.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from adaptive_tasks import EVALUATIONS, MAX_LOSS, SEEDS, SETS, Summary, Task, ratio, ratio_text

from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store

EXPLORERS = (
    "vv-ucb", "vv-count", "ucb1", "bonus", "epsilon-greedy", "bootstrapped", "random-prior", "thompson", "random",
)  # fmt: skip
ENSEMBLES = ("bootstrapped", "random-prior", "thompson")
ENSEMBLE_SEEDS = 5
"""Ensembles have fewer seeds, since their runs take many times as long."""
WITH_ADAPTED_QUANTITY = ("vv-ucb", "vv-count", "ucb1", "bonus")
WRITTEN, ADAPTIVE, CONTROL = "as_written", "adaptive", "control"
"""The control is `as_written` with other seeds: how much two groups of seeds differ by chance."""
EXPLORER = "vv-ucb"
"""The explorer with which each rule of `adaptive` is measured alone, and options that are not part of it."""
SCHEDULES, PENALTY, SWEEPS = "schedules of κ and γ_w", "remove_time_penalty", "sweeps=50"
RULES = (SCHEDULES, PENALTY, SWEEPS)
Cell = TypeVar("Cell", bound=tuple[str, ...])


def seeds_of(explorer: str) -> int:
    """Return the number of seeds of an explorer."""
    return ENSEMBLE_SEEDS if explorer in ENSEMBLES else SEEDS


def has_adapted_quantity(task: Task, explorer: str) -> bool:
    """Return whether the presets can differ: the explorer has κ, γ_w or a bonus, or rewards have a time penalty."""
    return task.is_minigrid or explorer in WITH_ADAPTED_QUANTITY


def group_runs(task: Task, explorer: str, group: str, changes: Mapping[str, Any]) -> list[Run]:
    """Return the runs of a preset or of the control."""
    n_seeds = seeds_of(explorer)
    first = n_seeds if group == CONTROL else 0
    preset = group if group == ADAPTIVE and has_adapted_quantity(task, explorer) else WRITTEN
    return [
        task.run(explorer, preset, seed, changes if group == ADAPTIVE else {}) for seed in range(first, first + n_seeds)
    ]


def rule_runs(task: Task, rule: str) -> list[Run]:
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


def measure(
    tasks: Mapping[str, Task],
    explorers: Sequence[str],
    groups: Iterable[str],
    store: Store,
    jobs: int,
    changes: Mapping[str, Any],
) -> dict[tuple[str, str, str], Summary]:
    """Execute what is not stored, unless `jobs` is 0; return the summary of every (environment, explorer, group)."""
    cells = [
        (name, explorer, group)
        for name in tasks
        for explorer in explorers
        for group in groups
        if group != CONTROL or explorer in WITH_ADAPTED_QUANTITY
    ]
    return execute({cell: group_runs(tasks[cell[0]], *cell[1:], changes) for cell in cells}, tasks, store, jobs)


def measure_rules(tasks: Mapping[str, Task], store: Store, jobs: int) -> dict[tuple[str, str], Summary]:
    """Execute what is not stored, unless `jobs` is 0; return the summary of every (environment, rule)."""
    return execute({(name, rule): rule_runs(task, rule) for name, task in tasks.items() for rule in RULES},
                   tasks, store, jobs)  # fmt: skip


def execute(runs: Mapping[Cell, list[Run]], tasks: Mapping[str, Task], store: Store, jobs: int) -> dict[Cell, Summary]:
    """Execute the runs of cells, which begin with an environment; return their summaries."""
    if jobs:
        every = [run for group in runs.values() for run in group]
        for failure in run_all(every, store, jobs=jobs, progress=Progress()).failures:
            print(f"failed: {failure}\n{failure.trace}", file=sys.stderr)
    return {
        cell: tasks[cell[0]].summary(stored.result for stored in store.load_many(group, []))
        for cell, group in runs.items()
    }


def explorer_table(tasks: Mapping[str, Task], explorer: str, summaries: Mapping[Any, Summary]) -> list[str]:
    """Return the table of one explorer: both presets in every environment."""
    lines = [f"| environment | steps | {WRITTEN} | {ADAPTIVE} | ratio | final, {WRITTEN} | final, {ADAPTIVE} |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name, task in tasks.items():
        if not has_adapted_quantity(task, explorer):
            continue
        written, ours = summaries[name, explorer, WRITTEN], summaries[name, explorer, ADAPTIVE]
        finals = " | ".join(f"{np.mean(each.final):.3f}" for each in (written, ours))
        cells = f"{written.cell} | {ours.cell} | {ratio_text(ratio(ours, written))} | {finals}"
        lines.append(f"| {task.title} | {task.steps:,} | {cells} |")
    return lines


def counts_table(tasks: Mapping[str, Task], explorers: Sequence[str], summaries: Mapping[Any, Summary]) -> list[str]:
    """Return the table of gains and losses of each explorer, with the control beside them if it was measured."""
    groups = [ADAPTIVE, *([CONTROL] if any(group == CONTROL for _, _, group in summaries) else [])]
    control = " control: sooner | later | largest ratio |" if CONTROL in groups else ""
    lines = [f"| explorer | environments | sooner | later | largest ratio |{control}"]
    lines.append("|---|---|---|---|---|" + "---|" * 3 * (len(groups) - 1))
    for explorer in explorers:
        cells = []
        names = [name for name, task in tasks.items() if has_adapted_quantity(task, explorer)]
        if not names:
            continue
        for group in groups:
            if (names[0], explorer, group) not in summaries:
                cells += ["", "", ""]
                continue
            ratios = [ratio(summaries[n, explorer, group], summaries[n, explorer, WRITTEN]) for n in names]
            known = [value for value in ratios if not np.isnan(value)]
            sooner = sum(value < 1 / MAX_LOSS for value in known)
            later = sum(value > MAX_LOSS for value in known)
            cells += [str(sooner), str(later), ratio_text(max(known, default=np.nan))]
        lines.append(f"| {explorer} | {len(names)} | {' | '.join(cells)} |")
    return lines


def all_explorers_table(
    tasks: Mapping[str, Task], explorers: Sequence[str], summaries: Mapping[Any, Summary], group: str
) -> list[str]:
    """Return the table of the median steps to solve of all explorers under one preset; the smallest is bold."""
    lines = [f"| environment | {' | '.join(explorers)} |", f"|---{'|---' * len(explorers)}|"]
    for name, task in tasks.items():
        row = [summaries[name, explorer, group] for explorer in explorers]
        best = min(each.median for each in row)
        cells = [f"**{each.cell}**" if each.median == best < np.inf else each.cell for each in row]
        lines.append(f"| {task.title} | {' | '.join(cells)} |")
    return lines


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


INTRODUCTION = f"""\
# Measurements of the preset `adaptive`

Generated by `python benchmarks/adaptive_preset.py --markdown docs/adaptive-results.md`. The environments of this page
had no part in making the rules of [`adaptive`](settings.md). Their definitions are in
`benchmarks/adaptive_environments.py`. In four environments of earlier sets, lakes of 6x9 and 5x5 cells, a random MDP of
100 states and RiverSwim with 12 states, earlier rules lost, since they reduced exploration too early. The rules were
changed, the four joined the development set, and others replaced them. A random MDP of 200 states that no explorer
solved was replaced by one with dense rewards. After the last change all runs of `{ADAPTIVE}` were repeated. For most of
the budget both presets are the same run, so that most ratios are 1.

{SEEDS} seeds; {ENSEMBLE_SEEDS} for the ensembles ({", ".join(ENSEMBLES)}), whose runs take longer. A cell is the median
number of steps until the greedy policy solves the environment, evaluated {EVALUATIONS} times per run, and in brackets
the percentage of seeds that solved it, if not all did. A dash: at most half of the seeds solved it. Solved: the greedy
policy has 95 % of the way from the random policy to the optimal one, by its exact expected discounted return; in
deterministic environments 100 %; in MiniGrid, whose rewards have a [time penalty](settings.md), a shortest path. Final:
the mean over seeds of that score at the last step. Ratio: `{ADAPTIVE}` divided by `{WRITTEN}`; above {MAX_LOSS} it is
bold. 0: only `{ADAPTIVE}` solved it, ∞: only `{WRITTEN}`.

## Gains and losses

Number of environments in which the median is smaller than that of `{WRITTEN}` by more than a factor of {MAX_LOSS}, or
larger. The explorers without κ, γ_w or a bonus differ between the presets only where there is a time penalty.
"""
CONTROL_SENTENCE = (
    f"The control is `{WRITTEN}` with {SEEDS} other seeds: how much two groups of seeds differ by chance.\n"
)


def as_markdown(
    tasks: Mapping[str, Task],
    explorers: Sequence[str],
    summaries: Mapping[Any, Summary],
    unfinished: Sequence[str],
    rules: Mapping[Any, Summary],
) -> str:
    """Return the whole page."""
    lines = [INTRODUCTION]
    if any(group == CONTROL for _, _, group in summaries):
        lines.append(CONTROL_SENTENCE)
    if unfinished:
        lines += [f"Not measured yet: {', '.join(unfinished)}.", ""]
    lines += [*counts_table(tasks, explorers, summaries), ""]
    for group in (WRITTEN, ADAPTIVE):
        lines += [f"## All explorers, `{group}`", "", *all_explorers_table(tasks, explorers, summaries, group), ""]
    if EXPLORER in explorers:
        written = {name: summaries[name, EXPLORER, WRITTEN] for name in tasks}
        lines += [*rules_table(tasks, written, rules), ""]
    for explorer in (each for each in explorers if any(has_adapted_quantity(task, each) for task in tasks.values())):
        lines += [f"## {explorer}", "", *explorer_table(tasks, explorer, summaries), ""]
    return "\n".join(lines)


def main() -> None:
    """Execute the runs and print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=list(SETS), default="held-out", help="which environments")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some of the environments, by their short names")
    parser.add_argument("--explorers", nargs="+", default=EXPLORERS, metavar="NAME")
    parser.add_argument("--change", nargs="+", default=[], metavar="NAME=VALUE", help="settings of the adaptive runs")
    parser.add_argument("--without-control", action="store_true", help="do not run other seeds of as_written")
    parser.add_argument("--stored", action="store_true", help="execute nothing; leave out unfinished environments")
    parser.add_argument("--jobs", type=int, default=1, help="parallel runs")
    parser.add_argument("--out", type=Path, default=Path("results/adaptive"), help="folder of the runs")
    parser.add_argument("--markdown", type=Path, help="also write the page to this file")
    arguments = parser.parse_args()
    from wanderlust.cli.options import read_options

    tasks = SETS[arguments.set]
    tasks = {name: tasks[name] for name in arguments.only or tasks}
    groups = (WRITTEN, ADAPTIVE) if arguments.without_control else (WRITTEN, ADAPTIVE, CONTROL)
    changes = read_options(arguments.change)
    store, jobs = Store(arguments.out), 0 if arguments.stored else arguments.jobs
    summaries = measure(tasks, arguments.explorers, groups, store, jobs, changes)
    unfinished = {cell[0] for cell, summary in summaries.items() if len(summary.final) < seeds_of(cell[1])}
    tasks = {name: task for name, task in tasks.items() if name not in unfinished}
    rules = measure_rules(tasks, store, jobs) if EXPLORER in arguments.explorers else {}
    page = as_markdown(tasks, arguments.explorers, summaries, sorted(unfinished), rules)
    print(page)
    if arguments.markdown is not None:
        arguments.markdown.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
