"""The studio without a browser: its runs are those of `train`, its texts repeat a run, its memory is bounded."""

from __future__ import annotations

import base64
import itertools
import json
import re
import struct
import tomllib
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wanderlust as wl
from conftest import PLANNERS, SMALL_WORLDS
from wanderlust.agents.presentation import explain
from wanderlust.core.errors import WanderlustError
from wanderlust.core.planning import optimal_values
from wanderlust.studio import limits
from wanderlust.studio.catalogue import catalogue, describe_world, gallery
from wanderlust.studio.export import MAX_FRAMES, bundle, export_page, moments, pack
from wanderlust.studio.frames import HEADER, History
from wanderlust.studio.setup import Setup, read_setup, snippets
from wanderlust.studio.workbench import Lane, Workbench

pytestmark = pytest.mark.slow

WORLDS = ("prison", "deep-sea", "chain")
PAINTED = 'S..\n\\".\n..A\n\nA = treasure 2\n" = puddle -0.1\n\\ = reward 0.1\nbudget = 150'


def setup_of(*explorers: str, world: str = "prison", **fields: Any) -> Setup:
    return read_setup({"world": world, "seed": 1, "lanes": [{"explorer": name} for name in explorers], **fields})


def lane_of(world: str, explorer: str, seed: int = 3, memory: dict[str, Any] | None = None, **settings: Any) -> Lane:
    lanes = [{"explorer": explorer, "settings": memory or {}}]
    fields = {"world_options": SMALL_WORLDS.get(world, {}), "seed": seed, "settings": settings, "lanes": lanes}
    setup = setup_of(world=world, **fields)
    made = setup.make_world()
    return Lane(setup.runs(made)[0], made)


def finished(bench: Workbench) -> Workbench:
    while not bench.finished:
        bench.advance(bench.length, 1)
        assert len({lane.step for lane in bench.lanes}) == 1, "the lanes stay together"
    return bench


def decoded(frame: bytes) -> dict[str, Any]:
    """Return the tables of a frame; a second reader beside the page's own."""
    _, flags, n_trail, step, agent, discovered, randomness, n_states, n_actions = HEADER.unpack_from(frame)
    at, pairs = HEADER.size, n_states * n_actions
    tables: dict[str, Any] = {}
    names = ["visits", "q", *(["behaviour"] if flags & 1 else []), *(["w"] if flags & 2 else []), "score"]
    for name in names:
        tables[name] = np.frombuffer(frame, "<u4" if name == "visits" else "<f4", pairs, at).reshape(n_states, -1)
        at += 4 * pairs
    trail = np.frombuffer(frame, "<i4", n_trail, at)
    greedy, preferred = np.frombuffer(frame, "u1", 2 * n_states, at + 4 * n_trail).reshape(2, -1)
    return {
        **tables, "step": step, "agent": agent, "discovered": discovered, "trail": trail, "greedy": greedy,
        "preferred": preferred, "randomness": randomness,
    }  # fmt: skip


@pytest.mark.parametrize(("explorer", "world"), list(zip(wl.explorer_names(), itertools.cycle(WORLDS), strict=False)))
def test_a_lane_gives_the_results_of_train_bit_for_bit(world: str, explorer: str) -> None:
    memory = {"replay": "full"} if explorer in PLANNERS else {}  # Some worlds have another default.
    lane = lane_of(world, explorer, memory=memory, budget=600)
    for steps in itertools.cycle([1, 7, 50]):
        lane.advance(lane.step + steps)
        lane.encoded()
        lane.curves.points()
        if lane.step == lane.length:
            break
        lane.advance_one("any")
    mine = lane.session.record()
    expected = wl.train(lane.world, explorer, seed=3, budget=600, **memory)
    assert (mine.returns == expected.returns).all()
    assert (mine.visits == expected.visits).all()
    assert all((mine.tables[name] == table).all() for name, table in expected.tables.items())


