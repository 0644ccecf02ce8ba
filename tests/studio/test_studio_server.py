"""The studio's server: who may talk to it, what it survives, and that pages share it."""

from __future__ import annotations

import gc
import http.client
import itertools
import json
import random
import socket
import string
import weakref
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import settings
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from process_server import wait_until
from studio_server import ONE_LANE, RunningStudio, running_studio
from wanderlust.core.errors import InvalidSetting
from wanderlust.studio import limits
from wanderlust.studio.frames import step_of
from wanderlust.studio.server import listen

pytestmark = pytest.mark.slow

FUZZ_MESSAGES = 200 * settings().max_examples


@pytest.fixture(scope="module")
def server() -> Iterator[RunningStudio]:
    with running_studio() as running:
        yield running


class Page:
    """A client that speaks like the page."""

    def __init__(self, server: RunningStudio) -> None:
        self._connected = ExitStack()
        self.socket: ClientConnection = self._connected.enter_context(
            connect(server.socket_url, origin=server.origin, max_size=None, compression=None,  # type: ignore[arg-type]
                    additional_headers=server.cookie)
        )  # fmt: skip
        self.frames: list[bytes] = []

    def send(self, type_: str, **fields: Any) -> None:
        self.socket.send(json.dumps({"type": type_, **fields}))

    def receive(self, *kinds: str) -> dict[str, Any]:
        """Return the next message of a kind; frames on the way are kept."""
        while True:
            message = self.socket.recv(timeout=60)
            if isinstance(message, bytes):
                self.frames.append(message)
                continue
            parsed: dict[str, Any] = json.loads(message)
            if parsed["type"] == "state":
                self.send("ack")
            if parsed["type"] in kinds:
                return parsed

    def open(self, setup: dict[str, Any] = ONE_LANE, **fields: Any) -> dict[str, Any]:
        self.send("open", id=1, setup=setup, **fields)
        return self.receive("opened", "error")

    def state_at(self, step: int) -> dict[str, Any]:
        while (state := self.receive("state"))["shown"] != step:
            pass
        return state

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self._connected.close()


def get(server: RunningStudio, path: str = "/", **headers: str) -> tuple[int, str, dict[str, str]]:
    headers = server.cookie | headers
    connection = http.client.HTTPConnection("127.0.0.1", server.studio.port, timeout=30)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text, {name.lower(): value for name, value in response.getheaders()}


# ---------------------------------------------------------------------- who may talk to it


def test_only_the_files_of_the_page_are_served_with_strict_headers(server: RunningStudio) -> None:
    outside = ("/nothing", "/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd")
    for path in ("/", "/static/main.js", "/catalogue.json", *outside):
        status, _, headers = get(server, path)
        assert status == (404 if path in outside else 200)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_another_host_is_refused(server: RunningStudio) -> None:
    """A name that an attacker points at this machine (DNS rebinding) is not ours."""
    for host in ("evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", ""):
        status, text, _ = get(server, Host=host.format(port=server.studio.port))
        assert status in (400, 403), host
        assert "wanderlust" not in text


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1", None]
)
def test_a_page_of_another_site_cannot_connect(server: RunningStudio, origin: str | None) -> None:
    given = origin.format(port=server.studio.port) if origin else None
    for each, cookie in ((given, server.cookie), (server.origin, {})):  # The second has no token.
        with (
            pytest.raises(InvalidStatus, match="403"),
            connect(server.socket_url, origin=each, additional_headers=cookie),  # type: ignore[arg-type]
        ):
            pass
    if given:
        assert get(server, "/catalogue.json", Origin=given)[0] == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "", "0.0.0.0", "::1", "::"])
def test_every_address_needs_the_token_and_the_printed_one_works(host: str) -> None:
    with running_studio(host=host) as server:
        token = server.studio.token
        assert len(token) >= 32
        printed = urlsplit(server.url)
        connection = http.client.HTTPConnection(str(printed.hostname), printed.port or 0, timeout=30)

        def answer(path: str, **headers: str) -> tuple[http.client.HTTPResponse, str]:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response, response.read().decode()

        for path in ("/", "/?token=wrong", "/?token=", "/catalogue.json", "/?token=%ff"):
            refused, text = answer(path)
            assert refused.status == 403
            assert token not in text
        first, _ = answer(f"/?{printed.query}")
        assert (first.status, first.headers["Location"]) == (303, "/"), "the address is left without the token"
        assert first.headers["Referrer-Policy"] == "no-referrer"
        cookie = first.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=lax" in cookie.lower()
        second, text = answer("/catalogue.json", Cookie=cookie.split(";")[0])
        assert second.status == 200
        assert token not in text
        connection.close()


def test_an_address_that_is_not_of_this_machine_is_refused() -> None:
    for host in ("nowhere.invalid", "192.0.2.1", "300.1.1.1", "fe80::1", "127.0.0.1:80"):
        with pytest.raises(InvalidSetting, match=f"--host {host}"):
            listen(host, 0)


