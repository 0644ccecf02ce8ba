"""The studies of the paper: their runs, reports, scorecard and commands, and what single studies find."""

import csv
import gzip
import html
import io
import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import wanderlust as wl
from wanderlust.core.errors import BadFile, UnknownName
from wanderlust.experiments.execute import Execution
from wanderlust.experiments.execute import progress as estimate
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.statistics import Percent
from wanderlust.experiments.store import Store, StoredRun
from wanderlust.experiments.table import Group
from wanderlust_paper.claims import Groups, check_all
from wanderlust_paper.figures.maps import evenness
from wanderlust_paper.registry import EXPLORERS, StudySelection, find_study, study_names
from wanderlust_paper.reports import scorecard
from wanderlust_paper.reports.recap_tables import Cell, Numbers, compare_group, make_row, paper_cells
from wanderlust_paper.reports.scorecard import FORMATS, headline, is_informative
from wanderlust_paper.reproduce import (
    reproduce,
    show_report,
    studies_in,
    summarize_runs,
    write_reports,
    write_scorecard,
)
from wanderlust_paper.studies import deep_sea_ensembles, recap, recap_claims, taxi_horizon
from wanderlust_paper.studies.chain import exploration
from wanderlust_paper.studies.example_worlds import attempts
from wanderlust_paper.studies.recap import ALTERNATIVE_SETTINGS, AlternativeSetting, compare_cell
from wanderlust_paper.studies.recap_claims import CHECKS
from wanderlust_paper.summary_file import FILE, Summary, write_summary

pytestmark = [pytest.mark.slow, pytest.mark.first]

RUN = Run(world="toy", explorer="random", seed=1, settings={"budget": 300})


def run_study(study, selection, folder, formats=()):
    """Run a study, write its report and the scorecard; return what was printed."""
    text = io.StringIO()
    console = Console(file=text, width=170)
    execution = Execution(jobs=1)
    summary, report = reproduce(
        find_study(study), selection, folder, execution=execution, quiet=False, console=console, formats=formats
    )
    assert summary.failures == []
    write_scorecard(folder, selection.suffix, {f"{study}{selection.suffix}": report}, console)
    return text.getvalue()


def stored_results(folder):
    problems = []
    results = {each.run: each.result for each in Store(folder).load_all(problems)}
    assert problems == []
    return results


def test_the_longest_run_has_the_longest_estimate():
    runs = recap.runs(StudySelection(seeds=1))
    longest = max(runs, key=estimate.estimated_seconds)
    assert (longest.world, longest.explorer in estimate.ENSEMBLES) == ("deep-sea", True)
    assert [estimate.format_duration(each) for each in (30, 3600, 36000)] == ["30 s", "60 min", "10.0 h"]


def test_the_recap_study_has_the_runs_of_the_paper():
    runs = recap.runs(StudySelection(seeds=20))
    second, released, fresh = runs[198 * 20 : 203 * 20], runs[203 * 20 : 203 * 20 + 270], runs[203 * 20 + 270 :]
    assert len(runs) == len(set(runs))
    assert {recap.cell_of(run) for run in runs[: 198 * 20]} == set(paper_cells())
    assert sum(is_informative(make_row(cell, Group({}, []), 0)) for cell in paper_cells()) == 79
    needed = {cell for cell, setting in ALTERNATIVE_SETTINGS.items() if not setting.states}
    assert {recap.cell_of(run) for run in second} == needed
    assert {recap.cell_of(run) for run in released} == {cell for cell in paper_cells() if cell[0] == "deep-sea"}
    assert {run.settings["budget"] for run in released} == {500_000}
    assert len(released) == 12 * 20 + 6 * 5, "ensembles have fewer seeds"
    assert {run.seed for run in runs if run not in fresh} == set(range(1, 21))
    assert {run.seed for run in fresh} == set(range(21, 41))
    assert len(fresh) == 13 * 20, "eight cells of the deep sea, four of wall, one of the taxi"
    assert {run.preset for run in runs[: 198 * 20]} == {"as_published_code"}
    assert {run.preset for run in recap.runs(StudySelection(preset="as_written", seeds=1))} == {"as_written"}
    long = ("deep-sea", "wall")
    by_default = recap.runs(StudySelection(worlds=long))
    assert set(by_default) >= {run for run in runs if run.world in long}, "there may be more seeds, never fewer"


