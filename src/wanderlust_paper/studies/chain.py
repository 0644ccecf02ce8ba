"""Section 4.2.4, Figures 23, 25 and 26: sample complexity and value error in the infinite-horizon stochastic chain."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wanderlust import Run
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.curves import thinned
from wanderlust.experiments.run import Result, evenness
from wanderlust.experiments.store import StoredRun
from wanderlust.experiments.table import Group, Row, group_rows, row_of
from wanderlust.experiments.world_run import THRESHOLDS
from wanderlust_paper import claims
from wanderlust_paper.claims import Check, Claim, Found, Groups, NoRuns, about, check_all, check_claim, larger
from wanderlust_paper.figures.chain_figures import CountsOverTime, ErrorsOverTime, counts_figure, msve_figure
from wanderlust_paper.figures.scaling import (
    SampleComplexity,
    build_complexity,
    complexity_report,
    epsilon_figure,
    scaling_figure,
)
from wanderlust_paper.registry import VV_EXPLORERS, Report, Study, StudySelection
from wanderlust_paper.summary_file import reduced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORLDS = ("chain",)
OTHERS = ("thompson", "ucb1", "bonus", "epsilon-greedy")
"""Bootstrapped explorers choose a Q-table per episode; the chain has a single infinite episode."""
EXPLORERS = (*VV_EXPLORERS, *OTHERS)
LENGTHS = range(5, 60, 2)
QUICK_LENGTHS = (5, 11, 17, 27)
SEEDS = 50
EPSILONS = (1e-5, 1e-11, 1e-22)
FIGURE_26_LENGTHS = (27, 55)
FIGURE_23_LENGTH = 27
STEP_LIMIT = 200_000
KEPT_MOMENTS = 60
"""The moments of a run that figures and claims use: enough for both, and few in the summary of the runs."""
_TITLE = "Sample complexity of the chain"
_STEPS = "sample complexity, all seeds (steps)"
_PLACE = "4.2.4"


def runs(selection: StudySelection) -> list[Run]:
    """Return length x explorer x seed; V^π of the greedy policy is computed after every step."""
    return [
        Run(
            world=world,
            world_options={"length": length},
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"evaluate_every": 1000},
            measure="values",
        )
        for world in selection.select_worlds(WORLDS)
        for length in (QUICK_LENGTHS if selection.quick else LENGTHS)
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(SEEDS, 3)
    ]


# --- The table of runs -----------------------------------------------------------------------------------


class Exploration(NamedTuple):
    """How one run explored the chain."""

    found: float
    """The step of the first visit of the last state; infinite for never."""
    evenness: float
    """The entropy of the visits until then, or until the end, in percent of the maximum."""
    goal_share: float
    """The share of the steps after that in the last three states; NaN if it was never found."""
    start_share: float
    """The share of all steps in the first three states."""


def exploration(result: Result) -> Exploration:
    """Return how a run explored: until it found the last state, and from then on."""
    found = int(result.first_visit[-1])
    kept = thinned(len(result.moments), KEPT_MOMENTS)
    moments, counts = result.moments[kept], result.visits_by_moment[kept]
    at = int(np.searchsorted(moments, found, side="right")) - 1 if found >= 0 else len(moments) - 1
    until = counts[at] if at >= 0 else np.zeros_like(counts[0])
    after = counts[-1] - until
    return Exploration(
        found=float(found) if found >= 0 else math.inf,
        evenness=evenness(until, counts.shape[1]) if until.any() else 0.0,
        goal_share=float(after[-3:].sum() / max(after.sum(), 1)) if found >= 0 else math.nan,
        start_share=float(counts[-1][:3].sum() / counts[-1].sum()),
    )


def _columns(run: Run, result: Result) -> dict[str, Any]:
    """Return the part of a result that the report uses."""
    columns: dict[str, Any] = {"bad_steps": result.bad_steps, "ends_good": result.ends_good}
    length = run.world_options["length"]
    if length in FIGURE_26_LENGTHS:
        kept = thinned(len(result.moments), KEPT_MOMENTS)
        columns |= {"moments": result.moments[kept], "value_errors": result.value_errors[kept]}
    return columns | (exploration(result)._asdict() if length == FIGURE_23_LENGTH else {})


def summarise(run: Run, result: Result) -> Result:
    """Return the part of a result that the report uses."""
    length, keep = run.world_options["length"], ["bad_steps", "ends_good", "first_visit"]
    if length in FIGURE_26_LENGTHS:
        keep += ["moments", "value_errors"]
    if length == FIGURE_23_LENGTH:
        keep.append("visits_by_moment")
    kept = reduced(result, keep=keep, max_points=1)
    kept = kept._replace(first_visit=kept.first_visit if length == FIGURE_23_LENGTH else kept.first_visit[:0])
    if length not in FIGURE_26_LENGTHS or (length == FIGURE_23_LENGTH and run.seed == 1):
        return kept  # The figure of the counts shows all moments of the first seed.
    part = thinned(len(kept.moments), KEPT_MOMENTS)
    counts = kept.visits_by_moment[part] if length == FIGURE_23_LENGTH else kept.visits_by_moment
    return kept._replace(moments=kept.moments[part], value_errors=kept.value_errors[part], visits_by_moment=counts)


def epsilon_index(epsilon: float) -> int:
    """Return the index of a threshold."""
    return int(np.abs(np.log10(THRESHOLDS[1:]) - np.log10(epsilon)).argmin()) + 1 if epsilon > 0 else 0


def _at(group: Group, name: str, epsilon: float) -> FloatArray:
    """Return a column of arrays for one ε."""
    return np.array([row[name][epsilon_index(epsilon)] for row in group.rows], float)


def complexity_by_length(groups: Groups, epsilon: float) -> Found[SampleComplexity]:
    """Return explorer -> the sample complexity of every length and seed (Figure 25)."""
    by_explorer: dict[str, dict[float, dict[int, tuple[float, bool]]]] = {}
    for (explorer, length), group in groups.items():
        steps, learnt = np.maximum(_at(group, "bad_steps", epsilon), 1.0), _at(group, "ends_good", epsilon) > 0
        by_seed = zip([row["seed"] for row in group.rows], zip(steps, learnt, strict=True), strict=True)
        by_explorer.setdefault(explorer, {})[length] = dict(by_seed)
    names = [name for name in EXPLORERS if name in by_explorer]
    return Found({name: build_complexity(by_explorer[name], every_seed=True) for name in names})


def complexity_by_epsilon(group: Group) -> SampleComplexity:
    """Return the sample complexity of every ε and seed (Figure 26)."""
    steps, learnt = (np.stack([row[name] for row in group.rows], axis=1) for name in ("bad_steps", "ends_good"))
    return SampleComplexity(THRESHOLDS, np.maximum(steps, 1).astype(float), learnt, every_seed=True)


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the sample complexities with their fitted exponents, and the figures."""
    rows: list[Row] = []
    counts: dict[str, CountsOverTime] = {}
    for each in stored:
        run, result, _ = each
        rows.append(row_of(each) | _columns(run, result))
        if run.world_options["length"] == FIGURE_23_LENGTH:
            counts.setdefault(run.explorer, CountsOverTime(result.moments, result.visits_by_moment))
    groups = Groups({group.label: group for group in group_rows(rows, by=("explorer", "length"))})
    panels = {f"ε = {epsilon:g}": complexity_by_length(groups, epsilon) for epsilon in EPSILONS}
    table = complexity_report(_TITLE, panels, size="length N", limit=STEP_LIMIT, note=note)
    all_lengths = {run.world_options["length"] for run in requested}
    lengths = [length for length in FIGURE_26_LENGTHS if length in all_lengths]
    by_length = {
        f"N = {length}": {name: groups[name, length] for name in EXPLORERS if (name, length) in groups}
        for length in lengths
    }
    figures: dict[str, Callable[[], Figure]] = {}
    options: dict[str, Any] = {"y_name": _STEPS, "limit": STEP_LIMIT, "note": note}
    if rows:
        figures["sample-complexity"] = functools.partial(scaling_figure, _TITLE, panels, x_name="length N", **options)
    if counts:
        title = f"Visit counts of the chain with {FIGURE_23_LENGTH} states over time"
        figures["counts"] = functools.partial(counts_figure, title, counts, note=note)
    if any(by_length.values()):
        by_epsilon = {
            panel: {name: complexity_by_epsilon(group) for name, group in lines.items()}
            for panel, lines in by_length.items()
        }
        errors = {
            panel: {
                name: ErrorsOverTime(group.rows[-1]["moments"], np.stack([row["value_errors"] for row in group.rows]))
                for name, group in lines.items()
            }
            for panel, lines in by_length.items()
        }
        figures["accuracy"] = functools.partial(epsilon_figure, "Sample complexity against ε", by_epsilon, **options)
        figures["value-error"] = functools.partial(msve_figure, "Mean squared value error", errors, note=note)
    return table._replace(figures=figures, claims=check_all(CHECKS, groups, panels))


