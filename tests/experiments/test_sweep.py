"""Sweeps: one description in TOML, on the command line and in Python; execution, status, tables and reports."""

import io
import json
import re
import sys

import numpy as np
import pytest
from rich.console import Console

import wanderlust as wl
from conftest import FAULTS, run_python
from process_server import send, wait_until
from wanderlust.cli.sweep import SweepOptions, from_options, read_values
from wanderlust.core.errors import InvalidSetting, UnknownName, WanderlustError
from wanderlust.experiments.execute import driver
from wanderlust.experiments.execute import progress as status
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.execute.progress import Progress
from wanderlust.experiments.report.figures import as_files
from wanderlust.experiments.report.sweep_report import sweep_report
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store
from wanderlust.experiments.sweep import values_of
from wanderlust.experiments.table import condition, superseded

pytestmark = [pytest.mark.slow, pytest.mark.first]

DESCRIPTION = """
name = "kappa"
worlds = ["prison", "toy"]
explorers = ["vv-ucb", "random"]
seeds = 2

[settings]
steps = 100
kappa = [0.1, 1]
gamma_w = { from = 0.9, to = 0.99, count = 2 }

[[exclude]]
world = "toy"
kappa = 1
"""


@pytest.fixture
def toml(tmp_path):
    """Return a function that writes a description and reads it as a sweep."""

    def read(text):
        path = tmp_path / "sweep.toml"
        path.write_text(text)
        return wl.Sweep.from_file(path)

    return read


# --- The description -------------------------------------------------------------------------------------


def test_a_file_the_command_line_and_python_give_the_same_sweep(toml):
    from_file = toml(DESCRIPTION)
    words = SweepOptions(
        world=("prison", "toy"),
        explorer=("vv-ucb", "random"),
        set=("steps=100", "kappa=0.1,1", 'gamma_w={"from":0.9,"to":0.99,"count":2}'),
        exclude=("world=toy kappa=1",),
        seeds="2",
        name="kappa",
    )
    from_python = wl.Sweep(
        name="kappa",
        worlds=["prison", "toy"],
        explorers=["vv-ucb", "random"],
        settings={"steps": 100, "kappa": [0.1, 1], "gamma_w": [0.9, 0.99]},
        seeds=range(2),
        exclude=[{"world": "toy", "kappa": 1}],
    )
    assert from_file.runs == from_options(words).runs == from_python.runs
    # The random explorer has neither option: one setting per world.
    assert len(from_file.runs) == 2 * (4 + 1) + 2 * (2 + 1)
    sweep = wl.Sweep(worlds="toy", explorers={"vv-ucb": {"kappa": np.array([0.1, 1.0])}}, seeds=range(3))
    copy = wl.Sweep.from_description(json.loads(sweep.json))
    assert (copy, hash(copy), copy.runs) == (sweep, hash(sweep), sweep.runs)
    assert sweep.name.startswith("sweep-")


def test_options_of_one_explorer_and_fields_of_a_run():
    sweep = wl.Sweep(
        worlds={"deep-sea": {"depth": [5, 6]}},
        explorers={"vv-ucb": {"kappa": [0.1, 1]}, "random": {}},
        memory=["full", {"memory": "window", "capacity": 9}],
        presets=["as_written", "as_published_code"],
        settings={"steps": 50},
        seeds=[4],
    )
    assert len(sweep.runs) == 2 * (2 + 1) * 2 * 2
    run = sweep.runs[-1]
    assert (run.world_options["depth"], run.seed, run.preset) == (6, 4, "as_published_code")
    assert run.settings["replay"] == {"memory": "window", "capacity": 9}
    assert {run.explorer_options.get("kappa") for run in sweep.runs} == {0.1, 1, None}


def test_zipped_groups_change_together():
    sweep = wl.Sweep(zip=[{"world": ["prison", "taxi"], "steps": [100, 200]}], explorers="random", seeds=1)
    assert [(run.world, run.settings["steps"]) for run in sweep.runs] == [("prison", 100), ("taxi", 200)]
    seeds = wl.Sweep(worlds="toy", zip=[{"explorer": ["random", "ucb1"], "seed": [5, 6]}], settings={"steps": 9})
    assert [(run.explorer, run.seed) for run in seeds.runs] == [("random", 5), ("ucb1", 6)]


