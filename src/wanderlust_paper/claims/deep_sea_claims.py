"""The statements of Section 4.2.3 about the steps to learn the deep sea."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wanderlust.core.mdp import FloatArray
from wanderlust_paper.claims.claim_rules import at_most_exponent, exponent, never
from wanderlust_paper.claims.claims import Claim, check_claim
from wanderlust_paper.figures.scaling import SampleComplexity

STEP_LIMIT = 500_000
VV_EXPLORERS = ("vv-ucb", "vv-count")
BOOTSTRAPS = ("random-prior", "bootstrapped")
LEFT_OUT = ("thompson", "ucb1", "epsilon-greedy", "random")
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
