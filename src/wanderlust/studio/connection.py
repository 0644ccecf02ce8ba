"""The connection to one page: reads its messages, advances its workbench, and sends frames.

Everything of one page happens in one task, so nothing needs a lock. Computation runs in a thread pool that all pages
share, in slices of a few hundredths of a second, so that every page gets its turn and messages never wait for long.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.websockets import WebSocket, WebSocketDisconnect

from wanderlust.core.errors import InvalidSetting, WanderlustError, check_choice, check_integer, check_number
from wanderlust.studio import limits
from wanderlust.studio.frames import step_of
from wanderlust.studio.inbox import QUEUE, PageClosed, as_object, read_messages
from wanderlust.studio.lane import EVENTS
from wanderlust.studio.services import Services
from wanderlust.studio.setup import read_setup
from wanderlust.studio.workbench import Replayer, Workbench

T = TypeVar("T")
_LOG = logging.getLogger("wanderlust.studio")

SLICE = 0.03
"""Seconds of computation between two looks at the messages."""
_FRAME_SECONDS = 1 / 60
_FAST_FRAME_SECONDS = 1 / 8
"""Between frames of a run that goes as fast as possible, so that most of the time is left for it."""
_MAX_UNSEEN = 4
"""Frames on their way to the page; further ones wait until the page has shown these."""
_MAX_SPEED = 1_000_000
_MESSAGES = ("open", "play", "pause", "speed", "step", "event", "seek", "ack", "check", "export", "results")


class Connection:
    """One page and its workbench."""

    def __init__(self, socket: WebSocket, pool: ThreadPoolExecutor, services: Services) -> None:
        self._socket, self._pool, self._services = socket, pool, services
        self._messages: asyncio.Queue[Any] = asyncio.Queue(QUEUE)
        self.bench: Workbench | None = None
        self._replayer: Replayer | None = None
        self._speed = 0.0
        """Steps per second; 0 for as fast as possible."""
        self._playing = False
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
        reader = asyncio.create_task(read_messages(self._socket, self._messages))
        try:
            while True:
                await self._handle_messages(reader)
                if self.bench is not None:
                    await self._work_or_stop(self.bench)
        except (WebSocketDisconnect, PageClosed):
            pass
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, PageClosed):
                await reader
            self.bench = self._replayer = None

    async def _handle_messages(self, reader: asyncio.Task[None]) -> None:
        """Handle all messages that have come; without anything else to do, wait for one."""
        wait = self._seconds_until_work()
        with contextlib.suppress(TimeoutError):
            if wait != 0:
                message = await asyncio.wait_for(self._messages.get(), wait)
                await self._handle(message)
        while not self._messages.empty():
            await self._handle(self._messages.get_nowait())
        if reader.done():
            raise PageClosed from reader.exception()

    def _seconds_until_work(self) -> float | None:
        """Return how long nothing has to be computed; None until a message comes."""
        bench = self.bench
        if bench is None:
            return None
        if self._seek is not None or self._event is not None or bench.step < self._catch_up:
            return 0
        if not self._playing or bench.finished:
            return None
        if self._speed == 0:
            return 0
        due = self._clock + (bench.step + 1 - self._clock_step) / self._speed
        return max(due - time.monotonic(), 0)

    async def _handle(self, message: Any) -> None:
        if isinstance(message, PageClosed):
            raise message
        if isinstance(message, WanderlustError):
            await self._send_error(message)
            return
        request: Any = None
        try:
            request = as_object(json.loads(message))
            kind = check_choice("type", request.get("type"), _MESSAGES)
            await getattr(self, f"_on_{kind}")(request)
        except WanderlustError as error:
            await self._send_error(error, request)
        except (WebSocketDisconnect, PageClosed):
            raise
        except (json.JSONDecodeError, UnicodeError, RecursionError) as error:
            await self._send_error(InvalidSetting(f"a message must be JSON ({error})."), request)
        except Exception as error:
            # A message must never end the connection, whatever it contains.
            _LOG.exception("a message of a page failed")
            await self._send_error(InvalidSetting(f"the server failed ({type(error).__name__}: {error})."), request)

    async def _on_open(self, request: dict[str, Any]) -> None:
        setup = read_setup(request.get("setup"), self._services.extra_explorers)
        step = check_integer("step", request.get("step", 0), low=0, high=limits.MAX_STEPS)
        # The old lanes are freed before the new ones are made.
        self.bench = self._replayer = self._seek = self._event = None
        self._playing, self._catch_up = False, 0
        bench = await self._compute(functools.partial(Workbench, setup))
        self._replayer = Replayer(bench.world, bench.runs)
        self.bench, self._catch_up = bench, min(step, bench.length)
        self._playing = request.get("playing") is True
        self._set_speed(request)
        self._unseen = 0
        description = await self._compute(bench.description)
        await self._send({"type": "opened", "id": request.get("id"), **description})
        # A run that is repeated up to a step is shown when it is there; its first step would only flicker.
        if not self._catch_up:
            await self._show(bench)

    async def _on_play(self, request: dict[str, Any]) -> None:
        # A run that has ended meanwhile does not play: the page would wait for its next frame.
        self._playing = self.bench is None or not self.bench.finished
        self._seek = self._event = None
        self._set_speed(request)
        if self.bench is not None:
            await self._show(self.bench)

    async def _on_pause(self, request: dict[str, Any]) -> None:
        bench = self.bench
        is_busy = bench is not None and (self._event is not None or bench.step < self._catch_up)
        was_running = self._playing or is_busy
        self._playing, self._event, self._catch_up = False, None, 0
        # Without a run to pause, the page goes on showing the step that it shows, which may be an earlier one.
        if bench is not None and was_running:
            await self._show(bench)

    async def _on_speed(self, request: dict[str, Any]) -> None:
        self._set_speed(request)

    async def _on_step(self, request: dict[str, Any]) -> None:
        count = check_integer("count", request.get("count", 1), low=1, high=limits.MAX_STEPS)
        self._playing, self._seek, self._event = False, None, None
        if self.bench is not None:
            self._catch_up = min(max(self.bench.step, self._catch_up) + count, self.bench.length)
            if self.bench.finished:
                await self._show(self.bench)

    async def _on_event(self, request: dict[str, Any]) -> None:
        self._event = check_choice("event", request.get("kind", "any"), ("any", *EVENTS))
        self._playing, self._seek = False, None

    async def _on_seek(self, request: dict[str, Any]) -> None:
        self._seek = check_integer("step", request.get("step"), low=0, high=limits.MAX_STEPS)
        self._playing, self._event, self._catch_up = False, None, 0
        bench = self.bench
        frames = bench.frames_at(self._seek) if bench is not None else None
        if bench is not None and self._seek >= bench.step:
            self._seek = None
            await self._show(bench)
        elif bench is not None and frames is not None:
            exact = step_of(frames[0]) == self._seek
            if exact:
                self._seek = None
            # A step that has to be computed follows; until then the nearest one is shown.
            await self._send_frames(bench, frames, exact=exact)

    async def _on_ack(self, request: dict[str, Any]) -> None:
        # One drawing shows the latest of the frames that came since the last one.
        count = check_integer("count", request.get("count", 1), low=1, high=limits.MAX_STEPS)
        self._unseen = max(self._unseen - count, 0)

    async def _on_check(self, request: dict[str, Any]) -> None:
        await self._answer(request, self._services.check_world)

    async def _on_export(self, request: dict[str, Any]) -> None:
        await self._answer(request, self._services.export)

    async def _on_results(self, request: dict[str, Any]) -> None:
        await self._answer(request, self._services.results)

    async def _answer(self, request: dict[str, Any], service: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        answer = await self._compute(functools.partial(service, request))
        await self._send({"type": "answer", "id": request.get("id"), **answer})

    def _set_speed(self, request: dict[str, Any]) -> None:
        self._speed = check_number("speed", request.get("speed", self._speed), low=0, high=_MAX_SPEED)
        self._restart_clock()

    def _restart_clock(self) -> None:
        self._clock, self._clock_step = time.monotonic(), self.bench.step if self.bench is not None else 0

    async def _work_or_stop(self, bench: Workbench) -> None:
        try:
            await self._work(bench)
        except (WebSocketDisconnect, PageClosed):
            raise
        except Exception as error:  # User-defined explorers may raise anything.
            self.bench = None
            _LOG.exception("a lane failed")
            await self._send_error(InvalidSetting(f"the run failed ({type(error).__name__}: {error})."))

    async def _work(self, bench: Workbench) -> None:
        """Compute for one slice, then show the new step if the page has time for it."""
        if self._seek is not None:
            await self._replay(bench, self._seek)
        elif bench.step < self._catch_up:
            await self._compute(functools.partial(bench.advance, self._catch_up, SLICE))
            if bench.step >= self._catch_up:
                self._restart_clock()
                await self._show(bench)
            else:
                await self._show_if_due(bench)
        elif self._event is not None:
            found = await self._compute(functools.partial(bench.advance_to_event, self._event, SLICE))
            if found is not None or bench.finished:
                self._event = None
                text = found or "The budget is used up; no such event happened."
                await self._send({"type": "found", "text": text})
                await self._show(bench)
            else:
                await self._show_if_due(bench)
        elif self._playing and not bench.finished:
            await self._play(bench)

    async def _play(self, bench: Workbench) -> None:
        started, target = time.monotonic(), bench.length
        if self._speed:
            target = self._clock_step + int((time.monotonic() - self._clock) * self._speed + 1e-6)
        if target > bench.step:
            await self._compute(functools.partial(bench.advance, target, SLICE))
            if self._speed and bench.step < target:
                self._restart_clock()  # Slower than asked for: do not try to make up for it.
            if bench.finished:
                self._playing = False
                await self._show(bench)
            else:
                await self._show_if_due(bench)
        # More than 60 frames per second are of no use, and a few steps at a time cost more than many at once.
        if self._speed >= 1 / _FRAME_SECONDS:
            await asyncio.sleep(max(_FRAME_SECONDS - (time.monotonic() - started), 0))

    async def _replay(self, bench: Workbench, step: int) -> None:
        assert self._replayer is not None
        frames = await self._compute(functools.partial(self._replayer.frames_at, min(step, bench.step), SLICE))
        if frames is not None:
            self._seek = None
            await self._send_frames(bench, frames, exact=True)

    async def _show_if_due(self, bench: Workbench) -> None:
        is_fast = self._speed == 0 or bench.step < self._catch_up
        distance = _FAST_FRAME_SECONDS if is_fast else _FRAME_SECONDS
        if self._unseen < _MAX_UNSEEN and time.monotonic() - self._last_frame >= distance:
            await self._show(bench)

    async def _show(self, bench: Workbench) -> None:
        # Before the work, whose time is part of the distance to the next frame.
        self._last_frame = time.monotonic()
        await self._send_frames(bench, await self._compute(bench.frames), exact=True)

    async def _send_frames(self, bench: Workbench, frames: list[bytes], *, exact: bool) -> None:
        for frame in frames:
            await self._socket.send_bytes(frame)
        self._unseen += 1
        news = await self._compute(bench.news)
        busy = self._event is not None or bench.step < self._catch_up
        state = {"type": "state", "shown": step_of(frames[0]), "exact": exact, "playing": self._playing, "busy": busy}
        await self._send(state | news)

    async def _compute(self, function: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function)

    async def _send(self, message: dict[str, Any]) -> None:
        await self._socket.send_text(json.dumps(message, separators=(",", ":"), allow_nan=False))

    async def _send_error(self, error: WanderlustError, request: Any = None) -> None:
        about = request if isinstance(request, dict) else {}
        kind, number = about.get("type"), about.get("id")
        await self._send({
            "type": "error",
            "message": str(error),
            "about": kind if isinstance(kind, str) and len(kind) < 20 else None,
            "id": number if isinstance(number, int) else None,
        })  # fmt: skip
