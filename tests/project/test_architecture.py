"""Promises about the package's own files: imports point one way, optional packages can be deleted, names are public."""

from __future__ import annotations

import ast
import functools
import importlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wanderlust as wl
from conftest import run_python
from wanderlust._numba import cache
from wanderlust._numba.jit import JIT_ENABLED, compiled

SOURCES = Path(wl.__file__).parent
PAPER = SOURCES.parent / "wanderlust_paper"
TESTS = Path(__file__).parents[1]

LAYERS = (
    "version", "core", "_numba", "worlds", "environments", "learning", "explorers", "agents", "checks", "training",
    "integrations", "experiments", "exams", "studio", "cli",
)  # fmt: skip
"""The packages and modules; each imports only those before it. Imports inside functions count as well."""


@functools.cache
def imports_of(file: Path) -> set[str]:
    """Return the modules that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative imports hide where they lead"
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and re.fullmatch(r"wanderlust(\.\w+)+(:\w+)?", str(node.value)):
            found.add(str(node.value).partition(":")[0])  # A module that is imported by its name.
    return found


def layer_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "wanderlust" and len(parts) > 1 and parts[1] in LAYERS else None


def source_files() -> Iterator[tuple[str, Path]]:
    for file in sorted(SOURCES.rglob("*.py")):
        parts = file.relative_to(SOURCES).with_suffix("").parts
        if parts[0] not in ("__init__", "__main__"):
            yield parts[0], file


def test_imports_point_one_way() -> None:
    """From every file to its own layer and those before; numba is known to one of them only."""
    assert {layer for layer, _ in source_files()} == set(LAYERS)
    wrong = [
        f"{file.relative_to(SOURCES)} imports {target}"
        for layer, file in source_files()
        for target in sorted({name for name in map(layer_of, imports_of(file)) if name})
        if LAYERS.index(target) > LAYERS.index(layer)
    ]
    assert wrong == []
    for layer, file in source_files():
        roots = {module.partition(".")[0] for module in imports_of(file)}
        assert layer == "_numba" or not roots & {"numba", "llvmlite"}, file


def test_the_library_does_not_import_the_paper() -> None:
    files = [*(file for _, file in source_files()), *TESTS.rglob("*.py")]
    for file in files:
        if "paper" not in file.relative_to(file.parents[1]).parts:
            assert not [module for module in imports_of(file) if module.startswith("wanderlust_paper")], file


def test_the_paper_imports_only_public_names() -> None:
    """Public are the names of `wanderlust.__all__`, and those in the `__all__` of a module with a docstring."""
    wrong = []
    for file in PAPER.rglob("*.py"):
        tree = ast.parse(file.read_text())
        for node in (each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)):
            if node.module and node.module.split(".")[0] == "wanderlust":
                module = importlib.import_module(node.module)
                public = getattr(module, "__all__", ()) if module.__doc__ else ()
                wrong += [f"{file.name}: {node.module}.{each.name}" for each in node.names if each.name not in public]
        wrong += [
            f"{file.name}: import {each.name}"
            for node in ast.walk(tree) if isinstance(node, ast.Import)
            for each in node.names if each.name.startswith("wanderlust.")
        ]  # fmt: skip
        wrong += [
            f"{file.name}: .{node.attr}"
            for node in ast.walk(tree)
            # The parts of an agent from which its public properties are made.
            if isinstance(node, ast.Attribute) and node.attr in ("learner", "spec", "state_index", "pointers")
        ]
    assert wrong == []


LIBRARY_WORKS = """
record = wl.train("prison", "vv-ucb", seed=1, steps=200)
agent = wl.Agent.for_world("toy", "vv-count", seed=1)
for _ in range(50):
    agent.observe(0, agent.act(0), 0.0, 1, terminated=False)
agent.save("agent.npz")
assert wl.Agent.load("agent.npz").explain(0).actions == agent.explain(0).actions
wl.check_world(wl.make_world("taxi"))
assert gymnasium.make("wanderlust/Prison-v0").reset(seed=1)[0] == 0
"""
WORKS = {
    "training": """
