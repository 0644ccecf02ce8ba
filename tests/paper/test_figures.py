"""Figures: drawn from runs in every format, reproducible, complete, and distinguishable without colour vision."""

import csv
import dataclasses
import io
import itertools
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from rich.console import Console

import wanderlust as wl
from conftest import run_python
from wanderlust.cli.listings import worlds
from wanderlust.core.errors import InvalidSetting, UnknownName
from wanderlust.experiments.execute import Execution
from wanderlust.experiments.report.figures import (
    curves_figure,
    explorer_styles,
    mean_curves,
    sequential_styles,
)
from wanderlust.experiments.store import Store
from wanderlust.worlds.action_values import best_actions
from wanderlust_paper.figures.chain_figures import CountsOverTime, ErrorsOverTime, counts_figure, msve_figure
from wanderlust_paper.figures.maps import CountMap, ValuePanel, action_values_figure, cell_marks, maps_figure
from wanderlust_paper.figures.scaling import SampleComplexity, epsilon_figure, power_law, scaling_figure
from wanderlust_paper.registry import EXPLORERS, StudySelection, find_study
from wanderlust_paper.reproduce import report_note, reproduce, show_report, studies_in, write_scorecard

pytestmark = [pytest.mark.slow, pytest.mark.first]

STUDIES = {
    "recap": (StudySelection(worlds=("toy",), explorers=("vv-ucb", "ucb1", "random"), seeds=2), {"curves-toy"}),
    "visit-maps": (StudySelection(worlds=("prison",), explorers=("vv-ucb", "ucb1")), {"maps"}),
    "gamma-w": (StudySelection(explorers=("vv-count",), seeds=1), {"curves", "maps"}),
    "stochastic": (StudySelection(worlds=("noisy-toy",), explorers=("vv-ucb", "ucb1"), seeds=2), {"curves"}),
    "memory": (StudySelection(worlds=("toy",), explorers=("vv-ucb", "epsilon-greedy"), seeds=2), {"curves"}),
}
"""What is run of each study, and the figures that it has."""


def request_in(folder, name):
    """Return the request of a study."""
    return next(request for request in studies_in(folder) if request.study.id == name)


def figures_of(folder, name):
    """Return the functions that draw the figures of a study."""
    request = request_in(folder, name)
    return request.study.report(request.runs, Store(folder).load_many(request.runs, []), report_note(request)).figures


def texts(figure):
    return {text.get_text() for text in figure.findobj(matplotlib.text.Text)}


