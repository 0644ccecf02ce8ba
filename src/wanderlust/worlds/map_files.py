"""Reading of map files: text maps, and TOML maps, which are converted to text maps."""

from __future__ import annotations

from pathlib import Path

from wanderlust.core.errors import BadFile, InvalidMap
from wanderlust.core.files import read_text_file, shown_path
from wanderlust.worlds.map_text import read_toml_map

MAP_SUFFIXES = (".txt", ".toml")
MAX_BYTES = 10_000_000


def read_map_file(path: Path) -> str:
    """Return the text map of a `.txt` or `.toml` file, or raise `InvalidMap` with the path."""
    try:
        text = read_text_file(path, max_bytes=MAX_BYTES)
    except BadFile as error:
        reason = str(error).removeprefix(f"{shown_path(path)}: ")
        raise InvalidMap(f"cannot read the map {shown_path(path)!r}: {reason}") from None
    try:
        return read_toml_map(text).text if path.suffix == ".toml" else text
    except InvalidMap as error:
        raise InvalidMap(f"{shown_path(path)}: {error}") from None
