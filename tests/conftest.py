"""What several tests use: the explorers, the kinds of memory, and worlds of sizes at which a run takes milliseconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from hypothesis import HealthCheck, settings

import wanderlust as wl
from process_server import ProcessServer

EXPLORERS = tuple(wl.explorer_names())
PAPER_EXPLORERS = (
    "vv-ucb", "vv-count", "random-prior", "bootstrapped", "ucb1", "bonus", "epsilon-greedy", "random", "thompson",
)  # fmt: skip
ENSEMBLES = ("bootstrapped", "random-prior", "thompson")
PLANNERS = ("r-max", "ucbvi", "mbie-plan", "vv-plan", "rlsvi", "psrl", "goal-directed")
"""Explorers that need a full memory."""
MEMORIES = {
    "full": wl.Replay("full"),
    "none": wl.Replay("none"),
    "window": wl.Replay("window", capacity=60, batch=8),
}
SMALL_WORLDS = {"deep-sea": {"depth": 12}, "chain": {"length": 15}}
"""Options that make a world small; all other worlds are small by default."""

# Tests that search with random inputs try few and fixed ones; `make fuzz` has the profile with many and new ones.
# A loop of another kind takes its length from `hypothesis.settings().max_examples`, too.
for profile, examples in (("few", 25), ("fuzz", int(os.environ.get("FUZZ_EXAMPLES", "250")))):
    settings.register_profile(
        profile, max_examples=examples, derandomize=profile == "few", deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
settings.load_profile("few")

FAULTS = """
import os, sys, time
import gymnasium as gym

class Fault(gym.Wrapper):
    def __init__(self, happen):
        super().__init__(gym.make("FrozenLake-v1"))
        self.happen = happen
    def step(self, action):
        self.happen()
        return self.env.step(action)

def raises(): raise RuntimeError("out of order")
def exits(): return Fault(lambda: os._exit(3))
def leaves(): return Fault(lambda: sys.exit(4))
def hangs(): return Fault(lambda: time.sleep(600))
def hungry(): return Fault(lambda: bytearray(2**60))
"""
"""A module of environments that fail; tests write it to a folder from which runs import it."""


def can_run(explorer: object = "", memory: object = "full", preset: object = "as_written", **others: object) -> bool:
    """Return whether an explorer can plan with this memory, and whether the paper's released code has it."""
    return (memory == "full" or explorer not in PLANNERS) and (
        preset == "as_written" or explorer in PAPER_EXPLORERS or explorer not in EXPLORERS
    )


every_explorer = pytest.mark.parametrize("explorer", EXPLORERS)
every_memory = pytest.mark.parametrize("memory", MEMORIES)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out combinations that `can_run` excludes; beside others, long tests come first."""
    items[:] = [item for item in items if can_run(**getattr(getattr(item, "callspec", None), "params", {}))]
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("first") is None)


def run_python(code: str, *words: object, folder: Path | None = None, **variables: str) -> CompletedProcess[str]:
    """Run code in a new interpreter that finds this package, without variables of Ray; return what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment |= {"PYTHONPATH": str(Path(wl.__file__).parents[1]), **variables}
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="session")
def processes():
    """Start processes that need not import anything: they are forked from one that has."""
    server = ProcessServer()
    yield server
    server.close()


class CommandLine:
    """Runs commands in this process."""

    def __init__(self, monkeypatch, capsys):
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *arguments):
        """Return the exit code, the output and the errors of a command."""
        from wanderlust.cli.main import main

        self.monkeypatch.setattr(sys, "argv", ["wanderlust", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as error:
            code = error.code or 0
        out, err = self.capsys.readouterr()
        assert "FORCE_COLOR" in os.environ or "\x1b" not in out + err, "control codes are for terminals"
        return code, out, err

    def succeeds(self, *arguments):
        """Return the output of a command, which must succeed."""
        code, out, err = self(*arguments)
        assert code == 0, err
        return out

    def fails(self, *arguments):
        """Return the errors of a command with invalid input."""
        code, _, err = self(*arguments)
        assert code == 2, err
        assert err.startswith("wanderlust: ")
        return err


@pytest.fixture
def run_cli(tmp_path, monkeypatch, capsys):
    """Run commands in `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return CommandLine(monkeypatch, capsys)


@pytest.fixture
def command(run_cli):
    """Run a command in this process, in `tmp_path`; return its exit code and what it printed."""

    def run(*arguments):
        code, out, err = run_cli(*arguments)
        return code, out + err

    return run
