"""Make the leaderboard: all explorers of the package in the held-out worlds of the exam.

    python benchmarks/leaderboard.py --jobs 2          # an hour or more; if interrupted, it continues
    python benchmarks/leaderboard.py --page            # only the page, from the kept file

Runs are stored in --out. The score of every run is written to src/wanderlust/exams/leaderboard.json, from
which `wanderlust exam --leaderboard`, the ranks on report cards and docs/leaderboard.md are made.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import wanderlust as wl
from wanderlust.exams import leaderboard
from wanderlust.exams.formats import leaderboard_page
from wanderlust.exams.scores import BOUNDS_FILE, computed_bounds
from wanderlust.exams.selection import SEEDS
from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, VERSION

ROOT = Path(__file__).parents[1]
FILE = ROOT / "src" / "wanderlust" / "exams" / leaderboard.FILE
PAGE = ROOT / "docs" / "leaderboard.md"


def write_bounds(file: Path) -> None:
    """Write the bounds of the returns in all held-out worlds, [family][level]."""
    bounds = {family: [computed_bounds(family, level, held_out=True) for level in LEVELS] for family in FAMILIES}
    lines = ",\n".join(f"{json.dumps(family)}: {json.dumps(each)}" for family, each in bounds.items())
    file.write_text(f'{{"suite": {VERSION}, "bounds": {{\n{lines}}}}}\n', encoding="utf-8")


def main() -> None:
    """Execute the runs that are not stored, and write the file and the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--explorers", nargs="+", default=wl.explorer_names(), metavar="NAME")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), metavar="NAME")
    parser.add_argument("--levels", nargs="+", type=int, default=list(LEVELS), metavar="N")
    parser.add_argument("--seeds", type=int, default=SEEDS, metavar="N")
    parser.add_argument("--jobs", type=int, default=None, metavar="N")
    parser.add_argument("--on", default="local", metavar="PLACE", help="local, ray or ray://HOST:PORT")
    parser.add_argument("--out", type=Path, default=Path("results/leaderboard"), metavar="FOLDER")
    parser.add_argument("--file", type=Path, default=FILE, help="where the scores are written")
    parser.add_argument("--docs", type=Path, default=PAGE, help="where the page is written")
    parser.add_argument("--page", action="store_true", help="only make the page from the file")
    arguments = parser.parse_args()
    if not arguments.page:
        tuned = leaderboard.tuned_settings()
        result = wl.exam(
            arguments.explorers, families=arguments.families, levels=arguments.levels, seeds=arguments.seeds,
            options={name: tuned[name] for name in arguments.explorers if name in tuned},
            out=arguments.out, jobs=arguments.jobs, on=arguments.on,
        )  # fmt: skip
        board = leaderboard.ranked(list(result.scores.values()), arguments.seeds)
        arguments.file.write_text(leaderboard.as_json(board), encoding="utf-8")
        print(f"written: {arguments.file}")
        write_bounds(arguments.file.parent / BOUNDS_FILE)
    # From the file, whose numbers are rounded, so that the page and the command agree.
    board = leaderboard.from_json(arguments.file.read_text(encoding="utf-8"))
    arguments.docs.write_text(leaderboard_page(board), encoding="utf-8")
    print(f"written: {arguments.docs}")


if __name__ == "__main__":
    main()
