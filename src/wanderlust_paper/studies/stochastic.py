"""Section 4.2.5, Figure 27: gridworlds with stochastic transitions. The return is the exact V^π of the start."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from wanderlust import Run
from wanderlust.experiments.report.style import explorer_styles
from wanderlust_paper.claims import LEVEL, Claim, Groups, check_claim, never
from wanderlust_paper.registry import EXPLORERS, VV_EXPLORERS, Study, StudySelection
from wanderlust_paper.reports.seed_groups import group_report, learnt, median_step, share_learnt
from wanderlust_paper.summary_file import reduced

WORLDS = ("noisy-deep-gridworld", "noisy-toy", "noisy-prison")
SMALL_WORLDS = ("noisy-toy", "noisy-prison")
SEEDS = 50
PAPER_FAILURES = {"noisy-deep-gridworld": 2, "noisy-toy": 0, "noisy-prison": 1}
"""Runs of vv-count, of 50, that did not learn an optimal policy in the paper."""
SUCCESS_THRESHOLD = 99.0
"""Success, in percent, from which a run has learnt; ties between actions in distant states cost less than 1 %."""
_PLACE = "4.2.5"
_SOLVED = 0.9
"""The share of seeds from which a world is solved."""


def runs(selection: StudySelection) -> list[Run]:
    """Return world x explorer x seed."""
    return [
        Run(world=world, explorer=explorer, preset=selection.preset, seed=seed)
        for world in selection.select_worlds(WORLDS)
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(SEEDS, 5)
    ]


def _vv_ucb(groups: Groups) -> Iterator[Claim]:
    n, total = learnt(group for (_, name), group in groups.items() if name == "vv-ucb")
    if total:
        text = "vv-ucb always learns an optimal policy"
        yield never(_PLACE, text, total - n, total, paper_runs=3 * SEEDS, found=f"{n} of {total} runs")


def _vv_count(groups: Groups) -> Iterator[Claim]:
    from scipy.stats import fisher_exact

    parts, tests = [], []
    for world, paper in PAPER_FAILURES.items():
        n, total = learnt([groups[world, "vv-count"]])
        parts.append(f"{world} {total - n} of {total} (the paper: {paper} of {SEEDS})")
        tests.append(float(fisher_exact([[total - n, n], [paper, SEEDS - paper]]).pvalue))
    yield check_claim(
        _PLACE,
        "vv-count converges to a distractor only twice in the deep gridworld and once in the prison",
        f"runs that fail: {', '.join(parts)}; smallest p = {min(tests):.2g}",
        tolerance=f"p ≥ {LEVEL:g} in every world (Fisher's exact test); p ≥ {LEVEL / 5:g}",
        holds=min(tests) >= LEVEL,
        partly=min(tests) >= LEVEL / 5,
    )


def _discovery(groups: Groups) -> Iterator[Claim]:
    vv = [group for (_, name), group in groups.items() if name in VV_EXPLORERS]
    values = [value for group in vv for value in group.column("discovery")]
    if values:
        n = sum(value < 100.0 - 1e-9 for value in values)
        text = "both vv explorers quickly discover all states"
        found = f"{n} of {len(values)} runs do not discover all states"
        yield never(_PLACE, text, n, len(values), paper_runs=6 * SEEDS, found=found)


def _only_vv(groups: Groups) -> Iterator[Claim]:
    shares = {name: [share_learnt(groups[world, name]) for world in WORLDS] for name in EXPLORERS}
    solved = {name for name, each in shares.items() if min(each) >= _SOLVED}
    text = "; ".join(f"{name} {', '.join(f'{100 * share:.0f}' for share in each)}" for name, each in shares.items())
    yield check_claim(
        _PLACE,
        "only vv solves all three gridworlds within the limit",
        f"percent of the seeds that learnt, deep gridworld, toy and prison: {text}",
        tolerance=f"both vv, and no other, with at least {100 * _SOLVED:.0f} % of the seeds in all three; both vv",
        holds=solved == set(VV_EXPLORERS),
        partly=solved >= set(VV_EXPLORERS),
    )


def _prior(groups: Groups) -> Iterator[Claim]:
    deep, toy, prison = (share_learnt(groups[world, "random-prior"]) for world in WORLDS)
    yield check_claim(
        _PLACE,
        "the bootstrap with a prior performs as without noise: it solves the toy gridworld but not the other two",
        f"learnt by {100 * toy:.0f} % of the seeds in toy, {100 * deep:.0f} % in deep gridworld, "
        f"{100 * prison:.0f} % in prison",
        tolerance="toy by at least 90 %, the others by at most half; toy by more than the others",
        holds=toy >= _SOLVED and max(deep, prison) <= 0.5,
        partly=toy > max(deep, prison),
    )


def _vanilla(groups: Groups) -> Iterator[Claim]:
    vanilla, prior = (share_learnt(groups["noisy-toy", name]) for name in ("bootstrapped", "random-prior"))
    yield check_claim(
        _PLACE,
        "the vanilla bootstrap is heavily affected by the noise: it cannot learn even the toy gridworld",
        f"learnt by {100 * vanilla:.0f} % of the seeds, with a prior by {100 * prior:.0f} %; without noise by all",
        tolerance="by fewer than half of the seeds; by fewer than with a prior",
        holds=vanilla < 0.5,
        partly=vanilla < prior,
    )


def _helped(explorer: str, groups: Groups) -> Iterator[Claim]:
    """Check that an explorer benefits from the noise."""
    own = [groups[world, explorer] for world in SMALL_WORLDS]
    ratios = [
        median_step(group) / median_step(groups[world, "vv-ucb"])
        for world, group in zip(SMALL_WORLDS, own, strict=True)
    ]
    text = ", ".join(f"{each:.1f} ({world})" for each, world in zip(ratios, SMALL_WORLDS, strict=True))
    n, total = learnt(own)
    discovery = [group.column("discovery").mean() for group in own]
    yield check_claim(
        _PLACE,
        f"{explorer} benefits from the noise: it solves the two gridworlds, much later than vv",
        f"{n} of {total} runs; ratio of the median steps to those of vv-ucb: {text}; "
        f"discovery {discovery[0]:.1f} and {discovery[1]:.1f} %",
        tolerance="at least 90 % of the runs, and twice the steps of vv-ucb; half of the runs, and later",
        holds=n >= _SOLVED * total and min(ratios) >= 2.0,
        partly=n >= total / 2 and min(ratios) > 1.0,
    )


_HELPED = tuple(functools.partial(_helped, explorer) for explorer in ("ucb1", "bonus"))
STUDY = Study(
    id="stochastic",
    reference="Section 4.2.5, Figure 27",
    description="three gridworlds with stochastic transitions, 9 explorers",
    runs=runs,
    report=group_report(
        "Gridworlds with stochastic transitions",
        ("world", "explorer"),
        lambda run: (run.world, run.explorer),
        line=lambda label: label[1],
        styles=functools.partial(explorer_styles, EXPLORERS),
        success_threshold=SUCCESS_THRESHOLD,
        checks=(_vv_ucb, _vv_count, _discovery, _only_vv, _prior, _vanilla, *_HELPED),
    ),
    quick_changes="5 seeds instead of 50",
    summarise=lambda run, result: reduced(result, keep=("visits",)),
)
