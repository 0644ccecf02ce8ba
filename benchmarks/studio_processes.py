"""The processes that benchmarks/studio.py measures: a studio server, and the browser that shows it. Needs Linux."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LANES = ("epsilon-greedy", "ucb1", "vv-ucb")
PROC = Path("/proc")


def setup_of(world: str, **settings: Any) -> dict[str, Any]:
    """Return the setup with three lanes."""
    plain: dict[str, Any] = {"world": world, "seed": 1, "lanes": [{"explorer": name} for name in LANES]}
    return plain | ({"settings": settings} if settings else {})


@contextlib.contextmanager
def running_server() -> Iterator[tuple[int, str]]:
    """Start `wanderlust studio` as a process of its own; yield its process number and its address."""
    command = [sys.executable, "-m", "wanderlust", "studio", "prison", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().partition(": ")[2].strip()
        try:
            yield process.pid, address
        finally:
            process.terminate()


@contextlib.contextmanager
def running_browser() -> Iterator[Any]:
    """Start a Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def opened(browser: Any, address: str, setup: dict[str, Any]) -> Any:
    """Return a page that shows a setup at step 0."""
    text = base64.urlsafe_b64encode(json.dumps({"setup": setup}).encode()).decode()
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(f"{address}#s={text.rstrip('=')}")
    while not page.evaluate("Boolean(globalThis.studio?.framesDrawn && studio.frames.length)"):
        time.sleep(0.05)
    return page


def processor_seconds(process: int) -> float:
    """Return the processor time of a process and its threads so far."""
    fields = (PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(process: int) -> float:
    """Return the resident memory of a process in MB."""
    return int((PROC / str(process) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def browser_processes() -> dict[str, list[int]]:
    """Return the processes of the browsers that this process started, by their kind."""
    found: dict[str, list[int]] = {}
    for process in _descendants(os.getpid()):
        with contextlib.suppress(OSError):
            command = (PROC / str(process) / "cmdline").read_text().replace("\0", " ")
            kind = command.partition("--type=")[2].partition(" ")[0]
            if kind:
                found.setdefault(kind, []).append(process)
    return found


def _descendants(process: int) -> Iterator[int]:
    for task in (PROC / str(process) / "task").iterdir():
        with contextlib.suppress(OSError):
            for child in (task / "children").read_text().split():
                yield int(child)
                yield from _descendants(int(child))
