"""The statements of Section 4.1 about all worlds, the deep sea and the taxi, checked against the recap tables' runs."""

from __future__ import annotations

import numpy as np

from wanderlust.experiments.execute.estimate import ENSEMBLES
from wanderlust.experiments.result import OPTIMAL_SUCCESS
from wanderlust_paper.claims import Claim, at_least, check_claim, larger, never, similar
from wanderlust_paper.reports.recap_samples import (
    NEAR_OPTIMAL,
    OTHERS,
    VV_EXPLORERS,
    Recap,
    Samples,
    paper_runs,
    step_text,
    steps_text,
)
from wanderlust_paper.studies.recap_claims_grid import grid_claims

_BOOTSTRAPS = ("random-prior", "bootstrapped")


def check_claims(samples: Samples) -> list[Claim]:
    """Check every claim for which there are runs."""
    recap = Recap(samples)
    checks = (
        _only_vv,
        _horizons,
        _guarantee,
        _deep_sea,
        _deep_sea_optimistic,
        _taxi,
        _taxi_bonus,
        _taxi_optimistic,
        grid_claims,
    )
    return [claim for check in checks for claim in check(recap)]


def _only_vv(recap: Recap) -> list[Claim]:
    vv = recap.select(lambda cell: cell.algorithm in VV_EXPLORERS)
    others = recap.select(lambda cell: cell.algorithm in OTHERS)
    if not vv or {cell.algorithm for cell in others} != set(OTHERS):
        return []
    n_perfect = sum(map(recap.is_perfect, vv))
    counts: dict[str, list[int]] = {}
    for cell in others:
        count = counts.setdefault(cell.algorithm, [0, 0])
        count[0] += recap.is_perfect(cell)
        count[1] += 1
    best = max(counts.items(), key=lambda item: item[1][0] / item[1][1])
    no_other = all(perfect < total for perfect, total in counts.values())
    return [
        check_claim(
            "Table 1, A.6",
            "only vv discovers all states and solves all tasks in all seeds",
            f"vv: {n_perfect} of {len(vv)} cells at 100 ± 0; best other, {best[0]}: {best[1][0]} of {best[1][1]}",
            tolerance="vv in all cells, and no other explorer; vv in all cells",
            holds=n_perfect == len(vv) and no_other,
            partly=n_perfect == len(vv),
        )
    ]


def _horizons(recap: Recap) -> list[Claim]:
    pairs = [
        (cell, cell._replace(horizon="long"))
        for cell in recap.select(lambda cell: cell.algorithm in VV_EXPLORERS and cell.horizon == "short")
        if cell._replace(horizon="long") in recap.cells
    ]
    if not pairs:
        return []
    worst = min(recap.mean(long) for _, long in pairs)
    ratio = float(np.median([recap.median_step(long) / recap.median_step(short) for short, long in pairs]))
    return [
        check_claim(
            "4.1",
            "the length of the horizon does not affect the performance of vv",
            f"lowest success with the long horizon: {worst:.2f} %; median ratio of the steps until learnt, long to "
            f"short: {ratio:.2f}",
            tolerance="success 100 % and a ratio of at most 1.25; success ≥ 95 %",
            holds=worst >= OPTIMAL_SUCCESS and ratio <= 1.25,
            partly=worst >= NEAR_OPTIMAL,
        )
    ]


def _guarantee(recap: Recap) -> list[Claim]:
    """Check that optimistic initialization makes ε-greedy explore everything."""
    cells = recap.select(lambda cell: cell.algorithm == "epsilon-greedy" and cell.initialization == "optimistic")
    worlds = dict.fromkeys(cell.environment for cell in cells)
    if len(worlds) < 6:
        return []
    lowest = {
        world: min(float(np.mean(recap.samples.discovery[cell])) for cell in cells if cell.environment == world)
        for world in worlds
    }
    complete = [world for world, percent in lowest.items() if percent >= 100.0]
    others = ", ".join(f"{percent:.2f} % in {world}" for world, percent in lowest.items() if world not in complete)
    return [
        check_claim(
            "4.1",
            "optimistic initialization guarantees to explore all the state-action pairs even with just ε-greedy",
            f"all states are discovered within the steps in {len(complete)} of {len(worlds)} worlds"
            + (f"; {others}" if others else ""),
            tolerance="in all worlds; in all but one",
            holds=len(complete) == len(worlds),
            partly=len(complete) == len(worlds) - 1,
        )
    ]


