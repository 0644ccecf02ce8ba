"""The statements of Sections 4.1.3 and 4.1.4 about the gridworlds, checked against the runs of the recap tables."""

from __future__ import annotations

import numpy as np

from wanderlust_paper.claims import Claim, check_claim, larger, never, similar
from wanderlust_paper.reports.recap_samples import (
    NEAR_OPTIMAL,
    OTHERS,
    VV_EXPLORERS,
    Recap,
    paper_runs,
    step_text,
    steps_text,
)

_BEHIND_THE_WALL = 1.0
"""Success in `wall`, in percent: the reward of 500 behind the wall is worth more, all rewards before it less."""


def grid_claims(recap: Recap) -> list[Claim]:
    """Check every claim for which there are runs."""
    checks = (_deep_gridworld, _toy, _toy_horizon, _prison, _wall, _wall_vv)
    return [claim for check in checks for claim in check(recap)]


def _local_optima(recap: Recap, world: str, place: str, claim: str) -> list[Claim]:
    """Check a claim that no algorithm except vv learns an optimal policy, with zero initialization."""
    cells = recap.find(world, "zero", None, OTHERS)
    if not cells:
        return []
    n, total = recap.solved(cells)
    best = max(cells, key=lambda cell: recap.mean(cell))
    found = (
        f"{n:,} of {total:,} runs learnt an optimal policy; best cell: {best.algorithm}, {best.horizon} horizon, "
        f"success {recap.mean(best):.1f} %. The paper's own table has means that need such seeds"
    )
    return [never(place, claim, n, total, paper_runs=paper_runs(cells), found=found)]


def _deep_gridworld(recap: Recap) -> list[Claim]:
    claim = "deep gridworld, zero init.: all algorithms except vv get stuck in local optima, the smaller treasures"
    claims = _local_optima(recap, "deep-gridworld", "4.1.3", claim)
    cells = recap.find("deep-gridworld", "optimistic", None, [name for name in OTHERS if name != "random"])
    if cells:
        learnt, runs = recap.solved(cells)
        text = "deep gridworld, opt. init.: all algorithms except random learn to navigate through the corridor"
        found = f"{runs - learnt:,} of {runs:,} runs do not"
        claims.append(never("4.1.3", text, runs - learnt, runs, paper_runs=paper_runs(cells), found=found))
    random = recap.find("deep-gridworld", "optimistic", None, ("random",))
    if random:
        text = "deep gridworld: random exploration does not learn it, even with opt. init."
        claims.append(never("4.1.3", text, *recap.solved(random), paper_runs=paper_runs(random)))
    return claims


def _toy(recap: Recap) -> list[Claim]:
    good = recap.find("toy", "zero", "short", ("random-prior", "bootstrapped", "bonus"))
    vv = recap.find("toy", "zero", "short", VV_EXPLORERS)
    if not (good and vv):
        return []
    worst, slower = min(map(recap.mean, good)), max(map(recap.median_step, vv))
    later = sum(recap.median_step(cell) > slower for cell in good)
    differences = recap.curve_differences(vv[0], vv[1])
    return [
        check_claim(
            "4.1.4",
            "toy, zero init., short horizon: the bootstraps and the bonus perform well, but cannot match vv",
            f"lowest success of the three: {worst:.1f} %; median steps until learnt: {steps_text(recap, good)}; "
            f"{steps_text(recap, vv)}",
            tolerance="success ≥ 95 % and later than both vv; one of the two",
            holds=worst >= NEAR_OPTIMAL and later == len(good),
            partly=worst >= NEAR_OPTIMAL or later == len(good),
        ),
        similar(
            "4.1.4",
            "toy, zero init., short horizon: the lines of the two vv explorers almost overlap",
            differences,
            f"differences of the means over the run: discovery {differences[0]:+.1f}, return {differences[1]:+.1f} "
            "points",
        ),
    ]


def _toy_horizon(recap: Recap) -> list[Claim]:
    names = ("ucb1", "epsilon-greedy", "random", "thompson")
    short, long = (recap.find("toy", "zero", horizon, names) for horizon in ("short", "long"))
    if not (short and long):
        return []
    means = [(recap.mean(a), recap.mean(b)) for a, b in zip(short, long, strict=True)]
    text = "; ".join(f"{name} {a:.0f} → {b:.0f} %" for name, (a, b) in zip(names, means, strict=True))
    *remaining, thompson = zip(short, long, strict=True)
    helped = [
        larger(
            "4.1.4",
            f"toy, zero init.: a long horizon helps {names[i]}",
            recap.samples.success[after],
            recap.samples.success[before],
            f"success {means[i][0]:.0f} → {means[i][1]:.0f} %",
        )
        for i, (before, after) in enumerate(remaining)
    ]
    gain = recap.mean(thompson[1]) - recap.mean(thompson[0])
    return [
        *helped,
        check_claim(
            "4.1.4",
            "toy, zero init.: a long horizon helps the remaining algorithms except Thompson sampling",
            f"success with the short → the long horizon: {text}. The paper's own table has 40 → 70 % for Thompson "
            "sampling",
            tolerance="Thompson sampling gains at most 5 points; less than every other",
            holds=gain <= 5.0,
            partly=gain < min(b - a for a, b in means[:-1]),
        ),
    ]


def _prison(recap: Recap) -> list[Claim]:
    claim = (
        "prison, zero init.: the other algorithms cannot find the highest reward even with a long horizon, and all "
        "converge to local optima"
    )
    return _local_optima(recap, "prison", "4.1.4", claim)


def _wall(recap: Recap) -> list[Claim]:
    cells = recap.find("wall", "zero", None, OTHERS)
    if not cells:
        return []
    best = max(cells, key=lambda cell: max(recap.samples.success[cell]))
    values = [value for cell in cells for value in recap.samples.success[cell]]
    passed = sum(value > _BEHIND_THE_WALL for value in values)
    return [
        never(
            "4.1.4",
            "wall, zero init.: no algorithm except vv learns to pass the wall, not even to the reward of 500",
            passed,
            len(values),
            paper_runs=paper_runs(cells),
            found=f"{passed:,} of {len(values):,} runs did; the largest success is "
            f"{max(recap.samples.success[best]):.2f} % "
            f"({best.algorithm})",
        )
    ]


def _wall_vv(recap: Recap) -> list[Claim]:
    cells = recap.find("wall", "zero", None, VV_EXPLORERS)
    if not cells:
        return []
    ucb = [step for cell in cells if cell.algorithm == "vv-ucb" for step in recap.steps(cell)]
    count = [step for cell in cells if cell.algorithm == "vv-count" for step in recap.steps(cell)]
    return [
        larger(
            "4.1.4",
            "wall, zero init.: the UCB reward performs slightly better than the count reward",
            count,
            ucb,
            f"median steps until learnt: vv-ucb {step_text(float(np.median(ucb)))}, vv-count "
            f"{step_text(float(np.median(count)))}",
        )
    ]
