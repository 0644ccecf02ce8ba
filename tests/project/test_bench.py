"""Tests that the benchmark's references learn the same tables as wanderlust, and tests of its reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from speed.measures import wall_like
from speed.plain_numpy import Transcription, Tuned, check_reference, full_memory
from speed.report import as_json, as_markdown, better, growth_plot, slower, table
from speed.result import Result, Skipped, absolute_time, relative_time, speedup
from speed.sweeps import check_plain_sweeps, sweep_against_stream

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


def test_plain_sweeps_give_the_same_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    world = wl.make_world("deep-sea", depth=8)
    check_plain_sweeps(world, "vv-ucb", 600)

    def train_differently(*args, plain_sweeps, **run):
        return wl.train(*args, plain_sweeps=plain_sweeps, discount=0.95 if plain_sweeps else 0.9, **run)

    monkeypatch.setattr("speed.sweeps.train", train_differently)
    with pytest.raises(AssertionError, match="differ"):
        check_plain_sweeps(world, "vv-ucb", 600)


def test_a_wrong_reference_is_detected() -> None:
    world = wl.make_world("prison")
    configured = wl.Session(world, "vv-ucb").agent.configured_explorer
    wrong = Tuned(world.mdp, configured, discount=0.98, learning_rate=0.5)
    with pytest.raises(AssertionError, match="differ"):
        check_reference(wrong, world, "vv-ucb", 300)


@pytest.mark.parametrize("version", [Transcription, Tuned])
def test_filled_memory_equals_memory_after_one_visit_of_every_pair(version: type) -> None:
    world = wl.make_world("toy")
    configured = wl.Session(world, "vv-ucb").agent.configured_explorer
    learnt, filled = (version(world.mdp, configured, discount=0.99, learning_rate=0.5) for _ in range(2))
    transitions = full_memory(world)
    for transition in transitions:
        learnt.learn(*transition)
    filled.fill(transitions)
    assert np.array_equal(np.sort(learnt.n.ravel()), np.sort(filled.n.ravel()))
    assert len(transitions) == 25 * 4


def test_fields_of_a_measurement() -> None:
    for side in (10, 25):
        wl.check_world(wall_like(side))
    (line,) = sweep_against_stream(quick=True)
    assert isinstance(line, Result)
    assert line.ratio == line.ours / line.reference
    document = json.loads(as_json([line, Skipped("peers", "not installed")], quick=True))
    assert document["machine"]["cores"] >= 1
    (result,) = document["results"]
    assert {"name", "ours", "reference", "ratio", "target", "met"} <= result.keys()
    assert document["skipped"] == [{"name": "peers", "reason": "not installed"}]


def test_targets_and_reports() -> None:
    assert speedup("a", 1.0, 10.0, 5, unit="s").met
    assert not speedup("a", 1.0, 4.0, 5, unit="s").met
    assert relative_time("a", 10.0, 5.0, 2, unit="s").met
    assert not relative_time("a", 11.0, 5.0, 2, unit="s").met
    assert absolute_time("a", 1.0, 1.5, unit="s").met
    assert not absolute_time("a", 2.0, 1.5, unit="s").met
    lines = [
        Result("a, b", 1.0, 2.0, 2.0, 1.0, "at least", "s", points=((1.0, 1.0), (2.0, 2.0))),
        Result("c, d", 1.0, None, 1.0, 1.5, "at most", "s", points=((1.0, 1.0), (2.0, 2.0))),
    ]
    assert table([*lines, Skipped("peers", "not installed")]).row_count == 3
    assert as_markdown([*lines, Skipped("peers", "not installed")]).splitlines()[2:] == [
        "| a, b | 1 s | 2 s | 2× | ≥ 1× | yes |",
        "| c, d | 1 s |  |  | ≤ 1.5 s | yes |",
        "| peers (not installed) |  |  |  |  | skipped |",
    ]
    assert growth_plot(lines, "png").startswith(b"\x89PNG")


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


def test_ratios_that_are_worse_than_the_committed_ones() -> None:
    fast, slow = speedup("a", 1.0, 10.0, 5, unit="s"), speedup("a", 1.0, 4.0, 5, unit="s")
    late, soon = relative_time("b", 10.0, 2.0, 2, unit="s"), relative_time("b", 2.0, 2.0, 2, unit="s")
    committed = {"a": 10.0, "b": 1.0}
    assert slower([fast, soon], committed) == []
    sentences = slower([slow, late], committed)
    assert sentences == [
        "a: 4×, committed 10×, so 2.50 times as slow",
        "b: 5×, committed 1×, so 5.00 times as slow",
    ]
    assert better([slow, soon], [fast, late]) == [fast, soon]
    assert slower([fast], committed) == ["b: committed, but not measured"]
    assert slower([Skipped("a", "not installed"), absolute_time("b", 9.0, 1, unit="s")], committed) == []
