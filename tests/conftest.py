"""What several tests use: the explorers, the kinds of memory, and worlds of sizes at which a run takes milliseconds."""

from __future__ import annotations

import os

import pytest

import wanderlust as wl

EXPLORERS = tuple(wl.explorer_names())
ENSEMBLES = ("bootstrapped", "random-prior", "thompson")
MEMORIES = {
    "full": wl.Replay("full"),
    "none": wl.Replay("none"),
    "window": wl.Replay("window", capacity=60, batch=8),
}
SMALL_WORLDS = {"deep-sea": {"depth": 12}, "chain": {"length": 15}}
"""Options that make a world small; all other worlds are small by default."""

DEFAULT_FUZZ_SECONDS = 30.0
FUZZ_SECONDS = float(os.environ.get("WANDERLUST_FUZZ_SECONDS", DEFAULT_FUZZ_SECONDS))
FUZZ_SCALE = FUZZ_SECONDS / DEFAULT_FUZZ_SECONDS
"""How many times as many random inputs are tried as by default; `make fuzz` sets it."""

every_explorer = pytest.mark.parametrize("explorer", EXPLORERS)
every_memory = pytest.mark.parametrize("memory", MEMORIES)

SLOW_FILES = frozenset(
    f"test_{name}.py"
    for name in (
        "adaptive",
        "agent_files",
        "agreement",
        "bad_commands",
        "bench",
        "commands",
        "compiled_cache",
        "docs",
        "encoding",
        "examples",
        "experiments",
        "fast_paths",
        "figures",
        "fuzz_input",
        "golden",
        "gymnasium_bars",
        "interruption",
        "measures",
        "oracle",
        "ray",
        "statements",
        "sweep",
        "studio",
        "studio_browser",
        "studio_server",
        "untrusted_results",
        "watch",
    )
)
"""Files with many or long tests, which `make check` leaves out."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow files."""
    for item in items:
        if item.path.name in SLOW_FILES:
            item.add_marker("slow")
