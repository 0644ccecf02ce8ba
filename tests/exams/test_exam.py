"""The exam: scores, the report card in all its forms, the leaderboard, and the commands around them."""

import json
import math
import os
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

import wanderlust as wl
from wanderlust.cli.live_view import WatchedRun, make_watched_world
from wanderlust.core.errors import BadFile, InvalidExplorer, InvalidSetting, UnknownName
from wanderlust.exams.card import FORMATS, LEADERBOARD_COMMAND, card_text, make_card
from wanderlust.exams.exam import Exam, ExamSelection, read_exam, save_exam, select
from wanderlust.exams.scores import (
    FIRST_SEED,
    SEEDS,
    Bounds,
    ExplorerScores,
    FailedRun,
    computed_bounds,
    differences,
    is_passed,
    kept_leaderboard,
    levels_text,
    ranked,
    read_leaderboard,
    score_row,
    total_samples,
    world_bounds,
)
from wanderlust.experiments.run import Result
from wanderlust.experiments.store import Store
from wanderlust.experiments.world_run import N_EVALUATIONS
from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, VERSION

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SMALL = {"families": ["lock", "river"], "levels": [1], "seeds": 2}
"""Four short runs of each explorer, in a deterministic and in a stochastic world."""
needs_board = pytest.mark.skipif(kept_leaderboard() is None, reason="the suite has no leaderboard yet")
OPTIONS = ("--families", "lock", "river", "--levels", "1", "--seeds", "2")

FADING = '''
"""An explorer of a user, in 30 lines."""
from typing import NamedTuple

from wanderlust import bernoulli, greedy_action, random_action

class Fading(NamedTuple):
    """Epsilon-greedy with an epsilon of 1 / (1 + n(s) / h)."""

    half_life: float

    @classmethod
    def configure(cls, problem, *, half_life: float = 10.0):
        if problem.n_actions == {bad}:
            raise RuntimeError("<b>too many</b> actions | for me")
        return cls(half_life)

    def choose(self, view, scores, random):
        if bernoulli(random, self.half_life / (self.half_life + view.total())):
            return random_action(random, view.n_actions)
        self.score(view, scores)
        return greedy_action(scores, random)
'''


@pytest.fixture
def fading(tmp_path, monkeypatch):
    """Write the explorer to a module of its own; `bad` is the number of actions with which it fails."""

    def write(name, bad=-1):
        (tmp_path / f"{name}.py").write_text(FADING.replace("{bad}", str(bad)), encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)

    return write


# --- Scores ------------------------------------------------------------------------------------------------------


def scores_in_a_world(*returns, data=None):
    """Return an explorer with a run for each curve of returns, None for a failed one; 1 is random and 3 is optimal."""
    zeros, rows = np.zeros(1, np.int64), []
    for seed, given in enumerate(returns, start=FIRST_SEED):
        curve = np.array(given, np.float64)
        found = None if given is None else Result(
            steps=np.arange(1, N_EVALUATIONS + 1), returns=curve, discovered=np.ones(N_EVALUATIONS, np.int64),
            visits=zeros[:, None], first_visit=zeros, optimal_return=np.full((), 9.0), reachable=np.ones((), np.int64),
            data_returns=curve if data is None else np.array(data, np.float64), learning_return=np.array([1.5]),
        )  # fmt: skip
        bounds = Bounds(random=1.0, optimal=3.0, worst=0.0, episode_random=1.0, episode_optimal=2.0)
        rows.append(score_row(("depth", 1), seed, found, bounds))
    return ExplorerScores("mine", rows)


GOOD, BAD = [3.0] * N_EVALUATIONS, [1.0] * N_EVALUATIONS


def test_the_score_of_a_run_is_the_clipped_mean_over_the_evaluations():
    (row,) = scores_in_a_world([0.0] * 3 + [2.0] * 3 + [4.0] * 6, data=GOOD).rows
    assert row["curve"].tolist() == [0.0] * 3 + [0.5] * 3 + [1.0] * 6
    assert (row["score"], row["data_score"], row["last"]) == (pytest.approx((3 * 0.5 + 6) / 12), 1.0, 1.0)
    assert row["learning_score"] == 0.5
    (failed,) = scores_in_a_world(None).rows
    assert (failed["score"], failed["data_score"], failed["last"], failed["learning_score"]) == (0.0, 0.0, 0.0, 0.0)


