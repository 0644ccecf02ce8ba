"""The report card of an exam: what all its forms, for terminals, as Markdown, HTML and JSON, show."""

from __future__ import annotations

import functools
import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wanderlust.core.errors import counted
from wanderlust.exams.leaderboard import Leaderboard, Standing, kept_leaderboard, standing
from wanderlust.exams.scores import PASSING_SCORE, ExplorerScores, Place, levels_text
from wanderlust.exams.suite_runs import ExamSelection
from wanderlust.exams.timing import TIMED_WORLD
from wanderlust.experiments.exact_returns import N_LOOKS
from wanderlust.experiments.run import Run
from wanderlust.experiments.statistics import Interval
from wanderlust.version import __version__
from wanderlust.worlds.exam_suite import FAMILIES, VERSION

REFERENCES = ("vv-ucb", "epsilon-greedy", "random")
"""Explorers of the leaderboard that every card shows beside its own."""
MAX_OTHERS = 4
"""The maximum number of explorers beside one explorer, in its own table and plots."""
RULE = (
    f"The score of a run is the mean over {N_LOOKS} looks, from 1/16 of the budget to its end, of the policy's exact "
    "return: 0 for a random policy, 1 for an optimal one. A family is the mean of its levels, the total the mean of "
    f"the families. ✓ passed: at least {PASSING_SCORE:g} at the end in 80 % of the seeds. “By the data” is the score "
    "of the policy that is best by the data that the explorer collected. Intervals: 95 %, bootstrap over worlds and "
    f"seeds. The time per step is that of one run in {TIMED_WORLD}."
)


@dataclass(frozen=True)
class WeakPoint:
    """A level that an explorer does not pass, and its worst run there."""

    place: Place
    seed: int
    n_failed: int
    """The number of seeds that end below the passing score."""
    n_seeds: int
    last: float
    """The score of this seed at the last look."""
    run: Run

    @property
    def sentence(self) -> str:
        """What fails where."""
        family, level = self.place
        seeds = f"{self.n_failed} of {counted(self.n_seeds, 'seed')}"
        verb = "ends" if self.n_failed == 1 else "end"
        return (
            f"Fails at {family}, level {level}: {seeds} {verb} below {PASSING_SCORE:g}, seed {self.seed} at "
            f"{self.last:.2f}."
        )

    @property
    def command(self) -> str:
        """The command that shows this run in the terminal, step by step."""
        return watch_command(self.run)


def watch_command(run: Run) -> str:
    """Return the command that shows a run of the exam in the terminal."""
    words = ["wanderlust", "watch", run.world, "--env", *_assignments(run.world_options)]
    words += ["--explorer", run.explorer, "--seed", str(run.seed)]
    words += ["--set", *_assignments(run.overrides)] if run.overrides else []
    return shlex.join(words)


def _assignments(options: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in options.items()]


def family_meaning(family: str) -> str:
    """Return what a family tests, in one sentence."""
    return (FAMILIES[family].__doc__ or "").strip().splitlines()[0]


