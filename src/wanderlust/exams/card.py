"""The values of a report card, which all its forms show: JSON as it is, templates for HTML and Markdown, tables."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wanderlust.core.errors import counted
from wanderlust.exams.leaderboard import Leaderboard, kept_leaderboard, standing
from wanderlust.exams.scores import PASSING_SCORE, TIMED_WORLD, ExplorerScores, levels_text
from wanderlust.exams.selection import ExamSelection, Place
from wanderlust.experiments.exact_returns import N_EVALUATIONS, evaluation_fractions
from wanderlust.experiments.run import Run
from wanderlust.version import __version__
from wanderlust.worlds.exam_suite import FAMILIES, VERSION

Card = dict[str, Any]
REFERENCES = ("vv-ucb", "epsilon-greedy", "random")
"""Explorers of the leaderboard that every card shows beside its own."""
MAX_OTHERS = 4
"""The maximum number of explorers beside one explorer, in its own table and plots."""
RULE = (
    f"The score of a run is the mean over {N_EVALUATIONS} evaluations, from 1/16 of the budget to its end, of the "
    "policy's exact return: 0 for a random policy, 1 for an optimal one. A family is the mean of its levels, the "
    f"total the mean of the families. ✓ passed: at least {PASSING_SCORE:g} at the end in 80 % of the seeds. “By the "
    "data” is the score of the policy that is best by the data that the explorer collected. Intervals: 95 %, bootstrap "
    f"over worlds and seeds. The time per step is that of one run in {TIMED_WORLD}."
)


def make_card(selection: ExamSelection, explorers: Sequence[ExplorerScores]) -> Card:
    """Return the card of an exam, with the kept leaderboard if that has its worlds."""
    board = kept_leaderboard() if selection.held_out else None
    if board is not None:
        board = board.restricted(selection.places) if set(selection.places) <= set(board.places) else None
    return card_beside(selection, explorers, board)


def card_beside(selection: ExamSelection, explorers: Sequence[ExplorerScores], board: Leaderboard | None) -> Card:
    """Return the card of an exam beside a leaderboard of the same worlds; without one there are no ranks."""
    own = {each.label for each in explorers}
    found = [board.find(name) for name in REFERENCES] if board is not None else []
    references = [each for each in found if each is not None and each.label not in own]
    results, has_ranks = [], False
    for each in explorers:
        rank = standing(each, board.explorers) if board is not None and not each.n_missing else None
        has_ranks = has_ranks or rank is not None
        results.append(score_values(each, rank) | _findings(selection, each))
    return {
        "suite": VERSION,
        "wanderlust": __version__,
        **selection.description,
        "first_seed": selection.seed_range[0],
        "evaluations": [round(float(fraction), 4) for fraction in evaluation_fractions()],
        "title": ", ".join(each.label for each in explorers),
        "extent": _extent(selection),
        "notes": _notes(selection, explorers, references, board, has_ranks=has_ranks),
        "rule": RULE,
        "results": results,
        "references": [score_values(each, board.standings[each.explorer]) for each in references if board is not None],
    }


def others(card: Card, explorer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the explorers that are shown beside one of the card's own."""
    return [each for each in card["results"] + card["references"] if each["label"] != explorer["label"]][:MAX_OTHERS]


