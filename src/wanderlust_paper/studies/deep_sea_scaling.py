"""Section 4.2.3, Figure 22: steps to learn the deep sea against its depth N, with the fitted exponents."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from wanderlust import Run
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.result import Result
from wanderlust.experiments.store import StoredRun
from wanderlust_paper.claims import Claim, at_most_exponent, check_claim, exponent, never
from wanderlust_paper.figures.scaling import SampleComplexity, build_complexity, complexity_report, scaling_figure
from wanderlust_paper.registry import Report, Study, StudySelection
from wanderlust_paper.summary_file import reduced

STEP_LIMIT = 500_000
VV_EXPLORERS = ("vv-ucb", "vv-count")
BOOTSTRAPS = ("random-prior", "bootstrapped")
PAPER_SEEDS = 10
UNUSUAL_DEPTHS = (23, 27, 33, 37, 43, 47, 51, 55)
"""Depths at which one seed of a bootstrap failed or was late in the paper."""
_LATE = 2.0
"""A seed is late if it takes this many times the median of its depth."""
_PLACE = "4.2.3"

Runs = Mapping[str, SampleComplexity]


def check_claims(by_explorer: Runs) -> list[Claim]:
    """Check every claim for which there are runs, at every depth."""
    checks = (_exponents, _always, _lowest, _intervals, _single_seeds, _left_out)
    stored = {name: runs for name, runs in by_explorer.items() if not np.isnan(runs.steps).all(axis=1).any()}
    return [claim for check in checks for claim in check(stored)]


def _exponents(by_explorer: Runs) -> list[Claim]:
    claims = []
    fits = {name: fit.exponent for name, runs in by_explorer.items() if (fit := runs.fit())}
    if "vv-ucb" in fits:
        text = "the steps that vv-ucb takes to learn grow slower than N^2.5"
        claims.append(at_most_exponent(_PLACE, text, fits["vv-ucb"], 2.5))
    for name, paper in (("vv-count", 2.5), ("random-prior", 3.0), ("bootstrapped", 3.0)):
        if name in fits:
            text = f"the steps that {name} takes to learn grow like N^{paper:g}"
            claims.append(exponent(_PLACE, text, fits[name], paper))
    return claims


def _always(by_explorer: Runs) -> list[Claim]:
    vv = [by_explorer[name] for name in VV_EXPLORERS if name in by_explorer]
    if not vv:
        return []
    total = sum(int((~np.isnan(runs.steps)).sum()) for runs in vv)
    learnt = sum(int(runs.learnt.sum()) for runs in vv)
    found = f"{learnt} of {total} runs learnt within {STEP_LIMIT:,} steps"
    return [never(_PLACE, "vv always learns within the limit", total - learnt, total, paper_runs=total, found=found)]


def _lowest(by_explorer: Runs) -> list[Claim]:
    names = (*VV_EXPLORERS, *BOOTSTRAPS, "bonus")
    if any(name not in by_explorer for name in names):
        return []
    means = {name: _capped_means(by_explorer[name]) for name in names}
    slower = np.maximum(*(means[name] for name in VV_EXPLORERS))
    others = np.min([means[name] for name in names if name not in VV_EXPLORERS], axis=0)
    lowest = int((slower < others).sum())
    return [
        check_claim(
            _PLACE,
            "vv has the lowest sample complexity",
            f"both vv need fewer steps than all others at {lowest} of {len(slower)} depths",
            tolerance="at all depths; at three quarters of them",
            holds=lowest == len(slower),
            partly=lowest >= 0.75 * len(slower),
        )
    ]


def _capped_means(runs: SampleComplexity) -> FloatArray:
    """Return the mean steps of each depth; runs that did not learn have the limit."""
    return np.asarray(np.nanmean(np.where(runs.learnt | np.isnan(runs.steps), runs.steps, STEP_LIMIT), axis=1))


def _intervals(by_explorer: Runs) -> list[Claim]:
    widths = {}
    for name in (*VV_EXPLORERS, *BOOTSTRAPS):
        if name not in by_explorer:
            return []
        mean, ci = by_explorer[name].means()
        widths[name] = 100.0 * float(np.nanmean(ci / mean))
    text = ", ".join(f"{name} {width:.1f} %" for name, width in widths.items())
    vv, others = (max(widths[name] for name in VV_EXPLORERS), min(widths[name] for name in BOOTSTRAPS))
    return [
        check_claim(
            _PLACE,
            "only vv learns with a confidence interval close to zero",
            f"mean ± in percent of the mean, over the depths: {text}",
            tolerance="vv at most 5 % and all bootstraps above; vv below the bootstraps",
            holds=vv <= 5.0 < others,
            partly=vv < others,
        )
    ]


def _single_seeds(by_explorer: Runs) -> list[Claim]:
    if any(name not in by_explorer for name in BOOTSTRAPS):
        return []
    unusual, failed = set(), 0
    for name in BOOTSTRAPS:
        runs = by_explorer[name]
        stored = ~np.isnan(runs.steps)
        missed = stored & ~runs.learnt
        with np.errstate(invalid="ignore"):
            late = runs.learnt & (runs.steps > _LATE * np.nanmedian(runs.steps, axis=1, keepdims=True))
        unusual |= {int(depth) for depth, row in zip(runs.x, missed | late, strict=True) if row.any()}
        failed += int(missed.sum())
    n, paper = len(unusual), len(UNUSUAL_DEPTHS)
    return [
        check_claim(
            _PLACE,
            "at many depths (8 of 28) one seed of a bootstrap does not learn, or learns after substantially more steps",
            f"at {n} of {len(by_explorer[BOOTSTRAPS[0]].x)} depths a seed fails or takes more than twice the median "
            f"of its depth; {failed} runs fail",
            tolerance="within 25 % of 8 depths; within a factor of 2",
            holds=0.75 * paper <= n <= 1.25 * paper,
            partly=paper / 2 <= n <= 2 * paper,
        )
    ]


def _left_out(by_explorer: Runs) -> list[Claim]:
    if any(name not in by_explorer for name in LEFT_OUT):
        return []
    parts, often = [], []
    for name in LEFT_OUT:
        runs = by_explorer[name]
        by_depth = ", ".join(
            f"{int(row.sum())} of {len(row)} at N = {x:g}" for x, row in zip(runs.x, runs.learnt, strict=True)
        )
        parts.append(f"{name} {by_depth}")
        often.append(float(runs.learnt.mean()) < 0.5)
    return [
        check_claim(
            _PLACE,
            "random, ε-greedy, UCB1 and Thompson sampling, left out of the figure, often do not learn within "
            "500,000 steps even for small N",
            f"runs that learn: {'; '.join(parts)}",
            tolerance="fewer than half of the runs of each; of some",
            holds=all(often),
            partly=any(often),
        )
    ]


WORLDS = ("deep-sea",)
EXPLORERS = ("vv-ucb", "vv-count", "random-prior", "bootstrapped", "bonus")
"""The explorers of Figure 22."""
LEFT_OUT = ("thompson", "ucb1", "epsilon-greedy", "random")
"""The explorers that the figure leaves out because they rarely learn."""
DEPTHS = range(5, 60, 2)
LEFT_OUT_DEPTHS = (11, 17, 25)
"""A few small depths show whether they learn."""
QUICK_DEPTHS = (5, 9, 13, 19, 27)
SEEDS = 10
TITLE = "Steps to learn the deep sea"


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
    """Return (step of the first evaluation with a positive return, True), or (last step, False) if there is none."""
    return float(result.steps[-1]), bool(result.returns[-1] > 0.0)


def complexities(requested: list[Run], stored: Iterable[StoredRun]) -> dict[str, SampleComplexity]:
    """Return explorer -> the steps to learn of every depth and seed."""
    steps: dict[str, dict[float, dict[int, tuple[float, bool]]]] = {}
    for run in requested:
        steps.setdefault(run.explorer, {}).setdefault(run.world_options["depth"], {})[run.seed] = (np.nan, False)
    for run, result, _ in stored:
        steps[run.explorer][run.world_options["depth"]][run.seed] = steps_to_learn(result)
    return {explorer: build_complexity(by_depth) for explorer, by_depth in steps.items()}


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return one row per explorer and depth, the fitted exponents, and the figure."""
    everything = complexities(requested, stored)
    panels = {"": everything}
    table = complexity_report(TITLE, panels, size="depth N", limit=STEP_LIMIT, note=note)
    shown = {"": {name: runs for name, runs in everything.items() if name not in LEFT_OUT}}
    draw = functools.partial(
        scaling_figure, TITLE, shown, x_name="depth N", y_name="steps to learn", limit=STEP_LIMIT, note=note
    )
    return table._replace(figures={"steps-to-learn": draw}, claims=check_claims(everything))


STUDY = Study(
    id="deep-sea-scaling",
    reference="Section 4.2.3, Figure 22",
    description="steps to learn against the depth of the deep sea: 28 depths, 5 explorers; 3 depths for 4 others",
    runs=runs,
    report=report,
    quick_changes="3 seeds instead of 10; depths 5, 9, 13, 19, 27 instead of 5, 7, …, 59; not the four explorers "
    "that Figure 22 leaves out",
    summarise=lambda run, result: reduced(result, max_points=1),
)