assert wl.learn("toy", "vv-ucb", steps=100, seed=1, quiet=True).steps == 100
""",
    "experiments": """
run = wl.Run(world="toy", explorer="random", seed=1, settings={"steps": 100})
wl.run_all([run], wl.Store("results"), jobs=1)
assert wl.Store("results").load(run) is not None
""",
    "exams": """
assert "random" in wl.exam("random", families="depth", levels=1, seeds=1, out=None, quiet=True).scores
""",
    "cli": """
from wanderlust.cli.main import main
sys.argv = ["wanderlust", "worlds"]
with contextlib.redirect_stdout(io.StringIO()) as out:
    main()
assert "prison" in out.getvalue()
""",
}
NEEDED_BY = {"experiments": ("exams", "cli")}
"""What cannot work without a package: an exam and most commands need runs."""
OPTIONAL = ("wanderlust_paper", "cli", "experiments", "exams", "training", "studio")
IN_TURN = """
import contextlib, io, os, sys, traceback
import gymnasium, rich, scipy.sparse, scipy.stats  # Once for all processes: these imports take seconds.

# As if they were deleted. The library never needs the paper's package.
deleted = {{"wanderlust_paper": None, **{{"wanderlust." + name: None for name in {optional!r}}}}}
sys.modules |= deleted
import wanderlust as wl
{library_works}
for package, code in {codes!r}.items():
    if os.fork() == 0:
        os.mkdir(package)
        os.chdir(package)
        for name in deleted.keys() - {{"wanderlust_paper", "wanderlust." + package}}:
            del sys.modules[name]
        try:
            exec(code)
        except BaseException:
            with open("error.txt", "w") as file:
                traceback.print_exc(file=file)
        os._exit(0)
    os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_package_can_be_deleted(tmp_path: Path) -> None:
    """The library works without all packages that are optional, and each of these without any one of the others."""
    gone = {deleted: (deleted, *NEEDED_BY.get(deleted, ())) for deleted in OPTIONAL}
    codes = {each: "".join(code for name, code in WORKS.items() if name not in gone[each]) for each in OPTIONAL}
    program = IN_TURN.format(codes=codes, optional=OPTIONAL, library_works=LIBRARY_WORKS)
    done = run_python(program, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for deleted in OPTIONAL:
        error = tmp_path / deleted / "error.txt"
        assert (tmp_path / deleted).exists()
        assert not error.exists(), error.read_text()


def test_type_checkers_see_the_names_that_are_imported_late() -> None:
    tree = ast.parse((SOURCES / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names if alias.asname
    }
    assert dir(wl) == sorted(wl.__all__) == sorted(["__version__", *seen])
    assert all(getattr(wl, name) is not None for name in seen)


def test_compiled_functions_are_only_where_the_cache_looks_for_changes() -> None:
    """An edit to a file that the cache's key does not cover must not change compiled code."""
    for layer, file in source_files():
        if layer not in cache.COMPILED_PACKAGES:
            assert not re.search(r"@(compiled|inlined|formula|entry)\b|njit", file.read_text()), file


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")
@pytest.mark.parametrize("is_ours", [True, False])
def test_settings_of_numba_are_changed_only_while_it_compiles_our_functions(is_ours: bool) -> None:
    import numba
    from numba.core import config, event

    class Watch(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            self.seen: list[Any] = []

        def on_start(self, event: Any) -> None:
            self.seen.append(config.SLP_VECTORIZE)

        def on_end(self, event: Any) -> None:
            pass

    def half(x: float) -> float:
        return x / 2

    function = compiled(half) if is_ours else numba.njit(half)
    before = config.OPT, config.SLP_VECTORIZE, config.CACHE_DIR
    watch = Watch()
    with event.install_listener("numba:compile", watch):
        function.compile((numba.float64,))  # type: ignore[attr-defined]
    assert watch.seen in ([], [1 if is_ours else before[1]]), "nothing is compiled if it was cached"
    assert before == (config.OPT, config.SLP_VECTORIZE, config.CACHE_DIR)
