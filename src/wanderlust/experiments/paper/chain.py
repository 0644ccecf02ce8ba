"""Section 4.2.4: a stochastic chain without end, learnt without memory: who finds its far end, and when for good."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.experiments.paper.registry import Choice, Study
from wanderlust.experiments.reports.claims import Claim, judged
from wanderlust.experiments.reports.complexity import as_complexity, complexity_report
from wanderlust.experiments.reports.figures.chain import CountsOverTime, ErrorsOverTime, counts_figure, msve_figure
from wanderlust.experiments.reports.figures.scaling import Complexity, epsilon_figure, scaling_figure
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.store import Stored
from wanderlust.experiments.value_measures import GAPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORLDS = ("chain",)
EXPLORERS = ("vv-ucb", "vv-count", "thompson", "ucb1", "bonus", "epsilon-greedy")
"""Bootstraps choose a table per episode, and here is only one."""
OURS = ("vv-ucb", "vv-count")
LENGTHS = range(5, 60, 2)
QUICK_LENGTHS = (5, 11, 17, 27)
EPSILONS = (1e-5, 1e-11, 1e-22)
SHOWN_LENGTHS = (27, 55)
COUNTED_LENGTH = 27
LIMIT = 200_000
SEEDS = 50

_EVERY = 1000


def runs(choice: Choice) -> list[Run]:
    """Return length x explorer x seed; every single step's policy is solved."""
    return [
        Run(
            world=world,
            world_options={"length": length},
            explorer=explorer,
            preset=choice.preset,
            seed=seed,
            settings={"evaluate_every": _EVERY},
            measure="values",
        )
        for world in choice.of_worlds(WORLDS)
        for length in (QUICK_LENGTHS if choice.quick else LENGTHS)
        for explorer in choice.of_explorers(EXPLORERS)
        for seed in choice.of_seeds(SEEDS, 3)
    ]


class Chains:
    """What the runs gave, sorted for tables and figures."""

    def __init__(self, asked: list[Run]) -> None:
        self.lengths = sorted({run.world_options["length"] for run in asked})
        self.explorers = list(dict.fromkeys(run.explorer for run in asked))
        self.bad_steps: dict[tuple[str, int, int], NDArray[Any]] = {}
        """[ε] of (explorer, length, seed)."""
        self.ends_good: dict[tuple[str, int, int], NDArray[Any]] = {}
        self.errors: dict[tuple[str, int], list[NDArray[Any]]] = {}
        self.moments: dict[tuple[str, int], NDArray[Any]] = {}
        self.counts: dict[str, CountsOverTime] = {}
        self.found_end: dict[tuple[str, int], list[int]] = {}
        """The step at which the last state was first acted in, of (explorer, length); -1 for never."""
        self.crowded: dict[tuple[str, int], list[float]] = {}
        """How many of the steps after that were spent in the last three states, as a share."""

    def add(self, stored: Stored) -> None:
        """Add a run."""
        run, result = stored.run, stored.result
        length = run.world_options["length"]
        key, run_key = (run.explorer, length), (run.explorer, length, run.seed)
        self.bad_steps[run_key], self.ends_good[run_key] = result.bad_steps, result.ends_good
        self.errors.setdefault(key, []).append(result.value_errors)
        self.moments[key] = result.moments
        self.found_end.setdefault(key, []).append(int(result.first_visit[-1]))
        if length == COUNTED_LENGTH and run.explorer not in self.counts:
            self.counts[run.explorer] = CountsOverTime(result.moments, result.visits_by_moment)
        if result.first_visit[-1] >= 0:
            after = result.visits_by_moment[-1] - _counts_until(result, int(result.first_visit[-1]))
            self.crowded.setdefault(key, []).append(float(after[-3:].sum() / max(after.sum(), 1)))

    def against_length(self, epsilon: float) -> dict[str, Complexity]:
        """Return the sample complexity of every length and seed, by explorer."""
        at = _index(epsilon)
        found: dict[str, dict[float, dict[int, tuple[float, bool]]]] = {}
        for (explorer, length, seed), steps in self.bad_steps.items():
            good = bool(self.ends_good[explorer, length, seed][at])
            found.setdefault(explorer, {}).setdefault(length, {})[seed] = (max(float(steps[at]), 1.0), good)
        return {explorer: as_complexity(found[explorer]) for explorer in self.explorers if explorer in found}

    def against_epsilon(self, length: int) -> dict[str, Complexity]:
        """Return the sample complexity of every ε and seed, by explorer."""
        made = {}
        for explorer in self.explorers:
            keys = [key for key in self.bad_steps if key[:2] == (explorer, length)]
            if keys:
                steps = np.stack([np.maximum(self.bad_steps[key], 1).astype(float) for key in keys], axis=1)
                made[explorer] = Complexity(GAPS, steps, np.stack([self.ends_good[key] for key in keys], axis=1))
        return made

    def errors_over_time(self, length: int) -> dict[str, ErrorsOverTime]:
        """Return the value errors of every seed, by explorer."""
        return {
            explorer: ErrorsOverTime(self.moments[explorer, length], np.stack(self.errors[explorer, length]))
            for explorer in self.explorers
            if (explorer, length) in self.errors
        }


