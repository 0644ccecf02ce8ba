"""The player of `watch`: a run, its frames, and playing it in a terminal.

A frame has a map of the visits, a map of the exploration values, and the status of the run. A map is an image of which
each character shows two pixels, one above the other.
"""

from __future__ import annotations

import contextlib
import textwrap
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.style import Style
from rich.table import Table
from rich.text import Text

from wanderlust.agents.session import Session
from wanderlust.agents.settings import resolve
from wanderlust.core.errors import InvalidEnvironment
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import reachable_states
from wanderlust.environments.make import make_environment
from wanderlust.environments.model import world_from_gym
from wanderlust.learning.state import TERMINAL
from wanderlust.worlds import World, make_world, world_names
from wanderlust.worlds.base import CellKind, Layout
from wanderlust.worlds.drawing import by_cell, display_layout, logarithmic, rgb
from wanderlust.worlds.grid import MAP_SUFFIXES

EVALUATIONS = 200
"""Number of evaluations of the greedy policy during a run; the setting `evaluate_every` overrides it."""
_FRAMES_PER_SECOND, _MAX_STEPS_PER_FRAME = 12, 2_000
MIN_SPEED, MAX_SPEED = 1 / 60, float(_FRAMES_PER_SECOND * _MAX_STEPS_PER_FRAME)
"""The limits of the speed, in steps per second."""
_GAP = 3

_VISITS = ("#1b2330", "#2c5580", "#59a9c4", "#f1eecb")
_EXPLORATION = ("#271a33", "#7c2d6b", "#dd6a3f", "#fbe38e")
_UNKNOWN, _WALL, _AGENT, _REWARD, _PENALTY = "#12161d", "#565c68", "#ff3d8b", "#43d675", "#ff5d5d"
_KINDS = {
    CellKind.WALL: _WALL, CellKind.PENALTY: _PENALTY, CellKind.REWARD: _REWARD, CellKind.TREASURE: _REWARD,
}  # fmt: skip
_COLORS = {"agent": _AGENT, "reward": _REWARD, "penalty": _PENALTY, "wall": _WALL}

Pixels = NDArray[np.uint8]
"""[row, column, (red, green, blue)]"""


def make_watched_world(name: str, options: dict[str, Any]) -> World:
    """Return a built-in world, that of a map file, or that of a Gymnasium environment with a model."""
    if name in world_names() or name.endswith(MAP_SUFFIXES):
        return make_world(name, **options)
    env = make_environment(name, **options)
    try:
        return world_from_gym(env)
    except InvalidEnvironment as error:
        raise InvalidEnvironment(
            f"{error} `watch` shows built-in worlds, map files, and environments that have a model; "
            f"`wanderlust train {name} --video run.gif` records an episode in any environment."
        ) from error
    finally:
        env.close()


class Heatmap(NamedTuple):
    """A map of values as intensities."""

    heading: str
    intensity: FloatArray
    """[row, column]: from 0 to 1, NaN for cells without a value."""
    palette: tuple[str, ...]


class Snapshot(NamedTuple):
    """What a frame shows: the run at one step."""

    title: str
    state: int
    """The agent's current state."""
    maps: tuple[Heatmap, Heatmap]
    """The visits, and the values by which the explorer prefers states."""
    status: list[str]
    """Step, discovery, return and first reward, in words."""