def test_the_return_while_learning_is_that_of_the_episodes():
    """Recomputed step by step, with the rewards of the world, from the trajectory of the same run."""
    for family in ("lock", "cliffs", "chain", "shift"):
        run = ExamSelection(("vv-ucb",)).run("vv-ucb", (family, 1), FIRST_SEED)
        world = wl.make_world(run.world, **run.world_options)
        record = wl.train(world, "vv-ucb", seed=FIRST_SEED, keep_trajectory=True, evaluate_every=world.defaults.budget)
        returns, total, time = [], 0.0, 0
        for step, (s, a) in enumerate(zip(record.states, record.actions, strict=True)):
            mdp = world.dynamics(step)
            total += 0.99**time * float(mdp.probability[s, a] @ mdp.reward[s, a])
            time += 1
            if mdp.terminal[s, a].any() or time == world.defaults.horizon:
                returns.append(total)
                total, time = 0.0, 0
        assert run.train().learning_return == pytest.approx([np.mean(returns)])


def test_scores_do_not_depend_on_the_processor():
    """The last bits of sparse solutions differ between the kernels of OpenBLAS, which it chooses by the processor."""
    code = (
        "import wanderlust as wl; "
        "rows = wl.exam('ucbvi', families='copies', levels=[1, 2], seeds=2, out=None, quiet=True).rows(); "
        "print([(row['score'], row['data_score'], row['last']) for row in rows])"
    )
    outputs = set()
    for kernel in ("Nehalem", "Haswell"):
        environment = os.environ | {"OPENBLAS_CORETYPE": kernel}
        outputs.add(subprocess.check_output([sys.executable, "-c", code], env=environment))
    assert len(outputs) == 1


def test_whether_an_action_terminates_is_certain_in_every_world():
    """The return while learning finds the ends of episodes by it."""
    for family in FAMILIES:
        for level in LEVELS:
            world = wl.make_world(f"exam-{family}", level=level, held_out=True)
            for mdp in (world.mdp, world.dynamics(world.changes_at)):
                assert set(np.unique((mdp.probability * mdp.terminal).sum(axis=2).round(9))) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("returns", "passed"),
    [([*[GOOD] * 4, BAD], True), ([*[GOOD] * 3, None], False), ([[*GOOD[1:], 2.8]], False)],
    ids=["80 percent of the seeds", "75 percent", "the last evaluation counts"],
)
def test_a_level_needs_80_percent_of_the_seeds(returns, passed):
    assert is_passed(scores_in_a_world(*returns).worlds["depth", 1]) is passed


def test_the_kept_bounds_are_those_of_the_worlds():
    for family in FAMILIES:
        computed = computed_bounds(family, 1, held_out=True)
        assert world_bounds(family, 1, held_out=True) == pytest.approx(computed, rel=1e-9)
    assert world_bounds("tv", 1, held_out=False) != world_bounds("tv", 1, held_out=True)


def made_up(name, means, seeds=SEEDS, spread=0.0, **others):
    """Return scores [family, level] with some spread over the seeds."""
    noise = np.random.default_rng(len(name)).uniform(-spread, spread, (len(means), len(LEVELS), seeds))
    rows = [
        {"family": family, "level": level, "seed": FIRST_SEED + k, "score": score, "data_score": score, "last": score,
         "learning_score": score / 2, "curve": np.full(N_EVALUATIONS, means[i])}
        for i, family in enumerate(list(FAMILIES)[: len(means)]) for j, level in enumerate(LEVELS)
        for k, score in enumerate(np.clip(means[i] + noise[i, j], 0, 1))
    ]  # fmt: skip
    return ExplorerScores(name, rows, **others)


def test_the_total_is_the_mean_over_families_whatever_the_number_of_their_levels():
    explorer = made_up("a", [1.0, 0.0])
    fewer = explorer.restricted([("depth", 1), *((family, level) for family, level in explorer.worlds
                                                 if family == "lock")])  # fmt: skip
    assert fewer.total().estimate == explorer.total().estimate == 0.5
    low, high = made_up("b", [0.5, 0.6], spread=0.2).total()[1:]
    assert low < 0.55 < high
    assert math.isnan(ExplorerScores("c", []).total().estimate)
    assert [levels_text(each) for each in ((3,), (2, 1), (1, 2, 3), (), (1, 3, 4))] == [
        "level 3", "levels 1 and 2", "levels 1 to 3", "no level", "levels 1, 3 and 4"
    ]  # fmt: skip
    one = made_up("d", [0.5, 0.6], seeds=1).restricted([("depth", 1), ("lock", 1)]).total()
    assert one.estimate == pytest.approx(0.55)
    assert math.isnan(one.low), "one run of each family does not say how much scores vary"


