"""The web server of the studio: the page's files, and a WebSocket for each page.

It answers only requests whose Host and Origin are its own, so that neither another web site nor a name that was pointed
at this machine can talk to it. It also needs the token from its URL, since other users of this machine reach the
loopback, too. The first visit stores the token as a cookie and leaves it out of the address, so that no copied link
contains it.
"""

from __future__ import annotations

import asyncio
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
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from wanderlust.core.errors import InvalidSetting
from wanderlust.studio import limits
from wanderlust.studio.connection import Connection, Services

STATIC = Path(__file__).parent / "static"
EVERY_ADDRESS = ("", "0.0.0.0", "::")
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
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    """Needed in the URL of the first visit, and then as a cookie."""
    patience: float = limits.PATIENCE
    """Seconds after which a connection is closed that sends no whole request, or does not answer a ping."""
    pages: set[Connection] = field(default_factory=set)

    @property
    def url(self) -> str:
        """The address to open in a browser."""
        host = own_address() if self.host in EVERY_ADDRESS else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie; servers on other ports of the same host have their own."""
        return f"wanderlust-studio-{self.port}"

    def allows(self, connection: HTTPConnection) -> str | None:
        """Return why a request is refused, or None."""
        host = connection.headers.get("host", "")
        name = host.rpartition(":")[0] if host.endswith(f":{self.port}") else host
        if is_loopback(self.host) and name not in (*LOOPBACK_NAMES, self.host):
            return "This server answers only to its own address."
        origin = connection.headers.get("origin")
        needs_origin = connection.scope["type"] == "websocket"
        if (origin is not None or needs_origin) and origin != f"http://{host}":
            return "This server answers only its own pages."
        # The page's files are the same everywhere, and no secret.
        is_file = str(connection.scope["path"]).startswith("/static/")
        given = (connection.query_params.get("token", ""), connection.cookies.get(self.cookie, ""))
        # Compared in constant time.
        known = [secrets.compare_digest(each.encode("utf-8", "replace"), self.token.encode()) for each in given]
        if not is_file and not any(known):
            return "The token in the address is missing or wrong; use the address that the command printed."
        return None


def is_loopback(host: str) -> bool:
    """Return whether an address can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own_address() -> str:
    """Return an address at which this machine can be reached, for a server that listens on all of them."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # A documentation address: nothing is sent, only a route is looked up.
        return str(probe.getsockname()[0])
    return "127.0.0.1"


def make_app(studio: Studio) -> ASGIApp:
    """Return the application of a studio."""
    pool = ThreadPoolExecutor(max(os.cpu_count() or 1, 2), thread_name_prefix="studio")

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        pool.shutdown(wait=False, cancel_futures=True)

    async def page(request: Request) -> Response:
        if "token" in request.query_params:
            visit = RedirectResponse("/", status_code=303)
            visit.set_cookie(studio.cookie, studio.token, httponly=True, samesite="lax")
            return visit
        text = (STATIC / "index.html").read_text(encoding="utf-8")
        return Response(text, media_type="text/html")

    async def catalogue(request: Request) -> Response:
        return JSONResponse(studio.services.catalogue())

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
            # Cancelled if the server is stopped while it compiles.
            with contextlib.suppress(asyncio.CancelledError):
                await connection.run()
        finally:
            studio.pages.discard(connection)

    routes = [
        Route("/", page),
        Route("/catalogue.json", catalogue),
        WebSocketRoute("/socket", connect),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return guarded(Starlette(routes=routes, lifespan=lifespan), studio)


def guarded(app: ASGIApp, studio: Studio) -> ASGIApp:
    """Return an application that refuses foreign requests, and adds the security headers to every response."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None if scope["type"] == "lifespan" else studio.allows(HTTPConnection(scope))
        if refusal is not None and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": refusal[:120]})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        allowed = app if refusal is None else PlainTextResponse(refusal, status_code=403)
        await allowed(scope, receive, send_with_headers)

    return answer


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
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        """Closes a connection that has not sent a whole request for some time."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.loop.call_later(studio.patience, self._close_if_silent, None)

        def _close_if_silent(self, last: Any) -> None:
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return  # Closed already, or the WebSocket of a page, which has pings of its own.
            if self.cycle is last and (last is None or last.response_complete):
                self.transport.close()
            else:
                self.loop.call_later(studio.patience, self._close_if_silent, self.cycle)

    config = uvicorn.Config(
        make_app(studio),
        http=Impatient,
        log_level="error",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=limits.MAX_TRANSPORT_MESSAGE,
        ws_per_message_deflate=False,
        ws_ping_interval=studio.patience,
        ws_ping_timeout=studio.patience,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)
