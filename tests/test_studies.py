"""Studies: killed and run again, they end as if nothing had happened; one failing run stops no other."""

import csv
import html
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import wanderlust as wl
from wanderlust.core.errors import BadFile, UnknownName, WanderlustError
from wanderlust.experiments import estimate, recap
from wanderlust.experiments.paper.alternative_settings import OTHER_SETTINGS
from wanderlust.experiments.paper.recap_claims import claims_of
from wanderlust.experiments.paper.registry import EXPLORERS, Choice, find_study, study_names
from wanderlust.experiments.paper.reproduce import reproduce, show_report, studies_in, write_scorecard
from wanderlust.experiments.progress import Progress
from wanderlust.experiments.reports import scorecard, scorecard_page
from wanderlust.experiments.reports.cells import Cell, OtherSetting, as_json, from_json
from wanderlust.experiments.reports.recap import Samples, paper_cells, row_after_second_look
from wanderlust.experiments.run import Run
from wanderlust.experiments.runner import run_all
from wanderlust.experiments.store import Store

SOURCES = str(Path(wl.__file__).parents[1])
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([SOURCES, os.environ.get("PYTHONPATH", "")]),
    "PYTHONUTF8": "1",
    "COLUMNS": "150",
}
FEW = [
    Run(world=world, explorer=explorer, seed=seed, settings={"budget": 300})
    for world in ("toy", "prison")
    for explorer in ("random", "ucb1", "vv-ucb")
    for seed in range(1, 21)
]