def test_environments_and_maps(tmp_path):
    (tmp_path / "maze.txt").write_text("S.T\n\nT = treasure 1\n")
    sweep = wl.Sweep(
        worlds=[str(tmp_path / "maze.txt")],
        environments={"FrozenLake-v1": {"map_name": ["4x4", "8x8"]}},
        explorers="random",
        settings={"steps": 60},
        encoders={"reset_seed": 3},
        episodes=2,
        seeds=1,
    )
    maze, *lakes = sweep.runs
    assert (maze.kind, maze.world) == ("world", "maze")
    assert maze.world_options["map"].startswith("S.T\n")
    assert [run.world_options["map_name"] for run in lakes] == ["4x4", "8x8"]
    assert lakes[0].encoder_options == {"reset_seed": 3}
    assert lakes[0].episodes == 2


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"from": 1, "to": 9, "step": 2}, [1, 3, 5, 7, 9]), ({"from": 0, "to": 0.3, "step": 0.1}, [0, 0.1, 0.2, 0.3]),
        ({"from": 0.1, "to": 10, "count": 3, "scale": "log"}, [0.1, 1, 10]), ([[0, 1]], [[0, 1]]),
        ("3..6", [3, 4, 5, 6]), ("full,none", ["full", "none"]), ("[0,1]", [[0, 1]]), ("true", [True]),
    ],
)  # fmt: skip
def test_ranges_and_lists(given, values):
    assert (read_values(given) if isinstance(given, str) else values_of((), given)) == values


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kappa = [0.1", "kapa = [0.1", r"toml: settings\.kapa: unknown setting or option .* Did you mean 'kappa'"),
        ("steps = 100", "discount = 2", r"toml: settings\.discount: discount must be in \[0, 1\)"),
        ('"toy"]', '"tyo"]', r"toml: worlds\.tyo: unknown world 'tyo'. Did you mean 'toy'"),
        ('"random"]', '"randm"]', r"toml: explorers\.randm: unknown explorer 'randm'"),
        ("seeds = 2", "seeds = 0", r"toml: seeds: the number of seeds"),
        ("seeds = 2", "memory = 'fll'", r"toml: memory: .* Did you mean 'full'"),
        ("kappa = [0.1, 1]", "kappa = []", r"toml: settings\.kappa: the list is empty"),
        ("count = 2", "cuont = 2", r"toml: settings\.gamma_w\.cuont: .* Did you mean 'count'"),
        ("seeds = 2", "seeds = [", "not a TOML file"),
        ("seeds = 2", "zip = [{kappa = [1], steps = [1, 2]}]", r"toml: zip\.0: .* kappa has 1, steps has 2"),
        ("seeds = 2", "zip = [{kappa = [1]}]", r"'kappa' is given twice: in settings\.kappa and in zip\.0"),
        ('worlds = ["prison", "toy"]', "", r"worlds: give at least one world"),
        ("seeds = 2", 'presets = "as_writen"', r"toml: presets: .* Did you mean 'as_written'"),
        ('world = "toy"', 'world = "tyo"', r"toml: exclude\.0: excludes nothing: no combination has world"),
        ("seeds = 2", 'environments = ["FrozenLak-v1"]', r"toml: environments\.FrozenLak-v1: unknown environment"),
        ("seeds = 2", "episodes = 3", r"toml: episodes: only runs in environments have the field 'episodes'"),
        ("steps = 100", "horizon = [1, inf]", r"toml: settings\.horizon: must be a text, a finite number"),
        ('"toy"]', '"FrozenLake-v1"]', r"toml: worlds\.FrozenLake-v1: .* a key of their own, 'environments'"),
        ('["vv-ucb", "random"]', "{vv-ucb = {}, random = {log_plus_one = 1}}", r"toml: .*: random has no option"),
    ],
)
def test_errors_name_the_key(toml, old, new, message):
    assert old in DESCRIPTION
    with pytest.raises(WanderlustError, match=message):
        toml(DESCRIPTION.replace(old, new))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"worlds": (), "zip": [{"world": ["toy", "tyo"]}]}, r"zip\.0\.world: unknown world 'tyo'"),
        ({"explorers": (), "zip": [{"explorer": ["ucb1", "randm"]}]}, r"zip\.0\.explorer: .* 'randm'"),
        ({"worlds": (), "environments": "FrozenLake-v1", "settings": {}}, "environments: .* need the setting 'steps'"),
        ({"worlds": (), "environments": "FrozenLake-v1", "until": "budget"}, "until: only runs in worlds"),
        ({"exclude": [{"world": "toy"}]}, "every combination is excluded"),
        ({"presets": ["as_written", "adaptive"]}, "presets: preset 'adaptive' .* environments only.*toy"),
        # It is taken for an option of the environment, which the environment refuses.
        ({"worlds": (), "environments": "FrozenLake-v1", "settings": {"steps": 9, "kapa": 1}},
         r"environments\.FrozenLake-v1: .*kapa.*unknown name in settings"),
    ],
)  # fmt: skip
def test_errors_of_what_does_not_fit_together(fields, message):
    with pytest.raises(InvalidSetting, match=message):
        wl.Sweep(**{"worlds": "toy", "explorers": "vv-ucb", "settings": {"steps": 9}, **fields}).check_environments()


