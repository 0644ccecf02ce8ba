"""Experiments: resuming after a kill gives the same results, failing runs stop no others, reports and commands."""

import io
import signal

import pytest
from rich.console import Console

from process_server import send, wait_until
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store

pytestmark = pytest.mark.slow

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


SCRIPT = """
from wanderlust.experiments.run import Run
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.store import Store
run_all([Run.from_json(line) for line in open("runs.txt")], Store({store!r}), jobs=2)
"""


def test_repeated_kills_do_not_change_the_results(expected, processes, tmp_path):
    """With two jobs; the last ones are executed by two processes that share the folder."""
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
        (folder / "runs.txt").write_text("\n".join(run.json for run in RUNS))

    def start(folder):
        return processes.start(folder, SCRIPT.format(store=str(tmp_path)))

    killed = 0
    for count in (1, 40, 80):
        process = start(folders[0])
        wait_until(lambda count=count: len(Store(tmp_path).stored_keys()) >= count)
        send(process, signal.SIGKILL)
        killed += processes.wait(process) == -signal.SIGKILL
    assert killed >= 2
    assert len(stored_results(tmp_path)) >= 40
    for process, folder in zip([start(folder) for folder in folders], folders, strict=True):
        assert processes.wait(process) == 0, (folder / "err.txt").read_text()
    assert_same(stored_results(tmp_path), expected)


def test_progress_without_a_terminal():
    text = io.StringIO()
    progress = Progress(Console(file=text, width=200))
    with progress.track(RUNS[:2], 2, stored=1):
        progress.run_finished(RUNS[0])
        progress.run_finished(RUNS[1])
    assert "2 runs to execute, 1 already stored; 2 at a time" in text.getvalue()
    assert "2 of 2 runs" in text.getvalue()
    with progress.track(RUNS[:1], 0, stored=0, place="Ray"):
        pass
    assert "1 run to execute; no CPU is free at the moment on Ray" in text.getvalue()
    quiet = Progress(Console(file=(output := io.StringIO())), quiet=True)
    with quiet.track(RUNS[:1], 1, stored=0):
        quiet.message("something")
        quiet.run_finished(RUNS[0])
    assert output.getvalue() == ""