def _deep_sea(recap: Recap) -> list[Claim]:
    cells = recap.find("deep-sea", "zero", None, (*VV_EXPLORERS, *_BOOTSTRAPS))
    claims = []
    others = recap.find("deep-sea", "zero", None, ("thompson", "ucb1", "bonus", "epsilon-greedy", "random"))
    if others:
        text = "deep sea, zero init.: Thompson sampling, UCB1, the bonus, ε-greedy and random do not learn"
        claims.append(never("4.1.1", text, *recap.solved(others), paper_runs=paper_runs(others)))
    if not cells:
        return claims
    vv, bootstraps = cells[:2], cells[2:]
    slower, faster = max(map(recap.median_step, vv)), min(map(recap.median_step, bootstraps))
    discovery = {cell.algorithm: float(np.mean(recap.samples.discovery[cell])) for cell in cells}
    found_all = [cell for cell in cells if min(recap.samples.discovery[cell]) >= 100.0]
    text = ", ".join(f"{name} {percent:.2f} %" for name, percent in discovery.items())
    return [
        *claims,
        check_claim(
            "4.1.1",
            "deep sea, zero init.: vv and both bootstraps discover all states",
            f"discovery: {text} (the paper's own table has 99.90 and 99.77 % for the bootstraps)",
            tolerance="100 % in every seed; at least 99.5 % on average",
            holds=len(found_all) == len(cells),
            partly=min(discovery.values()) >= 99.5,
        ),
        at_least(
            "4.1.1",
            "deep sea, zero init.: both vv explorers learn at least twice as fast as the bootstraps",
            faster / slower,
            2.0,
            f"median steps until learnt: {steps_text(recap, cells)}; the slower vv is {faster / slower:.2f} times as "
            "fast as the faster bootstrap",
        ),
        larger(
            "4.1.1",
            "deep sea, zero init.: the bootstrap with a random prior comes second, before the other bootstrap",
            recap.steps(bootstraps[1]),
            recap.steps(bootstraps[0]),
            f"median steps until learnt: {steps_text(recap, bootstraps)}",
        ),
    ]


def _deep_sea_optimistic(recap: Recap) -> list[Claim]:
    claims = []
    thompson = recap.find("deep-sea", "optimistic", None, ("thompson",))
    if thompson:
        learnt, runs = recap.solved(thompson)
        text = "deep sea, opt. init.: Thompson sampling also converges to the optimal policy"
        found = f"{runs - learnt:,} of {runs:,} runs do not"
        claims.append(never("4.1.1", text, runs - learnt, runs, paper_runs=paper_runs(thompson), found=found))
    pair = recap.find("deep-sea", "optimistic", None, ("random-prior", "vv-ucb"))
    if pair:
        differences = recap.curve_differences(*pair)
        claims.append(
            similar(
                "4.1.1",
                "deep sea, opt. init.: the bootstrap with a random prior matches vv-ucb; the lines almost overlap",
                differences,
                f"differences of the means over the run: discovery {differences[0]:+.1f}, return {differences[1]:+.1f} "
                f"points; median steps until learnt: {steps_text(recap, pair)}",
            )
        )
    return claims


