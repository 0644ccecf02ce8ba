"""Experiments: resuming after a kill gives the same results, failing runs stop no others, reports and commands."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

import wanderlust as wl
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store

pytestmark = pytest.mark.slow

SOURCES = str(Path(wl.__file__).parents[1])
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([SOURCES, os.environ.get("PYTHONPATH", "")]),
    "PYTHONUTF8": "1",
    "COLUMNS": "150",
}
RUNS = [
    Run(world=world, explorer=explorer, seed=seed, settings={"budget": 300})
    for world in ("toy", "prison")
    for explorer in ("random", "ucb1", "vv-ucb")
    for seed in range(1, 21)
]


def stored_results(folder):
    problems = []
    results = {each.run: each.result for each in Store(folder).load_all(problems)}
    assert problems == []
    return results


def assert_same(one, other):
    assert one.keys() == other.keys()
    for run, result in one.items():
        for a, b in zip(result, other[run], strict=True):
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The results of one job without interruptions."""
    folder = tmp_path_factory.mktemp("expected")
    summary = run_all(RUNS, Store(folder), jobs=1)
    assert (summary.executed, summary.stored, summary.failures) == (len(RUNS), 0, [])
    return stored_results(folder)


def test_two_jobs_give_the_results_of_one(expected, tmp_path):
    run_all(RUNS, Store(tmp_path), jobs=2)
    assert_same(stored_results(tmp_path), expected)


SCRIPT = """
import signal
import sys
from wanderlust.experiments.run import Run
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.store import Store
# Processes that a shell starts in the background ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
run_all([Run.from_json(line) for line in sys.stdin], Store(sys.argv[1]), jobs=2)
"""


def start(runs, folder):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        text=True,
    )
    process.stdin.write("\n".join(run.json for run in runs))
    process.stdin.close()
    process.stdin = None  # `communicate` reads the errors only.
    return process


def wait_for_files(folder, count, process):
    deadline = time.monotonic() + 200
    while len(Store(folder).stored_keys()) < count and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_repeated_kills_do_not_change_the_results(expected, tmp_path):
    """The last ones are executed by two processes that share the folder."""
    killed = 0
    for count in (1, 40, 80):
        process = start(RUNS, tmp_path)
        wait_for_files(tmp_path, count, process)
        process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
    assert killed >= 2
    assert len(stored_results(tmp_path)) >= 40
    both = [start(RUNS, tmp_path), start(RUNS, tmp_path)]
    for process in both:
        errors = process.communicate()[1]
        assert process.returncode == 0, errors
    assert_same(stored_results(tmp_path), expected)


def test_an_interrupt_stops_quickly_and_finished_runs_are_stored(tmp_path):
    long_run = Run(world="wall", explorer="random", settings={"budget": 10**10, "evaluate_every": 10**7})
    process = start([long_run, *RUNS[:20]], tmp_path)
    wait_for_files(tmp_path, 20, process)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode in (-signal.SIGINT, 130)
    assert "KeyboardInterrupt" in errors
    assert stored_results(tmp_path).keys() == set(RUNS[:20])


def test_stored_runs_are_not_executed_again(tmp_path):
    store = Store(tmp_path)
    run_all(RUNS[:4], store, jobs=1)
    before = {file: file.stat().st_mtime_ns for file in store.packs.iterdir()}
    summary = run_all([*RUNS[:4], *RUNS[:4]], store, jobs=1)
    assert (summary.executed, summary.stored) == (0, 4)
    assert {file: file.stat().st_mtime_ns for file in store.packs.iterdir()} == before


def test_a_failing_run_stops_no_other(tmp_path):
    bad = [
        Run(world="atlantis", explorer="random"),
        Run(world="toy", explorer="vv-ubc"),
        Run(world="toy", explorer="random", settings={"budgte": 7}),
        Run(world="toy", explorer="random", settings={"discount": 2}),
    ]
    text = io.StringIO()
    summary = run_all([*bad, *RUNS[:3]], Store(tmp_path), jobs=2, progress=Progress(Console(file=text, width=300)))
    assert summary.executed == 3
    assert {failure.run for failure in summary.failures} == set(bad)
    for failure in summary.failures:
        assert failure.run.command in str(failure)
        assert failure.run.command in text.getvalue()
    assert any("Did you mean 'vv-ucb'" in failure.error for failure in summary.failures)
    assert stored_results(tmp_path).keys() == set(RUNS[:3])


def test_progress_without_a_terminal():
    text = io.StringIO()
    progress = Progress(Console(file=text, width=200))
    with progress.track(RUNS[:2], 2, stored=1):
        progress.run_finished(RUNS[0])
        progress.run_finished(RUNS[1])
    assert "2 runs to execute, 1 already stored; 2 at a time" in text.getvalue()
    assert "2 of 2 runs" in text.getvalue()
    quiet = Progress(Console(file=(output := io.StringIO())), quiet=True)
    with quiet.track(RUNS[:1], 1, stored=0):
        quiet.message("something")
        quiet.run_finished(RUNS[0])
    assert output.getvalue() == ""
