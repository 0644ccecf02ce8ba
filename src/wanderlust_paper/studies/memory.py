"""Appendix A.5, Figure 28: learning with infinite, finite and no replay memory."""

from __future__ import annotations

from collections.abc import Iterator

from wanderlust import Run
from wanderlust.experiments.report.figures import Style, explorer_styles
from wanderlust.experiments.table import Group
from wanderlust_paper.claims import (
    MUCH,
    Check,
    Claim,
    Groups,
    about,
    at_least,
    claim_of,
    exact,
    larger,
    mostly,
    never,
    similar,
    step_text,
)
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
FRESH_SEEDS = 20
"""Seeds after those of the paper, with which every claim is checked again."""
_PLACE = "A.5"


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
        for seed in selection.select_seeds(SEEDS + FRESH_SEEDS, 5)
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


def _speedup(world: str, groups: Groups, explorer: str) -> float:
    without, with_memory = (median_step(groups[world, explorer, memory]) for memory in ("none", "full"))
    return without / with_memory


def _medians(world: str, groups: Groups) -> str:
    parts = []
    for name in VV_EXPLORERS:
        steps = [step_text(median_step(groups[world, name, memory])) for memory in ("none", "full")]
        parts.append(f"{name} {steps[0]} without, {steps[1]} with memory, {_speedup(world, groups, name):.1f} times")
    return f"median steps until learnt: {'; '.join(parts)}"


def _speedups(groups: Groups) -> Iterator[Claim]:
    yield claim_of(
        _PLACE,
        "toy: without replay memory vv converged in 1,000 steps on average, with it in only 250, ×4 times faster",
        _medians("toy", groups),
        *(
            judged
            for name in VV_EXPLORERS
            for judged in (
                about(median_step(groups["toy", name, "none"]), 1000.0),
                about(median_step(groups["toy", name, "full"]), 250.0),
                about(_speedup("toy", groups, name), 4.0),
            )
        ),
    )
    yield claim_of(
        _PLACE,
        "prison: with infinite memory vv learns ×4 (vv-ucb) and ×8 (vv-count) times faster than without",
        _medians("prison", groups),
        about(_speedup("prison", groups, "vv-ucb"), 4.0),
        about(_speedup("prison", groups, "vv-count"), 8.0),
    )
    steps = [median_step(groups["toy", "random-prior", memory]) for memory in ("window", "full")]
    speedups = [*(_speedup("toy", groups, name) for name in VV_EXPLORERS), steps[0] / steps[1]]
    yield claim_of(
        _PLACE,
        "toy: infinite memory allowed the bootstrap and vv to learn substantially faster",
        "median steps until learnt with no or finite memory, divided by those with infinite memory: "
        + ", ".join(f"{name} {x:.2f}" for name, x in zip((*VV_EXPLORERS, "random-prior"), speedups, strict=True))
        + "; two sentences later the paper says that the performance of the bootstrap does not change substantially",
        *(at_least(each, MUCH) for each in speedups),
    )
    ratios = [_speedup("prison", groups, name) / _speedup("toy", groups, name) for name in VV_EXPLORERS]
    yield claim_of(
        _PLACE,
        "the speed-up of vv by the infinite memory is even larger in prison than in toy",
        "speed-up in prison divided by that in toy: "
        + ", ".join(f"{name} {ratio:.2f}" for name, ratio in zip(VV_EXPLORERS, ratios, strict=True)),
        *(at_least(ratio, 1.0) for ratio in ratios),
    )


def _always(groups: Groups) -> Iterator[Claim]:
    vv = {
        world: learnt(group for (where, name, _), group in groups.items() if where == world and name in VV_EXPLORERS)
        for world in WORLDS
    }
    others = {
        label: learnt([groups["prison", *label]])
        for label in [
            (name, memory) for name, memories in MEMORIES.items() if name not in VV_EXPLORERS for memory in memories
        ]
    }
    yield claim_of(
        _PLACE,
        "only vv always learns in both domains, regardless of the memory",
        f"vv: {', '.join(f'{n} of {total} runs in {world}' for world, (n, total) in vv.items())}; in prison: "
        + ", ".join(f"{_line(*label)} {k} of {runs}" for label, (k, runs) in others.items()),
        *(never(total - n, total, paper_runs=4 * SEEDS) for n, total in vv.values()),
        *(exact(holds=k < runs) for k, runs in others.values()),
    )
    without = {world: learnt([groups[world, "epsilon-greedy", "none"]]) for world in WORLDS}
    n, total = learnt(groups[world, name, "none"] for world in WORLDS for name in VV_EXPLORERS)
    yield claim_of(
        _PLACE,
        "vv can learn even without replay memory, while other algorithms cannot",
        f"without memory: vv {n} of {total} runs, ε-greedy "
        + ", ".join(f"{k} of {runs} in {world}" for world, (k, runs) in without.items())
        + "; the bootstrap needs a memory and was not run without",
        *(never(k, runs, paper_runs=SEEDS) for k, runs in without.values()),
    )