def test_the_token_is_in_no_export_link_or_log(server: RunningStudio, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with Page(server) as page:
        opened = page.open()
        page.send("export", id=2, setup=ONE_LANE)
        exported = page.receive("answer", "error")
    assert exported["html"].startswith("<!doctype html>")
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("websockets.client")]
    for text in (json.dumps(opened), exported["html"], *logged, get(server)[1]):
        assert server.studio.token not in text


HANDSHAKE = (
    "GET /socket HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nCookie: {cookie}\r\n"
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
    "Sec-WebSocket-Version: 13\r\n"
)


def test_a_half_open_connection_is_closed() -> None:
    """One that sends nothing, half a request, half a handshake, or no answer to pings."""
    with running_studio(patience=0.2) as server:
        port, cookie = server.studio.port, server.cookie["Cookie"]
        for sent, is_answered in (("", False), ("GET / HTTP/1.1\r\nHost: ", False), (HANDSHAKE, False),
                                  (f"{HANDSHAKE}\r\n", True)):  # fmt: skip
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                connection.sendall(sent.format(port=port, cookie=cookie).encode())
                received = b"".join(iter(lambda: connection.recv(1000), b""))
            assert received.startswith(b"HTTP/1.1 101") if is_answered else not received, sent
        wait_until(lambda: not server.studio.pages)


def test_numbers_and_texts_at_the_edge_are_answered(server: RunningStudio, caplog: pytest.LogCaptureFixture) -> None:
    kappas = itertools.product(("ucb1", "vv-ucb"), (5e-324, 1e300))
    lanes = [{"explorer": name, "options": {"kappa": kappa}} for name, kappa in kappas]
    frames = {
        '{"type": "seek", "id": 5, "step": ' + "9" * 5000 + "}": "step",
        '{"type": "check", "id": 5, "world": "\\ud800"}': "a message",
        **{json.dumps({"type": "open", "id": 5, "setup": {"world": "toy", "lanes": [lane]}}): "" for lane in lanes},
    }
    with Page(server) as page:
        for frame, answered in frames.items():
            page.socket.send(frame)
            message = page.receive("error", "opened").get("message", "")
            assert answered in message
            assert "server failed" not in message
            page.send("step", count=5)
        assert page.open()["type"] == "opened", "the connection stays"
    assert [record.message for record in caplog.records] == []


# ---------------------------------------------------------------------- the life of a page


def test_a_page_runs_pauses_steps_and_looks_back(server: RunningStudio) -> None:
    with Page(server) as page:
        assert page.open()["length"] == 1000
        assert page.receive("state")["shown"] == 0
        page.send("step", count=5)
        assert page.state_at(5)["step"] == 5
        page.send("event", kind="reward")
        assert "reward 4.99 (5 and -0.01 of the step) found at (5, 5)" in page.receive("found")["text"]
        found = page.receive("state")["step"]
        page.send("play", speed=0)
        page.state_at(1000)
        page.send("seek", step=found)
        state = page.state_at(found)
        assert state["step"] == 1000
        assert step_of(page.frames[-1]) == found


def test_a_page_opens_again_where_it_was_and_its_speed_is_kept(server: RunningStudio) -> None:
    with Page(server) as page, Page(server) as again:
        page.open()
        page.send("step", count=321)
        page.state_at(321)
        again.open(step=321)
        again.state_at(321)
        assert again.frames[-1] == page.frames[-1]
        page.open(playing=True, speed=1)
        state = page.receive("state")
        assert state["playing"]
        assert state["step"] <= 2, "one step per second is slow"
        page.send("speed", speed=0)
        page.state_at(1000)


def test_an_invalid_world_says_why_and_where(server: RunningStudio) -> None:
    invalid = {"S.\n.x": "line 2, column 2", "..\n..": "no start", "S#\n##": "no action", "S" + "." * 200: "100 rows"}
    with Page(server) as page:
        for text, words in invalid.items():
            world = {"world": "x", "world_options": {"map": text}}
            page.send("check", id=7, **world)
            error = page.receive("error", "answer")
            assert words in error["message"]
            assert error["id"] == 7
            assert words in page.open({**ONE_LANE, **world})["message"]
        assert "opened" in page.open()["type"], "the page goes on"
        # A treasure that cannot be reached is only a warning.
        page.send("check", id=1, world="x", world_options={"map": "S.#A\n\nA = treasure 1"})
        assert "cannot be reached" in page.receive("answer")["warnings"][0]


# ---------------------------------------------------------------------- limits


def test_a_long_message_is_an_error(server: RunningStudio) -> None:
    with Page(server) as page:
        page.socket.send("x" * (limits.MAX_MESSAGE + 1))
        assert "at most" in page.receive("error")["message"]
        page.socket.send(b"binary")
        assert "text" in page.receive("error")["message"]
        assert page.open()["type"] == "opened"
    with Page(server) as page:
        page.socket.send("x" * (limits.MAX_TRANSPORT_MESSAGE + 1))
        with pytest.raises(ConnectionClosed):
            page.receive("nothing")
    with Page(server) as page:
        assert page.open()["type"] == "opened"


