"""Promises that the package makes about its own files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import wanderlust as wl

SOURCES = Path(wl.__file__).parent


def test_type_checkers_see_the_names_that_are_loaded_late() -> None:
    tree = ast.parse((SOURCES / "__init__.py").read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = set()
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            seen |= {alias.asname for alias in node.names if alias.asname}
        elif isinstance(node, ast.Assign):
            seen |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    assert seen == set(wl._HOMES)
    assert all(getattr(wl, name) is not None for name in seen)


def test_files_left_out_of_the_hash_are_never_compiled() -> None:
    """An edit to a file that the cache's name does not cover must not change compiled code."""
    left_out = [SOURCES / "cli.py"]
    for folder in ("adapters", "commands", "gym", "practice", "reports", "studies", "watching", "worlds"):
        left_out += (SOURCES / folder).rglob("*.py")
    for file in left_out:
        assert not re.search(r"@(compiled|compiled_for_rule|inlined|formula|entry)|kernel\(", file.read_text()), file
