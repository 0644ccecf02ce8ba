"""Sweeps in files: TOML that users write, and the JSON copy in a results folder."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from wanderlust.core.errors import BadFile
from wanderlust.core.files import read_text_file, shown_path, write_file
from wanderlust.experiments.status import file_name
from wanderlust.experiments.sweep import Sweep
from wanderlust.experiments.sweep_values import InvalidSweep, Key

MAX_BYTES = 1_000_000
SWEEPS, SWEEP_FILE = "sweeps", "sweep.json"
_HEADER = re.compile(r"^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")
_PART = re.compile(r""""[^"]*"|'[^']*'|[\w-]+""")


def read_sweep_file(path: Path) -> Sweep:
    """Return the sweep of a TOML file; an error names the file, the line and the key."""
    text = read_text_file(path, max_bytes=MAX_BYTES)
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{shown_path(path)}: not valid TOML ({error}).") from None
    if "name" not in values:
        values["name"] = path.stem
    try:
        sweep = Sweep.from_description(values)
        sweep.check_environments()
    except InvalidSweep as error:
        line = line_of(text, error.key)
        place = f"{shown_path(path)}, line {line}" if line else shown_path(path)
        raise InvalidSweep((), f"{place}: {error}") from None
    return sweep


def line_of(text: str, key: Key) -> int | None:
    """Return the number of the line of a TOML text in which a key is set, or of the nearest table around it."""
    best, best_length = None, 0
    table: list[str] = []
    counts: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _HEADER.match(line):
            table = _parts(header[2])
            if header[1] == "[[":
                name = ".".join(table)
                counts[name] = counts.get(name, -1) + 1
                table = [*table, str(counts[name])]
            place = table
        elif assignment := _ASSIGNMENT.match(line):
            place = [*table, *_parts(assignment[1])]
        else:
            place = []
        if header and place[-1].isdecimal() and place[:-1] == list(key):
            return number  # The key itself is the name of a list of tables.
        # The key, or a table that contains it; also a list in which the error is one of the entries.
        if place and list(key[: len(place)]) == place and len(place) > best_length:
            best, best_length = number, len(place)
    # A name that is written inside a list or an inline table is found by its text.
    if key and best is not None and best_length < len(key) and not key[-1].isdecimal():
        following = text.split("\n")[best - 1 :]
        pattern = re.compile(rf"""(?<![\w-]){re.escape(key[-1])}(?![\w-])""")
        return next((best + i for i, line in enumerate(following) if pattern.search(line)), best)
    return best


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(dotted)]


def sweep_folder(folder: Path, name: str) -> Path:
    """Return the folder of a sweep's description and report in a results folder."""
    return folder / SWEEPS / file_name(name)


def save_sweep(sweep: Sweep, folder: Path) -> None:
    """Write the description of a sweep to a results folder, for `report`."""
    path = sweep_folder(folder, sweep.name) / SWEEP_FILE
    write_file(path, sweep.json)
