"""Parsing of TOML text from files that may be damaged or hostile."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from wanderlust.core.errors import InvalidMap

MAX_DOTS = 20

_TEXTS_AND_COMMENTS = re.compile(
    r"""'''.*?'''|\"{3}(?:\\.|[^\\])*?\"{3}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|\#[^\n]*""", re.DOTALL | re.VERBOSE
)


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text, or raise `InvalidMap`."""
    # The parser needs memory that grows with the square of the parts of a dotted key, a.b.c...
    for number, line in enumerate(_TEXTS_AND_COMMENTS.sub(_line_breaks, text).split("\n"), start=1):
        if line.count(".") > MAX_DOTS:
            raise InvalidMap(f"not a TOML map: line {number} has {line.count('.'):,} dots outside of texts.")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidMap("not a TOML map: too many nested brackets.") from None
    except ValueError as error:  # A TOMLDecodeError, or an integer with thousands of digits.
        raise InvalidMap(f"not a TOML file: {error}") from None


def _line_breaks(match: re.Match[str]) -> str:
    """Return the line breaks of a text, so that the numbers of the following lines stay the same."""
    return "\n" * match[0].count("\n")
