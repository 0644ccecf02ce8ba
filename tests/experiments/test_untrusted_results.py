"""Results of others: reading them executes no code; names are text; user code has versions; no process is left."""

import io
import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import wanderlust as wl
from process_server import send, wait_until
from wanderlust.core.archives import archive_bytes, open_archive
from wanderlust.core.errors import BadFile, InvalidSetting, WanderlustError
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.report.figures import as_files, comparison_figure
from wanderlust.experiments.report.text_tables import new_table
from wanderlust.experiments.run import Result, Run, source_files
from wanderlust.experiments.store import ARRAYS, Store, seal, write_pack
from wanderlust.experiments.table import SUFFIXES

pytestmark = pytest.mark.slow

RUN = Run(world="toy", explorer="random", seed=3, settings={"budget": 200})
LONG = "x" * 300
HOSTILE = "a[/b] [red] $x_{$ <i>&\x1b[31m\nb"


@pytest.fixture(scope="module")
def result():
    return RUN.train()


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "results")
    store.prepare()
    return store


# Reading executes no code.

PAYLOAD = "from pathlib import Path\nPath(__file__).with_name('executed').touch()\n"
NAMES = {"explorer": "payload.sub:X", "encoder_options": {"key": "payload.sub:state_key"}}
PAYLOAD_RUN = Run(kind="environment", world="payload.sub:make", settings={"steps": 200}, **NAMES)


def test_reading_results_and_computing_keys_imports_nothing(store, result, tmp_path, processes, monkeypatch):
    (tmp_path / "payload").mkdir()
    for name in ("__init__.py", "sub.py"):
        (tmp_path / "payload" / name).write_text(PAYLOAD)
    monkeypatch.syspath_prepend(tmp_path)
    store.save(PAYLOAD_RUN, result, 0.0)
    assert all(PAYLOAD_RUN.code[1:])
    assert "run written" in processes.command(tmp_path, "results", "results", "--to", "runs.csv")
    assert "payload.sub:X" in (tmp_path / "runs.csv").read_text()
    processes.command(tmp_path, "results", "results", "--columns", "all", "--curves", "--to", "runs.json")
    (exported,) = json.loads((tmp_path / "runs.json").read_text())
    assert exported["key"] == PAYLOAD_RUN.key
    assert list(tmp_path.rglob("executed")) == []


# Stored runs do not become stale.


def key_of(world, **fields):
    return Run(kind="environment", world=world, explorer="random", settings={"steps": 9}, **fields).key


FILES = {
    "elsewhere/far_helper.py": "depends_on = ['far_map.csv']",
    "elsewhere/far_map.csv": "1, 2",
    "elsewhere/unnamed.csv": "1, 2",
    "versioned/__init__.py": "from versioned.physics import make",
    "versioned/physics.py": "def make(): ...",
    "versioned/deep/rewards.py": "REWARD = 1",
    "single_file.py": "def make():\n    from beside import x",
    "beside.py": "import beside_beside as other, far_helper, os",
    "beside_beside.py": "import beside",
    "unrelated.py": "",
}


