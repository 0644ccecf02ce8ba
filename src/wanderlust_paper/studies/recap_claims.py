"""The statements of Section 4.1, checked against the runs of the recap tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from wanderlust import make_world
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.execute.progress import ENSEMBLES
from wanderlust.experiments.table import Group
from wanderlust_paper.claims import (
    FEW,
    LEARNT,
    SIMILAR,
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
from wanderlust_paper.registry import OTHERS, VV_EXPLORERS
from wanderlust_paper.reports.recap_tables import PAPER_SEEDS, Cell

_BOOTSTRAPS = ("random-prior", "bootstrapped")
_OTHERS_THAT_LEARN = OTHERS[:-1]
LESSER_REWARDS = {"taxi": 3.0, "deep-gridworld": 1.0, "prison": 2.0, "wall": 22.0}
"""What a policy receives at most without the largest reward, in `wall` without the two behind the wall. Larger returns
need it, on whatever way; in the taxi they need all passengers."""
_NEVER = 1e9
"""The step of seeds that never learnt, for tests that compare ranks."""
_ALL = 100.0 - 1e-9


def find(cells: Groups, world: str, initial: str, names: Sequence[str], horizon: str = "") -> dict[Cell, Group]:
    """Return the cells of a scenario in the order of `names`, by default with both horizons.

    All of them have runs. The deep sea has the horizon "fixed".
    """
    horizons = ("fixed",) if world == "deep-sea" else (horizon,) if horizon else ("short", "long")
    wanted = [Cell(world, initial, each, name) for each in horizons for name in names]
    return {cell: cells[cell] for cell in wanted}


def column(cells: dict[Cell, Group], name: str = "success") -> FloatArray:
    """Return a column of all runs of some cells."""
    return np.concatenate([group.column(name) for group in cells.values()])


def solved(cells: dict[Cell, Group]) -> tuple[int, int]:
    """Return the number of runs that learnt, and the number of runs."""
    success = column(cells)
    return int((success >= LEARNT).sum()), len(success)


def collected(cells: dict[Cell, Group]) -> tuple[int, int]:
    """Return the number of runs whose final policy collects the largest reward, and the number of runs."""
    n = sum(int((g.column("final_return") > LESSER_REWARDS[cell.environment]).sum()) for cell, g in cells.items())
    return n, sum(map(len, cells.values()))


def mean(group: Group, name: str = "success") -> float:
    """Return the mean of a column."""
    return float(group.column(name).mean())


def median_step(group: Group) -> float:
    """Return the median step from which a run had learnt; infinite if most runs never did."""
    return float(np.median(group.column("learnt_at")))


def steps(group: Group) -> list[float]:
    """Return the step from which each seed had learnt; a large number for never."""
    return [step if math.isfinite(step) else _NEVER for step in group.column("learnt_at")]


def steps_text(cells: dict[Cell, Group]) -> str:
    """Return the median steps of some cells as text, with the horizon where an algorithm has several cells."""
    has_both = len({cell.algorithm for cell in cells}) < len(cells)
    return ", ".join(
        f"{cell.algorithm}{f' ({cell.horizon} horizon)' if has_both else ''} {step_text(median_step(group))}"
        for cell, group in cells.items()
    )


def curve_differences(one: Group, other: Group) -> list[float]:
    """Return the differences of discovery and success, averaged over the whole run, in points."""
    return [mean(one, name) - mean(other, name) for name in ("mean_discovery", "mean_success")]


def none_collects(place: str, world: str, initial: str, names: Sequence[str], claim: str) -> Check:
    """Return a check that no final policy of some explorers collects the largest reward."""

    def check(cells: Groups) -> Iterator[Claim]:
        found = find(cells, world, initial, names)
        n, runs = collected(found)
        text = f"{n:,} of {runs:,} runs did" + (f", {solved(found)[0]:,} of them without a detour" if n else "")
        yield claim_of(place, claim, text, never(n, runs, paper_runs=PAPER_SEEDS * len(found)))

    return check


def all_learn(
    place: str, world: str, initial: str, names: Sequence[str], claim: str, *, discover: bool = False
) -> Check:
    """Return a check that all runs of some explorers learn, and that they discover all states, before the others."""

    def check(cells: Groups) -> Iterator[Claim]:
        found = find(cells, world, initial, names)
        missed = (column(found) < LEARNT) | (discover & (column(found, "discovery") < _ALL))
        n, runs = int(missed.sum()), len(missed)
        cases, text = [never(n, runs, paper_runs=PAPER_SEEDS * len(found))], f"{n:,} of {runs:,} runs do not"
        others = {
            each: cells[each] for cell in found for name in OTHERS if (each := cell._replace(algorithm=name)) in cells
        }
        if discover and others:
            best = max(others, key=lambda cell: mean(others[cell], "mean_discovery"))
            text += "; discovery, mean over the run: " + ", ".join(
                f"{cell.algorithm} ({cell.horizon} horizon) {mean(group, 'mean_discovery'):.1f} %"
                for cell, group in (found | {best: others[best]}).items()
            )
            cases += [
                larger(group.column("mean_discovery"), other.column("mean_discovery"))
                for cell, group in found.items()
                for each, other in others.items()
                if each.horizon == cell.horizon
            ]
        yield claim_of(place, claim, text, *cases)

    return check


def local_optima(place: str, world: str, claim: str) -> Check:
    """Return a check that no algorithm except vv collects the largest reward, with zero initialization."""

    def check(cells: Groups) -> Iterator[Claim]:
        found = find(cells, world, "zero", OTHERS)
        n, total = collected(found)
        best, group = max(found.items(), key=lambda item: mean(item[1]))
        text = (
            f"{n:,} of {total:,} runs end with a policy to the largest reward; best cell: {best.algorithm}, "
            f"{best.horizon} horizon, success {mean(group):.1f} %"
        )
        yield claim_of(place, claim, text, never(n, total, paper_runs=PAPER_SEEDS * len(found)))

    return check


def only_vv_solves(place: str, world: str, claim: str) -> Check:
    """Return a check that vv solves a world with zero initialization, and no other algorithm does."""

    def check(cells: Groups) -> Iterator[Claim]:
        vv, others = (find(cells, world, "zero", names) for names in (VV_EXPLORERS, OTHERS))
        shares = {cell: solved({cell: group}) for cell, group in others.items()}
        best = max(shares, key=lambda cell: shares[cell][0] / shares[cell][1])
        (n, runs), (k, total) = solved(vv), solved(others)
        text = (
            f"learnt by {n:,} of {runs:,} runs of vv and {k:,} of {total:,} of the others, most often by "
            f"{best.algorithm} ({best.horizon} horizon), {shares[best][0]} of {shares[best][1]}"
        )
        solves = (mostly(*solved({cell: group})) for cell, group in vv.items())
        yield claim_of(place, claim, text, *solves, *(exact(holds=a / b < 1 - FEW) for a, b in shares.values()))

    return check


def _only_vv(cells: Groups) -> Iterator[Claim]:
    """Count the runs that discovered all states and learnt, with zero initialization and the short horizon."""
    table = {cell: group for cell, group in cells.items() if cell.initialization == "zero" and cell.horizon != "long"}
    if len(table) < 54:
        return
    perfect = {
        cell: (group.column("discovery") >= _ALL) & (group.column("success") >= LEARNT) for cell, group in table.items()
    }
    vv = {
        world: np.concatenate([perfect[c] for c in perfect if c.environment == world and c.algorithm in VV_EXPLORERS])
        for world in dict.fromkeys(cell.environment for cell in perfect)
    }
    always = {
        name: sum(bool(each.all()) for cell, each in perfect.items() if cell.algorithm == name) for name in OTHERS
    }
    best = max(always, key=lambda name: always[name])
    yield claim_of(
        "Table 1",
        "only vv always discovers all states and solves the tasks in all 20 seeds (zero initialization, short horizon)",
        f"vv: {sum(int((~each).sum()) for each in vv.values())} of {sum(map(len, vv.values())):,} runs do not; in how "
        "many of the six worlds all runs of another explorer "
        f"do: {best} {always[best]}, all others at most that",
        *(never(int((~each).sum()), len(each), paper_runs=PAPER_SEEDS * 2) for each in vv.values()),
        exact(holds=max(always.values()) < 6),
    )


def _horizons(cells: Groups) -> Iterator[Claim]:
    short = [cell for cell in cells if cell.algorithm in VV_EXPLORERS and cell.horizon == "short"]
    pairs = [(cells[cell], cells[long]) for cell in short if (long := cell._replace(horizon="long")) in cells]
    taxi = [(a, b) for a, b in pairs if a.fields["environment"] == "taxi" and a.fields["initialization"] == "zero"]
    if not taxi:
        return
    differences = [d for a, b in taxi for d in curve_differences(a, b)]
    ratios = [median_step(b) / median_step(a) for a, b in taxi]
    yield claim_of(
        "4.1.2",
        "taxi: the performance of vv is not affected by the length of the horizon",
        "long minus short horizon, means over the run in points: "
        + ", ".join(f"{-each:+.1f}" for each in differences)
        + "; ratio of the median steps until learnt: "
        + ", ".join(f"{each:.2f}" for each in ratios),
        similar(*differences),
    )


def _guarantee(cells: Groups) -> Iterator[Claim]:
    """Check that optimistic initialization makes ε-greedy execute every pair."""
    found = {
        cell: group
        for cell, group in cells.items()
        if cell.algorithm == "epsilon-greedy" and cell.initialization == "optimistic"
    }
    if len({cell.environment for cell in found}) < 6 or any("pairs" not in g.rows[0] for g in found.values()):
        return
    missed: dict[str, list[int]] = {}
    texts = []
    for cell, group in found.items():
        all_pairs = group.rows[0]["states_reachable"] * make_world(cell.environment).n_actions
        share = group.column("pairs") / all_pairs
        count = missed.setdefault(cell.environment, [0, 0])
        count[0], count[1] = count[0] + int((share < 1.0).sum()), count[1] + len(group)
        if share.min() < 1.0:
            where = cell.environment if cell.horizon == "fixed" else f"{cell.environment}, {cell.horizon} horizon"
            texts.append(f"{where}: {100 * share.mean():.1f} % of the pairs on average")
    yield claim_of(
        "4.1",
        "optimistic initialization guarantees to explore all the state-action pairs even with just ε-greedy",
        "runs that do not execute all reachable pairs within the steps: "
        + ", ".join(f"{world} {n} of {runs}" for world, (n, runs) in missed.items())
        + f"; {'; '.join(texts)}",
        *(never(n, runs, paper_runs=PAPER_SEEDS * (1 if w == "deep-sea" else 2)) for w, (n, runs) in missed.items()),
    )


def _deep_sea(cells: Groups) -> Iterator[Claim]:
    vv = find(cells, "deep-sea", "zero", VV_EXPLORERS)
    bootstraps = find(cells, "deep-sea", "zero", _BOOTSTRAPS)
    rest = find(cells, "deep-sea", "zero", [name for name in OTHERS if name not in _BOOTSTRAPS])
    both = vv | bootstraps
    incomplete = {
        cell.algorithm: int(((g.column("discovery") < _ALL) | (g.column("success") < LEARNT)).sum())
        for cell, g in both.items()
    }
    text = ", ".join(f"{name} {n} of {len(g)}" for (name, n), g in zip(incomplete.items(), both.values(), strict=True))
    missed, total = sum(incomplete.values()), sum(map(len, both.values()))
    learnt, runs = solved(rest)
    yield claim_of(
        "4.1.1",
        "deep sea, zero init.: only vv and the two bootstraps discover all states and converge to the optimal policy "
        "within the limit",
        f"runs that do not: {text}; {learnt} of {runs} runs of the other explorers learnt. The paper's own table has "
        "99.90 and 99.77 % discovery for the bootstraps",
        never(missed, total, paper_runs=PAPER_SEEDS * len(both)),
        never(learnt, runs, paper_runs=PAPER_SEEDS * len(rest)),
    )
    slower = max(median_step(group) for group in vv.values())
    faster = min(median_step(group) for group in bootstraps.values())
    yield claim_of(
        "4.1.1",
        "deep sea, zero init.: both vv explorers converge twice or more as fast as the bootstraps",
        f"median steps until learnt: {steps_text(both)}; the slower vv is {faster / slower:.2f} times as fast as the "
        "faster bootstrap",
        at_least(faster / slower, 2.0),
    )
    prior, other = bootstraps.values()
    yield claim_of(
        "4.1.1",
        "deep sea, zero init.: the bootstrap with a random prior comes second, before the other bootstrap",
        f"median steps until learnt: {steps_text(bootstraps)}",
        larger(steps(other), steps(prior)),
    )


def _deep_sea_optimistic(cells: Groups) -> Iterator[Claim]:
    found = find(cells, "deep-sea", "optimistic", (*VV_EXPLORERS, *_BOOTSTRAPS))
    ucb, count, prior, other = found.values()
    yield claim_of(
        "4.1.1",
        "deep sea, opt. init.: results are similar to those with zero init.: both vv outperform the bootstraps, except "
        "that the one with a random prior matches vv-ucb",
        f"median steps until learnt: {steps_text(found)}",
        *(larger(steps(slow), steps(fast)) for slow, fast in ((other, ucb), (other, count), (prior, count))),
    )
    differences = curve_differences(prior, ucb)
    yield claim_of(
        "4.1.1",
        "deep sea, opt. init.: the bootstrap with a random prior matches vv-ucb; the lines almost overlap",
        f"differences of the means over the run: discovery {differences[0]:+.1f}, return {differences[1]:+.1f} "
        f"points; median steps until learnt: random-prior {step_text(median_step(prior))}, vv-ucb "
        f"{step_text(median_step(ucb))}",
        similar(*differences),
    )


def _taxi_prior(cells: Groups) -> Iterator[Claim]:
    prior = find(cells, "taxi", "zero", ("random-prior",))
    medians = {cell.horizon: float(np.median(group.column("last_discovery"))) for cell, group in prior.items()}
    text = ", ".join(f"{step:,.0f} ({horizon} horizon)" for horizon, step in medians.items())
    yield claim_of(
        "4.1.2",
        "taxi, zero init.: the bootstrap with a random prior does not discover new states after 750 to 1,000 steps",
        f"median step of the last discovery: {text}",
        *(about(step, min(max(step, 750.0), 1000.0)) for step in medians.values()),
    )


def _taxi_others(cells: Groups) -> Iterator[Claim]:
    short, long = (find(cells, "taxi", "zero", ("bonus",), horizon) for horizon in ("short", "long"))
    others = find(cells, "taxi", "zero", ("ucb1", "epsilon-greedy", "random"))
    with_long, with_short, of_others = collected(long), collected(short), collected(others)
    exceptions, runs = collected(short | others)
    some = int((column(short | others, "final_return") > 0.0).sum()) - exceptions
    yield claim_of(
        "4.1.2",
        "taxi, zero init.: other algorithms learned to pick one or two passengers, and only the bonus learned to pick "
        "all passengers in some seeds, but only with a long horizon",
        f"bonus: {with_long[0]} of {with_long[1]} runs pick all with the long, {with_short[0]} of {with_short[1]} with "
        f"the short horizon; UCB1, ε-greedy and random: {of_others[0]:,} of {of_others[1]:,}; of these and the bonus "
        f"with the short horizon, {some:,} of {runs:,} pick one or two, {runs - some - exceptions:,} none",
        mostly(some, runs),
        mostly(min(with_long[0], 1), 1),
        never(exceptions, runs, paper_runs=PAPER_SEEDS * len(short | others)),
    )


def _taxi_optimistic(cells: Groups) -> Iterator[Claim]:
    found = find(cells, "taxi", "optimistic", OTHERS)
    gaps = {}
    for cell, group in found.items():
        both = [curve_differences(group, cells[cell._replace(algorithm=name)]) for name in VV_EXPLORERS]
        gaps[cell] = min(max(map(abs, each)) for each in both)
    far = [f"{cell.algorithm} ({cell.horizon} horizon) {gap:.0f}" for cell, gap in gaps.items() if gap > SIMILAR]
    matching = len(found) - len(far)
    yield claim_of(
        "4.1.2",
        "taxi, opt. init.: most of the algorithms match the performance of vv",
        f"discovery and return, means over the run, are within {SIMILAR:g} points of those of the nearer vv in "
        f"{matching} of {len(found)} cells; points in the others: {', '.join(far)}",
        mostly(matching, len(found)),
    )
    slow = {cell: group for cell, group in found.items() if cell.algorithm in ("epsilon-greedy", "bonus")}
    rest = find(cells, "taxi", "optimistic", VV_EXPLORERS)
    rest |= {cell: group for cell, group in found.items() if cell not in slow and cell.algorithm != "random"}
    yield claim_of(
        "4.1.2",
        "taxi, opt. init.: ε-greedy and the bonus learn slowly",
        f"median steps until learnt: {steps_text(slow)}; the slowest of the others, vv included, without random: "
        f"{step_text(max(map(median_step, rest.values())))}",
        *(
            larger(steps(group), steps(other))
            for cell, group in slow.items()
            for name, other in rest.items()
            if name.horizon == cell.horizon
        ),
    )


def _taxi_bootstraps(cells: Groups) -> Iterator[Claim]:
    before = find(cells, "deep-sea", "zero", _BOOTSTRAPS)
    found = find(cells, "taxi", "zero", _BOOTSTRAPS)
    yield claim_of(
        "4.1.2",
        "taxi, zero init.: bootstrapped algorithms perform significantly worse than before, in the deep sea",
        "success: "
        + ", ".join(f"{c.algorithm} in {c.environment} {mean(g):.0f} %" for c, g in (before | found).items()),
        *(
            larger(other.column("success"), group.column("success"))
            for each, other in before.items()
            for cell, group in found.items()
            if cell.algorithm == each.algorithm
        ),
    )


def _toy(cells: Groups) -> Iterator[Claim]:
    good = find(cells, "toy", "zero", ("random-prior", "bootstrapped", "bonus"), "short")
    vv = find(cells, "toy", "zero", VV_EXPLORERS, "short")
    slower = [step for group in vv.values() for step in steps(group)]
    yield claim_of(
        "4.1.4",
        "toy, zero init., short horizon: the bootstraps and the bonus perform well, but do not match vv",
        f"learnt: {', '.join(f'{c.algorithm} {solved({c: g})[0]} of {len(g)}' for c, g in good.items())}; median steps "
        f"until learnt: {steps_text(good)}; {steps_text(vv)}",
        *(mostly(*solved({cell: group})) for cell, group in good.items()),
        *(larger(steps(group), slower) for group in good.values()),
    )


def _toy_overlap(cells: Groups) -> Iterator[Claim]:
    differences = curve_differences(*find(cells, "toy", "zero", VV_EXPLORERS, "short").values())
    yield claim_of(
        "4.1.4",
        "toy, zero init., short horizon: the lines of the two vv explorers almost overlap",
        f"differences of the means over the run: discovery {differences[0]:+.1f}, return {differences[1]:+.1f} points",
        similar(*differences),
    )


def _toy_horizon(cells: Groups) -> Iterator[Claim]:
    names = ("ucb1", "epsilon-greedy", "random", "thompson")
    short, long = (list(find(cells, "toy", "zero", names, horizon).values()) for horizon in ("short", "long"))
    texts = [f"{name} {mean(a):.0f} → {mean(b):.0f} %" for name, a, b in zip(names, short, long, strict=True)]
    helped = [larger(b.column("success"), a.column("success")) for a, b in zip(short[:-1], long[:-1], strict=True)]
    yield claim_of(
        "4.1.4",
        "toy, zero init.: a long horizon helps the remaining algorithms, random included, except Thompson sampling",
        f"success with the short → the long horizon: {'; '.join(texts)}. The paper's own table has 40 → 70 % for "
        "Thompson sampling",
        *helped,
        similar(mean(long[-1]) - mean(short[-1])),
    )


def _prison(cells: Groups) -> Iterator[Claim]:
    """Compare the prison with the toy gridworld, which has neither distractors nor a prison cell."""
    parts, cases = [], []
    for horizon in ("short", "long"):
        names = (*VV_EXPLORERS, *OTHERS)
        toy, prison = (find(cells, world, "zero", names, horizon).values() for world in ("toy", "prison"))
        for name, a, b in zip(names, toy, prison, strict=True):
            parts.append(f"{name} {mean(a):.0f} and {mean(b):.0f} %")
            vv = name in VV_EXPLORERS
            cases.append(similar(mean(a) - mean(b)) if vv else larger(a.column("success"), b.column("success")))
    yield claim_of(
        "4.1.4",
        "Figure 17, zero init.: the prison and distractors affect the performance of all algorithms but vv",
        f"success in toy and in prison, first the short, then the long horizon: {', '.join(parts)}",
        *cases,
    )


def _wall(cells: Groups) -> Iterator[Claim]:
    found = find(cells, "wall", "zero", OTHERS)
    n, runs = collected(found)
    beyond = {cell: int(group.column("beyond_the_wall").sum()) for cell, group in found.items()}
    some = ", ".join(f"{cell.algorithm} ({cell.horizon} horizon) {k}" for cell, k in beyond.items() if k)
    yield claim_of(
        "4.1.4",
        "wall, zero init.: every other algorithm cannot go beyond the wall and find even the reward of 500",
        f"at least {sum(beyond.values())} of {runs} runs go beyond the wall: {some}; {n} of {runs} end with a policy "
        "to a reward behind it. The first area and its passage are 1,525 of 2,425 states, 62.9 %; the paper's own "
        "Table 8 has 65.28 and 70.51 % for random",
        *(never(k, runs, paper_runs=PAPER_SEEDS * len(found)) for k in (sum(beyond.values()), n)),
    )


def _wall_vv(cells: Groups) -> Iterator[Claim]:
    ucb, count = (
        [step for group in find(cells, "wall", "zero", (name,)).values() for step in steps(group)]
        for name in VV_EXPLORERS
    )
    yield claim_of(
        "4.1.4",
        "wall, zero init.: the UCB reward performs slightly better than the count reward",
        f"median steps until learnt: vv-ucb {step_text(float(np.median(ucb)))}, vv-count "
        f"{step_text(float(np.median(count)))}",
        larger(count, ucb),
    )


CHECKS: tuple[Check, ...] = (
    _only_vv,
    _horizons,
    _guarantee,
    _deep_sea,
    all_learn("4.1.1", "deep-sea", "optimistic", ("thompson",),
        "deep sea, opt. init.: Thompson sampling also converges to the optimal policy"),
    _deep_sea_optimistic,
    none_collects("4.1.2", "taxi", "zero", ENSEMBLES,
        "taxi, zero init.: no bootstrap learns to collect all passengers, even with a long horizon"),
    _taxi_bootstraps,
    _taxi_prior,
    all_learn("4.1.2", "taxi", "zero", VV_EXPLORERS,
        "taxi, zero init.: vv quickly discovers all states and learns the optimal policy", discover=True),
    only_vv_solves("4.1.2", "taxi",
        "Figure 10: vv are the only algorithms that solve the taxi without optimistic init."),
    _taxi_others,
    _taxi_optimistic,
    none_collects("4.1.2", "taxi", "optimistic", ("random",),
        "taxi, opt. init.: random exploration still cannot pick all passengers"),
    local_optima("4.1.3", "deep-gridworld",
        "deep gridworld, zero init.: all algorithms except vv get stuck in local optima, the smaller treasures"),
    all_learn("4.1.3", "deep-gridworld", "optimistic", _OTHERS_THAT_LEARN,
        "deep gridworld, opt. init.: all algorithms except random learn to navigate through the corridor"),
    none_collects("4.1.3", "deep-gridworld", "optimistic", ("random",),
        "deep gridworld, opt. init.: random exploration does not"),
    all_learn("4.1.3", "deep-gridworld", "zero", VV_EXPLORERS,
        "deep gridworld, zero init.: vv quickly discovers all states and learns to navigate through the corridor",
        discover=True),
    only_vv_solves("4.1.3", "deep-gridworld",
        "Figure 12: vv are the only algorithms that solve the deep gridworld without optimistic init."),
    _toy,
    _toy_overlap,
    _toy_horizon,
    local_optima("4.1.4", "prison",
        "prison, zero init.: the other algorithms cannot find the highest reward even with a long horizon, and "
        "all converge to local optima"),
    _prison,
    _wall,
    _wall_vv,
)  # fmt: skip
