"""The report card of an exam: its values, its files (JSON, templates for HTML and Markdown), and in the terminal.

Every card has ranks from the kept leaderboard, and some explorers of it beside its own; it is printed here, too.
"""

from __future__ import annotations

import functools
import io
import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from wanderlust.core.errors import counted
from wanderlust.exams.scores import (
    PASSING_SCORE,
    PROFILE_SCORES,
    TIMED_WORLD,
    ExplorerScores,
    Leaderboard,
    Place,
    is_passed,
    kept_leaderboard,
    levels_text,
    mean_curve,
)
from wanderlust.experiments.report.text_tables import Report, as_line, markdown_cell, new_table, printable
from wanderlust.experiments.run import Run
from wanderlust.experiments.world_run import FIRST_EVALUATION, N_EVALUATIONS, evaluation_fractions
from wanderlust.version import __version__
from wanderlust.worlds.exam_suite import FAMILIES, VERSION

if TYPE_CHECKING:
    import jinja2

    from wanderlust.exams.exam import ExamSelection

Card = dict[str, Any]
Values = Mapping[str, Any]
REFERENCES = ("vv-ucb", "epsilon-greedy", "random")
"""Explorers of the leaderboard that every card shows beside its own."""
MAX_OTHERS = 4
"""The maximum number of explorers beside one explorer, in its own table and plots."""
FORMATS = (".html", ".md", ".json", ".txt")
WRITTEN = (".html", ".md", ".json")
"""The files of a card in the folder of its exam."""
TEXT_WIDTH = 100
LEADERBOARD_COMMAND = "python benchmarks/leaderboard.py --jobs 2"
RULE = (
    f"The score of a run is the mean over {N_EVALUATIONS} evaluations, from 1/16 of the budget to its end, of the "
    "policy's exact return: 0 for a random policy, 1 for an optimal one. A family is the mean of its levels, the "
    f"total the mean of the families. ✓ passed: at least {PASSING_SCORE:g} at the end in 80 % of the seeds. “By the "
    "data” is the score of the policy that is best by the data that the explorer collected. “While learning” is the "
    "mean discounted return of the episodes in which it learns: 0 for random actions, 1 for optimal ones. IQM: "
    "interquartile mean of the runs. Intervals: 95 %, bootstrap over worlds and seeds. “Computes”: what a step "
    f"computes beside Q. The time per step is that of one run in {TIMED_WORLD}."
)
DIFFERENCES = (
    "Ranks: an explorer with the rank 2–5 is worse than one other and better than all but four others, with a "
    "difference whose interval does not contain 0. The others cannot be told apart from it by these data. "
    "Intervals: bootstrap over worlds and seeds; two explorers are compared in the same worlds. The intervals of "
    "differences are corrected for the number of pairs: all of them together contain their differences with a "
    "probability of 95 %."
)
_LINE = "▁▂▃▄▅▆▇█"
_DIM = "dim"


# --- Values ------------------------------------------------------------------------------------------------------


def make_card(selection: ExamSelection, explorers: Sequence[ExplorerScores]) -> Card:
    """Return the card of an exam, beside the kept leaderboard if that has its worlds; without it there are no ranks."""
    board = kept_leaderboard() if selection.held_out else None
    board = board.restricted(selection.places) if board and set(selection.places) <= set(board.places) else None
    own = {each.label for each in explorers}
    found = [board.find(name) for name in REFERENCES] if board else []
    references = [each for each in found if each is not None and each.label not in own]
    ranks = [board.standing(each) if board and not each.n_missing else None for each in explorers]
    return {
        "suite": VERSION,
        "wanderlust": __version__,
        **selection.description,
        "first_seed": selection.seed_range[0],
        "evaluations": [round(float(fraction), 4) for fraction in evaluation_fractions()],
        "title": ", ".join(each.label for each in explorers),
        "extent": _extent(selection),
        "notes": _notes(selection, explorers, board),
        "rule": RULE,
        "results": [
            score_values(each, rank) | _findings(selection, each) | _improvements(each, [*explorers, *references])
            for each, rank in zip(explorers, ranks, strict=True)
        ],
        "references": [score_values(each, board.standing(each)) for each in references if board],
    }


