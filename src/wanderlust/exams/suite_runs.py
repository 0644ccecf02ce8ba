"""Which runs an exam consists of, and its scores from the stored ones."""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wanderlust.core.errors import InvalidSetting, check_choice, check_integer
from wanderlust.exams.scores import ExplorerScores, FailedRun, Place, WorldScores, is_complete, world_scores
from wanderlust.experiments.plain_options import plain_options
from wanderlust.experiments.result import Result
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import StoredRun
from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, PREFIX

SEEDS = 5
QUICK_SEEDS, QUICK_LEVELS = 2, (1, 2)
FIRST_SEED = 1_000
"""The seeds of the exam have no part in choosing any default."""
_MAX_NAME, _HASH_LENGTH = 60, 8


@dataclass(frozen=True)
class ExamSelection:
    """The part of the exam to take."""

    explorers: tuple[str, ...]
    """Registered names, or `module:Class`."""
    families: tuple[str, ...] = tuple(FAMILIES)
    levels: tuple[int, ...] = LEVELS
    seeds: int = SEEDS
    held_out: bool = True
    """Whether the worlds are the held-out ones, on which nothing was tuned, or those for development."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """[explorer]: options and settings that differ from the defaults."""

    def __post_init__(self) -> None:
        if not self.explorers:
            raise InvalidSetting("an exam needs at least one explorer; `wanderlust explorers` lists them.")
        if not self.families or not self.levels:
            raise InvalidSetting("an exam needs at least one family and one level; leave them out for all.")
        for family in self.families:
            check_choice("family", family, FAMILIES)
        for level in self.levels:
            check_integer("level", level, low=LEVELS[0], high=LEVELS[-1])
        check_integer("seeds", self.seeds, low=1)

    @property
    def description(self) -> dict[str, Any]:
        """The fields as plain values."""
        return {
            "explorers": list(self.explorers),
            "families": [family for family in FAMILIES if family in self.families],
            "levels": sorted(set(self.levels)),
            "seeds": self.seeds,
            "held_out": self.held_out,
            "options": {name: dict(plain_options("options", each)) for name, each in self.options.items()},
        }

    @functools.cached_property
    def name(self) -> str:
        """The explorers, and a hash of the description if it is not the whole exam with the default options."""
        names = " ".join(self.explorers)[:_MAX_NAME]
        whole = ExamSelection(self.explorers)
        if self.description == whole.description and len(names) < _MAX_NAME:
            return names
        text = json.dumps(self.description, sort_keys=True)
        return f"{names} {hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]}"

    @property
    def places(self) -> tuple[Place, ...]:
        """The family and the level of every world."""
        chosen = [family for family in FAMILIES if family in self.families]
        return tuple((family, level) for family in chosen for level in sorted(set(self.levels)))

    @property
    def seed_range(self) -> range:
        """The seeds of every explorer in every world."""
        return range(FIRST_SEED, FIRST_SEED + self.seeds)

    def run(self, explorer: str, place: Place, seed: int) -> Run:
        """Return one run of the exam."""
        return Run(
            world=PREFIX + place[0],
            world_options={"level": place[1], "held_out": self.held_out},
            explorer=explorer,
            explorer_options=dict(self.options.get(explorer, {})),
            seed=seed,
            measure="exam",
        )

    @property
    def runs(self) -> list[Run]:
        """Every run, one explorer after the other."""
        return [self.run(e, place, seed) for e in self.explorers for place in self.places for seed in self.seed_range]


def exam_scores(
    selection: ExamSelection,
    stored: Iterable[StoredRun],
    failures: Mapping[Run, str],
    times: Mapping[str, float],
) -> list[ExplorerScores]:
    """Return the scores of each explorer; a failed run has the score 0, and its world the error.

    `times` are the microseconds of a step of each explorer.
    """
    found = {each.run: each.result for each in stored if is_complete(each.result)}
    return [
        replace(_scores_of(explorer, selection, found, failures), step_microseconds=times.get(explorer, math.nan))
        for explorer in selection.explorers
    ]


def _scores_of(
    explorer: str, selection: ExamSelection, found: Mapping[Run, Result], failures: Mapping[Run, str]
) -> ExplorerScores:
    worlds: dict[Place, WorldScores] = {}
    errors: dict[Place, FailedRun] = {}
    n_missing = 0
    for place in selection.places:
        results: dict[int, Result | None] = {}
        for seed in selection.seed_range:
            run = selection.run(explorer, place, seed)
            if run in found:
                results[seed] = found[run]
            elif run in failures:
                results[seed] = None
                errors.setdefault(place, FailedRun(seed, failures[run]))
            else:
                n_missing += 1
        if results:
            worlds[place] = world_scores(results)
    return ExplorerScores(explorer, worlds, errors, options=selection.options.get(explorer, {}), n_missing=n_missing)