def test_presets_of_worlds_and_environments():
    fields = {"explorers": "vv-ucb", "settings": {"steps": 9}, "seeds": 1, "presets": ["as_written", "adaptive"]}
    fields |= {"worlds": "toy", "environments": "FrozenLake-v1"}
    runs = wl.Sweep(**fields, exclude=[{"world": "toy", "preset": "adaptive"}]).runs
    presets = [("world", "as_written"), ("environment", "as_written"), ("environment", "adaptive")]
    assert [(run.kind, run.preset) for run in runs] == presets


# --- Execution -------------------------------------------------------------------------------------------


def test_results_are_tables(tmp_path):
    pytest.importorskip("pandas", reason="needs pandas")
    pytest.importorskip("polars", reason="needs polars")
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    sweep = wl.Sweep(worlds="toy", explorers={"vv-ucb": {"kappa": [0.1, 1]}, "random": {}}, seeds=2,
                     settings={"steps": 100})  # fmt: skip
    results = sweep.run(tmp_path / "a b", quiet=True)
    assert (len(results), results.failures) == (6, [])
    table = results.to_pandas()
    assert list(table["seed"]) == [0, 1] * 3
    assert table["kappa"].isna().sum() == 2
    assert table["steps"].unique().tolist() == [100]
    run = sweep.runs[0].train()
    assert np.array_equal(table["curve_returns"][0], run.returns)
    assert table["success"][0] == run.success
    assert results.to_polars().shape == results.to_arrow().shape == table.shape
    assert results.to_polars()["curve_returns"][0].to_list() == run.returns.tolist()


def test_commands(command, toml, tmp_path):
    toml(DESCRIPTION)
    code, plan = command("sweep", "sweep.toml", "--dry-run")
    assert code == 0
    assert re.search(r"runs +16\nstored +0 in results\nto execute +16\ntime +about", plan)
    assert not (tmp_path / "results").exists()
    code, printed = command("sweep", "sweep.toml", "--jobs", 1)
    assert (code, "16 runs executed in" in printed) == (0, True)
    assert "to execute  0" in command("sweep", "sweep.toml", "--dry-run")[1]
    code, printed = command("status", "results")
    assert code == 0
    assert re.search(r"kappa +│ +16 │ 16 \(100 %\) │ +0 │ +0 │", printed)
    code, printed = command("report", "results", "--formats", "svg")
    assert code == 0
    assert "best in prison: vv-ucb" in printed
    folder = tmp_path / "results" / "sweeps" / "kappa"
    assert {file.name for file in folder.iterdir()} == {"sweep.json", "table.md", "table.csv", "plot.svg", "curves.svg"}
    words = ("--formats", "png", "--out", "figures", "--measure", "steps_to_learn")
    code, printed = command("report", "results", *words)
    assert (code, "steps to learn" in printed) == (0, True), printed
    assert [file.name for file in (tmp_path / "figures" / "sweeps" / "kappa").glob("plot.*")] == ["plot.png"]
    words = ("--where", 'world=="prison" and kappa>=1', "--columns", "kappa", "success", "--sort", "success")
    code, printed = command("results", "results", *words)
    assert (code, "4 of 16 stored runs" in printed) == (0, True)
    assert command("results", "results", "--to", "all.csv")[0] == 0
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 17
    for words, message in ((("--world", "toy"), "not both"), (("--on", "mars"), "'ray://HOST:PORT', got 'mars'")):
        code, printed = command("sweep", "sweep.toml", *words)
        assert (code, message in printed) == (2, True)


def test_results_of_one_sweep_and_of_the_current_code(tmp_path, command):
    runs = {name: wl.Sweep(worlds="toy", explorers="random", settings={"steps": 20}, seeds=n, name=name)
            for name, n in (("one", 1), ("two", 3))}  # fmt: skip
    for sweep in runs.values():
        sweep.run(tmp_path, quiet=True)
    for name, sweep in runs.items():
        for more in ((), ("--all-versions",)):
            code, printed = command("results", str(tmp_path), "--sweep", name, *more)
            assert (code, f"{len(sweep.runs)} of {len(sweep.runs)} stored run" in printed) == (0, True), printed
    assert command("results", str(tmp_path), "--sweep", "three")[0] == 2
    line = next(Store(tmp_path).lines([]))
    old, new = ({**line, "key": key, "finished": "2999"} for key in ("old", "new"))
    assert superseded([new, old, line]) == {"new", "old"}, "the code is as it was for the first one"
    assert superseded([new, old]) == {"old"}