def _taxi(recap: Recap) -> list[Claim]:
    claims = []
    cells = recap.find("taxi", "zero", None, ENSEMBLES)
    if cells:
        text = "taxi, zero init.: no bootstrap learns to collect all passengers, even with a long horizon"
        claims.append(never("4.1.2", text, *recap.solved(cells), paper_runs=paper_runs(cells)))
    prior = recap.find("taxi", "zero", None, ("random-prior",))
    if prior:
        medians = [float(np.median(recap.samples.last_discovery[cell])) for cell in prior]
        claims.append(
            check_claim(
                "4.1.2",
                "taxi, zero init.: the bootstrap with a random prior does not discover new states after 750 to 1,000 "
                "steps",
                "median step of the last discovery: "
                + ", ".join(f"{step:,.0f} ({cell.horizon} horizon)" for cell, step in zip(prior, medians, strict=True)),
                tolerance="medians of at most 1,250 (25 % above 1,000); at most 2,000",
                holds=max(medians) <= 1250,
                partly=max(medians) <= 2000,
            )
        )
    vv = recap.find("taxi", "zero", None, VV_EXPLORERS)
    if vv:
        learnt, runs = recap.solved(vv)
        text = "taxi, zero init.: vv discovers all states and learns the optimal policy"
        found = f"{runs - learnt:,} of {runs:,} runs do not"
        claims.append(never("4.1.2", text, runs - learnt, runs, paper_runs=paper_runs(vv), found=found))
    return claims


def _taxi_bonus(recap: Recap) -> list[Claim]:
    short, long = recap.find("taxi", "zero", "short", ("bonus",)), recap.find("taxi", "zero", "long", ("bonus",))
    others = recap.find("taxi", "zero", None, ("ucb1", "epsilon-greedy", "random"))
    if not (short and long and others):
        return []
    with_long = recap.solved(long)
    counts = [recap.solved(short), recap.solved(others)]
    exceptions, runs = (sum(each) for each in zip(*counts, strict=True))
    claim = never(
        "4.1.2",
        "taxi, zero init.: of the other algorithms only the bonus collects all passengers, in some seeds, and only "
        "with a long horizon",
        exceptions,
        runs,
        paper_runs=paper_runs([*short, *others]),
        found=f"bonus: {with_long[0]} of {with_long[1]} runs with the long, {counts[0][0]} of {counts[0][1]} with the "
        f"short horizon; UCB1, ε-greedy and random: {counts[1][0]:,} of {counts[1][1]:,}",
    )
    return [claim] if with_long[0] else []


def _taxi_optimistic(recap: Recap) -> list[Claim]:
    claims = []
    cells = recap.find("taxi", "optimistic", None, [name for name in OTHERS if name != "random"])
    if cells:
        zero = [cell._replace(initialization="zero") for cell in cells]
        counts = [
            sum(recap.mean(cell) >= NEAR_OPTIMAL for cell in each if cell in recap.cells) for each in (cells, zero)
        ]
        claims.append(
            check_claim(
                "4.1.2",
                "taxi, opt. init.: most algorithms match vv",
                f"{counts[0]} of {len(cells)} cells reach {NEAR_OPTIMAL:.0f} % success, {counts[1]} with zero init.",
                tolerance="more than half of the cells; more than with zero init.",
                holds=counts[0] > len(cells) / 2,
                partly=counts[0] > counts[1],
            )
        )
        slow = [cell for cell in cells if cell.algorithm in ("epsilon-greedy", "bonus")]
        rest = [cell for cell in cells if cell not in slow]
        fastest, slowest = min(map(recap.median_step, slow)), max(map(recap.median_step, rest))
        claims.append(
            check_claim(
                "4.1.2",
                "taxi, opt. init.: ε-greedy and the bonus learn slowly",
                f"median steps until learnt: {steps_text(recap, slow)}; the slowest of the others: "
                f"{step_text(slowest)}",
                tolerance="later than every other explorer except random; than most of them",
                holds=fastest > slowest,
                partly=fastest > float(np.median([recap.median_step(cell) for cell in rest])),
            )
        )
    random = recap.find("taxi", "optimistic", None, ("random",))
    if random:
        text = "taxi: random exploration does not collect all passengers, even with opt. init."
        claims.append(never("4.1.2", text, *recap.solved(random), paper_runs=paper_runs(random)))
    return claims