def test_ranks_of_explorers_that_cannot_be_told_apart():
    close = [made_up("one", [0.8, 0.7], spread=0.2), made_up("other", [0.79, 0.71], spread=0.2)]
    board = ranked([made_up("worst", [0.1, 0.1]), *close, made_up("best", [1.0, 1.0])], SEEDS)
    assert [each.explorer for each in board.explorers][0::3] == ["best", "worst"]
    ranks = {each.explorer: board.standing(each) for each in board.explorers}
    assert {name: rank["range"] for name, rank in ranks.items()} == {
        "best": "1", "one": "2–3", "other": "2–3", "worst": "4"
    }  # fmt: skip
    assert ranks["one"]["cannot_be_told_apart_from"] == ["other"]
    assert ranks["best"]["cannot_be_told_apart_from"] == []
    again = board.standing(made_up("best", [0.0, 0.0]))
    assert (again["rank"], again["of"]) == (4, 4), "an explorer is not compared with its own kept results"


def test_interquartile_mean_profile_and_improvement():
    one, two = made_up("one", [1.0, 0.5]), made_up("two", [0.2, 0.5])
    assert one.interquartile_mean().estimate == pytest.approx(0.75)
    assert one.restricted([("depth", 1), ("depth", 2)]).interquartile_mean() == (1.0, 1.0, 1.0)
    assert one.profile[-1] == 0.5
    assert one.profile[0] == 1.0
    better = one.improvement(two)
    assert better.estimate == pytest.approx(0.75), "always better in one half of the worlds, and equal in the other"
    assert better.low < 0.75 < better.high
    assert two.improvement(one).estimate == pytest.approx(0.25)
    interval = made_up("b", [0.5, 0.6], spread=0.2).family_interval("depth")
    assert interval.low < 0.5 < interval.high
    assert one.total("learning_score").estimate == pytest.approx(0.375)


def test_differences_are_corrected_for_the_number_of_pairs():
    """Equal explorers: with a 95 % interval for each pair, some pair of ten would often be told apart."""
    explorers = [made_up("x" * (i + 1), [0.5, 0.5], spread=0.3) for i in range(5)]
    found = differences(explorers)
    assert len(found) == 20
    one = found["x", "xx"]
    single = np.quantile(total_samples(explorers[0], "score") - total_samples(explorers[1], "score"), [0.025, 0.975])
    assert one.high - one.low > 1.2 * (single[1] - single[0])
    assert found["xx", "x"] == pytest.approx((-one.estimate, -one.high, -one.low))


# --- The leaderboard ---------------------------------------------------------------------------------------------


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Return a function that runs the script of the leaderboard in a folder of its own, and returns its names."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, name="__main__"):
        monkeypatch.setattr(sys, "argv", ["leaderboard.py", *arguments])
        return runpy.run_path(str(ROOT / "benchmarks" / "leaderboard.py"), run_name=name)

    return run


def test_a_leaderboard_is_read_as_it_was_written(script):
    functions = script(name="functions")
    failed = {("lock", 2): FailedRun(2001, "out of order | <b>")}
    nearly = scores_in_a_world([3.0] * 11 + [2.89999]).rows
    rows = [*nearly, *(row for row in made_up("one", [0.123456, 0.9], spread=0.1).rows if row["level"] > 1)]
    board = ranked([ExplorerScores("one", rows, failed, 1.25), made_up("two", [0.5, 0.5])], SEEDS)
    text = functions["as_json"](board)
    read = read_leaderboard(json.loads(text))
    assert functions["as_json"](read) == text
    assert read.find("one").failures == failed
    assert read.find("one").mean() == pytest.approx(board.find("one").mean(), abs=1e-4)
    assert not is_passed(read.find("one").worlds["depth", 1]), "rounding must not pass a level"
    board = read.restricted(read.places)
    assert "out of order" in functions["page_of"](board)


@needs_board
def test_the_kept_leaderboard_is_the_page_of_the_documentation(script):
    board = kept_leaderboard()
    assert {each.explorer for each in board.explorers} <= set(wl.explorer_names())
    script("--page", "--docs", "page.md")
    assert Path("page.md").read_text(encoding="utf-8") == (ROOT / "docs/leaderboard.md").read_text(encoding="utf-8")