def test_more_pages_than_allowed_are_refused(server: RunningStudio, monkeypatch: pytest.MonkeyPatch) -> None:
    wait_until(lambda: not server.studio.pages)
    monkeypatch.setattr(limits, "MAX_PAGES", 2)
    with Page(server) as first, Page(server):
        assert first.open()["type"] == "opened"
        with Page(server) as third:
            assert "maximum" in third.receive("error")["message"]


def test_a_closed_page_frees_its_runs(server: RunningStudio) -> None:
    wait_until(lambda: not server.studio.pages)
    with Page(server) as page:
        page.open({**ONE_LANE, "world": "wall"}, playing=True, speed=0)
        page.receive("state")
        (connection,) = server.studio.pages
        assert connection.bench is not None
        lane = weakref.ref(connection.bench.lanes[0])
        del connection
    wait_until(lambda: not server.studio.pages, seconds=5)
    wait_until(lambda: gc.collect() is not None and lane() is None, seconds=5)


def test_twelve_clients_all_progress(server: RunningStudio) -> None:
    with ExitStack() as opened:
        pages = [opened.enter_context(Page(server)) for _ in range(12)]
        for seed, page in enumerate(pages):
            setup = {"world": "wall", "seed": seed, "settings": {"budget": 20_000}, "lanes": [{"explorer": "vv-ucb"}]}
            page.send("open", id=1, setup=setup, playing=True, speed=0)
        reached = [0] * len(pages)
        while min(reached) < 300:
            for i, page in enumerate(pages):
                reached[i] = page.receive("state")["step"]
        histories = [page.bench.history for page in server.studio.pages if page.bench]
        assert len(histories) == 12
        assert all(history.size <= limits.HISTORY_BYTES for history in histories)
    wait_until(lambda: not server.studio.pages, seconds=5)


# ---------------------------------------------------------------------- hostile messages


VALID: list[dict[str, Any]] = [
    {"type": "open", "setup": {**ONE_LANE, "settings": {"budget": 50}, "world_options": {}}, "step": 3, "speed": 9},
    {"type": "open", "setup": {"world": "x", "world_options": {"map": "S.A\n\nA = treasure 1"}, "lanes": [
        {"explorer": "ucb1", "options": {"kappa": 0.1}, "settings": {"replay": {"memory": "window", "batch": 2}}}]}},
    {"type": "check", "world": "toy", "world_options": {"step_penalty": 0}},
    {"type": "results", "group": 0, "collection": 0},
    *({"type": name, "id": 3, "speed": 1, "count": 1, "kind": "any", "step": 2}
      for name in ("play", "pause", "step", "event", "seek", "speed", "ack", "closed", "__init__")),
]  # fmt: skip
HOSTILE = [
    None, True, 0, -1, 2**31, 2**63, 10**400, -0.0, 1e308, 5e-324, "", "\ud800", "\x00</script>", "../../x",
    "os:system", "map.txt", "__class__", "S.#PA=; \t\nS", [], [[]], {}, {"x": 1}, ONE_LANE, "9" * 5000,
]  # fmt: skip


def changed(value: Any, draw: random.Random) -> Any:
    """Return a valid value with one part of it replaced by a hostile one, or with another name."""
    if not isinstance(value, dict | list) or not value or draw.random() < 0.1:
        return draw.choice(HOSTILE)
    if isinstance(value, list):
        return [changed(value[0], draw), *value[1:]]
    name = draw.choice(list(value))
    return {**value, draw.choice([name, name, name, "kappa", "map"]): changed(value[name], draw)}


def hostile_message(draw: random.Random) -> str | bytes:
    """Return a message near a valid one, a text near JSON, or any bytes."""
    text = json.dumps(changed(draw.choice(VALID), draw))
    at = draw.randrange(len(text))
    damaged = text[:at] + draw.choice(string.printable) + text[at + 1 :]
    return draw.choice([*[text] * 20, damaged, text[:at], "[" * 3000, draw.randbytes(60)])


@pytest.mark.fuzz
def test_hostile_messages_leave_the_server_running(server: RunningStudio, caplog: pytest.LogCaptureFixture) -> None:
    draw, sent = random.Random(5), 0
    while sent < FUZZ_MESSAGES:
        with Page(server) as page:
            for _ in range(250):
                page.socket.send(hostile_message(draw))
                sent += 1
            page.send("check", id=424242, world="toy")
            while page.receive("answer", "error").get("id") != 424242:
                pass
    with Page(server) as page:
        assert page.open()["type"] == "opened"
    assert [record.message for record in caplog.records] == [], "no message reached code that was not written for it"
