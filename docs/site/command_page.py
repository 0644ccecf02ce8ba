"""The page of the command line, from the help texts of the commands."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import sys
from typing import NamedTuple
from unittest.mock import patch

from paper_map import source_link

from wanderlust.cli.main import commands, main

_COLUMNS = "5000"
"""Width of the terminal that the help is written for, so that no line is wrapped."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ROW = re.compile(r"^│ (\S.*?)(?:  +(.*?))? *│$(?:\n│ {3,}(\S.*?) *│$)?", flags=re.M)
"""An argument; if its name is long, its meaning is on the next line."""
_DEFAULT = re.compile(r" ?\((?:(required)|default: ?(.*))\)$")
_NO_DEFAULT = ("None", "False", "", "''")


class Argument(NamedTuple):
    """An argument of a command: its name and value, its default, and its meaning."""

    name: str
    default: str
    meaning: str


class Command(NamedTuple):
    """A command as its help describes it."""

    name: str
    usage: str
    texts: list[str]
    examples: list[str]
    arguments: list[Argument]


@functools.cache
def help_text(*command: str) -> str:
    """Return what `wanderlust COMMAND --help` prints in a very wide terminal."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")  # The help has boxes only in a terminal with UTF-8.
    with (
        patch.dict(os.environ, {"COLUMNS": _COLUMNS}),
        patch.object(sys, "argv", ["wanderlust", *command, "--help"]),
        patch.object(sys, "path", [*sys.path]),
        contextlib.redirect_stdout(output),
        contextlib.suppress(SystemExit),
    ):
        main()
    output.seek(0)
    return _COLOUR.sub("", output.read())


def parse(name: str) -> Command:
    """Return the parts of the help of a command."""
    usage, *paragraphs = help_text(name).partition("\n╭")[0].strip().split("\n\n")
    examples = [text.removeprefix("Example: ") for text in paragraphs if text.startswith("Example: ")]
    return Command(
        name,
        " ".join(usage.removeprefix("usage: ").split()),
        [" ".join(text.split()) for text in paragraphs if not text.startswith("Example: ")],
        [" ".join(text.split()) for text in examples],
        [_argument(*row) for row in _ROW.findall(help_text(name)) if row[0] != "-h, --help"],
    )


def _argument(name: str, beside: str, below: str) -> Argument:
    text = beside or below
    match = _DEFAULT.search(text)
    required, default = match.groups() if match else (None, None)
    meaning = _DEFAULT.sub("", text)
    return Argument(name, required or ("" if default is None or default in _NO_DEFAULT else f"`{default}`"), meaning)


def page() -> str:
    """Return the page."""
    found = [parse(name) for name in commands()]
    rows = "\n".join(f"| [`{each.name}`](#{each.name}) | {_cell(each.texts[0])} |" for each in found)
    return f"""\
(commands)=
# Command line

`wanderlust COMMAND --help` prints the same texts. Invalid input is reported in one sentence, with exit code 2.
Ctrl-C ends a command with exit code 130, SIGTERM with 143; [Reliability](reliability.md) says what is saved.

| command | |
|---|---|
{rows}

{chr(10).join(map(_section, found))}"""


def _section(command: Command) -> str:
    table = "This command has no arguments."
    if command.arguments:
        rows = "\n".join(f"| `{each.name}` | {each.default} | {_cell(each.meaning)} |" for each in command.arguments)
        table = f"| argument | default | meaning |\n|---|---|---|\n{rows}"
    texts, examples = "\n\n".join(map(_cell, command.texts)), "\n".join(command.examples)
    source = source_link(commands()[command.name].partition(":")[0])
    return f"## {command.name}\n\n{texts}\n\n```sh\n{examples}\n```\n\n{table}\n\nSource: {source}.\n"


def _cell(text: str) -> str:
    """Return a text in which nothing but code between backquotes is markup."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([|*_<\[\]\\])", r"\\\1", part) for part in parts)