# --- Claims ----------------------------------------------------------------------------------------------

Panels = Mapping[str, Found[SampleComplexity]]
"""ε -> explorer -> the sample complexity of every length and seed."""


def _all_lengths(groups: Groups, explorer: str, lengths: Sequence[int] = ()) -> list[Group]:
    """Return the groups of an explorer, of all lengths or of some of them."""
    found = [group for (name, n), group in groups.items() if name == explorer and (not lengths or n in lengths)]
    if not found:
        raise NoRuns(explorer)
    return found


def _mean_bad_steps(groups: Iterable[Group], epsilon: float) -> float:
    """Return the mean sample complexity over all seeds."""
    return float(np.concatenate([_at(group, "bad_steps", epsilon) for group in groups]).mean())


def _lengths_text(groups: Groups) -> str:
    lengths = {length for _, length in groups}
    return "N = " + " and ".join(str(length) for length in FIGURE_26_LENGTHS if length in lengths)


def _exponents(explorer: str, groups: Groups, panels: Panels) -> Iterator[Claim]:
    low, high = 2.5 - claims.EXPONENT, 2.5 + claims.EXPONENT
    laws = [panel[explorer].fit() for panel in panels.values()]
    fits = [law.exponent for law in laws if law is not None]
    if len(fits) == len(EPSILONS):
        texts = (f"{fit.estimate:.2f} [{fit.low:.2f}, {fit.high:.2f}]" for fit in fits)
        yield check_claim(
            _PLACE,
            f"{explorer}: the sample complexity grows like N^2.5 for all three ε",
            f"exponents {', '.join(texts)} for ε = {', '.join(f'{each:g}' for each in EPSILONS)}",
            tolerance=f"the 95 % intervals are inside {low:g} to {high:g}; they overlap",
            holds=all(low <= fit.low and fit.high <= high for fit in fits),
            partly=all(fit.low <= high and low <= fit.high for fit in fits),
        )