def others(card: Card, explorer: Values) -> list[Values]:
    """Return the explorers that are shown beside one of the card's own."""
    return [each for each in card["results"] + card["references"] if each["label"] != explorer["label"]][:MAX_OTHERS]


def score_values(explorer: ExplorerScores, rank: Values | None) -> dict[str, Any]:
    """Return the scores of an explorer as plain values; numbers that are not known are NaN."""
    return {
        "explorer": explorer.explorer,
        "label": explorer.label,
        "options": dict(explorer.options),
        "settings": ", ".join(_assignments(explorer.options)) or "defaults",
        "total": explorer.total()._asdict(),
        "total_by_the_data": explorer.total("data_score")._asdict(),
        "total_while_learning": explorer.total("learning_score")._asdict(),
        "interquartile_mean": explorer.interquartile_mean()._asdict(),
        "performance_profile": dict(zip(map(str, PROFILE_SCORES), explorer.profile, strict=True)),
        "rank": rank,
        "passed": explorer.n_passed,
        "worlds": len(explorer.worlds),
        "step_microseconds": explorer.step_microseconds,
        "computes": explorer.computes,
        "curve": explorer.curve.tolist(),
        "families": {family: _family_values(explorer, family) for family in explorer.families},
    }


def _family_values(explorer: ExplorerScores, family: str) -> dict[str, Any]:
    return {
        "meaning": _meaning(family),
        "score": explorer.family_score(family),
        "interval": explorer.family_interval(family)._asdict(),
        "while_learning": explorer.family_score(family, "learning_score"),
        "curve": explorer.family_curve(family).tolist(),
        "levels": {
            level: {
                "score": float(world.column("score").mean()),
                "passed": is_passed(world),
                "failed": (family, level) in explorer.failures,
                "seeds": [row["seed"] for row in world.rows],
                "scores": world.column("score").tolist(),
                "scores_by_the_data": world.column("data_score").tolist(),
                "scores_while_learning": world.column("learning_score").tolist(),
                "last": world.column("last").tolist(),
                "curve": mean_curve(world).tolist(),
            }
            for level, world in explorer.families[family].items()
        },
    }


def _meaning(family: str) -> str:
    """Return what a family tests, in one sentence."""
    return (FAMILIES[family].__doc__ or "").strip().splitlines()[0]


def _findings(selection: ExamSelection, explorer: ExplorerScores) -> dict[str, Any]:
    """Return where an explorer fails, with the commands that show it."""
    passes = bool(explorer.rows) and explorer.n_passed == len(explorer.worlds)
    return {
        "fails_at": _weak_point(selection, explorer),
        "strength": "Passes every level." if passes else None,
        "errors": _errors(selection, explorer),
        "missing_runs": explorer.n_missing,
    }


def _improvements(explorer: ExplorerScores, others: Sequence[ExplorerScores]) -> dict[str, Any]:
    """Return the probability that a run is better than one of each other explorer in the same worlds."""
    found = [each for each in others if each.label != explorer.label and {*each.worlds} == {*explorer.worlds}]
    found = found if explorer.rows else []
    return {"improvements": {each.label: explorer.improvement(each)._asdict() for each in found}}


def _weak_point(selection: ExamSelection, explorer: ExplorerScores) -> dict[str, Any] | None:
    """Return the easiest level that an explorer does not pass, of its weakest family, and its worst run there."""
    if (place := explorer.weakest) is None:
        return None
    (family, level), rows = place, explorer.worlds[place].rows
    worst, n_failed = min(rows, key=lambda row: row["last"]), sum(row["last"] < PASSING_SCORE for row in rows)
    run = selection.run(explorer.explorer, place, worst["seed"])
    return {
        "family": family,
        "level": level,
        "seed": run.seed,
        "sentence": f"Fails at {family}, level {level}: {n_failed} of {counted(len(rows), 'seed')} "
        f"{'ends' if n_failed == 1 else 'end'} below {PASSING_SCORE:g}, seed {run.seed} at {worst['last']:.2f}.",
        "meaning": _meaning(family),
        "watch": watch_command(run),
        "run": run.command,
    }