@needs_board
def test_levels_become_harder(script):
    """On the stored results of all explorers."""
    rows = script(name="functions")["levels"](kept_leaderboard())
    found = {row["family"]: row["runs backwards"] for row in rows if row["runs backwards"] != "–"}
    assert found == {}
    assert all(0.3 < float(row["separation"]) <= 1 for row in rows)
    assert all(float(row["random"]) < 0.4 for row in rows)


@needs_board
def test_the_leaderboard_is_printed(command):
    code, printed = command("exam", "--leaderboard")
    assert code == 0
    board = kept_leaderboard()
    for word in (board.extent[1:], "ucbvi", f"{board.find('vv-ucb').mean():.3f}", LEADERBOARD_COMMAND):
        assert word in printed
    code, printed = command("exam", "vv-ucb", "--leaderboard")
    assert code == 2
    assert "leave the explorers" in printed


def test_the_script_executes_the_runs(script):
    script("--explorers", "random", "vv-ucb", *OPTIONS, "--file", "board.json", "--docs", "page.md")
    board = read_leaderboard(json.loads(Path("board.json").read_text()))
    # vv-ucb may have other options for the second total.
    assert list(dict.fromkeys(each.explorer for each in board.explorers)) == ["vv-ucb", "random"]
    extent = f"2 of {len(FAMILIES)} families, level 1 with 2 seeds per world; not the whole exam"
    assert extent in Path("page.md").read_text()


# --- Taking the exam ---------------------------------------------------------------------------------------------


@needs_board
def test_the_kept_leaderboard_has_the_scores_of_these_runs():
    """It is made by the code of this version: the same seeds in the same worlds have the same scores."""
    for name in ("vv-ucb", "random"):
        kept = kept_leaderboard().find(name)
        taken = wl.exam(name, options={name: dict(kept.options)}, **SMALL, out=None, quiet=True)
        for place, world in taken.scores[name].worlds.items():
            for column in ("score", "data_score"):
                found = kept.worlds[place].column(column)[: len(world)]
                np.testing.assert_allclose(world.column(column), found, atol=6e-5)


def test_the_result_in_python(tmp_path):
    small_exam = wl.exam(["vv-ucb", "random"], **SMALL, out=None, jobs=2, quiet=True)
    total = small_exam.scores["vv-ucb"].total()
    assert total.low <= total.estimate <= total.high
    assert total.estimate > small_exam.scores["random"].total().estimate
    frame = small_exam.to_pandas()
    assert len(frame) == 8
    mean = frame[frame.explorer == "vv-ucb"].groupby("family").score.mean().mean()
    assert mean == pytest.approx(total.estimate)
    for suffix in FORMATS:
        small_exam.save(tmp_path / f"card{suffix}")
        assert "vv-ucb" in (tmp_path / f"card{suffix}").read_text(encoding="utf-8")
    assert str(small_exam) == (tmp_path / "card.txt").read_text(encoding="utf-8").rstrip("\n")
    assert "vv-ucb" in repr(small_exam)
    assert "<iframe" in small_exam._repr_html_()
    with pytest.raises(InvalidSetting, match=r"\.html"):
        small_exam.save("card.pdf")


def test_a_command_gives_the_card_of_an_explorer_in_a_file(command, tmp_path, fading):
    fading("my_explorer")
    arguments = ("exam", "my_explorer:Fading", "random", *OPTIONS, "--set", "half_life=5", "--jobs", "1")
    code, printed = command(*arguments)
    assert code == 0, printed
    assert "8 runs executed" in printed
    suite = f"Suite {VERSION}, held-out"
    assert all(part in printed for part in ("my_explorer:Fading (half_life=5)", "Fails at lock, level 1", suite))
    _, again = command(*arguments)
    assert "0 runs executed in 0 s, 8 already stored" in again
    folder = next((tmp_path / "results" / "exams").iterdir())
    first = {suffix: (folder / f"card{suffix}").read_text(encoding="utf-8") for suffix in (".html", ".md")}
    for suffix in first:
        (folder / f"card{suffix}").unlink()
    # Reading does not need the code.
    (tmp_path / "my_explorer.py").unlink()
    code, reported = command("report", "results")
    assert code == 0
    assert reported.partition("\nExam")[2] in again
    assert command("report", "results", "--quiet", "--out", "elsewhere") == (0, "")
    elsewhere = tmp_path / "elsewhere" / folder.relative_to(tmp_path / "results")
    assert {suffix: (elsewhere / f"card{suffix}").read_text(encoding="utf-8") for suffix in first} == first