def _index(epsilon: float) -> int:
    return int(np.abs(np.log10(GAPS[1:]) - np.log10(epsilon)).argmin()) + 1


def _counts_until(result: Result, step: int) -> NDArray[Any]:
    """Return the counts at the last moment before a step."""
    moments, counts = result.moments, result.visits_by_moment
    at = int(np.searchsorted(moments, step, side="right")) - 1
    return np.asarray(counts[at] if at >= 0 else np.zeros_like(counts[0]))


def collected(asked: list[Run], stored: Iterable[Stored]) -> Chains:
    """Sort the runs."""
    chains = Chains(asked)
    for each in stored:
        chains.add(each)
    return chains


def report(asked: list[Run], stored: Iterable[Stored], note: str) -> Report:
    """Return the sample complexities with their exponents, and the figures."""
    chains = collected(asked, stored)
    panels = {f"ε = {epsilon:g}": chains.against_length(epsilon) for epsilon in EPSILONS}
    made = complexity_report("Sample complexity of the chain", panels, size="length N", limit=LIMIT, note=note)
    lengths = [length for length in SHOWN_LENGTHS if length in chains.lengths]
    by_length = {f"N = {length}": chains.against_epsilon(length) for length in lengths}
    errors = {f"N = {length}": chains.errors_over_time(length) for length in lengths}
    figures: dict[str, Callable[[], Figure]] = {}
    if chains.bad_steps:
        figures["sample-complexity"] = functools.partial(
            scaling_figure,
            "Sample complexity of the chain",
            panels,
            x_name="length N",
            y_name="steps that are not ε-optimal",
            limit=LIMIT,
            note=note,
        )
    if chains.counts:
        title = f"Visits to the chain of {COUNTED_LENGTH} states over time"
        figures["counts"] = functools.partial(counts_figure, title, chains.counts, note=note)
    if any(by_length.values()):
        figures["accuracy"] = functools.partial(
            epsilon_figure,
            "Sample complexity against ε",
            by_length,
            y_name="steps that are not ε-optimal",
            limit=LIMIT,
            note=note,
        )
        figures["value-error"] = functools.partial(msve_figure, "Error of the value function", errors, note=note)
    return made._replace(figures=figures, claims=claims_of(chains, panels))


def claims_of(chains: Chains, panels: Mapping[str, Mapping[str, Complexity]]) -> list[Claim]:
    """Return what Section 4.2.4 says in words."""
    return [*_exponents(panels), *_sensitivity(chains), *_errors(chains), *_ucb1(chains)]


