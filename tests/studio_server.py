"""A studio server in a thread, for the tests of the studio."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from process_server import wait_until
from wanderlust.studio.connection import Services
from wanderlust.studio.lesson import Lesson
from wanderlust.studio.server import Studio, listen, make_server
from wanderlust.studio.setup import read_setup

ONE_LANE = {"world": "prison", "seed": 1, "lanes": [{"explorer": "vv-ucb"}]}


class RunningStudio:
    """A server that can be stopped and started again on the same port."""

    def __init__(
        self,
        opening: dict[str, Any] = ONE_LANE,
        store: Path | None = None,
        lessons: Mapping[str, Lesson] | None = None,
        lesson: str | None = None,
        **settings: Any,
    ) -> None:
        setup = read_setup(opening).description
        self.studio = Studio(Services(opening=setup, store=store, lessons=lessons or {}, lesson=lesson), **settings)
        self.start()

    def start(self) -> None:
        listener = listen(self.studio.host, self.studio.port)
        self.studio.port = listener.getsockname()[1]
        self._server = make_server(self.studio)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listener]}, daemon=True)
        self._thread.start()
        wait_until(lambda: self._server.started)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=20)
        assert not self._thread.is_alive()

    @property
    def url(self) -> str:
        return self.studio.url

    @property
    def cookie(self) -> dict[str, str]:
        """The header of a page that has been visited with the token."""
        return {"Cookie": f"{self.studio.cookie}={self.studio.token}"}

    @property
    def socket_url(self) -> str:
        return f"ws://127.0.0.1:{self.studio.port}/socket"

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.studio.port}"


@contextmanager
def running_studio(**settings: Any) -> Iterator[RunningStudio]:
    server = RunningStudio(**settings)
    try:
        yield server
    finally:
        server.stop()
