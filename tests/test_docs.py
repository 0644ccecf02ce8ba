"""Every Python example of the documentation runs, and every name and link in it exists."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wanderlust as wl
from wanderlust.explorers.protocol import class_options
from wanderlust.explorers.registry import explorer_class
from wanderlust.worlds import world_options

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page):
    """Return the Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_examples_run(page, tmp_path):
    """The blocks of a page run in order as one script."""
    script = tmp_path / "example.py"
    script.write_text("\n".join(blocks(page)), encoding="utf-8")
    path = os.pathsep.join([str(Path(wl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", script.name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_link_targets_exist(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def rows(page, heading):
    """Return the cells of the first table after a heading."""
    _, _, rest = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    lines = re.search(r"(?:^\|.*\n)+", rest, flags=re.M).group().splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_readme_lists_every_explorer_and_world():
    explorers = [name for row in rows(ROOT / "README.md", "Explorers") for name in re.findall(r"`(.+?)`", row[0])]
    assert sorted(explorers) == sorted(set(wl.explorer_names()) - {"fading"})
    worlds = [name for row in rows(ROOT / "README.md", "Worlds") for name in re.findall(r"`(.+?)`", row[0])]
    assert worlds == list(wl.world_names())


def test_every_deviation_is_listed_with_options_that_exist():
    page = ROOT / "docs" / "deviations.md"
    table = [row for part in ("Explorers", "Memory and evaluation", "Worlds") for row in rows(page, part)]
    assert sorted(int(row[0]) for row in table) == list(range(1, 27))
    known = {"with_slips", "Record.returns", "Record.steps", "Record.policy_values", "capacity", "batch"}
    known |= {"wanderlust.core.planning", "wanderlust.core.planning.policy_value"}
    known |= set(wl.Settings.__dataclass_fields__) | set(wl.explorer_names()) | set(wl.world_names())
    for name in wl.explorer_names():
        known |= {option.name for option in class_options(explorer_class(name))}
    for name in wl.world_names():
        known |= {option.name for option in world_options(name)}
    for row in table:
        assert len(row) == 6, row
        assert set(re.findall(r"`(.+?)`", f"{row[4]} {row[5]}")) <= known, row


@pytest.fixture(scope="module")
def keep_results():
    """Return the script that copies results into the documentation, as a module."""
    spec = importlib.util.spec_from_file_location("keep_results", ROOT / "benchmarks" / "keep_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_matches_stored_results(keep_results):
    assert keep_results.summary(ROOT / "docs" / "results") in (ROOT / "README.md").read_text(encoding="utf-8")


def test_stored_results_are_complete(keep_results):
    for study, figures in keep_results.FIGURES.items():
        for figure in figures:
            assert (ROOT / "docs" / "results" / study / f"{figure}.png").stat().st_size > 10_000


def test_incomplete_results_are_rejected(keep_results, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["keep_results.py", str(tmp_path)])
    with pytest.raises(SystemExit, match="no results of toy-example, recap"):
        keep_results.main()
