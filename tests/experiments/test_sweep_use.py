"""Sweeps as a lab uses them, each command in a process of its own."""

import json
import os
import platform
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import wanderlust as wl
from wanderlust._numba.cache import numba_version
from wanderlust.experiments.execute.driver import Batches
from wanderlust.experiments.report.sweep_report import best_settings, settings_of, sweep_report
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store, read_pack, seal

pytestmark = pytest.mark.slow

SOURCES = Path(wl.__file__).parents[1]
LAKE = "import gymnasium as gym\n\ndef lake():\n    return gym.make('FrozenLake-v1')\n"


def rows_of(processes, folder, *words):
    processes.command(folder, "results", "results", "--to", "rows.json", *words)
    return json.loads((folder / "rows.json").read_text())


def git(folder, *words):
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_commit_of_the_code_and_the_removal_of_results_of_earlier_code(tmp_path, processes):
    code = tmp_path / "lake_of_a_lab.py"
    code.write_text(LAKE)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", code.name)
    git(tmp_path, "commit", "-q", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")[:12]
    for text in (LAKE, LAKE + "# edited\n"):
        code.write_text(text)
        words = "sweep --environment lake_of_a_lab:lake --explorer random --set steps=50 --seeds 2 --jobs 1"
        processes.command(tmp_path, *words.split())
    old_and_new = rows_of(processes, tmp_path, "--all-versions")
    assert {(row["numpy"], row["numba"]) for row in old_and_new} == {(np.__version__, numba_version())}
    assert ({row["host"] for row in old_and_new}, len({row["code"] for row in old_and_new})) == ({platform.node()}, 2)
    assert sorted(row["git"] for row in old_and_new) == [commit, commit, f"{commit}-dirty", f"{commit}-dirty"]
    code.write_text(LAKE)
    found = rows_of(processes, tmp_path, "--curves")
    assert sorted(row["git"] for row in found) == [commit, commit], "the code of today"
    code.write_text(LAKE + "# edited\n")
    assert "2 of 4 stored results would be removed" in processes.command(tmp_path, "clean", "results")
    assert len(Store(tmp_path / "results").stored_keys()) == 4
    assert "2 of 4 stored results removed" in processes.command(tmp_path, "clean", "results", "--delete")
    listed = processes.command(tmp_path, "results", "results")
    assert ("2 of 2 stored runs" in listed, "of other code" in listed) == (True, False)
    code.unlink()
    listed = processes.command(tmp_path, "results", "results")
    assert "2 of the results below are of other code than the present one" in listed
    assert "2 of 2 runs stored" in processes.command(tmp_path, "report", "results", "--formats", "svg")
    assert "nothing to remove" in processes.command(tmp_path, "clean", "results"), "the only results of a run stay"


def test_the_value_of_the_best_of_many_equal_settings_is_not_too_high(tmp_path):
    """Settings that differ by noise only: the best one is measured on other seeds than those it was chosen on."""
    mean, deviation, n_seeds = 50.0, 10.0, 10
    sweep = wl.Sweep(worlds="toy", explorers="ucb1", settings={"kappa": list(range(120))}, seeds=n_seeds, name="noise")
    random, store = np.random.default_rng(7), Store(tmp_path)
    example = Run(world="toy", explorer="random", settings={"steps": 100}).train()
    results = [example._replace(returns=np.full(2, 0.01 * random.normal(mean, deviation)), optimal_return=np.array(1.0))
               for _ in sweep.runs]  # fmt: skip
    store.add([seal(run, result, 1.0) for run, result in zip(sweep.runs, results, strict=True)])
    (best,) = (found[""] for found in best_settings(settings_of(list(store.lines([])))).values())
    standard_error = deviation / (n_seeds / 2) ** 0.5
    assert abs(best.measured.estimate - mean) < 2 * standard_error
    assert best.setting.on([1, 3, 5, 7, 9]).estimate > mean + 2 * standard_error, "as the best of the seeds it has"
    assert best.measured.mean.low < mean < best.measured.mean.high
    assert (len(best.measured), best.note) == (5, "chosen on others")


def test_one_seed_is_not_validated_and_each_explorer_has_a_best_setting(tmp_path):
    sweep = wl.Sweep(
        worlds="prison", explorers={"ucb1": {"kappa": [0.1, 10]}, "vv-ucb": {}}, settings={"steps": 400}, seeds=[5]
    )
    sweep.run(tmp_path, quiet=True)
    table = sweep_report(sweep, Store(tmp_path), [], "area_under_curve").files["table.md"]
    assert "best in prison: vv-ucb: area under the curve" in table
    assert "on 1 seed, not validated" in table
    assert "best of vv-ucb in prison: vv-ucb: area under the curve" in table
    assert "best of ucb1 in prison: kappa=" in table


CAVE = """
import gymnasium as gym

class Cave(gym.Wrapper):
    def step(self, action):
        treasures, depth = [1, 2, 3], 4
        return treasures[depth]

def cave():
    return Cave(gym.make("FrozenLake-v1"))
"""


def test_the_traceback_of_user_code_is_kept_and_a_debugger_opens_there(tmp_path, run_cli, processes, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "cave_of_a_lab.py").write_text(CAVE)
    sweep = "sweep --environment cave_of_a_lab:cave --explorer random --set steps=9 --seeds 2 --jobs 1"
    code, _, printed = run_cli(*sweep.split())
    assert (code, printed.count("  repeat: "), printed.count("return treasures[depth]")) == (1, 1, 1), printed
    short = run_cli.succeeds("status", "results")
    assert ("failed, 2 runs" in short, "return treasures[depth]" in short) == (True, False)
    code, printed, _ = run_cli("status", "results", "--failures")
    assert (printed.count("return treasures[depth]"), printed.count("  repeat: ")) == (1, 2)
    (key, _) = re.findall("^  ([0-9a-f]{24}) ", printed, re.MULTILINE)
    allowed = ["--allow-code", "cave_of_a_lab"]
    assert " ".join(allowed) in run_cli.fails("run", key)
    assert "has no run with the key 'a'" in run_cli.fails("run", "a")
    # In a process of its own, as a debugger ends the tracing of this one.
    (tmp_path / "typed").write_text("p depth, treasures\nq\n")
    code = f"import sys; sys.stdin = open('typed'); sys.argv = {['wanderlust', 'run', key, *allowed, '--debug']!r}\n"
    code, printed, _ = processes.run(tmp_path, f"{code}import wanderlust.cli.main as m; m.main()")
    assert (code, "(4, [1, 2, 3])" in printed) == (1, True), printed
    assert "2 runs skipped" in run_cli(*sweep.split(), "--skip-failed")[2]
    assert "failed, 2 runs" in run_cli.succeeds("status", "results"), "they stay in the list"


SWEEP = """
worlds = ["toy"]
explorers = ["ucb1"]
seeds = 4
settings = {steps = 50, kappa = [0.1, 1, 10]}
"""


def test_a_job_array_executes_every_run_once_and_folders_are_joined_by_copying(tmp_path, run_cli):
    """The script of the documentation, as plain processes; the second task writes to a folder of another machine."""
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "sweeps.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```bash\n(#!/bin/sh\n#SBATCH.*?)```", guide, re.DOTALL)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "sweep.sh").write_text(script.replace("--out results", '--out "$OUT"'))
    (tmp_path / "wanderlust").write_text(f'#!/bin/sh\nexec {sys.executable} -m wanderlust "$@"\n')
    (tmp_path / "wanderlust").chmod(0o755)
    variables = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(SOURCES)}
    variables |= {"SLURM_ARRAY_TASK_COUNT": "2", "SLURM_CPUS_PER_TASK": "1"}
    tasks = [subprocess.Popen(["sh", "sweep.sh"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env={**variables, "SLURM_ARRAY_TASK_ID": number, "OUT": out})
             for number, out in (("1", "results"), ("2", "elsewhere"))]  # fmt: skip
    errors = [task.communicate()[1].decode() for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0], errors
    assert sum(len(pack) for each in ("results", "elsewhere") for pack in packs(tmp_path / each)) == 12
    assert re.search(r"│ sweep +│ +12 │ +6 \(50 %\)", run_cli.succeeds("status", "results"))
    subprocess.run(["cp", "-R", "elsewhere/.", "results/"], cwd=tmp_path, check=True)
    printed = run_cli.succeeds("status", "results")
    assert all(re.search(rf"│ {name} +│ +{n} │ +{n} \(100 %\)", printed)
               for name, n in (("sweep", 12), ("sweep 2 of 2", 6)))  # fmt: skip
    assert "I/N, such as 1/8" in run_cli.fails("sweep", "sweep.toml", "--shard", "0/3")


def packs(folder):
    return [read_pack(path) for path in (folder / "packs").glob("*.zip")]


def test_a_sweep_does_not_replace_another_one_of_the_same_name(tmp_path, run_cli):
    (tmp_path / "sweep.toml").write_text(SWEEP)
    run_cli.succeeds("sweep", "sweep.toml")
    (tmp_path / "sweep.toml").write_text(SWEEP.replace("seeds = 4", "seeds = 5"))
    assert "3 runs executed" in run_cli.succeeds("sweep", "sweep.toml"), "more seeds"
    (tmp_path / "sweep.toml").write_text(SWEEP.replace("10]", "9]"))
    for words in (("--dry-run",), ()):
        printed = run_cli.fails("sweep", "sweep.toml", *words)
        assert "another sweep named 'sweep', with 7 runs that this one does not have. Give this one" in printed
    assert "15 │ 15 (100 %)" in run_cli.succeeds("status", "results")


def test_the_first_seeds_of_all_settings_are_executed_first():
    sweep = wl.Sweep(worlds=["toy", "prison"], explorers="ucb1", settings={"kappa": [1, 2, 3], "steps": 50}, seeds=3)
    batches = Batches(sweep.runs, 0.0)
    order = [batches.next(1)[0] for _ in sweep.runs]
    for world in ("toy", "prison"):
        assert [run.seed for run in order if run.world == world] == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_tables_without_curves_read_no_archive(tmp_path, run_cli):
    sweep = wl.Sweep(worlds=["toy", "prison"], explorers="ucb1", settings={"kappa": [1, 2], "steps": 50}, seeds=2)
    results = sweep.run(tmp_path / "results", quiet=True)
    rows = [{name: row[name] for name in row if "curve_" not in name} for row in results.rows()]
    for path in (tmp_path / "results" / "packs").glob("*.zip"):
        contents = bytearray(path.read_bytes())
        for offset, size, _ in read_pack(path).places.values():
            contents[offset : offset + size] = bytes(size)
        path.write_bytes(contents)
    assert results.rows(curves=False) == rows
    run_cli.succeeds("results", "results", "--to", "rows.json")
    assert json.loads((tmp_path / "rows.json").read_text()) == sorted(
        rows, key=lambda row: (row["world"], row["kappa"], row["seed"])
    )
    if find_spec("pandas"):
        assert list(results.to_pandas(curves=False)["success"]) == [row["success"] for row in rows]


def test_learning_curves_of_the_best_settings(tmp_path):
    sweep = wl.Sweep(worlds="toy", environments="FrozenLake-v1", explorers=["random", "ucb1"], seeds=4,
                     settings={"steps": 100, "kappa": [0.1, 1]})  # fmt: skip
    sweep.run(tmp_path, quiet=True)
    figures = sweep_report(sweep, Store(tmp_path), []).figures
    for name, unit in (("curves", "return (% of optimum)"), ("returns", "return")):
        figure = figures[name]()
        assert [axes.get_ylabel() for axes in figure.axes][1] == unit
        assert all(len(axes.get_lines()) == 2 for axes in figure.axes)
