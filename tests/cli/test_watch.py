"""The command `watch`: its frames show the run, at any terminal size."""

import io
import os
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, ConsoleDimensions

import wanderlust as wl
from process_server import send
from wanderlust.cli.live_view import Heatmap, WatchedRun, draw_frame, draw_map, make_watched_world
from wanderlust.worlds.drawing import display_layout

pytestmark = pytest.mark.slow


def new_run(world="prison", explorer="vv-ucb", steps=0, **settings):
    run = WatchedRun(make_watched_world(world, {}), explorer, seed=1, **settings)
    run.session.advance(steps)
    return run


# --- The run ---------------------------------------------------------------------------------------


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


def test_snapshots():
    snapshot = new_run().snapshot()
    assert snapshot.state == 0
    assert snapshot.status == [
        "step 0 of 1,000",
        "discovered 0 of 23 states",
        "greedy return unknown",
        "no positive reward yet",
    ]
    run = new_run(steps=300)
    snapshot, record = run.snapshot(), run.session.record()
    assert snapshot.status[0] == "step 300 of 1,000"
    assert snapshot.maps[0].heading == f"visits up to {record.visits.sum(axis=1).max():,}"
    unknown = np.isnan(snapshot.maps[1].intensity[run.layout.row, run.layout.column])
    assert np.array_equal(unknown, record.first_visit < 0)  # There, or in a wall.


def best_by_rank(run):
    """Return the scores or W of the states, from the brightest cell to the darkest, and the heading of the map."""
    heatmap, layout = run.snapshot().maps[1], run.layout
    ranks = heatmap.intensity[layout.row, layout.column]
    known = np.flatnonzero(~np.isnan(ranks))
    return known[np.argsort(-ranks[known], kind="stable")], heatmap.heading


@pytest.mark.parametrize(("explorer", "name"), [("vv-ucb", "largest W"), ("vv-count", "smallest W")])
def test_visitation_values(explorer, name):
    run = new_run(explorer=explorer, steps=300)
    states, heading = best_by_rank(run)
    w = run.session.record().tables["visitation"][states]
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


# --- The frames ------------------------------------------------------------------------------------


def drawn(world, state, width, height, intensity=0.0):
    layout = display_layout(wl.make_world(world))
    heatmap = Heatmap("", np.full((layout.rows, layout.columns), intensity), ("#000000", "#ffffff"))
    return layout, draw_map(layout, state, heatmap, width, height)


@given(st.sampled_from(["wall", "chain", "prison"]), st.integers(5, 200), st.integers(5, 150))
def test_maps_fit_any_terminal_size(world, width, height):
    layout, image = drawn(world, 0, width, height)
    rows, columns, _ = image.shape
    assert rows <= height
    assert columns <= width
    assert 2 * rows > height or 2 * columns > width or rows < layout.rows


@pytest.mark.parametrize(
    ("world", "size"), [("prison", (200, 60)), ("wall", (80, 24)), ("chain", (40, 14)), ("deep-sea", (80, 24))]
)
def test_every_frame_fits_the_terminal(world, size):
    frame = draw_frame(new_run(world, "vv-ucb", 30), ConsoleDimensions(*size))
    console = Console(width=size[0], height=size[1], file=io.StringIO(), force_terminal=True)
    lines = console.render_lines(frame, pad=False)
    assert len(lines) <= size[1]
    assert max(sum(segment.cell_length for segment in line) for line in lines) <= size[0]
    text = "".join(segment.text for line in lines for segment in line)
    assert "visits up to" in text
    assert "step 30 of" in text


def test_a_pixel_of_several_cells_shows_what_is_special_in_them():
    image = drawn("wall", 1224, 25, 26)[1]
    assert image.shape == (25, 25, 3)
    assert len({tuple(color) for color in image.reshape(-1, 3).tolist()}) == 5  # floor, wall, treasure, penalty, agent


# --- The command -----------------------------------------------------------------------------------


def test_without_a_terminal_a_few_lines_are_printed(run_cli):
    text = run_cli.succeeds("watch", "prison", "--seed", 1, "--steps", 400, "--speed", 0.001)
    assert [int(step) for step in re.findall(r"^prison, vv-ucb, seed 1: step (\d+) of 400", text, flags=re.M)] == [
        100, 200, 300, 400,
    ]  # fmt: skip
    words = ("--env", "depth=4", "flag=treasure", "slips=[0.9, 0.05, 0.05]")
    text = run_cli.succeeds("watch", "deep-sea", "--steps", 2, *words)
    assert "deep-sea, vv-ucb, seed 0 (treasure): step 2 of 2, discovered" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prisn"], "unknown environment 'prisn'. Did you mean 'prison'?"),
        (["prison", "--explorer", "vv-ubc"], "unknown explorer 'vv-ubc'. Did you mean 'vv-ucb'?"),
        (["prison", "--set", "kapa=1"], "Did you mean 'kappa'?"),
        (["prison", "--speed", "0"], "speed must be"),
        (["nowhere.txt"], "cannot read the map 'nowhere.txt'"),
        (["toy", "--env", "depth"], "written as name=value"),
    ],
)
def test_invalid_input_prints_a_message(run_cli, arguments, message):
    code, out, err = run_cli("watch", *arguments)
    assert (code, out) == (2, "")
    assert message in err


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
