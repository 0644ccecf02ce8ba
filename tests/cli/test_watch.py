"""The command `watch`: its frames show the run, at any terminal size."""

import io
import os
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from rich.console import Console, ConsoleDimensions

import wanderlust as wl
from process_server import send
from wanderlust.agents.presentation import explain
from wanderlust.cli.live_view import (
    EXPLORATION,
    FrameRenderer,
    Player,
    WatchedRun,
    cell_colors,
    draw_map,
    fit_size,
    make_watched_world,
    split_keys,
)
from wanderlust.cli.watch import watch
from wanderlust.worlds import CellKind
from wanderlust.worlds.drawing import display_layout

pytestmark = pytest.mark.slow


def new_run(world="prison", explorer="vv-ucb", steps=0, **settings):
    run = WatchedRun(make_watched_world(world, {}), explorer, seed=1, **settings)
    run.prepare()
    run.advance_to(steps)
    return run


@pytest.fixture
def plain_frames(capsys):
    """Return a function that returns the output of the command without a terminal."""

    def run(*arguments, **options):
        watch(*arguments, **options)
        return capsys.readouterr().out

    return run


# --- The run ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("explorer", ["vv-ucb", "vv-count", "ucb1"])
def test_watching_does_not_change_the_run(explorer):
    run = new_run(explorer=explorer)
    while not run.finished:
        run.advance_to(run.step + 1)
        if run.step % 100 == 0:
            run.snapshot()
    record = wl.train("prison", explorer, seed=1, evaluate_every=5, keep_trajectory=True)
    watched = run.session.record()
    assert np.array_equal(watched.visits, record.visits)
    assert np.array_equal(watched.returns, record.returns)
    assert all(np.array_equal(watched.tables[name], record.tables[name]) for name in record.tables)
    rewards = wl.make_world("prison").mdp.reward[record.states, record.actions, 0]
    assert run.session.events[0] == 1 + int(np.argmax(rewards > 0))
    mdp = wl.make_world("prison").mdp
    episodes, t = 0, 0
    for state, action in zip(record.states, record.actions, strict=True):
        episodes += t == 0
        t = 0 if mdp.terminal[state, action, 0] or t == 10 else t + 1
    assert run.episode == episodes


def test_snapshots():
    snapshot = new_run().snapshot()
    assert snapshot.state == 0
    assert snapshot.status == [
        "step 0 of 1,000",
        "episode 1",
        "discovered 0 of 23 states, 0.0 %",
        "greedy return not evaluated",
        "no positive reward yet",
    ]
    run = new_run(steps=300)
    snapshot = run.snapshot()
    assert snapshot.status[0] == "step 300 of 1,000"
    assert snapshot.visits.sum() == 300
    assert np.isnan(snapshot.exploration_values[[15, 16]]).all()
    values, w = snapshot.exploration_values, run.session.record().tables["visitation"]
    discovered = ~np.isnan(values)
    assert np.array_equal(values[discovered], w.max(axis=1)[discovered])


def test_exploration_values():
    assert (new_run(explorer="vv-ucb").value_name, new_run(explorer="vv-ucb").minimises) == ("largest W", False)
    assert (new_run(explorer="vv-count").value_name, new_run(explorer="vv-count").minimises) == ("smallest W", True)
    run = new_run(explorer="ucb1", steps=200)
    assert run.value_name == "largest score"
    session, values = run.session, run.snapshot().exploration_values
    for state in np.flatnonzero(~np.isnan(values)):
        explained = explain(session.agent, int(state)).actions
        assert values[state] == max(reason.score for reason in explained)


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


# --- Keys ------------------------------------------------------------------------------------------


def test_keys_of_a_terminal():
    assert split_keys(" \x1b[C\x1b[Dq") == [" ", "right", "left", "q"]
    assert split_keys("\x1b") == ["\x1b"]