def wanderlust(*arguments, cwd, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "wanderlust", *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def arrays_of(folder):
    problems = []
    found = {each.run: each.result for each in Store(folder).all(problems)}
    assert problems == []
    return found


def assert_same(one, other):
    assert one.keys() == other.keys()
    for run, result in one.items():
        for a, b in zip(result, other[run], strict=True):
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The results of one job that nobody disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    outcome = run_all(FEW, Store(folder), jobs=1)
    assert (outcome.made, outcome.kept, outcome.failures) == (len(FEW), 0, [])
    return arrays_of(folder)


def test_two_jobs_give_what_one_gives(undisturbed, tmp_path):
    run_all(FEW, Store(tmp_path), jobs=2)
    assert_same(arrays_of(tmp_path), undisturbed)


SCRIPT = """
import signal
import sys
from wanderlust.experiments.run import Run
from wanderlust.experiments.runner import run_all
from wanderlust.experiments.store import Store
# A shell has what it starts in the background ignore interrupts.
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
    return process


def wait_for_files(folder, count, process):
    deadline = time.monotonic() + 200
    while len(list((folder / "runs").glob("*.npz"))) < count and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_killed_again_and_again_it_ends_as_if_nothing_had_happened(undisturbed, tmp_path):
    killed = 0
    for count in (1, 12, 24, 36, 48, 60, 72, 84, 96, 108):
        process = start(FEW, tmp_path)
        wait_for_files(tmp_path, count, process)
        process.kill()
        process.wait()
        process.stderr.close()
        killed += process.returncode == -signal.SIGKILL
    assert killed >= 8
    assert len(arrays_of(tmp_path)) >= 70
    last = start(FEW, tmp_path)
    errors = last.stderr.read()
    last.stderr.close()
    assert last.wait() == 0, errors
    assert_same(arrays_of(tmp_path), undisturbed)


def test_two_processes_share_a_folder(undisturbed, tmp_path):
    both = [start(FEW, tmp_path), start(FEW, tmp_path)]
    for process in both:
        errors = process.stderr.read()
        process.stderr.close()
        assert process.wait() == 0, errors
    assert_same(arrays_of(tmp_path), undisturbed)


def test_an_interrupt_stops_soon_and_keeps_what_is_done(tmp_path):
    endless = Run(world="wall", explorer="random", settings={"budget": 10**10, "evaluate_every": 10**7})
    process = start([endless, *FEW[:20]], tmp_path)
    wait_for_files(tmp_path, 20, process)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) in (-signal.SIGINT, 130)
    assert "KeyboardInterrupt" in errors
    assert arrays_of(tmp_path).keys() == set(FEW[:20])


def test_what_is_stored_is_not_run_again(tmp_path):
    store = Store(tmp_path)
    run_all(FEW[:4], store, jobs=1)
    before = {file: file.stat().st_mtime_ns for file in store.runs.iterdir()}
    outcome = run_all([*FEW[:4], *FEW[:4]], store, jobs=1)
    assert (outcome.made, outcome.kept) == (0, 4)
    assert {file: file.stat().st_mtime_ns for file in store.runs.iterdir()} == before


def test_a_failing_run_stops_no_other(tmp_path):
    bad = [
        Run(world="atlantis", explorer="random"),
        Run(world="toy", explorer="vv-ubc"),
        Run(world="toy", explorer="random", settings={"budgte": 7}),
        Run(world="toy", explorer="random", settings={"discount": 2}),
    ]
    text = io.StringIO()
    outcome = run_all([*bad, *FEW[:3]], Store(tmp_path), jobs=2, progress=Progress(Console(file=text, width=300)))
    assert outcome.made == 3
    assert {failure.run for failure in outcome.failures} == set(bad)
    for failure in outcome.failures:
        assert failure.run.command in str(failure)
        assert failure.run.command in text.getvalue()
    assert any("Did you mean 'vv-ucb'" in failure.error for failure in outcome.failures)
    assert arrays_of(tmp_path).keys() == set(FEW[:3])


def test_progress_in_plain_lines():
    text = io.StringIO()
    progress = Progress(Console(file=text, width=200))
    with progress.over(FEW[:2], 2, kept=1):
        progress.finished(FEW[0])
        progress.finished(FEW[1])
    assert "2 runs to make, 1 are stored already; 2 at a time" in text.getvalue()
    assert "2 of 2 runs" in text.getvalue()
    quiet = Progress(Console(file=(nothing := io.StringIO())), quiet=True)
    with quiet.over(FEW[:1], 1, kept=0):
        quiet.say("something")
        quiet.finished(FEW[0])
    assert nothing.getvalue() == ""


def test_the_longest_run_is_estimated_the_longest():
    runs = recap.runs(Choice(seeds=1))
    longest = max(runs, key=estimate.seconds)
    assert (longest.world, longest.explorer in estimate.ENSEMBLES) == ("deep-sea", True)
    assert estimate.in_words(30) == "30 s"
    assert estimate.in_words(3600) == "60 min"
    assert estimate.in_words(36000) == "10.0 h"


def test_the_recap_study_is_the_papers():
    runs = recap.runs(Choice(seeds=20))
    seconds = runs[198 * 20 :]
    assert len(runs) == len(set(runs)) == 198 * 20 + 5 * 20
    assert {recap.cell_of(run) for run in runs[: 198 * 20]} == set(paper_cells())
    assert {recap.cell_of(run) for run in seconds} == set(OTHER_SETTINGS)
    assert {run.seed for run in runs} == set(range(1, 21))
    assert {run.preset for run in runs[: 198 * 20]} == {"as_published_code"}
    assert {run.preset for run in recap.runs(Choice(preset="as_written"))} == {"as_written"}
    assert set(runs) <= set(recap.runs(Choice())), "where a run is brief, more seeds, never fewer"


@pytest.mark.parametrize(
    ("usual", "other", "expected"),
    [(65.28, 100.0, ("agrees", "")), (63.0, 65.28, ("agrees", "longer")), (63.0, 60.0, ("differs", ""))],
)
def test_a_line_that_differs_is_looked_at_with_its_other_setting(usual, other, expected):
    cell = Cell("wall", "zero", "short", "random")
    looks = []
    for percent in (usual, other):
        samples = Samples({cell: 20})
        for _ in range(20):
            samples.add(cell, percent, 0.59, np.array([[50.0], [percent], [0.59]]))
        looks.append(samples)
    row = row_after_second_look(cell, *looks, {cell: OtherSetting("longer")})
    assert (row.verdict, row.setting) == expected
    if row.setting:
        assert row.ours.discovery.mean == pytest.approx(other)
        assert row.usual.discovery.mean == pytest.approx(usual)
        assert from_json(as_json([row], ""), "here")[0][0].usual == row.usual
        assert "0 of 1 cells agree with the paper, and 1 more with a setting of" in scorecard.summary([row], "")
        of_text = row_after_second_look(cell, *looks, {cell: OtherSetting("longer", preset="as_written")})
        assert from_json(as_json([of_text], ""), "here")[0][0].of_text
        assert scorecard.summary([of_text], "").startswith("1 of 1 cells agree with the paper (1 of them as its text")
        assert "| longer | 65.28 ± 0.00 | 63.00 ± 0.00 | 65.28 ± 0.45 |" in scorecard.as_markdown([row], [], "")
        assert "agrees†" in scorecard_page.as_html([row], [], "")


@pytest.mark.parametrize("name", study_names())
def test_every_study_can_be_asked_for_in_part(name):
    study = find_study(name)
    full, quick = study.runs(Choice()), study.runs(Choice(quick=True))
    assert len(full) == len({run.key for run in full})
    assert estimate.total(quick, 2) <= min(estimate.total(full, 2), 600)
    with pytest.raises(UnknownName):
        study.runs(Choice(worlds=("atlantis",)))
    if name == "toy-example":
        assert full == [], "it needs no runs"
        return
    one = study.runs(Choice(worlds=(full[0].world,), explorers=("vv-ucb",), seeds=2))
    assert {(run.world, run.explorer) for run in one} == {(full[0].world, "vv-ucb")}
    assert {run.seed for run in one} == {1, 2}


def test_unknown_names_get_the_closest():
    with pytest.raises(UnknownName, match="Did you mean 'recap'"):
        find_study("recpa")
    with pytest.raises(WanderlustError, match="seeds"):
        Choice(seeds=0)


def carry_out(study, choice, folder):
    text = io.StringIO()
    console = Console(file=text, width=170)
    outcome = reproduce(find_study(study), choice, folder, jobs=2, quiet=False, console=console)
    assert outcome.failures == []
    write_scorecard(folder, choice.suffix, console)
    return text.getvalue()


@pytest.fixture(scope="module")
def prison(tmp_path_factory):
    """A small part of the recap study, and what was printed."""
    folder = tmp_path_factory.mktemp("prison")
    choice = Choice(worlds=("prison",), explorers=("vv-ucb", "ucb1"), seeds=4)
    return folder, carry_out("recap", choice, folder)


def test_the_recap_beside_the_paper(prison):
    folder, printed = prison
    assert "80.78 ± 2.56" in printed  # the paper's UCB1
    assert "of 8 cells agree with the paper. With 4 seeds" in printed
    for name in ("tables.md", "tables.csv", "tables.tex", "curves.csv", "cells.json", "claims.json"):
        assert (folder / "recap" / name).stat().st_size > 100
    for form in ("md", "html", "json"):
        assert (folder / f"scorecard.{form}").stat().st_size > 100
    with (folder / "recap" / "tables.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    ours = [row for row in rows if row["algorithm"] == "vv-ucb"]
    assert {(row["discovery_mean"], row["success_mean"]) for row in ours} == {("100.0000", "100.0000")}
    latex = (folder / "recap" / "tables.tex").read_text(encoding="utf-8")
    assert "Ours (UCB Reward) & $100.00 \\pm 0.00$ & $100.00 \\pm 0.00$" in latex
    assert latex.count("\\begin{") == latex.count("\\end{")


@pytest.mark.parametrize(("best_other", "verdict"), [(60.0, "reproduced"), (100.0, "partly")])
def test_a_claim_on_all_algorithms_needs_runs_of_all(best_other, verdict):
    def verdicts(explorers):
        cells = {name: Cell("prison", "zero", "short", name) for name in explorers}
        samples = Samples(dict.fromkeys(cells.values(), 1))
        for name, cell in cells.items():
            percent = 100.0 if name.startswith("vv") else best_other
            samples.add(cell, percent, percent, np.array([[50.0], [percent], [percent]]))
        return [claim.verdict for claim in claims_of(samples) if claim.claim.startswith("only vv")]

    assert verdicts(EXPLORERS) == [verdict]
    assert verdicts(["vv-ucb", "vv-count", "ucb1"]) == []


def test_the_scorecard_follows_from_the_runs(prison):
    folder, _ = prison
    card = json.loads((folder / "scorecard.json").read_text(encoding="utf-8"))
    cells = card["cells"]
    assert len(cells) == 8
    stored = arrays_of(folder)
    for cell in cells:
        key = tuple(cell[name] for name in ("environment", "initialization", "horizon", "algorithm"))
        results = [result for run, result in stored.items() if recap.cell_of(run) == key]
        assert cell["seeds"] == len(results) == 4
        for name, values in {
            "discovery": [100 * (result.first_visit >= 0).sum() / 23 for result in results],
            "success": [100 * result.returns[-1] / 4.527241 for result in results],
        }.items():
            assert cell["ours"][name]["mean"] == pytest.approx(np.mean(values), abs=1e-3)
            assert cell["ours"][name]["ci95"] == pytest.approx(2 * np.std(values) / 2, abs=1e-3)
            difference = cell["ours"][name]["mean"] - cell["theirs"][name]["mean"]
            assert cell["difference"][name] == pytest.approx(difference, abs=1e-3)
        within = all(
            abs(cell["difference"][name]) <= 2.58 * cell["standard_error"][name] + 0.5
            for name in ("discovery", "success")
        )
        assert cell["verdict"] == ("agrees" if within else "differs")
        assert bool(cell.get("why")) == (not within)
    page = html.unescape((folder / "scorecard.html").read_text(encoding="utf-8"))
    assert all(cell["why"] in page for cell in cells if "why" in cell)


def test_a_report_is_made_again_from_stored_runs(prison):
    folder, printed = prison
    before = {file.name: file.read_bytes() for file in (folder / "recap").iterdir()}
    text = io.StringIO()
    for asked in studies_in(folder):
        show_report(asked, Store(folder), Console(file=text, width=170))
        write_scorecard(folder, asked.suffix, Console(file=text, width=170))
    assert text.getvalue() == printed
    assert {file.name: file.read_bytes() for file in (folder / "recap").iterdir()} == before


def test_a_study_can_be_asked_for_bit_by_bit(tmp_path):
    for world in ("toy", "prison"):
        carry_out("recap", Choice(worlds=(world,), explorers=("random",), seeds=2), tmp_path)
    (asked,) = studies_in(tmp_path)
    assert {run.world for run in asked.runs} == {"toy", "prison"}
    missing = next((tmp_path / "runs").glob("*.npz"))
    missing.unlink()
    text = io.StringIO()
    show_report(asked, Store(tmp_path), Console(file=text, width=170))
    assert "1 of 2" in text.getvalue()


def test_quick_says_so_everywhere(tmp_path):
    printed = carry_out("recap", Choice(worlds=("deep-sea",), explorers=("random",), quick=True), tmp_path)
    written = [*(tmp_path / "recap-quick").glob("tables.*"), *tmp_path.glob("scorecard-quick.*")]
    files = {file.name: file.read_text(encoding="utf-8") for file in written}
    assert len(files) == 6
    for text in (printed, *files.values()):
        assert "QUICK, not the paper's size" in re.sub(r"\s+", " ", html.unescape(text))
    assert {cell["verdict"] for cell in json.loads(files["scorecard-quick.json"])["cells"]} == {"not compared"}


@pytest.mark.parametrize(
    ("study", "choice"),
    [
        ("gamma-w", Choice(seeds=2)),
        ("memory", Choice(worlds=("toy",), explorers=("vv-ucb", "epsilon-greedy"), seeds=2)),
        ("stochastic", Choice(worlds=("noisy-toy",), explorers=("vv-ucb", "ucb1"), seeds=2)),
        ("visit-maps", Choice(worlds=("prison",), explorers=("vv-ucb", "ucb1"))),
    ],
)
def test_studies_of_groups(study, choice, tmp_path):
    printed = carry_out(study, choice, tmp_path)
    assert ("100.00 ± 0.00" in printed) == (study != "visit-maps")  # One seed has no interval.
    assert "100.00" in printed
    (asked,) = studies_in(tmp_path)
    with (asked.folder / "curves.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) >= 10
    if study == "visit-maps":
        with (asked.folder / "counts.csv").open(encoding="utf-8", newline="") as file:
            assert sum(int(row["visits"]) for row in csv.DictReader(file)) == 2 * 999
        assert "█" in (asked.folder / "maps.txt").read_text(encoding="utf-8")


def test_the_commands(tmp_path):
    listed = wanderlust("reproduce", "list", cwd=tmp_path)
    assert all(name in listed for name in study_names())
    arguments = ("reproduce", "recap", "--worlds", "prison", "--explorers", "vv-ucb", "--seeds", "2", "--jobs", "2")
    assert "\n8 runs executed" in wanderlust(*arguments, "--out", "here", cwd=tmp_path)
    assert "\n0 runs executed" in wanderlust(*arguments, "--out", "here", cwd=tmp_path)
    assert "cells agree with the paper" in wanderlust("report", "here", cwd=tmp_path)
    assert "8 runs written" in wanderlust("export", "here", cwd=tmp_path)
    with (tmp_path / "here" / "runs.csv").open(encoding="utf-8", newline="") as file:
        assert [float(row["success_percent"]) for row in csv.DictReader(file)] == pytest.approx([100.0] * 8)
    wanderlust("export", "here", "--format", "json", "--to", "all.json", cwd=tmp_path)
    assert len(json.loads((tmp_path / "all.json").read_text())[0]["returns"]) == 19
    run = Run(world="prison", explorer="vv-ucb", seed=1)
    assert "23 of 23 states" in wanderlust("run", run.json, cwd=tmp_path)
    assert "Did you mean 'recap'" in wanderlust("reproduce", "recpa", cwd=tmp_path, code=2)
    assert "no experiment was run" in wanderlust("report", "nowhere", cwd=tmp_path, code=2)


def test_parquet_holds_every_run(prison):
    from pyarrow import parquet

    folder, _ = prison
    assert "32 runs written" in wanderlust("export", ".", "--format", "parquet", cwd=folder)
    table = parquet.read_table(folder / "runs.parquet").to_pydict()
    stored = {run.key: result for run, result in arrays_of(folder).items()}
    assert sorted(table["key"]) == sorted(stored)
    for key, returns in zip(table["key"], table["returns"], strict=True):
        assert returns == stored[key].returns.tolist()


def test_without_pyarrow_there_is_a_sentence(prison, monkeypatch, tmp_path):
    folder, _ = prison
    # Found first, and cannot be imported.
    (tmp_path / "pyarrow.py").write_text("raise ImportError('not here')")
    monkeypatch.setitem(ENVIRONMENT, "PYTHONPATH", f"{tmp_path}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}")
    message = wanderlust("export", ".", "--format", "parquet", cwd=folder, code=2)
    assert "pip install 'wanderlust[parquet]'" in message


def test_a_failing_run_is_listed_with_its_command_and_the_code_is_1(tmp_path):
    # A horizon of -1 makes every second run fail.
    script = (
        "import sys; from wanderlust.experiments import recap\n"
        "recap.runs.__globals__['_horizons_of'] = lambda world: (11, -1)\n"
        "from wanderlust.cli.main import main\n"
        "sys.argv[1:] = 'reproduce recap --worlds toy --explorers random --seeds 1 --out bad'.split()\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 runs executed" in done.stdout
    assert "again: wanderlust run" in done.stderr


def test_the_nine_explorers_are_all_there():
    assert set(EXPLORERS) <= set(wl.explorer_names())


def test_a_spoilt_study_file_is_a_sentence(tmp_path):
    (tmp_path / "recap").mkdir()
    (tmp_path / "recap" / "study.json").write_text("{}")
    with pytest.raises(BadFile, match=r"study\.json"):
        list(studies_in(tmp_path))
