"""The live view of `watch`: a run with snapshots, its frames, and playing it in a terminal.

A frame has a map of the visits, a map of the exploration values, and the status of the run. In a terminal, cells have
several characters if they fit, otherwise they are half blocks of one or more cells.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from rich.color import Color
from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.style import Style
from rich.table import Table
from rich.text import Text

from wanderlust.agents.session import Record, Session
from wanderlust.agents.settings import resolve
from wanderlust.core.errors import InvalidEnvironment
from wanderlust.core.files import cannot_write
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import reachable_states
from wanderlust.environments.make import make_environment
from wanderlust.environments.model import world_from_gym
from wanderlust.learning.state import TERMINAL
from wanderlust.worlds import World, make_world, world_names
from wanderlust.worlds.base import CellKind, Layout
from wanderlust.worlds.drawing import (
    AGENT,
    by_cell,
    describe_layer,
    display_layout,
    is_dark,
    logarithmic,
    rgb,
    shaded,
    text_map,
)
from wanderlust.worlds.grid import MAP_SUFFIXES
from wanderlust.worlds.raster import Renderer

# --- The run -----------------------------------------------------------------------------------------------

EVALUATIONS = 200
"""Number of evaluations of the greedy policy during a run; the setting `evaluate_every` overrides it."""


@dataclass(frozen=True)
class Snapshot:
    """The run at one step."""

    state: int
    """The agent's current state."""
    visits: NDArray[np.int64]
    """[state]: visit counts."""
    exploration_values: FloatArray
    """[state]: the value by which the explorer prefers states; NaN for undiscovered states."""
    status: list[str]
    """Step, episode, discovery, return and first reward, in words."""


