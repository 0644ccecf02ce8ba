"""Section 4.2.5, Figure 27: gridworlds with stochastic transitions. The return is the exact V^π of the start."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace

from wanderlust import Run, Session, make_world
from wanderlust.experiments.report.figures import explorer_styles
from wanderlust_paper.claims import (
    FEW,
    MUCH,
    Check,
    Claim,
    Groups,
    at_least,
    claim_of,
    exact,
    larger,
    mostly,
    never,
    similar,
)
from wanderlust_paper.registry import EXPLORERS, OTHERS, VV_EXPLORERS, Study, StudySelection
from wanderlust_paper.reports.seed_groups import Label, group_report, learnt, median_step
from wanderlust_paper.summary_file import reduced

WORLDS = ("noisy-deep-gridworld", "noisy-toy", "noisy-prison")
DETERMINISTIC = {"noisy-deep-gridworld": "deep-gridworld", "noisy-toy": "toy", "noisy-prison": "prison"}
"""The same worlds without noise: the runs of the recap tables with zero initialization and the short horizon."""
SMALL_WORLDS = ("noisy-toy", "noisy-prison")
SEEDS, FRESH_SEEDS, DETERMINISTIC_SEEDS = 50, 50, 20
PAPER_DISTRACTORS = {"noisy-deep-gridworld": 2, "noisy-toy": 0, "noisy-prison": 1}
"""Runs of vv-count, of 50, that converged to a distractor in the paper."""
LONGER_GAMMA_W = 0.99
"""The γ_w of the deterministic worlds; the stochastic ones have 0.9."""
_PLACE = "4.2.5"


def runs(selection: StudySelection) -> list[Run]:
    """Return world x explorer x seed; the same without noise; and vv with the larger γ_w."""
    worlds, explorers = selection.select_worlds(WORLDS), selection.select_explorers(EXPLORERS)
    noisy = [
        Run(world=world, explorer=explorer, preset=selection.preset, seed=seed)
        for world in worlds
        for explorer in explorers
        for seed in selection.select_seeds(SEEDS + FRESH_SEEDS, 5)
    ]
    without_noise = [
        Run(
            world=DETERMINISTIC[world],
            explorer=explorer,
            preset=selection.preset,
            seed=seed,
            settings={"initial": "zero", "horizon": make_world(DETERMINISTIC[world]).defaults.horizon},
        )
        for world in worlds
        for explorer in explorers
        for seed in selection.select_seeds(DETERMINISTIC_SEEDS, 5)
    ]
    longer = [
        replace(run, settings={"gamma_w": LONGER_GAMMA_W})
        for run in noisy
        if run.explorer in VV_EXPLORERS and run.seed <= SEEDS and not selection.quick
    ]
    return noisy + without_noise + longer


def _label(run: Run) -> Label:
    return run.world, run.explorer, f"{run.settings['gamma_w']:g}" if "gamma_w" in run.settings else ""


def distractor(run: Run) -> bool:
    """Train a run again, and return whether its greedy path, if no transition fails, ends with a smaller reward.

    A path that does not end within the number of states does not end in a distractor.
    """
    world = make_world(run.world, **run.world_options)
    plain = make_world(DETERMINISTIC[run.world]).mdp
    session = Session(world, run.explorer, seed=run.seed, preset=run.preset, **run.overrides)
    session.advance(session.settings.run_length)
    q, state = session.agent.tables["target"], int(plain.start.argmax())
    best = plain.reward.max()
    for _ in range(plain.n_states):
        action = int(q[state].argmax())
        if plain.terminal[state, action, 0]:
            return bool(plain.reward[state, action, 0] < best)
        state = int(plain.next_state[state, action, 0])
    return False


def _vv_ucb(groups: Groups) -> Iterator[Claim]:
    counts = {world: learnt([groups[world, "vv-ucb", ""]]) for world in WORLDS}
    found = ", ".join(f"{world} {n} of {total}" for world, (n, total) in counts.items())
    cases = (never(total - n, total, paper_runs=SEEDS) for n, total in counts.values())
    yield claim_of(_PLACE, "vv-ucb always learns the optimal policy", f"runs that learnt: {found}", *cases)


def _vv_count(groups: Groups) -> Iterator[Claim]:
    parts, cases = [], []
    for world, paper in PAPER_DISTRACTORS.items():
        group = groups[world, "vv-count", ""]
        failed = [row["run"] for row in group.rows if not math.isfinite(row["learnt_at"])]
        trapped = sum(map(distractor, failed))
        parts.append(
            f"{world}: {trapped} of {len(group)} greedy paths end in a distractor (the paper: {paper} of {SEEDS}), "
            f"{len(failed) - trapped} more runs do not learn"
        )
        cases.append(never(trapped, len(group), paper_runs=SEEDS, paper_exceptions=paper))
    yield claim_of(
        _PLACE,
        "vv-count almost always learns, and converges to a distractor only two times (out of 50) in the deep gridworld "
        "and once in the prison",
        "; ".join(parts),
        *(mostly(*learnt([groups[world, "vv-count", ""]])) for world in WORLDS),
        *cases,
    )


def _discovery(groups: Groups) -> Iterator[Claim]:
    counts, parts, cases = {}, [], []
    for world in WORLDS:
        values = [value for name in VV_EXPLORERS for value in groups[world, name, ""].column("discovery")]
        counts[world] = sum(value < 100.0 - 1e-9 for value in values), len(values)
        means = {name: groups[world, name, ""].column("mean_discovery") for name in EXPLORERS}
        cases += [larger(means[vv], means[other]) for vv in VV_EXPLORERS for other in OTHERS]
        best = max(OTHERS, key=lambda name: means[name].mean())
        parts.append(f"{world} " + ", ".join(f"{name} {means[name].mean():.1f} %" for name in (*VV_EXPLORERS, best)))
    found = ", ".join(f"{world} {n} of {total}" for world, (n, total) in counts.items())
    yield claim_of(
        _PLACE,
        "both vv explorers quickly discovered all states",
        f"runs that do not discover all states: {found}; discovery, mean over the run, of both vv and of the best "
        f"other: {'; '.join(parts)}",
        *(never(n, total, paper_runs=2 * SEEDS) for n, total in counts.values()),
        *cases,
    )


def _only_vv(groups: Groups) -> Iterator[Claim]:
    shares = {name: [learnt([groups[world, name, ""]]) for world in WORLDS] for name in EXPLORERS}
    text = "; ".join(f"{name} {', '.join(f'{100 * n / k:.0f}' for n, k in each)}" for name, each in shares.items())
    yield claim_of(
        _PLACE,
        "only vv solves all three MDPs within the steps limit",
        f"percent of the seeds that learnt, deep gridworld, toy and prison: {text}",
        *(mostly(*share) for name in VV_EXPLORERS for share in shares[name]),
        *(exact(holds=any(n / k < 1 - FEW for n, k in shares[name]), margin=name) for name in OTHERS),
    )


def _barely_affected(groups: Groups) -> Iterator[Claim]:
    differences = {
        (world, name): float(
            groups[world, name, ""].column("success").mean()
            - groups[DETERMINISTIC[world], name, ""].column("success").mean()
        )
        for world in WORLDS
        for name in VV_EXPLORERS
    }
    yield claim_of(
        _PLACE,
        "Figure 27: the performance of vv is barely affected by the stochasticity",
        "final success with minus without noise, in points: "
        + ", ".join(f"{name} in {world} {each:+.1f}" for (world, name), each in differences.items()),
        *(similar(each) for each in differences.values()),
    )


def _prior(groups: Groups) -> Iterator[Claim]:
    noisy = {world: learnt([groups[world, "random-prior", ""]]) for world in WORLDS}
    differences = {
        world: float(
            groups[world, "random-prior", ""].column("success").mean()
            - groups[DETERMINISTIC[world], "random-prior", ""].column("success").mean()
        )
        for world in WORLDS
    }
    toy, *others = noisy["noisy-toy"], noisy["noisy-deep-gridworld"], noisy["noisy-prison"]
    yield claim_of(
        _PLACE,
        "the bootstrap with a prior is not affected by the stochasticity: it performs as without it, solving the toy "
        "gridworld but not the other two",
        "learnt: "
        + ", ".join(f"{world} {n} of {k}" for world, (n, k) in noisy.items())
        + "; final success with minus without noise, in points: "
        + ", ".join(f"{world} {each:+.1f}" for world, each in differences.items()),
        *(similar(each) for each in differences.values()),
        mostly(*toy),
        *(exact(holds=n / k < 1 - FEW) for n, k in others),
    )


def _vanilla(groups: Groups) -> Iterator[Claim]:
    n, total = learnt([groups["noisy-toy", "bootstrapped", ""]])
    pairs = [(groups[world, "bootstrapped", ""], groups[DETERMINISTIC[world], "bootstrapped", ""]) for world in WORLDS]
    yield claim_of(
        _PLACE,
        "the vanilla bootstrap is heavily affected by the stochasticity: substantially worse than without it, it "
        "cannot learn even the toy gridworld within the limit",
        f"learnt by {n} of {total} runs in noisy-toy; final success with and without noise: "
        + ", ".join(f"{a.column('success').mean():.0f} and {b.column('success').mean():.0f} %" for a, b in pairs)
        + " (deep gridworld, toy, prison)",
        never(n, total, paper_runs=SEEDS),
        *(larger(without.column("success"), noisy.column("success")) for noisy, without in pairs),
    )


def _helped(groups: Groups) -> Iterator[Claim]:
    """Check that UCB1 and the bonus benefit from the noise."""
    parts, cases = [], []
    for explorer in ("ucb1", "bonus"):
        for world in SMALL_WORLDS:
            group, without = groups[world, explorer, ""], groups[DETERMINISTIC[world], explorer, ""]
            n, k = learnt([group])
            before, total = learnt([without])
            ratio = median_step(group) / median_step(groups[world, "vv-ucb", ""])
            parts.append(
                f"{explorer} in {world}: {n} of {k} runs learnt, without noise {before} of {total}; {ratio:.1f} times "
                "the median steps of vv-ucb"
            )
            cases += [
                mostly(n, k),
                exact(holds=before / total < 1 - FEW, margin=f"{explorer} without noise: {before} of {total}"),
            ]
            cases.append(at_least(ratio, MUCH))
    yield claim_of(
        _PLACE,
        "UCB1 and the bonus benefit from the stochasticity: without it they could not solve these MDPs, with it they "
        "solve the two gridworlds, even though much later than vv",
        "; ".join(parts),
        *cases,
    )
    both = [
        (groups[world, name, ""].column("discovery"), groups[DETERMINISTIC[world], name, ""].column("discovery"))
        for name in ("ucb1", "bonus")
        for world in SMALL_WORLDS
    ]
    yield claim_of(
        _PLACE,
        "this improvement of UCB1 and the bonus is explained by the larger number of visited states",
        "discovery with and without noise, toy and prison: "
        + ", ".join(f"{a.mean():.1f} and {b.mean():.1f} %" for a, b in both),
        *(larger(a, b) for a, b in both),
    )


def _gamma_w(groups: Groups) -> Iterator[Claim]:
    """Check the choice of γ_w = 0.9 against the 0.99 of the deterministic worlds."""
    pairs = {
        (world, name): (groups[world, name, ""], groups[world, name, f"{LONGER_GAMMA_W:g}"])
        for world in WORLDS
        for name in VV_EXPLORERS
    }
    yield claim_of(
        "A.3",
        "stochastic gridworlds: the smaller γ_w = 0.9 was sufficient and yielded better results",
        "return over the whole run with γ_w = 0.9 and 0.99: "
        + ", ".join(
            f"{name} in {world} {a.column('mean_success').mean():.1f} and {b.column('mean_success').mean():.1f} %, "
            f"learnt by {learnt([a])[0]} and {learnt([b])[0]} of {len(a)}"
            for (world, name), (a, b) in pairs.items()
        ),
        *(larger(a.column("mean_success"), b.column("mean_success")) for a, b in pairs.values()),
    )


CHECKS: tuple[Check, ...] = (
    _vv_ucb, _vv_count, _discovery, _only_vv, _barely_affected, _prior, _vanilla, _helped, _gamma_w,
)  # fmt: skip
STUDY = Study(
    id="stochastic",
    reference="Section 4.2.5, Figure 27",
    description="three gridworlds with stochastic transitions, 9 explorers",
    runs=runs,
    report=group_report(
        "Gridworlds with stochastic transitions",
        ("world", "explorer", "γ_w"),
        _label,
        line=lambda label: label[1],
        styles=functools.partial(explorer_styles, EXPLORERS),
        paper_seeds=SEEDS,
        is_shown=lambda label: label[0] in WORLDS and not label[2],
        is_reference=lambda label: label[0] not in WORLDS,
        more="; zero initialization; $\\gamma_w$ = 0.9",
        checks=CHECKS,
    ),
    quick_changes="5 seeds instead of 100, and not the larger γ_w",
    summarize=lambda run, result: reduced(result, keep=("visits",)),
)
