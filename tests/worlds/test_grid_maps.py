"""Text maps: the worlds they define, and the error messages for invalid maps."""

import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanderlust.core.errors import InvalidMap, InvalidSetting, InvalidWorld, UnknownName, WanderlustError
from wanderlust.core.planning import reachable_states
from wanderlust.worlds import GRID_ACTIONS, CellKind, check_world, make_world

LEFT, RIGHT, UP, DOWN = range(4)

CAVE = """
    S..#
    .A.S
    ccPB

    A = treasure 10 enter down   ; from above only
    B = penalty -20
    c = puddle -0.5 enter left right
    step = -0.01
    horizon = 33
    long_horizon = 66
    budget = 444
    discount = 0.9
    name = a cave
"""


def reference_step(lines, entries, row, column, action):
    """Return the next cell, computed for one cell at a time."""
    down, right = ((0, -1), (0, 1), (-1, 0), (1, 0))[action]
    new_row, new_column = row + down, column + right
    if lines[row][column] == "P":
        return row, column
    if not (0 <= new_row < len(lines) and 0 <= new_column < len(lines[0])):
        return row, column
    letter = lines[new_row][new_column]
    if letter == "#" or GRID_ACTIONS[action] not in entries.get(letter, GRID_ACTIONS):
        return row, column
    return new_row, new_column


def test_a_map_defines_its_world():
    world = make_world(CAVE)
    check_world(world)
    assert world.name == "a cave"
    assert world.action_names == GRID_ACTIONS
    assert (world.defaults.horizon, world.defaults.long_horizon, world.defaults.budget) == (33, 66, 444)
    assert world.defaults.discount == 0.9
    assert world.r_max == 10
    np.testing.assert_array_equal(np.flatnonzero(world.mdp.start), [0, 7])
    np.testing.assert_allclose(world.mdp.start[[0, 7]], 0.5)
    reward = world.mdp.reward[:, 0, 0]
    np.testing.assert_allclose(reward, np.array([0, 0, 0, 0, 0, 10, 0, 0, -0.5, -0.5, 0, -20]) - 0.01)
    assert np.flatnonzero(world.mdp.terminal[:, 0, 0]).tolist() == [5, 11]
    next_state = world.mdp.next_state[:, :, 0]
    assert next_state[1, DOWN] == 5  # the treasure can be entered from above,
    assert next_state[4, RIGHT] == 4  # but not from the side
    assert next_state[4, DOWN] == 4  # the puddle cannot be entered from above,
    assert next_state[8, RIGHT] == 9  # but from the side
    assert next_state[10].tolist() == [10] * 4  # the prison cannot be left
    assert next_state[2, RIGHT] == 2  # a wall
    assert world.layout.kind[0, 1, 1] == CellKind.TREASURE
    assert world.layout.entry[1, 1] == 1 << DOWN


@pytest.mark.filterwarnings("ignore:world .* cannot be reached")
@given(st.data())
def test_moves_equal_the_reference(data):
    rows, columns = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 6))
    grid = [data.draw(st.text("#.PAo", min_size=columns, max_size=columns)) for _ in range(rows)]
    grid[0] = "S." + grid[0][2:]
    moves = data.draw(st.lists(st.sampled_from(GRID_ACTIONS), min_size=1, unique=True))
    legend = {"A": "A = treasure 1", "o": "o = floor enter " + " ".join(moves)}
    used = [line for letter, line in legend.items() if any(letter in row for row in grid)]
    world = make_world("\n".join(grid) + "\n\n" + "\n".join(used))
    for row in range(rows):
        for column in range(columns):
            for action in range(4):
                expected = reference_step(grid, {"o": moves}, row, column, action)
                found = divmod(int(world.mdp.next_state[row * columns + column, action, 0]), columns)
                assert found == expected


def test_a_map_can_be_recreated_from_its_options(tmp_path):
    file = tmp_path / "cave.txt"
    file.write_text(CAVE)
    changed = make_world(CAVE, step=-1.0, slips=[0.8, 0.1, 0.1])
    for world in (changed, make_world(file), make_world(str(file), horizon=7)):
        again = make_world(world.name, **json.loads(json.dumps(world.options)))
        assert (again.name, again.defaults, again.options) == (world.name, world.defaults, world.options)
        for expected, actual in zip(world.mdp, again.mdp, strict=True):
            np.testing.assert_array_equal(actual, expected)