def runs_of(discovery, success=0.59, seeds=range(1, 21)):
    """Return runs that all have the same numbers."""
    return [{"seed": seed, "discovery": discovery, "success": success} for seed in seeds]


def compared(cell, **runs):
    """Return the row of a cell from its runs with each setting."""
    groups = {(setting, cell): Group({}, rows) for setting, rows in runs.items()}
    return compare_cell(cell, {key: len(group) for key, group in groups.items()}, groups, True)


@pytest.mark.parametrize(
    ("default", "alternative", "expected", "preset"),
    [
        (65.28, 100.0, ("agrees", ""), "as_published_code"),
        (63.0, 65.28, ("agrees", "longer"), "as_published_code"),
        (63.0, 65.28, ("agrees", "longer"), "as_written"),
        (63.0, 60.0, ("differs", ""), "as_written"),
    ],
)
def test_a_row_that_differs_is_compared_with_its_alternative_setting(
    default, alternative, expected, preset, monkeypatch
):
    cell = Cell("wall", "zero", "short", "random")
    monkeypatch.setitem(ALTERNATIVE_SETTINGS, cell, AlternativeSetting("longer", preset=preset))
    row = compared(cell, default=runs_of(default), alternative=runs_of(alternative))
    assert (row.verdict, row.setting) == expected
    assert row.follows_text == bool(row.setting and preset == "as_written")
    if row.setting:
        assert row.ours.discovery.mean == pytest.approx(alternative)
        assert row.default.discovery.mean == pytest.approx(default)
        assert re.search(r"nothing inferred, 0 of 1 cells .* 1 \(1\) with every", scorecard.summary([row], ""))
        assert "| longer | 65.28 ± 0.00 | 63.00 ± 0.00 | 65.28 ± 0.45 |" in FORMATS["md"]([row], [], "")
        assert "agrees†" in FORMATS["html"]([row], [], "")


def test_each_inferred_setting_is_counted_apart():
    """Two cells of the deep sea: one agrees with 100,000 steps only, one with more than 20 seeds only."""
    more = range(21, 2001)
    rows = [
        compared(
            Cell("deep-sea", "zero", "fixed", "random"),
            default=runs_of(58.59, 0.0) + runs_of(58.59, 0.0, more),
            released=runs_of(65.0, 0.0),
        ),
        compared(
            Cell("deep-sea", "zero", "fixed", "vv-ucb"),
            default=runs_of(90.0, 90.0) + runs_of(100.0, 100.0, more),
            released=runs_of(100.0, 100.0),
        ),
    ]
    first, inferred, more_seeds = headline(rows)
    assert first.counted[:4] == (1, 2, 0, 1), "the cell with 100 ± 0 in both columns is not informative"
    assert inferred.counted[:4] == (1, 2, 1, 1)
    assert more_seeds.counted[:4] == (2, 2, 1, 1)
    assert first.setting == "seeds 1 to 20, nothing inferred"
    markdown = FORMATS["md"](rows, [], "")
    assert "| zero init. | random | 58.59 ± 0.00 | 65.00 ± 0.00 | 58.59 ± 1.35 |" in markdown
    assert "the paper's runs had 100,000 steps" in markdown, "every cell that differs has a reason"
    # Without runs of the released length, the steps of the deep sea are inferred in the first row, too.
    row = compared(Cell("deep-sea", "zero", "fixed", "random"), default=runs_of(58.59, 0.0, range(1, 6)))
    assert headline([row])[0].setting == "seeds 1 to 5, nothing inferred but the 100,000 steps of the deep sea"