@pytest.mark.parametrize("explorer", ["vv-ucb", "ucb1", "bonus", "thompson", "epsilon-greedy", "random"])
def test_a_frame_has_the_values_of_the_explanation(explorer: str) -> None:
    lane = lane_of("prison", explorer)
    lane.advance(120)
    frame = decoded(lane.encoded())
    session = lane.session
    assert (frame["step"], frame["discovered"]) == (120, lane.discovered)
    assert (frame["trail"] == session.run_state.states[80:120]).all()
    visited = np.flatnonzero(frame["visits"].sum(axis=1))
    assert len(visited) == lane.discovered
    for state in visited:
        why = explain(session.agent, int(state))
        table = frame.get("behaviour", frame["q"])[state]
        if explorer != "thompson":  # It draws other heads for the explanation.
            assert [np.float32(a.score) for a in why.actions] == frame["score"][state].tolist()
            assert [np.float32(a.q) for a in why.actions] == table.tolist()
            best = [a.action for a in why.actions if a.score == max(b.score for b in why.actions)]
            assert sum(1 << action for action in best) == frame["preferred"][state]
        assert [a.visits for a in why.actions] == frame["visits"][state].tolist()
        if "w" in frame:
            assert [np.float32(a.w) for a in why.actions] == frame["w"][state].tolist()


def test_curves_are_those_of_the_record() -> None:
    for world in ("prison", "noisy-prison"):
        lane = lane_of(world, "vv-ucb", budget=1000)
        lane.advance(1000)
        record, points = lane.session.record(), lane.curves.points()
        assert lane.curves.every == 1
        at = record.steps - 1
        assert [points[i][0] for i in at] == record.discovered.tolist()
        assert np.allclose([points[i][1] for i in at], record.returns, rtol=1e-6)
        share = record.visits.sum(axis=1) / record.visits.sum()
        entropy = -(share[share > 0] * np.log(share[share > 0])).sum()
        assert points[-1][2] == pytest.approx(entropy, abs=1e-4)


def test_events_are_found_at_their_step() -> None:
    bench = Workbench(setup_of("vv-ucb"))
    (lane,) = bench.lanes
    event = bench.advance_to_event("reward", 60)
    assert event == f"Lane 1: reward 0.99 (1 and -0.01 of the step) found at (2, 2) at step {bench.step}."
    assert lane.session.agent.visits[6].sum() == 1, "the run has stopped at the first reward"
    before = lane.discovered
    assert bench.advance_to_event("state", 60) is not None
    assert lane.discovered == before + 1
    policy = decoded(lane.encoded())["greedy"]
    assert bench.advance_to_event("policy", 60) is not None
    assert (decoded(lane.encoded())["greedy"] != policy).any()
    lane.advance(10**9)
    assert lane.step == lane.length == 1000
    assert bench.advance_to_event("any", 60) is None


def test_the_history_of_a_long_run_is_bounded_and_gives_the_latest_frame() -> None:
    history = History(snapshots=16, size=4000)
    noise = np.random.default_rng(1)
    for step in range(5000):
        frame = struct.pack("<I", step) + noise.bytes(100)
        history.add(step, [frame])
        assert len(history.steps) <= 16
        assert history.size <= 4000
    found = history.at(4000)
    assert found is not None
    assert 0 <= 4000 - struct.unpack_from("<I", found[0])[0] <= 512
    assert history.at(0) is not None


def test_an_earlier_step_is_shown_exactly() -> None:
    bench = Workbench(setup_of("epsilon-greedy", "vv-ucb", world="toy"))
    seen = {}
    for step in (17, 230, 1000):
        bench.advance(step, 60)
        seen[step] = bench.frames()
    again = Workbench(bench.setup)
    for step in seen:
        while again.step < step:
            again.advance(step, 0.01)
        assert again.frames() == seen[step]
    assert bench.history.at(230) == seen[230]
    assert bench.history.at(500) == seen[230], "the latest before the step"


# ---------------------------------------------------------------------- setups and the texts that repeat them


def test_a_setup_is_read_back_from_its_description_and_its_toml() -> None:
    given = {
        "world": "my world",
        "world_options": {"map": gallery()[0]["map"], "slips": [0.9, 0.05, 0.05]},
        "seed": 7,
        "settings": {"budget": 500, "discount": 0.95},
        "lanes": [
            {"explorer": "vv-ucb", "options": {"gamma_w": 0.5}, "settings": {"replay": "none"}},
            {"explorer": "ucb1"},
        ],
    }
    setup = read_setup(given)
    assert read_setup(json.loads(json.dumps(setup.description))) == setup
    texts = snippets(setup, setup.runs(setup.make_world()))
    assert read_setup(tomllib.loads(texts["toml"])) == setup