def watch_command(run: Run) -> str:
    """Return the command that plays a run of the exam in the terminal."""
    words = ["wanderlust", "watch", run.world, "--env", *_assignments(run.world_options)]
    words += ["--explorer", run.explorer, "--seed", str(run.seed)]
    words += ["--set", *_assignments(run.overrides)] if run.overrides else []
    return shlex.join(words)


def _assignments(options: Values) -> list[str]:
    return [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in options.items()]


def _errors(selection: ExamSelection, explorer: ExplorerScores) -> list[dict[str, Any]]:
    """Return every different error: where, the error, and the command that repeats a run.

    An explorer with a mistake often fails with the same error in every world.
    """
    worlds: dict[str, list[Place]] = {}
    for place, failed in explorer.failures.items():
        worlds.setdefault(failed.error, []).append(place)
    errors = []
    for error, found in worlds.items():
        family, level = found[0]
        others = f" and in {counted(len(found) - 1, 'other world')}" if len(found) > 1 else ""
        run = selection.run(explorer.explorer, found[0], explorer.failures[found[0]].seed)
        where = f"Error in {family}, level {level}{others}:"
        repeat = f"{error.rstrip('.')}. Repeat it:"
        errors.append({"where": where, "error": repeat, "run": run.command, "worlds": found})
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


def _notes(selection: ExamSelection, explorers: Sequence[ExplorerScores], board: Leaderboard | None) -> list[str]:
    """Return what a reader of the numbers has to know."""
    notes = []
    if missing := sum(each.n_missing for each in explorers):
        notes.append(f"Incomplete: {counted(missing, 'run')} not executed yet; the same command continues.")
    if board is not None:
        notes.append(f"Ranks, and explorers that were not examined, are of the kept leaderboard ({board.extent}).")
    elif selection.held_out:
        notes.append("No rank: the package has no leaderboard of these worlds.")
    else:
        notes.append("No rank: the leaderboard is made in the held-out worlds.")
    return notes


# --- Cells -------------------------------------------------------------------------------------------------------


def number_text(value: float, digits: int = 3) -> str:
    """Return a number with a fixed number of digits; a dash if it is not known."""
    return f"{value:.{digits}f}" if math.isfinite(value) else "–"


def interval_text(interval: Mapping[str, float], digits: int = 3) -> str:
    """Return the bounds of an interval; a dash if they are not known."""
    low, high = interval["low"], interval["high"]
    return f"{low:.{digits}f} to {high:.{digits}f}" if math.isfinite(low) else "–"


def time_text(microseconds: float) -> str:
    """Return the time of a step."""
    return f"{microseconds:.1f} µs" if math.isfinite(microseconds) else "–"


def score_cells(explorer: Values) -> dict[str, str]:
    """Return the cells of an explorer in a table of all explorers, by their heads."""
    rank = explorer["rank"]
    return {
        "total": number_text(explorer["total"]["estimate"]),
        "95 % interval": interval_text(explorer["total"]),
        "IQM": number_text(explorer["interquartile_mean"]["estimate"]),
        "by the data": number_text(explorer["total_by_the_data"]["estimate"]),
        "while learning": number_text(explorer["total_while_learning"]["estimate"]),
        "rank": "–" if rank is None else f"{rank['rank']} of {rank['of']}",
        "passed": f"{explorer['passed']} of {explorer['worlds']}",
        "computes": explorer["computes"],
        "time per step": time_text(explorer["step_microseconds"]),
    }


def level_text(level: Values | None) -> str:
    """Return the score of a level, with a tick if it is passed; a dash if it was not taken."""
    mark = "" if level is None else " error" if level["failed"] else " ✓" if level["passed"] else ""
    return "–" if level is None else f"{number_text(level['score'], 2)}{mark}"