def assert_complete(figure):
    """Check that no panel is empty, and that all text is inside the page."""
    figure.draw_without_rendering()
    for axes in figure.axes:
        if axes.axison:
            artists = [*axes.get_lines(), *axes.get_images(), *axes.collections, *axes.patches, *axes.texts]
            assert artists, axes.get_title()
        for line in axes.get_lines():
            data = np.asarray(line.get_ydata(), dtype=float)
            assert not len(data) or np.isfinite(data).any(), axes.get_title()
    page = figure.bbox
    boxes = [text.get_window_extent() for text in figure.texts] + [each.get_window_extent() for each in figure.legends]
    boxes += [axes.get_tightbbox() for axes in figure.axes]
    for box in boxes:
        assert page.x0 - 2 <= box.x0 <= box.x1 <= page.x1 + 2
        assert page.y0 - 2 <= box.y0 <= box.y1 <= page.y1 + 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the results of several studies, with few runs."""
    folder = tmp_path_factory.mktemp("results")
    console = Console(file=io.StringIO())
    for name, (selection, _) in STUDIES.items():
        options = {"execution": Execution(jobs=1), "quiet": True, "console": console, "formats": ()}
        reproduce(find_study(name), selection, folder, **options)
    write_scorecard(folder, "", {}, console)
    return folder


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_its_figures_without_an_empty_panel(folder, name):
    figures = figures_of(folder, name)
    assert figures.keys() == STUDIES[name][1]
    for draw in figures.values():
        assert_complete(draw())


def rows_of(folder, *names):
    """Return the rows of a CSV file."""
    with folder.joinpath(*names).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_tables_of_studies_have_every_group_and_step(folder):
    for name in ("gamma-w", "stochastic", "memory"):
        assert "100.00" in (folder / name / "table.md").read_text(encoding="utf-8")
        assert len(rows_of(folder, name, "curves.csv")) >= 10
    assert sum(int(row["visits"]) for row in rows_of(folder, "visit-maps", "counts.csv")) == 2 * 999


def test_the_same_runs_give_the_same_bytes_in_all_formats(folder, tmp_path):
    written = []
    for out, style in (("one", {}), ("two", {"font.size": 30, "savefig.dpi": 17, "svg.hashsalt": None})):
        with matplotlib.rc_context(style):
            request = request_in(folder, "visit-maps")
            show_report(request, Store(folder), Console(file=io.StringIO()), quiet=True, out=tmp_path / out)
        written.append({file.name: file.read_bytes() for file in (tmp_path / out / "visit-maps").iterdir()})
    assert written[0] == written[1]
    png, svg, pdf = (written[0][f"maps.{form}"] for form in ("png", "svg", "pdf"))
    assert imread(io.BytesIO(png))[..., :3].std() > 0.02, "it is not blank"
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert pdf.startswith(b"%PDF")
    assert max(map(len, (png, svg, pdf))) < 600_000


def test_curves_show_the_numbers_of_the_tables(folder):
    figure = figures_of(folder, "recap")["curves-toy"]()
    assert figure.axes[0].get_title() == "zero init., short horizon"
    lines = rows_of(folder, "recap", "curves.csv")
    scenario = [line for line in lines if (line["initialization"], line["horizon"]) == ("zero", "short")]
    for row, measure in enumerate(("discovery_mean", "success_mean")):
        curves = figure.axes[4 * row].get_lines()
        for line, explorer in zip(curves, ("vv-ucb", "ucb1", "random"), strict=True):
            expected = [float(each[measure]) for each in scenario if each["algorithm"] == explorer]
            np.testing.assert_allclose(line.get_ydata(), expected, atol=1e-4)
            assert line.get_color() == explorer_styles([explorer])[explorer].colour


def test_columns_without_runs_are_drawn_empty(folder):
    request = request_in(folder, "recap")
    few = [run for run in request.runs if run.world == "toy" and run.settings["initial"] == "zero"]
    report = request.study.report(request.runs, Store(folder).load_many(few, []), "")
    assert list(report.figures) == ["curves-toy"]
    figure = report.figures["curves-toy"]()
    assert sum(text == "no runs" for axes in figure.axes for text in (t.get_text() for t in axes.texts)) == 4
    assert_complete(figure)
    assert request.study.report(request.runs, iter(()), "").figures == {}


def test_the_page_has_a_row_for_each_cell(folder):
    page = (folder / "scorecard.html").read_text(encoding="utf-8")
    rows = re.findall(r'<tr class="[^"]*\bcell\b[^"]*">(.*?)</tr>', page, flags=re.S)
    cells = json.loads((folder / "scorecard.json").read_text(encoding="utf-8"))["cells"]
    assert len(rows) == len(cells) == 12
    for row, cell in zip(rows, cells, strict=True):
        texts_of_row = re.findall(r"<td[^>]*>(.*?)</td>", row, flags=re.S)
        assert texts_of_row[0] == cell["algorithm"]
        assert texts_of_row[-1].split(" ", 1)[1] == f"{cell['verdict']}; {cell['equivalence']}"
        assert float(texts_of_row[1].split()[0]) == pytest.approx(cell["ours"]["discovery"]["mean"], abs=0.006)
        assert float(texts_of_row[4].split()[0]) == pytest.approx(cell["theirs"]["success"]["mean"], abs=0.006)
    assert "http" not in page
    assert "src=" not in page


def test_every_explorer_has_its_own_style():
    styles = explorer_styles([*reversed(EXPLORERS), "my:Own", "fading", "another"])
    assert tuple(styles)[:9] == EXPLORERS
    assert len({styles[name].marker for name in EXPLORERS}) == 9
    assert len({style.colour for style in styles.values()}) == 12
    assert explorer_styles(["fading"])["fading"] == explorer_styles(["fading", "vv-ucb"])["fading"]
    assert len(set(explorer_styles(f"own {i}" for i in range(40)).values())) == 15
    assert len({style.colour for style in sequential_styles([str(i) for i in range(12)]).values()}) == 12


PROTANOPIA = [
    [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]
]  # fmt: skip
DEUTERANOPIA = [
    [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]
]  # fmt: skip


def test_colours_are_distinguishable_with_colour_vision_deficiency():
    """By the matrices of Machado, Oliveira and Fernandes (2009), for linear RGB."""
    linear = np.array([to_rgb(style.colour) for style in explorer_styles(EXPLORERS).values()]) ** 2.2
    for vision in (np.eye(3), PROTANOPIA, DEUTERANOPIA):
        perceived = np.clip(linear @ np.array(vision).T, 0, 1) ** (1 / 2.2)
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(perceived, 2)) > 0.15


def test_matplotlib_is_not_imported_before_a_figure_is_drawn():
    script = (
        "import sys, wanderlust_paper.reproduce\n"
        "from wanderlust_paper.registry import StudySelection, find_study, study_names\n"
        "from wanderlust_paper.figures import chain_figures, maps, scaling\n"
        "for name in study_names():\n"
        "    study = find_study(name)\n"
        "    study.report(study.runs(StudySelection(quick=True)), iter(()), '')\n"
        "assert not any(name.startswith('matplotlib') for name in sys.modules)\n"
    )
    assert run_python(script).stderr == ""


SIZES = np.arange(5.0, 20.0, 2.0)


def growth(exponent, *, limit=np.inf, seeds=4):
    steps = 3.0 * SIZES[:, None] ** exponent * np.exp(0.1 * np.random.default_rng(1).normal(size=(len(SIZES), seeds)))
    return SampleComplexity(SIZES, np.minimum(steps, limit), steps < limit)


def test_a_power_law_is_recovered():
    x, y = np.array([1.0, 2.0, 3.0, 5.0]), [0.1, 1.3, 1.9, 3.0]
    from scipy.stats import linregress, t

    fit = linregress(np.log(x), y)
    law = power_law(x, y)
    assert (law.exponent.estimate, np.log(law.factor)) == pytest.approx((fit.slope, fit.intercept))
    assert law.exponent.high - fit.slope == pytest.approx(t.ppf(0.975, 2) * fit.stderr)
    assert law.exponent.estimate - law.exponent.low == pytest.approx(t.ppf(0.975, 2) * fit.stderr)


def test_incomplete_points_have_open_markers_and_are_not_fitted():
    steps = np.array([[10.0, 10.0], [20.0, 40.0], [50.0, 99.0], [99.0, 99.0], [np.nan, np.nan]])
    learnt = np.array([[True, True], [True, True], [True, False], [False, False], [False, False]])
    runs = SampleComplexity(np.array([2.0, 4.0, 8.0, 16.0, 32.0]), steps, learnt)
    assert runs.complete.tolist() == [True, True, False, False, False]
    np.testing.assert_array_equal(runs.means()[0], [10.0, 30.0, 50.0, np.nan, np.nan])
    assert runs.fit() is None
    figure = scaling_figure("Growth", {"": {"vv-ucb": runs}}, x_name="N", y_name="steps", limit=99.0)
    points = {
        line.get_markerfacecolor(): [tuple(point) for point in line.get_xydata()]
        for line in figure.axes[0].get_lines()
        if line.get_linestyle() == "None" and line.get_marker() == "o"
    }
    colour = explorer_styles(["vv-ucb"])["vv-ucb"].colour
    assert points[colour] == [(2.0, 10.0), (4.0, 30.0)]
    assert points["white"] == [(8.0, 50.0), (16.0, 99.0)]


def test_the_scaling_figure():
    lines = {"vv-ucb": growth(2.5), "bootstrapped": growth(3.0, limit=5000.0), "my:Own": growth(4.0, limit=200.0)}
    figure = scaling_figure("Growth", {"a": lines, "b": lines}, x_name="N", y_name="steps", limit=5000.0, note="QUICK")
    assert_complete(figure)
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    fit = growth(2.5).fit().exponent
    assert f"vv-ucb  exponent {fit.estimate:.2f}, {fit.estimate:.2f}" in labels
    assert fit.low < 2.5 < fit.high
    assert "my:Own  (no fit)" in labels
    assert figure.axes[0].get_ylim()[1] < 10 * 5000.0, "no empty decades"
    assert "QUICK" in texts(figure)


def test_a_mean_over_all_seeds_counts_those_that_never_learnt():
    """Seeds that are never ε-optimal have all their steps in the mean; a second panel has the share of the others."""
    steps, learnt = np.array([[10.0, 20.0], [40.0, 1000.0], [1000.0, 1000.0]]), np.array([[1, 1], [1, 0], [0, 0]], bool)
    runs = SampleComplexity(np.array([2.0, 4.0, 8.0]), steps, learnt, every_seed=True)
    np.testing.assert_array_equal(runs.means()[0], [15.0, 520.0, 1000.0])
    np.testing.assert_array_equal(runs.learnt_percent(), [100.0, 50.0, 0.0])
    figure = scaling_figure("Growth", {"": {"ucb1": runs}}, x_name="N", y_name="steps", limit=1000.0)
    assert_complete(figure)
    top, bottom = figure.axes
    open_markers = [
        line for line in top.get_lines() if line.get_markerfacecolor() == "white" and line.get_marker() == "P"
    ]
    assert open_markers[0].get_xydata().tolist() == [[4.0, 520.0], [8.0, 1000.0]]
    assert bottom.get_lines()[0].get_ydata().tolist() == [100.0, 50.0, 0.0]


def test_the_epsilon_figure():
    steps = np.full((4, 3), 100.0) * np.arange(4, 0, -1)[:, None]
    runs = SampleComplexity(np.array([0.0, 1e-22, 1e-11, 1e-5]), steps, np.ones((4, 3), dtype=bool))
    figure = epsilon_figure("ε", {"N = 27": {"vv-ucb": runs}, "N = 55": {}}, y_name="steps", limit=1000.0)
    assert_complete(figure)
    assert {"0", "$10^{-22}$", "$10^{-5}$", "no runs"} <= texts(figure)


def test_the_figures_of_the_chain():
    steps = np.unique(np.geomspace(1, 1000, 30).astype(int))
    counts = CountsOverTime(steps, steps[:, None] // np.arange(1, 6))
    figure = counts_figure("Visits", dict.fromkeys(("vv-ucb", "ucb1", "bonus", "thompson"), counts))
    assert_complete(figure)
    assert "not yet visited" in texts(figure)
    errors = ErrorsOverTime(steps, np.maximum(0.0, 10.0 / steps - 0.1) * np.ones((3, 1)))
    figure = msve_figure("Errors", {"N = 27": {"vv-ucb": errors, "ucb1": errors}, "N = 55": {"vv-ucb": errors}})
    assert_complete(figure)
    low = figure.axes[0].get_ylim()[0]
    assert min(line.get_ydata().min() for axes in figure.axes for line in axes.get_lines()) > 2 * low


def test_the_figure_of_the_toy_example():
    layout = wl.make_world("toy-example").layout
    values = np.arange(36.0).reshape(9, 4)
    values[4] = 7.0
    values[8] = np.nan
    values[0] = [500.0, -1.0, 500.0, 0.001]
    rows = {"terminal": [ValuePanel("counts", values, arrows=False), ValuePanel("ucb1", values)], "not": []}
    figure = action_values_figure("Toy", rows, layout)
    assert_complete(figure)
    counts, ucb1 = ([text.get_text() for text in axes.texts] for axes in figure.axes[:2])
    assert {"500", "-1", "1e-03", "S", "P", "2"} <= set(counts)
    # Two arrows for a tie, none where all values are equal or NaN.
    assert (counts.count(""), ucb1.count("")) == (0, 2 + 6)
    best = best_actions(np.array([[1.0, 2.0, 2.0, 0.0], [5.0, 5.0, 5.0, 5.0], [0.0, 0.0, 0.0, 1e-3]]))
    assert best.tolist() == [[False, True, True, False], [False] * 4, [False, False, False, True]]


def test_a_map_distinguishes_unreachable_from_unvisited_cells():
    counts = np.array([[1000, 0], [10, 0]])
    unreachable = np.array([[False, True], [False, False]])
    all_reachable = np.zeros((2, 2), dtype=bool)
    rows = {"a": [CountMap("x", counts, unreachable)], "b": [CountMap("y", counts, all_reachable)]}
    figure = maps_figure("Visits", rows)
    assert_complete(figure)
    assert {"not visited", "unreachable"} <= texts(figure)
    visited, grey = (image.get_array() for image in figure.axes[0].get_images())
    assert visited.mask.tolist() == [[False, True], [False, True]]
    assert grey.mask.tolist() == [[True, False], [True, True]]


def test_maps_mark_the_start_the_treasures_and_the_traps():
    marks = cell_marks(wl.make_world("prison"))
    assert set(marks) == {
        ("start", 0, 0), ("treasure", 1, 1), ("treasure", 3, 4), ("treasure", 4, 4), ("prison", 3, 3)
    }  # fmt: skip
    assert ("penalty", 19, 19) not in cell_marks(wl.make_world("deep-sea", depth=20)), "it is the treasure's cell"
    count_map = CountMap("x", np.ones((5, 5), int), np.zeros((5, 5), bool), marks)
    figure = maps_figure("Visits", {"prison": [count_map]})
    assert_complete(figure)
    assert {"start", "treasure", "prison"} <= texts(figure)


WORLD_PICTURES = {
    "deep-sea": {"bomb", "treasure", "-1", "1"},
    "taxi": {"1", "2", "3", "0–15", "cannot be visited"},
    "deep-gridworld": {"-0.01", "2", "can be left, not entered"},
    "prison": {"prison", "1", "2", "5"},
    "wall": {"10,000", "500", "-20"},
    "chain": {"1", "27", "…", "reward\nstay: 1e-08", "reward\nstay: 1"},
}


@pytest.mark.parametrize("name", WORLD_PICTURES)
def test_the_picture_of_a_world(name):
    world = wl.make_world(name, **({"depth": 8} if name == "deep-sea" else {}))
    figure = world.draw()
    assert WORLD_PICTURES[name] <= texts(figure)
    assert_complete(figure)
    assert texts(world.plot(title="Mine")) - texts(figure) == {"Mine"}


def test_the_command_that_draws_a_world(tmp_path):
    """`project/test_docs.py` draws worlds as PNG."""
    worlds(draw="prison", out=tmp_path / "a" / "prison.svg")
    assert ElementTree.fromstring((tmp_path / "a" / "prison.svg").read_text()).tag.endswith("svg")
    for wrong, message in (({"draw": "prisn"}, "prison"), ({"draw": "toy", "out": Path("x.jpg")}, "png")):
        with pytest.raises(UnknownName, match=f"Did you mean '{message}'"):
            worlds(**wrong)
    with pytest.raises(InvalidSetting, match="--draw prison"):
        worlds(out=Path("x.png"))


def test_the_pictures_of_users_worlds():
    """A text map, a world without a layout, and one that is too large for a graph."""
    world = wl.make_world("S.#\n.aB\n\na = puddle -0.5\nB = reward 2\n")
    assert {"-0.5", "2", "puddle, penalty", "reward"} <= texts(world.draw())
    small, large = (dataclasses.replace(wl.make_world("chain", length=n), layout=None) for n in (5, 30))
    assert {"1", "5", "forward"} <= texts(small.draw())
    assert_complete(large.draw())


def test_the_last_point_of_long_curves_is_drawn():
    curves = np.stack([np.arange(50.0, 50.0 * 1001, 50.0), np.linspace(0, 100, 1000), np.linspace(0, 90, 1000)])
    columns = {"a": {"vv-ucb": mean_curves([curves, curves])}, "b": {}}
    figure = curves_figure("Long", columns, explorer_styles(["vv-ucb"]), log_scale=True)
    (line,) = figure.axes[0].get_lines()
    assert len(line.get_xdata()) == 100
    assert (line.get_xdata()[-1], line.get_ydata()[-1]) == (50_000.0, 100.0)