@pytest.mark.parametrize(
    "setup",
    [
        setup_of("epsilon-greedy", "vv-ucb", settings={"budget": 200}),
        setup_of(world="painted", world_options={"map": PAINTED},
                 lanes=[{"explorer": "vv-count", "options": {"gamma_w": 0.9}}]),
    ],
    ids=["built-in", "painted"],
)  # fmt: skip
def test_copied_texts_repeat_the_run(setup: Setup, capsys: pytest.CaptureFixture[str]) -> None:
    bench = finished(Workbench(setup))
    assert [len(lane["points"]) > 99 for lane in bench.news()["lanes"]] == [True] * len(bench.lanes)
    assert all(lane["points"] == [] for lane in bench.news()["lanes"]), "only what is new"
    texts = snippets(setup, bench.runs)
    exec(texts["python"], {})
    for lane, line in zip(bench.lanes, capsys.readouterr().out.splitlines(), strict=True):
        record = lane.session.record()
        discovered = f"{record.discovered[-1]} states discovered"
        assert line == f"{lane.session.agent.explorer}: return {record.returns[-1]:.4g}, {discovered}"
    for run in bench.runs:
        assert run.command in texts["command"]


BEFORE, AFTER = ("S....\n.....\n....B\n\nB = treasure 3\n", "S...C\n.....\n.....\n\nC = treasure 5\n")


def test_a_map_changes_during_a_run_and_what_was_learned_stays() -> None:
    given = {"world": "mine", "world_options": {"map": BEFORE}, "seed": 1,
             "lanes": [{"explorer": "vv-ucb"}, {"explorer": "epsilon-greedy"}]}  # fmt: skip
    plain = Workbench(read_setup(given))
    setup = read_setup({**given, "changes": [{"step": 100, "map": AFTER}]})
    at_once, in_parts = Workbench(setup), Workbench(setup)
    for bench in (plain, at_once):
        for each in bench.lanes:
            each.advance(100)
    assert plain.frames() == at_once.frames()
    for step in (*range(0, 600, 7), 600):
        for each in (*in_parts.lanes, *(at_once.lanes if step == 600 else ())):
            each.advance(step)
    assert at_once.frames() == in_parts.frames() != finished(plain).frames()
    for each in at_once.lanes:
        assert [event.reward for event in each.events] == [3, 5]
        assert each.curves.points()[-1][1] == pytest.approx(5 * 0.99**4)
    assert [change["step"] for change in at_once.description()["changes"]] == [100]
    texts = snippets(setup, at_once.runs)
    assert read_setup(tomllib.loads(texts["toml"])) == setup
    assert texts["python"].startswith("# Without the changes")
    slippery = setup.description | {"world_options": {"map": BEFORE, "slips": [0.8, 0.1, 0.1]}}
    lane = finished(Workbench(read_setup(slippery))).lanes[0]
    assert 3 < lane.curves.points()[-1][1] < 5, "the return in the new map, which is stochastic, too"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lanes": []}, "lanes"),
        ({"lanes": [{"explorer": "ucb1"}] * 4}, "lanes"),
        ({"lanes": [{"explorer": "os:system"}]}, "unknown explorer 'os:system'"),
        ({"lanes": [{"explorer": "ucb1", "options": {"gamma_w": 0.5}}]}, "gamma_w"),
        ({"lanes": [{"explorer": "bootstrapped", "options": {"heads": 10_000}}]}, "heads"),
        ({"world": "/etc/passwd"}, "unknown world"),
        ({"world": "map.txt", "world_options": {"map": "S."}}, "name of its own"),
        ({"world": "prison", "world_options": {"map": "S."}}, "name of its own"),
        ({"world": "deep-sea", "world_options": {"depth": 900}}, "depth"),
        ({"world": "chain", "world_options": {"length": 99_999}}, "length"),
        ({"world": "x", "world_options": {"map": "S\n" * 50_000}}, "40000"),
        ({"settings": {"budget": 10**9}}, "budget"),
        ({"settings": {"evaluate_every": 1}}, "evaluate_every"),
        ({"seed": -1}, "seed"),
        ({"changes": [{"step": 0, "map": "S."}]}, "step"),
        ({"changes": [{"step": 9, "map": "S."}, {"step": 9, "map": "S."}]}, "increasing steps, got 9, 9"),
        ({"other": 1}, "other"),
        ({"world": "x", "world_options": {"map": "S" * 101}}, "100 rows and 100 columns"),
        ({"world": "x", "world_options": {"map": "S.A\n\nA = treasure 1\nbudget = 1000000000000"}}, "budget"),
        ({"world": "x", "world_options": {"map": "S.\n\nhorizon = 999999999999"},
          "lanes": [{"explorer": "ucb1", "settings": {"replay": "window"}}]}, "horizon"),
        *(({"world": "x", "world_options": {"map": BEFORE}, "changes": [{"step": 7, "map": changed}]},
           "the map at step 7: .*restart")
          for changed in ("S..\n", BEFORE.replace("....B", "S...B"),
                          BEFORE.replace("....B", "..p.B") + "p = prison 0.5\n")),
    ],
)  # fmt: skip
def test_a_setup_over_the_limits_is_refused(change: dict[str, Any], words: str) -> None:
    """Some when they are read, others when their lanes are made."""
    with pytest.raises(WanderlustError, match=words):
        Workbench(read_setup({"world": "toy", "lanes": [{"explorer": "ucb1"}], **change}))


