"""Make the leaderboard: all explorers of the package in the held-out worlds of the exam.

    python benchmarks/leaderboard.py --jobs 2          # an hour or more; if interrupted, it continues
    python benchmarks/leaderboard.py --explorers psrl  # this one; the kept file keeps the scores of the others
    python benchmarks/leaderboard.py --page            # only the page, from the kept file

Runs are stored in --out. The score of every run is written to src/wanderlust/exams/leaderboard.json, from
which `wanderlust exam --leaderboard`, the ranks on report cards and docs/leaderboard.md are made.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import wanderlust as wl
from wanderlust.core.files import finite
from wanderlust.exams.card import (
    DIFFERENCES,
    LEADERBOARD_COMMAND,
    failure_sentences,
    interval_text,
    leaderboard_rows,
    score_values,
    templates,
)
from wanderlust.exams.scores import (
    BOUNDS_FILE,
    FIRST_SEED,
    LEADERBOARD_FILE,
    SEEDS,
    TOTALS,
    ExplorerScores,
    Leaderboard,
    computed_bounds,
    differences,
    mean_curve,
    ranked,
    read_leaderboard,
    tuned_settings,
)
from wanderlust.experiments.table import Group
from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, VERSION

ROOT = Path(__file__).parents[1]
FILE = ROOT / "src" / "wanderlust" / "exams" / LEADERBOARD_FILE
PAGE = ROOT / "docs" / "leaderboard.md"


N_SEEDS, FEW_SEEDS = 20, 10
"""The page compares both halves of the seeds. Slow explorers, and options that were chosen for the return while
learning alone, have the first half."""
SLOW = ("bootstrapped", "random-prior", "thompson", "rlsvi", "psrl")
"""Explorers that need more than 20 µs per step."""
COMPUTES = ("learns", "one sweep", "plans")
_DIGITS, _LEARNING_DIGITS, _CURVE_DIGITS = 4, 3, 2
_TINY = 1e-6


def as_json(board: Leaderboard) -> str:
    """Return a leaderboard as JSON: one line per explorer and family, so that versions can be compared."""
    head = {
        "suite": VERSION,
        "wanderlust": board.version,
        "held_out": True,
        "first_seed": FIRST_SEED,
        "seeds": board.seeds,
        "command": LEADERBOARD_COMMAND,
    }
    lines = [f"{json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    return "\n".join(["{", *lines, '"explorers": [', ",\n".join(map(_explorer_json, board.explorers)), "]", "}"]) + "\n"


def _explorer_json(explorer: ExplorerScores) -> str:
    head = {
        "explorer": explorer.explorer,
        "options": dict(explorer.options),
        "step_microseconds": finite(round(explorer.step_microseconds, 2)),
        "computes": explorer.computes,
        "chosen_for": list(explorer.chosen_for),
        "failures": [[*place, *failed] for place, failed in explorer.failures.items()],
    }
    families = []
    for family, worlds in explorer.families.items():
        levels = {level: _plain(world) for level, world in worlds.items()}
        families.append(f"{json.dumps(family)}:{json.dumps(levels, separators=(',', ':'))}")
    return f'{json.dumps(head)[:-1]}, "worlds": {{\n' + ",\n".join(families) + "}}"


def _plain(world: Group) -> dict[str, Any]:
    scale, learning = 10**_DIGITS, world.column("learning_score")
    return {
        "scores": _rounded(world.column("score"), _DIGITS),
        "data": _rounded(world.column("data_score"), _DIGITS),
        **({} if np.isnan(learning).any() else {"learning": _rounded(learning, _LEARNING_DIGITS)}),
        # Rounded down, so that rounding never passes a level.
        "last": _rounded(np.floor(world.column("last") * scale + _TINY) / scale, _DIGITS),
        "curve": _rounded(mean_curve(world), _CURVE_DIGITS),
    }


def _rounded(values: Iterable[float], digits: int) -> list[float | None]:
    rounded = [finite(round(float(value), digits)) for value in values]
    return [int(value) if value in (0.0, 1.0) else value for value in rounded]  # Shorter.


def page_of(board: Leaderboard) -> str:
    """Return the page of the documentation."""
    while_learning, board = board.by_total("learning_score"), board.by_total("score")
    pairs = []
    for i, explorer in enumerate(board.explorers):
        close = [
            f"{other.label} ({difference.estimate:.3f}, {interval_text(difference._asdict())}; "
            f"{explorer.improvement(other).estimate:.2f}, {interval_text(explorer.improvement(other)._asdict(), 2)})"
            for other in board.explorers[i + 1 :]
            if (difference := board.differences[explorer.label, other.label]).low <= 0 <= difference.high
        ]
        if close:
            pairs.append((explorer.label, "; ".join(close)))
    scores, rows = zip(*leaderboard_rows(board), strict=True)
    learning = learning_rows(while_learning)
    return templates(".md").get_template("leaderboard.md").render(
        board=board, scores=scores, rows=rows, pairs=pairs or [("–", "–")], failures=failure_sentences(board),
        differences=DIFFERENCES, command=LEADERBOARD_COMMAND, first=first_sentence(board), classes=classes(board),
        learning=learning, first_learning=learning_sentence(learning),
        learning_seeds=min(map(n_seeds, while_learning.explorers)),
        halves=halves(board), levels=levels(board),
        fewer=", ".join(f"{each.label} {n}" for each in board.explorers if (n := n_seeds(each)) < board.seeds),
        missing=", ".join(sorted({*wl.explorer_names()} - {each.explorer for each in board.explorers})),
    )  # fmt: skip


def n_seeds(explorer: ExplorerScores) -> int:
    """Return the number of seeds of an explorer in each world."""
    return len({row["seed"] for row in explorer.rows})


def levels(board: Leaderboard) -> list[dict[str, str]]:
    """Return for each family the median score of each level, which levels run backwards, and how well it separates.

    A level runs backwards if the median explorer has a higher score than in the level before. Separation is the share
    of pairs of explorers whose difference in this family is larger than chance explains.
    """
    rows = []
    for family in dict.fromkeys(family for family, _ in board.places):
        numbers = [level for each, level in board.places if each == family]
        medians = [float(np.median([each.worlds[family, n].column("score").mean() for each in board.explorers]))
                   for n in numbers]  # fmt: skip
        backwards = [str(n) for n, one, two in zip(numbers[1:], medians, medians[1:], strict=False) if two > one]
        own = differences([each.restricted([(family, n) for n in numbers]) for each in board.explorers])
        separated = [each.low > 0 or each.high < 0 for each in own.values()]
        random = board.find("random")
        rows.append(
            {"family": family, "runs backwards": ", ".join(backwards) or "–"}
            | {f"level {n}": f"{median:.2f}" for n, median in zip(numbers, medians, strict=True)}
            | {"random": "–" if random is None else f"{random.family_score(family):.2f}"}
            | {"separation": f"{np.mean(separated):.2f}"}
        )
    return rows


def first_sentence(board: Leaderboard) -> str:
    """Return who is first, or who shares the first rank."""
    first = [each.label for each in board.explorers if board.standing(each)["best"] == 1]
    if len(first) == 1:
        return f"**{first[0]} is first**: its difference to every other explorer is larger than chance explains."
    return f"**Rank 1 is shared** by {', '.join(first[:-1])} and {first[-1]}: these data cannot tell them apart."


def learning_sentence(rows: list[tuple[str, dict[str, Any]]]) -> str:
    """Return who is first in the total while learning, and the first explorer with W."""
    first = [values["label"] for rank, values in rows if rank.split("–")[0] == "1"]
    rank, own = next((each for each in rows if each[1]["label"].startswith("vv-")), ("", {}))
    of_w = f" The best explorer with W is {own['label']}, with rank {rank}." if own else ""
    return f"**While learning**, the first rank is that of {' and '.join(first)}.{of_w}" if rows else ""


def classes(board: Leaderboard) -> dict[str, list[dict[str, str]]]:
    """Return the ranking among the explorers that compute the same in a step."""
    found: dict[str, list[dict[str, str]]] = {}
    for name in COMPUTES:
        members = [each for each in board.explorers if each.computes == name]
        if len(members) > 1:
            found[name] = [row for _, row in leaderboard_rows(ranked(members, board.seeds, board.version))]
    return found


def learning_rows(board: Leaderboard) -> list[tuple[str, dict[str, Any]]]:
    """Return the rank and the values of every explorer by its total while learning; none if it was not measured."""
    order = sorted(board.explorers, key=lambda each: -each.mean("learning_score"))
    if any(np.isnan(each.mean("learning_score")) for each in order) or len(order) < 2:
        return []
    found, rows = differences(order, "learning_score"), []
    for explorer in order:
        own = [found[explorer.label, other.label] for other in order if other is not explorer]
        best, worst = 1 + sum(each.high < 0 for each in own), len(order) - sum(each.low > 0 for each in own)
        rank = str(best) if best == worst else f"{best}–{worst}"
        rows.append((rank, score_values(explorer, None)))
    return rows


def halves(board: Leaderboard) -> tuple[str, str, list[dict[str, str]]] | None:
    """Return the totals and ranks with each half of the seeds, or None if there are few."""
    if board.seeds < 2 * SEEDS:
        return None
    middle, end = FIRST_SEED + board.seeds // 2, FIRST_SEED + board.seeds
    sets = range(FIRST_SEED, middle), range(middle, end)
    names = [f"{seeds[0]} to {seeds[-1]}" for seeds in sets]
    rows: list[dict[str, str]] = [{"explorer": explorer.label} for explorer in board.explorers]
    for name, seeds in zip(names, sets, strict=True):
        examined = [each for each in board.explorers if any(row["seed"] in seeds for row in each.rows)]
        half = replace(board, explorers=examined).restricted(board.places, seeds)
        standings = {each.label: (half.standing(each)["range"], f"{each.mean():.3f}") for each in half.explorers}
        for row in rows:
            row[f"rank, {name}"], row[f"total, {name}"] = standings.get(row["explorer"], ("–", "–"))
    return names[0], names[1], rows


def entries(explorers: Collection[str]) -> list[tuple[int, tuple[str, ...], dict[str, dict[str, Any]]]]:
    """Return the seeds, the totals and the options of the explorers of each exam.

    An explorer with the same options for both totals is examined once.
    """
    one, two = ({name: tuned_settings(total).get(name, {}) for name in explorers} for total in TOTALS)
    searched, found = tuned_settings("searched"), []
    for seeds, names in ((N_SEEDS, {*explorers} - {*SLOW}), (FEW_SEEDS, {*explorers} & {*SLOW})):
        found += [
            (seeds, TOTALS, {name: one[name] for name in names if one[name] == two[name]}),
            (seeds, TOTALS[:1], {name: one[name] for name in names if one[name] != two[name]}),
            (FEW_SEEDS, TOTALS[1:], {name: two[name] for name in names if one[name] != two[name]}),
        ]
    return [
        *found,
        *(
            (N_SEEDS, TOTALS, {name: options})
            for name in searched
            for options in searched[name].values()
            if name in one and options not in (one[name], two[name])
        ),
    ]


def write_bounds(file: Path) -> None:
    """Write the bounds of the returns in all held-out worlds, [family][level]."""
    bounds = {family: [computed_bounds(family, level, held_out=True) for level in LEVELS] for family in FAMILIES}
    lines = ",\n".join(f"{json.dumps(family)}: {json.dumps(each)}" for family, each in bounds.items())
    file.write_text(f'{{"suite": {VERSION}, "bounds": {{\n{lines}}}}}\n', encoding="utf-8")


def main() -> None:
    """Execute the runs that are not stored, and write the file and the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = wl.explorer_names()
    parser.add_argument("--explorers", nargs="+", default=names, metavar="NAME", help="the file keeps the others")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), metavar="NAME")
    parser.add_argument("--levels", nargs="+", type=int, default=list(LEVELS), metavar="N")
    parser.add_argument("--seeds", type=int, metavar="N", help="at most; 20 by default, and fewer of slow explorers")
    parser.add_argument("--jobs", type=int, default=None, metavar="N")
    parser.add_argument("--on", default="local", metavar="PLACE", help="local, ray or ray://HOST:PORT")
    parser.add_argument("--out", type=Path, default=Path("results/leaderboard"), metavar="FOLDER")
    parser.add_argument("--file", type=Path, default=FILE, help="where the scores are written")
    parser.add_argument("--docs", type=Path, default=PAGE, help="where the page is written")
    parser.add_argument("--page", action="store_true", help="only make the page from the file")
    arguments = parser.parse_args()
    if not arguments.page:
        scores = [
            replace(result, chosen_for=chosen_for)
            for seeds, chosen_for, settings in entries(arguments.explorers)
            if settings
            for result in wl.exam(
                list(settings), families=arguments.families, levels=arguments.levels,
                seeds=min(seeds, arguments.seeds or seeds),
                options={name: options for name, options in settings.items() if options}, out=arguments.out,
                jobs=arguments.jobs, on=arguments.on,
            ).scores.values()
        ]  # fmt: skip
        if set(names) - set(arguments.explorers) and arguments.file.exists():
            board = read_leaderboard(json.loads(arguments.file.read_text(encoding="utf-8")))
            scores += [each for each in board.explorers if each.explorer not in arguments.explorers]
        board = ranked(scores, min(N_SEEDS, arguments.seeds or N_SEEDS))
        arguments.file.write_text(as_json(board), encoding="utf-8")
        print(f"written: {arguments.file}")
        write_bounds(arguments.file.parent / BOUNDS_FILE)
    # From the file, whose numbers are rounded, so that the page and the command agree.
    board = read_leaderboard(json.loads(arguments.file.read_text(encoding="utf-8")))
    arguments.docs.write_text(page_of(board), encoding="utf-8")
    print(f"written: {arguments.docs}")


if __name__ == "__main__":
    main()
