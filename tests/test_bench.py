"""The benchmark's references learn what wanderlust learns, and its results say what they should."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wanderlust as wl
from wanderlust.bench.against_numpy import check_reference, full_memory
from wanderlust.bench.measures import wall_like
from wanderlust.bench.plain_numpy import Transcription, Tuned
from wanderlust.bench.report import as_json, as_markdown, plot_growth, table
from wanderlust.bench.result import Result, Skipped, faster, limited, within
from wanderlust.bench.sweeps import check_plain_sweeps, sweep_against_stream


@pytest.mark.parametrize("explorer", ["vv-ucb", "vv-count"])
@pytest.mark.parametrize("version", [Transcription, Tuned])
@pytest.mark.parametrize("name", ["prison", "deep-gridworld", "wall"])
def test_references_give_the_same_tables(name: str, version: type, explorer: str) -> None:
    world = wl.make_world(name)
    rule = wl.Session(world, explorer).rule
    check_reference(version(world.mdp, rule, discount=0.99, learning_rate=0.5), world, explorer, 600)


def test_plain_sweeps_give_the_same_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    world = wl.make_world("deep-sea", depth=8)
    check_plain_sweeps(world, "vv-ucb", 600)

    def train_otherwise(*given, plain_sweeps, **run):
        return wl.train(*given, plain_sweeps=plain_sweeps, discount=0.95 if plain_sweeps else 0.9, **run)

    monkeypatch.setattr("wanderlust.bench.sweeps.train", train_otherwise)
    with pytest.raises(AssertionError, match="differ"):
        check_plain_sweeps(world, "vv-ucb", 600)


def test_a_wrong_reference_is_found_out() -> None:
    world = wl.make_world("prison")
    rule = wl.Session(world, "vv-ucb").rule
    wrong = Tuned(world.mdp, rule, discount=0.98, learning_rate=0.5)
    with pytest.raises(AssertionError, match="differ"):
        check_reference(wrong, world, "vv-ucb", 300)


@pytest.mark.parametrize("version", [Transcription, Tuned])
def test_filled_memory_is_the_memory_of_having_been_everywhere(version: type) -> None:
    world = wl.make_world("toy")
    rule = wl.Session(world, "vv-ucb").rule
    one, other = (version(world.mdp, rule, discount=0.99, learning_rate=0.5) for _ in range(2))
    pairs = full_memory(world)
    for transition in pairs:
        one.learn(*transition)
    other.fill(pairs)
    assert np.array_equal(np.sort(one.n.ravel()), np.sort(other.n.ravel()))
    assert len(pairs) == 25 * 4


def test_worlds_of_growing_size_are_worlds() -> None:
    for side in (10, 25):
        wl.check_world(wall_like(side))


def test_a_measurement_has_the_fields_it_promises() -> None:
    (line,) = sweep_against_stream(quick=True)
    assert isinstance(line, Result)
    assert line.ratio == line.ours / line.reference
    document = json.loads(as_json([line, Skipped("peers", "not installed")], quick=True))
    assert document["machine"]["cores"] >= 1
    (result,) = document["results"]
    assert {"name", "ours", "reference", "ratio", "target", "met"} <= result.keys()
    assert document["skipped"] == [{"name": "peers", "why": "not installed"}]


def test_targets_know_which_way_is_good(tmp_path: Path) -> None:
    assert faster("a", 1.0, 10.0, 5, unit="s").met
    assert not faster("a", 1.0, 4.0, 5, unit="s").met
    assert within("a", 10.0, 5.0, 2, unit="s").met
    assert not within("a", 11.0, 5.0, 2, unit="s").met
    assert limited("a", 1.0, 1.5, unit="s").met
    assert not limited("a", 2.0, 1.5, unit="s").met
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
    plot_growth(lines, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 1000


def test_the_command_line_helps() -> None:
    for arguments in ([], ["bench"], ["worlds"], ["explorers"]):
        command = [sys.executable, "-m", "wanderlust", *arguments, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "wanderlust" in done.stdout


def test_the_command_line_lists_worlds_and_explorers() -> None:
    worlds = subprocess.run([sys.executable, "-m", "wanderlust", "worlds"], capture_output=True, text=True, check=True)
    assert all(name in worlds.stdout for name in wl.world_names())
    explorers = subprocess.run(
        [sys.executable, "-m", "wanderlust", "explorers"], capture_output=True, text=True, check=True
    )
    assert all(name in explorers.stdout for name in wl.explorer_names())


def test_what_cannot_be_written_or_run_is_said_before_measuring(tmp_path):
    for arguments, said in (
        (["--peers-python", "/no/such/python"], "there is no program"),
        (["--json", str(tmp_path)], "it is a folder"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "wanderlust", "bench", *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert said in done.stderr
        assert "met" not in done.stdout
