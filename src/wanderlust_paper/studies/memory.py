"""Appendix A.5, Figure 28: learning with infinite, finite and no replay memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wanderlust import Run
from wanderlust.experiments.report.style import Style, explorer_styles
from wanderlust_paper.claims import Claim, about, check_claim, never, similar
from wanderlust_paper.registry import Study, StudySelection
from wanderlust_paper.reports.seed_groups import Label, SeedGroup, group_report
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


def runs(selection: StudySelection) -> list[Run]:
    """Return world x explorer x memory x seed."""
    return [
        Run(
            world=world,
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
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


_PAPER_SPEEDUPS = {("toy", "vv-ucb"): 4, ("toy", "vv-count"): 4, ("prison", "vv-ucb"): 4, ("prison", "vv-count"): 8}
"""The paper's speed-up of learning by infinite memory."""
_VV = ("vv-ucb", "vv-count")
Groups = Mapping[Label, SeedGroup]


def check_claims(groups: Groups) -> list[Claim]:
    """Check the statements of Appendix A.5."""
    checks = (_speedups, _without_memory, _prison, _epsilon_greedy, _bootstrap, _benefit)
    return [claim for check in checks for claim in check(groups)]


def _speedups(groups: Groups) -> list[Claim]:
    claims = []
    for (world, explorer), paper in _PAPER_SPEEDUPS.items():
        if (world, explorer, "none") in groups and (world, explorer, "full") in groups:
            without, with_memory = (groups[world, explorer, memory].median_step() for memory in ("none", "full"))
            text = f"{world}: {explorer} learns about {paper} times faster with memory"
            found = f"median steps until learnt: {without:.0f} without, {with_memory:.0f} with: "
            found += f"{without / with_memory:.1f} times"
            claims.append(about("A.5", text, without / with_memory, float(paper), found))
    return claims


def _counts(groups: Groups, test: Callable[[Label], bool]) -> tuple[int, int]:
    """Return the number of runs that learnt, and of all runs, of the groups that pass a test."""
    selected = [group for label, group in groups.items() if test(label)]
    return sum(len(group.steps_to_learn()) for group in selected), sum(len(group.curves) for group in selected)


def _without_memory(groups: Groups) -> list[Claim]:
    learnt, runs = _counts(groups, lambda label: label[1] in _VV)
    if not runs:
        return []
    text = "vv always learns, regardless of the memory"
    found = f"{learnt} of {runs} runs, with and without memory"
    return [never("A.5", text, runs - learnt, runs, paper_runs=8 * SEEDS, found=found)]


def _prison(groups: Groups) -> list[Claim]:
    learnt, runs = _counts(groups, lambda label: label[0] == "prison" and label[1] not in _VV)
    if not runs:
        return []
    text = "prison: the other explorers cannot learn where there are distractors, with or without memory"
    found = f"{learnt} of {runs} runs learnt"
    return [never("A.5", text, learnt, runs, paper_runs=4 * SEEDS, found=found)]


def _epsilon_greedy(groups: Groups) -> list[Claim]:
    learnt, runs = _counts(groups, lambda label: label[:2] == ("toy", "epsilon-greedy"))
    others, other_runs = _counts(groups, lambda label: label[0] == "toy" and label[1] != "epsilon-greedy")
    if not (runs and other_runs):
        return []
    return [
        check_claim(
            "A.5",
            "toy: all algorithms perform well except ε-greedy, which misses the reward in some trials",
            f"ε-greedy misses it in {runs - learnt} of {runs} runs, the others in {other_runs - others} of "
            f"{other_runs}",
            tolerance="ε-greedy in some runs, the others in none; ε-greedy more often",
            holds=learnt < runs and others == other_runs,
            partly=learnt / runs < others / other_runs,
        )
    ]


def _bootstrap(groups: Groups) -> list[Claim]:
    claims = []
    for world in WORLDS:
        labels = [(world, "random-prior", memory) for memory in ("full", "window")]
        if set(labels) <= set(groups):
            full, window = (groups[label] for label in labels)
            differences = [float(x) for x in full.mean_curve() - window.mean_curve()]
            claims.append(
                similar(
                    "A.5",
                    f"{world}: the performance of the bootstrap does not change substantially with the memory",
                    differences,
                    f"infinite minus finite memory, means over the run: discovery {differences[0]:+.1f}, return "
                    f"{differences[1]:+.1f} points",
                )
            )
    return claims


def _benefit(groups: Groups) -> list[Claim]:
    """Check that vv benefits the most from memory, by the gain in return over the whole run."""
    gains: dict[str, list[float]] = {}
    for world in WORLDS:
        for explorer, (full, other) in MEMORIES.items():
            labels = [(world, explorer, full), (world, explorer, other)]
            if set(labels) <= set(groups):
                a, b = (groups[label].mean_curve()[1] for label in labels)
                gains.setdefault(explorer, []).append(float(a - b))
    if set(gains) != set(MEMORIES) or any(len(each) < len(WORLDS) for each in gains.values()):
        return []
    text = "; ".join(f"{name} {', '.join(f'{gain:+.1f}' for gain in each)}" for name, each in gains.items())
    lowest_vv = [min(gains[name][i] for name in _VV) for i in range(len(WORLDS))]
    highest_other = [max(each[i] for name, each in gains.items() if name not in _VV) for i in range(len(WORLDS))]
    more = [a > b for a, b in zip(lowest_vv, highest_other, strict=True)]
    return [
        check_claim(
            "A.5",
            "vv benefits the most from the replay memory",
            f"gain in return over the whole run, in points, toy and prison: {text}",
            tolerance="both vv gain more than the others in both worlds; in one",
            holds=all(more),
            partly=any(more),
        )
    ]


STUDY = Study(
    id="memory",
    reference="Appendix A.5, Figure 28",
    description="infinite replay memory compared with none, or a finite one, in `toy` and `prison`",
    runs=runs,
    report=group_report(
        "Infinite, finite and no replay memory",
        ("world", "explorer", "memory"),
        lambda run: (run.world, run.explorer, run.settings["replay"]),
        claims=check_claims,
        line=lambda label: _line(label[1], label[2]),
        styles=_styles,
    ),
    quick_changes="5 seeds instead of 20",
    summarise=lambda run, result: reduced(result, keep=("visits",)),
)
