"""Tests that the benchmark's references learn the same tables as wanderlust, and tests of its reports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from speed.plain_numpy import Transcription, Tuned, check_reference, full_memory
from speed.report import as_json, as_markdown, better, growth_plot, slower, table
from speed.result import Skipped, absolute_time, relative_time, speedup
from speed.sweeps import check_plain_sweeps

import wanderlust as wl

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "bench.py"


@pytest.mark.parametrize("explorer", ["vv-ucb", "vv-count"])
@pytest.mark.parametrize("version", [Transcription, Tuned])
@pytest.mark.parametrize("name", ["prison", "wall"])
def test_references_give_the_same_tables(name: str, version: type, explorer: str) -> None:
    world = wl.make_world(name)
    configured = wl.Session(world, explorer).agent.configured_explorer
    check_reference(version(world.mdp, configured, discount=0.99, learning_rate=0.5), world, explorer, 600)
    learnt, filled = (version(world.mdp, configured, discount=0.99, learning_rate=0.5) for _ in range(2))
    transitions = full_memory(world)
    for transition in transitions:
        learnt.learn(*transition)
    filled.fill(transitions)
    assert np.array_equal(np.sort(learnt.n.ravel()), np.sort(filled.n.ravel()))
    with pytest.raises(AssertionError, match="differ"):
        check_reference(version(world.mdp, configured, discount=0.98, learning_rate=0.5), world, explorer, 300)


def test_plain_sweeps_give_the_same_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    world = wl.make_world("deep-sea", depth=8)
    check_plain_sweeps(world, "vv-ucb", 600)

    def train_differently(*args, plain_sweeps, **run):
        return wl.train(*args, plain_sweeps=plain_sweeps, discount=0.95 if plain_sweeps else 0.9, **run)

    monkeypatch.setattr("speed.sweeps.train", train_differently)
    with pytest.raises(AssertionError, match="differ"):
        check_plain_sweeps(world, "vv-ucb", 600)


def test_invalid_paths_are_reported_before_measuring(tmp_path: Path, processes: Any) -> None:
    for arguments, message in (
        (["--peers-python", "/no/such/python"], "there is no program"),
        (["--json", str(tmp_path)], "it is a folder"),
        (["--plot", "growth.xyz"], "--plot must be a .png, .svg, .pdf file"),
    ):
        before = f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})\n"
        status, out, errors = processes.run_script(SCRIPT, tmp_path, *arguments, before=before)
        assert status == 1
        assert message in errors
        assert "met" not in out


def test_targets_reports_and_ratios_that_are_worse_than_the_committed_ones() -> None:
    fast, slow = speedup("a", 1.0, 10.0, 5, unit="s"), speedup("a", 1.0, 4.0, 5, unit="s")
    late, soon = relative_time("b", 10.0, 2.0, 2, unit="s"), relative_time("b", 2.0, 2.0, 2, unit="s")
    skipped, alone = Skipped("a", "not installed"), absolute_time("b", 9.0, 1, unit="s")
    assert [each.met for each in (fast, slow, late, soon, alone)] == [True, False, False, True, False]
    committed = {"a": 10.0, "b": 1.0}
    assert slower([fast, soon], committed) == slower([skipped, alone], committed) == []
    assert ["2.50 times as slow" in each for each in slower([slow, late], committed)] == [True, False]
    assert len(slower([fast], committed)) == 1, "committed, but not measured"
    assert better([slow, soon], [fast, late]) == [fast, soon]
    document = json.loads(as_json([fast, skipped], quick=True))
    assert [each["name"] for each in (*document["results"], *document["skipped"])] == ["a", "a"]
    lines = [*(replace(each, points=((1.0, 1.0), (2.0, 2.0))) for each in (fast, alone)), skipped]
    assert table(lines).row_count == len(as_markdown(lines).splitlines()) - 2 == 3
    assert growth_plot(lines, "png").startswith(b"\x89PNG")
