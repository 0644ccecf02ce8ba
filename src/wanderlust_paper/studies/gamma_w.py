"""Section 4.2.2, Figures 20 and 21: the effect of the discount γ_w of W on exploration in `toy`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from wanderlust import Run, Settings, make_world
from wanderlust.experiments.report.figures import Curves, Style, curves_figure, explorer_styles
from wanderlust.experiments.store import StoredRun
from wanderlust.experiments.table import Group
from wanderlust_paper.claims import (
    REASON,
    Check,
    Claim,
    Groups,
    check_all,
    claim_of,
    larger,
    rarely,
    seeds_of,
    similar,
    trend,
    with_fresh_seeds,
)
from wanderlust_paper.figures.maps import CountMap, count_map, maps_figure
from wanderlust_paper.registry import VV_EXPLORERS, Report, Study, StudySelection, figure_note
from wanderlust_paper.reports.seed_groups import Label, group_curves, group_runs, group_table
from wanderlust_paper.summary_file import reduced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORLDS = ("toy",)
EXPLORERS = VV_EXPLORERS
GAMMAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 0.99999)
FIGURE_20_GAMMAS = (0.0, 0.3, 0.7, 0.9, 0.99, 0.99999)
"""The others are in the table: twelve lines in one panel cannot be told apart."""
FIGURE_21_GAMMAS = (0.0, 0.3, 0.7, 0.9, 0.99999)
LARGEST = GAMMAS[-1]
SEEDS, FRESH_SEEDS, MORE_SEEDS = 20, 20, 200
"""Of the paper; after these; and of UCB1 and γ_w = 0, of which 20 seeds vary much."""
KAPPA_FACTORS = (10, 100)
"""Factors of κ with which vv-ucb is run again at the largest γ_w, to test why it is not uniform there."""
REFERENCE = "ucb1"
"""What vv with γ_w = 0 should be similar to. It has κ of the text, as vv does: with κ of the released code the two are
not equivalent. That of the released code is run, too."""
_REFERENCE_LABEL, _RELEASED_LABEL = (REFERENCE, "–", ""), (REFERENCE, "–", "code")
_NAMES = ("explorer", "γ_w", "κ")
_TITLE = "The discount of W in the toy gridworld"
_SETTING = "; zero initialization, horizon 11"
_PLACE = "4.2.2"


def runs(selection: StudySelection) -> list[Run]:
    """Return explorer x γ_w x seed, UCB1 for comparison, and vv-ucb with the largest γ_w and larger κ."""
    (world,) = selection.select_worlds(WORLDS)
    explorers, seeds = selection.select_explorers(EXPLORERS), selection.select_seeds(SEEDS + FRESH_SEEDS, 5)
    kappa = make_world(world).r_max / (1.0 - Settings.discount)
    vv = functools.partial(Run, world=world, preset=selection.preset)
    return [
        *(
            Run(world=world, explorer=REFERENCE, seed=seed, preset=preset)
            for preset in ("as_written", "as_published_code")
            for seed in selection.select_seeds(MORE_SEEDS, 5)
            if selection.explorers is None
        ),
        *(
            vv(explorer="vv-ucb", seed=seed, explorer_options={"kappa": factor * kappa}, settings={"gamma_w": LARGEST})
            for factor in KAPPA_FACTORS
            for seed in seeds
            if "vv-ucb" in explorers
        ),
        *(
            vv(explorer=explorer, seed=seed, settings={"gamma_w": gamma})
            for explorer in explorers
            for gamma in GAMMAS
            for seed in (selection.select_seeds(MORE_SEEDS, 5) if gamma == 0.0 else seeds)
        ),
    ]


def _label(run: Run) -> Label:
    """Return the explorer, γ_w, and κ if it is not the default."""
    kappa = run.explorer_options.get("kappa")
    gamma = f"{run.settings['gamma_w']:g}" if "gamma_w" in run.settings else "–"
    if run.explorer == REFERENCE:
        return _REFERENCE_LABEL if run.preset == "as_written" else _RELEASED_LABEL
    return (run.explorer, gamma, "" if kappa is None else f"{kappa:g}")


def _evenness(group: Group) -> float:
    return float(group.column("evenness").mean())


def _zero_is_ucb1(groups: Groups) -> Iterator[Claim]:
    """Check that vv with γ_w = 0 is similar to UCB1, by the means of discovery and success over the whole run."""
    names = ("mean_discovery", "mean_success")
    means = {
        label: [float(groups[label].column(name).mean()) for name in names]
        for label in ((EXPLORERS[0], "0", ""), (EXPLORERS[1], "0", ""), _REFERENCE_LABEL, _RELEASED_LABEL)
    }
    ucb1 = means[_REFERENCE_LABEL]
    texts = {
        label[0]
        + {_REFERENCE_LABEL: " with κ of the text", _RELEASED_LABEL: " with κ of the released code"}.get(
            label, ""
        ): f"{each[0]:.1f} and {each[1]:.1f} %"
        for label, each in means.items()
    }
    yield claim_of(
        _PLACE,
        "with γ_w = 0 the algorithms behave very similarly to UCB1",
        "discovery and success, means over the run: " + ", ".join(f"{name} {text}" for name, text in texts.items()),
        *(similar(*(a - b for a, b in zip(means[name, "0", ""], ucb1, strict=True))) for name in EXPLORERS),
    )


def _larger_is_better(groups: Groups) -> Iterator[Claim]:
    """Check that a larger γ_w is better, by the rank correlation of γ_w with success and evenness."""
    for claim, column in (
        (
            "the higher γ_w, the better: the agent discovers the reward faster (success over the whole run)",
            "mean_success",
        ),
        ("the higher γ_w, the more uniform the exploration is (entropy of the counts)", "evenness"),
    ):
        texts, cases = [], []
        for explorer in EXPLORERS:
            values = [float(groups[explorer, f"{gamma:g}", ""].column(column).mean()) for gamma in GAMMAS]
            texts.append(
                f"{explorer} {values[0]:.1f} % with γ_w = 0, {values[-2]:.1f} % with 0.99, {values[-1]:.1f} % with "
                "0.99999"
            )
            cases.append(trend(GAMMAS, values))
        yield claim_of(_PLACE, claim, "; ".join(texts), *cases)
    large, small = [g for g in GAMMAS if g >= Settings.discount], [g for g in GAMMAS if g < Settings.discount]
    success = {
        (name, gamma): groups[name, f"{gamma:g}", ""].column("mean_success") for name in EXPLORERS for gamma in GAMMAS
    }
    yield claim_of(
        _PLACE,
        "as a rule of thumb, it is appropriate to have γ_w equal or larger than γ",
        "success over the whole run: "
        + "; ".join(
            f"{name} {', '.join(f'{success[name, g].mean():.1f} % with {g:g}' for g in (*small[-2:], *large))}"
            for name in EXPLORERS
        ),
        *(larger(success[name, a], success[name, b]) for name in EXPLORERS for a in large for b in small),
    )


def _far_states(groups: Groups) -> Iterator[Claim]:
    """Check that with a small γ_w states far from the start are rarely discovered."""
    parts, cases = [], []
    for explorer in EXPLORERS:
        group = groups[explorer, "0", ""]
        n = int((group.column("discovery") >= 100.0 - 1e-9).sum())
        parts.append(f"{explorer} in {n} of {len(group)} runs")
        cases.append(rarely(n, len(group)))
    yield claim_of(
        _PLACE,
        "with smaller γ_w the agent rarely discovers states far from the initial position",
        f"all states are discovered with γ_w = 0 by {', '.join(parts)}",
        *cases,
    )


def _both_are_similar(groups: Groups) -> Iterator[Claim]:
    """Check that both W-functions give similar counts."""
    ucb, count = (
        [_evenness(groups[explorer, f"{gamma:g}", ""]) for gamma in FIGURE_21_GAMMAS] for explorer in EXPLORERS
    )
    differences = [a - b for a, b in zip(ucb, count, strict=True)]
    yield claim_of(
        _PLACE,
        "Figure 21: the counts of W as a UCB are very similar to those of W as a count",
        "difference of the evenness, in points: "
        + ", ".join(f"{d:+.1f} at γ_w = {g:g}" for g, d in zip(FIGURE_21_GAMMAS, differences, strict=True)),
        *(similar(each) for each in differences),
    )


def _larger_kappa(groups: Groups) -> Iterator[Claim]:
    """Show why vv-ucb is not uniform with γ_w = 0.99999: a larger κ makes it so."""
    default, best = (_evenness(groups["vv-ucb", f"{gamma:g}", ""]) for gamma in (LARGEST, 0.99))
    larger = {kappa: _evenness(group) for (name, _, kappa), group in groups.items() if name == "vv-ucb" and kappa}
    if larger:
        text = ", ".join(f"{evenness:.1f} % with κ = {kappa}" for kappa, evenness in larger.items())
        yield claim_of(
            _PLACE,
            "vv-ucb with γ_w = 0.99999 is not uniform because the differences of W between actions, times κ(1 − "
            "γ_w), are smaller than those of Q: the agent follows Q to the cell before the treasure",
            f"evenness of vv-ucb: {default:.1f} % with the default κ = 100, {text}; {best:.1f} % with γ_w = 0.99 and "
            "κ = 100",
            *(similar(each - best) for each in larger.values()),
            kind=REASON,
        )


CHECKS: tuple[Check, ...] = (
    _zero_is_ucb1,
    _larger_is_better,
    _far_states,
    _both_are_similar,
    _larger_kappa,
)


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the table, the learning curves, and maps of the final counts of the seed with the median evenness."""
    stored = list(stored)
    every = group_runs(_NAMES, _label, requested, stored)
    groups = seeds_of(every, up_to=SEEDS)
    table = group_table(_TITLE, _NAMES, dict.fromkeys(map(_label, requested)), groups, note)
    results = {each.run: each.result for each in stored}
    maps: dict[str, list[CountMap]] = {}
    for (explorer, gamma, kappa), group in groups.items():
        if gamma in {f"{each:g}" for each in FIGURE_21_GAMMAS} and not kappa:
            rows = sorted(group.rows, key=lambda row: (row["evenness"], row["seed"]))
            run = rows[(len(rows) - 1) // 2]["run"]
            maps.setdefault(explorer, []).append(count_map(run, results[run], f"{_line(gamma)}, seed {run.seed}"))
    figures: dict[str, Callable[[], Figure]] = {}
    if any(label[0] in EXPLORERS for label in groups):
        figures["curves"] = functools.partial(_draw_curves, groups, note)
    if maps:
        title = "Final visit counts in the toy gridworld for different discounts of W"
        text = f"Settings of the released code{_SETTING}; each panel shows the seed with the median evenness. {note}"
        figures["maps"] = functools.partial(maps_figure, title, maps, note=text.strip())
    fresh = check_all(CHECKS, seeds_of(every, above=SEEDS))
    claims = with_fresh_seeds(check_all(CHECKS, groups), fresh, f"seeds above {SEEDS}", check_all(CHECKS, every))
    return table._replace(figures=figures, claims=claims)


def _line(gamma: str) -> str:
    return f"$\\gamma_w$ = {gamma}"


def _draw_curves(groups: Groups, note: str) -> Figure:
    """Draw the learning curves: a column for each of six γ_w, in each both W-functions and UCB1."""
    references = {"UCB1, κ of the text": _REFERENCE_LABEL, "UCB1, κ of the released code": _RELEASED_LABEL}
    styles = explorer_styles(EXPLORERS) | {
        "UCB1, κ of the text": Style("#6b3d1e", "P", "-."),
        "UCB1, κ of the released code": Style("#b5b5b5", "P", ":"),
    }
    columns: dict[str, dict[str, Curves]] = {}
    for gamma in (f"{each:g}" for each in FIGURE_20_GAMMAS):
        lines = {name: (name, gamma, "") for name in EXPLORERS} | references
        found = {name: group_curves(groups[label]) for name, label in lines.items() if label in groups}
        if found:
            columns[_line(gamma)] = found
    text = figure_note(note, {name: min(SEEDS, max(map(len, groups.values()))) for name in styles}, _SETTING)
    return curves_figure(_TITLE, columns, styles, note=text)


STUDY = Study(
    id="gamma-w",
    reference="Section 4.2.2, Figures 20, 21",
    description="the effect of the discount γ_w of W on exploration in `toy`",
    runs=runs,
    report=report,
    quick_changes="5 seeds instead of 40 or 200",
    summarize=lambda run, result: reduced(result, keep=("visits",)),
)