def test_a_run_can_be_paused_stepped_and_rewound():
    player = Player(new_run(), speed=10.0)
    player.play(1.0)
    assert player.snapshot.status[0] == "step 10 of 1,000"
    player.press(" ")
    player.play(5.0)
    assert player.snapshot.status[0] == "step 10 of 1,000"
    for _ in range(3):
        player.press("right")
    assert player.snapshot.status[0] == "step 13 of 1,000"
    earlier = player.snapshot
    player.press("left")
    player.press("b")
    assert player.snapshot.status[0] == "step 11 of 1,000"
    assert player.run.step == 13
    player.press("n")
    player.press("n")
    assert player.snapshot is earlier
    player.press("+")
    player.press(" ")
    player.play(1.0)
    assert player.snapshot.status[0] == "step 33 of 1,000"
    record = wl.train("prison", "vv-ucb", seed=1, evaluate_every=5, steps=33)
    assert np.array_equal(player.run.session.record().visits, record.visits)
    assert not player.is_over
    player.press("q")
    assert player.is_over


def test_the_history_is_bounded_and_a_finished_run_is_over():
    player = Player(new_run(steps=995), speed=1.0)
    for _ in range(20):
        player.press("left")
    assert player.snapshot.status[0] == "step 995 of 1,000"
    player.press(" ")
    player.play(60.0)
    assert player.is_over
    assert player.run.finished


# --- The frames ------------------------------------------------------------------------------------


@given(st.integers(1, 200), st.integers(1, 200), st.integers(10, 200), st.integers(2, 80))
def test_maps_fit_any_terminal_size(rows, columns, width, height):
    size = fit_size(rows, columns, width, height)
    if size.scale:
        assert 2 * size.scale * columns <= width
        assert size.scale * rows <= height
    else:
        assert -(-columns // size.pooled) <= width
        assert -(-rows // (2 * size.pooled)) <= height
        assert 2 * columns > width or rows > height


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (200, 60), (20, 8)])
@pytest.mark.parametrize("world", ["prison", "wall", "taxi", "chain", "deep-sea"])
def test_every_frame_fits_the_terminal(world, size):
    run = new_run(world, "vv-ucb", 30)
    frame = FrameRenderer(run, "a title").frame(ConsoleDimensions(*size))
    console = Console(width=size[0], height=size[1], file=io.StringIO(), force_terminal=True)
    lines = console.render_lines(frame, pad=False)
    if size[1] >= 12:
        assert len(lines) <= size[1]
    assert max(sum(segment.cell_length for segment in line) for line in lines) <= size[0]


def test_colours_of_cells():
    intensity = np.array([[0.0, 1.0], [np.nan, 0.5]])
    colours = cell_colors(intensity, np.array([[False, False], [False, False]]), ("#000000", "#ffffff"))
    assert colours[0].tolist() == [[0, 0, 0], [255, 255, 255]]
    assert colours[1, 1].tolist() == [128, 128, 128]
    assert colours[1, 0].tolist() not in ([0, 0, 0], [255, 255, 255])


def test_half_blocks_show_all_kinds_of_cells():
    layout = display_layout(wl.make_world("wall"))
    is_wall = layout.kind[0] == CellKind.WALL
    colours = cell_colors(np.zeros((50, 50)), is_wall, EXPLORATION)
    lines = draw_map(layout, 1224, colours, fit_size(50, 50, 25, 13))
    assert len(lines) == 13
    assert all(len(line) == 25 for line in lines)
    drawn = {str(style.color.get_truecolor()) for line in lines for span in line.spans if (style := span.style).color}
    drawn |= {
        str(style.bgcolor.get_truecolor()) for line in lines for span in line.spans if (style := span.style).bgcolor
    }
    assert len(drawn) == 5  # floor, wall, treasure, penalty, agent


def test_large_cells_have_letters():
    run = new_run(steps=0)
    frame = FrameRenderer(run, "a title").frame(ConsoleDimensions(80, 24))
    console = Console(width=80, height=24, file=io.StringIO(), force_terminal=False)
    console.print(frame)
    text = console.file.getvalue()
    assert "visits up to 0" in text
    assert "largest W" in text
    assert re.search(r"^ +@ .* @ ", text, flags=re.M)
    assert "A treasure 1   B treasure 2   C treasure 5" in text
    assert "step 0 of 1,000   episode 1" in text


