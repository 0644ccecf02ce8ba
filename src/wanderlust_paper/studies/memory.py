"""Appendix A.5, Figure 28: learning with infinite, finite and no replay memory."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from wanderlust import Run
from wanderlust.experiments.report.style import Style, explorer_styles
from wanderlust.experiments.table import Group
from wanderlust_paper.claims import Check, Claim, Groups, about, check_claim, never, similar
from wanderlust_paper.registry import VV_EXPLORERS, Study, StudySelection
from wanderlust_paper.reports.seed_groups import group_report, learnt, median_step
from wanderlust_paper.summary_file import reduced

WORLDS = ("toy", "prison")
MEMORIES = {
    "vv-ucb": ("full", "none"),
    "vv-count": ("full", "none"),
    "epsilon-greedy": ("full", "none"),
    "random-prior": ("full", "window"),
}
_MEMORY_NAMES = {"full": "infinite memory", "none": "no memory", "window": "finite memory"}
BUDGET = 2500
SEEDS = 20
_PAPER_SPEEDUPS = {("toy", "vv-ucb"): 4, ("toy", "vv-count"): 4, ("prison", "vv-ucb"): 4, ("prison", "vv-count"): 8}
"""The paper's speed-up of learning by infinite memory."""
_PLACE = "A.5"


def runs(selection: StudySelection) -> list[Run]:
    """Return world x explorer x memory x seed."""
    return [
        Run(
            world=world, explorer=explorer, preset=selection.preset, seed=seed,
            settings={"budget": BUDGET, "replay": memory},
        )
        for world in selection.select_worlds(WORLDS)
        for explorer in selection.select_explorers(MEMORIES)
        for memory in MEMORIES[explorer]
        for seed in selection.select_seeds(SEEDS, 5)
    ]


def _line(explorer: str, memory: str) -> str:
    return f"{explorer}, {_MEMORY_NAMES[memory]}"


def _styles() -> dict[str, Style]:
    """Return the style of each explorer, solid with infinite memory, dashed otherwise."""
    styles = explorer_styles(MEMORIES)
    return {
        _line(explorer, memory): styles[explorer]._replace(dash="-" if memory == "full" else "--")
        for explorer, memories in MEMORIES.items()
        for memory in memories
    }


def _speedup(world: str, explorer: str, groups: Groups) -> Iterator[Claim]:
    paper = _PAPER_SPEEDUPS[world, explorer]
    without, with_memory = (median_step(groups[world, explorer, memory]) for memory in ("none", "full"))
    text = f"{world}: {explorer} learns about {paper} times faster with memory"
    ratio = without / with_memory
    found = f"median steps until learnt: {without:.0f} without, {with_memory:.0f} with: {ratio:.1f} times"
    yield about(_PLACE, text, ratio, float(paper), found)


def _without_memory(groups: Groups) -> Iterator[Claim]:
    n, total = learnt(group for (_, name, _), group in groups.items() if name in VV_EXPLORERS)
    if total:
        text, found = "vv always learns, regardless of the memory", f"{n} of {total} runs, with and without memory"
        yield never(_PLACE, text, total - n, total, paper_runs=8 * SEEDS, found=found)


def _prison(groups: Groups) -> Iterator[Claim]:
    others = [group for (world, name, _), group in groups.items() if world == "prison" and name not in VV_EXPLORERS]
    n, total = learnt(others)
    if total:
        text = "prison: the other explorers cannot learn where there are distractors, with or without memory"
        yield never(_PLACE, text, n, total, paper_runs=4 * SEEDS, found=f"{n} of {total} runs learnt")


def _epsilon_greedy(groups: Groups) -> Iterator[Claim]:
    toy = {(name, memory): group for (world, name, memory), group in groups.items() if world == "toy"}
    n, runs = learnt(group for (name, _), group in toy.items() if name == "epsilon-greedy")
    others, other_runs = learnt(group for (name, _), group in toy.items() if name != "epsilon-greedy")
    if runs and other_runs:
        yield check_claim(
            _PLACE,
            "toy: all algorithms perform well except ε-greedy, which misses the reward in some trials",
            f"ε-greedy misses it in {runs - n} of {runs} runs, the others in {other_runs - others} of {other_runs}",
            tolerance="ε-greedy in some runs, the others in none; ε-greedy more often",
            holds=n < runs and others == other_runs,
            partly=n / runs < others / other_runs,
        )


def _means(group: Group) -> list[float]:
    """Return discovery and success, averaged over the whole run and all seeds."""
    return [group.percent(name).mean for name in ("mean_discovery", "mean_success")]


def _bootstrap(world: str, groups: Groups) -> Iterator[Claim]:
    full, window = (_means(groups[world, "random-prior", memory]) for memory in ("full", "window"))
    differences = [a - b for a, b in zip(full, window, strict=True)]
    yield similar(
        _PLACE,
        f"{world}: the performance of the bootstrap does not change substantially with the memory",
        differences,
        f"infinite minus finite memory, means over the run: discovery {differences[0]:+.1f}, return "
        f"{differences[1]:+.1f} points",
    )


def _benefit(groups: Groups) -> Iterator[Claim]:
    """Check that vv benefits the most from memory, by the gain in return over the whole run."""
    gains = {
        name: [_means(groups[world, name, full])[1] - _means(groups[world, name, other])[1] for world in WORLDS]
        for name, (full, other) in MEMORIES.items()
    }
    text = "; ".join(f"{name} {', '.join(f'{gain:+.1f}' for gain in each)}" for name, each in gains.items())
    others = [name for name in gains if name not in VV_EXPLORERS]
    more = [
        min(gains[name][i] for name in VV_EXPLORERS) > max(gains[name][i] for name in others)
        for i in range(len(WORLDS))
    ]
    yield check_claim(
        _PLACE,
        "vv benefits the most from the replay memory",
        f"gain in return over the whole run, in points, toy and prison: {text}",
        tolerance="both vv gain more than the others in both worlds; in one",
        holds=all(more),
        partly=any(more),
    )


CHECKS: tuple[Check, ...] = (
    *(functools.partial(_speedup, *label) for label in _PAPER_SPEEDUPS),
    _without_memory,
    _prison,
    _epsilon_greedy,
    *(functools.partial(_bootstrap, world) for world in WORLDS),
    _benefit,
)
STUDY = Study(
    id="memory",
    reference="Appendix A.5, Figure 28",
    description="infinite replay memory compared with none, or a finite one, in `toy` and `prison`",
    runs=runs,
    report=group_report(
        "Infinite, finite and no replay memory",
        ("world", "explorer", "memory"),
        lambda run: (run.world, run.explorer, run.settings["replay"]),
        checks=CHECKS,
        line=lambda label: _line(label[1], label[2]),
        styles=_styles,
    ),
    quick_changes="5 seeds instead of 20",
    summarise=lambda run, result: reduced(result, keep=("visits",)),
)
