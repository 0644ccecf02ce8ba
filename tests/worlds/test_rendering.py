"""Rendering of environments as images, text maps, and in a window."""

import gymnasium as gym
import numpy as np
import pytest

import wanderlust as wl
from wanderlust.environments.world_env import WorldEnv
from wanderlust.worlds import CellKind, World
from wanderlust.worlds.drawing import MAX_ROW_LENGTH, by_cell, describe_layer, display_layout, text_map
from wanderlust.worlds.raster import MAX_GRID_SIZE, MIN_WIDTH, Renderer

pytestmark = pytest.mark.filterwarnings("ignore:world .* cannot be reached")  # C in the map below.

CAVE = """
    S..#.
    .A.#.
    ..P.B
    cc..C
    rr...

    A = treasure 1
    B = penalty -20
    C = treasure 10000 enter down
    c = puddle -0.01 enter left right
    r = reward 0.1
"""


def rendered(world, render_mode, actions=(), **options):
    """Return the rendering after some actions, and the environment."""
    env = WorldEnv(world, render_mode=render_mode, **options)
    env.reset(seed=0)
    for action in actions:
        env.step(action)
    return env.render(), env


def cell_of(frame, env, row, column):
    """Return the pixels of a cell without its border."""
    renderer = env._renderer
    top, left, size = row * renderer.cell, renderer.left + column * renderer.cell, renderer.cell
    return frame[top + 1 : top + size, left + 1 : left + size]


# --- Text ------------------------------------------------------------------------------------------


def test_text_shows_the_map_the_agent_and_a_legend():
    text, env = rendered(CAVE, "ansi", [1])
    rows = ["S@.#.", ".A.#.", "..P.C", "aa..B", "DD..."]
    legend = {"A = treasure 1", "B = treasure 10000", "C = penalty -20", "D = reward 0.1", "a = puddle -0.01"}
    assert text.splitlines()[:5] == rows
    assert legend < set(text.splitlines())
    assert "step 1 (right)" in text
    # Without the agent, it is a map.
    again = wl.make_world(text_map(env.world.layout, 7).replace("@", "."))
    assert np.array_equal(again.layout.kind, env.world.layout.kind)
    assert np.array_equal(again.layout.value, env.world.layout.value)


@pytest.mark.parametrize(
    ("world", "options", "actions", "rows", "meanings"),
    [
        ("taxi", {}, [3, 3, 1, 1, 2, 2], {0: "S#@.#.A", 4: "......2", 5: "3.....#"}, ["with 1", "A = treasure 1"]),
        ("deep-sea", {"depth": 4, "flag": "bomb"}, [], {0: "@###", 3: "...A"}, ["A = penalty -1", "deep-sea, bomb"]),
        ("deep-sea", {"depth": 4, "flag": "treasure"}, [], {1: "..##"}, ["A = treasure 1", "deep-sea, treasure"]),
        ("SA\n\nA = treasure 1\n", {}, [1, 0], {0: "S@"}, ["step 2 (left, terminated)", "return 1"]),
    ],
)
def test_text_of_layers_and_of_the_last_step(world, options, actions, rows, meanings):
    """Termination is shown in the state acted in."""
    text, _ = rendered(world, "ansi", actions, **options)
    assert {row: text.splitlines()[row] for row in rows} == rows
    assert all(meaning in text for meaning in meanings)


def test_more_values_than_letters():
    values = "".join(chr(ord("α") + i) for i in range(30) if chr(ord("α") + i).isalpha())
    legend = "\n".join(f"{letter} = treasure {i}" for i, letter in enumerate(values))
    drawn = describe_layer(display_layout(wl.make_world(f"S{values}\n\n{legend}\n")), 0)
    assert drawn.meanings["$"] == "treasure"
    assert "".join(drawn.letter[0]).count("$") == len(values) - 24
    assert drawn.label[0].tolist() == ["S", *map(str, range(len(values)))]


# --- Images ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [*wl.world_names()[:11], CAVE])
def test_every_world_has_an_image(world):
    frame, env = rendered(world, "rgb_array", [1, 0])
    assert frame.dtype == np.uint8
    assert frame.shape[2] == 3
    assert frame.shape[0] % 2 == frame.shape[1] % 2 == 0
    assert MIN_WIDTH <= frame.shape[1] <= MAX_GRID_SIZE + 2
    assert np.array_equal(frame, env.render())
    before = frame.copy()
    env.reset()
    env.step(env.world.n_actions - 1)
    assert not np.array_equal(env.render(), before)