def test_a_large_stochastic_world_is_evaluated_less_often() -> None:
    rows = ["S" + "." * 59] + ["." * 60] * 59
    options = {"map": "\n".join(rows) + "\n\nbudget = 300000", "slips": [0.8, 0.1, 0.1]}
    setup = read_setup({"world": "large", "world_options": options, "lanes": [{"explorer": "random"}]})
    (run,) = setup.runs(setup.make_world())
    assert 300_000 // run.settings["evaluate_every"] * 3600 <= limits.MAX_POLICY_ENTRIES


@pytest.mark.parametrize("world", gallery(), ids=lambda world: world["name"])
def test_a_teaching_world_teaches(world: Any) -> None:
    """W finds the optimum within the budget; ε-greedy discovers fewer states."""
    made = wl.make_world(world["name"], map=world["map"])
    optimum = made.mdp.start @ optimal_values(made.mdp).v
    with_w, without = (wl.train(made, name, seed=1) for name in ("vv-ucb", "epsilon-greedy"))
    assert with_w.returns[-1] == pytest.approx(optimum, rel=0.01)
    assert without.discovered[-1] < with_w.discovered[-1]


def test_the_catalogue_offers_every_world_and_explorer_with_its_options() -> None:
    offered = catalogue()
    assert [world["name"] for world in offered["worlds"]] == list(wl.world_names())
    assert len(offered["gallery"]) == 6
    for explorer in offered["explorers"]:
        names = [option["name"] for option in explorer["options"]]
        assert names == [option.name for option in wl.explorer_options(explorer["name"])]
    counts = next(o for e in offered["explorers"] for o in e["options"] if o["name"] == "terminal_count")
    assert counts["choices"] == ["pair", "largest"]


@pytest.mark.parametrize("name", wl.world_names())
def test_every_world_can_be_described(name: str) -> None:
    world = wl.make_world(name)
    description = json.loads(json.dumps(describe_world(world), allow_nan=False))
    states = sorted(state for layer in description["layers"] for state in layer["state"] if state >= 0)
    assert states == list(range(world.n_states))
    assert len(description["unreachable"]) == world.n_states - description["reachable"]


# ---------------------------------------------------------------------- export


