"""Measure the studio in a real browser: frames per second, fast-forward against `train`, and memory of a long run.

Run it as `python benchmarks/studio.py`; it needs Linux, the extras `studio` and `test`, and the program chromium.
`--memory --minutes 60` measures the memory instead; `--markdown FILE` then writes the table of docs/studio-memory.md.
Times depend on the machine and on what else runs there, so the processor time of each part is printed as well.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import studio_memory
from studio_processes import (
    LANES,
    browser_processes,
    opened,
    processor_seconds,
    running_browser,
    running_server,
    setup_of,
)

import wanderlust as wl

SPEED = 2000
FRAMES_BAR, FORWARD_BAR = 30, 2.0


def load() -> str:
    """Return what else the machine does."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"


def frame_rate(browser: Any, server: int, address: str, seconds: float) -> list[str]:
    """Return frames per second of `wall` with three lanes at 2,000 steps per second, and what a frame costs."""
    page = opened(browser, address, setup_of("wall"))
    page.evaluate(f"studio.setSpeed({SPEED}, true); studio.source.play({SPEED})")
    time.sleep(2)
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable")
    parts = browser_processes()
    names = {"server": [server], "page": parts["renderer"], "graphics": parts["gpu-process"]}

    def measured() -> dict[str, float]:
        shown = page.evaluate("[studio.framesDrawn, studio.viewed, performance.now()]")
        browser_time = {each["name"]: each["value"] for each in metrics.send("Performance.getMetrics")["metrics"]}
        processors = {name: sum(map(processor_seconds, each)) for name, each in names.items()}
        values = {"frames": shown[0], "steps": shown[1], "seconds": shown[2] / 1000, **processors}
        return values | {"script": browser_time["ScriptDuration"]}

    before = measured()
    time.sleep(seconds)
    after = measured()
    page.close()
    passed = {name: after[name] - before[name] for name in after}
    rate, steps = passed["frames"] / passed["seconds"], passed["steps"] / passed["seconds"]
    shares = ", ".join(f"{name} {passed[name] / passed['seconds']:.0%}" for name in names)
    frames = max(passed["frames"], 1)
    per_frame = ", ".join(f"{name} {1000 * passed[name] / frames:.1f}" for name in (*names, "script"))
    return [
        f"frames per second        {rate:8.1f}   bar: at least {FRAMES_BAR}   {_verdict(rate >= FRAMES_BAR)}",
        f"  steps per second       {steps:8.0f}   of {SPEED} per lane",
        f"  processor ms per frame {per_frame} (of the page)",
        f"  processors             {shares}",
    ]


def fast_forward(browser: Any, server: int, address: str) -> list[str]:
    """Return the time of a fast-forward of `wall` to its end, divided by the time of `train`."""
    page = opened(browser, address, setup_of("wall"))
    begin, busy = time.perf_counter(), processor_seconds(server)
    page.evaluate("studio.source.play(0)")
    while page.evaluate("studio.viewed") < 100_000:
        time.sleep(0.02)
    shown, busy = time.perf_counter() - begin, processor_seconds(server) - busy
    page.close()
    begin, own = time.perf_counter(), time.process_time()
    for name in LANES:
        wl.train("wall", name, seed=1)
    trained, own = time.perf_counter() - begin, time.process_time() - own
    ratio = shown / trained
    return [
        f"fast-forward / train     {ratio:8.2f}   bar: at most {FORWARD_BAR:.0f}     {_verdict(ratio <= FORWARD_BAR)}",
        f"  time                   {shown:8.1f} s and {trained:.1f} s of train (three lanes, 100,000 steps each)",
        f"  processor time         {busy:8.1f} s and {own:.1f} s: ratio {busy / own:.2f}",
    ]


def _verdict(is_met: bool) -> str:
    return "met" if is_met else "NOT MET"


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10, help="duration of the frame rate measurement")
    parser.add_argument("--memory", action="store_true", help="measure the memory of a long run instead")
    parser.add_argument("--minutes", type=float, default=60, help="duration of the memory measurement")
    parser.add_argument("--markdown", type=Path, default=None, help="file for the table of the memory measurement")
    arguments = parser.parse_args()
    if arguments.memory:
        print(studio_memory.measure(arguments.minutes, 60, arguments.markdown), end="")
        return
    for name in LANES:
        wl.train("wall", name, steps=10)
    print(f"wall, 50x50, lanes {', '.join(LANES)}; {load()} at the start", flush=True)
    with running_server() as (server, address), running_browser() as browser:
        print("\n".join(frame_rate(browser, server, address, arguments.seconds)), flush=True)
        print("\n".join(fast_forward(browser, server, address)), flush=True)
    print(f"{load()} at the end; software rendering if the browser has no graphics processor")


if __name__ == "__main__":
    main()
