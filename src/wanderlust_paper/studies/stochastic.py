"""Section 4.2.5, Figure 27: gridworlds with stochastic transitions. The return is the exact V^π of the start."""

from __future__ import annotations

import functools

from wanderlust.experiments.report.style import explorer_styles
from wanderlust.experiments.run import Run
from wanderlust_paper.claims.stochastic_claims import SEEDS, WORLDS, check_claims
from wanderlust_paper.registry import EXPLORERS, Study, StudySelection
from wanderlust_paper.studies.group_report import group_report
from wanderlust_paper.summary_file import reduced

SUCCESS_THRESHOLD = 99.0
"""Success, in percent, from which a run has learnt; ties between actions in distant states cost less than 1 %."""


def runs(selection: StudySelection) -> list[Run]:
    """Return world x explorer x seed."""
    return [
        Run(world=world, explorer=explorer, preset=selection.preset, seed=seed)
        for world in selection.select_worlds(WORLDS)
        for explorer in selection.select_explorers(EXPLORERS)
        for seed in selection.select_seeds(SEEDS, 5)
    ]


STUDY = Study(
    id="stochastic",
    reference="Section 4.2.5, Figure 27",
    description="three gridworlds with stochastic transitions, 9 explorers",
    runs=runs,
    report=group_report(
        "Gridworlds with stochastic transitions",
        ("world", "explorer"),
        lambda run: (run.world, run.explorer),
        line=lambda label: label[1],
        styles=functools.partial(explorer_styles, EXPLORERS),
        success_threshold=SUCCESS_THRESHOLD,
        claims=check_claims,
    ),
    quick_changes="5 seeds instead of 50",
    summarise=lambda run, result: reduced(result, keep=("visits",)),
)