def score_values(explorer: ExplorerScores, rank: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the scores of an explorer as plain values; numbers that are not known are NaN."""
    return {
        "explorer": explorer.explorer,
        "label": explorer.label,
        "options": dict(explorer.options),
        "settings": ", ".join(_assignments(explorer.options)) or "defaults",
        "total": explorer.total()._asdict(),
        "total_by_the_data": explorer.total(data=True)._asdict(),
        "rank": rank,
        "passed": explorer.n_passed,
        "worlds": len(explorer.worlds),
        "step_microseconds": explorer.step_microseconds,
        "curve": explorer.curve.tolist(),
        "families": {family: _family_values(explorer, family) for family in explorer.families},
    }


def _family_values(explorer: ExplorerScores, family: str) -> dict[str, Any]:
    return {
        "meaning": _meaning(family),
        "score": explorer.family_score(family),
        "curve": explorer.family_curve(family).tolist(),
        "levels": {
            level: {
                "score": float(world.scores.mean()),
                "passed": world.passed,
                "failed": (family, level) in explorer.failures,
                "seeds": list(world.seeds),
                "scores": world.scores.tolist(),
                "scores_by_the_data": world.data_scores.tolist(),
                "last": world.last.tolist(),
                "curve": world.curve.tolist(),
            }
            for level, world in explorer.levels_of(family).items()
        },
    }


def _meaning(family: str) -> str:
    """Return what a family tests, in one sentence."""
    return (FAMILIES[family].__doc__ or "").strip().splitlines()[0]


def _findings(selection: ExamSelection, explorer: ExplorerScores) -> dict[str, Any]:
    """Return where an explorer fails, with the commands that show it."""
    strength = None
    if explorer.worlds and explorer.n_passed == len(explorer.worlds):
        slowest = min(explorer.families, key=explorer.family_score)
        strength = f"Passes every level; learns slowest in {slowest}, score {explorer.family_score(slowest):.2f}."
    return {
        "fails_at": _weak_point(selection, explorer),
        "strength": strength,
        "errors": _errors(selection, explorer),
        "missing_runs": explorer.n_missing,
    }


def _weak_point(selection: ExamSelection, explorer: ExplorerScores) -> dict[str, Any] | None:
    """Return the easiest level that an explorer does not pass, of its weakest family, and its worst run there."""
    if (place := explorer.weakest) is None:
        return None
    world, (family, level) = explorer.worlds[place], place
    worst = int(world.last.argmin())
    seed, n_failed = world.seeds[worst], int((world.last < PASSING_SCORE).sum())
    run = selection.run(explorer.explorer, place, seed)
    return {
        "family": family,
        "level": level,
        "seed": seed,
        "sentence": f"Fails at {family}, level {level}: {n_failed} of {counted(len(world.seeds), 'seed')} "
        f"{'ends' if n_failed == 1 else 'end'} below {PASSING_SCORE:g}, seed {seed} at {world.last[worst]:.2f}.",
        "meaning": _meaning(family),
        "watch": watch_command(run),
        "run": run.command,
    }


def watch_command(run: Run) -> str:
    """Return the command that shows a run of the exam in the terminal, step by step."""
    words = ["wanderlust", "watch", run.world, "--env", *_assignments(run.world_options)]
    words += ["--explorer", run.explorer, "--seed", str(run.seed)]
    words += ["--set", *_assignments(run.overrides)] if run.overrides else []
    return shlex.join(words)


def _assignments(options: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in options.items()]


def _errors(selection: ExamSelection, explorer: ExplorerScores) -> list[dict[str, Any]]:
    """Return every different error: where, the error, and the command that repeats a run.

    An explorer with a mistake often fails with the same error in every world.
    """
    places: dict[str, list[Place]] = {}
    for place, failed in explorer.failures.items():
        places.setdefault(failed.error, []).append(place)
    errors = []
    for error, found in places.items():
        levels: dict[str, list[int]] = {}
        for family, level in found:
            levels.setdefault(family, []).append(level)
        where = "; ".join(f"{family}, {levels_text(each)}" for family, each in levels.items())
        where = "every world" if len(explorer.worlds) == len(found) > 1 else where
        stop = "" if error.endswith((".", "!", "?", ")")) else "."
        repeat = "Repeat it:" if len(found) == 1 else f"Repeat the first of {counted(len(found), 'world')}:"
        run = selection.run(explorer.explorer, found[0], explorer.failures[found[0]].seed)
        errors.append({
            "where": f"Error in {where}:", "error": f"{error}{stop} {repeat}", "run": run.command, "worlds": found
        })  # fmt: skip
    return errors


def _extent(selection: ExamSelection) -> str:
    """Return the suite, the worlds and the seeds, in words."""
    worlds = "held-out worlds" if selection.held_out else "development worlds"
    families = selection.description["families"]
    shown = f"{len(families)} families" if len(families) == len(FAMILIES) else ", ".join(families)
    seeds = selection.seed_range
    seed_text = f"{counted(len(seeds), 'seed')} ({seeds[0]}" + (f" to {seeds[-1]})" if len(seeds) > 1 else ")")
    levels = levels_text(selection.levels)
    return f"Suite {VERSION}, {worlds}: {shown}; {levels}; {seed_text}. wanderlust {__version__}."


def _notes(
    selection: ExamSelection,
    explorers: Iterable[ExplorerScores],
    references: Sequence[ExplorerScores],
    board: Leaderboard | None,
    *,
    has_ranks: bool,
) -> list[str]:
    """Return what a reader of the numbers has to know."""
    notes = []
    if missing := sum(each.n_missing for each in explorers):
        notes.append(f"Incomplete: {counted(missing, 'run')} not executed yet; the same command continues.")
    if board is not None and (references or has_ranks):
        names = [*(each.label for each in references), *(["the ranks"] if has_ranks else [])]
        listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
        verb = "are" if len(names) > 1 or has_ranks else "is"
        notes.append(f"From the kept leaderboard, in the same worlds, {verb} {listed} ({board.extent}).")
    elif not selection.held_out:
        notes.append("No rank: the leaderboard is made in the held-out worlds.")
    else:
        notes.append("No rank: the package has no leaderboard of these worlds.")
    return notes