def _epsilon_greedy(groups: Groups) -> Iterator[Claim]:
    toy = {(name, memory): group for (world, name, memory), group in groups.items() if world == "toy"}
    n, runs = learnt(group for (name, _), group in toy.items() if name == "epsilon-greedy")
    others = {name: learnt(g for (each, _), g in toy.items() if each == name) for name in MEMORIES}
    del others["epsilon-greedy"]
    if runs and all(total for _, total in others.values()):
        yield claim_of(
            _PLACE,
            "toy: all algorithms perform well except ε-greedy, which missed the reward in some trials",
            f"ε-greedy misses it in {runs - n} of {runs} runs; learnt: "
            + ", ".join(f"{name} {k} of {total}" for name, (k, total) in others.items()),
            *(mostly(*each) for each in others.values()),
            exact(holds=n < runs),
        )


def _means(group: Group) -> list[float]:
    """Return discovery and success, averaged over the whole run and all seeds."""
    return [group.percent(name).mean for name in ("mean_discovery", "mean_success")]


def _bootstrap(groups: Groups) -> Iterator[Claim]:
    """Check the bootstrap with finite and infinite memory."""
    for world, text in (
        ("toy", "toy: the performance of the bootstrap does not change substantially with finite and infinite memory"),
        ("prison", "prison: the infinite memory does not help the bootstrap"),
    ):
        full, window = (_means(groups[world, "random-prior", memory]) for memory in ("full", "window"))
        differences = [a - b for a, b in zip(full, window, strict=True)]
        yield claim_of(
            _PLACE,
            text,
            f"infinite minus finite memory, means over the run: discovery {differences[0]:+.1f}, return "
            f"{differences[1]:+.1f} points",
            similar(*differences),
        )


def _helped(groups: Groups) -> Iterator[Claim]:
    pairs = {name: [groups["toy", name, memory] for memory in memories] for name, memories in MEMORIES.items()}
    gains = {name: _means(full)[1] - _means(other)[1] for name, (full, other) in pairs.items()}
    yield claim_of(
        _PLACE,
        "toy: the use of infinite memory helped all algorithms",
        "gain in return over the whole run, in points: "
        + ", ".join(f"{name} {gain:+.1f}" for name, gain in gains.items()),
        *(larger(full.column("mean_success"), other.column("mean_success")) for full, other in pairs.values()),
    )


def _benefit(groups: Groups) -> Iterator[Claim]:
    """Check that vv benefits the most from memory, by the gain in return over the whole run."""
    gains = {
        name: [_means(groups[world, name, full])[1] - _means(groups[world, name, other])[1] for world in WORLDS]
        for name, (full, other) in MEMORIES.items()
    }
    text = "; ".join(f"{name} {', '.join(f'{gain:+.1f}' for gain in each)}" for name, each in gains.items())
    others = [name for name in gains if name not in VV_EXPLORERS]
    yield claim_of(
        _PLACE,
        "vv benefits the most from the replay memory",
        f"gain in return over the whole run, in points, toy and prison: {text}",
        *(
            exact(holds=gains[vv][i] > max(gains[name][i] for name in others), margin=f"{vv} in {world}")
            for vv in VV_EXPLORERS
            for i, world in enumerate(WORLDS)
        ),
    )


CHECKS: tuple[Check, ...] = (_speedups, _always, _epsilon_greedy, _bootstrap, _helped, _benefit)
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
        paper_seeds=SEEDS,
        more=f"; zero initialization, horizon 11, {BUDGET:,} steps; the finite memory has the last 220 transitions, of "
        "which 32 are replayed per step",
    ),
    quick_changes="5 seeds instead of 40",
    summarize=lambda run, result: reduced(result, keep=("visits",)),
)