def _sensitivity(groups: Groups, panels: Panels) -> Iterator[Claim]:
    """Check how much the sample complexity grows when ε becomes smaller."""
    growth = {}
    for name in EXPLORERS:
        found = _all_lengths(groups, name, FIGURE_26_LENGTHS)
        growth[name] = _mean_bad_steps(found, 0.0) / max(_mean_bad_steps(found, EPSILONS[0]), 1.0)
    vv, others = ([growth[name] for name in names] for names in (VV_EXPLORERS, OTHERS))
    what = f"ratio of the mean steps of all seeds with ε = 0 to those with ε = {EPSILONS[0]:g}, {_lengths_text(groups)}"
    yield check_claim(
        _PLACE,
        "the sample complexity of vv only slightly increases as ε decreases",
        f"{what}: {', '.join(f'{name} {growth[name]:.2f}' for name in VV_EXPLORERS)}",
        tolerance="ratios ≤ 1.25; ≤ 2",
        holds=max(vv) <= 1.25,
        partly=max(vv) <= 2.0,
    )
    yield check_claim(
        _PLACE,
        "the other algorithms are highly influenced by ε",
        f"{what}: {', '.join(f'{name} {growth[name]:.2f}' for name in OTHERS)}; a run that never becomes ε-optimal has "
        f"{STEP_LIMIT:,} steps for every ε",
        tolerance="all ratios ≥ 2; some",
        holds=min(others) >= 2.0,
        partly=max(others) >= 2.0,
    )


