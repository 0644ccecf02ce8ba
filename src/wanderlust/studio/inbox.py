"""Reading the messages of a page; those that are too long or too many are answered with an error instead."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from starlette.websockets import WebSocket

from wanderlust.core.errors import InvalidSetting
from wanderlust.studio import limits

QUEUE = 64
"""Messages that wait; reading stops while there are more."""


class PageClosed(Exception):
    """The page was closed."""


async def read_messages(socket: WebSocket, messages: asyncio.Queue[Any]) -> None:
    """Put every message into the queue as text or as the error that it deserves; at the end, `PageClosed`."""
    started, count = time.monotonic(), 0
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            await messages.put(PageClosed())
            return
        text = message.get("text")
        now = time.monotonic()
        if now - started >= 1:
            started, count = now, 0
        count += 1
        if count > limits.MESSAGES_PER_SECOND:
            if count == limits.MESSAGES_PER_SECOND + 1:
                await messages.put(InvalidSetting("too many messages in one second: some were ignored."))
        elif text is None or len(text) > limits.MAX_MESSAGE:
            size = f"{limits.MAX_MESSAGE:,} characters"
            await messages.put(InvalidSetting(f"a message must be text of at most {size}."))
        else:
            await messages.put(text)


def as_object(value: Any) -> dict[str, Any]:
    """Return a message that is a JSON object, or raise `InvalidSetting`."""
    if not isinstance(value, dict):
        raise InvalidSetting("a message must be a JSON object.")
    return value
