"""Section 4.2.3, Figure 22: steps to learn the deep sea against its depth N, with the fitted exponents."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from wanderlust import Run
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.run import Result
from wanderlust.experiments.store import StoredRun
from wanderlust_paper.claims import (
    LEARNT,
    Claim,
    Found,
    about,
    at_least,
    check_all,
    claim_of,
    exponent,
    never,
    rarely,
    slower_than_exponent,
)
from wanderlust_paper.figures.scaling import SampleComplexity, build_complexity, complexity_report, scaling_figure
from wanderlust_paper.registry import VV_EXPLORERS, Report, Study, StudySelection, figure_note
from wanderlust_paper.summary_file import reduced

WORLDS = ("deep-sea",)
BOOTSTRAPS = ("random-prior", "bootstrapped")
EXPLORERS = (*VV_EXPLORERS, *BOOTSTRAPS, "bonus")
"""The explorers of Figure 22."""
LEFT_OUT = ("thompson", "ucb1", "epsilon-greedy", "random")
"""The explorers that the figure leaves out because they rarely learn."""
DEPTHS = range(5, 60, 2)
LEFT_OUT_DEPTHS = (11, 17, 25)
"""A few small depths show whether they learn."""
QUICK_DEPTHS = (5, 9, 13, 19, 27)
SEEDS = 10
STEP_LIMIT = 500_000
TITLE = "Steps to learn the deep sea"
UNUSUAL_DEPTHS = (23, 27, 33, 37, 43, 47, 51, 55)
"""Depths at which one seed of a bootstrap failed or was late in the paper."""
_LATE = 2.0
"""A seed is late if it takes this many times the median of its depth."""
_PLACE = "4.2.3"


def runs(selection: StudySelection) -> list[Run]:
    """Return depth x explorer x seed; each run ends at the first positive return.

    The explorers that the figure leaves out have a few small depths.
    """
    depths: dict[str, Sequence[int]] = dict.fromkeys(EXPLORERS, QUICK_DEPTHS if selection.quick else DEPTHS)
    depths |= {} if selection.quick else dict.fromkeys(LEFT_OUT, LEFT_OUT_DEPTHS)
    names = selection.select_explorers(depths)
    return [
        Run(
            world=world,
            world_options={"depth": depth},
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"budget": STEP_LIMIT},
            until="positive-return",
        )
        for world in selection.select_worlds(WORLDS)
        for depth in dict.fromkeys(depth for name in names for depth in depths[name])
        for explorer in names
        if depth in depths[explorer]
        for seed in selection.select_seeds(SEEDS, 3)
    ]


def steps_to_learn(result: Result) -> tuple[float, bool]:
    """Return the last step, and whether the policy had learnt then.

    A run ends at its first positive return, as in the released code. Every such policy has learnt: in the deep sea a
    return is positive only if the treasure is collected and the bomb is not.
    """
    return float(result.steps[-1]), bool(result.success >= LEARNT)


def complexities(requested: list[Run], stored: Iterable[StoredRun]) -> dict[str, SampleComplexity]:
    """Return explorer -> the steps to learn of every depth and seed."""
    steps: dict[str, dict[float, dict[int, tuple[float, bool]]]] = {}
    for run in requested:
        steps.setdefault(run.explorer, {}).setdefault(run.world_options["depth"], {})[run.seed] = (np.nan, False)
    for run, result, _ in stored:
        steps[run.explorer][run.world_options["depth"]][run.seed] = steps_to_learn(result)
    return {explorer: build_complexity(by_depth) for explorer, by_depth in steps.items()}


Runs = Found[SampleComplexity]
"""Explorer -> its steps to learn, for the explorers that have runs at every depth."""


def _exponents(runs: Runs) -> Iterator[Claim]:
    fits = {name: fit.exponent for name, each in runs.items() if (fit := each.fit())}
    text = {name: f"{name} {fit.estimate:.2f} [{fit.low:.2f}, {fit.high:.2f}]" for name, fit in fits.items()}
    if set(VV_EXPLORERS) <= set(fits):
        yield claim_of(
            _PLACE,
            "the steps to learn suggest a scaling of O(N^2.5) for vv-count, and even smaller for vv-ucb",
            f"exponents with their 95 % intervals: {', '.join(text[name] for name in VV_EXPLORERS)}",
            exponent(fits["vv-count"], 2.5),
            slower_than_exponent(fits["vv-ucb"], 2.5),
        )
    if set(BOOTSTRAPS) <= set(fits):
        yield claim_of(
            _PLACE,
            "bootstrapping attains a complexity of O(N^3)",
            f"exponents with their 95 % intervals: {', '.join(text[name] for name in BOOTSTRAPS)}",
            *(exponent(fits[name], 3.0) for name in BOOTSTRAPS),
        )


def _gracefully(runs: Runs) -> Iterator[Claim]:
    """Check that the interval of each exponent of vv is below those of the others."""
    fits = {name: fit.exponent for name in EXPLORERS if (fit := runs[name].fit())}
    if set(fits) == set(EXPLORERS):
        yield claim_of(
            _PLACE,
            "only vv scales gracefully to large problem sizes",
            "exponents with their 95 % intervals, at the depths at which every seed learnt: "
            + ", ".join(f"{name} {fit.estimate:.2f} [{fit.low:.2f}, {fit.high:.2f}]" for name, fit in fits.items())
            + "; judged: the interval of vv is below that of the other",
            *(
                slower_than_exponent(fits[vv], fits[name].low)
                for vv in VV_EXPLORERS
                for name in EXPLORERS
                if name not in VV_EXPLORERS
            ),
        )


def _lowest(runs: Runs) -> Iterator[Claim]:
    """Check the caption: only vv learns with a confidence interval close to zero, and attains the lowest complexity."""
    means = {name: _capped_means(runs[name]) for name in EXPLORERS}
    slower = np.maximum(*(means[name] for name in VV_EXPLORERS))
    others = np.min([means[name] for name in EXPLORERS if name not in VV_EXPLORERS], axis=0)
    lowest, depths = int((slower < others).sum()), len(slower)
    widths = {}
    for name in (*VV_EXPLORERS, *BOOTSTRAPS):
        mean, ci = runs[name].means()
        widths[name] = float(np.nanmean(ci / mean))
    failed = sum(int((~runs[name].learnt & ~np.isnan(runs[name].steps)).sum()) for name in VV_EXPLORERS)
    total = sum(int((~np.isnan(runs[name].steps)).sum()) for name in VV_EXPLORERS)
    yield claim_of(
        _PLACE,
        "Figure 22: only vv learns with a confidence interval close to zero, and attains the lowest sample complexity",
        f"both vv need fewer steps than all others at {lowest} of {depths} depths; {total - failed} of {total} runs of "
        "vv learnt; mean ± in percent of the mean, over the depths: "
        + ", ".join(f"{name} {100 * width:.1f} %" for name, width in widths.items()),
        never(depths - lowest, depths, paper_runs=depths),
        never(failed, total, paper_runs=total),
        *(at_least(widths[other] / widths[vv], 100.0) for vv in VV_EXPLORERS for other in BOOTSTRAPS),
    )


def _capped_means(runs: SampleComplexity) -> FloatArray:
    """Return the mean steps of each depth; runs that did not learn have the limit."""
    return np.asarray(np.nanmean(np.where(runs.learnt | np.isnan(runs.steps), runs.steps, STEP_LIMIT), axis=1))


def _single_seeds(runs: Runs) -> Iterator[Claim]:
    unusual, failed = set(), 0
    for each in [runs[name] for name in BOOTSTRAPS]:
        missed = ~np.isnan(each.steps) & ~each.learnt
        with np.errstate(invalid="ignore"):
            late = each.learnt & (each.steps > _LATE * np.nanmedian(each.steps, axis=1, keepdims=True))
        unusual |= {int(depth) for depth, row in zip(each.x, missed | late, strict=True) if row.any()}
        failed += int(missed.sum())
    n, paper = len(unusual), len(UNUSUAL_DEPTHS)
    yield claim_of(
        _PLACE,
        "at many depths (8 of 28) one seed of a bootstrap does not learn, or learns after substantially more steps",
        f"at {n} of {len(runs[BOOTSTRAPS[0]].x)} depths a seed fails or takes more than twice the median of its "
        f"depth; {failed} runs fail",
        about(n, paper),
    )


def _left_out(runs: Runs) -> Iterator[Claim]:
    parts = []
    for name in LEFT_OUT:
        pairs = zip(runs[name].x, runs[name].learnt, strict=True)
        by_depth = ", ".join(f"{int(row.sum())} of {len(row)} at N = {x:g}" for x, row in pairs)
        parts.append(f"{name} {by_depth}")
    yield claim_of(
        _PLACE,
        "random, ε-greedy, UCB1 and Thompson sampling performed extremely poorly, often not learning within 500,000 "
        "steps even for small N",
        f"runs that learn: {'; '.join(parts)}",
        *(rarely(float(runs[name].learnt.sum()), runs[name].learnt.size) for name in LEFT_OUT),
    )


CHECKS = (_exponents, _gracefully, _lowest, _single_seeds, _left_out)


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return one row per explorer and depth, the fitted exponents, and the figure."""
    everything = complexities(requested, stored)
    table = complexity_report(TITLE, {"": everything}, size="depth N", limit=STEP_LIMIT, note=note)
    shown = {"": {name: runs for name, runs in everything.items() if name not in LEFT_OUT}}
    seeds = max((runs.steps.shape[1] for runs in everything.values()), default=0)
    text = figure_note(note, {"": seeds}, "; zero initialization; open markers at the limit: no seed learnt")
    draw = functools.partial(
        scaling_figure, TITLE, shown, x_name="depth N", y_name="steps to learn", limit=STEP_LIMIT, note=text
    )
    complete = {name: runs for name, runs in everything.items() if not np.isnan(runs.steps).all(axis=1).any()}
    return table._replace(figures={"steps-to-learn": draw}, claims=check_all(CHECKS, Runs(complete)))


STUDY = Study(
    id="deep-sea-scaling",
    reference="Section 4.2.3, Figure 22",
    description="steps to learn against the depth of the deep sea: 28 depths, 5 explorers; 3 depths for 4 others",
    runs=runs,
    report=report,
    quick_changes="3 seeds instead of 10; depths 5, 9, 13, 19, 27 instead of 5, 7, …, 59; not the four explorers "
    "that Figure 22 leaves out",
    summarize=lambda run, result: reduced(result, max_points=1),
)
