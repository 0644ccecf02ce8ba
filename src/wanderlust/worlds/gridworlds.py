"""The gridworlds of the paper (Sections 3.1 and 4.1) as text maps.

The defaults are those of the published experiments. In particular the step penalty of −0.01, which the text gives to
all gridworlds, was not used in `toy` and `deep-gridworld`, and the prison could not be left.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from wanderlust.core.errors import check_flag, check_number
from wanderlust.worlds.base import World
from wanderlust.worlds.grid import grid_world

StepPenalty = Annotated[float, "reward added to every action: zero or negative"]
Escape = Annotated[float, "probability that an action in the prison succeeds (0: the agent never leaves it)"]

TOY_EXAMPLE = """\
S..
.P.
A.B

A = treasure 1
B = treasure 2
horizon = 5
budget = 500
"""

TOY = """\
S....
.....
.....
.....
....A

A = treasure 1
horizon = 11
long_horizon = 22
budget = 2000
"""

PRISON = """\
S....
.A...
.....
##.PB
....C

A = treasure 1
B = treasure 2
C = treasure 5
horizon = 11
long_horizon = 22
budget = 1000
"""

DEEP_GRIDWORLD = """\
...........
.A.........
ScccccccccB
.A.........
...........

A = treasure 1
B = treasure 2 enter left right
c = puddle -0.01 enter left right
horizon = 55
long_horizon = 110
budget = 10000
"""


def _wall_map() -> str:
    """Return the 50×50 map with an L-shaped wall; there are passages at its upper and its right end."""
    cells = [["."] * 50 for _ in range(50)]
    for column in range(1, 41):
        cells[40 - 1][column - 1] = "#"
    for row in range(5, 41):
        cells[row - 1][40 - 1] = "#"
    marks = {
        "S": (25, 25),
        "A": (50, 1),
        "B": (50, 50),
        "C": (10, 22),
        "D": (22, 24),
        "E": (31, 8),
        "F": (30, 30),
        "G": (38, 20),
        "H": (20, 38),
    }
    for letter, (row, column) in marks.items():
        cells[row - 1][column - 1] = letter
    legend = """\
A = treasure 10000
B = treasure 500
C = treasure 15
D = treasure 3
E = treasure 22
F = penalty -20
G = penalty -15
H = penalty -15
horizon = 330
long_horizon = 660
budget = 100000
"""
    return "\n".join("".join(line) for line in cells) + "\n\n" + legend


def _grid(
    name: str,
    text: str,
    options: dict[str, Any],
    *,
    step_penalty: float,
    escape: float = 0.0,
    terminal: bool = True,
) -> World:
    step = check_number("step_penalty", step_penalty, high=0)
    escape = check_number("escape", escape, low=0, high=1)
    terminal = check_flag("terminal", terminal)
    checked = {"terminal": terminal, "escape": escape, "step_penalty": step}
    world = grid_world(text, name=name, step=step, escape=escape, treasures_end=terminal)
    return replace(world, options={option: checked[option] for option in options})


def toy_example(
    *,
    terminal: Annotated[bool, "whether collecting a treasure terminates the episode"] = True,
    escape: Escape = 0.0,
    step_penalty: StepPenalty = 0.0,
) -> World:
    """Return the 3×3 example of Section 3: a distractor, a prison, and the better treasure behind it."""
    options = {"terminal": terminal, "escape": escape, "step_penalty": step_penalty}
    return _grid("toy-example", TOY_EXAMPLE, options, step_penalty=step_penalty, escape=escape, terminal=terminal)


def toy(*, step_penalty: StepPenalty = 0.0) -> World:
    """Return a 5×5 grid with one treasure in the far corner: a sparse reward without distractors."""
    return _grid("toy", TOY, {"step_penalty": step_penalty}, step_penalty=step_penalty)


def prison(*, escape: Escape = 0.0, step_penalty: StepPenalty = -0.01) -> World:
    """Return a 5×5 grid with two distractors and a prison next to the best treasure."""
    options = {"escape": escape, "step_penalty": step_penalty}
    return _grid("prison", PRISON, options, step_penalty=step_penalty, escape=escape)


def wall(*, step_penalty: StepPenalty = -0.01) -> World:
    """Return a 50×50 grid whose best treasure is behind a wall, 124 steps away."""
    return _grid("wall", _wall_map(), {"step_penalty": step_penalty}, step_penalty=step_penalty)


def deep_gridworld(*, step_penalty: StepPenalty = 0.0) -> World:
    """Return a corridor of small negative rewards that leads to the better treasure; it is open only at its start."""
    return _grid("deep-gridworld", DEEP_GRIDWORLD, {"step_penalty": step_penalty}, step_penalty=step_penalty)