def family_rows(card: Card, explorer: Values) -> list[dict[str, str]]:
    """Return the rows of an explorer's table of families by their heads, with the scores of other explorers."""
    beside = others(card, explorer)
    return [
        {
            "family": name,
            "learning": sparkline(family["curve"]),
            "score": number_text(family["score"], 2),
            "95 %": interval_text(family["interval"], 2),
            **{each["label"]: number_text(each["families"].get(name, {}).get("score", math.nan), 2) for each in beside},
            **{f"level {level}": level_text(family["levels"].get(level)) for level in card["levels"]},
            "while learning": number_text(family["while_learning"], 2),
        }
        for name, family in explorer["families"].items()
    ]


def improvements_text(explorer: Values) -> str:
    """Return the probabilities of improvement in a sentence."""
    values = explorer["improvements"]
    found = [f"{label} {each['estimate']:.2f} ({interval_text(each)})" for label, each in values.items()]
    return f"Probability that a run is better than one of {', of '.join(found)}."


def sparkline(curve: Sequence[float]) -> str:
    """Return a learning curve as a line of blocks."""
    return "".join(_LINE[min(int(value * len(_LINE)), len(_LINE) - 1)] for value in np.nan_to_num(curve))


def axis_position(share: float) -> float:
    """Return the position of a share of the budget on a logarithmic axis, from 0 to 1."""
    return float(1 - np.log(share) / np.log(FIRST_EVALUATION))


def points(curve: Sequence[float], left: float, top: float, width: float, height: float) -> str:
    """Return a learning curve as the points of a line in SVG."""
    return " ".join(
        f"{left + width * axis_position(float(share)):.1f},{top + height * (1 - float(value)):.1f}"
        for share, value in zip(evaluation_fractions(), np.nan_to_num(curve), strict=True)
    )


# --- Files -------------------------------------------------------------------------------------------------------


def card_text(card: Card, suffix: str) -> str:
    """Return the card in the format of a file's suffix."""
    if suffix == ".json":
        return json.dumps(_plain(card), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    if suffix == ".txt":
        text = io.StringIO()
        console = Console(file=text, width=TEXT_WIDTH, color_system=None, markup=False, emoji=False)
        for part in _card_parts(card):
            console.print(part, highlight=False, crop=False)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"
    return templates(suffix).get_template(f"card{suffix}").render(card, card=card)


@functools.cache
def templates(suffix: str) -> jinja2.Environment:
    """Return the templates of a format, in which every inserted text is escaped unless it is `Markup`."""
    import jinja2
    from markupsafe import Markup

    def escaped(value: Any) -> Any:
        if not isinstance(value, str) or isinstance(value, Markup):
            return value
        return printable(value) if suffix == ".html" else markdown_cell(value)

    def row(cells: Sequence[Any]) -> Markup:
        return Markup("| {} |").format(Markup(" | ").join(Markup(escaped(cell)) for cell in cells))

    def table(rows: Sequence[Mapping[str, Any]]) -> Markup:
        heads = list(rows[0])
        line = Markup(f"|---|---|{'---:|' * (len(heads) - 2)}")
        return Markup("\n").join([row(heads), line, *(row(list(cells.values())) for cells in rows)])

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("wanderlust.exams", "templates"), autoescape=suffix == ".html", finalize=escaped,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "number": number_text,
        "interval": interval_text,
        "time": time_text,
        "cells": score_cells,
        "families": lambda explorer, card: family_rows(card, explorer),
        "others": lambda explorer, card: others(card, explorer),
        "position": axis_position,
        "points": points,
        "improvements": improvements_text,
        "row": row,
        "table": table,
        "bold": lambda text: Markup(f"**{escaped(text)}**"),
        "code": lambda text: Markup(printable(text)),
    }
    environment.globals["timed_world"] = TIMED_WORLD
    return environment


def _plain(value: Any) -> Any:
    """Return a value as JSON can have it: numbers rounded, None for those that are not known."""
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value