def test_a_failing_world_is_on_the_card_and_the_rest_goes_on(command, tmp_path, fading):
    fading("choosy", bad=2)  # As many actions as `river` has; `lock` has four.
    fading("my_explorer")  # A copy of the same class: compiled code of one must not be used for the other.
    code, printed = command("exam", "choosy:Fading", "my_explorer:Fading", *OPTIONS, "--quiet", "--jobs", "1")
    assert code == 1
    assert "Error in river, level 1: RuntimeError: <b>too many</b> actions | for me" in printed
    assert printed.count("Traceback") == 1, "both seeds have the same traceback"
    folder = next((tmp_path / "results" / "exams").iterdir())
    card = json.loads((folder / "card.json").read_text())
    chosen = card["results"][0]
    assert chosen["families"]["river"]["score"] == 0.0
    assert chosen["total"]["estimate"] == pytest.approx(chosen["families"]["lock"]["score"] / 2)
    assert [error["worlds"] for error in chosen["errors"]] == [[["river", 1]]]
    assert shlex.split(chosen["errors"][0]["run"])[:2] == ["wanderlust", "run"]
    assert card["results"][1]["errors"] == []
    html, markdown = ((folder / f"card{suffix}").read_text(encoding="utf-8") for suffix in (".html", ".md"))
    assert "&lt;b&gt;too many&lt;/b&gt;" in html
    assert "<b>too many" not in html + markdown
    assert "actions \\| for me" in markdown
    assert "Error in river" in command("report", "results")[1]


def test_forged_runs_are_not_used_and_named(command, tmp_path):
    store, selection = Store(tmp_path / "results"), select("random", families="lock", levels=1, seeds=7)
    store.prepare()
    *forged_runs, good_run = selection.runs
    good, files = good_run.train(), []
    forgeries = (
        {"returns": np.full(12, np.nan)}, {"returns": np.full(12, 1e6)}, {"returns": np.full(12, -1e-3)},
        {"data_returns": np.full(12, -np.inf)}, {"data_returns": np.zeros(3)},
        {"learning_return": np.full(1, np.nan)},
    )  # fmt: skip
    for run, forged in zip(forged_runs, forgeries, strict=True):
        files.append(store.save(run, good._replace(**forged), 1.0).name)
    store.save(good_run, good._replace(optimal_return=np.full((), 1e-9), learning_return=np.zeros(1)), 1.0)
    save_exam(selection, store.folder, {})
    code, printed = command("report", "results")
    assert code == 0, printed
    assert all(f"{file} ({run.key}): ignored" in printed for file, run in zip(files, forged_runs, strict=True))
    assert "Incomplete: 6 runs" in printed
    card = json.loads(next(store.folder.glob("exams/*/card.json")).read_text())
    assert card["results"][0]["total"]["estimate"] < 0.5, "the optimum that the file says does not count"


def test_the_same_error_in_many_worlds_is_shown_once_and_is_not_a_weak_point():
    """The weakest family is one without errors; a world that is passed in spite of an error is passed."""
    failed = {(family, level): FailedRun(1000, "ValueError: no") for family in ("depth", "lock")
              for level in (1, 2, 4)}  # fmt: skip
    other = {("lock", 3): FailedRun(2001, "out of order.")}
    selection = ExamSelection(("mine",), families=("depth", "lock", "actions"), held_out=False)
    card = make_card(selection, [made_up("mine", [0.0, 0.0, 0.3], failures=failed | other)])
    mine = card["results"][0]
    assert (mine["fails_at"]["family"], mine["fails_at"]["level"]) == ("depth", 3)
    wheres = [error["where"] for error in mine["errors"]]
    assert wheres == ["Error in depth, level 1 and in 5 other worlds:", "Error in lock, level 3:"]
    assert " ".join(card_text(card, ".txt").split()).count("ValueError: no") == 1
    everywhere = {place: FailedRun(1000, "no") for place in selection.places}
    (mine,) = make_card(selection, [made_up("mine", [0.0] * 3, failures=everywhere)])["results"]
    assert (mine["fails_at"], mine["strength"], len(mine["errors"])) == (None, None, 1)