def test_a_report_of_many_settings_prints_the_best_one(tmp_path):
    settings = {"steps": 300, "kappa": {"from": 0, "to": 4, "count": 50}}
    sweep = wl.Sweep(worlds="prison", explorers="ucb1", settings=settings, seeds=1)
    sweep.run(tmp_path, quiet=True)
    first, best, *_ = sweep_report(sweep, Store(tmp_path), []).renderables
    assert "50 of 50 runs stored. The table of its 50 settings is in table.md" in first.plain
    assert best.plain.startswith("best in prison: ucb1, kappa=")


def test_settings_are_compared_within_a_world_and_its_options(tmp_path):
    (tmp_path / "easy.txt").write_text("S.T\n\nT = treasure 1\n")
    (tmp_path / "hard.txt").write_text("S...........T\n\nT = treasure 1\n")
    maps = [str(tmp_path / name) for name in ("easy.txt", "hard.txt")]
    sweep = wl.Sweep(
        worlds={**{name: {} for name in maps}, "deep-sea": {"depth": [5, 20]}},
        explorers=["vv-ucb", "random"],
        settings={"steps": 300},
        seeds=[4, 7],
    )
    sweep.run(tmp_path, quiet=True)
    report = sweep_report(sweep, Store(tmp_path), [])
    table = report.files["table.md"]
    assert "best in deep-sea, depth=5: vv-ucb: success" in table
    assert "best in deep-sea, depth=20: none; its settings have equal means" in table
    assert "best in hard: vv-ucb: success" in table
    # The text of a map is not shown.
    assert "treasure" not in table


