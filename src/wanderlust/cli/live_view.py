"""The player of `watch`: a run, its frames, and playing it in a terminal.

A frame has a map of the visits, a map of the exploration values, and the status of the run. A cell of a map has two
characters, which get darker with its value; the first one is `@` for the agent, or the letter of what is in the cell.
"""

from __future__ import annotations

import contextlib
import textwrap
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, ConsoleDimensions
from rich.live import Live
from rich.text import Text

from wanderlust.agents.session import Session
from wanderlust.agents.settings import resolve
from wanderlust.core.errors import InvalidEnvironment
from wanderlust.core.mdp import FloatArray
from wanderlust.core.planning import reachable_states
from wanderlust.environments.model import world_from_gym
from wanderlust.learning.state import TERMINAL
from wanderlust.worlds import World, make_world, world_names
from wanderlust.worlds.drawing import AGENT, by_cell, describe_layer, display_layout, logarithmic, shaded
from wanderlust.worlds.grid import MAP_SUFFIXES

EVALUATIONS = 200
"""Number of evaluations of the greedy policy during a run; the setting `evaluate_every` overrides it."""
_FRAMES_PER_SECOND, _MAX_STEPS_PER_FRAME = 12, 2_000
_GAP = "   "
_SHADED = ".S"
"""Letters of cells that show nothing but their value."""


def make_watched_world(name: str, options: dict[str, Any]) -> World:
    """Return a built-in world, that of a map file, or that of a Gymnasium environment with a model."""
    if name in world_names() or name.endswith(MAP_SUFFIXES):
        return make_world(name, **options)
    try:
        return world_from_gym(name, **options)
    except InvalidEnvironment as error:
        raise InvalidEnvironment(
            f"{error} `watch` shows built-in worlds, map files, and environments that have a model; "
            f"`wanderlust train {name} --video run.gif` records an episode in any environment."
        ) from error


class Snapshot(NamedTuple):
    """What a frame shows: the run at one step."""

    title: str
    state: int
    """The agent's current state."""
    maps: dict[str, FloatArray]
    """Heading -> intensity [row, column] from 0 to 1, NaN for cells without a value: the visits, and the values by
    which the explorer prefers states."""
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
            maps={
                f"visits up to {np.nanmax(visits):,.0f}": logarithmic(visits),
                f"{name} {_range(sign * best)}": _ranks(best),
            },
            status=[
                f"step {self.session.step:,} of {self.length:,}",
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


def draw_frame(run: WatchedRun, size: ConsoleDimensions) -> str:
    """Return the current frame for a terminal of this size; of a larger map, the part around the agent."""
    snapshot, layout = run.snapshot(), run.layout
    status = textwrap.wrap(_GAP.join(snapshot.status), size.width)
    width, height = (size.width - len(_GAP)) // 2, size.height - 2 - len(status)
    row, column = int(layout.row[snapshot.state]), int(layout.column[snapshot.state])
    rows, columns = _part(layout.rows, row, height), _part(layout.columns, column, width // 2)
    letters = describe_layer(layout, int(layout.layer[snapshot.state])).letter
    letters[row, column] = AGENT
    maps = [
        [heading, *_draw(letters[rows, columns], intensity[rows, columns])]
        for heading, intensity in snapshot.maps.items()
    ]
    lines = [_GAP.join(part[:width].ljust(width) for part in parts) for parts in zip(*maps, strict=True)]
    return "\n".join([snapshot.title[: size.width], *lines, *status][: size.height])


def _part(length: int, center: int, shown: int) -> slice:
    """Return the part of a row or column of cells that is shown, with the agent in the middle if possible."""
    shown = max(shown, 1)
    first = max(min(center - shown // 2, length - shown), 0)
    return slice(first, first + shown)


def _draw(letters: NDArray[np.str_], intensity: FloatArray) -> list[str]:
    """Return the lines of a map."""
    lines = []
    for names, shades in zip(letters, shaded(intensity, width=1), strict=True):
        cells = [(shade if name in _SHADED else name) + shade for name, shade in zip(names, shades, strict=True)]
        lines.append("".join(cells))
    return lines


# --- Playing a run -------------------------------------------------------------------------------------------


def show_live(run: WatchedRun, console: Console, speed: float) -> None:
    """Play a run in a terminal, at a number of steps per second, until it ends or the user stops it with Ctrl-C."""
    run.session.advance(0)
    run.snapshot()  # Both compile functions, which takes seconds; the clock starts afterwards.
    began = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt), Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(Text(draw_frame(run, console.size), no_wrap=True), refresh=True)
            if run.session.step == run.length:
                break
            time.sleep(1 / _FRAMES_PER_SECOND)
            due = min(speed * (time.monotonic() - began), run.session.step + _MAX_STEPS_PER_FRAME, run.length)
            run.session.advance(int(due))
    if run.session.step < run.length:
        console.print(f"stopped at step {run.session.step:,} of {run.length:,}", highlight=False)