def test_the_command_of_the_card_replays_exactly_that_run(command, tmp_path, fading):
    fading("my_explorer")
    options = {"my_explorer:Fading": {"half_life": 3.0}}
    exam = wl.exam("my_explorer:Fading", **SMALL, options=options, out=tmp_path, jobs=1, quiet=True)
    weak = exam.card["results"][0]["fails_at"]
    words, seed = shlex.split(weak["watch"]), weak["seed"]
    code, printed = command(*words[1:])
    assert code == 0, printed
    stored = Store(tmp_path).load(exam.selection.run("my_explorer:Fading", ("lock", 1), seed)).result
    assert f"step {stored.steps[-1]:,} of {stored.steps[-1]:,}" in printed
    assert f"discovered {stored.discovered[-1]} of" in printed
    world = make_watched_world("exam-lock", {"level": 1, "held_out": True})
    run = WatchedRun(world, "my_explorer:Fading", seed=seed, half_life=3.0)
    run.session.advance(run.length)
    assert np.array_equal(run.session.record().visits, stored.visits)


# --- The report card ---------------------------------------------------------------------------------------------


def test_a_card_of_many_explorers_is_self_contained_and_escaped():
    names = ["a<script>", "b|c", "[red]d[/red]"]
    explorers = tuple(made_up(name, [0.5, 0.99], options={"x": "<i>"}) for name in names)
    card = make_card(ExamSelection(tuple(names), families=("depth", "lock"), held_out=False), explorers)
    texts = {suffix: card_text(card, suffix) for suffix in FORMATS}
    for suffix in (".html", ".md"):
        # An indented line of Markdown is code, in which nothing is markup.
        text = "\n".join(line for line in texts[suffix].splitlines() if not line.startswith("    "))
        assert "<script" not in text
        assert "<i>" not in text
    assert not any(part in texts[".html"] for part in ("http", "src=", "@import", "url("))
    assert "b\\|c" in texts[".md"]
    assert "[red]d[/red]" in texts[".txt"]
    assert max(map(len, texts[".txt"].splitlines())) <= 130
    assert "No rank" in texts[".txt"]


@needs_board
def test_ranks_and_references_come_from_the_kept_leaderboard_in_the_same_worlds():
    board = kept_leaderboard()
    places = [place for place in board.places if place[0] in ("lock", "river") and place[1] == 1]
    selection = ExamSelection(("mine",), families=("lock", "river"), levels=(1,))
    perfect = made_up("mine", [1.0] * len(FAMILIES)).restricted(places)
    card = make_card(selection, (perfect,))
    assert [each["explorer"] for each in card["references"]] == ["vv-ucb", "epsilon-greedy", "random"]
    assert card["references"][0]["total"] == board.find("vv-ucb").restricted(places).total()._asdict()
    rank = card["results"][0]["rank"]
    assert (rank["rank"], rank["of"]) == (1, 1 + len(board.explorers))
    assert "Passes every level" in card_text(card, ".txt")
    assert board.restricted(places).extent in card_text(card, ".md")
    development = make_card(ExamSelection(("mine",), held_out=False), (perfect,))
    assert development["results"][0]["rank"] is None
    assert "the leaderboard is made in the held-out worlds" in card_text(development, ".md")


def test_options_in_units_of_the_world():
    """The largest reward of a noisy treasure is 1 plus the deviation."""
    selection = select("psrl", families=["lock", "noise"], levels=1, options={"psrl": {"deviation": "0.5 r_max"}})
    values = {run.world: run.explorer_options["deviation"] for run in selection.runs}
    assert values == {"exam-lock": pytest.approx(0.5), "exam-noise": pytest.approx(0.6)}
    (vv_ucb,) = select("vv-ucb", families="lock", levels=1, seeds=1, options={"vv-ucb": {"kappa": "2 V"}}).runs
    assert vv_ucb.explorer_options["kappa"] == pytest.approx(200)


def test_the_tuning_has_the_same_number_of_trials_for_every_explorer():
    """All options are valid; seeds and worlds are not those of the exam."""
    functions = runpy.run_path(str(ROOT / "benchmarks" / "exam_tuning.py"), run_name="functions")
    assert set(functions["TRIALS"]) | {"random", "optimistic"} == set(wl.explorer_names())
    for explorer, trials in functions["TRIALS"].items():
        assert len({json.dumps(options) for options in trials}) == 9
        for options in trials:
            select(explorer, families="noise", levels=1, options={explorer: functions["given"](options)})
    runs = functions["runs_of"]("vv-ucb", {})
    assert len(runs) == len(FAMILIES) * 2 * 5
    assert {run.seed for run in runs} == set(range(5))
    assert not any(run.world_options["held_out"] for run in runs)