@pytest.mark.parametrize(
    ("ours", "spread", "expected"),
    [(55.0, 0.0, "agrees"), (45.0, 0.0, "differs"), (55.0, 20.0, "cannot tell"), (20.0, 20.0, "differs")],
)
def test_equivalence_has_three_verdicts(ours, spread, expected):
    """The paper's thompson in the prison has 54.78 ± 6.69 and 25.61 ± 8.39; the margin is a tenth of each."""
    theirs = Numbers(Percent(54.78, 0.2), Percent(0.0, 0.0))
    discovery = [ours + spread * (-1) ** i for i in range(20)]
    rows = [{"seed": i + 1, "discovery": x, "success": 0.0} for i, x in enumerate(discovery)]
    assert compare_group(Group({}, rows), theirs).equivalence == expected


def test_discovery_of_one_cell_is_in_percent_of_all_open_states():
    cell = Cell("taxi", "optimistic", "long", "thompson")
    runs = recap.runs(StudySelection(worlds=("taxi",), explorers=("thompson",), seeds=2))
    result = complete_result(252, 11.320789)
    stored = [StoredRun(run, result, {"key": run.key}) for run in runs if recap.cell_of(run) == cell]
    report = recap.report(runs, stored, "")
    row = next(row for row in report.cells if row.cell == cell)
    assert row.verdict == "agrees"
    assert row.default.discovery.mean == pytest.approx(100.0)
    assert row.ours.discovery.mean == pytest.approx(95.4545, abs=1e-3)
    figure = report.figures["curves-taxi"]()
    assert figure.axes[3].get_lines()[0].get_ydata()[-1] == pytest.approx(100.0), "a figure has one setting"


def complete_result(n_states, optimal_return):
    """Return the result of a run with one evaluation, that found all states and an optimal policy."""
    return Result(
        steps=np.array([50]), returns=np.array([optimal_return]), discovered=np.array([n_states]),
        visits=np.ones((n_states, 4), np.int64), first_visit=np.zeros(n_states, np.int64),
        optimal_return=np.array(optimal_return), reachable=np.array(n_states),
    )  # fmt: skip


@pytest.mark.parametrize("name", study_names())
def test_every_study_can_be_restricted(name):
    study = find_study(name)
    full, quick = study.runs(StudySelection(seeds=5)), study.runs(StudySelection(quick=True))
    assert len(full) == len(set(full))
    assert estimate.total_seconds(quick, 2) <= min(estimate.total_seconds(full, 2), 600)
    with pytest.raises(UnknownName):
        study.runs(StudySelection(worlds=("atlantis",)))
    with pytest.raises(UnknownName, match=f"Did you mean '{name}'"):
        find_study(f"{name}x")
    if name in ("environments", "toy-example"):
        assert full == [], "it needs no runs"
        return
    if name in ("deep-sea-ensembles", "appendix"):
        second = "bootstrapped" if name == "deep-sea-ensembles" else "epsilon-greedy"
        assert {run.explorer for run in full} == {"random-prior", second}
        return
    one = study.runs(StudySelection(worlds=(full[0].world,), explorers=("vv-ucb",), seeds=2))
    without_noise = {"deep-gridworld"} if name == "stochastic" else set()
    assert {(run.world, run.explorer) for run in one} == {(each, "vv-ucb") for each in {full[0].world} | without_noise}
    assert {run.seed for run in one} == {1, 2}


@pytest.fixture(scope="module")
def prison(tmp_path_factory):
    """The folder of a small part of the recap study, and the printed text."""
    folder = tmp_path_factory.mktemp("prison")
    selection = StudySelection(worlds=("prison",), explorers=("vv-ucb", "ucb1"), seeds=4)
    return folder, run_study("recap", selection, folder, formats=("png",))


