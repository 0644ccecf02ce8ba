"""Promises that the package makes about its own files."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import wanderlust as wl
from wanderlust._numba.jit import COMPILED

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


@pytest.mark.skipif(not COMPILED, reason="all is plain Python")
@pytest.mark.parametrize(("module", "is_ours"), [("wanderlust.some.module", True), ("somebody.elses", False)])
def test_settings_of_numba_are_changed_only_while_it_compiles_what_is_ours(module: str, is_ours: bool) -> None:
    import numba
    from numba.core import config, event

    class Watch(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def on_start(self, given: Any) -> None:
            self.seen.append(config.SLP_VECTORIZE)

        def on_end(self, given: Any) -> None:
            pass

    def half(x: float) -> float:
        return x / 2

    half.__module__ = module
    assert callable(wl.train), "loads all that is compiled"
    before = config.OPT, config.SLP_VECTORIZE
    watch = Watch()
    with event.install_listener("numba:compile", watch):
        assert numba.njit(half)(1.0) == 0.5
    assert watch.seen == [1 if is_ours else before[1]]
    assert before == (config.OPT, config.SLP_VECTORIZE)