class WatchedRun:
    """A session that advances one step at a time, and counts episodes."""

    def __init__(self, world: World, explorer: str, *, seed: int = 0, **changes: Any) -> None:
        settings, _ = resolve(world, explorer, "as_written", changes)
        changes.setdefault("evaluate_every", max(settings.run_length // EVALUATIONS, 1))
        self.session = Session(world, explorer, seed=seed, **changes)
        self.world = world
        self.length = settings.run_length
        self.episode = 1
        visitation = self.session.agent.configured_explorer.extra_tables().visitation
        self.minimises = visitation is not None and visitation.minimise
        """Whether the explorer prefers small exploration values."""
        self.value_name = "largest score" if visitation is None else "smallest W" if self.minimises else "largest W"
        self._n_reachable = int(reachable_states(world.mdp).sum())

    @property
    def step(self) -> int:
        """Number of steps so far."""
        return self.session.step

    @property
    def finished(self) -> bool:
        """Whether all steps have been run."""
        return self.step >= self.length

    def prepare(self) -> None:
        """Reset the environment and compile all functions, so that the first frames are not delayed."""
        self.session.advance(0)
        self.snapshot()

    def advance_to(self, step: int) -> None:
        """Run up to a step."""
        while self.step < step:
            if self.step and self.session.run_state.position.episode_step == 0:
                self.episode += 1
            self.session.advance(self.step + 1)

    def snapshot(self) -> Snapshot:
        """Return the run at the current step."""
        record, run = self.session.record(), self.session.run_state
        values = record.tables["visitation"] if "visitation" in record.tables else self.session.agent.scores()
        best = values.min(axis=1) if self.minimises else values.max(axis=1)
        return Snapshot(
            state=int(run.position.state),
            visits=record.visits.sum(axis=1),
            exploration_values=np.where(run.state_index == TERMINAL, np.nan, best),
            status=self._status(record),
        )

    def _status(self, record: Record) -> list[str]:
        discovered, first_reward = int((record.first_visit >= 0).sum()), self.session.events[0]
        has_return = len(record.returns) > 0
        evaluated = f"{record.returns[-1]:.4g} (at step {record.steps[-1]:,})" if has_return else "not evaluated"
        return [
            f"step {self.step:,} of {self.length:,}",
            f"episode {self.episode:,}",
            f"discovered {discovered:,} of {self._n_reachable:,} states, {100 * discovered / self._n_reachable:.1f} %",
            f"greedy return {evaluated}",
            f"first reward at step {first_reward:,}" if first_reward else "no positive reward yet",
        ]


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


# --- Frames ------------------------------------------------------------------------------------------------

Colors = NDArray[np.uint8]
"""[row, column, (red, green, blue)]"""

MAX_SCALE = 3
"""Maximum number of lines per cell."""

VISITS = ("#1b2330", "#2c5580", "#59a9c4", "#f1eecb")
EXPLORATION = ("#271a33", "#7c2d6b", "#dd6a3f", "#fbe38e")
_UNKNOWN = "#12161d"
_WALL = "#565c68"
_AGENT = "#ff3d8b"
_AGENT_STYLE = Style(color="white", bgcolor=_AGENT, bold=True)
_KIND_COLORS = {CellKind.TREASURE: "#43d675", CellKind.REWARD: "#43d675", CellKind.PENALTY: "#ff5d5d"}
_GAP = 3
_NO_BREAK = "\u00a0"
_OTHER_LINES = 3
"""Title, headings and one blank line."""
FRAMES = 100
_FRAME_MS, _LAST_FRAME_MS = 80, 2_000
_PANEL = 320
"""The largest width and height of a map, in pixels."""
_MARGIN, _LINE, _FONT = 16, 18, 13
_TEXT, _BACKGROUND = "#2b2f38", "#ffffff"


class Heatmap(NamedTuple):
    """A map of values as intensities."""

    heading: str
    intensity: FloatArray
    """[row, column]: from 0 to 1, NaN for cells without a value."""
    palette: tuple[str, ...]


class FrameRenderer:
    """Renders the frames of one run."""

    def __init__(self, run: WatchedRun, title: str) -> None:
        self.run = run
        self.title = title
        self.layout = display_layout(run.world)

    def frame(
        self, size: ConsoleDimensions, snapshot: Snapshot | None = None, more_status: Sequence[str] = ()
    ) -> RenderableType:
        """Return a frame, by default the current one, in color, with cells as large as the terminal allows."""
        layout = self.layout
        snapshot = self.run.snapshot() if snapshot is None else snapshot
        status, legend = _wrap([*snapshot.status, *more_status], size.width), _wrap(self._legend(snapshot), size.width)
        height = size.height - _OTHER_LINES - len(status) - len(legend)
        beside = fit_size(layout.rows, layout.columns, (size.width - _GAP) // 2, height)
        stacked = fit_size(layout.rows, layout.columns, size.width, (height - 1) // 2)
        is_beside = beside.lines_per_cell >= stacked.lines_per_cell
        cell_size = beside if is_beside else stacked
        maps = []
        for heatmap in self.heatmaps(snapshot):
            drawn = draw_map(layout, snapshot.state, self.colors(heatmap, snapshot), cell_size)
            maps.append(Text("\n", no_wrap=True).join([Text(heatmap.heading), *drawn]))
        panels = Table.grid(padding=(0, _GAP, 0, 0))
        for row in [maps] if is_beside else [[each] for each in maps]:
            panels.add_row(*row)
        # Half blocks show no letters, so they need no legend.
        below = [*legend, *status] if cell_size.scale else status
        return Group(Text(self.heading(snapshot), style="bold", no_wrap=True), panels, Text(), *map(Text, below))

    def plain_text(self) -> str:
        """Return the current frame as text without colors."""
        snapshot = self.run.snapshot()
        visits, values = self.heatmaps(snapshot)
        letters = text_map(self.layout, snapshot.state).splitlines()[: self.layout.rows]
        columns = letters, shaded(visits.intensity, width=1), shaded(values.intensity, width=1)
        return "\n".join(
            [
                self.heading(snapshot),
                f"map, {visits.heading}, {values.heading}:",
                *("  |  ".join(row) for row in zip(*columns, strict=True)),
                ", ".join(self._legend(snapshot)),
                *snapshot.status,
                "",
            ]
        )

    def heading(self, snapshot: Snapshot) -> str:
        """Return the title, with the name of the agent's layer if it has one."""
        layer = self.layout.layer_names[self.layout.layer[snapshot.state]]
        return f"{self.title} ({layer})" if layer else self.title

    def _legend(self, snapshot: Snapshot) -> list[str]:
        meanings = describe_layer(self.layout, int(self.layout.layer[snapshot.state])).meanings
        return [f"{letter} {meaning}" for letter, meaning in meanings.items()]

    def heatmaps(self, snapshot: Snapshot) -> tuple[Heatmap, Heatmap]:
        """Return the map of the visits and that of the exploration values."""
        visits = by_cell(self.layout, snapshot.visits.astype(np.float64), largest=False)
        sign = -1.0 if self.run.minimises else 1.0
        values = by_cell(self.layout, sign * snapshot.exploration_values, largest=True)
        return (
            Heatmap(f"visits up to {np.nanmax(visits):,.0f}", logarithmic(visits), VISITS),
            Heatmap(f"{self.run.value_name} {_range(sign * values)}", _ranks(values), EXPLORATION),
        )

    def colors(self, heatmap: Heatmap, snapshot: Snapshot) -> Colors:
        """Return the color of each cell of a map."""
        is_wall = self.layout.kind[self.layout.layer[snapshot.state]] == CellKind.WALL
        return cell_colors(heatmap.intensity, is_wall, heatmap.palette)


def _wrap(phrases: list[str], width: int) -> list[str]:
    """Return lines with as many phrases as fit; no phrase is broken."""
    text = "   ".join(phrase.replace(" ", _NO_BREAK) for phrase in phrases)
    return [line.replace(_NO_BREAK, " ") for line in textwrap.wrap(text, width, break_on_hyphens=False)]


def _ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each value, scaled so that the largest has rank 1; ranks show order, not differences."""
    distinct = np.unique(values[~np.isnan(values)])
    return np.where(np.isnan(values), np.nan, (np.searchsorted(distinct, values) + 1) / max(len(distinct), 1))


def _range(values: FloatArray) -> str:
    known = values[~np.isnan(values)]
    if not len(known):
        return "unknown"
    low, high = f"{known.min():.4g}", f"{known.max():.4g}"
    return low if low == high else f"{low} to {high}"


# --- Maps in a terminal -------------------------------------------------------------------------------


class CellSize(NamedTuple):
    """The size of cells: `scale` lines each; if that is 0, half a line for each square of `pooled` x `pooled` cells."""

    scale: int
    pooled: int

    @property
    def lines_per_cell(self) -> float:
        """The height of one cell."""
        return float(self.scale) if self.scale else 0.5 / self.pooled


def fit_size(rows: int, columns: int, width: int, height: int) -> CellSize:
    """Return the largest cell size at which a map fits into `width` characters and `height` lines."""
    for scale in range(MAX_SCALE, 0, -1):
        if 2 * scale * columns <= width and scale * rows <= height:
            return CellSize(scale, 1)
    # A line of half blocks shows two rows.
    return CellSize(0, max(-(-columns // max(width, 1)), -(-rows // max(2 * height, 1)), 1))


def cell_colors(intensity: NDArray[np.float64], is_wall: NDArray[np.bool_], palette: Sequence[str]) -> Colors:
    """Return the color of each cell, interpolated from the first color at intensity 0 to the last at 1."""
    stops = np.array([rgb(color) for color in palette], dtype=np.float64)
    known = ~np.isnan(intensity)
    position = np.where(known, intensity, 0.0).clip(0, 1) * (len(palette) - 1)
    mixed = np.stack([np.interp(position, np.arange(len(palette)), channel) for channel in stops.T], axis=-1)
    mixed[~known] = rgb(_UNKNOWN)
    mixed[is_wall] = rgb(_WALL)
    return mixed.round().astype(np.uint8)


def draw_map(layout: Layout, state: int, colors: Colors, size: CellSize) -> list[Text]:
    """Return the lines of a map: colored cells with their contents and the agent."""
    draw = _draw_cells if size.scale else _draw_half_blocks
    return draw(layout, state, colors, size.scale or size.pooled)


def _draw_cells(layout: Layout, state: int, colors: Colors, scale: int) -> list[Text]:
    """Return cells of 2 `scale` characters by `scale` lines, each with its letter in the middle."""
    layer, agent = int(layout.layer[state]), (int(layout.row[state]), int(layout.column[state]))
    drawn = describe_layer(layout, layer).letter
    drawn[np.isin(layout.kind[layer], (CellKind.FLOOR, CellKind.WALL))] = " "
    drawn[agent] = AGENT
    lines = []
    for row in range(layout.rows):
        styles = [Style(color="white" if is_dark(color) else "black", bgcolor=_color(color), bold=True)
                  for color in colors[row]]  # fmt: skip
        if row == agent[0]:
            styles[agent[1]] = _AGENT_STYLE
        for line in range(scale):
            letters = drawn[row] if line == scale // 2 else [" "] * layout.columns
            cells = [(str(letter).center(2 * scale), style) for letter, style in zip(letters, styles, strict=True)]
            lines.append(Text.assemble(*cells, no_wrap=True))
    return lines


def _color(color: NDArray[np.uint8]) -> Color:
    return Color.from_rgb(*map(int, color))


def _draw_half_blocks(layout: Layout, state: int, colors: Colors, pooled: int) -> list[Text]:
    """Return half blocks; a block of several cells shows the agent, else a reward, a wall or the brightest cell."""
    marked = colors.copy()
    priority = colors.astype(np.int64).sum(axis=2)
    kinds = layout.kind[int(layout.layer[state])]
    priority[kinds == CellKind.WALL] = 900
    for kind, color in _KIND_COLORS.items():
        marked[kinds == kind] = rgb(color)
        priority[kinds == kind] = 1_000
    agent = int(layout.row[state]), int(layout.column[state])
    marked[agent], priority[agent] = rgb(_AGENT), 2_000
    blocks = _pool(marked, priority, pooled)
    lines = []
    for upper in range(0, len(blocks), 2):
        text = Text(no_wrap=True)
        for above, *below in zip(*blocks[upper : upper + 2], strict=True):
            text.append("▀", Style(color=_color(above), bgcolor=_color(below[0]) if below else None))
        lines.append(text)
    return lines


def _pool(colors: Colors, priority: NDArray[np.int64], pooled: int) -> Colors:
    """Return one cell for each square of `pooled` x `pooled` cells: the one with the highest priority."""
    padding = [(0, -length % pooled) for length in priority.shape]
    rows, columns = (-(-length // pooled) for length in priority.shape)

    def squares(cells: NDArray[Any], fill: int) -> NDArray[Any]:
        """Return [row, column, cell of the square]."""
        padded = np.pad(cells, padding, constant_values=fill).reshape(rows, pooled, columns, pooled)
        return padded.transpose(0, 2, 1, 3).reshape(rows, columns, -1)

    best = squares(priority, -1).argmax(axis=2)[..., None]
    return np.concatenate([np.take_along_axis(squares(part, 0), best, 2) for part in np.moveaxis(colors, 2, 0)], axis=2)


# --- Animated GIF --------------------------------------------------------------------------------------


def write_gif(run: WatchedRun, renderer: FrameRenderer, path: Path) -> int:
    """Run to the end and write frames at regular steps; return their number."""
    maps = Renderer(renderer.layout, _PANEL)
    frames = [_image(renderer, maps, run.snapshot())]
    n_frames = min(FRAMES, run.length)
    for i in range(1, n_frames + 1):
        run.advance_to(run.length * i // n_frames)
        frames.append(_image(renderer, maps, run.snapshot()))
    durations = [_FRAME_MS] * (len(frames) - 1) + [_LAST_FRAME_MS]
    try:
        frames[0].save(path, format="GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0)
    except OSError as error:
        raise cannot_write(path, error) from error
    return len(frames)


def _image(renderer: FrameRenderer, maps: Renderer, snapshot: Snapshot) -> Image.Image:
    """Return one frame: a title, two maps with headings, and the status."""
    layout, cell = renderer.layout, maps.cell
    width, height = max(layout.columns * cell, _PANEL * 3 // 4), layout.rows * cell
    status = [", ".join(snapshot.status[:3]), ", ".join(snapshot.status[3:])]
    image = Image.new("RGB", (2 * width + 3 * _MARGIN, height + (3 + len(status)) * _LINE + _MARGIN), _BACKGROUND)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(_FONT)
    draw.text((_MARGIN, _LINE // 2), renderer.heading(snapshot), fill=_TEXT, font=font)
    for i, heatmap in enumerate(renderer.heatmaps(snapshot)):
        left, top = _MARGIN + i * (width + _MARGIN), 2 * _LINE + _LINE // 2
        draw.text((left, top - _LINE), heatmap.heading, fill=_TEXT, font=font)
        image.paste(maps.grid(snapshot.state, renderer.colors(heatmap, snapshot), lines=False), (left, top))
    for i, line in enumerate(status):
        draw.text((_MARGIN, 2 * _LINE + height + _MARGIN + i * _LINE), line, fill=_TEXT, font=font)
    return image


# --- Playing a run: its speed, pauses, single steps, earlier frames, and the keys that control it -----------

KEYS = ("space pause", "→ step", "← back", "+ - speed", "q quit")
"""What the keys do, in words."""
_FRAMES_PER_SECOND = 12
MAX_PAUSE = 60
"""The maximum number of seconds between frames."""
_MAX_SECONDS_PER_FRAME = 0.5
_MAX_HISTORY, _HISTORY_BYTES = 5_000, 64_000_000
"""The maximum number of frames that are kept, and their total size."""
_BYTES_PER_STATE = 16
_MIN_SPEED, _MAX_SPEED = 0.01, 1e6
"""The speeds that keys reach, in steps per second."""
ReadKeys = Callable[[float], list[str]]
"""Waits up to a number of seconds; returns the keys pressed."""

LEFT, RIGHT = "left", "right"
_SEQUENCES = {"\x1b[C": RIGHT, "\x1b[D": LEFT, "\x1bOC": RIGHT, "\x1bOD": LEFT}


class Player:
    """Plays a run at a number of steps per second, and keeps its latest frames."""

    def __init__(self, run: WatchedRun, speed: float) -> None:
        self.run = run
        self.speed = speed
        self.paused = False
        self.stopped = False
        """Whether the user has stopped the run."""
        length = min(_HISTORY_BYTES // (_BYTES_PER_STATE * run.world.n_states), _MAX_HISTORY)
        self._history = deque([run.snapshot()], maxlen=max(length, 2))
        self._shown = -1
        """The index of the frame shown, counted from the end."""
        self._due = 0.0
        """The number of steps that should have been run by now, and were not."""

    @property
    def snapshot(self) -> Snapshot:
        """The frame to show."""
        return self._history[self._shown]

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to play."""
        return self.stopped or (self.run.finished and self._shown == -1 and not self.paused)

    def press(self, key: str) -> None:
        """Do what a key asks for."""
        if key == "q":
            self.stopped = True
        elif key == " ":
            self.paused = not self.paused
        elif key in (RIGHT, "n"):
            self.paused = True
            self._forward(1)
        elif key in (LEFT, "b"):
            self.paused = True
            self._shown = max(self._shown - 1, -len(self._history))
        elif key in ("+", "-"):
            self.speed = min(max(self.speed * (2.0 if key == "+" else 0.5), _MIN_SPEED), _MAX_SPEED)

    def play(self, seconds: float) -> None:
        """Go on for a time that has passed: the frames already run one by one, then the run."""
        if self.paused:
            return
        self._due = min(self._due + self.speed * seconds, float(self.run.length))
        n_steps = int(self._due)
        self._due -= n_steps
        if self._shown < -1 or n_steps:
            self._forward(n_steps)

    def _forward(self, n_steps: int) -> None:
        if self._shown < -1:
            self._shown += 1
            return
        until, deadline = min(self.run.step + n_steps, self.run.length), time.monotonic() + _MAX_SECONDS_PER_FRAME
        while self.run.step < until and time.monotonic() < deadline:
            self.run.advance_to(self.run.step + 1)
        self._history.append(self.run.snapshot())


@contextlib.contextmanager
def key_reader() -> Iterator[ReadKeys | None]:
    """Let keys be read one by one inside the context; yield None if the input is not a terminal."""
    try:
        import termios
        import tty

        descriptor = sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)
    except Exception:  # Windows, or an input that is closed or no terminal; termios.error is no OSError.
        yield None
        return
    try:
        tty.setcbreak(descriptor)
        yield lambda seconds: _read(descriptor, seconds)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _read(descriptor: int, seconds: float) -> list[str]:
    ready, _, _ = select.select([descriptor], [], [], max(seconds, 0.0))
    if not ready:
        return []
    data = os.read(descriptor, 64)
    if not data:  # The terminal was closed.
        time.sleep(max(seconds, 0.0))
    return split_keys(data.decode(errors="ignore"))


def split_keys(text: str) -> list[str]:
    """Return the keys in a text that a terminal sent; an arrow key is a sequence of three characters."""
    keys = []
    while text:
        length = 3 if text[:3] in _SEQUENCES else 1
        keys.append(_SEQUENCES.get(text[:length], text[0]))
        text = text[length:]
    return keys


def show_live(run: WatchedRun, renderer: FrameRenderer, console: Console, speed: float) -> None:
    """Play a run in a terminal, at a number of steps per second, until it ends or the user stops it."""
    player = Player(run, speed)
    with (
        contextlib.suppress(KeyboardInterrupt),
        key_reader() as read,
        Live(console=console, auto_refresh=False) as live,
    ):
        before = time.monotonic()
        while True:
            more = [] if read is None else [*(["paused"] if player.paused else []), *KEYS]
            live.update(renderer.frame(console.size, player.snapshot, more), refresh=True)
            if player.is_over:
                break
            pause = max(1 / _FRAMES_PER_SECOND, min(1 / player.speed, MAX_PAUSE))
            if read is None:
                time.sleep(pause)
            else:
                for key in read(pause):
                    player.press(key)
            now = time.monotonic()
            player.play(now - before)
            before = now
    if not run.finished:
        console.print(f"stopped at step {run.step:,} of {run.length:,}", highlight=False)