def test_options_replace_the_settings_of_a_map():
    world = make_world(CAVE, step=0.0, horizon=5, name="renamed", escape=0.25, treasures_end=False)
    assert (world.name, world.defaults.horizon, world.defaults.budget) == ("renamed", 5, 444)
    assert world.mdp.reward[0, 0, 0] == 0
    assert not world.mdp.terminal.any()
    assert make_world("map", map="S.\n").n_states == 2


def test_a_prison_is_left_with_its_probability():
    world = make_world("SPQ.\n\nQ = prison 0.25\nescape = 0.1\n")
    probability, next_state = world.mdp.probability, world.mdp.next_state
    assert probability[:, RIGHT].tolist() == [[1.0, 0.0], [0.1, 0.9], [0.25, 0.75], [1.0, 0.0]]
    assert next_state[1, RIGHT].tolist() == [2, 1]
    assert make_world("SP.\n", escape=1.0).mdp.next_state[1, RIGHT, 0] == 2
    check_world(world)


def test_defaults_depend_on_the_size_of_the_map_and_letters_may_be_any_character():
    world = make_world("S.💎#\n..é.\n\n💎 = treasure 3\né = reward 0.5\nname = 007\n")
    assert (world.defaults.horizon, world.defaults.budget, world.name) == (18, 700, "007")
    assert world.mdp.reward[[2, 6], 0, 0].tolist() == [3, 0.5]
    assert not world.mdp.terminal[6].any()


def test_a_large_map():
    cells = np.full((300, 1000), ".")
    cells[::7, 1:-1:2] = "#"
    cells[0, 0], cells[-1, -1] = "S", "A"
    text = "\n".join("".join(row) for row in cells) + "\n\nA = treasure 1\n"
    world = make_world(text)
    assert world.n_states == 300_000
    assert reachable_states(world.mdp).sum() == (cells != "#").sum()


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("S..\n.X.\n", "line 2, column 2", "unknown letter 'X'; define it"),
        ("S..\n.s.\n", "line 2, column 2", "did you mean 'S'"),
        ("S. .\n....\n", "line 1, column 3", "floor is '.'"),
        ("\n   S..\n   ..\n", "line 3, column 6", "2 cells, the first has 3"),
        ("...\n...\n", "line 1, column 1", "no start"),
        ("\n\n", "line 1, column 1", "empty"),
        ("S.A\nA = treasure 1\n", "line 2, column 1", "after a blank line"),
        ("S..\n\nA = treasure 1\n", "line 3, column 1", "does not occur"),
        ("S.A\n\nA = treasure 1\n  A = penalty -1\n", "line 4, column 3", "already defined in line 3"),
        ("S.A\n\nA = treasure ten\n", "line 3, column 1", "must be a number"),
        ("S.A\n\nA = treasure nan\n", "line 3, column 1", "got 'nan'"),
        ("S.A\n\nA = treasure -1\n", "line 3, column 1", "value of a treasure must be in [0, inf]"),
        ("S.A\n\nA = penalty 1\n", "line 3, column 1", "value of a penalty must be in [-inf, 0]"),
        ("S.A\n\nA = treasure\n", "line 3, column 1", "takes one number"),
        ("S.A\n\nA = wall 1\n", "line 3, column 1", "takes no number"),
        ("S.A\n\nA = prison 2\n", "line 3, column 1", "must be in [0, 1]"),
        ("S.A\n\nA = tresure 1\n", "line 3, column 1", "Did you mean 'treasure'"),
        ("S.A\n\nA =\n", "line 3, column 1", "unknown kind of cell"),
        ("S.A\n\nA = treasure 1 enter lft\n", "line 3, column 1", "Did you mean 'left'"),
        ("S.A\n\nA = treasure 1 enter\n", "line 3, column 1", "at least one move"),
        ("S.=\n\n= = floor\n", "line 3, column 1", "unknown setting of a map ''"),
        ("S.\0\n\n\0 = floor\n", "line 3, column 1", "cannot be a letter of a map"),
        ("S..\n\nS = treasure 1\n", "line 3, column 1", "built in (start)"),
        ("S..\n\nhorizont = 3\n", "line 3, column 1", "Did you mean 'horizon'"),
        ("S..\n\nhorizon = 0\n", "line 3, column 1", "horizon must be a whole number from 1 to 1,000,000,000,000"),
        ("S..\n\nstep = inf\n", "line 3, column 1", "step must be"),
        ("S..\n\nescape = 1.5\n", "line 3, column 1", "escape must be in [0, 1]"),
        ("S..\n\ndiscount = 1\n", "line 3, column 1", "discount must be in [0, 1)"),
        ("S..\n\ntreasures_end = maybe\n", "line 3, column 1", "yes or no"),
        ("S..\n\nhello\n", "line 3, column 1", "expected 'letter = kind'"),
    ],
)
def test_an_invalid_map_names_location_and_reason(text, place, message):
    with pytest.raises(InvalidMap) as caught:
        make_world(text)
    assert str(caught.value).startswith(f"{place}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ("S#.\n##.\n", {}, InvalidWorld, "no action leads away"),
        ("S.\n", {"name": "toy"}, InvalidSetting, "registered world"),
        ("mine", {"map": 3}, InvalidMap, "must be text"),
        (CAVE, {"horizon": 0}, InvalidSetting, "horizon"),
        (CAVE, {"name": "a\u2028b"}, InvalidMap, "name must be non-empty text"),
        (CAVE, {"horizn": 3}, UnknownName, "Did you mean 'horizon'"),
        ("S.\n\nhorizon = " + "9" * 5000, {}, InvalidMap, "line 3, column 1"),
    ],
)
def test_other_errors(given, options, error, message):
    with pytest.raises(error, match=message):
        make_world(given, **options)