def _at_zero(groups: Groups, panels: Panels) -> Iterator[Claim]:
    """Check that the sample complexity of the others is orders of magnitude higher with ε = 0."""
    parts, ratios = [], []
    for length in FIGURE_26_LENGTHS:
        means = {name: _mean_bad_steps([groups[name, length]], 0.0) for name in EXPLORERS}
        best = min(OTHERS, key=lambda name: means[name])
        ratios.append(means[best] / max(means[name] for name in VV_EXPLORERS))
        vv = ", ".join(f"{name} {means[name]:,.0f}" for name in VV_EXPLORERS)
        parts.append(f"N = {length}: {vv}, best other {best} {means[best]:,.0f}, {ratios[-1]:.0f} times the slower vv")
    yield check_claim(
        _PLACE,
        "with ε = 0 the sample complexity of the other algorithms is several orders of magnitude higher",
        f"mean steps of all seeds: {'; '.join(parts)}; no run has more than {STEP_LIMIT:,}",
        tolerance="at least 100 times for both N; at least 10 times for one",
        holds=min(ratios) >= 100.0,
        partly=max(ratios) >= 10.0,
    )


def _rarely(groups: Groups, panels: Panels) -> Iterator[Claim]:
    epsilon = EPSILONS[-1]
    good = {
        name: np.concatenate([_at(group, "ends_good", epsilon) for group in _all_lengths(groups, name)])
        for name in EXPLORERS
    }
    share = np.concatenate([good[name] for name in OTHERS]).mean()
    text = ", ".join(f"{name} {int(each.sum())} of {len(each)}" for name, each in good.items())
    yield check_claim(
        _PLACE,
        f"for small ε the other algorithms rarely learn an ε-optimal policy (ε = {epsilon:g})",
        f"runs of all lengths that end ε-optimal: {text}",
        tolerance="at most 10 % of the runs of the others; at most 25 %",
        holds=bool(share <= 0.10),
        partly=bool(share <= 0.25),
    )


def _intervals(groups: Groups, panels: Panels) -> Iterator[Claim]:
    """Check that the intervals of the others are larger than those of vv."""
    widths = {}
    for name in EXPLORERS:
        means = [panel[name].means() for panel in panels.values()]
        widths[name] = 100.0 * float(np.nanmean(np.concatenate([ci / mean for mean, ci in means])))
    vv, others = max(widths[name] for name in VV_EXPLORERS), [widths[name] for name in OTHERS]
    yield check_claim(
        _PLACE,
        "the sample complexity of the other algorithms has a large confidence interval",
        f"mean ± in percent of the mean: {', '.join(f'{name} {width:.0f} %' for name, width in widths.items())}; it is "
        "small where no run becomes ε-optimal",
        tolerance="larger than vv's for all others; for some",
        holds=min(others) > vv,
        partly=max(others) > vv,
    )


def _errors(groups: Groups, panels: Panels) -> Iterator[Claim]:
    """Check that only vv learns the values of all states."""
    final = {}
    for name in EXPLORERS:
        rows = [row for group in _all_lengths(groups, name, FIGURE_26_LENGTHS) for row in group.rows]
        final[name] = float(np.mean([row["value_errors"][-1] for row in rows]))
    vv, others = max(final[name] for name in VV_EXPLORERS), min(final[name] for name in OTHERS)
    yield check_claim(
        _PLACE,
        "only vv ends with a mean squared value error close to zero",
        f"mean at the end, {_lengths_text(groups)}: {', '.join(f'{name} {each:.3g}' for name, each in final.items())}",
        tolerance="both vv below 0.001 and all others 100 times higher; both vv 10 times lower than all others",
        holds=vv < 1e-3 and others > 0.1,
        partly=10 * vv < others,
    )


