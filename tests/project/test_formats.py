"""A file of every format that a version has written is read, or refused with one sentence.

`docs/versions.md` lists them. A new format needs a file in `tests/data/formats`, and a row of the page.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import wanderlust as wl
from wanderlust.agents.file import FORMAT
from wanderlust.core.errors import BadFile
from wanderlust.core.schema import parse_toml
from wanderlust.exams.exam import exams_in
from wanderlust.experiments.comparison import read_comparison
from wanderlust.experiments.report.sweep_report import sweeps_in
from wanderlust.experiments.store import PACK_FORMAT, PACKS

FILES = Path(__file__).parents[1] / "data" / "formats"


def test_agents_and_explorers_of_this_format_are_read() -> None:
    agent = wl.Agent.load(FILES / f"agent-{FORMAT}.npz")
    assert (agent.explorer, agent.steps) == ("ucb1", 20)
    explorer = wl.Explorer.load(FILES / f"explorer-{FORMAT}.npz")
    assert explorer.act(0, q=[0.0, 0.0]) in (0, 1)


@pytest.mark.parametrize("earlier", range(1, FORMAT))
def test_agents_of_earlier_formats_are_refused(earlier: int) -> None:
    with pytest.raises(BadFile, match=rf"format {earlier} by wanderlust '0.1.0'.* format {FORMAT}\b"):
        wl.Agent.load(FILES / f"agent-{earlier}.npz")


def store_with(folder: Path, file: str, place: str) -> tuple[list[wl.StoredRun], list[str]]:
    """Return the runs of a results folder with one file, and the sentences about it."""
    (folder / place).mkdir(parents=True)
    shutil.copy(FILES / file, folder / place)
    problems: list[str] = []
    return list(wl.Store(folder).load_all(problems)), problems


def test_packs_of_this_format_are_read(tmp_path: Path) -> None:
    ((stored,), problems) = store_with(tmp_path, f"pack-{PACK_FORMAT}.zip", PACKS)
    assert (stored.run.world, stored.run.explorer, problems) == ("toy", "random", [])


@pytest.mark.parametrize("earlier", range(2, PACK_FORMAT))
def test_packs_of_earlier_formats_are_refused(earlier: int, tmp_path: Path) -> None:
    stored, problems = store_with(tmp_path, f"pack-{earlier}.zip", PACKS)
    assert (stored, len(problems)) == ([], 1)
    assert all(word in problems[0] for word in (f"pack-{earlier}.zip", f"format {earlier}", f"format {PACK_FORMAT}"))


def test_files_of_single_runs_are_refused(tmp_path: Path) -> None:
    """The first format had no packs."""
    with pytest.raises(BadFile, match="folder 'runs'"):
        store_with(tmp_path, "run-1.npz", "runs")


def test_descriptions_are_read() -> None:
    problems: list[str] = []
    assert [sweep.name for _, sweep in sweeps_in(FILES / "results", problems)] == ["small"]
    assert [exam.selection.explorers for exam in exams_in(FILES / "results", problems)] == [("random",)]
    assert problems == []
    comparison = read_comparison(FILES / "results")
    assert comparison is not None
    assert comparison.title == "FrozenLake-v1 --env is_slippery=false"
    assert len(wl.Sweep.from_file(FILES / "sweep.toml").runs) == 2 * (2 * 2 * 2 * 2 + 2 * 2)
    read_setup = pytest.importorskip("wanderlust.studio.setup").read_setup
    setup = read_setup(parse_toml((FILES / "studio.toml").read_text(encoding="utf-8")))
    assert [lane.explorer for lane in setup.lanes] == ["vv-ucb", "ucb1"]
