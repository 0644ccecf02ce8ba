"""The statements of Section 4.1, checked against the runs of the recap tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from wanderlust.experiments.execute.progress import ENSEMBLES
from wanderlust.experiments.run import OPTIMAL_SUCCESS
from wanderlust.experiments.table import Group
from wanderlust_paper.claims import Check, Claim, Groups, at_least, check_claim, larger, never, similar, step_text
from wanderlust_paper.registry import OTHERS, VV_EXPLORERS
from wanderlust_paper.reports.recap_tables import PAPER_SEEDS, Cell

NEAR_OPTIMAL = 95.0
"""Success, in percent, from which an algorithm matches vv."""
_BOOTSTRAPS = ("random-prior", "bootstrapped")
_OTHERS_THAT_LEARN = OTHERS[:-1]
_BEHIND_THE_WALL = 1.0
"""Success in `wall`, in percent: the reward of 500 behind the wall is worth more, all rewards before it less."""
_NEVER = 1e9
"""The step of seeds that never learnt, for tests that compare ranks."""


def find(cells: Groups, world: str, initial: str, names: Sequence[str], horizon: str = "") -> dict[Cell, Group]:
    """Return the cells of a scenario in the order of `names`, by default with both horizons.

    All of them have runs. The deep sea has the horizon "fixed".
    """
    horizons = ("fixed",) if world == "deep-sea" else (horizon,) if horizon else ("short", "long")
    wanted = [Cell(world, initial, each, name) for each in horizons for name in names]
    return {cell: cells[cell] for cell in wanted}


def solved(cells: dict[Cell, Group]) -> tuple[int, int]:
    """Return the number of runs that learnt an optimal policy, and the number of runs."""
    success = np.concatenate([group.column("success") for group in cells.values()])
    return int((success >= OPTIMAL_SUCCESS).sum()), len(success)


def mean(group: Group, name: str = "success") -> float:
    """Return the mean of a column."""
    return float(group.column(name).mean())


def steps(group: Group) -> list[float]:
    """Return the step from which the policy of each seed was optimal; a large number for never."""
    return [_NEVER if np.isnan(step) else float(step) for step in group.column("steps_to_learn")]


def steps_text(cells: dict[Cell, Group]) -> str:
    """Return the median steps of some cells as text, with the horizon where an algorithm has several cells."""
    has_both = len({cell.algorithm for cell in cells}) < len(cells)
    return ", ".join(
        f"{cell.algorithm}{f' ({cell.horizon} horizon)' if has_both else ''} {step_text(group.median_step())}"
        for cell, group in cells.items()
    )


def curve_differences(one: Group, other: Group) -> list[float]:
    """Return the differences of discovery and success, averaged over the whole run, in points."""
    return [mean(one, name) - mean(other, name) for name in ("mean_discovery", "mean_success")]


def none_learns(place: str, world: str, initial: str, names: Sequence[str], claim: str) -> Check:
    """Return a check that no run of some explorers learns an optimal policy."""

    def check(cells: Groups) -> Iterator[Claim]:
        found = find(cells, world, initial, names)
        yield never(place, claim, *solved(found), paper_runs=PAPER_SEEDS * len(found))

    return check


def all_learn(place: str, world: str, initial: str, names: Sequence[str], claim: str) -> Check:
    """Return a check that all runs of some explorers learn an optimal policy."""

    def check(cells: Groups) -> Iterator[Claim]:
        found = find(cells, world, initial, names)
        learnt, runs = solved(found)
        text = f"{runs - learnt:,} of {runs:,} runs do not"
        yield never(place, claim, runs - learnt, runs, paper_runs=PAPER_SEEDS * len(found), found=text)

    return check


def local_optima(place: str, world: str, claim: str) -> Check:
    """Return a check that no algorithm except vv learns an optimal policy, with zero initialization."""

    def check(cells: Groups) -> Iterator[Claim]:
        found = find(cells, world, "zero", OTHERS)
        n, total = solved(found)
        best, group = max(found.items(), key=lambda item: mean(item[1]))
        text = (
            f"{n:,} of {total:,} runs learnt an optimal policy; best cell: {best.algorithm}, {best.horizon} horizon, "
            f"success {mean(group):.1f} %. The paper's own table has means that need such seeds"
        )
        yield never(place, claim, n, total, paper_runs=PAPER_SEEDS * len(found), found=text)

    return check


def _only_vv(cells: Groups) -> Iterator[Claim]:
    """Count the cells in which all seeds discovered all states and learnt an optimal policy."""
    perfect: dict[str, list[bool]] = {}
    for cell, group in cells.items():
        lowest = [group.column(name).min() for name in ("discovery", "success")]
        perfect.setdefault(cell.algorithm, []).append(lowest[0] >= 100.0 and lowest[1] >= OPTIMAL_SUCCESS)
    vv = [each for name in VV_EXPLORERS for each in perfect.get(name, [])]
    if not vv or not set(OTHERS) <= set(perfect):
        return
    best = max((name for name in perfect if name in OTHERS), key=lambda name: np.mean(perfect[name]))
    yield check_claim(
        "Table 1, A.6",
        "only vv discovers all states and solves all tasks in all seeds",
        f"vv: {sum(vv)} of {len(vv)} cells at 100 ± 0; best other, {best}: {sum(perfect[best])} of "
        f"{len(perfect[best])}",
        tolerance="vv in all cells, and no other explorer; vv in all cells",
        holds=all(vv) and not any(all(perfect[name]) for name in OTHERS),
        partly=all(vv),
    )


def _horizons(cells: Groups) -> Iterator[Claim]:
    short = [cell for cell in cells if cell.algorithm in VV_EXPLORERS and cell.horizon == "short"]
    pairs = [(cells[cell], cells[long]) for cell in short if (long := cell._replace(horizon="long")) in cells]
    if not pairs:
        return
    worst = min(mean(long) for _, long in pairs)
    ratio = float(np.median([long.median_step() / short.median_step() for short, long in pairs]))
    yield check_claim(
        "4.1",
        "the length of the horizon does not affect the performance of vv",
        f"lowest success with the long horizon: {worst:.2f} %; median ratio of the steps until learnt, long to "
        f"short: {ratio:.2f}",
        tolerance="success 100 % and a ratio of at most 1.25; success ≥ 95 %",
        holds=worst >= OPTIMAL_SUCCESS and ratio <= 1.25,
        partly=worst >= NEAR_OPTIMAL,
    )


def _guarantee(cells: Groups) -> Iterator[Claim]:
    """Check that optimistic initialization makes ε-greedy explore everything."""
    lowest: dict[str, float] = {}
    for cell, group in cells.items():
        if cell.algorithm == "epsilon-greedy" and cell.initialization == "optimistic":
            lowest[cell.environment] = min(mean(group, "discovery"), lowest.get(cell.environment, 100.0))
    if len(lowest) < 6:
        return
    others = [f"{percent:.2f} % in {world}" for world, percent in lowest.items() if percent < 100.0]
    complete = len(lowest) - len(others)
    yield check_claim(
        "4.1",
        "optimistic initialization guarantees to explore all the state-action pairs even with just ε-greedy",
        "; ".join([
            f"all states are discovered within the steps in {complete} of {len(lowest)} worlds",
            *([", ".join(others)] if others else []),
        ]),
        tolerance="in all worlds; in all but one",
        holds=not others,
        partly=len(others) == 1,
    )


def _deep_sea(cells: Groups) -> Iterator[Claim]:
    vv = find(cells, "deep-sea", "zero", VV_EXPLORERS)
    bootstraps = find(cells, "deep-sea", "zero", _BOOTSTRAPS)
    both = vv | bootstraps
    discovery = {cell.algorithm: mean(group, "discovery") for cell, group in both.items()}
    text = ", ".join(f"{name} {percent:.2f} %" for name, percent in discovery.items())
    yield check_claim(
        "4.1.1",
        "deep sea, zero init.: vv and both bootstraps discover all states",
        f"discovery: {text} (the paper's own table has 99.90 and 99.77 % for the bootstraps)",
        tolerance="100 % in every seed; at least 99.5 % on average",
        holds=all(group.column("discovery").min() >= 100.0 for group in both.values()),
        partly=min(discovery.values()) >= 99.5,
    )
    slower = max(group.median_step() for group in vv.values())
    faster = min(group.median_step() for group in bootstraps.values())
    yield at_least(
        "4.1.1",
        "deep sea, zero init.: both vv explorers learn at least twice as fast as the bootstraps",
        faster / slower,
        2.0,
        f"median steps until learnt: {steps_text(both)}; the slower vv is {faster / slower:.2f} times as fast as the "
        "faster bootstrap",
    )
    prior, other = bootstraps.values()
    yield larger(
        "4.1.1",
        "deep sea, zero init.: the bootstrap with a random prior comes second, before the other bootstrap",
        steps(other),
        steps(prior),
        f"median steps until learnt: {steps_text(bootstraps)}",
    )


def _deep_sea_optimistic(cells: Groups) -> Iterator[Claim]:
    pair = find(cells, "deep-sea", "optimistic", ("random-prior", "vv-ucb"))
    differences = curve_differences(*pair.values())
    yield similar(
        "4.1.1",
        "deep sea, opt. init.: the bootstrap with a random prior matches vv-ucb; the lines almost overlap",
        differences,
        f"differences of the means over the run: discovery {differences[0]:+.1f}, return {differences[1]:+.1f} "
        f"points; median steps until learnt: {steps_text(pair)}",
    )


def _taxi_prior(cells: Groups) -> Iterator[Claim]:
    prior = find(cells, "taxi", "zero", ("random-prior",))
    medians = {cell.horizon: float(np.median(group.column("last_discovery"))) for cell, group in prior.items()}
    text = ", ".join(f"{step:,.0f} ({horizon} horizon)" for horizon, step in medians.items())
    yield check_claim(
        "4.1.2",
        "taxi, zero init.: the bootstrap with a random prior does not discover new states after 750 to 1,000 steps",
        f"median step of the last discovery: {text}",
        tolerance="medians of at most 1,250 (25 % above 1,000); at most 2,000",
        holds=max(medians.values()) <= 1250,
        partly=max(medians.values()) <= 2000,
    )


def _taxi_bonus(cells: Groups) -> Iterator[Claim]:
    short, long = (find(cells, "taxi", "zero", ("bonus",), horizon) for horizon in ("short", "long"))
    others = find(cells, "taxi", "zero", ("ucb1", "epsilon-greedy", "random"))
    with_long, with_short, of_others = solved(long), solved(short), solved(others)
    if with_long[0]:
        yield never(
            "4.1.2",
            "taxi, zero init.: of the other algorithms only the bonus collects all passengers, in some seeds, and only "
            "with a long horizon",
            *solved(short | others),
            paper_runs=PAPER_SEEDS * len(short | others),
            found=f"bonus: {with_long[0]} of {with_long[1]} runs with the long, {with_short[0]} of {with_short[1]} "
            f"with the short horizon; UCB1, ε-greedy and random: {of_others[0]:,} of {of_others[1]:,}",
        )


def _taxi_optimistic(cells: Groups) -> Iterator[Claim]:
    found = find(cells, "taxi", "optimistic", _OTHERS_THAT_LEARN)
    zero = [cells[each] for cell in found if (each := cell._replace(initialization="zero")) in cells]
    counts = [sum(mean(group) >= NEAR_OPTIMAL for group in each) for each in (found.values(), zero)]
    yield check_claim(
        "4.1.2",
        "taxi, opt. init.: most algorithms match vv",
        f"{counts[0]} of {len(found)} cells reach {NEAR_OPTIMAL:.0f} % success, {counts[1]} with zero init.",
        tolerance="more than half of the cells; more than with zero init.",
        holds=counts[0] > len(found) / 2,
        partly=counts[0] > counts[1],
    )
    slow = {cell: group for cell, group in found.items() if cell.algorithm in ("epsilon-greedy", "bonus")}
    rest = [group.median_step() for cell, group in found.items() if cell not in slow]
    fastest = min(group.median_step() for group in slow.values())
    yield check_claim(
        "4.1.2",
        "taxi, opt. init.: ε-greedy and the bonus learn slowly",
        f"median steps until learnt: {steps_text(slow)}; the slowest of the others: {step_text(max(rest))}",
        tolerance="later than every other explorer except random; than most of them",
        holds=fastest > max(rest),
        partly=fastest > float(np.median(rest)),
    )


def _toy(cells: Groups) -> Iterator[Claim]:
    good = find(cells, "toy", "zero", ("random-prior", "bootstrapped", "bonus"), "short")
    vv = find(cells, "toy", "zero", VV_EXPLORERS, "short")
    worst, slower = min(map(mean, good.values())), max(group.median_step() for group in vv.values())
    later = all(group.median_step() > slower for group in good.values())
    yield check_claim(
        "4.1.4",
        "toy, zero init., short horizon: the bootstraps and the bonus perform well, but cannot match vv",
        f"lowest success of the three: {worst:.1f} %; median steps until learnt: {steps_text(good)}; {steps_text(vv)}",
        tolerance="success ≥ 95 % and later than both vv; one of the two",
        holds=worst >= NEAR_OPTIMAL and later,
        partly=worst >= NEAR_OPTIMAL or later,
    )
    differences = curve_differences(*vv.values())
    yield similar(
        "4.1.4",
        "toy, zero init., short horizon: the lines of the two vv explorers almost overlap",
        differences,
        f"differences of the means over the run: discovery {differences[0]:+.1f}, return {differences[1]:+.1f} points",
    )


def _toy_horizon(cells: Groups) -> Iterator[Claim]:
    names = ("ucb1", "epsilon-greedy", "random", "thompson")
    short, long = (find(cells, "toy", "zero", names, horizon).values() for horizon in ("short", "long"))
    texts, gains = [], []
    for name, before, after in zip(names, short, long, strict=True):
        text = f"{mean(before):.0f} → {mean(after):.0f} %"
        texts.append(f"{name} {text}")
        gains.append(mean(after) - mean(before))
        if name != "thompson":
            claim = f"toy, zero init.: a long horizon helps {name}"
            yield larger("4.1.4", claim, after.column("success"), before.column("success"), f"success {text}")
    yield check_claim(
        "4.1.4",
        "toy, zero init.: a long horizon helps the remaining algorithms except Thompson sampling",
        f"success with the short → the long horizon: {'; '.join(texts)}. The paper's own table has 40 → 70 % for "
        "Thompson sampling",
        tolerance="Thompson sampling gains at most 5 points; less than every other",
        holds=gains[-1] <= 5.0,
        partly=gains[-1] < min(gains[:-1]),
    )


def _wall(cells: Groups) -> Iterator[Claim]:
    found = find(cells, "wall", "zero", OTHERS)
    best = {cell: group.column("success").max() for cell, group in found.items()}
    first = max(best, key=lambda cell: best[cell])
    values = np.concatenate([group.column("success") for group in found.values()])
    passed = int((values > _BEHIND_THE_WALL).sum())
    yield never(
        "4.1.4",
        "wall, zero init.: no algorithm except vv learns to pass the wall, not even to the reward of 500",
        passed,
        len(values),
        paper_runs=PAPER_SEEDS * len(found),
        found=f"{passed:,} of {len(values):,} runs did; the largest success is {best[first]:.2f} % ({first.algorithm})",
    )


def _wall_vv(cells: Groups) -> Iterator[Claim]:
    ucb, count = (
        [step for group in find(cells, "wall", "zero", (name,)).values() for step in steps(group)]
        for name in VV_EXPLORERS
    )
    yield larger(
        "4.1.4",
        "wall, zero init.: the UCB reward performs slightly better than the count reward",
        count,
        ucb,
        f"median steps until learnt: vv-ucb {step_text(float(np.median(ucb)))}, vv-count "
        f"{step_text(float(np.median(count)))}",
    )


CHECKS: tuple[Check, ...] = (
    _only_vv,
    _horizons,
    _guarantee,
    none_learns("4.1.1", "deep-sea", "zero", ("thompson", "ucb1", "bonus", "epsilon-greedy", "random"),
        "deep sea, zero init.: Thompson sampling, UCB1, the bonus, ε-greedy and random do not learn"),
    _deep_sea,
    all_learn("4.1.1", "deep-sea", "optimistic", ("thompson",),
        "deep sea, opt. init.: Thompson sampling also converges to the optimal policy"),
    _deep_sea_optimistic,
    none_learns("4.1.2", "taxi", "zero", ENSEMBLES,
        "taxi, zero init.: no bootstrap learns to collect all passengers, even with a long horizon"),
    _taxi_prior,
    all_learn("4.1.2", "taxi", "zero", VV_EXPLORERS,
        "taxi, zero init.: vv discovers all states and learns the optimal policy"),
    _taxi_bonus,
    _taxi_optimistic,
    none_learns("4.1.2", "taxi", "optimistic", ("random",),
        "taxi: random exploration does not collect all passengers, even with opt. init."),
    local_optima("4.1.3", "deep-gridworld",
        "deep gridworld, zero init.: all algorithms except vv get stuck in local optima, the smaller treasures"),
    all_learn("4.1.3", "deep-gridworld", "optimistic", _OTHERS_THAT_LEARN,
        "deep gridworld, opt. init.: all algorithms except random learn to navigate through the corridor"),
    none_learns("4.1.3", "deep-gridworld", "optimistic", ("random",),
        "deep gridworld: random exploration does not learn it, even with opt. init."),
    _toy,
    _toy_horizon,
    local_optima("4.1.4", "prison",
        "prison, zero init.: the other algorithms cannot find the highest reward even with a long horizon, and "
        "all converge to local optima"),
    _wall,
    _wall_vv,
)  # fmt: skip