# --- Terminal ----------------------------------------------------------------------------------------------------


def card_report(card: Card) -> Report:
    """Return the card for a terminal, with its files."""
    return Report(list(_card_parts(card)), {f"card{suffix}": card_text(card, suffix) for suffix in WRITTEN})


def _card_parts(card: Card) -> Iterator[RenderableType]:
    yield Text(f"Exam: {printable(card['title'])}", "bold")
    yield Text(card["extent"])
    yield _summary_table(card)
    for explorer in card["results"]:
        settings = f"  settings: {printable(explorer['settings'])}"
        yield Text.assemble((f"\n{printable(explorer['label'])}", "bold"), (settings, _DIM))
        if explorer["families"]:
            yield _family_table(card, explorer)
        if explorer["rank"] is not None:
            yield Text(printable(explorer["rank"]["sentence"]))
        if explorer["improvements"]:
            yield Text(printable(improvements_text(explorer)))
        if (weak := explorer["fails_at"]) is not None:
            yield Text.assemble((weak["sentence"], "bold"), f" {weak['meaning']} Replay exactly this run:")
            yield as_line(f"  {weak['watch']}", "cyan")
        elif explorer["strength"] is not None:
            yield Text(explorer["strength"], "bold")
        for error in explorer["errors"]:
            yield Text.assemble((error["where"], "bold red"), f" {printable(error['error'])}")
            yield as_line(f"  {error['run']}", "cyan")
    yield Text("\n" + " ".join(map(printable, card["notes"])), _DIM)
    yield Text(card["rule"], _DIM)


def _summary_table(card: Card) -> Table:
    """Return one row per explorer, those of the leaderboard last."""
    rows = [{"": each["label"]} | score_cells(each) for each in card["results"] + card["references"]]
    table = new_table(list(rows[0]), [list(row.values()) for row in rows])
    for i in range(len(rows)):
        table.rows[i].style = "bold" if i < len(card["results"]) else _DIM
    return table


def _family_table(card: Card, explorer: Values) -> Table:
    """Return the table of the families; other explorers are beside this one in the files only."""
    labels = [other["label"] for other in others(card, explorer)]
    rows = [{head: cell for head, cell in row.items() if head not in labels} for row in family_rows(card, explorer)]
    return new_table(list(rows[0]), [list(row.values()) for row in rows], left=["family", "learning"])


# --- The leaderboard ---------------------------------------------------------------------------------------------


def leaderboard_rows(board: Leaderboard) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Return the values of each explorer, and its row of the ranking by the heads."""
    rows = []
    for each in board.explorers:
        values = score_values(each, board.standing(each))
        cells = {head: cell for head, cell in score_cells(values).items() if head != "rank"}
        rows.append((values, {"rank": values["rank"]["range"], "explorer": each.label} | cells))
    return rows


def failure_sentences(board: Leaderboard) -> list[str]:
    """Return a sentence for each world in which a run of an explorer failed."""
    return [
        f"A run of {each.label} in {family}, level {level}, failed and counts 0: {failed.error}"
        for each in board.explorers
        for (family, level), failed in each.failures.items()
    ]


def print_leaderboard(board: Leaderboard, console: Console) -> None:
    """Print the ranking, and the scores of all families."""
    rows = leaderboard_rows(board)
    ranking = new_table(list(rows[0][1]), [list(row.values()) for _, row in rows], left=["explorer"])
    scores = [[explorer["label"], *(f"{family['score']:.2f}" for family in explorer["families"].values())]
              for explorer, _ in rows]  # fmt: skip
    console.print(Text("Leaderboard", "bold"))
    console.print(Text(f"{board.extent[:1].upper()}{board.extent[1:]}; wanderlust {board.version}."))
    console.print(ranking, crop=False)
    console.print(new_table(["", *rows[0][0]["families"]], scores), crop=False)
    for line in failure_sentences(board):
        console.print(Text(printable(line), "red"))
    console.print(Text(f"{DIFFERENCES}\nMade with: {LEADERBOARD_COMMAND}", _DIM))