def test_a_report_needs_no_code_of_the_explorers(tmp_path, monkeypatch, command):
    """A report needs none of the modules that its runs used, and imports none of them."""
    source = "from typing import NamedTuple\nclass Own(NamedTuple):\n    x: float\n    @classmethod\n"
    source += "    def configure(cls, problem, *, x: float = 1.0):\n        return cls(float(x))\n"
    (tmp_path / "sweep_explorer.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    sweep = wl.Sweep(worlds="toy", explorers="sweep_explorer:Own", settings={"steps": 20, "x": [1, 2]}, seeds=2)
    assert len(sweep.run(tmp_path / "results", jobs=1, quiet=True)) == 4
    (tmp_path / "sweep_explorer.py").unlink()
    sys.modules.pop("sweep_explorer")
    code, printed = command("report", str(tmp_path / "results"))
    assert (code, "4 of 4 runs stored" in printed) == (0, True)
    assert "sweep_explorer" not in sys.modules


def test_a_report_without_the_list_of_runs(tmp_path):
    """The driver was killed before the first run; other sweeps of the folder still have a report."""
    sweep = wl.Sweep(worlds="toy", explorers="random", settings={"steps": 20}, seeds=1, name="early")
    sweep.run(tmp_path, quiet=True)
    (tmp_path / "status" / "early.keys.npz").unlink()
    problems = []
    (text,) = sweep_report(sweep, Store(tmp_path), problems).renderables
    assert "Sweep early: no run is stored" in text.plain
    assert "early.keys.npz" in problems[0]


def test_status_does_not_import_numba(tmp_path):
    """It would take most of a second."""
    wl.Sweep(worlds="toy", explorers="random", settings={"steps": 20}, seeds=1).run(tmp_path, quiet=True)
    code = "import sys; from wanderlust.cli.main import main; sys.argv = ['w', 'status', sys.argv[1]]; main()"
    code += "; assert 'numba' not in sys.modules"
    done = run_python(code, tmp_path)
    assert (done.returncode, done.stderr, "1 run stored" in done.stdout) == (0, "", True)


def test_a_condition_executes_nothing():
    assert condition("kappa > 1 and not world in ['toy']", ["kappa", "world"])({"kappa": 2, "world": "prison"})
    assert not condition("kappa > 1", ["kappa"])({"kappa": None})
    for text in ("__import__('os')", "world.upper()", "[x for x in 'a']", "world[0]", "2 ** 9", "lambda: 1", "("):
        with pytest.raises(InvalidSetting):
            condition(text, ["world"])
    with pytest.raises(UnknownName, match=r"Did you mean 'kappa'.* A text is in quotes"):
        condition("kapa > 1", ["kappa"])
    with pytest.raises(InvalidSetting, match=r"'world=prison' is not valid \(invalid syntax\)"):
        condition("world=prison", ["world"])


@pytest.mark.parametrize(
    "swept", [{"kappa": [0.1, 1], "gamma_w": [0.9, 0.99]}, {"kappa": [0.1, 1, 10]}, {}], ids=["two", "one", "none"]
)
def test_figures(tmp_path, swept):
    names = ["vv-ucb", "random"]
    sweep = wl.Sweep(worlds=["toy", "prison"], explorers=names, settings={"steps": 60, **swept}, seeds=2)
    sweep.run(tmp_path, quiet=True)
    report = sweep_report(sweep, Store(tmp_path), [])
    figure = report.figures["plot"]()
    # Over kappa, or over the explorers; a panel for each world.
    assert [axes.get_xlabel() for axes in figure.axes] == ["kappa" if swept else "explorer"] * 2
    files = as_files(report.figures["plot"], ("png", "svg"))
    assert files["png"] == as_files(report.figures["plot"], ("png",))["png"]
    assert len(files["svg"]) > 5000
    assert report.files["table.csv"].count("\n") == 1 + len(sweep.runs) // 2


def faulty(name, seed=0):
    return Run(kind="environment", world=f"sweep_faults:{name}", explorer="random", seed=seed, settings={"steps": 50})


REASONS = {"leaves": "SystemExit: 4", "raises": "out of order", "hungry": "more memory than there is"}
EXITS = {"exits": "ended with exit code 3. This happened 2 times", "hangs": "limit of 3 s"}


@pytest.mark.parametrize(
    ("reasons", "options"), [(REASONS, {"processes": False}), (REASONS | EXITS, {"time_limit": 3})], ids=["threads", ""]
)
def test_every_end_of_user_code_ends_only_its_run(tmp_path, monkeypatch, reasons, options):
    """In a process, also one that exits or hangs."""
    monkeypatch.setattr(driver, "MAX_TRIES", 2)
    (tmp_path / "sweep_faults.py").write_text(FAULTS)
    monkeypatch.syspath_prepend(tmp_path)
    bad = {faulty(name): reason for name, reason in reasons.items()}
    bad |= {Run(world="toy", explorer="vv-ubc"): "'vv-ucb'", Run(world="atlantis", explorer="random"): "'atlantis'"}
    good = [Run(world=world, explorer="random", settings={"steps": 50}) for world in ("toy", "prison", "noisy-toy")]
    progress = Progress(Console(file=(text := io.StringIO()), width=300))
    summary = run_all([*bad, *good], store := Store(tmp_path), jobs=2, name="faults", progress=progress, **options)
    assert summary.executed == len(good)
    assert all(run.command in text.getvalue() for run in bad)
    assert {failure.run for failure in summary.failures} == set(bad)
    assert all(bad[failure.run] in failure.error for failure in summary.failures)
    (state,) = status.read_all(store, [])
    assert (state.total, state.done, state.failed, state.active) == (3 + len(bad), 3, len(bad), False)
    assert {entry["repeat"] for entry in status.failures(tmp_path)} == {run.command for run in bad}


# Not in the first step of the driver's main thread, which compiles and can be interrupted.
HANGS = """
import multiprocessing, threading
def hang():
    if multiprocessing.parent_process() or threading.current_thread() is not threading.main_thread():
        os.write(1, b"hangs\\n")  # one write: the lines of two threads do not mix
        time.sleep(600)
def hangs_later(): return Fault(hang)
"""


@pytest.mark.parametrize("in_processes", [False, True])
def test_an_interrupt_ends_a_sweep_whose_runs_hang(tmp_path, processes, in_processes):
    (tmp_path / "sweep_faults.py").write_text(FAULTS + HANGS)
    code = f"""
import sys
sys.path.insert(0, ".")
import wanderlust as wl
import wanderlust.experiments.execute.driver as driver
driver.SECONDS_TO_STOP = 0.5
runs = [wl.Run.from_json(text) for text in {[faulty("hangs_later", seed).json for seed in range(2)]}]
wl.run_all(runs, wl.Store("."), jobs=2, processes={in_processes})
"""
    process = processes.start(tmp_path, code)
    wait_until(lambda: (tmp_path / "out.txt").exists() and "hangs\n" in (tmp_path / "out.txt").read_text())
    send(process)
    wait_until(lambda: "interrupted; 2 runs left" in (tmp_path / "err.txt").read_text())
    processes.wait(process)
