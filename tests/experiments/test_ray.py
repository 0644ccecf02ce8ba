"""Runs on a real Ray cluster of two nodes: the results of this machine, bit for bit, whatever is killed."""

import io
import os
import re
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

import wanderlust as wl
from conftest import FAULTS
from process_server import send, wait_until
from wanderlust.core.errors import WanderlustError
from wanderlust.experiments.execute import Execution, ray_cluster
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'wanderlust[ray]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.first,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="starts a cluster of Linux processes"),
    # Ray does not close its sockets and log files.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
]

SOURCES = Path(wl.__file__).parents[1]
NODE = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
# A killed node refuses connections: five checks find it out, each second instead of every third one. One that is slow
# has as long to answer as by default.
CHECKS = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 1000}
RUNS = [
    Run(world=world, explorer=explorer, seed=seed, settings={"steps": 4000})
    for world in ("toy", "prison")
    for explorer in ("random", "vv-ucb", "vv-count")
    for seed in range(50)
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Start two nodes, whose workers find the module `ray_faults`."""
    from ray.cluster_utils import Cluster

    code = tmp_path_factory.mktemp("code")
    (code / "ray_faults.py").write_text(FAULTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(code), str(SOURCES)]))
        patch.syspath_prepend(code)
        head = {**NODE, "num_cpus": 2, "_system_config": CHECKS}
        head |= {"include_dashboard": False, "include_log_monitor": False}
        started = Cluster(initialize_head=True, head_node_args=head)
        patch.setenv("RAY_ADDRESS", started.address)
        started.extra = [started.add_node(**NODE)]
        # One connection for all tests: Ray starts new workers for each.
        ray.init(address=started.address, log_to_driver=False, logging_level="ERROR")
        yield started
        ray.shutdown()
        started.shutdown()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The results of this machine."""
    folder = tmp_path_factory.mktemp("local")
    assert run_all(RUNS, Store(folder), jobs=2).executed == len(RUNS)
    return contents(folder)


def contents(folder):
    """Return key -> the bytes of all arrays; no run may be stored twice."""
    problems = []
    stored = list(Store(folder).load_all(problems))
    assert problems == []
    found = {each.run.key: [(a.dtype.str, a.shape, a.tobytes()) for a in each.result] for each in stored}
    assert len(found) == len(stored)
    return found


def wait_for_runs(folder, count):
    wait_until(lambda: len(Store(folder).stored_keys()) >= count, 300)


def without_cluster(**variables):
    """Return code that removes Ray's variables, so that no other cluster is joined, and sets others."""
    # The workers that Ray starts in advance lack the user's modules: none of them is ever used.
    variables = {"RAY_enable_worker_prestart": "0", "RAY_prestart_worker_first_driver": "0", **variables}
    remove = "for name in [*os.environ]: name.startswith('RAY_') and os.environ.pop(name)"
    return f"import os\n{remove}\nos.environ |= {variables!r}"


OWN_CODE = """
import importlib.util, gymnasium
def make():
    assert importlib.util.find_spec("private") is None
    return gymnasium.make("FrozenLake-v1")
"""
OWN_CLUSTER = """
from pathlib import Path
from wanderlust.experiments.execute import Execution
from wanderlust.experiments.execute.ray_cluster import RayExecutor
from wanderlust.experiments.run import Run

run = Run(kind="environment", world="own_code:make", explorer="random", settings={"steps": 20})
executor = RayExecutor(Execution(on="ray", jobs=1), [run], message=print)
executor.submit([run])
while not (outcomes := executor.collect(1.0)):
    pass
print(outcomes[0].error or f"executed {run.key}")
sockets, token = set(), os.environ["RAY_AUTH_TOKEN"].encode()
for process in Path("/proc").glob("[0-9]*"):
    try:
        if int(process.name) == os.getpid() or token in (process / "environ").read_bytes():
            sockets |= {os.readlink(file) for file in (process / "fd").iterdir()}
    except OSError:
        continue
for table in ("tcp", "tcp6"):
    for fields in map(str.split, Path("/proc/net", table).read_text().splitlines()[1:]):
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
            print("listens on", fields[1].partition(":")[0])
executor.close()
assert "RAY_AUTH_TOKEN" not in os.environ
"""


def test_a_cluster_of_this_machine_is_closed_to_others(processes, tmp_path):
    """It listens on the loopback interface, has a token, and gets no other code than that of the runs."""
    for name in ("own_code.py", "private.py"):
        (tmp_path / name).write_text(OWN_CODE)
    status, out, err = processes.run(tmp_path, f"{without_cluster()}\n{OWN_CLUSTER}")
    assert status == 0, err
    first, executed, *listens = out.splitlines()
    assert (first, executed.startswith("executed")) == ("sent to the workers: own_code.py", True)
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert {line.removeprefix("listens on ") for line in listens} <= loopback
    assert len(listens) >= 4


def test_a_time_limit_is_refused_where_the_system_has_no_timer(tmp_path, monkeypatch):
    """As on Windows."""
    monkeypatch.delattr(signal, "setitimer")
    with pytest.raises(WanderlustError, match="--time-limit on Ray is not possible on Windows"):
        run_all(RUNS[:1], Store(tmp_path), on="ray", time_limit=10)


DRIVER = """
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.run import Run
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.store import Store
run_all([Run.from_json(line) for line in open("runs.txt")], Store("."), on="ray")
"""


def test_the_driver_is_killed_and_the_next_one_loses_a_node(cluster, expected, processes, tmp_path):
    (tmp_path / "runs.txt").write_text("\n".join(run.json for run in RUNS))
    driver = processes.start(tmp_path, f"{without_cluster(RAY_ADDRESS=cluster.address)}\n{DRIVER}")
    try:
        wait_for_runs(tmp_path, 1)
    finally:
        send(driver, signal.SIGKILL)
    assert processes.wait(driver) == -signal.SIGKILL
    before = len(Store(tmp_path).stored_keys())
    assert 0 < before < len(RUNS)
    stored_when_killed = []

    def kill_node():
        wait_for_runs(tmp_path, before + 1)
        stored_when_killed.append(len(Store(tmp_path).stored_keys()))
        cluster.remove_node(cluster.extra.pop(), allow_graceful=False)

    killer = threading.Thread(target=kill_node)
    killer.start()
    summary = run_all(RUNS, Store(tmp_path), on="ray", name="again")
    killer.join()
    assert stored_when_killed[0] < len(RUNS)
    assert (summary.stored, summary.executed, summary.failures) == (before, len(RUNS) - before, [])
    assert contents(tmp_path) == expected


def test_a_node_with_another_version_is_refused(cluster, expected, tmp_path, monkeypatch):
    """The other nodes do the work; without any, the driver says so."""
    other = tmp_path / "other"
    shutil.copytree(SOURCES / "wanderlust", other / "wanderlust", ignore=shutil.ignore_patterns("__pycache__"))
    (other / "wanderlust" / "version.py").write_text('__version__ = "0.0.1"\n')
    cluster.extra.append(cluster.add_node(**NODE, env_vars={"PYTHONPATH": str(other)}))
    text = io.StringIO()
    progress = Progress(Console(file=text, width=300))
    # The first worker of the new node takes seconds to start; until then the others do all the work.
    for first in range(100, 10_000, 60):
        more = [Run(world="toy", explorer="random", seed=first + i, settings={"steps": 4000}) for i in range(60)]
        summary = run_all([*RUNS[:6], *more], Store(tmp_path / "results"), on="ray", progress=progress)
        assert summary.failures == []
        if "not used" in text.getvalue():
            break
    assert re.search(r"a node is not used: .* has wanderlust 0\.0\.1 \(the driver has", text.getvalue())
    found = contents(tmp_path / "results")
    assert all(found[run.key] == expected[run.key] for run in RUNS[:6])
    with pytest.raises(WanderlustError, match=r"connected to Ray already; .* ray\.init\(runtime_env="):
        run_all(RUNS[60:70], Store(tmp_path / "results"), on="ray", ship_package=True)
    monkeypatch.setattr(ray_cluster, "versions", lambda: {"NumPy": "1.0"})
    with pytest.raises(WanderlustError, match=r"no node of the cluster has the driver's versions: .* has NumPy"):
        run_all(RUNS[60:70], Store(tmp_path / "results"), on="ray")
    cluster.remove_node(cluster.extra.pop())  # Otherwise it starts a worker for every driver, only to refuse.


def test_faults_of_runs_are_listed_and_stop_no_other(cluster, expected, tmp_path):
    reasons = {
        "raises": "RuntimeError: out of order",
        "exits": "the worker process ended: WorkerCrashedError",
        "hangs": "longer than the time limit of 5 s",
    }
    bad = {
        Run(kind="environment", world=f"ray_faults:{name}", explorer="random", settings={"steps": 50}): reason
        for name, reason in reasons.items()
    }
    summary = run_all([*bad, *RUNS[:9]], Store(tmp_path), on="ray", time_limit=5, name="faults")
    assert summary.executed == 9
    assert {failure.run for failure in summary.failures} == set(bad)
    for failure in summary.failures:
        assert bad[failure.run] in failure.error
    assert contents(tmp_path).items() <= expected.items()


def test_a_run_that_waits_for_a_busy_cluster_is_not_late(cluster, monkeypatch):
    """The time limit counts from the start in the worker; nothing is cancelled while there is no free CPU."""
    n_cpus = int(ray.cluster_resources()["CPU"])
    deadline = time.monotonic() + 120
    while ray.available_resources().get("CPU", 0) < n_cpus:  # workers that an earlier test ended give their CPU back
        assert time.monotonic() < deadline
        time.sleep(0.1)
    execution = Execution(on="ray", time_limit=30, ray_memory=0.01)
    size = ray_cluster.cluster_size(execution, here=99)
    assert size == (f"on Ray at {cluster.address}", n_cpus), "for a dry run"
    others = [ray.remote(num_cpus=1)(lambda: time.sleep(600)).remote() for _ in range(n_cpus)]
    while ray.available_resources().get("CPU", 0) >= 1:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    executor = ray_cluster.RayExecutor(execution, RUNS[:1], message=print)
    assert (executor.slots, executor.room()) == (0, 2), "the CPUs of others are no slots"
    executor.submit(RUNS[:1])
    monkeypatch.setattr(ray_cluster, "GRACE_SECONDS", -1e6)
    assert executor.collect(1.0) == []
    monkeypatch.undo()
    for other in others:
        ray.cancel(other, force=True)
    while not (outcomes := executor.collect(1.0)):
        assert time.monotonic() < deadline + 120
    assert outcomes[0].sealed.key == RUNS[0].key
    while executor.room() < 2 * n_cpus:
        assert time.monotonic() < deadline + 120
        time.sleep(0.1)
    assert executor.slots == n_cpus
    executor.submit(RUNS[1:2])
    monkeypatch.setattr(ray_cluster, "LONG_WAIT", 0.0)
    while not executor.collect(1.0):
        assert time.monotonic() < deadline + 240
    assert executor.slots == n_cpus - 1, "a batch that waited too long: others use a CPU"
    executor.close()


def test_the_head_is_killed(cluster, processes, tmp_path):
    """Without the head, a sweep ends with a sentence, or goes on here; Ray alone would end its process.

    The last test with this cluster.
    """
    words = ["sweep", "--world", "toy", "--explorer", "random", "--set", "steps=100000", "--seeds", "300"]
    options = {"ended": ["--on", "ray"], "continued": ["--on", "ray", "--fallback", "local"]}
    before = without_cluster(RAY_ADDRESS=cluster.address)
    for name in options:
        (tmp_path / name).mkdir()
    sweeps = [processes.start_command(tmp_path / name, *words, *more, before=before) for name, more in options.items()]
    stores = [tmp_path / name / "results" for name in options]
    for store in stores:
        wait_for_runs(store, 1)
    ray.shutdown()
    cluster.head_node.kill_all_processes(check_alive=False, allow_graceful=False)
    codes = [processes.wait(sweep) for sweep in sweeps]
    printed = [(tmp_path / name / "err.txt").read_text() for name in options]
    assert codes == [3, 0], printed
    assert all("its head does not answer" in text for text in printed)
    n_stored = [len(Store(store).stored_keys()) for store in stores]
    assert 0 < n_stored[0] < n_stored[1] == 300
