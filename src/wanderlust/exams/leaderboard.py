"""The leaderboard: the kept scores of all explorers of the package in the held-out worlds, and ranks from them.

The file has the score of every run, so that every total, interval and rank can be computed again from it. Two
explorers can be told apart if the 95 % interval of the difference of their totals does not contain 0. Each interval is
for one pair; nothing is corrected for the number of pairs.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from wanderlust.core.errors import counted
from wanderlust.core.files import finite
from wanderlust.core.mdp import FloatArray
from wanderlust.exams.scores import ExplorerScores, FailedRun, WorldScores, levels_text
from wanderlust.exams.selection import FIRST_SEED, SEEDS, Place
from wanderlust.version import __version__
from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, VERSION

FILE, TUNED = "leaderboard.json", "tuned.json"
COMMAND = "python benchmarks/leaderboard.py --jobs 2"
_DIGITS, _CURVE_DIGITS = 4, 3
_TINY = 1e-6


@dataclass(frozen=True)
class Leaderboard:
    """The scores of several explorers in the same worlds."""

    explorers: tuple[ExplorerScores, ...]
    """The best total first."""
    seeds: int
    suite: int = VERSION
    version: str = __version__
    """The version of wanderlust that executed the runs."""

    @functools.cached_property
    def places(self) -> tuple[Place, ...]:
        """The worlds in which every explorer has scores."""
        known = [set(each.worlds) for each in self.explorers]
        common = set.intersection(*known) if known else set()
        return tuple((family, level) for family in FAMILIES for level in LEVELS if (family, level) in common)

    @property
    def is_complete(self) -> bool:
        """Whether it has all worlds and at least the default number of seeds."""
        return len(self.places) == len(FAMILIES) * len(LEVELS) and self.seeds >= SEEDS

    @property
    def extent(self) -> str:
        """The worlds and the seeds, in words."""
        levels = levels_text(level for _, level in self.places)
        families = len({family for family, _ in self.places})
        note = "" if self.is_complete else "; not the whole exam"
        return (
            f"suite {self.suite}, held-out worlds, {families} of {len(FAMILIES)} families, {levels} with "
            f"{counted(self.seeds, 'seed')} per world{note}"
        )

    def restricted(self, places: Collection[Place]) -> Leaderboard:
        """Return the leaderboard of some of the worlds."""
        return ranked([each.restricted(places) for each in self.explorers], self.seeds, self.suite, self.version)

    def find(self, explorer: str) -> ExplorerScores | None:
        """Return the scores of an explorer; None if it is not in the leaderboard."""
        return next((each for each in self.explorers if each.explorer == explorer), None)

    @functools.cached_property
    def standings(self) -> dict[str, dict[str, Any]]:
        """[explorer]: its place."""
        return {each.explorer: standing(each, self.explorers) for each in self.explorers}


def ranked(
    explorers: Sequence[ExplorerScores], seeds: int, suite: int = VERSION, version: str = __version__
) -> Leaderboard:
    """Return the leaderboard of some explorers."""
    totals = {id(each): each.total().estimate for each in explorers}
    order = sorted(explorers, key=lambda each: (-totals[id(each)], each.explorer))
    return Leaderboard(tuple(order), seeds, suite, version)


def standing(explorer: ExplorerScores, others: Sequence[ExplorerScores]) -> dict[str, Any]:
    """Return the place of an explorer among others; one of the others with its name is left out.

    Its rank is between `best`, one more than the number of explorers that are better with a difference whose interval
    does not contain 0, and `worst`, the number of explorers that are not worse in this sense.
    """
    differences = {each.label: explorer.minus(each) for each in others if each.label != explorer.label}
    equals = [label for label, each in differences.items() if each.low <= 0 <= each.high]
    rank, n = 1 + sum(each.estimate < 0 for each in differences.values()), len(differences) + 1
    best = 1 + sum(each.high < 0 for each in differences.values())
    worst = n - sum(each.low > 0 for each in differences.values())
    apart = f"; the data cannot tell it apart from {', '.join(equals)}" if equals else ""
    return {
        "rank": rank,
        "of": n,
        "best": best,
        "worst": worst,
        "range": str(best) if best == worst else f"{best}–{worst}",
        "cannot_be_told_apart_from": equals,
        "sentence": f"Rank {rank} of {n}{apart}.",
    }


def as_json(board: Leaderboard) -> str:
    """Return a leaderboard as JSON: one line per explorer and family, so that versions can be compared."""
    head = {
        "suite": board.suite,
        "wanderlust": board.version,
        "held_out": True,
        "first_seed": FIRST_SEED,
        "seeds": board.seeds,
        "command": COMMAND,
    }
    lines = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    return "\n".join(["{", *lines, '"explorers": [', ",\n".join(map(_explorer_json, board.explorers)), "]", "}"]) + "\n"


def _explorer_json(explorer: ExplorerScores) -> str:
    time = explorer.step_microseconds
    head = {
        "explorer": explorer.explorer,
        "options": dict(explorer.options),
        "step_microseconds": finite(round(time, 2)),
        "failures": [[*place, *failed] for place, failed in explorer.failures.items()],
    }
    families = []
    for family in explorer.families:
        levels = {level: _plain(each) for level, each in explorer.levels_of(family).items()}
        families.append(f"{json.dumps(family)}:{json.dumps(levels, separators=(',', ':'))}")
    return f'{json.dumps(head)[:-1]}, "worlds": {{\n' + ",\n".join(families) + "}}"


def _plain(scores: WorldScores) -> dict[str, Any]:
    scale = 10**_DIGITS
    return {
        "scores": _rounded(scores.scores, _DIGITS),
        "data": _rounded(scores.data_scores, _DIGITS),
        # Rounded down, so that rounding never passes a level.
        "last": _rounded(np.floor(scores.last * scale + _TINY) / scale, _DIGITS),
        "curve": _rounded(scores.curve, _CURVE_DIGITS),
    }


def _rounded(values: FloatArray, digits: int) -> list[float | None]:
    rounded = [finite(round(float(value), digits)) for value in values]
    return [int(value) if value in (0.0, 1.0) else value for value in rounded]  # Shorter.


def from_json(text: str) -> Leaderboard:
    """Return the leaderboard of a text that `as_json` returned."""
    values = json.loads(text)
    explorers = [
        ExplorerScores(
            explorer=each["explorer"],
            worlds={
                (family, int(level)): _read_scores(scores)
                for family, levels in each["worlds"].items()
                for level, scores in levels.items()
            },
            failures={(family, level): FailedRun(*failed) for family, level, *failed in each["failures"]},
            step_microseconds=math.nan if each["step_microseconds"] is None else each["step_microseconds"],
            options=each["options"],
        )
        for each in values["explorers"]
    ]
    return ranked(explorers, values["seeds"], values["suite"], values["wanderlust"])


def _read_scores(values: Mapping[str, Any]) -> WorldScores:
    scores, data, last, curve = (np.array(values[name], np.float64) for name in ("scores", "data", "last", "curve"))
    return WorldScores(scores, data, last, curve, tuple(range(FIRST_SEED, FIRST_SEED + len(scores))))


@functools.cache
def kept_leaderboard() -> Leaderboard | None:
    """Return the leaderboard that is part of the package; None if there is none for this version of the suite."""
    file = files("wanderlust.exams") / FILE
    if not file.is_file():
        return None
    board = from_json(file.read_text(encoding="utf-8"))
    return board if board.suite == VERSION else None


def tuned_settings() -> dict[str, dict[str, Any]]:
    """Return the settings of the leaderboard that differ from an explorer's defaults.

    The defaults of the paper's explorers are the paper's. Where another value was better in the worlds for development,
    with the same number of trials as for every other explorer, the leaderboard uses that value. The defaults of all
    other explorers are the tuned values, so they are not listed. `benchmarks/exam_tuning.py` writes the file, and
    `docs/exam-tuning.md` has the scores of all values.
    """
    settings: dict[str, dict[str, Any]] = json.loads((files("wanderlust.exams") / TUNED).read_text(encoding="utf-8"))
    return settings
