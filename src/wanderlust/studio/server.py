"""The web server of the studio: the page's files, and a WebSocket for each page.

It answers only requests whose Host and Origin are its own, so that neither another web site nor a name that was pointed
at this machine can talk to it. On any other address than the loopback it also needs the token from its URL.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import secrets
import socket
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from wanderlust.core.errors import InvalidSetting
from wanderlust.studio import limits
from wanderlust.studio.connection import Connection, Services

STATIC = Path(__file__).parent / "static"
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass
class Studio:
    """A server's configuration and its open pages."""

    services: Services
    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = None
    """Needed in the URL unless the host is the loopback."""
    pages: set[Connection] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            self.token = secrets.token_urlsafe(24)

    @property
    def url(self) -> str:
        """The address to open in a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")

    def allows(self, connection: HTTPConnection) -> str | None:
        """Return why a request is refused, or None."""
        host = connection.headers.get("host", "")
        name = host.rpartition(":")[0] if host.endswith(f":{self.port}") else host
        if self.token is None and name not in LOOPBACK_NAMES:
            return "This server answers only to its own address."
        origin = connection.headers.get("origin")
        needs_origin = connection.scope["type"] == "websocket"
        if (origin is not None or needs_origin) and origin != f"http://{host}":
            return "This server answers only its own pages."
        given = connection.query_params.get("token", "")
        if self.token is not None and not self._is_file(connection) and not _equal(given, self.token):
            return "The token in the address is missing or wrong; use the address that the command printed."
        return None

    @staticmethod
    def _is_file(connection: HTTPConnection) -> bool:
        """Return whether one of the page's files is asked for: they are the same everywhere, and no secret."""
        return str(connection.scope["path"]).startswith("/static/")


def is_loopback(host: str) -> bool:
    """Return whether an address can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _equal(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())


def make_app(studio: Studio) -> ASGIApp:
    """Return the application of a studio."""
    pool = ThreadPoolExecutor(max(os.cpu_count() or 1, 2), thread_name_prefix="studio")

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        pool.shutdown(wait=False, cancel_futures=True)

    async def page(request: Request) -> Response:
        text = (STATIC / "index.html").read_text(encoding="utf-8")
        return Response(text, media_type="text/html")

    async def catalogue(request: Request) -> Response:
        return _json(studio.services.catalogue())

    async def connect(websocket: WebSocket) -> None:
        await websocket.accept()
        if len(studio.pages) >= limits.MAX_PAGES:
            text = f"{limits.MAX_PAGES} pages are open, which is the maximum; close one of them and reload this page."
            await websocket.send_text(json.dumps({"type": "error", "message": text, "about": "connect", "id": None}))
            await websocket.close(code=1013)
            return
        connection = Connection(websocket, pool, studio.services)
        studio.pages.add(connection)
        try:
            await connection.run()
        finally:
            studio.pages.discard(connection)

    routes = [
        Route("/", page),
        Route("/catalogue.json", catalogue),
        WebSocketRoute("/socket", connect),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return _Guard(Starlette(routes=routes, lifespan=lifespan), studio)


def _json(value: Any) -> Response:
    return Response(json.dumps(value), media_type="application/json")


class _Guard:
    """Refuses requests that are not the studio's own, and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, studio: Studio) -> None:
        self._app, self._studio = app, studio

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._studio.allows(HTTPConnection(scope))
        if refusal is not None and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[:120]})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        answer: ASGIApp = self._app if refusal is None else PlainTextResponse(refusal, status_code=403)
        await answer(scope, receive, send_with_headers)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the address; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise InvalidSetting(f"--host {host} --port {port}: cannot listen there ({reason}).") from None
    return listener


def make_server(studio: Studio) -> Any:
    """Return a uvicorn server for a studio; `run(sockets=[listen(...)])` starts it."""
    import uvicorn

    config = uvicorn.Config(
        make_app(studio),
        log_level="error",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=limits.MAX_TRANSPORT_MESSAGE,
        ws_per_message_deflate=False,
        ws_ping_interval=20.0,
        ws_ping_timeout=20.0,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)
