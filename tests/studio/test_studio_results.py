"""The results view of the studio, without a browser: studies, sweeps, groups of runs, and runs opened in a lane."""

from __future__ import annotations

import base64
import itertools
import os
from pathlib import Path
from typing import Any

import pytest

import wanderlust as wl
from wanderlust.core.errors import WanderlustError
from wanderlust.core.schema import checked
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Store
from wanderlust.experiments.sweep import Sweep
from wanderlust.studio.results import browse, report_parts, setup_of
from wanderlust.studio.setup import Results, read_setup
from wanderlust.studio.workbench import Workbench

SMALLEST_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    names = itertools.product(("vv-ucb", "random"), range(3))
    runs = [Run(world="toy", explorer=name, seed=seed, settings={"budget": 200}) for name, seed in names]
    options = {"map": "S.A\n\nA = treasure 1"}
    hostile = Run(world="<img src=x onerror=alert(1)>", world_options=options, explorer="random")
    exam = Run(world="exam-lock", world_options={"level": 1}, explorer="vv-ucb", measure="exam",
               settings={"budget": 300})  # fmt: skip
    published = Run(world="toy", explorer="ucb1", preset="as_published_code", settings={"budget": 100})
    run_all([*runs, hostile, exam, published], Store(folder), jobs=1)
    sweep = Sweep(name="mine", worlds=["toy"], explorers=["vv-ucb"], seeds=2, settings={"budget": [200]})
    sweep.run(folder, jobs=1, quiet=True)
    (folder / "packs" / "damaged.zip").write_bytes(b"nothing")
    (folder / "recap-quick").mkdir()
    (folder / "recap-quick" / "study.json").write_text("{}", encoding="utf-8")
    (folder / "recap-quick" / "tables.md").write_text("# Tables\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", encoding="utf-8")
    (folder / "recap-quick" / "curves.png").write_bytes(SMALLEST_PNG)
    (folder / "recap-quick" / "forged.png").write_bytes(b"<html>")
    (folder / "scorecard.md").write_text("# Scorecard\n", encoding="utf-8")
    return folder


def test_results_are_grouped_by_all_but_the_seed(store: Path) -> None:
    listed = browse(store, Results())
    assert [(group["world"][:4], group["explorer"], group["seeds"]) for group in listed["groups"]] == [
        ("<img", "random", 1), ("exam", "vv-ucb", 1), ("toy", "random", 3), ("toy", "ucb1", 1), ("toy", "vv-ucb", 3),
    ]  # fmt: skip
    assert len(listed["problems"]) == 1, "a damaged run"
    group = browse(store, Results(group=4))["group"]
    assert [run["seed"] for run in group["runs"]] == [0, 1, 2]
    expected = wl.train("toy", "vv-ucb", seed=2, budget=200)
    assert group["runs"][2]["return"] == pytest.approx(expected.returns[-1], rel=1e-5)
    (run,) = read_setup(group["runs"][2]["setup"]).runs(wl.make_world("toy"))
    assert run == Run(world="toy", explorer="vv-ucb", seed=2, settings={"budget": 200})


def test_studies_and_sweeps_have_their_runs_tables_and_figures(store: Path) -> None:
    everything, study, sweep = browse(store, Results())["collections"]
    assert (everything["kind"], everything["groups"]) == ("folder", [0, 1, 2, 3, 4])
    assert everything["reports"] == ["scorecard.md"]
    assert (study["kind"], study["name"], study["reports"]) == ("study", "recap-quick", ["tables.md"])
    assert study["figures"] == ["curves", "forged"]
    assert (sweep["kind"], sweep["name"], sweep["groups"]) == ("sweep", "mine", [4])
    assert browse(store, Results(collection=0, report=0))["report"]["parts"] == [["h3", "Scorecard"]]
    parts = browse(store, Results(collection=2, report=0))["report"]["parts"]
    assert ["td", "toy"] in next(part for part in parts if part[0] == "table")[2][1]
    assert base64.b64decode(browse(store, Results(collection=1, figure=0))["figure"]["png"]) == SMALLEST_PNG
    with pytest.raises(WanderlustError, match="not a PNG"):
        browse(store, Results(collection=1, figure=1))


@pytest.mark.parametrize(("group", "note"), [(1, "the measure 'exam'"), (3, "")])
def test_a_lane_repeats_a_stored_run(store: Path, group: int, note: str) -> None:
    """Also one of the exam, and one with the settings of the released code, which is a step shorter."""
    shown = browse(store, Results(group=group))["group"]
    assert note in shown["note"]
    bench = Workbench(read_setup(shown["runs"][0]["setup"]))
    while not bench.finished:
        bench.advance(bench.length, 1)
    assert bench.lanes[0].discovered == shown["runs"][0]["discovered"]
    assert bench.length == (99 if group == 3 else 300)
    setup, note = setup_of(Run(world="CliffWalking-v1", explorer="vv-ucb", kind="environment"))
    assert setup is None
    assert "environment" in note


def test_a_report_is_sent_as_texts_and_known_elements() -> None:
    assert report_parts("# A **b**\n\nc [d](http://x) `e` <i>f</i>\n\n| g\\|h |\n|---|\n| 1<br>&lt; |\n\n* i\n") == [
        ["h3", "A ", ["strong", "b"]],
        ["p", "c ", "d", " ", ["code", "e"], " <i>f</i>"],
        ["table", ["thead", ["tr", ["th", "g|h"]]], ["tbody", ["tr", ["td", "1 <"]]]],
        ["ul", ["li", ["p", "i"]]],
    ]


def test_results_are_chosen_by_number_only(store: Path) -> None:
    chosen: list[Any] = [
        {"group": 99}, {"group": "../x"}, {"collection": 0, "report": -1}, {"collection": 0, "report": "/etc/passwd"},
        {"collection": 9, "report": 0}, {"collection": 0, "figure": 0}, {"report": 0}, {"collection": 0}, "recap",
    ]  # fmt: skip
    for each in chosen:
        with pytest.raises(WanderlustError):
            browse(store, checked("a choice", each, Results))


def test_files_outside_of_the_folder_and_special_files_are_not_shown(store: Path, tmp_path: Path) -> None:
    assert browse(tmp_path, Results())["groups"] == [], "an empty folder"
    secret, place = tmp_path / "secret.md", store / "recap-quick"
    secret.write_text("secret", encoding="utf-8")
    (place / "link.md").symlink_to(secret)
    (place / "link.png").symlink_to(secret)
    (place / "inner.md").symlink_to(place / "tables.md")
    os.mkfifo(place / "pipe.md")
    study = browse(store, Results())["collections"][1]
    assert study["reports"] == ["pipe.md", "inner.md", "tables.md"]
    assert study["figures"] == ["curves", "forged"]
    assert browse(store, Results(collection=1, report=1))["report"]["parts"][0] == ["h3", "Tables"]
    with pytest.raises(WanderlustError, match="named pipe"):
        browse(store, Results(collection=1, report=0))
