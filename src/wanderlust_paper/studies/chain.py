"""Section 4.2.4, Figures 23, 25 and 26: sample complexity and value error in the infinite-horizon stochastic chain."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wanderlust import Run
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.figures import thinned
from wanderlust.experiments.run import Result
from wanderlust.experiments.store import StoredRun
from wanderlust.experiments.table import Group, Row, group_rows, row_of
from wanderlust.experiments.world_run import THRESHOLDS
from wanderlust_paper import claims
from wanderlust_paper.claims import (
    Check,
    Claim,
    Found,
    Groups,
    NoRuns,
    about,
    at_least,
    check_all,
    claim_of,
    exponent,
    larger,
    mostly,
    rarely,
    similar,
)
from wanderlust_paper.figures.chain_figures import CountsOverTime, ErrorsOverTime, counts_figure, msve_figure
from wanderlust_paper.figures.maps import evenness
from wanderlust_paper.figures.scaling import (
    SampleComplexity,
    build_complexity,
    complexity_report,
    epsilon_figure,
    scaling_figure,
)
from wanderlust_paper.registry import VV_EXPLORERS, Report, Study, StudySelection, figure_note
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
USUAL_GAMMA_W = 0.99
"""The γ_w of the deterministic worlds; the chain has 0.999."""
KEPT_MOMENTS = 60
"""The moments of a run that figures and claims use: enough for both, and few in the summary of the runs."""
_TITLE = "Sample complexity of the chain"
_STEPS = "sample complexity, all seeds (steps)"
_SETTING = "; zero initialization, $\\gamma_w$ = 0.999"
_PLACE = "4.2.4"


def runs(selection: StudySelection) -> list[Run]:
    """Return length x explorer x seed, and vv with another γ_w; V^π is computed after every step."""
    default = [
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
    return default + [
        replace(run, settings={**run.settings, "gamma_w": USUAL_GAMMA_W})
        for run in default
        if run.world_options["length"] == FIGURE_23_LENGTH and run.explorer in VV_EXPLORERS
    ]


def _with_usual_gamma(explorer: str) -> str:
    """Return the name of the group of an explorer with the γ_w of the other worlds."""
    return f"{explorer}, γ_w = {USUAL_GAMMA_W:g}"


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


def summarize(run: Run, result: Result) -> Result:
    """Return the part of a result that the report uses."""
    length, keep = run.world_options["length"], ["bad_steps", "ends_good"]
    if length in FIGURE_26_LENGTHS:
        keep += ["moments", "value_errors"]
    if length == FIGURE_23_LENGTH:
        keep += ["visits_by_moment", "first_visit"]
    kept = reduced(result, keep=keep, max_points=1)
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
        usual = {"explorer": _with_usual_gamma(run.explorer)} if "gamma_w" in run.settings else {}
        rows.append(row_of(each) | _columns(run, result) | usual)
        if run.world_options["length"] == FIGURE_23_LENGTH and not usual:
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
    seeds = max(map(len, groups.values()), default=0)
    text = figure_note(note, {"": seeds}, _SETTING)
    options: dict[str, Any] = {"y_name": _STEPS, "limit": STEP_LIMIT, "note": text}
    if rows:
        figures["sample-complexity"] = functools.partial(scaling_figure, _TITLE, panels, x_name="length N", **options)
    if counts:
        title = f"Visit counts of the chain with {FIGURE_23_LENGTH} states over time"
        one = (
            f"Seed 1 of {seeds}, settings of the released code{_SETTING}; the paper shows one seed, too. {note}".strip()
        )
        figures["counts"] = functools.partial(counts_figure, title, counts, note=one)
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
        figures["value-error"] = functools.partial(msve_figure, "Mean squared value error", errors, note=text)
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


def _exponents(groups: Groups, panels: Panels) -> Iterator[Claim]:
    laws = {(name, panel): lines[name].fit() for name in VV_EXPLORERS for panel, lines in panels.items()}
    fits = {label: law.exponent for label, law in laws.items() if law is not None}
    if len(fits) == len(laws) and len(panels) == len(EPSILONS):
        texts = (
            f"{name}, {panel}: {fit.estimate:.2f} [{fit.low:.2f}, {fit.high:.2f}]"
            for (name, panel), fit in fits.items()
        )
        yield claim_of(
            _PLACE,
            "in all three cases the sample complexity of vv suggests O(N^2.5)",
            f"exponents with their 95 % intervals: {'; '.join(texts)}",
            *(exponent(fit, 2.5) for fit in fits.values()),
        )


def _poorly(groups: Groups, panels: Panels) -> Iterator[Claim]:
    """Check that the other algorithms perform poorly in all three cases, at the largest length."""
    length = max((n for _, n in groups), default=0)
    parts, cases = [], []
    for epsilon in EPSILONS:
        steps = {name: _at(groups[name, length], "bad_steps", epsilon).mean() for name in EXPLORERS}
        good = {name: _at(groups[name, length], "ends_good", epsilon) for name in OTHERS}
        complexity = ", ".join(f"{name} {step:,.0f}" for name, step in steps.items())
        optimal = ", ".join(f"{name} {x.sum():.0f} of {len(x)}" for name, x in good.items())
        parts.append(f"ε = {epsilon:g}: {complexity} steps; runs that end ε-optimal: {optimal}")
        cases += [rarely(float(x.sum()), len(x)) for x in good.values()]
    yield claim_of(
        _PLACE,
        "in all three cases the other algorithms performed poorly",
        f"mean sample complexity at N = {length}, {'. '.join(parts)}",
        *cases,
    )


def _sensitivity(groups: Groups, panels: Panels) -> Iterator[Claim]:
    """Check how much the sample complexity grows when ε becomes smaller, at each length."""
    growth = {}
    for name in EXPLORERS:
        small, large = (panels[f"ε = {epsilon:g}"][name].means()[0] for epsilon in (EPSILONS[-1], EPSILONS[0]))
        growth[name] = small / large

    def text(names: Sequence[str], limit: float) -> str:
        return (
            f"mean steps of all seeds with ε = {EPSILONS[-1]:g} divided by those with ε = {EPSILONS[0]:g}: "
            + ", ".join(
                f"{name} {x.min():.2f} to {x.max():.2f}, {(x > limit).sum()} of {len(x)} lengths above {limit:g}"
                for name, x in growth.items()
                if name in names
            )
        )

    yield claim_of(
        _PLACE,
        "Figure 25: the sample complexity of vv only slightly increases as ε decreases",
        text(VV_EXPLORERS, 1 + claims.ABOUT),
        *(about(x, 1.0) for name in VV_EXPLORERS for x in growth[name]),
    )
    yield claim_of(
        _PLACE,
        "Figure 25: the other algorithms are highly influenced by ε",
        f"{text(OTHERS, claims.MUCH)}; a run that never becomes ε-optimal has {STEP_LIMIT:,} steps for every ε",
        *(at_least(x, claims.MUCH) for name in OTHERS for x in growth[name]),
    )


def _overlap(groups: Groups, panels: Panels) -> Iterator[Claim]:
    differences = {}
    for panel, lines in panels.items():
        a, b = (lines[name].means()[0] for name in VV_EXPLORERS)
        differences[panel] = 100.0 * np.abs(a - b) / np.maximum(a, b)
    lengths = len({length for _, length in groups})
    yield claim_of(
        _PLACE,
        "Figure 25: the lines of the two vv explorers almost overlap",
        "differences of the mean steps, in percent of the larger: "
        + "; ".join(
            f"{panel}: {x.min():.0f} to {x.max():.0f} %, {(x <= claims.SIMILAR).sum()} of {lengths} lengths within "
            f"{claims.SIMILAR:g} %"
            for panel, x in differences.items()
        ),
        *(similar(each) for x in differences.values() for each in x),
    )


def _at_zero(groups: Groups, panels: Panels) -> Iterator[Claim]:
    """Show that runs of 200,000 steps do not differ by orders of magnitude."""
    parts, ratios = [], []
    for length in FIGURE_26_LENGTHS:
        means = {name: _mean_bad_steps([groups[name, length]], 0.0) for name in EXPLORERS}
        parts.append(f"N = {length}: " + ", ".join(f"{name} {mean:,.0f}" for name, mean in means.items()))
        ratios += [means[name] / means[vv] for name in OTHERS for vv in VV_EXPLORERS]
    yield claim_of(
        _PLACE,
        "Figure 26: with ε = 0 the sample complexity of the other algorithms is several orders of magnitude higher",
        f"{min(ratios):.0f} to {max(ratios):.0f} times; the paper's own runs end after {STEP_LIMIT:,} steps, which "
        f"allow no larger ratio; mean steps of all seeds: {'; '.join(parts)}",
        *(at_least(ratio, 100.0) for ratio in ratios),
    )


def _rarely(groups: Groups, panels: Panels) -> Iterator[Claim]:
    epsilon = EPSILONS[-1]
    good = {
        name: np.concatenate([_at(group, "ends_good", epsilon) for group in _all_lengths(groups, name)])
        for name in EXPLORERS
    }
    widths = {}
    for name in EXPLORERS:
        means = [panel[name].means() for panel in panels.values()]
        widths[name] = 100.0 * float(np.nanmean(np.concatenate([ci / mean for mean, ci in means])))
    text = ", ".join(f"{name} {int(each.sum())} of {len(each)}" for name, each in good.items())
    yield claim_of(
        _PLACE,
        "the sample complexity of the others has a large confidence interval, and as ε decreases they rarely learn an "
        "ε-optimal policy",
        f"mean ± in percent of the mean: {', '.join(f'{name} {width:.0f} %' for name, width in widths.items())}; runs "
        f"of all lengths that end ε-optimal, ε = {epsilon:g}: {text}",
        *(at_least(widths[name] / max(1e-9, *(widths[vv] for vv in VV_EXPLORERS)), 1.0) for name in OTHERS),
        *(rarely(float(good[name].sum()), len(good[name])) for name in OTHERS),
    )


def _errors(groups: Groups, panels: Panels) -> Iterator[Claim]:
    """Check that only vv learns the values of all states."""
    parts, cases = [], []
    for length in FIGURE_26_LENGTHS:
        errors = {name: [row["value_errors"][-1] for row in groups[name, length].rows] for name in EXPLORERS}
        final = {name: float(np.mean(each)) for name, each in errors.items()}
        lowest = min(final[name] for name in OTHERS)
        failed = ", ".join(f"{name} {np.count_nonzero(errors[name])}" for name in VV_EXPLORERS)
        parts.append(
            f"N = {length}: {', '.join(f'{name} {each:.3g}' for name, each in final.items())}; seeds of vv whose error "
            f"is not 0: {failed} of {len(errors[VV_EXPLORERS[0]])}"
        )
        cases += [at_least(lowest / max(final[name], 1e-12), 100.0) for name in VV_EXPLORERS]
    yield claim_of(
        _PLACE,
        "Figure 26: only vv learns an almost perfect Q-function, with a mean squared value error close to zero",
        f"mean at the end, {'. '.join(parts)}",
        *cases,
    )


def _uniform(seeds: Mapping[str, Group]) -> Iterator[Claim]:
    size, uniform = f"N = {FIGURE_23_LENGTH}", (*VV_EXPLORERS, "ucb1")
    even = {name: group.column("evenness") for name, group in seeds.items()}
    found = {name: np.minimum(group.column("found"), STEP_LIMIT) for name, group in seeds.items()}
    steps = ", ".join(f"{name} {claims.step_text(float(np.median(g.column('found'))))}" for name, g in seeds.items())
    yield claim_of(
        _PLACE,
        f"only vv and UCB1 explore uniformly, but UCB1 finds the last state later ({size})",
        "entropy of the visits until the last state is found, in percent of the maximum, median: "
        + ", ".join(f"{name} {np.median(each):.0f} %" for name, each in even.items())
        + f"; median step at which it is found: {steps}",
        *(larger(even[name], even[other]) for name in uniform for other in EXPLORERS if other not in uniform),
        *(larger(found["ucb1"], found[name]) for name in VV_EXPLORERS),
    )
    yield claim_of(
        _PLACE,
        f"the auxiliary rewards and Thompson sampling find the reward only late ({size})",
        f"median step: {steps}",
        *(
            at_least(float(np.median(found[name]) / np.median(found["ucb1"])), claims.MUCH)
            for name in ("bonus", "thompson")
        ),
    )


def exploration_claims(groups: Groups, panels: Panels) -> Iterator[Claim]:
    """Check the statements about Figure 23, with all seeds."""
    seeds = {name: groups[name, FIGURE_23_LENGTH] for name in EXPLORERS}
    size = f"N = {FIGURE_23_LENGTH}"
    yield from _uniform(seeds)
    start = 100.0 * float(np.mean(seeds["epsilon-greedy"].column("start_share")))
    greedy_finds = np.isfinite(seeds["epsilon-greedy"].column("found"))
    yield claim_of(
        _PLACE,
        f"ε-greedy is soon stuck in the local optimum of the small reward in the initial state ({size})",
        f"{greedy_finds.sum()} of {len(greedy_finds)} seeds find the last state; steps in the first three states: "
        f"{start:.1f} %",
        mostly(int((~greedy_finds).sum()), len(greedy_finds)),
    )
    shares = {name: 100.0 * group.column("goal_share") for name, group in seeds.items()}
    text = ", ".join(f"{name} {np.nanmean(x):.1f} %" for name, x in shares.items() if np.isfinite(x).any())
    steps = [step for step in seeds["ucb1"].column("found") if math.isfinite(step)]
    yield claim_of(
        _PLACE,
        f"UCB1 finds the reward around step 1,000, and after that its count increases only in the last states ({size})",
        f"median step {np.median(steps):,.0f}, from {min(steps, default=math.inf):,.0f} to "
        f"{max(steps, default=math.inf):,.0f}, the paper's figure has one seed; then {np.nanmean(shares['ucb1']):.1f} "
        "% of its steps in the last three states",
        about(float(np.median(steps)), 1000.0),
        rarely(100.0 - float(np.nanmean(shares["ucb1"])), 100.0),
    )
    known = {name: x[np.isfinite(x)] for name, x in shares.items() if np.isfinite(x).any()}
    yield claim_of(
        _PLACE,
        f"once the reward is found all others act greedily; vv explores for longer ({size})",
        f"steps in the last three states after the discovery: {text}",
        *(rarely(100.0 - float(known[name].mean()), 100.0) for name in OTHERS if name in known),
        *(larger(known[name], known[vv]) for vv in VV_EXPLORERS for name in OTHERS if name in known),
    )
    yield claim_of(
        "4.2.5",
        f"vv-ucb explores for longer than vv-count and converges to the greedy policy much later (Figure 23, {size})",
        f"steps in the last three states after the discovery: {text}",
        larger(known["vv-count"], known["vv-ucb"]),
        at_least(float(known["vv-count"].mean() / max(known["vv-ucb"].mean(), 1e-9)), claims.MUCH),
    )


def _gamma_w(groups: Groups, panels: Panels) -> Iterator[Claim]:
    """Check the choice of γ_w = 0.999 against the 0.99 of the other worlds."""
    parts, cases, greedier = [], [], []
    for name in VV_EXPLORERS:
        longer, usual = (groups[each, FIGURE_23_LENGTH] for each in (name, _with_usual_gamma(name)))
        bad, goal = (
            [_at(group, "bad_steps", EPSILONS[-1]) for group in (longer, usual)],
            [100.0 * group.column("goal_share") for group in (longer, usual)],
        )
        parts.append(
            f"{name} {bad[0].mean():,.0f} and {bad[1].mean():,.0f} steps, {np.nanmean(goal[0]):.1f} and "
            f"{np.nanmean(goal[1]):.1f} % of the steps after the discovery in the last three states"
        )
        cases.append(larger(bad[1], bad[0]))
        greedier.append(larger(goal[1][np.isfinite(goal[1])], goal[0][np.isfinite(goal[0])]))
    yield claim_of(
        "A.3",
        "chain: γ_w = 0.999 yielded better results by allowing the agent to explore for longer",
        f"sample complexity with ε = {EPSILONS[-1]:g} and N = {FIGURE_23_LENGTH}, γ_w = 0.999 and 0.99: "
        f"{'; '.join(parts)}",
        *cases,
        *greedier,
    )
    yield claim_of(
        "3.4",
        "with a low γ_w exploration is short-term and may converge faster to a greedy policy",
        f"chain, N = {FIGURE_23_LENGTH}, γ_w = 0.999 and 0.99: {'; '.join(parts)}",
        *greedier,
    )


CHECKS: tuple[Check, ...] = (
    _exponents, _poorly, _sensitivity, _overlap, _at_zero, _rarely, _errors, exploration_claims, _gamma_w,
)  # fmt: skip
STUDY = Study(
    id="chain",
    reference="Section 4.2.4, Figures 23, 25, 26",
    description="infinite-horizon stochastic chain without memory: sample complexity, value error, visits; 28 lengths",
    runs=runs,
    report=report,
    quick_changes="3 seeds instead of 50; lengths 5, 11, 17, 27 instead of 5, 7, …, 59",
    summarize=summarize,
)
