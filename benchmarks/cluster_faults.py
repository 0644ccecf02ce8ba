"""Cause the faults of a cluster, on a real Ray cluster of this machine, and check that nothing is lost.

    python benchmarks/cluster_faults.py                            # every fault, a few minutes
    python benchmarks/cluster_faults.py silent-node out-of-memory
    python benchmarks/cluster_faults.py --write docs/scaling.md    # also update the table there

After each fault, every run must be stored once with the same bits as without Ray, or be listed as failed with its
reason. tests/experiments/test_ray.py has the faults that take seconds: a killed node, a killed driver, runs that
raise, exit or hang.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from generated_tables import replace_table
from process_tools import can_connect, end, memory_in_use, processes_of, send, wait_for
from ray.cluster_utils import Cluster

import wanderlust
from wanderlust.core.errors import WanderlustError
from wanderlust.experiments.execute.driver import RunSummary, run_all
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store

SOURCES = Path(wanderlust.__file__).parents[1]
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
QUICK_HEALTH_CHECK = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 3,
}
"""Ray takes a node for lost after seconds instead of half a minute."""
ROWS = Path(__file__).with_suffix(".json")
"""What the last run of each fault found."""
HUNGRY_BYTES = 3 * 2**30
HUNGRY = f"""
import time
import gymnasium as gym

class Hungry(gym.Wrapper):
    kept = []
    def step(self, action):
        if not self.kept:
            self.kept.append(b"x" * {HUNGRY_BYTES})
            time.sleep(60)
        return self.env.step(action)

def hungry(): return Hungry(gym.make("FrozenLake-v1"))
"""
RUNS = [
    Run(world=world, explorer=explorer, seed=seed, settings={"steps": 20_000})
    for world in ("toy", "prison")
    for explorer in ("random", "vv-ucb")
    for seed in range(75)
]
Stored = dict[str, list[tuple[str, tuple[int, ...], bytes]]]


class Outcome(NamedTuple):
    """What a fault did."""

    summary: RunSummary
    note: str


def contents(folder: Path) -> Stored:
    """Return key -> the bytes of all arrays; no run may be stored twice."""
    problems: list[str] = []
    stored = list(Store(folder).load_all(problems))
    found = {each.run.key: [(a.dtype.str, a.shape, a.tobytes()) for a in each.result] for each in stored}
    assert problems == [], problems
    assert len(found) == len(stored), "a run is stored twice"
    return found


@contextlib.contextmanager
def cluster(code: Path, n_nodes: int = 2, **head: Any) -> Iterator[Cluster]:
    """Start a head without CPUs for runs, and nodes; runs with on='ray' use it."""
    before = {name: os.environ.get(name) for name in ("PYTHONPATH", "RAY_ADDRESS")}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(code), str(SOURCES)])
    started = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0, "include_dashboard": False, **head})
    try:
        os.environ["RAY_ADDRESS"] = started.address
        for _ in range(n_nodes):
            started.add_node(**NODE)
        yield started
    finally:
        started.shutdown()
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def execute(runs: Sequence[Run], folder: Path, **options: Any) -> RunSummary:
    """Execute runs on Ray."""
    return run_all(runs, Store(folder), on="ray", **options)


def silent_node(folder: Path, code: Path) -> Outcome:
    """Stop all processes of a node, as if it were cut off from the network; let them continue when Ray has given up."""
    with cluster(code, n_nodes=2, _system_config=QUICK_HEALTH_CHECK) as started:
        node = next(iter(started.worker_nodes))
        waited: list[float] = []

        def stop() -> None:
            wait_for(lambda: len(Store(folder).stored_keys()) > 10)
            stopped = processes_of(node)
            send(signal.SIGSTOP, stopped)
            start = time.monotonic()
            wait_for(lambda: sum(each["Alive"] for each in alive_nodes()) == 2)
            waited.append(time.monotonic() - start)
            send(signal.SIGCONT, stopped)

        thread = threading.Thread(target=stop)
        thread.start()
        try:
            summary = execute(RUNS, folder)
        finally:
            thread.join()
    return Outcome(summary, f"Ray gave the node up after {waited[0]:.0f} s; then its processes continued")


def alive_nodes() -> list[dict[str, Any]]:
    """Return the nodes as Ray sees them; all if there is no connection yet."""
    import ray

    return ray.nodes() if ray.is_initialized() else []


def out_of_memory(folder: Path, code: Path) -> Outcome:
    """Let one run allocate 3 GB where Ray ends workers once 1.5 GB more are used than now."""
    (code / "hungry_environment.py").write_text(HUNGRY)
    sys.path.insert(0, str(code))
    used, total = memory_in_use()
    share = (used + HUNGRY_BYTES / 2) / total
    limits = {"RAY_memory_usage_threshold": f"{share:.3f}", "RAY_memory_monitor_refresh_ms": "100"}
    os.environ |= limits
    bad = Run(kind="environment", world="hungry_environment:hungry", explorer="random", settings={"steps": 50})
    try:
        with cluster(code):
            summary = execute([bad, *RUNS[:100]], folder)
    finally:
        for name in limits:
            del os.environ[name]
    assert [failure.run for failure in summary.failures] == [bad], summary.failures
    assert "memory" in summary.failures[0].error, summary.failures
    return Outcome(summary, f"listed: “{summary.failures[0].error}”")


def other_version(folder: Path, code: Path) -> Outcome:
    """Use nodes that have another version: they refuse; with --ship-package they execute this version."""
    other = code / "other"
    shutil.copytree(SOURCES / "wanderlust", other / "wanderlust", ignore=shutil.ignore_patterns("__pycache__"))
    (other / "wanderlust" / "version.py").write_text('__version__ = "0.0.1"\n')
    formulas = other / "wanderlust" / "explorers" / "formulas.py"
    formulas.write_text(formulas.read_text() + "\nANOTHER_VERSION_OF_THE_MATHEMATICS = True\n")
    with cluster(code, n_nodes=0) as started:
        started.add_node(**{**NODE, "num_cpus": 2}, env_vars={"PYTHONPATH": str(other)})
        try:
            execute(RUNS[:50], folder)
            raise AssertionError("the nodes did not refuse")
        except WanderlustError as error:
            refusal = str(error)
        assert "has wanderlust 0.0.1 (the driver has" in refusal, refusal
        assert "compiled sources" in refusal, refusal
        assert len(Store(folder).stored_keys()) == 0
        summary = execute(RUNS[:50], folder, ship_package=True)
    return Outcome(summary, f"refused: “{refusal}”; then executed with `--ship-package`")


def client(folder: Path, code: Path) -> Outcome:
    """Connect to a head by ray://, and kill the head in the middle of a second sweep."""
    with socket.socket() as free, socket.socket() as other:
        free.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        port, client_port = free.getsockname()[1], other.getsockname()[1]
    # A token of this cluster alone, made for it.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(code), str(SOURCES)]),
                   "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}  # fmt: skip
    temporary = tempfile.mkdtemp(prefix="ray-")
    words = [str(Path(sys.executable).with_name("ray")), "start", "--head", f"--port={port}", "--num-cpus=2",
             f"--ray-client-server-port={client_port}", "--include-dashboard=false", "--disable-usage-stats", "--block",
             f"--temp-dir={temporary}"]  # fmt: skip
    head = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sweep = [sys.executable, "-m", "wanderlust", "sweep", "--world", "toy", "prison", "--explorer", "random", "vv-ucb",
             "--set", "steps=20000", "--out", str(folder)]  # fmt: skip
    try:
        wait_for(lambda: can_connect(client_port))
        remote = [*sweep, "--on", f"ray://127.0.0.1:{client_port}"]
        for _ in range(5):  # A head that has just started accepts connections before it can serve them.
            words = [*remote, "--seeds", "25"]
            done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
            if "cannot be reached" not in done.stderr:
                break
        assert (done.returncode, len(contents(folder))) == (0, 100), done.stdout + done.stderr
        second = subprocess.Popen([*remote, "--seeds", "75"], env=environment, stderr=subprocess.PIPE, text=True,
                                  stdout=subprocess.DEVNULL)  # fmt: skip
        wait_for(lambda: len(Store(folder).stored_keys()) > 100)
        end(head)
        assert second.stderr is not None
        printed = second.stderr.read()
        assert (second.wait(), "wanderlust: the connection to Ray at" in printed) == (2, True), printed
    finally:
        end(head)
        shutil.rmtree(temporary, ignore_errors=True)
    stored = len(contents(folder))
    summary = run_all(RUNS, Store(folder))
    assert (summary.stored, summary.executed) == (stored, len(RUNS) - stored), summary
    sentence = printed.strip().splitlines()[-1].replace(f":{client_port}", ":10001")
    note = f"100 runs by `ray://`, then the head was killed: “{sentence}” The rest ran on this machine"
    return Outcome(summary, note)