def test_the_recap_is_compared_with_the_paper(prison):
    folder, printed = prison
    assert "80.78 ± 2.56" in printed  # the paper's UCB1
    assert "of 8 cells of the paper's tables" in printed
    assert "With 4 seeds" in printed
    with (folder / "recap" / "tables.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    ours = [row for row in rows if row["algorithm"] == "vv-ucb"]
    assert {(row["discovery_mean"], row["success_mean"]) for row in ours} == {("100.000000", "100.000000")}


@pytest.mark.parametrize(("best_other", "verdict"), [(60.0, "reproduced"), (100.0, "partly")])
def test_a_claim_about_all_algorithms_needs_runs_of_all(best_other, verdict):
    def verdicts(explorers):
        percents = {name: 100.0 if name.startswith("vv") else best_other for name in explorers}
        horizons = {world: "fixed" if world == "deep-sea" else "short" for world in recap.WORLDS}
        cells = {
            Cell(world, "zero", horizon, name): Group({}, runs_of(percent, percent, [1]))
            for name, percent in percents.items() for world, horizon in horizons.items()
        }  # fmt: skip
        return [claim.verdict for claim in check_all(CHECKS[:1], Groups(cells))]

    assert verdicts(EXPLORERS) == [verdict]
    assert verdicts(["vv-ucb", "vv-count", "ucb1"]) == []


def test_the_scorecard_follows_from_the_runs(prison):
    folder, _ = prison
    card = json.loads((folder / "scorecard.json").read_text(encoding="utf-8"))
    cells = card["cells"]
    assert len(cells) == 8
    stored = stored_results(folder)
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
    page = (folder / "scorecard.html").read_text(encoding="utf-8")
    differing = [cell for cell in cells if cell["with_20_seeds"]["nothing inferred"]["verdict"] == "differs"]
    assert page.count("<td>sampling: 20 seeds</td>") == len(differing), "every cell that differs has a reason"


def test_a_report_is_rebuilt_from_stored_runs(prison):
    folder, printed = prison
    before = {file.name: file.read_bytes() for file in (folder / "recap").iterdir()}
    text = io.StringIO()
    for request in studies_in(folder):
        show_report(request, Store(folder), Console(file=text, width=170), formats=("png",))
        write_scorecard(folder, request.suffix, {}, Console(file=text, width=170))
    assert text.getvalue() == printed
    assert {file.name: file.read_bytes() for file in (folder / "recap").iterdir()} == before


def test_a_summary_gives_the_same_reports_as_the_runs(prison, tmp_path):
    """One file instead of all runs: every table, figure and claim is the same, to the last byte."""
    folder, _ = prison
    kept = tmp_path / "kept"
    (kept / "recap").mkdir(parents=True)
    shutil.copy(folder / "recap" / "study.json", kept / "recap")
    assert summarize_runs(folder, kept / FILE) == 32
    first = (kept / FILE).read_bytes()
    summarize_runs(folder, kept / FILE)
    assert (kept / FILE).read_bytes() == first, "the same runs give the same file"
    write_reports(kept, Console(file=io.StringIO(), width=170), out=tmp_path / "again", formats=("png",))
    again = {file.name: file.read_bytes() for file in (tmp_path / "again" / "recap").iterdir()}
    before = {file.name: file.read_bytes() for file in (folder / "recap").iterdir() if file.name[0] != "."}
    assert again == before
    assert (tmp_path / "again" / "scorecard.md").read_bytes() == (folder / "scorecard.md").read_bytes()
    assert not list((kept / "recap").glob("*.png"))


def test_what_a_summary_keeps_of_a_run(tmp_path):
    """The arrays that reports use are exact, those of the chain included."""
    settings = {"budget": 3000, "evaluate_every": 1000}
    chain = Run(world="chain", world_options={"length": 27}, explorer="vv-count", seed=2, settings=settings,
                measure="values")  # fmt: skip
    maps = Run(world="prison", explorer="vv-ucb", seed=1)
    runs = {"chain": chain, "visit-maps": maps}
    results = {name: run.train() for name, run in runs.items()}
    stored = [StoredRun(run, find_study(name).summarize(run, results[name]), {}) for name, run in runs.items()]
    write_summary(stored, tmp_path / FILE)
    problems = []
    read = {each.run: each.result for each in Summary(tmp_path / FILE).load_many([*runs.values(), RUN], problems)}
    assert (problems, len(read)) == ([], 2)
    for name in ("bad_steps", "ends_good", "first_visit"):
        assert getattr(read[chain], name).tolist() == getattr(results["chain"], name).tolist()
    assert exploration(read[chain]) == exploration(results["chain"])
    for name in ("steps", "returns", "discovered"):
        assert getattr(read[maps], name).tolist() == getattr(results["visit-maps"], name).tolist()
    assert read[maps].visits.ravel().tolist() == results["visit-maps"].visits.sum(axis=1).tolist()
    assert (read[maps].success, read[maps].discovery) == (results["visit-maps"].success, 100.0)


def test_a_damaged_summary_is_named_in_the_error(tmp_path):
    for contents in (b"no gzip", gzip.compress(b"a,b\n1,2\n"), gzip.compress(b"\xff\xfe")):
        (tmp_path / FILE).write_bytes(contents)
        with pytest.raises(BadFile, match=FILE):
            Summary(tmp_path / FILE)
    result = find_study("memory").summarize(RUN, RUN.train())
    write_summary([StoredRun(RUN, result, {})], tmp_path / FILE)
    text = gzip.decompress((tmp_path / FILE).read_bytes()).decode()
    for old, new in (("0.0*", "0.0*-"), ("50:50:", "50:x:"), ("0.0*", "0.0*99999999999")):
        assert old in text
        (tmp_path / FILE).write_bytes(gzip.compress(text.replace(old, new, 1).encode()))
        problems = []
        assert list(Summary(tmp_path / FILE).load_many([RUN], problems)) == []
        assert "is damaged" in problems[0]


def test_a_study_can_be_run_in_parts(tmp_path):
    for world in ("toy", "prison"):
        run_study("recap", StudySelection(worlds=(world,), explorers=("random",), seeds=2), tmp_path)
    (request,) = studies_in(tmp_path)
    assert {run.world for run in request.runs} == {"toy", "prison"}
    incomplete = Store(tmp_path / "incomplete")
    for stored in list(Store(tmp_path).load_many(request.runs, []))[1:]:
        incomplete.save(stored.run, stored.result, 0.0)
    text = io.StringIO()
    show_report(request, incomplete, Console(file=text, width=170), formats=())
    assert "1 of 2" in text.getvalue()


def test_quick_results_are_marked_everywhere(tmp_path):
    printed = run_study("recap", StudySelection(worlds=("deep-sea",), explorers=("random",), quick=True), tmp_path)
    written = [*(tmp_path / "recap-quick").glob("tables.*"), *tmp_path.glob("scorecard-quick.*")]
    files = {file.name: file.read_text(encoding="utf-8") for file in written}
    assert len(files) == 5
    for text in (printed, *files.values()):
        assert "QUICK, not the paper's size" in re.sub(r"\s+", " ", html.unescape(text))
    assert {cell["verdict"] for cell in json.loads(files["scorecard-quick.json"])["cells"]} == {"not compared"}


def test_the_command(run_cli, tmp_path, monkeypatch):
    """`project/test_docs.py` runs it, and what reads its results, as the pages have them."""
    listed = run_cli.succeeds("reproduce", "list")
    assert all(name in listed for name in study_names())
    assert "seeds" in run_cli.fails("reproduce", "recap", "--seeds", "0")
    (tmp_path / "file").write_text("text")
    for out in ("x" * 300, "file"):
        run_cli.fails("reproduce", "gamma-w", "--quick", "--out", out)
    assert (tmp_path / "file").read_text() == "text"
    monkeypatch.setattr(taxi_horizon, "HORIZON", -1)
    words = ["--explorers", "random", "--seeds", "2", "--jobs", "1", "--out", "bad"]
    code, out, err = run_cli("reproduce", "taxi-horizon", *words)
    assert code == 1
    assert "2 failed" in out + err
    assert "repeat: wanderlust run" in out + err


def test_a_selection_that_a_study_does_not_have_is_not_written(tmp_path):
    with pytest.raises(UnknownName, match="atlantis"):
        run_study("recap", StudySelection(worlds=("atlantis",)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_passenger_counts_as_collected_on_whatever_way():
    """A policy with a detour has less than 99 % of the optimal return, and collects all passengers all the same."""
    cell = Cell("taxi", "zero", "long", "bonus")
    rows = [{"final_return": x, "success": x / 0.1132} for x in (0.0, 2.9, 10.9, 11.32)]
    group = {cell: Group({}, rows)}
    assert (recap_claims.collected(group), recap_claims.solved(group)) == ((2, 4), (1, 4))


def test_a_run_is_beyond_the_wall_if_it_visits_a_cell_there_or_more_cells_than_there_are_before_it():
    world = wl.make_world("wall")
    settings = {"initial": "zero", "horizon": world.defaults.horizon}
    run = Run(world="wall", explorer="bonus", seed=1, preset="as_published_code", settings=settings)
    result = Run(world="wall", explorer="bonus", seed=1, settings={"budget": 100}).train()
    assert not recap.is_beyond_the_wall(run, result)
    visits = result.visits.copy()
    visits[world.n_states - 1, 0] = 1
    assert recap.is_beyond_the_wall(run, result._replace(visits=visits))
    first_visit = np.repeat([0, -1], [recap.FIRST_AREA + 1, world.n_states - recap.FIRST_AREA - 1])
    without = result._replace(visits=np.zeros((0, 1), np.int64), first_visit=first_visit)
    assert recap.is_beyond_the_wall(run, without)
    assert not recap.is_beyond_the_wall(run, without._replace(first_visit=np.where(first_visit < 0, -1, 0)[1:]))


def test_the_deep_sea_scaling_study(tmp_path, monkeypatch):
    monkeypatch.setattr("wanderlust_paper.studies.deep_sea_scaling.QUICK_DEPTHS", (4, 6, 8, 10))
    selection = StudySelection(explorers=("vv-ucb", "vv-count"), seeds=2, quick=True)
    assert "16 of 16" not in (printed := run_study("deep-sea-scaling", selection, tmp_path, ("png",)))
    assert printed.count("8 of 8") == 2
    folder = tmp_path / "deep-sea-scaling-quick"
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    assert [claim["claim"] for claim in claims if "O(N^2.5) for vv-count" in claim["claim"]]
    assert all(claim["rule"] for claim in claims)
    with (folder / "steps.csv").open(encoding="utf-8", newline="") as file:
        assert [row["learnt"] for row in csv.DictReader(file)] == ["2"] * 8
    assert (folder / "steps-to-learn.png").exists()
    study = find_study("deep-sea-scaling")
    assert study.report(study.runs(selection), [], "").claims == []


def test_the_chain_study(tmp_path, monkeypatch):
    monkeypatch.setattr("wanderlust_paper.studies.chain.QUICK_LENGTHS", (5, 27))
    run_study("chain", StudySelection(seeds=1, quick=True), tmp_path, ("png",))
    folder = tmp_path / "chain-quick"
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    assert [claim["claim"] for claim in claims if "UCB1 finds" in claim["claim"]]
    assert all(claim["rule"] for claim in claims)
    with (folder / "steps.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["panel"], row["explorer"], row["length N"]): row for row in csv.DictReader(file)}
    never = rows["ε = 1e-22", "ucb1", "27"]
    assert (never["learnt"], float(never["mean_steps"])) == ("0", 199_999.0), "a run that is never optimal counts"
    assert float(rows["ε = 1e-22", "vv-ucb", "27"]["mean_steps"]) < 10_000
    assert {file.stem for file in folder.glob("*.png")} == {"sample-complexity", "counts", "accuracy", "value-error"}


@pytest.mark.parametrize(
    ("study", "values", "not_reproduced", "formats"),
    [
        # The statements that cannot hold as printed; see docs/deviations.md.
        ("toy-example", "values.csv", 9, ()),
        ("environments", "table.csv", 12, ("png",)),
    ],
)
def test_a_study_without_runs_gives_the_committed_claims_values_and_figures(
    study, values, not_reproduced, formats, tmp_path
):
    printed = run_study(study, StudySelection(), tmp_path, formats)
    kept = Path(__file__).parents[2] / "docs" / "results" / study
    for name in ("claims.json", values):
        assert (tmp_path / study / name).read_text(encoding="utf-8") == (kept / name).read_text(encoding="utf-8")
    claims = json.loads((kept / "claims.json").read_text(encoding="utf-8"))
    assert sum(claim["verdict"] != "reproduced" for claim in claims) == not_reproduced
    assert all(f"{file.stem}." in printed for file in kept.glob("*.png"))
    drawn = {file.name for file in (tmp_path / study).glob("*.png")}
    assert drawn == ({file.name for file in kept.glob("*.png")} if formats else set())


def test_an_ensemble_fails_where_all_its_tables_start_against_the_right_action():
    """A deep sea of two tables: many seeds have a cell of the diagonal with a negative start in both."""
    outcomes = []
    for seed in range(1, 13):
        run = Run(
            world="deep-sea", world_options={"depth": 6}, explorer="bootstrapped", explorer_options={"heads": 2},
            seed=seed, preset="as_published_code", settings={"budget": 5000, "initial": "zero"},
            until="positive-return",
        )  # fmt: skip
        outcomes.append(deep_sea_ensembles.outcome(run, run.train()))
    failed = [each for each in outcomes if not each.learnt]
    assert 3 <= len(failed) <= 11, "the probability of a failure is 1 - (3/4)^5"
    assert all(each.stopped_there for each in failed)
    assert all(each.deepest == 6 for each in outcomes if each.learnt)
    with_cell = [each for each in outcomes if each.blocked_cell]
    assert {each.seed for each in failed} <= {each.seed for each in with_cell} < {each.seed for each in outcomes}
    assert deep_sea_ensembles.predicted_share(6, 0.0, n_tables=2) == pytest.approx(1 - 0.75**5, abs=0.01)
    # Without penalties each of the 49 cells would have the probability 2^-10; a prior makes the way cost more.
    assert deep_sea_ensembles.predicted_share(50, 0.0) == pytest.approx(1 - (1 - 2**-10) ** 49, abs=0.003)
    assert deep_sea_ensembles.predicted_share(50, 0.1) == pytest.approx(0.084, abs=0.001)


def test_a_larger_kappa_makes_a_large_gamma_w_uniform():
    """The reason for the differences at γ_w = 0.99999: κ (1 - γ_w) makes W's differences smaller than Q's."""

    def uniformity(**options):
        visits = [wl.train("toy", "vv-ucb", seed=seed, gamma_w=0.99999, **options).visits for seed in (1, 2)]
        return np.mean([evenness(each.sum(axis=1), 25) for each in visits])

    assert uniformity() < 80
    assert uniformity(kappa=1000.0) > 95


def test_the_problem_chain_takes_as_many_attempts_as_computed():
    """Repeat the random walk of Figure 1 for two cells, and compare with the linear equations."""
    random, successes, n = np.random.default_rng(1), 0, 20_000
    for _ in range(n):
        cell = 0
        while -1 < cell < 2:
            step = random.integers(4)
            if step > 1:
                break
            cell += 1 if step else -1
        successes += cell == 2
    assert n / successes == pytest.approx(attempts(2), rel=0.1)


def test_the_random_policy_finds_the_treasure_with_the_exact_probability():
    """The paper has 45 % of 20 seeds, our first 20 seeds have more; 400 seeds agree with the exact probability."""
    world = wl.make_world("toy")
    settings = world.defaults
    treasure = int(world.mdp.terminal.any(axis=(1, 2)).argmax())
    distribution, p_found = world.mdp.start.copy(), 0.0
    for _ in range(settings.horizon - 1):
        next_distribution = np.zeros_like(distribution)
        np.add.at(next_distribution, world.mdp.next_state[:, :, 0], distribution[:, None] / world.n_actions)
        p_found += next_distribution[treasure]
        next_distribution[treasure] = 0.0
        distribution = next_distribution
    expected = 1.0 - (1.0 - p_found) ** (settings.budget // settings.horizon)
    records = (wl.train("toy", "random", seed=seed, preset="as_published_code") for seed in range(1, 401))
    finds = [record.returns[-1] > 0.9 for record in records]
    error = math.sqrt(expected * (1.0 - expected) / len(finds))
    assert abs(np.mean(finds) - expected) < 2.58 * error