def exploration_claims(groups: Groups, panels: Panels) -> Iterator[Claim]:
    """Check the statements about Figure 23."""
    seeds = {name: groups[name, FIGURE_23_LENGTH] for name in EXPLORERS}
    found = {name: np.minimum(group.column("found"), STEP_LIMIT) for name, group in seeds.items()}
    median, even, start = (
        {name: float(np.median(group.column(column))) for name, group in seeds.items()}
        for column in ("found", "evenness", "start_share")
    )
    size, uniform = f"N = {FIGURE_23_LENGTH}", (*VV_EXPLORERS, "ucb1")
    steps = ", ".join(f"{name} {claims.step_text(step)}" for name, step in median.items())
    highest_other = max(each for name, each in even.items() if name not in uniform)
    yield check_claim(
        _PLACE,
        f"only vv and UCB1 explore uniformly ({size})",
        "entropy of the visits until the last state is found, in percent of the maximum, median: "
        + ", ".join(f"{name} {each:.0f} %" for name, each in even.items()),
        tolerance="both vv and UCB1 above all others; both vv",
        holds=min(even[name] for name in uniform) > highest_other,
        partly=min(even[name] for name in VV_EXPLORERS) > highest_other,
    )
    yield larger(
        _PLACE,
        f"UCB1 finds the last state later than vv ({size})",
        found["ucb1"],
        np.concatenate([found[name] for name in VV_EXPLORERS]),
        f"median step: {steps}",
    )
    late = min(median[name] for name in ("bonus", "thompson"))
    yield check_claim(
        _PLACE,
        f"the bonus and Thompson sampling find the reward only late ({size})",
        f"median step: {steps}",
        tolerance="both 10 times later than UCB1; both later",
        holds=late >= 10 * median["ucb1"],
        partly=late > median["ucb1"],
    )
    greedy_finds = np.isfinite(seeds["epsilon-greedy"].column("found"))
    yield check_claim(
        _PLACE,
        f"ε-greedy is soon stuck in the local optimum of the small reward in the initial state ({size})",
        f"steps in the first three states, median of the seeds: {100 * start['epsilon-greedy']:.1f} %; the last state "
        f"is found by {greedy_finds.sum()} of {len(greedy_finds)} seeds",
        tolerance="at least 95 % of the steps; at least 80 %",
        holds=start["epsilon-greedy"] >= 0.95,
        partly=start["epsilon-greedy"] >= 0.80,
    )
    ucb1_steps = [step for step in seeds["ucb1"].column("found") if math.isfinite(step)]
    yield about(
        _PLACE,
        f"UCB1 finds the reward around step 1,000 ({size})",
        median["ucb1"],
        1000.0,
        f"median step {claims.step_text(median['ucb1'])}, from {min(ucb1_steps, default=math.inf):,.0f} to "
        f"{max(ucb1_steps, default=math.inf):,.0f}; the paper's figure shows one seed",
    )
    shares = {name: group.column("goal_share") for name, group in seeds.items()}
    never = [name for name, each in shares.items() if np.isnan(each).all()]
    greedy = {name: 100.0 * float(np.nanmean(each)) for name, each in shares.items() if name not in never}
    others = [share for name, share in greedy.items() if name not in VV_EXPLORERS]
    vv = max(greedy.get(name, 0.0) for name in VV_EXPLORERS)
    yield check_claim(
        _PLACE,
        f"once the reward is found all algorithms except vv act greedily; vv explores for longer ({size})",
        "steps in the last three states after the discovery: "
        + ", ".join(f"{name} {share:.1f} %" for name, share in greedy.items())
        + (f"; never found by {', '.join(never)}" if never else ""),
        tolerance="all others above 90 %, and above both vv; above both vv",
        holds=bool(others) and min(others) > max(90.0, vv),
        partly=bool(others) and min(others) > vv,
    )


CHECKS: tuple[Check, ...] = (
    *(functools.partial(_exponents, explorer) for explorer in VV_EXPLORERS),
    _sensitivity,
    _at_zero,
    _rarely,
    _intervals,
    _errors,
    exploration_claims,
)
STUDY = Study(
    id="chain",
    reference="Section 4.2.4, Figures 23, 25, 26",
    description="infinite-horizon stochastic chain without memory: sample complexity, value error, visits; 28 lengths",
    runs=runs,
    report=report,
    quick_changes="3 seeds instead of 50; lengths 5, 11, 17, 27 instead of 5, 7, …, 59",
    summarise=summarise,
)
