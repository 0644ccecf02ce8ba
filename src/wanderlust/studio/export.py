"""Export of a run as one HTML file that plays without a server: the page's own code, and the recorded frames."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wanderlust.studio.frames import HEADER
from wanderlust.studio.lesson import Lesson, page_catalogue
from wanderlust.studio.setup import Setup
from wanderlust.studio.workbench import Workbench

STATIC = Path(__file__).parent / "static"
PLOTS = "vendor/uplot/uPlot"
MAX_FRAMES = 9_000_000
"""The maximum size of the frames in characters."""
_MAX_RAW = 60_000_000
"""Bytes of uncompressed frames, which the browser holds in memory."""
_MAX_MOMENTS = 1001
_KEPT_BITS = np.uint32(0xFFFFFC00)
"""Of a float32: sign, exponent and 13 bits of the fraction, about four digits."""
_ROUNDING = np.uint32(0x200)


def export_page(setup: Setup, lesson: Lesson | None = None) -> str:
    """Execute the runs of a setup; return the HTML file that shows them, with the captions of a lesson about it."""
    bench = Workbench(setup)
    recording = record(bench, lesson)
    names = ", ".join(run.explorer for run in bench.runs)
    return page_of(f"{setup.world}: {names} | wanderlust studio", recording)


def page_of(title: str, embedded: dict[str, Any]) -> str:
    """Return the page as one HTML file with the data that it shows."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    body = page.partition("<!-- body -->")[2].partition("<!-- end of body -->")[0]
    style = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in (f"{PLOTS}.min.css", "studio.css"))
    plots, script = (STATIC / f"{PLOTS}.iife.min.js").read_text(encoding="utf-8"), bundle()
    scripts = f"{_source(plots)} {_source(script)}"
    policy = f"default-src 'none'; script-src {scripts}; style-src {_source(style)}; img-src data: blob:"
    # Inside a script element, no text of a map may look like markup.
    data = json.dumps(embedded, allow_nan=False).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n"
        f"<style>{style}</style>\n</head>\n<body>{body}"
        f'<script type="application/json" id="embedded">{data}</script>\n'
        f'<script>{plots}</script>\n<script type="module">{script}</script>\n</body>\n</html>\n'
    )


def record(bench: Workbench, lesson: Lesson | None = None) -> dict[str, Any]:
    """Run all lanes to the end; return what the page needs, with as many moments as fit."""
    size = len(bench.lanes[0].encoded(padded=True)) * len(bench.lanes)
    most = max(min(_MAX_RAW // size, _MAX_MOMENTS), 2)
    stops = set() if lesson is None else {min(stop.step, bench.length) for stop in lesson.stops}
    frames: dict[int, list[bytes]] = {}
    for step in sorted({*moments(bench.length, most), *stops}):
        for lane in bench.lanes:
            lane.advance(step)
        frames[step] = [lane.encoded(padded=True) for lane in bench.lanes]
    packed = [pack(lane) for lane in zip(*frames.values(), strict=True)]
    while sum(map(len, packed)) > MAX_FRAMES and len(frames) > 2:
        steps = list(frames)
        frames = {step: frames[step] for step in steps if step in {*steps[::2], steps[-1], *stops}}
        packed = [pack(lane) for lane in zip(*frames.values(), strict=True)]
    return {
        **bench.description(),
        "catalogue": page_catalogue({"recorded": lesson}, "recorded") if lesson else page_catalogue({}, None),
        "steps": list(frames),
        "news": bench.news()["lanes"],
        "frames": packed,
        "frameBytes": [len(frame) for frame in frames[0]],
    }


def moments(length: int, most: int) -> list[int]:
    """Return the recorded steps, from 0 to the end: all if they fit, otherwise denser at the beginning."""
    if length < most:
        return list(range(length + 1))
    shares = np.linspace(0.0, 1.0, most) ** 1.5
    steps: list[int] = np.unique(np.round(shares * length).astype(np.int64)).tolist()
    return steps


def pack(frames: Sequence[bytes]) -> str:
    """Return frames of one size, compressed, as base64.

    Each frame is stored as its difference from the one before (XOR), the first bytes of all numbers before their second
    bytes and so on: equal and similar numbers become runs of zeros.
    """
    size = -len(frames[0]) % 4 + len(frames[0])
    together = b"".join(frame.ljust(size, b"\0") for frame in frames)
    words = np.frombuffer(together, np.uint32).reshape(len(frames), -1).copy()
    _round_floats(words, frames[0])
    words[1:] ^= words[:-1].copy()
    planes = words.view(np.uint8).reshape(len(frames), -1, 4).transpose(2, 0, 1)
    return base64.b64encode(zlib.compress(np.ascontiguousarray(planes).tobytes(), 6)).decode()


def _round_floats(words: NDArray[np.uint32], frame: bytes) -> None:
    """Round the float tables, which follow the visits, to about four digits."""
    _, flags, *_, n_states, n_actions = HEADER.unpack_from(frame)
    pairs = n_states * n_actions
    first = HEADER.size // 4 + pairs
    part = words[:, first : first + (2 + flags.bit_count()) * pairs]
    part += _ROUNDING
    part &= _KEPT_BITS


def bundle() -> str:
    """Return all modules of the page as one: browsers do not load modules from files.

    Each module is a text whose imports are single lines, and whose top-level names are unique among all modules.
    """
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        text = (STATIC / name).read_text(encoding="utf-8")
        done[name] = ""  # Placed here if modules import each other.
        for imported in re.findall(r'^import .* from "\./([\w-]+\.js)";$', text, flags=re.M):
            add(imported)
        text = re.sub(r"^import .*;\n", "", text, flags=re.M)
        del done[name]
        done[name] = re.sub(r"^export ", "", text, flags=re.M)

    add("main.js")
    return "\n".join(done.values())


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