def _exponents(panels: Mapping[str, Mapping[str, Complexity]]) -> list[Claim]:
    claims = []
    for explorer in OURS:
        fits = [by_explorer[explorer].fit() for by_explorer in panels.values() if explorer in by_explorer]
        found = [fit.exponent.estimate for fit in fits if fit is not None]
        if len(found) == len(EPSILONS):
            claims.append(
                judged(
                    "4.2.4",
                    f"{explorer}: the sample complexity grows like N^2.5",
                    f"exponents {', '.join(f'{each:.2f}' for each in found)} for ε = "
                    f"{', '.join(f'{each:g}' for each in EPSILONS)}",
                    holds=all(2.2 <= each <= 2.8 for each in found),
                    partly=all(each <= 3.0 for each in found),
                )
            )
    return claims


def _sensitivity(chains: Chains) -> list[Claim]:
    """Return by how much a smaller ε makes the sample complexity larger, in the shown lengths."""
    large, small = _index(EPSILONS[0]), 0
    growth: dict[str, float] = {}
    for explorer in chains.explorers:
        keys = [key for key in chains.bad_steps if key[0] == explorer and key[1] in SHOWN_LENGTHS]
        if keys:
            before, after = (np.mean([chains.bad_steps[key][at] for key in keys]) for at in (large, small))
            growth[explorer] = float(after / max(before, 1.0))
    if any(explorer not in growth for explorer in OURS):
        return []
    worst = max(growth[explorer] for explorer in OURS)
    words = ", ".join(f"{explorer} {each:.2f}" for explorer, each in growth.items())
    return [
        judged(
            "4.2.4",
            "the sample complexity of vv hardly depends on ε",
            f"mean steps with ε = 0 over those with ε = 1e-5, N = 27 and 55: {words}",
            holds=worst <= 2.0,
            partly=worst <= 4.0,
        )
    ]


def _errors(chains: Chains) -> list[Claim]:
    """Return whether only W learns the values of all states."""
    last: dict[str, float] = {}
    for explorer in chains.explorers:
        found = [errors[-1] for length in SHOWN_LENGTHS for errors in chains.errors.get((explorer, length), [])]
        if found:
            last[explorer] = float(np.mean(found))
    if any(explorer not in last for explorer in OURS) or len(last) <= len(OURS):
        return []
    ours, others = max(last[name] for name in OURS), min(each for name, each in last.items() if name not in OURS)
    words = ", ".join(f"{explorer} {each:.3g}" for explorer, each in last.items())
    return [
        judged(
            "4.2.4",
            "only vv ends with a mean squared value error close to zero",
            f"mean at the end, N = 27 and 55: {words}",
            holds=ours < 1e-3 and others > 100 * max(ours, 1e-3),
            partly=ours < others,
        )
    ]


def _ucb1(chains: Chains) -> list[Claim]:
    steps = [step for step in chains.found_end.get(("ucb1", COUNTED_LENGTH), []) if step >= 0]
    if not steps:
        return []
    median = float(np.median(steps))
    crowded = 100.0 * float(np.mean(chains.crowded["ucb1", COUNTED_LENGTH]))
    ours = [100.0 * float(np.mean(chains.crowded[name, COUNTED_LENGTH])) for name in OURS]
    return [
        judged(
            "4.2.4",
            "UCB1 finds the reward around step 1,000 (N = 27)",
            f"median step {median:,.0f}, from {min(steps):,} to {max(steps):,}",
            holds=500 <= median <= 2000,
            partly=250 <= median <= 4000,
        ),
        judged(
            "4.2.4",
            "from then on UCB1 acts greedily, while vv explores for longer",
            f"steps after the discovery that were spent in the last three states: UCB1 {crowded:.1f} %, "
            f"{', '.join(f'{name} {each:.1f} %' for name, each in zip(OURS, ours, strict=True))}",
            holds=crowded > 95.0 and crowded > max(ours),
            partly=crowded > 80.0,
        ),
    ]


STUDY = Study(
    id="chain",
    place="Section 4.2.4",
    what="a stochastic chain without end, without memory: sample complexity, value error, counts; 28 lengths",
    runs=runs,
    report=report,
    quick="3 seeds instead of 50; lengths 5, 11, 17, 27 instead of 5, 7, …, 59",
)
