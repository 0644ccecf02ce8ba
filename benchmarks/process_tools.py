"""Processes of Linux: their children, signals to all of them, and waiting; for benchmarks/cluster_faults.py."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def with_children(process: int) -> list[int]:
    """Return the ids of a process and of its children, grandchildren and so on."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(each for child in children for each in with_children(int(child)))]


def processes_of(node: Any) -> list[int]:
    """Return the ids of all processes of a node: the raylet, its agents and its workers."""
    started = [info.process.pid for infos in node.all_processes.values() for info in infos]
    return [each for process in started for each in with_children(process)]


def send(number: signal.Signals, processes: Sequence[int]) -> None:
    """Send a signal to processes, those that have ended excepted."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def memory_in_use() -> tuple[int, int]:
    """Return the bytes of memory in use, and of all memory."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    sizes = {name: 1024 * int(size) for name, size, *_ in lines}
    return sizes["MemTotal:"] - sizes["MemAvailable:"], sizes["MemTotal:"]


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def can_connect(port: int) -> bool:
    """Return whether a server listens at a port."""
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all of its children."""
    if process.poll() is None:
        send(signal.SIGKILL, with_children(process.pid))
    process.wait()