# --- The command -----------------------------------------------------------------------------------


def test_without_a_terminal_a_few_frames_are_printed(plain_frames):
    text = plain_frames("prison", seed=1, steps=400, speed=0.001)
    assert [int(step) for step in re.findall(r"^step (\d+) of 400$", text, flags=re.M)] == [100, 200, 300, 400]
    assert text.count("prison, vv-ucb, seed 1") == 4
    assert text.count("@") == 4
    assert "\x1b" not in text
    assert "A treasure 1, B treasure 2, C treasure 5" in text


def test_option_values(plain_frames):
    text = plain_frames("deep-sea", steps=20, env=["depth=4", "flag=treasure", "slips=[0.9, 0.05, 0.05]"])
    assert "deep-sea, vv-ucb, seed 0 (treasure)" in text
    with pytest.raises(wl.WanderlustError, match="written as name=value"):
        plain_frames("toy", env=["depth"])


def test_a_run_as_a_gif(plain_frames, tmp_path):
    text = plain_frames("FrozenLake-v1", steps=30, gif=tmp_path / "lake.gif")
    assert text == f"{tmp_path / 'lake.gif'}: 31 frames\n"
    with Image.open(tmp_path / "lake.gif") as picture:
        assert picture.n_frames > 20  # Equal frames are stored as one.
        first = np.asarray(picture.convert("RGB"))
        picture.seek(picture.n_frames - 1)
        assert not np.array_equal(first, np.asarray(picture.convert("RGB")))
    with pytest.raises(wl.WanderlustError, match=r"--gif must be a \.gif file"):
        plain_frames("toy", gif=tmp_path / "lake.mp4")


def test_a_run_with_fewer_steps_than_frames(plain_frames):
    assert re.findall(r"^step (\d) of 2$", plain_frames("toy", steps=2), flags=re.M)[-1] == "2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prisn"], "unknown environment 'prisn'. Did you mean 'prison'?"),
        (["prison", "--explorer", "vv-ubc"], "unknown explorer 'vv-ubc'. Did you mean 'vv-ucb'?"),
        (["prison", "--set", "kapa=1"], "Did you mean 'kappa'?"),
        (["prison", "--speed", "0"], "speed must be"),
        (["nowhere.txt"], "cannot read the map 'nowhere.txt'"),
    ],
)
def test_invalid_input_prints_a_message(run_cli, arguments, message):
    code, out, err = run_cli("watch", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_map_from_a_file(run_cli, tmp_path):
    (tmp_path / "corridor.txt").write_text("S.A\n\nA = treasure 1\nname = corridor\n")
    out = run_cli.succeeds("watch", "corridor.txt", "--steps", "40")
    assert "corridor, vv-ucb, seed 0" in out
    assert "first reward at step" in out


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
@pytest.mark.parametrize("stop", [None, "signal", "key"])
def test_in_a_terminal_it_is_live(stop, processes, tmp_path):
    reactions = {"signal": lambda process, _: send(process), "key": lambda _, terminal: os.write(terminal, b"  q")}
    waiting = [reactions[stop]] if stop else []

    def react(process, terminal, text):
        if waiting and re.search(r"step [1-9]\d* of", text):
            waiting.pop()(process, terminal)

    arguments = ["--speed", "4"] if stop else ["--speed", "1000", "--steps", "200"]
    screen = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    code, text = processes.in_terminal(tmp_path, "watch", "prison", *arguments, react=react, **screen)
    assert code == 0, text[-2000:]
    assert "Traceback" not in text
    assert "\x1b[" in text
    assert text.count("episode") > 2
    assert "space pause" in text
    if arguments[1] == "4":
        assert re.search(r"stopped at step \d+ of 1,000", text)
    else:
        assert "step 200 of 200" in text
        assert "stopped" not in text
