"""Pictures of worlds as graphs: states as circles in a row, and an arrow for the likeliest result of every action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.worlds.base import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_SHOWN = 9
"""A longer row is drawn with its first states, a gap, and its last states."""
_FIRST, _LAST = 4, 3
_RADIUS = 0.28
_NODE, _START, _REWARD, _LINE = "white", "#cfe2f7", "#f2c230", "#4d4d4d"


def draw_graph(
    world: World,
    *,
    title: str,
    names: Sequence[str] | None = None,
    colours: Mapping[tuple[int, int], str] | None = None,
    only_coloured: bool = False,
) -> Figure:
    """Return a graph of a world; `names` are those of the states, `colours` has colours of (state, action) pairs.

    With `only_coloured`, other pairs are not drawn.
    """
    from matplotlib.figure import Figure

    n = world.n_states
    shown = list(range(n)) if n <= MAX_SHOWN else [*range(_FIRST), *range(n - _LAST, n)]
    x = {state: i + (i >= _FIRST and n > MAX_SHOWN) for i, state in enumerate(shown)}
    figure = Figure(figsize=(1.15 * (max(x.values()) + 1) + 0.5, 3.0), layout="constrained")
    figure.suptitle(title, fontsize=11, fontweight="normal")
    axes = figure.subplots()
    axes.set(xlim=(-0.7, max(x.values()) + 0.7), ylim=(-1.25, 1.25), aspect="equal")
    axes.set_axis_off()
    if n > MAX_SHOWN:
        axes.text(_FIRST, 0, "…", ha="center", va="center", fontsize=18)
    reward = (world.mdp.probability * world.mdp.reward).sum(axis=2)
    for state in shown:
        _draw_state(axes, world, x[state], state, names[state] if names else str(state + 1), reward[state])
        _draw_actions(axes, world, x, state, colours or {}, only_coloured)
    if not only_coloured:
        figure.supxlabel(_caption(world), fontsize=8)
    return figure


def _draw_state(axes: Axes, world: World, x: float, state: int, name: str, reward: Any) -> None:
    from matplotlib.patches import Circle

    colour = _START if world.mdp.start[state] > 0 else _REWARD if np.max(reward) == world.r_max else _NODE
    axes.add_patch(Circle((x, 0), _RADIUS, facecolor=colour, edgecolor=_LINE, linewidth=1.0, zorder=3))
    axes.text(x, 0, name, ha="center", va="center", fontsize=10, zorder=4)
    received = [f"{world.action_names[a]}: {value:g}" for a, value in enumerate(reward) if value != 0]
    if received and len(received) < len(reward):
        axes.text(x, -1.0, "reward\n" + "\n".join(received), ha="center", va="center", fontsize=7.5)
    elif received:
        axes.text(x, -1.0, f"reward\n{reward[0]:g}", ha="center", va="center", fontsize=7.5)


def _draw_actions(
    axes: Axes,
    world: World,
    x: Mapping[int, int],
    state: int,
    colours: Mapping[tuple[int, int], str],
    only_coloured: bool,
) -> None:
    """Draw an arrow for each action; actions with the same result share one, unless they have their own colours."""
    mdp, drawn = world.mdp, dict[tuple[int, str], list[str]]()
    for action in range(world.n_actions):
        outcome = int(mdp.probability[state, action].argmax())
        hidden = only_coloured and (state, action) not in colours
        if not mdp.terminal[state, action, outcome] and not hidden:
            key = (int(mdp.next_state[state, action, outcome]), colours.get((state, action), _LINE))
            drawn.setdefault(key, []).append(world.action_names[action])
    for (target, colour), actions in drawn.items():
        if target in x:
            _draw_arrow(
                axes, x[state], x[target], ", ".join(actions), colour, label=state == min(x) and not only_coloured
            )


def _draw_arrow(axes: Axes, start: float, end: float, text: str, colour: str, *, label: bool) -> None:
    from matplotlib.patches import FancyArrowPatch

    style: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 10, "color": colour, "linewidth": 1.1}
    if start == end:
        points = (start - 0.16, 0.24), (start + 0.16, 0.24)
        patch = FancyArrowPatch(*points, connectionstyle="arc3,rad=-1.9", **style)
        place = (start, 0.78)
    else:
        sign = 1 if end > start else -1
        distance = abs(end - start)
        patch = FancyArrowPatch(
            (start + 0.2 * sign, 0.2 * sign),
            (end - 0.2 * sign, 0.2 * sign),
            connectionstyle=f"arc3,rad={-0.35 if distance == 1 else -0.45}",
            **style,
        )
        place = ((start + end) / 2, sign * (0.3 + 0.25 * distance))
    axes.add_patch(patch)
    if label:
        axes.text(*place, text, ha="center", va="center", fontsize=7.5)


def _caption(world: World) -> str:
    likeliest = float(world.mdp.probability.max(axis=2).min())
    stochastic = "" if likeliest >= 1.0 else f"; each arrow has a probability of at least {likeliest:g}"
    terminal = "" if world.mdp.terminal.any() else "; no state is terminal"
    return f"actions: {', '.join(world.action_names)}{stochastic}{terminal}"