# --- Invalid input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give at least one explorer"),
        (("no-such-one",), "unknown explorer 'no-such-one'"),
        (("no_such_module:Explorer",), "module 'no_such_module' cannot be imported"),
        (("vv-ucb", "--families", "depht"), "depht"),
        (("vv-ucb", "--levels", "5"), "level must be"),
        (("vv-ucb", "--seeds", "0"), "seeds must be"),
        (("vv-ucb", "--set", "discount=0.5"), "discount cannot be set in an exam"),
        (("vv-ucb", "--set", "steps=10"), "steps cannot be set in an exam"),
        (("vv-ucb", "--set", "no_such_setting=1"), "no_such_setting"),
        (("vv-ucb", "--set", "kappa=-1"), "kappa"),
        (("vv-ucb", "--set", "kappa=much V"), "'much V' must begin with a number"),
        (("vv-ucb", "--on", "mars"), "mars"),
    ],
)
def test_invalid_commands_say_what_is_wrong(command, arguments, message, tmp_path):
    code, printed = command("exam", *arguments)
    assert code == 2
    assert message in printed
    assert "Traceback" not in printed
    assert not (tmp_path / "results").exists()


class Local(NamedTuple):
    """An explorer in the file of the tests."""

    x: float

    @classmethod
    def configure(cls, problem):
        return cls(0.0)


def test_explorers_given_as_classes(monkeypatch, tmp_path):
    assert select(Local).explorers == (f"{__name__}:Local",)
    assert select([wl.explorers.protocol.explorer_class("vv-ucb")]).explorers == ("vv-ucb",)

    class Inner(Local):
        pass

    with pytest.raises(InvalidExplorer, match="top of a module"):
        select(Inner)
    # In a notebook: it has no file, so what is stored belongs to this definition of the class alone.
    notebook = ModuleType("notebook")
    monkeypatch.setitem(sys.modules, "notebook", notebook)
    executed = []
    for _ in range(2):
        notebook.Typed = type("Typed", (Local,), {"__module__": "notebook"})
        taken = [wl.exam(notebook.Typed, **SMALL, out=tmp_path, quiet=True) for _ in range(2)]
        executed += [each.summary.executed for each in taken]
        assert taken[0].rows() == taken[1].rows()
    assert executed == [4, 0, 4, 0]


def test_selections():
    for explorers, options in (("no-such-one", {}), ([], {}), ("random", {"families": []}),
                               ("random", {"options": {"vv-ucb": {"kappa": 1}}})):  # fmt: skip
        with pytest.raises(UnknownName if explorers == "no-such-one" else InvalidSetting):
            select(explorers, **options)
    assert select("random", quick=True).levels == (1, 2)
    assert select("random", quick=True, seeds=4).seeds == 4
    assert select("random").name == "random"
    assert select("random", families="slip", levels=2) == select("random", families=["slip"], levels=[2])
    assert select("random", quick=True).name != select("random", quick=True, held_out=False).name


@pytest.mark.parametrize(
    "change",
    [{"suite": 0}, {"explorers": "vv-ucb"}, {"explorers": [1]}, {"families": ["../.."]}, {"levels": [9]}, {"seeds": -1},
     {"held_out": "yes"}, {"options": []}, {"options": {"x": {}}}, {"step_microseconds": {"vv-ucb": "fast"}}],
)  # fmt: skip
def test_files_of_exams_are_checked(change, tmp_path):
    valid = {"suite": VERSION, **select("vv-ucb").description, "step_microseconds": {}}
    path = tmp_path / "exam.json"
    path.write_text(json.dumps(valid))
    assert read_exam(path).selection == select("vv-ucb")
    path.write_text(json.dumps(valid | change))
    with pytest.raises(BadFile, match="not an exam"):
        read_exam(path)


def test_an_exam_without_results_has_a_card():
    card = Exam(ExamSelection(("random",), held_out=False), [ExplorerScores("random", [], n_missing=320)], None).card
    for suffix in FORMATS:
        assert "Incomplete: 320 runs not executed yet" in card_text(card, suffix)
