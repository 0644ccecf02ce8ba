"""The command `watch`: its frames show the run, at any terminal size."""

import io
import os
import re

import numpy as np
import pytest
from rich.console import Console, ConsoleDimensions

import wanderlust as wl
from process_server import send
from wanderlust.cli.live_view import WatchedRun, draw_frame, make_watched_world, show_live

pytestmark = pytest.mark.slow


def new_run(world="prison", explorer="vv-ucb", steps=0, **settings):
    run = WatchedRun(make_watched_world(world, {}), explorer, seed=1, **settings)
    run.session.advance(steps)
    return run


@pytest.mark.parametrize("explorer", ["vv-ucb", "ucb1"])
def test_watching_does_not_change_the_run(explorer):
    run = new_run(explorer=explorer)
    for step in range(50, run.length + 1, 50):
        run.session.advance(step)
        run.snapshot()
    record = wl.train("prison", explorer, seed=1, evaluate_every=5)
    watched = run.session.record()
    assert np.array_equal(watched.visits, record.visits)
    assert np.array_equal(watched.returns, record.returns)
    assert all(np.array_equal(watched.tables[name], record.tables[name]) for name in record.tables)


@pytest.mark.parametrize(("explorer", "name"), [("vv-ucb", "largest W"), ("vv-count", "smallest W")])
def test_snapshots_have_the_visits_and_the_order_of_the_visitation_values(explorer, name):
    start = new_run(explorer=explorer).snapshot()
    assert start.state == 0
    assert start.status == [
        "step 0 of 1,000", "discovered 0 of 23 states", "greedy return unknown", "no positive reward yet",
    ]  # fmt: skip
    run = new_run(explorer=explorer, steps=300)
    snapshot, record = run.snapshot(), run.session.record()
    assert snapshot.status[0] == "step 300 of 1,000"
    (visits, heading), ranks = snapshot.maps, [*snapshot.maps.values()][1][run.layout.row, run.layout.column]
    assert visits == f"visits up to {record.visits.sum(axis=1).max():,}"
    assert np.array_equal(np.isnan(ranks), record.first_visit < 0)  # There, or in a wall.
    known = np.flatnonzero(~np.isnan(ranks))
    w = record.tables["visitation"][known[np.argsort(-ranks[known], kind="stable")]]
    best = w.max(axis=1) if explorer == "vv-ucb" else -w.min(axis=1)
    assert (np.diff(best) <= 0).all()
    assert heading.startswith(f"{name} {np.abs(best).min():.4g} to ")


def test_watched_worlds(tmp_path):
    world = make_watched_world("deep-sea", {"depth": 7, "slips": [0.9, 0.1, 0.0]})
    assert (world.layout.rows, world.mdp.deterministic) == (7, False)
    file = tmp_path / "corridor.txt"
    file.write_text("S.A\n\nA = treasure 1\n")
    assert make_watched_world(str(file), {"step": -0.5}).reward_range == (-0.5, 1.0)
    lake = make_watched_world("FrozenLake-v1", {"map_name": "8x8"})
    assert (lake.layout.rows, lake.action_names) == (8, ("left", "down", "right", "up"))
    with pytest.raises(wl.WanderlustError, match=r"no model.*wanderlust train CartPole-v1 --video run\.gif"):
        make_watched_world("CartPole-v1", {})


@pytest.mark.parametrize(
    ("world", "size", "rows"),
    [("prison", (200, 60), 5), ("wall", (80, 24), 20), ("chain", (40, 14), 1), ("deep-sea", (20, 8), 1)],
)
def test_every_frame_fits_the_terminal_and_shows_the_agent(world, size, rows):
    lines = draw_frame(new_run(world, "vv-ucb", 30), ConsoleDimensions(*size)).splitlines()
    assert len(lines) <= size[1]
    assert max(map(len, lines)) <= size[0]
    assert "".join(lines[2 : 2 + rows]).count("@") == 2
    assert lines[1].startswith("visits up to"[: size[0] // 2 - 2])
    assert lines[2 + rows].startswith("step 30 of")


def test_a_huge_speed_does_not_overflow():
    run = WatchedRun(wl.make_world("S.A\n\nA = treasure 1\n"), "vv-ucb", steps=5)
    show_live(run, Console(file=io.StringIO(), force_terminal=True, width=60, height=30), 1e308)
    assert run.session.step == 5


# --- The command -----------------------------------------------------------------------------------


def test_without_a_terminal_a_few_lines_are_printed(run_cli):
    text = run_cli.succeeds("watch", "prison", "--seed", 1, "--steps", 400, "--speed", 0.001)
    steps = re.findall(r"^prison, vv-ucb, seed 1: step (\d+) of 400", text, flags=re.M)
    assert steps == ["100", "200", "300", "400"]
    words = ("--env", "depth=4", "flag=treasure", "slips=[0.9, 0.05, 0.05]")
    text = run_cli.succeeds("watch", "deep-sea", "--steps", 2, *words)
    assert "deep-sea, vv-ucb, seed 0 (treasure): step 2 of 2, discovered" in text


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize("is_stopped", [False, True])
def test_in_a_terminal_it_is_live(is_stopped, processes, tmp_path):
    waiting = [send] if is_stopped else []

    def react(process, terminal, text):
        if waiting and re.search(r"step [1-9]\d* of", text):
            waiting.pop()(process)

    arguments = ["--speed", "4"] if is_stopped else ["--speed", "1000", "--steps", "200"]
    screen = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    code, text = processes.in_terminal(tmp_path, "watch", "prison", *arguments, react=react, **screen)
    assert code == 0, text[-2000:]
    assert "Traceback" not in text
    assert "\x1b[" in text
    assert text.count("discovered") > 2
    assert bool(re.search(r"stopped at step \d+ of 1,000", text)) == is_stopped
    assert ("step 200 of 200" in text) != is_stopped
