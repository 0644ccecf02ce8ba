"""Files and names of the paper's studies that are damaged, hostile or written at the same time."""

import io
import json

import pytest
from rich.console import Console

import wanderlust as wl
from wanderlust.core.errors import BadFile
from wanderlust.experiments.statistics import Percent
from wanderlust.experiments.store import seal, write_pack
from wanderlust_paper import claims, registry
from wanderlust_paper.reports import recap_tables
from wanderlust_paper.reports.recap_tables import Cell, Numbers, Row
from wanderlust_paper.reports.scorecard import FORMATS

pytestmark = pytest.mark.slow

HOSTILE = "a[/b] [red] $x_{$ <i>&\x1b[31m\nb"


ADD_SELECTIONS = """
from pathlib import Path
from wanderlust_paper.registry import StudySelection, find_study
from wanderlust_paper.reproduce import add_selection

for i in range(20):
    add_selection(find_study("memory"), StudySelection(seeds=1 + i + {first}), Path("memory"))
"""


def test_selections_of_concurrent_processes_are_all_kept(tmp_path, processes):
    started = [processes.start(tmp_path, ADD_SELECTIONS.format(first=100 * i)) for i in range(3)]
    assert [processes.wait(process) for process in started] == [0, 0, 0]
    _, selections = registry.from_json((tmp_path / "memory" / "study.json").read_text(), "here")
    assert {each.seeds for each in selections} == {1 + i + 100 * k for i in range(20) for k in range(3)}


def test_a_report_imports_nothing_that_a_stored_run_names(tmp_path, processes):
    """The pack of a requested run contains another run, with an explorer of the folder in which the report is made."""
    recap, selection = registry.find_study("recap"), registry.StudySelection(("toy",), ("random",), seeds=1)
    payload = wl.Run(world="toy", explorer="payload:X", settings={"budget": 200})
    result = wl.Run(world="toy", explorer="random", settings={"budget": 200}).train()
    store = wl.Store(tmp_path / "results")
    store.prepare()
    for run in recap.runs(selection):
        write_pack(store.packs, [seal(payload, result, 0.0)._replace(key=run.key)])
    (store.folder / "recap").mkdir()
    (store.folder / "recap" / "study.json").write_text(registry.to_json(recap, [selection]))
    (tmp_path / "payload.py").write_text("from pathlib import Path\nPath(__file__).with_name('executed').touch()\n")
    assert "another key" in processes.command(tmp_path, "report", "results", "--formats", "png")
    assert list(tmp_path.rglob("executed")) == []


def test_reports_escape_names():
    numbers = Numbers(Percent(1.0, 0.5), Percent(2.0, 0.5))
    row = Row(Cell(HOSTILE, "zero", "short", HOSTILE), 2, 2, numbers, numbers, (0.1, 0.1), None, None, "differs")
    claim = claims.Claim(HOSTILE, HOSTILE, "a | b", "reproduced")
    page = FORMATS["html"]([row], [claim], HOSTILE)
    assert "<i>" not in page
    assert "&lt;i&gt;&amp;" in page
    for text in (FORMATS["md"]([row], [claim], ""), recap_tables.as_markdown([row], "")):
        rows = [line for line in text.splitlines() if line.startswith("| ") and "a[/b]" in line]
        assert rows
        assert all("\x1b" not in line and "<i>" not in line for line in rows)
    assert "a \\| b" in FORMATS["md"]([], [claim], "")
    console = Console(width=200, markup=False, file=io.StringIO())
    for table in recap_tables.rich_tables([row._replace(verdict="agrees")], ""):
        console.print(table)
    assert "a[/b]" in console.file.getvalue()


def test_requests_are_checked():
    for study, choices in (("recap", []), ("recap", [{"worlds": 5}]), ("recap", [{"explorers": ["a", ["b"]]}]),
                           ("recap", [{"quick": "yes"}]), (["recap"], [{}])):  # fmt: skip
        with pytest.raises(BadFile, match="here"):
            registry.from_json(json.dumps({"study": study, "choices": choices}), "here")