def test_an_edit_of_any_file_of_an_environment_gives_new_keys(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for world, edited, changes in (
        ("versioned:make", "versioned/__init__.py", True),
        ("versioned.deep.rewards:make", "versioned/physics.py", True),
        ("single_file:make", "single_file.py", True),
        ("single_file:make", "beside_beside.py", True),
        ("single_file:make", "unrelated.py", False),
        ("single_file:make", "elsewhere/far_helper.py", True),
        ("single_file:make", "elsewhere/far_map.csv", True),
        ("single_file:make", "elsewhere/unnamed.csv", False),
    ):
        explorer = f"{world.partition(':')[0]}:Mine"
        before, version = key_of(world), key_of(world, env_version="1")
        before_explorer = Run(world="toy", explorer=explorer).key
        (tmp_path / edited).write_text(FILES[edited] + "\n# edited\n")
        assert (key_of(world) != before) == changes, edited
        assert (Run(world="toy", explorer=explorer).key != before_explorer) == changes, edited
        assert key_of(world, env_version="1") == version
        assert key_of(world, env_version="2") != version


def test_installed_modules_do_not_include_other_packages():
    assert set(source_files("pytest")) >= {"pytest/__init__.py"}
    assert {name.partition("/")[0] for name in source_files("pytest")} == {"pytest"}
    for name in ("wanderlust.environments", "there_is_no_such_module", "../x"):
        assert source_files(name) == {}


def test_a_run_is_not_stored_if_its_code_was_edited_meanwhile(store, tmp_path, monkeypatch):
    code = "import gymnasium\n\ndef make():\n    open(__file__, 'a').write('# edited')\n"
    (tmp_path / "edited_lake.py").write_text(code + "    return gymnasium.make('FrozenLake-v1')\n")
    monkeypatch.syspath_prepend(tmp_path)
    run = Run(kind="environment", world="edited_lake:make", explorer="random", settings={"steps": 20})
    summary = run_all([run], store, jobs=1, time_limit=60)
    assert (summary.executed, ["was edited during the run" in each.error for each in summary.failures]) == (0, [True])


def test_compare_says_what_identifies_the_version_of_an_environment(tmp_path, monkeypatch, run_cli):
    (tmp_path / "noted_lake.py").write_text("import gymnasium\ndef make(): return gymnasium.make('FrozenLake-v1')\n")
    monkeypatch.syspath_prepend(tmp_path)
    arguments = ("compare", "noted_lake:make", "--steps", 60, "--seeds", 1, "--explorers", "random", "--jobs", 1)
    assert "until the code of noted_lake changes: a hash of 1 file" in run_cli.succeeds(*arguments)
    versioned = run_cli.succeeds(*arguments, "--env-version", "v7")
    assert "while the environment's version is 'v7' (--env-version)" in versioned


# No process is left.

LOGGING_LAKE = """
import multiprocessing, os, time
from pathlib import Path
import gymnasium

def make():
    Path(f"started-{os.getpid()}").touch()
    if Path("hang").exists() and multiprocessing.parent_process():
        time.sleep(600)
    return gymnasium.make("FrozenLake-v1")
"""


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_their_parent(how, tmp_path, processes):
    (tmp_path / "logging_lake.py").write_text(LOGGING_LAKE)
    arguments = ["compare", "logging_lake:make", "--steps", "10000", "--seeds", "90", "--explorers", "random"]
    arguments += ["--jobs", "2", "--out", "results", "--time-limit", "600"]  # With a limit, runs have processes.
    if how == signal.SIGKILL:
        (tmp_path / "hang").touch()
    process = processes.start_command(tmp_path, *arguments)
    packs = tmp_path / "results" / "packs"

    def pids():
        return {int(file.name.partition("-")[2]) for file in tmp_path.glob("started-*")}

    wait_until(lambda: len(pids()) == 3)
    if how == signal.SIGTERM:
        wait_until(lambda: list(packs.glob("*.zip")))
    send(process, how)
    try:
        wait_until(lambda: not any(map(is_running, pids())), 30)
    finally:
        for pid in filter(is_running, pids()):
            send(pid, signal.SIGKILL)
    code = processes.wait(process)
    assert code == (143 if how == signal.SIGTERM else -how), "all runs were already finished"
    if how == signal.SIGTERM:
        assert "Traceback" not in (tmp_path / "err.txt").read_text()
        problems = []
        stored = list(Store(tmp_path / "results").load_all(problems))
        assert (len(stored) >= 1, problems) == (True, [])


def test_names_are_printed_as_they_are(tmp_path, processes):
    name = "my[/b] [red]:smile: $x_{$ <i>\n日本.txt"
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text("S.T\n\nT = treasure 1\n")
    folder = "a b ü/日本 (1)"
    arguments = ("--steps", "60", "--seeds", "1", "--explorers", "random", "_mine:Fading", "--out", folder)
    (tmp_path / "_mine.py").write_text("from wanderlust.explorers.counts import Ucb1 as Fading\n")
    names = ["my[/b] [red]:smile: $x_{$ <i>\\n", "_mine:Fading", "random"]
    for encoding, words in (("utf-8", ("compare", name, "--plot", f"{folder}/[b].svg")),
                            ("ascii", ("diagnose", name, "--json", "all.json"))):  # fmt: skip
        before = f"for each in (sys.stdout, sys.stderr): each.reconfigure(encoding={encoding!r})"
        printed = processes.command(tmp_path, *words, *arguments, "--jobs", "1", before=before)
        assert all(each in printed for each in names), printed
        assert (tmp_path / words[-1]).stat().st_size > 1000
    assert json.loads((tmp_path / "all.json").read_text())["environment"] == f"'{name}'"
    assert "_mine:Fading" in (tmp_path / folder / "comparison.csv").read_text()
    processes.command(tmp_path, "results", folder, "--to", "ü $x [red].parquet")


def test_labels_of_figures_are_literal():
    numbers = np.arange(4.0)
    names = [HOSTILE, "$x_{$", "_hidden", "$\\alpha$", "50 $"]
    panels = {"states discovered": dict.fromkeys(names, (numbers, numbers, numbers))}
    figures = []

    def draw():
        figures.append(comparison_figure(HOSTILE, panels, note=HOSTILE))
        return figures[-1]

    assert set(as_files(draw)) == {"png", "svg", "pdf"}
    (legend,) = figures[0].legends
    labels = [text.get_text().replace("\\$", "$").strip() for text in legend.get_texts()]
    assert labels == [HOSTILE.replace("\x1b", "\\x1b").replace("\n", "\\n"), *names[1:]]


def test_narrow_tables_show_all_cells():
    headings = ("explorer", "first termination", "return")
    rows = [["epsilon-greedy", ">1,000,000", "0.25 ± 0.11"], ["vv-ucb", "88", ""]]
    console = Console(width=20, record=True, file=io.StringIO())
    console.print(new_table(headings, rows), crop=False)
    words = console.export_text().replace("│", " ").replace("┃", " ").split()
    assert {word for row in (headings, *rows) for cell in row for word in cell.split()} <= {*words}


@pytest.mark.parametrize(
    ("name", "forged"),
    [
        ("returns", np.array(["a"] * 4)), ("reachable", np.full((), np.inf)), ("first_visit", np.full(4, np.nan)),
        ("steps", np.zeros((2, 2), np.int64)), ("rewards", np.ones((3, 1))), ("episodes", np.ones(4)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_arrays_of_results_are_checked(store, result, name, forged):
    assert ARRAYS.keys() == set(Result._fields), "a new array is declared with its type and shape"
    entry = seal(RUN, result, 0.0)
    with open_archive(entry.contents) as archive:
        metadata, arrays = archive.metadata, archive.read()
    write_pack(store.packs, [entry._replace(contents=archive_bytes(metadata, arrays | {name: forged}))])
    with pytest.raises(BadFile, match=f"{entry.key}.*array '{name}'"):
        store.load(RUN)


@pytest.mark.parametrize(
    ("forged", "place"),
    [
        ({"success": "os:system"}, "success"), ({"finished": 1}, "finished"),
        ({"run": {**RUN.description, "explorer": {}}}, "explorer"),
    ],
)  # fmt: skip
def test_lines_of_results_are_checked(store, result, forged, place):
    entry = seal(RUN, result, 0.0)
    pack = write_pack(store.packs, [entry._replace(line=entry.line | forged)])
    problems = []
    assert list(store.lines(problems)) == []
    assert len(problems) == 1
    assert pack.name in problems[0]
    assert place in problems[0]


# Bad values and paths end in one sentence.

BAD_VALUES = ["abc", -1, 0, 10**30, 1e300, 2.5, True, [1, 2], {"a": {"b": [1]}}]
LAKE = {"kind": "environment", "world": "FrozenLake-v1", "settings": {"steps": 9}}
BINS = {"kind": "environment", "world": "MountainCar-v0", "settings": {"steps": 9}}
BAD_BOUNDS = ["abc", 5, {"0": 3}, {"0": [1]}, {"x": [0, 1]}, {"0": None}, {"0": [0, 10**400]}]


@pytest.mark.parametrize(
    "bad",
    [{"world": "toy", "settings": {"budget": 50, name: value}} for name in ("steps", "horizon") for value in BAD_VALUES]
    + [{**LAKE, "settings": {"steps": 50, "evaluate_every": value}} for value in BAD_VALUES]
    + [{**LAKE, "episodes": value} for value in (0, "a", 10**13)]
    + [{**BINS, "encoder_options": {"bins": 4, "bounds": bounds}} for bounds in BAD_BOUNDS]
    + [{"world": "\ud800"}, {"world": "toy", "explorer": "\udc00:X"}],
)
def test_bad_fields_of_a_run_are_one_sentence(bad):
    with pytest.raises(WanderlustError) as caught:
        Run.from_json(json.dumps({"explorer": "random", **bad})).train()
    assert "\n" not in str(caught.value)


def test_a_description_that_is_nested_too_deeply():
    nested = "[" * 200_000 + "]" * 200_000
    with pytest.raises(InvalidSetting):
        Run.from_json('{"world":"toy","explorer":"random","settings":{"budget":' + nested + "}}")


COMPARE = ("compare", "FrozenLake-v1", "--steps", 60, "--seeds", 1, "--explorers", "random")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", RUN.json, "--out", LONG),
        ("run", RUN.json, "--out", "/proc/nothing"),
        ("run", RUN.json, "--out", "file"),
        ("run", '{"world":"toy","explorer":"random","settings":{"evaluate_every":"x"}}'),
        ("results", LONG, "--to", "runs.csv"),
        ("results", "file", "--to", "runs.csv"),
        ("results", "results", "--to", f"{LONG}.csv"),
        ("results", "results", "--to", "file/runs.parquet"),
        *(("results", "results", "--to", f"full{suffix}") for suffix in SUFFIXES),
        ("report", LONG),
        ("report", "file"),
        (*COMPARE, "--out", LONG),
        (*COMPARE, "--plot", f"{LONG}.png"),
        ("compare", f"{LONG}.txt"),
        ("diagnose", *COMPARE[1:], "--json", LONG),
        ("diagnose", *COMPARE[1:], "--json", "/dev/full"),
    ],
)
def test_paths_that_cannot_be_used(arguments, command, store, tmp_path, result):
    is_full = arguments[-1] == "/dev/full" or str(arguments[-1]).startswith("full.")
    if is_full and not Path("/dev/full").is_char_device():
        pytest.skip("there is no /dev/full")
    store.save(RUN, result, 0.0)
    for suffix in SUFFIXES:
        (tmp_path / f"full{suffix}").symlink_to("/dev/full")
    (tmp_path / "file").write_text("text")
    code, printed = command(*arguments)
    assert code == 2, printed
    assert printed.splitlines()[-1].startswith("wanderlust: ")
    assert "Traceback" not in printed
    assert ("cannot be written (No space left" in printed) == is_full
    assert (tmp_path / "file").read_text() == "text"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_named_pipes_block_no_command(command, store, tmp_path, result):
    """Neither where files are read, of which one that is bad does not stop the others, nor where they are written."""
    store.save(RUN, result, 0.0)
    sweep = wl.Sweep(worlds="toy", explorers="random", settings={"steps": 20}, seeds=1, name="good")
    sweep.run(store.folder, quiet=True)
    pipes = [store.packs / "9.zip", *(store.folder / "status" / f"bad{end}" for end in (".keys.npz", ".json"))]
    pipes += [store.folder / "sweeps" / "bad" / "sweep.json", store.folder / "exams" / "bad" / "exam.json"]
    for pipe in (*pipes, tmp_path / "runs.csv"):
        pipe.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(pipe)
    for name, good, bad in (
        ("results", "2 of 2 stored runs", pipes[:1]),
        ("status", "good", pipes[:2]),
        ("report", "Sweep good", [pipes[0], *pipes[3:]]),
    ):
        code, printed = command(name, "results")
        assert (code, good in printed) == (0, True), printed
        assert all(f"{pipe.name}: cannot be read" in printed for pipe in bad)
    train = ("train", "FrozenLake-v1", "--explorer", "random", "--steps", 20, "--log", "runs.csv")
    for arguments in (("results", "results", "--to", "runs.csv"), train):
        code, printed = command(*arguments)
        assert (code, "runs.csv: cannot be written" in printed) == (2, True), printed


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the size of files as Linux does")
def test_a_failed_export_keeps_the_file_that_was_there(store, result, tmp_path, processes):
    store.save(RUN, result, 0.0)
    (tmp_path / "before.parquet").write_text("before")
    limit = "import resource, signal, pyarrow.parquet; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))"
    printed = processes.command(tmp_path, "results", "results", "--to", "before.parquet", code=2, before=limit)
    assert "cannot be written" in printed
    assert (tmp_path / "before.parquet").read_text() == "before"