FAULTS: dict[str, tuple[str, Callable[[Path, Path], Outcome]]] = {
    "silent-node": ("a node stops answering", silent_node),
    "out-of-memory": ("a run fills the memory of its node", out_of_memory),
    "other-version": ("all nodes have another version", other_version),
    "client": ("the head of a `ray://` connection is killed", client),
}


def check(name: str, expected: Stored) -> list[str]:
    """Cause one fault; return the row of the table."""
    description, cause = FAULTS[name]
    with tempfile.TemporaryDirectory(prefix="wanderlust-faults-") as temporary:
        folder, code = Path(temporary) / "results", Path(temporary) / "code"
        code.mkdir()
        start = time.monotonic()
        summary, note = cause(folder, code)
        seconds = time.monotonic() - start
        stored = contents(folder)
    assert stored.items() <= expected.items(), "the results differ from those of this machine"
    print(f"{name}: {len(stored)} stored, {len(summary.failures)} failed, {seconds:.0f} s\n  {note}", flush=True)
    return [description, f"{len(stored):,}", str(len(summary.failures)), "yes", note]


def main() -> None:
    """Cause the faults that the command line names, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("faults", nargs="*", choices=[[], *FAULTS], default=[], metavar="FAULT", help=", ".join(FAULTS))
    parser.add_argument("--write", type=Path, metavar="FILE", help="replace the table in this page")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wanderlust-faults-") as temporary:
        run_all(RUNS, Store(temporary))
        expected = contents(Path(temporary))
    rows = json.loads(ROWS.read_text()) if ROWS.exists() else {}
    for name in given.faults or FAULTS:
        rows[name] = check(name, expected)
        ROWS.write_text(json.dumps(rows, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    if given.write:
        heads = ["fault", "stored", "failed", "each once, same bits", "what happened"]
        replace_table(given.write, "faults", heads, [rows[name] for name in FAULTS if name in rows])


if __name__ == "__main__":
    main()
