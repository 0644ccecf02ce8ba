"""The connection to one page: reads its messages, advances its workbench, and sends frames.

Everything of one page happens in one task, so nothing needs a lock. Computation runs in a thread pool that all pages
share, in slices of a few hundredths of a second, so that every page gets its turn and messages never wait for long.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from wanderlust.core.errors import InvalidSetting, WanderlustError
from wanderlust.core.schema import invalid
from wanderlust.studio import limits
from wanderlust.studio.catalogue import checked_world, describe_world
from wanderlust.studio.frames import step_of
from wanderlust.studio.lesson import Lesson, page_catalogue
from wanderlust.studio.results import browse
from wanderlust.studio.setup import (
    MESSAGES,
    About,
    Ack,
    Check,
    Event,
    Export,
    LaneSetup,
    Message,
    Open,
    Pause,
    Play,
    Results,
    Seek,
    Setup,
    Speed,
    Step,
    checked_setup,
)
from wanderlust.studio.workbench import Workbench

T = TypeVar("T")
_LOG = logging.getLogger("wanderlust.studio")

SLICE = 0.03
"""Seconds of computation before messages are handled again."""
QUEUE = 64
"""Messages that wait; reading stops while there are more."""
_FRAME_SECONDS = 1 / 60
_FAST_FRAME_SECONDS = 1 / 8
"""Between frames of a run that goes as fast as possible, so that most of the time is left for it."""
_MAX_UNSEEN = 4
"""Frames on their way to the page; further ones wait until the page has shown these."""


@dataclass(frozen=True)
class Services:
    """What all pages of a server share; paths come from the command line, never from a page."""

    store: Path | None = None
    """The folder of results to browse."""
    extra_explorers: tuple[str, ...] = ()
    """`module:Class` names that the user gave on the command line."""
    opening: dict[str, Any] = field(default_factory=dict)
    """The setup that a new page opens."""
    lessons: Mapping[str, Lesson] = field(default_factory=dict)
    lesson: str | None = None
    """The lesson that a new page opens with it."""

    def catalogue(self) -> dict[str, Any]:
        """Return what a page needs at its start."""
        return {
            **page_catalogue(self.lessons, self.lesson, self.extra_explorers),
            "opening": self.opening,
            "store": None if self.store is None else self.store.name or str(self.store),
        }


def answer(request: Check | Export | Results, services: Services) -> dict[str, Any]:
    """Return the answer to a message that needs no lanes, or raise an error that the page shows."""
    if isinstance(request, Check):
        setup = checked_setup(Setup(request.world, (LaneSetup("random"),), request.world_options))
        world, warnings = checked_world(setup)
        return {"world": describe_world(world), "warnings": warnings}
    if isinstance(request, Export):
        from wanderlust.studio.export import export_page

        setup = checked_setup(request.setup, services.extra_explorers)
        return {"html": export_page(setup), "name": f"{setup.world}.html"}
    if services.store is None:
        raise InvalidSetting("no results were given; start the studio as `wanderlust studio results/`.")
    return browse(services.store, request)


class Connection:
    """One page and its workbench."""

    def __init__(self, socket: WebSocket, pool: ThreadPoolExecutor, services: Services) -> None:
        self._socket, self._pool, self._services = socket, pool, services
        self._messages: asyncio.Queue[str | WebSocketDisconnect | None] = asyncio.Queue(QUEUE)
        self.bench: Workbench | None = None
        self._replay_bench: Workbench | None = None
        """The same lanes at an earlier step, executed again."""
        self._speed = 0.0
        """Steps per second; 0 for as fast as possible."""
        self._playing = False
        self._until = 0
        """Pause at this step."""
        self._catch_up = 0
        """Run to this step as fast as possible, then go on as told."""
        self._event: str | None = None
        """The kind of event that is being looked for."""
        self._seek: int | None = None
        """An earlier step that the page asked for."""
        self._clock, self._clock_step = 0.0, 0
        """When and at which step the present speed began."""
        self._unseen = 0
        self._last_frame = 0.0

    async def run(self) -> None:
        """Serve the page until it is closed."""
        reader = asyncio.create_task(self._read_messages())
        wait: float | None = None
        try:
            while True:
                await self._handle_messages(wait)
                try:
                    wait = await self._work()
                except WebSocketDisconnect:
                    raise
                except Exception as error:  # User-defined explorers may raise anything.
                    self.bench = wait = None
                    _LOG.exception("a lane failed")
                    await self._send_error(InvalidSetting(f"the run failed ({type(error).__name__}: {error})."))
        except WebSocketDisconnect:
            pass
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect):
                await reader
            self.bench = self._replay_bench = None

    # --- Messages ---------------------------------------------------------------------------------------------

    async def _read_messages(self) -> None:
        """Put the text of every message into the queue, None if it has none or is too long; wait while it is full."""
        while (message := await self._socket.receive())["type"] != "websocket.disconnect":
            text = message.get("text")
            await self._messages.put(text if text is not None and len(text) <= limits.MAX_MESSAGE else None)
        await self._messages.put(WebSocketDisconnect())

    async def _handle_messages(self, wait: float | None) -> None:
        """Handle all messages that have come; first wait for one for some seconds, None for as long as it takes."""
        with contextlib.suppress(TimeoutError):
            if wait != 0:
                await self._handle(await asyncio.wait_for(self._messages.get(), wait))
        while not self._messages.empty():
            await self._handle(self._messages.get_nowait())

    def _is_busy(self, bench: Workbench) -> bool:
        return self._event is not None or bench.step < self._catch_up

    async def _handle(self, message: str | WebSocketDisconnect | None) -> None:
        if isinstance(message, WebSocketDisconnect):
            raise message
        if message is None:
            size = f"{limits.MAX_MESSAGE:,} characters"
            await self._send_error(InvalidSetting(f"a message must be text of at most {size}."))
            return
        try:
            request = MESSAGES.decode(message)
            if isinstance(request, Check | Export | Results):
                values = await self._compute(answer, request, self._services)
                await self._send({"type": "answer", "id": request.id, **values})
            elif isinstance(request, Open):
                await self._open(request)
            elif self.bench is not None:
                await self._change(request, self.bench)
        except WebSocketDisconnect:
            raise
        except WanderlustError as error:
            await self._send_error(error, message)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            await self._send_error(invalid("a message", error), message)
        except Exception as error:
            # A message must never end the connection, whatever it contains.
            _LOG.exception("a message of a page failed")
            await self._send_error(InvalidSetting(f"the server failed ({type(error).__name__}: {error})."), message)

    async def _open(self, request: Open) -> None:
        setup = checked_setup(request.setup, self._services.extra_explorers)
        # The old lanes are freed before the new ones are made.
        self.bench = self._replay_bench = self._seek = self._event = None
        self._playing, self._catch_up = False, 0
        bench = await self._compute(Workbench, setup)
        self.bench, self._catch_up = bench, min(request.step, bench.length)
        self._playing, self._until, self._unseen = request.playing, bench.length, 0
        self._set_speed(bench, request.speed)
        description = await self._compute(bench.description)
        await self._send({"type": "opened", "id": request.id, **description})
        # A run that is repeated up to a step is shown when it is there; its first step would only flicker.
        if not self._catch_up:
            await self._show(bench)

    async def _change(self, request: Message, bench: Workbench) -> None:
        """Change what is computed next, and how fast."""
        match request:
            case Ack():
                # One drawing shows the latest of the frames that came since the last one.
                self._unseen = max(self._unseen - request.count, 0)
            case Speed():
                self._set_speed(bench, request.speed)
            case Play():
                # A run that has ended meanwhile does not play: the page would wait for its next frame.
                self._until = bench.length if request.until is None else min(request.until, bench.length)
                self._playing = bench.step < self._until
                self._seek = self._event = None
                self._set_speed(bench, request.speed)
                await self._show(bench)
            case Pause():
                was_running = self._playing or self._is_busy(bench)
                self._playing, self._event, self._catch_up = False, None, 0
                # Without a run to pause, the page goes on showing the step that it shows, which may be an earlier one.
                if was_running:
                    await self._show(bench)
            case Step():
                self._playing, self._seek, self._event = False, None, None
                self._catch_up = min(max(bench.step, self._catch_up) + request.count, bench.length)
                if bench.finished:
                    await self._show(bench)
            case Event():
                self._event, self._playing, self._seek = request.kind, False, None
            case Seek():
                self._playing, self._event, self._catch_up = False, None, 0
                await self._look_back(bench, request.step)

    async def _look_back(self, bench: Workbench, step: int) -> None:
        """Show an earlier step, if the history has it; otherwise the nearest one before it until it is computed."""
        self._seek = None
        if step >= bench.step:
            await self._show(bench)
            return
        frames = bench.history.at(step)
        self._seek = step if frames is None or step_of(frames[0]) != step else None
        if frames is not None:
            await self._send_frames(bench, frames)

    def _set_speed(self, bench: Workbench, speed: float | None) -> None:
        self._speed = self._speed if speed is None else speed
        self._restart_clock(bench)

    def _restart_clock(self, bench: Workbench) -> None:
        self._clock, self._clock_step = time.monotonic(), bench.step

    # --- Work -------------------------------------------------------------------------------------------------

    async def _work(self) -> float | None:
        """Compute for one slice, then show the new step if the page has time for it.

        Return after how many seconds there is more to compute; None if there is nothing until a message comes.
        """
        if (bench := self.bench) is None:
            return None
        if self._seek is not None:
            await self._replay(bench, self._seek)
        elif bench.step < self._catch_up:
            await self._compute(bench.advance, self._catch_up, SLICE)
            is_there = bench.step >= self._catch_up
            if is_there:
                self._restart_clock(bench)
            await self._show(bench, only_if_due=not is_there)
        elif self._event is not None:
            found = await self._compute(bench.advance_to_event, self._event, SLICE)
            is_over = found is not None or bench.finished
            if is_over:
                self._event = None
                text = found or "The budget is used up; no such event happened."
                await self._send({"type": "found", "text": text})
            await self._show(bench, only_if_due=not is_over)
        else:
            return await self._play(bench) if self._playing and not bench.finished else None
        return 0

    async def _play(self, bench: Workbench) -> float | None:
        """Compute for one slice, up to the step that is due; return as `_work`."""
        started, target = time.monotonic(), self._until
        if self._speed:
            target = min(self._clock_step + int((time.monotonic() - self._clock) * self._speed + 1e-6), target)
        if target > bench.step:
            await self._compute(bench.advance, target, SLICE)
            if self._speed and bench.step < target:
                self._restart_clock(bench)  # Slower than asked for: do not try to make up for it.
            self._playing = bench.step < self._until
            await self._show(bench, only_if_due=self._playing)
        if not self._playing:
            return None
        if self._speed == 0:
            return 0
        due = self._clock + (bench.step + 1 - self._clock_step) / self._speed
        if self._speed >= 1 / _FRAME_SECONDS:
            # More than 60 frames per second are of no use, and a few steps at a time cost more than many at once.
            due = max(due, started + _FRAME_SECONDS)
        return max(due - time.monotonic(), 0)

    async def _replay(self, bench: Workbench, step: int) -> None:
        """Execute the same lanes again up to an earlier step, and show it."""
        again = self._replay_bench
        if again is None or again.step > step:
            again = self._replay_bench = await self._compute(Workbench, bench.setup)
        await self._compute(again.advance, step, SLICE)
        if again.step == step:
            self._seek = None
            await self._send_frames(bench, await self._compute(again.frames))

    async def _compute(self, function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function, *arguments)

    # --- Answers ----------------------------------------------------------------------------------------------

    async def _show(self, bench: Workbench, *, only_if_due: bool = False) -> None:
        """Send the frames of the present step; `only_if_due` not while the page has enough of them."""
        is_fast = self._speed == 0 or bench.step < self._catch_up
        due = self._last_frame + (_FAST_FRAME_SECONDS if is_fast else _FRAME_SECONDS)
        if only_if_due and (self._unseen >= _MAX_UNSEEN or time.monotonic() < due):
            return
        # Before the work, whose time is part of the distance to the next frame.
        self._last_frame = time.monotonic()
        await self._send_frames(bench, await self._compute(bench.frames))

    async def _send_frames(self, bench: Workbench, frames: list[bytes]) -> None:
        for frame in frames:
            await self._socket.send_bytes(frame)
        self._unseen += 1
        news = await self._compute(bench.news)
        state = {"type": "state", "shown": step_of(frames[0]), "playing": self._playing, "busy": self._is_busy(bench)}
        await self._send(state | news)

    async def _send(self, message: dict[str, Any]) -> None:
        await self._socket.send_text(json.dumps(message, separators=(",", ":"), allow_nan=False))

    async def _send_error(self, error: WanderlustError, message: str = "") -> None:
        """Tell the page what is wrong, and with which of its messages."""
        about = About()
        with contextlib.suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
            about = msgspec.json.decode(message, type=About)
        await self._send({"type": "error", "message": str(error), "about": about.type, "id": about.id})
