"""The statements of Section 4.2.4 about the chain."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from wanderlust_paper.claims import EXPONENT, Claim, about, check_claim, larger
from wanderlust_paper.figures.scaling import SampleComplexity
from wanderlust_paper.studies.chain_results import (
    EPSILONS,
    FIGURE_23_LENGTH,
    FIGURE_26_LENGTHS,
    STEP_LIMIT,
    ChainResults,
    Exploration,
)

VV_EXPLORERS = ("vv-ucb", "vv-count")
OTHERS = ("thompson", "ucb1", "bonus", "epsilon-greedy")
_PLACE = "4.2.4"


def check_claims(chains: ChainResults, panels: Mapping[str, Mapping[str, SampleComplexity]]) -> list[Claim]:
    """Check every claim for which there are runs."""
    complete = {name for name, _, _ in chains.bad_steps} == {*VV_EXPLORERS, *OTHERS}
    claims = _exponents(panels)
    if complete:
        claims += [*_sensitivity(chains), *_at_zero(chains), *_rarely(chains), *_intervals(panels), *_errors(chains)]
    exploration = {name: seeds for name, seeds in chains.exploration.items() if seeds}
    return claims + (exploration_claims(exploration) if set(exploration) == {*VV_EXPLORERS, *OTHERS} else [])


def _exponents(panels: Mapping[str, Mapping[str, SampleComplexity]]) -> list[Claim]:
    claims, low, high = [], 2.5 - EXPONENT, 2.5 + EXPONENT
    for explorer in VV_EXPLORERS:
        laws = [lines[explorer].fit() for lines in panels.values() if explorer in lines]
        fits = [law.exponent for law in laws if law is not None]
        if len(fits) == len(EPSILONS):
            texts = (f"{fit.estimate:.2f} [{fit.low:.2f}, {fit.high:.2f}]" for fit in fits)
            claims.append(
                check_claim(
                    _PLACE,
                    f"{explorer}: the sample complexity grows like N^2.5 for all three ε",
                    f"exponents {', '.join(texts)} for ε = {', '.join(f'{each:g}' for each in EPSILONS)}",
                    tolerance=f"the 95 % intervals are inside {low:g} to {high:g}; they overlap",
                    holds=all(low <= fit.low and fit.high <= high for fit in fits),
                    partly=all(fit.low <= high and low <= fit.high for fit in fits),
                )
            )
    return claims


def _sensitivity(chains: ChainResults) -> list[Claim]:
    """Check how much the sample complexity grows when ε becomes smaller."""
    means = {
        name: [chains.mean_bad_steps(name, epsilon, FIGURE_26_LENGTHS) for epsilon in (EPSILONS[0], 0.0)]
        for name in (*VV_EXPLORERS, *OTHERS)
    }
    growth = {name: after / max(before, 1.0) for name, (before, after) in means.items()}
    if any(math.isnan(each) for each in growth.values()):
        return []
    vv, others = ([growth[name] for name in names] for names in (VV_EXPLORERS, OTHERS))

    def text(names: tuple[str, ...]) -> str:
        return ", ".join(f"{name} {growth[name]:.2f}" for name in names)

    what = f"ratio of the mean steps of all seeds with ε = 0 to those with ε = {EPSILONS[0]:g}, {_lengths_text(chains)}"
    return [
        check_claim(
            _PLACE,
            "the sample complexity of vv only slightly increases as ε decreases",
            f"{what}: {text(VV_EXPLORERS)}",
            tolerance="ratios ≤ 1.25; ≤ 2",
            holds=max(vv) <= 1.25,
            partly=max(vv) <= 2.0,
        ),
        check_claim(
            _PLACE,
            "the other algorithms are highly influenced by ε",
            f"{what}: {text(OTHERS)}; a run that never becomes ε-optimal has {STEP_LIMIT:,} steps for every ε",
            tolerance="all ratios ≥ 2; some",
            holds=min(others) >= 2.0,
            partly=max(others) >= 2.0,
        ),
    ]


def _at_zero(chains: ChainResults) -> list[Claim]:
    """Check that the sample complexity of the others is orders of magnitude higher with ε = 0."""
    parts, ratios = [], []
    for length in FIGURE_26_LENGTHS:
        means = {name: chains.mean_bad_steps(name, 0.0, (length,)) for name in (*VV_EXPLORERS, *OTHERS)}
        if any(math.isnan(each) for each in means.values()):
            return []
        best = min(OTHERS, key=lambda name: means[name])
        worst_vv = max(means[name] for name in VV_EXPLORERS)
        ratios.append(means[best] / worst_vv)
        vv = ", ".join(f"{name} {means[name]:,.0f}" for name in VV_EXPLORERS)
        parts.append(f"N = {length}: {vv}, best other {best} {means[best]:,.0f}, {ratios[-1]:.0f} times the slower vv")
    return [
        check_claim(
            _PLACE,
            "with ε = 0 the sample complexity of the other algorithms is several orders of magnitude higher",
            f"mean steps of all seeds: {'; '.join(parts)}; no run has more than {STEP_LIMIT:,}",
            tolerance="at least 100 times for both N; at least 10 times for one",
            holds=min(ratios) >= 100.0,
            partly=max(ratios) >= 10.0,
        )
    ]


def _rarely(chains: ChainResults) -> list[Claim]:
    epsilon = EPSILONS[-1]
    counts = {name: chains.epsilon_optimal(name, epsilon) for name in (*VV_EXPLORERS, *OTHERS)}
    others = [counts[name] for name in OTHERS]
    share = sum(good for good, _ in others) / sum(runs for _, runs in others)
    text = ", ".join(f"{name} {good} of {runs}" for name, (good, runs) in counts.items())
    return [
        check_claim(
            _PLACE,
            f"for small ε the other algorithms rarely learn an ε-optimal policy (ε = {epsilon:g})",
            f"runs of all lengths that end ε-optimal: {text}",
            tolerance="at most 10 % of the runs of the others; at most 25 %",
            holds=share <= 0.10,
            partly=share <= 0.25,
        )
    ]


def _intervals(panels: Mapping[str, Mapping[str, SampleComplexity]]) -> list[Claim]:
    """Check that the intervals of the others are larger than those of vv."""
    relative: dict[str, list[float]] = {}
    for lines in panels.values():
        for name, complexity in lines.items():
            mean, ci = complexity.means()
            relative.setdefault(name, []).extend(ci / mean)
    widths = {name: 100.0 * float(np.nanmean(each)) for name, each in relative.items()}
    text = ", ".join(f"{name} {width:.0f} %" for name, width in widths.items())
    vv = max(widths[name] for name in VV_EXPLORERS)
    return [
        check_claim(
            _PLACE,
            "the sample complexity of the other algorithms has a large confidence interval",
            f"mean ± in percent of the mean: {text}; it is small where no run becomes ε-optimal",
            tolerance="larger than vv's for all others; for some",
            holds=min(widths[name] for name in OTHERS) > vv,
            partly=max(widths[name] for name in OTHERS) > vv,
        )
    ]


def _errors(chains: ChainResults) -> list[Claim]:
    """Check that only vv learns the values of all states."""
    final: dict[str, float] = {}
    for explorer in (*VV_EXPLORERS, *OTHERS):
        last = [errors[-1] for length in FIGURE_26_LENGTHS for errors in chains.errors.get((explorer, length), [])]
        if not last:
            return []
        final[explorer] = float(np.mean(last))
    vv = max(final[name] for name in VV_EXPLORERS)
    others = min(final[name] for name in OTHERS)
    means = ", ".join(f"{explorer} {each:.3g}" for explorer, each in final.items())
    return [
        check_claim(
            _PLACE,
            "only vv ends with a mean squared value error close to zero",
            f"mean at the end, {_lengths_text(chains)}: {means}",
            tolerance="both vv below 0.001 and all others 100 times higher; both vv 10 times lower than all others",
            holds=vv < 1e-3 and others > 0.1,
            partly=10 * vv < others,
        )
    ]


def exploration_claims(seeds: Mapping[str, list[Exploration]]) -> list[Claim]:
    """Check the statements about Figure 23."""
    found = {name: [min(each.found, STEP_LIMIT) for each in runs] for name, runs in seeds.items()}
    median = {name: float(np.median([each.found for each in runs])) for name, runs in seeds.items()}
    even = {name: float(np.median([each.evenness for each in runs])) for name, runs in seeds.items()}
    size, uniform = f"N = {FIGURE_23_LENGTH}", (*VV_EXPLORERS, "ucb1")
    steps = ", ".join(f"{name} {_step(step)}" for name, step in median.items())
    evenness = ", ".join(f"{name} {each:.0f} %" for name, each in even.items())
    vv_found = [step for name in VV_EXPLORERS for step in found[name]]
    stuck = float(np.median([each.start_share for each in seeds["epsilon-greedy"]]))
    ucb1_steps = [each.found for each in seeds["ucb1"] if math.isfinite(each.found)]
    return [
        check_claim(
            _PLACE,
            f"only vv and UCB1 explore uniformly ({size})",
            f"entropy of the visits until the last state is found, in percent of the maximum, median: {evenness}",
            tolerance="both vv and UCB1 above all others; both vv",
            holds=min(even[name] for name in uniform) > max(each for name, each in even.items() if name not in uniform),
            partly=min(even[name] for name in VV_EXPLORERS)
            > max(each for name, each in even.items() if name not in uniform),
        ),
        larger(
            _PLACE,
            f"UCB1 finds the last state later than vv ({size})",
            found["ucb1"],
            vv_found,
            f"median step: {steps}",
        ),
        check_claim(
            _PLACE,
            f"the bonus and Thompson sampling find the reward only late ({size})",
            f"median step: {steps}",
            tolerance="both 10 times later than UCB1; both later",
            holds=min(median[name] for name in ("bonus", "thompson")) >= 10 * median["ucb1"],
            partly=min(median[name] for name in ("bonus", "thompson")) > median["ucb1"],
        ),
        check_claim(
            _PLACE,
            f"ε-greedy is soon stuck in the local optimum of the small reward in the initial state ({size})",
            f"steps in the first three states, median of the seeds: {100 * stuck:.1f} %; the last state is found by "
            f"{sum(math.isfinite(each.found) for each in seeds['epsilon-greedy'])} of {len(seeds['epsilon-greedy'])} "
            "seeds",
            tolerance="at least 95 % of the steps; at least 80 %",
            holds=stuck >= 0.95,
            partly=stuck >= 0.80,
        ),
        about(
            _PLACE,
            f"UCB1 finds the reward around step 1,000 ({size})",
            median["ucb1"],
            1000.0,
            f"median step {_step(median['ucb1'])}, from {min(ucb1_steps, default=math.inf):,.0f} to "
            f"{max(ucb1_steps, default=math.inf):,.0f}; the paper's figure shows one seed",
        ),
        _greedy(seeds, size),
    ]


def _greedy(seeds: Mapping[str, list[Exploration]], size: str) -> Claim:
    """Check that all algorithms except vv act greedily once they found the reward."""
    shares = {
        name: 100.0 * float(np.nanmean([each.goal_share for each in runs]))
        for name, runs in seeds.items()
        if any(math.isfinite(each.goal_share) for each in runs)
    }
    others = [share for name, share in shares.items() if name not in VV_EXPLORERS]
    vv = max(shares.get(name, 0.0) for name in VV_EXPLORERS)
    never = [name for name in seeds if name not in shares]
    text = ", ".join(f"{name} {share:.1f} %" for name, share in shares.items())
    return check_claim(
        _PLACE,
        f"once the reward is found all algorithms except vv act greedily; vv explores for longer ({size})",
        f"steps in the last three states after the discovery: {text}"
        + (f"; never found by {', '.join(never)}" if never else ""),
        tolerance="all others above 90 %, and above both vv; above both vv",
        holds=bool(others) and min(others) > max(90.0, vv),
        partly=bool(others) and min(others) > vv,
    )


def _lengths_text(chains: ChainResults) -> str:
    return "N = " + " and ".join(str(length) for length in FIGURE_26_LENGTHS if length in chains.lengths)


def _step(step: float) -> str:
    return f"{step:,.0f}" if math.isfinite(step) else "never"
