"""Section 4.2.5, Figure 27: gridworlds with stochastic transitions. The return is the exact V^π of the start."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from wanderlust import Run
from wanderlust.experiments.report.style import explorer_styles
from wanderlust_paper.claims import LEVEL, Claim, check_claim, never
from wanderlust_paper.registry import EXPLORERS, Study, StudySelection
from wanderlust_paper.reports.seed_groups import Label, SeedGroup, group_report
from wanderlust_paper.summary_file import reduced

WORLDS = ("noisy-deep-gridworld", "noisy-toy", "noisy-prison")
SMALL_WORLDS = ("noisy-toy", "noisy-prison")
SEEDS = 50
VV_EXPLORERS = ("vv-ucb", "vv-count")
PAPER_FAILURES = {"noisy-deep-gridworld": 2, "noisy-toy": 0, "noisy-prison": 1}
"""Runs of vv-count, of 50, that did not learn an optimal policy in the paper."""
_PLACE = "4.2.5"
_SOLVED = 0.9
"""The share of seeds from which a world is solved."""

Groups = Mapping[Label, SeedGroup]


def check_claims(groups: Groups) -> list[Claim]:
    """Check every claim for which there are runs."""
    checks = (_vv_ucb, _vv_count, _discovery, _only_vv, _prior, _vanilla, _helped)
    return [claim for check in checks for claim in check(groups)]


def _learnt(groups: Groups, explorer: str, worlds: Sequence[str] = WORLDS) -> tuple[int, int]:
    """Return the number of runs of an explorer that learnt, and of all its runs."""
    selected = [groups[world, explorer] for world in worlds if (world, explorer) in groups]
    count = sum(round(len(each.curves) * each.learnt().estimate) for each in selected)
    return count, sum(len(each.curves) for each in selected)


def _vv_ucb(groups: Groups) -> list[Claim]:
    n, total = _learnt(groups, "vv-ucb")
    if not total:
        return []
    text = "vv-ucb always learns an optimal policy"
    return [never(_PLACE, text, total - n, total, paper_runs=3 * SEEDS, found=f"{n} of {total} runs")]


def _vv_count(groups: Groups) -> list[Claim]:
    if any((world, "vv-count") not in groups for world in WORLDS):
        return []
    from scipy.stats import fisher_exact

    parts, tests = [], []
    for world, paper in PAPER_FAILURES.items():
        n, total = _learnt(groups, "vv-count", (world,))
        parts.append(f"{world} {total - n} of {total} (the paper: {paper} of {SEEDS})")
        tests.append(float(fisher_exact([[total - n, n], [paper, SEEDS - paper]]).pvalue))
    return [
        check_claim(
            _PLACE,
            "vv-count converges to a distractor only twice in the deep gridworld and once in the prison",
            f"runs that fail: {', '.join(parts)}; smallest p = {min(tests):.2g}",
            tolerance=f"p ≥ {LEVEL:g} in every world (Fisher's exact test); p ≥ {LEVEL / 5:g}",
            holds=min(tests) >= LEVEL,
            partly=min(tests) >= LEVEL / 5,
        )
    ]


def _discovery(groups: Groups) -> list[Claim]:
    missing = [value for (_, name), group in groups.items() if name in VV_EXPLORERS for value in group.discovery]
    if not missing:
        return []
    n = sum(value < 100.0 - 1e-9 for value in missing)
    text = "both vv explorers quickly discover all states"
    found = f"{n} of {len(missing)} runs do not discover all states"
    return [never(_PLACE, text, n, len(missing), paper_runs=6 * SEEDS, found=found)]


def _only_vv(groups: Groups) -> list[Claim]:
    if any((world, name) not in groups for world in WORLDS for name in EXPLORERS):
        return []
    shares = {name: [groups[world, name].learnt().estimate for world in WORLDS] for name in EXPLORERS}
    solved = [name for name, each in shares.items() if min(each) >= _SOLVED]
    text = "; ".join(f"{name} {', '.join(f'{100 * share:.0f}' for share in each)}" for name, each in shares.items())
    return [
        check_claim(
            _PLACE,
            "only vv solves all three gridworlds within the limit",
            f"percent of the seeds that learnt, deep gridworld, toy and prison: {text}",
            tolerance=f"both vv, and no other, with at least {100 * _SOLVED:.0f} % of the seeds in all three; both vv",
            holds=set(solved) == set(VV_EXPLORERS),
            partly=set(VV_EXPLORERS) <= set(solved),
        )
    ]


def _prior(groups: Groups) -> list[Claim]:
    labels = [(world, "random-prior") for world in WORLDS]
    if any(label not in groups for label in labels):
        return []
    deep, toy, prison = (groups[label].learnt().estimate for label in labels)
    return [
        check_claim(
            _PLACE,
            "the bootstrap with a prior performs as without noise: it solves the toy gridworld but not the other two",
            f"learnt by {100 * toy:.0f} % of the seeds in toy, {100 * deep:.0f} % in deep gridworld, "
            f"{100 * prison:.0f} % "
            "in prison",
            tolerance="toy by at least 90 %, the others by at most half; toy by more than the others",
            holds=toy >= _SOLVED and max(deep, prison) <= 0.5,
            partly=toy > max(deep, prison),
        )
    ]


def _vanilla(groups: Groups) -> list[Claim]:
    if any(("noisy-toy", name) not in groups for name in ("bootstrapped", "random-prior")):
        return []
    vanilla, prior = (groups["noisy-toy", name].learnt().estimate for name in ("bootstrapped", "random-prior"))
    return [
        check_claim(
            _PLACE,
            "the vanilla bootstrap is heavily affected by the noise: it cannot learn even the toy gridworld",
            f"learnt by {100 * vanilla:.0f} % of the seeds, with a prior by {100 * prior:.0f} %; without noise by all",
            tolerance="by fewer than half of the seeds; by fewer than with a prior",
            holds=vanilla < 0.5,
            partly=vanilla < prior,
        )
    ]


def _helped(groups: Groups) -> list[Claim]:
    """Check that UCB1 and the bonus benefit from the noise."""
    claims = []
    for explorer in ("ucb1", "bonus"):
        if any((world, name) not in groups for world in SMALL_WORLDS for name in (explorer, "vv-ucb")):
            continue
        n, total = _learnt(groups, explorer, SMALL_WORLDS)
        steps = [[groups[world, name].median_step() for name in (explorer, "vv-ucb")] for world in SMALL_WORLDS]
        ratios = [own / vv for own, vv in steps]
        discovery = [float(np.mean(groups[world, explorer].discovery)) for world in SMALL_WORLDS]
        claims.append(
            check_claim(
                _PLACE,
                f"{explorer} benefits from the noise: it solves the two gridworlds, much later than vv",
                f"{n} of {total} runs; ratio of the median steps to those of vv-ucb: "
                + ", ".join(f"{each:.1f} ({world})" for each, world in zip(ratios, SMALL_WORLDS, strict=True))
                + f"; discovery {discovery[0]:.1f} and {discovery[1]:.1f} %",
                tolerance="at least 90 % of the runs, and twice the steps of vv-ucb; half of the runs, and later",
                holds=n >= _SOLVED * total and min(ratios) >= 2.0,
                partly=n >= total / 2 and min(ratios) > 1.0,
            )
        )
    return claims


SUCCESS_THRESHOLD = 99.0
"""Success, in percent, from which a run has learnt; ties between actions in distant states cost less than 1 %."""


def runs(selection: StudySelection) -> list[Run]:
    """Return world x explorer x seed."""
    return [
        Run(world=world, explorer=explorer, preset=selection.preset, seed=seed)
        for world in selection.select_worlds(WORLDS)
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(SEEDS, 5)
    ]


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
        claims=check_claims,
    ),
    quick_changes="5 seeds instead of 50",
    summarise=lambda run, result: reduced(result, keep=("visits",)),
)