class WatchedRun:
    """A session, and what there is to see of it."""

    def __init__(self, world: World, explorer: str, *, seed: int = 0, **changes: Any) -> None:
        settings, _ = resolve(world, explorer, "as_written", changes)
        changes.setdefault("evaluate_every", max(settings.run_length // EVALUATIONS, 1))
        self.session = Session(world, explorer, seed=seed, **changes)
        self.length = settings.run_length
        self.title = f"{world.name}, {explorer}, seed {seed}"
        self.layout = display_layout(world)
        self._n_reachable = int(reachable_states(world.mdp).sum())

    @property
    def step(self) -> int:
        """Number of steps so far."""
        return self.session.step

    def snapshot(self) -> Snapshot:
        """Return the run at the current step."""
        record, run, layout, agent = self.session.record(), self.session.run_state, self.layout, self.session.agent
        state, visitation = int(run.position.state), agent.configured_explorer.extra_tables().visitation
        values = agent.scores() if visitation is None else record.tables["visitation"]
        prefers_small = visitation is not None and visitation.minimise
        name = "largest score" if visitation is None else "smallest W" if prefers_small else "largest W"
        sign = -1.0 if prefers_small else 1.0
        best = by_cell(layout, np.where(run.state_index == TERMINAL, np.nan, (sign * values).max(axis=1)), largest=True)
        visits = by_cell(layout, record.visits.sum(axis=1).astype(np.float64), largest=False)
        discovered, reward_at = int((record.first_visit >= 0).sum()), self.session.events[0]
        evaluated = f"{record.returns[-1]:.4g} (at step {record.steps[-1]:,})" if len(record.returns) else "unknown"
        layer = layout.layer_names[layout.layer[state]]
        return Snapshot(
            title=f"{self.title} ({layer})" if layer else self.title,
            state=state,
            maps=(
                Heatmap(f"visits up to {np.nanmax(visits):,.0f}", logarithmic(visits), _VISITS),
                Heatmap(f"{name} {_range(sign * best)}", _ranks(best), _EXPLORATION),
            ),
            status=[
                f"step {self.step:,} of {self.length:,}",
                f"discovered {discovered:,} of {self._n_reachable:,} states",
                f"greedy return {evaluated}",
                f"first reward at step {reward_at:,}" if reward_at else "no positive reward yet",
            ],
        )


def _ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each value, scaled so that the largest has rank 1; ranks show order, not differences."""
    distinct = np.unique(values[~np.isnan(values)])
    return np.where(np.isnan(values), np.nan, (np.searchsorted(distinct, values) + 1) / max(len(distinct), 1))


def _range(values: FloatArray) -> str:
    known = values[~np.isnan(values)]
    return f"{known.min():.4g} to {known.max():.4g}" if len(known) else "unknown"


# --- Frames ------------------------------------------------------------------------------------------------


def draw_map(layout: Layout, state: int, heatmap: Heatmap, width: int, height: int) -> Pixels:
    """Return a map as an image of at most `width` by `height` pixels.

    A cell is as large as possible. In a map that is too large, a pixel is a square of cells: it shows the agent, else a
    reward, a wall or the cell of the largest intensity.
    """
    stops, intensity = np.array([rgb(color) for color in heatmap.palette], np.float64), heatmap.intensity
    position = np.nan_to_num(intensity) * (len(stops) - 1)
    mixed = np.stack([np.interp(position, np.arange(len(stops)), channel) for channel in stops.T], axis=-1)
    colors, priority = mixed.round().astype(np.uint8), np.nan_to_num(intensity, nan=-1.0)
    colors[np.isnan(intensity)] = rgb(_UNKNOWN)
    kinds = layout.kind[layout.layer[state]]
    for rank, (kind, color) in enumerate(_KINDS.items(), start=2):
        colors[kinds == kind], priority[kinds == kind] = rgb(color), rank
    agent = int(layout.row[state]), int(layout.column[state])
    colors[agent], priority[agent] = rgb(_AGENT), np.inf
    pooled = max(-(-layout.columns // max(width, 1)), -(-layout.rows // max(height, 1)))
    order = np.argsort(priority, axis=None)
    row, column = np.unravel_index(order, priority.shape)
    last = np.zeros((-(-layout.rows // pooled), -(-layout.columns // pooled)), np.int64)
    np.maximum.at(last, (row // pooled, column // pooled), np.arange(len(order)))
    pixels = colors.reshape(-1, 3)[order[last]]
    scale = max(min(width // last.shape[1], height // last.shape[0]), 1)
    return pixels.repeat(scale, axis=0).repeat(scale, axis=1)


def draw_frame(run: WatchedRun, size: ConsoleDimensions) -> RenderableType:
    """Return the current frame for a terminal of this size, in color."""
    snapshot = run.snapshot()
    status = textwrap.wrap("   ".join(snapshot.status), size.width)
    # Title, headings, one blank line and the colors.
    width, height = (size.width - _GAP) // 2, 2 * (size.height - 4 - len(status))
    maps = Table.grid(padding=(0, _GAP, 0, 0))
    images = [draw_map(run.layout, snapshot.state, each, width, height) for each in snapshot.maps]
    maps.add_row(*(Text(each.heading, no_wrap=True) for each in snapshot.maps))
    maps.add_row(*map(_half_blocks, images))
    colors = Text("   ", no_wrap=True).join(Text(f"■ {name}", style=color) for name, color in _COLORS.items())
    return Group(Text(snapshot.title, style="bold", no_wrap=True), maps, Text(), *map(Text, status), colors)


def _half_blocks(image: Pixels) -> Text:
    """Return an image as text, two rows of pixels in a line."""
    lines = []
    for upper in range(0, len(image), 2):
        line = Text(no_wrap=True)
        for column in image[upper : upper + 2].swapaxes(0, 1).tolist():
            above, *below = (f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in column)
            line.append("▀", Style(color=above, bgcolor=below[0] if below else None))
        lines.append(line)
    return Text("\n", no_wrap=True).join(lines)


# --- Playing a run -------------------------------------------------------------------------------------------


def show_live(run: WatchedRun, console: Console, speed: float) -> None:
    """Play a run in a terminal, at a number of steps per second, until it ends or the user stops it with Ctrl-C."""
    run.session.advance(0)
    run.snapshot()  # Both compile functions, which takes seconds; the clock starts afterwards.
    speed = min(max(speed, MIN_SPEED), MAX_SPEED)
    began = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt), Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(draw_frame(run, console.size), refresh=True)
            if run.step == run.length:
                break
            time.sleep(max(1 / _FRAMES_PER_SECOND, 1 / speed))
            due = int(speed * (time.monotonic() - began))
            run.session.advance(min(due, run.step + _MAX_STEPS_PER_FRAME, run.length))
    if run.step < run.length:
        console.print(f"stopped at step {run.step:,} of {run.length:,}", highlight=False)