@dataclass(frozen=True)
class Card:
    """The results of an exam, and what they are compared with."""

    selection: ExamSelection
    explorers: tuple[ExplorerScores, ...]
    board: Leaderboard | None
    """The kept leaderboard in the worlds of this exam; None if it does not have all of them."""

    @functools.cached_property
    def references(self) -> tuple[ExplorerScores, ...]:
        """The scores of other explorers from the leaderboard, those of this exam left out."""
        shown = {each.label for each in self.explorers}
        found = [self.board.find(name) for name in REFERENCES] if self.board is not None else []
        return tuple(each for each in found if each is not None and each.label not in shown)

    @functools.cached_property
    def standings(self) -> dict[str, Standing]:
        """[explorer]: its place among the explorers of the leaderboard; empty without a leaderboard."""
        if self.board is None:
            return {}
        complete = [each for each in self.explorers if not each.n_missing]
        return {each.explorer: standing(each, self.board.explorers) for each in complete}

    def standing(self, explorer: ExplorerScores) -> Standing | None:
        """Return the place of an explorer of this exam or of a reference; None if it is not known."""
        if explorer in self.explorers or self.board is None:
            return self.standings.get(explorer.explorer)
        return self.board.standings.get(explorer.explorer)

    def others(self, explorer: ExplorerScores) -> list[ExplorerScores]:
        """Return the explorers that are shown beside one of this exam."""
        others = [each for each in (*self.explorers, *self.references) if each.label != explorer.label]
        return others[:MAX_OTHERS]

    @property
    def title(self) -> str:
        """The explorers, and that this is an exam."""
        return f"Exam: {', '.join(each.label for each in self.explorers)}"

    @property
    def extent(self) -> str:
        """The suite, the worlds and the seeds, in words."""
        selection = self.selection
        worlds = "held-out worlds" if selection.held_out else "development worlds"
        places = selection.places
        families = list(dict.fromkeys(family for family, _ in places))
        shown = f"{len(families)} families" if len(families) == len(FAMILIES) else ", ".join(families)
        levels = levels_text(level for _, level in places)
        seeds = selection.seed_range
        seed_text = f"{counted(len(seeds), 'seed')} ({seeds[0]}" + (f" to {seeds[-1]})" if len(seeds) > 1 else ")")
        return f"Suite {VERSION}, {worlds}: {shown}; {levels}; {seed_text}. wanderlust {__version__}."

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers has to know."""
        notes = []
        missing = sum(each.n_missing for each in self.explorers)
        if missing:
            notes.append(f"Incomplete: {counted(missing, 'run')} not executed yet; the same command continues.")
        if self.board is not None and (self.references or self.standings):
            names = [*(each.label for each in self.references), *(["the ranks"] if self.standings else [])]
            listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
            verb = "are" if len(names) > 1 or self.standings else "is"
            notes.append(f"From the kept leaderboard, in the same worlds, {verb} {listed} ({self.board.extent}).")
        elif not self.selection.held_out:
            notes.append("No rank: the leaderboard is made in the held-out worlds.")
        else:
            notes.append("No rank: the package has no leaderboard of these worlds.")
        return notes

    def weak_point(self, explorer: ExplorerScores) -> WeakPoint | None:
        """Return the easiest level that an explorer does not pass, of its weakest family; None if there is none."""
        place = explorer.weakest
        if place is None:
            return None
        world = explorer.worlds[place]
        worst = int(world.last.argmin())
        n_failed = int((world.last < PASSING_SCORE).sum())
        run = self.selection.run(explorer.explorer, place, world.seeds[worst])
        return WeakPoint(place, world.seeds[worst], n_failed, len(world.seeds), float(world.last[worst]), run)

    def strength(self, explorer: ExplorerScores) -> str | None:
        """Return a sentence on an explorer that passes all levels; None for another one."""
        if not explorer.worlds or explorer.n_passed < len(explorer.worlds):
            return None
        slowest = min(explorer.families, key=explorer.family_score)
        return f"Passes every level; learns slowest in {slowest}, score {explorer.family_score(slowest):.2f}."

    def errors(self, explorer: ExplorerScores) -> list[tuple[Place, str, str]]:
        """Return the worlds in which a run failed: the world, the error, and the command that repeats the run."""
        return [
            (place, failed.error, self.selection.run(explorer.explorer, place, failed.seed).command)
            for place, failed in explorer.failures.items()
        ]

    def error_sentences(self, explorer: ExplorerScores) -> list[tuple[str, str, str]]:
        """Return every different error of an explorer: where, the error, and the command that repeats a run.

        An explorer with a mistake often fails with the same error in every world.
        """
        found: dict[str, list[tuple[Place, str]]] = {}
        for place, error, command in self.errors(explorer):
            found.setdefault(error, []).append((place, command))
        sentences = []
        for error, runs in found.items():
            levels: dict[str, list[int]] = {}
            for (family, level), _ in runs:
                levels.setdefault(family, []).append(level)
            where = "; ".join(f"{family}, {levels_text(each)}" for family, each in levels.items())
            where = "every world" if len(explorer.worlds) == len(runs) > 1 else where
            stop = "" if error.endswith((".", "!", "?", ")")) else "."
            repeat = "Repeat it:" if len(runs) == 1 else f"Repeat the first of {counted(len(runs), 'world')}:"
            sentences.append((f"Error in {where}:", f"{error}{stop} {repeat}", runs[0][1]))
        return sentences


def make_card(selection: ExamSelection, explorers: tuple[ExplorerScores, ...]) -> Card:
    """Return the card of an exam, with the kept leaderboard if that has its worlds."""
    board = kept_leaderboard() if selection.held_out else None
    if board is not None:
        board = board.restricted(selection.places) if set(selection.places) <= set(board.places) else None
    return Card(selection, explorers, board)


def interval_text(interval: Interval) -> str:
    """Return the bounds of an interval; a dash if there is none."""
    return f"{interval.low:.3f} to {interval.high:.3f}" if math.isfinite(interval.low) else "–"


def number_text(value: float, digits: int = 3) -> str:
    """Return a number with a fixed number of digits; a dash if there is none."""
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def rank_text(place: Standing | None) -> str:
    """Return a rank, such as "2 of 19"; a dash if there is none."""
    return "–" if place is None else f"{place.rank} of {place.n}"


def time_text(microseconds: float) -> str:
    """Return the time of a step."""
    return f"{microseconds:.1f} µs" if math.isfinite(microseconds) else "–"


def rank_sentence(place: Standing | None) -> str:
    """Return a rank with the explorers that cannot be told apart; "" if there is none."""
    if place is None:
        return ""
    if not place.equals:
        return f"Rank {rank_text(place)}."
    return f"Rank {rank_text(place)}; the data cannot tell it apart from {', '.join(place.equals)}."


def settings_text(explorer: ExplorerScores) -> str:
    """Return the options and settings that differ from the defaults."""
    return ", ".join(_assignments(explorer.options)) or "defaults"


SUMMARY_HEADS = ("explorer", "total", "95 % interval", "by the data", "rank", "passed", "time per step")


def summary_cells(card: Card, explorer: ExplorerScores) -> list[str]:
    """Return the row of an explorer in the table of all explorers, without its name: the columns of `SUMMARY_HEADS`."""
    total = explorer.total()
    return [
        number_text(total.estimate),
        interval_text(total),
        number_text(explorer.total(data=True).estimate),
        rank_text(card.standing(explorer)),
        f"{explorer.n_passed} of {len(explorer.worlds)}",
        time_text(explorer.step_microseconds),
    ]
