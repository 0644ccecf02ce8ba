"""Measure the studio: frames per second in a real browser, fast-forward against `train`, and memory of long runs.

Run it as `python benchmarks/studio.py`; it needs the extras `studio` and `test`, and the program chromium.
The first two numbers depend on the machine; the ratio and the growth of memory should not.
"""

from __future__ import annotations

import argparse
import base64
import json
import resource
import shutil
import threading
import time
from typing import Any

from playwright.sync_api import sync_playwright

import wanderlust as wl
from wanderlust.studio.server import Studio, listen, make_server
from wanderlust.studio.services import Services
from wanderlust.studio.setup import read_setup
from wanderlust.studio.workbench import Workbench

LANES = ("epsilon-greedy", "ucb1", "vv-ucb")


def setup_of(world: str, **settings: Any) -> Any:
    """Return the setup with three lanes."""
    lanes = [{"explorer": name} for name in LANES]
    return read_setup({"world": world, "seed": 1, "settings": settings, "lanes": lanes})


def start_server() -> Studio:
    """Start a server in a thread."""
    studio = Studio(Services(opening=setup_of("wall").description))
    listener = listen(studio.host, 0)
    studio.port = listener.getsockname()[1]
    server = make_server(studio)
    threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    return studio


def address(studio: Studio, setup: Any) -> str:
    """Return the link that opens a setup."""
    text = base64.urlsafe_b64encode(json.dumps({"setup": setup.description}).encode()).decode()
    return f"{studio.url}#s={text.rstrip('=')}"


def opened(browser: Any, studio: Studio, setup: Any) -> Any:
    """Return a page that shows a setup at step 0."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(address(studio, setup))
    while not page.evaluate("Boolean(globalThis.studio?.framesDrawn && studio.frames.length)"):
        time.sleep(0.05)
    return page


def frame_rate(browser: Any, studio: Studio, seconds: float) -> str:
    """Return frames per second of `wall` with three lanes at 2,000 steps per second."""
    page = opened(browser, studio, setup_of("wall"))
    page.evaluate("studio.setSpeed(2000, true); studio.source.play(2000)")
    time.sleep(2)
    before = page.evaluate("[studio.framesDrawn, studio.viewed, performance.now()]")
    time.sleep(seconds)
    after = page.evaluate("[studio.framesDrawn, studio.viewed, performance.now()]")
    page.close()
    passed = (after[2] - before[2]) / 1000
    frames, steps = (after[0] - before[0]) / passed, (after[1] - before[1]) / passed
    return f"wall, three lanes: {frames:.1f} frames per second at {steps:.0f} steps per second and lane"


def fast_forward(browser: Any, studio: Studio) -> str:
    """Return the time of a fast-forward of `wall` to its end, divided by the time of `train`."""
    page = opened(browser, studio, setup_of("wall"))
    begin = time.perf_counter()
    page.evaluate("studio.source.play(0)")
    while page.evaluate("studio.viewed") < 100_000:
        time.sleep(0.02)
    shown = time.perf_counter() - begin
    page.close()
    begin = time.perf_counter()
    for name in LANES:
        wl.train("wall", name, seed=1)
    trained = time.perf_counter() - begin
    return f"wall, fast-forward of three lanes to step 100,000: {shown / trained:.2f} times the time of train"


def memory(seconds: float) -> str:
    """Return the growth of the process and of the histories while lanes run as fast as possible, again and again."""
    sizes, steps, end = [], 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        bench = Workbench(setup_of("wall", budget=1_000_000))
        while not bench.finished and time.perf_counter() < end:
            bench.advance(bench.length, 0.03)
            bench.frames()
            bench.news()
            lanes = [(len(lane.history.steps), lane.history.size) for lane in bench.lanes]
            sizes.append((max(n for n, _ in lanes), max(size for _, size in lanes), resident()))
        steps += bench.step
    half = len(sizes) // 2
    return (
        f"{steps:,} steps in {seconds:.0f} s: at most {max(n for n, *_ in sizes)} snapshots and "
        f"{max(size for _, size, _ in sizes) / 1e6:.1f} MB per lane; process {sizes[half][2]:.0f} MB at half time, "
        f"{sizes[-1][2]:.0f} MB at the end"
    )


def resident() -> float:
    """Return the resident memory of this process in MB."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize() / 1e6
    except OSError:  # Not Linux: the largest value so far.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    """Print the three measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="duration of the frame rate measurement")
    parser.add_argument("--memory-seconds", type=float, default=120, help="duration of the memory measurement")
    arguments = parser.parse_args()
    for name in LANES:
        wl.train("wall", name, steps=10)
    studio = start_server()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        print(frame_rate(browser, studio, arguments.seconds), flush=True)
        print(fast_forward(browser, studio), flush=True)
        browser.close()
    print(memory(arguments.memory_seconds), flush=True)


if __name__ == "__main__":
    main()