def test_an_export_is_one_small_file_without_addresses() -> None:
    page = export_page(setup_of("epsilon-greedy", "ucb1", "vv-ucb", settings={"budget": 300}))
    # The frames are limited; the code and the rest are small, so that a page has at most 10 MB.
    assert len(page) - sum(map(len, re.findall(r'"[A-Za-z0-9+/=]{1000,}"', page))) < 350_000
    assert MAX_FRAMES < 9_500_000
    assert not re.findall(r"(?:src|href)=\"(?!#)", page)
    addresses = {"http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"}
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == addresses
    recording = json.loads(re.search(r'id="embedded">(.*?)</script>', page, flags=re.S)[1])  # type: ignore[index]
    assert recording["steps"] == list(range(301))


def test_an_export_of_names_like_markup_contains_no_markup() -> None:
    text = "S..A\n\nA = treasure 1\nbudget = 60 ; </script><script>alert(1)</script><!--"
    name = "<img src=x onerror=alert(1)>"
    page = export_page(read_setup({"world": name, "world_options": {"map": text}, "lanes": [{"explorer": "random"}]}))
    assert "<script>alert" not in page
    assert "<title>&lt;img" in page
    assert "<img" not in page
    assert page.count("</script>") == 3


def test_recorded_moments_and_frames_can_be_unpacked() -> None:
    assert moments(10, 1000) == list(range(11))
    spread = moments(100_000, 100)
    assert (spread[0], spread[-1], len(spread) <= 100) == (0, 100_000, True)
    headers = [HEADER.pack(b"WLF1", 0, 0, i, 0, 0, 0, 1, 1) for i in range(5)]
    frames = [header + struct.pack("<Iffbb", i, 0.5, i, 1, 1) for i, header in enumerate(headers)]
    planes = np.frombuffer(zlib.decompress(base64.b64decode(pack(frames))), np.uint8).reshape(4, len(frames), -1)
    words = np.bitwise_xor.accumulate(np.ascontiguousarray(planes.transpose(1, 2, 0)).view(np.uint32)[..., 0], axis=0)
    assert [words[i].tobytes()[: len(frames[i])] for i in range(5)] == frames


def test_the_modules_of_the_page_can_be_one_script() -> None:
    """Top-level names are unique among all modules, and every import has one line."""
    script = bundle()
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", script, flags=re.M)
    assert len(names) == len(set(names)) > 100
    assert not re.search(r"^(import|export) ", script, flags=re.M)


def test_lanes_of_different_presets_have_one_length() -> None:
    lanes = [{"explorer": "ucb1"}, {"explorer": "ucb1", "preset": "as_published_code"}]
    setup = setup_of(lanes=lanes, settings={"budget": 200})
    bench = finished(Workbench(setup))
    for lane, preset in zip(bench.lanes, ("as_written", "as_published_code"), strict=True):
        expected = wl.train("prison", "ucb1", seed=1, budget=200, steps=200, preset=preset)
        assert (lane.session.record().visits == expected.visits).all()
    texts = snippets(setup, bench.runs)
    assert "'preset': 'as_published_code'" in texts["python"]
    assert read_setup(tomllib.loads(texts["toml"])) == setup


# ---------------------------------------------------------------------- the command


Command = Callable[..., tuple[int, str]]


def test_the_command_exports_a_map_file_and_a_setup_file(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text(gallery()[0]["map"].replace("3000", "300"), encoding="utf-8")
    code, printed = command("studio", "mine.txt", "--export", "a.html", "--explorers", "random")
    assert code == 0, printed
    assert "a.html" in printed
    (tmp_path / "setup.toml").write_text('world = "toy"\nsettings = {budget = 100}\n[[lanes]]\nexplorer = "ucb1"\n')
    code, printed = command("studio", "setup.toml", "--export", "b.html")
    assert code == 0, printed
    assert '"world": "toy"' in (tmp_path / "b.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nowhere/",), "no such folder"),
        (("prisom",), "Did you mean 'prison'"),
        (("prison", "--explorers", "unknown"), "unknown explorer"),
        ((".", "--export", "a.html"), "not a folder"),
        (("prison", "--port", "99999"), "--port"),
        (("text.txt", "--no-browser"), "line 1, column 1: unknown letter 'h'"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: tuple[str, ...], words: str, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_text("hello\n", encoding="utf-8")
    code, printed = command("studio", *arguments)
    assert code == 2, printed
    assert words in printed
    assert "Traceback" not in printed