# --- Files and damaged texts -----------------------------------------------------------------------

SMALL = "S.A\n\nA = treasure 1\n"


def test_encodings_and_line_ends(tmp_path):
    path = tmp_path / "map.txt"
    for contents in (SMALL.encode(), b"\xef\xbb\xbf" + SMALL.encode(), SMALL.replace("\n", "\r\n").encode()):
        path.write_bytes(contents)
        assert make_world(path).options == {"map": SMALL}
    path.write_bytes(b"S.A\n\nA = treasure\xff 1\n")
    with pytest.raises(InvalidMap, match=r"map\.txt.*not text in UTF-8; line 3 has the byte 0xff"):
        make_world(path)
    path.write_bytes(b"S\0A\n\nA = treasure 1\n")
    with pytest.raises(InvalidMap, match=r"line 1, column 2: unknown letter '\\x00'; it cannot be printed"):
        make_world(path)


def test_only_regular_files_of_limited_size_are_read(tmp_path):
    pipe, folder, device, large = (tmp_path / f"{name}.txt" for name in ("pipe", "folder", "device", "large"))
    os.mkfifo(pipe)
    folder.mkdir()
    device.symlink_to("/dev/zero")
    with large.open("wb") as file:
        file.truncate(10**9)
    for path, reason in (
        (pipe, "named pipe"),
        (folder, "folder"),
        (device, "device"),
        (large, "1,000,000,000 bytes; the maximum is 10,000,000"),
        (tmp_path / "missing.txt", "no such file"),
        (tmp_path / f"{'x' * 300}.txt", "File name too long"),
        ("a\0b.txt", "must be the path of a file"),
    ):
        with pytest.raises(WanderlustError, match=reason):
            make_world(path)


def test_too_many_cells_are_refused(monkeypatch):
    monkeypatch.setattr("wanderlust.core.errors.MAX_PAIRS", 100)
    with pytest.raises(InvalidSetting, match="the map has 30 states × 4 actions"):
        make_world("S" + "." * 9 + ("\n" + "." * 10) * 2 + "\n")


def test_unreachable_treasures_give_a_warning():
    with pytest.warns(UserWarning, match=r"world 'map': the treasure cannot be reached.* \(1, 5\)\.$") as caught:
        make_world("S.A#B\n\nA = treasure 1\nB = treasure 2\n")
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"\(1, 4\), \(1, 5\), \(1, 6\), \(1, 7\), \(1, 8\)\.$"):
        make_world("S.#AAAAAAAA\n\nA = treasure 1\n")
    with pytest.warns(UserWarning, match="cannot be reached"):
        make_world("S.PA\n\nA = treasure 1\n")
    make_world("S.PA\n\nA = treasure 1\n", escape=0.1)
