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
    LEARNT,
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
_BEHIND_THE_WALL = 1.0
"""Success in `wall`, in percent: the reward of 500 behind the wall is worth more, all rewards before it less."""
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


def none_learns(place: str, world: str, initial: str, names: Sequence[str], claim: str) -> Check:
    """Return a check that no run of some explorers learns."""

    def check(cells: Groups) -> Iterator[Claim]:
        found = find(cells, world, initial, names)
        n, runs = solved(found)
        yield claim_of(place, claim, f"{n:,} of {runs:,} runs did", never(n, runs, paper_runs=PAPER_SEEDS * len(found)))

    return check


def all_learn(
    place: str, world: str, initial: str, names: Sequence[str], claim: str, *, discover: bool = False
) -> Check:
    """Return a check that all runs of some explorers learn, and discover all states."""

    def check(cells: Groups) -> Iterator[Claim]:
        found = find(cells, world, initial, names)
        missed = (column(found) < LEARNT) | (discover & (column(found, "discovery") < _ALL))
        n, runs = int(missed.sum()), len(missed)
        judged = never(n, runs, paper_runs=PAPER_SEEDS * len(found))
        yield claim_of(place, claim, f"{n:,} of {runs:,} runs do not", judged)

    return check


def local_optima(place: str, world: str, claim: str) -> Check:
    """Return a check that no algorithm except vv learns, with zero initialization."""

    def check(cells: Groups) -> Iterator[Claim]:
        found = find(cells, world, "zero", OTHERS)
        n, total = solved(found)
        best, group = max(found.items(), key=lambda item: mean(item[1]))
        text = (
            f"{n:,} of {total:,} runs learnt; best cell: {best.algorithm}, {best.horizon} horizon, success "
            f"{mean(group):.1f} %"
        )
        yield claim_of(place, claim, text, never(n, total, paper_runs=PAPER_SEEDS * len(found)))

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
    learnt, runs = solved(rest)
    yield claim_of(
        "4.1.1",
        "deep sea, zero init.: only vv and the two bootstraps discover all states and converge to the optimal policy "
        "within the limit",
        f"runs that do not: {text}; {learnt} of {runs} runs of the other explorers learnt. The paper's own table has "
        "99.90 and 99.77 % discovery for the bootstraps",
        *(never(n, len(g), paper_runs=PAPER_SEEDS) for n, g in zip(incomplete.values(), both.values(), strict=True)),
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
    pair = find(cells, "deep-sea", "optimistic", ("random-prior", "vv-ucb"))
    differences = curve_differences(*pair.values())
    yield claim_of(
        "4.1.1",
        "deep sea, opt. init.: the bootstrap with a random prior matches vv-ucb; the lines almost overlap",
        f"differences of the means over the run: discovery {differences[0]:+.1f}, return {differences[1]:+.1f} "
        f"points; median steps until learnt: {steps_text(pair)}",
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
    with_long, with_short, of_others = solved(long), solved(short), solved(others)
    success = column(short | others)
    some = int(((success > 0.0) & (success < LEARNT)).sum())
    exceptions, runs = solved(short | others)
    yield claim_of(
        "4.1.2",
        "taxi, zero init.: other algorithms learned to pick one or two passengers, and only the bonus learned to pick "
        "all passengers in some seeds, but only with a long horizon",
        f"bonus: {with_long[0]} of {with_long[1]} runs pick all with the long, {with_short[0]} of {with_short[1]} with "
        f"the short horizon; UCB1, ε-greedy and random: {of_others[0]:,} of {of_others[1]:,}; of these and the bonus "
        f"with the short horizon, {some:,} of {runs:,} pick one or two, the rest none",
        mostly(some, runs),
        mostly(min(with_long[0], 1), 1),
        never(exceptions, runs, paper_runs=PAPER_SEEDS * len(short | others)),
    )


def _taxi_optimistic(cells: Groups) -> Iterator[Claim]:
    found = find(cells, "taxi", "optimistic", _OTHERS_THAT_LEARN)
    gaps = {}
    for cell, group in found.items():
        vv = min(mean(cells[cell._replace(algorithm=name)]) for name in VV_EXPLORERS)
        gaps[cell] = vv - mean(group)
    matching = sum(abs(gap) <= 5.0 for gap in gaps.values())
    yield claim_of(
        "4.1.2",
        "taxi, opt. init.: most of the algorithms match the performance of vv",
        f"final success is within 5 points of vv's in {matching} of {len(found)} cells",
        mostly(matching, len(found)),
    )
    slow = {cell: group for cell, group in found.items() if cell.algorithm in ("epsilon-greedy", "bonus")}
    rest = {cell: group for cell, group in found.items() if cell not in slow}
    yield claim_of(
        "4.1.2",
        "taxi, opt. init.: ε-greedy and the bonus learn slowly",
        f"median steps until learnt: {steps_text(slow)}; the slowest of the others: "
        f"{step_text(max(map(median_step, rest.values())))}",
        *(
            larger(steps(group), steps(other))
            for cell, group in slow.items()
            for name, other in rest.items()
            if name.horizon == cell.horizon
        ),
    )


def _toy(cells: Groups) -> Iterator[Claim]:
    good = find(cells, "toy", "zero", ("random-prior", "bootstrapped", "bonus"), "short")
    vv = find(cells, "toy", "zero", VV_EXPLORERS, "short")
    slower = [step for group in vv.values() for step in steps(group)]
    yield claim_of(
        "4.1.4",
        "toy, zero init., short horizon: the bootstraps and the bonus perform well, but cannot match vv",
        f"learnt: {', '.join(f'{c.algorithm} {solved({c: g})[0]} of {len(g)}' for c, g in good.items())}; median steps "
        f"until learnt: {steps_text(good)}; {steps_text(vv)}",
        *(mostly(*solved({cell: group})) for cell, group in good.items()),
        *(larger(steps(group), slower) for group in good.values()),
    )
    differences = curve_differences(*vv.values())
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


def _wall(cells: Groups) -> Iterator[Claim]:
    found = find(cells, "wall", "zero", OTHERS)
    best = {cell: group.column("success").max() for cell, group in found.items()}
    first = max(best, key=lambda cell: best[cell])
    values = column(found)
    passed = int((values > _BEHIND_THE_WALL).sum())
    yield claim_of(
        "4.1.4",
        "wall, zero init.: every other algorithm cannot go beyond the wall and find even the reward of 500",
        f"{passed:,} of {len(values):,} runs end with a policy that does, which is what we measure; the largest "
        f"success is {best[first]:.2f} % "
        f"({first.algorithm})",
        never(passed, len(values), paper_runs=PAPER_SEEDS * len(found)),
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
    none_learns("4.1.2", "taxi", "zero", ENSEMBLES,
        "taxi, zero init.: no bootstrap learns to collect all passengers, even with a long horizon"),
    _taxi_prior,
    all_learn("4.1.2", "taxi", "zero", VV_EXPLORERS,
        "taxi, zero init.: vv discovers all states and learns the optimal policy", discover=True),
    _taxi_others,
    _taxi_optimistic,
    none_learns("4.1.2", "taxi", "optimistic", ("random",),
        "taxi, opt. init.: random exploration still cannot pick all passengers"),
    local_optima("4.1.3", "deep-gridworld",
        "deep gridworld, zero init.: all algorithms except vv get stuck in local optima, the smaller treasures"),
    all_learn("4.1.3", "deep-gridworld", "optimistic", _OTHERS_THAT_LEARN,
        "deep gridworld, opt. init.: all algorithms except random learn to navigate through the corridor"),
    none_learns("4.1.3", "deep-gridworld", "optimistic", ("random",),
        "deep gridworld, opt. init.: random exploration does not"),
    _toy,
    _toy_horizon,
    local_optima("4.1.4", "prison",
        "prison, zero init.: the other algorithms cannot find the highest reward even with a long horizon, and "
        "all converge to local optima"),
    _wall,
    _wall_vv,
)  # fmt: skip