def test_kinds_of_cells_look_different_and_the_agent_is_drawn_in_its_cell():
    frame, env = rendered(CAVE, "rgb_array", [1, 1, 3])
    corners = {}
    for row, column in ((0, 2), (0, 3), (1, 1), (2, 2), (2, 4), (3, 0), (4, 0)):
        kind = CellKind(int(env.world.layout.kind[0, row, column]))
        corners[kind] = tuple(cell_of(frame, env, row, column)[8, 8])
    assert len(set(corners.values())) == len(corners) == 7
    rows, columns = np.nonzero((frame == (0xC2, 0x25, 0x5C)).all(axis=2))
    assert set(rows // env._renderer.cell) == {1}
    assert set((columns - env._renderer.left) // env._renderer.cell) == {2}


def test_values_are_written_in_their_cells_or_beside_small_ones():
    """The same map with another value differs there only."""
    small = "S" + "." * 39 + "\n" + ("." * 40 + "\n") * 38 + "." * 20 + "A" + "." * 19 + "\n\nA = treasure "
    for plain, size, first, last in (("S.A\n\nA = treasure ", 72, 2, 3), (small, 16, 21, 24)):
        (one, env), (other, _) = (rendered(plain + value, "rgb_array") for value in ("1", "28"))
        assert env._renderer.cell == size
        _, columns = np.nonzero((one != other).any(axis=2))
        assert columns.min() >= env._renderer.left + first * size
        assert columns.max() < env._renderer.left + last * size


def test_cells_get_darker_with_every_visit():
    env = WorldEnv("toy", render_mode="rgb_array")
    env.reset()
    reds = []
    for _ in range(4):
        reds.append(int(cell_of(env.render(), env, 0, 1)[3, 3, 0]))
        env.step(1)
        env.step(0)
    assert reds == sorted(set(reds), reverse=True)


def test_bars_are_drawn_at_closed_sides():
    frame, env = rendered(CAVE, "rgb_array")
    size, left = env._renderer.cell, env._renderer.left
    middle, closed = size // 2, []
    for column in (0, 4):  # The puddle is entered from left and right, the treasure from above.
        cell = frame[3 * size : 4 * size, left + column * size : left + (column + 1) * size]
        sides = cell[[0, -1, middle, middle], [middle, middle, 0, -1]]
        closed.append((sides == (0x3D, 0x46, 0x57)).all(axis=1).tolist())
    assert closed == [[True, True, False, False], [False, True, True, True]]


def test_a_large_world_has_an_image_of_limited_size():
    frame, env = rendered("deep-sea", "rgb_array", [1], depth=400)
    assert env._renderer.cell == 1
    assert frame.shape == (428, 400, 3)
    frame, _ = rendered("chain", "rgb_array", [0], length=30_000)
    assert max(frame.shape) < 700


def test_long_rows_are_wrapped():
    layout = display_layout(wl.make_world("chain", length=MAX_ROW_LENGTH))
    assert (layout.rows, layout.columns) == (1, MAX_ROW_LENGTH)
    layout = display_layout(wl.make_world("chain", length=60))
    assert (layout.rows, layout.columns) == (8, 8)
    assert (layout.row[59], layout.column[59]) == (7, 3)
    assert layout.kind[0, 7].tolist() == [0, 0, 0, CellKind.REWARD] + [CellKind.WALL] * 4


def test_a_world_without_a_layout_is_drawn():
    toy = wl.make_world("toy")
    world = World(name="bare", mdp=toy.mdp, defaults=toy.defaults, action_names=toy.action_names, r_max=1.0)
    text, _ = rendered(world, "ansi", [1])
    assert text.splitlines()[0] == "S@" + "." * 23
    frame, env = rendered(world, "rgb_array", [1])
    assert frame.shape[2] == 3
    assert env.reset()[1] == {"prob": 1.0}


def test_values_are_aggregated_over_layers():
    layout = display_layout(wl.make_world("deep-sea", depth=3))
    values = np.arange(18, dtype=float)
    values[2:4] = np.nan
    total, largest = by_cell(layout, values, largest=False), by_cell(layout, values, largest=True)
    assert total[0, 0] == 1
    assert largest[2, 1] == 15
    assert np.isnan(total[0, 1])
    assert np.isnan(largest[0, 2])
    renderer = Renderer(layout)
    assert renderer.frame(0, np.zeros(18, dtype=np.int64), "").shape == (renderer.height, renderer.width, 3)


# --- Modes -----------------------------------------------------------------------------------------


def test_frames_can_be_collected():
    env = gym.make("wanderlust/Toy-v0", render_mode="rgb_array_list")
    env.reset()
    env.step(1)
    assert [frame.shape for frame in env.render()] == [(388, 360, 3)] * 2


def test_rendering_without_a_mode_warns():
    env = WorldEnv("toy")
    env.reset()
    with pytest.warns(UserWarning, match="render_mode: 'rgb_array', 'ansi' or 'human'"):
        assert env.render() is None


def test_a_window_shows_the_image(monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with pytest.warns(UserWarning, match="HumanRendering wrapper"):
        env = gym.make("wanderlust/ToyExample-v0", render_mode="human")
    env.reset()
    env.step(1)
    on_screen = pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1)
    inner = env.unwrapped
    assert np.array_equal(on_screen, inner._renderer.frame(1, inner.visits, inner._title))
    env.close()
