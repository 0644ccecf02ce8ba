"""The studio in a real Chromium, driven by the roles and names that a screen reader says.

Needs the program chromium (on Debian: apt-get install chromium). With WANDERLUST_REQUIRE_BROWSER=1 a missing browser
is a failure; otherwise these tests are skipped, with that reason.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import wanderlust as wl
from process_server import wait_until
from studio_server import RunningStudio
from test_studio_results import store  # noqa: F401
from wanderlust.studio.export import export_page
from wanderlust.studio.lesson import Lesson, lessons
from wanderlust.studio.setup import read_setup
from wanderlust.studio.static_page import static_page
from wanderlust.studio.workbench import Workbench

pytestmark = pytest.mark.slow

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
Page, expect = sync_api.Page, sync_api.expect
# A machine that is busy with other work is slow.
expect.set_options(timeout=60_000)

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
VIOLATIONS = "axe.run().then((found) => found.violations.map((each) => [each.id, each.impact, each.nodes[0].html]))"
THREE = [{"explorer": "epsilon-greedy"}, {"explorer": "ucb1"}, {"explorer": "vv-ucb"}]


def find_chromium() -> str:
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        reason = f"needs a browser: none of {', '.join(PROGRAMS)} is installed (apt-get install chromium)"
        if os.environ.get("WANDERLUST_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    return program


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = find_chromium()
    with sync_api.sync_playwright() as playwright:
        # The sandbox of Chromium does not start as root, which tests in containers often are.
        flags = ["--no-sandbox", "--disable-background-networking"]
        launched = playwright.chromium.launch(executable_path=program, args=flags)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[RunningStudio]:  # noqa: F811
    running = RunningStudio(store=store, lessons=lessons())
    yield running
    running.stop()


@pytest.fixture
def new_page(browser: Any, server: RunningStudio) -> Iterator[Callable[..., Any]]:
    """Return a function that opens the studio in a page; errors of the page fail the test."""
    contexts, errors = [], []

    def make(width: int = 1280, height: int = 720, *, url: str | None = None, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        # Without a network there is no error to expect, and every request would be one.
        parts = "" if options.get("offline") else "Content Security"
        page.on("console", lambda message: errors.append(message.text) if parts in message.text else None)
        page.goto(url or server.url)
        expect(status(page, "Step")).to_have_text(re.compile(r"^\d+$"))
        wait_for_maps(page)
        return page

    yield make
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture
def page(new_page: Callable[..., Any]) -> Any:
    return new_page()


def wait_for(page: Any, condition: str, seconds: float = 60) -> None:
    """Wait until an expression is true in the page. (Playwright's own function needs eval, which the page forbids.)"""
    wait_until(lambda: page.evaluate(condition) is True, seconds)


def wait_for_maps(page: Any) -> None:
    wait_for(page, "Boolean(globalThis.studio && studio.framesDrawn > 0 && studio.stage.isArranged)")


def button(page: Any, name: str) -> Any:
    return page.get_by_role("button", name=name)


def skip(page: Any) -> None:
    """Skip to the next stop of a lesson, unless it is reached before the button is Skip."""
    wait_for(page, "!studio.lesson.target || document.getElementById('lesson-next').textContent.startsWith('Skip')")
    page.locator("#lesson-next").evaluate("(next) => next.textContent.startsWith('Skip') && next.click()")


def status(page: Any, name: str) -> Any:
    return page.get_by_role("status", name=name)


def lane(page: Any, number: int) -> Any:
    return page.get_by_role("region", name=f"Lane {number}")


def step_of(page: Any) -> int:
    return int(status(page, "Step").text_content())


def run_to_end(page: Any, length: int) -> None:
    page.get_by_role("slider", name="Speed").fill("100")
    button(page, "Run").click()
    expect(status(page, "Step")).to_have_text(str(length), timeout=60_000)


def address_of(server: RunningStudio, setup: dict[str, Any]) -> str:
    text = base64.urlsafe_b64encode(json.dumps({"setup": setup}).encode()).decode()
    return f"{server.url}#s={text.rstrip('=')}"


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the script of axe-core, which this package contains."""
    package = pytest.importorskip("axe_playwright_python", reason="needs the package axe-playwright-python")
    return (Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def serious_violations(page: Any) -> list[Any]:
    return [each for each in page.evaluate(VIOLATIONS) if each[1] in ("serious", "critical")]


def test_the_story_from_opening_to_the_copied_link(new_page: Callable[..., Any], server: RunningStudio) -> None:
    # The server is part of this process, so everything is compiled before the page needs it.
    explorers = [each["explorer"] for each in THREE]
    records = [wl.train("prison", name, seed=1) for name in explorers]
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("combobox", name="World").select_option(label="prison")
    for number in (2, 3):
        button(page, "Add lane").click()
        wait_for(page, f"studio.accepted.lanes.length === {number}")
    for number, explorer in enumerate(explorers):
        lane(page, number + 1).get_by_role("combobox", name="Explorer").select_option(explorer)
        wait_for(page, f"studio.accepted.lanes[{number}].explorer === '{explorer}'")
    # The focus is where the mouse left it; Space runs nevertheless.
    page.keyboard.press("Space")
    wait_for(page, "studio.viewed > 5 && studio.setup.lanes.length === 3")
    run_to_end(page, 1000)
    discovered = [int(record.discovered[-1]) for record in records]
    for number, expected in enumerate(discovered, start=1):
        expect(status(lane(page, number), "States discovered")).to_have_text(str(expected))
    assert discovered[2] > max(discovered[:2]), "W fills the map"

    table = page.get_by_role("table", name="Actions of the cell")
    heading = page.get_by_role("heading", name="Lane 3 · vv-ucb · cell (1, 3)")

    def point_at_the_cell() -> bool:
        # A late change of the layout can move the map away from the pointer.
        box = lane(page, 3).locator("canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.52, box["y"] + box["height"] * 0.12)
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.1)
        return bool(heading.is_visible())

    wait_until(point_at_the_cell, 30)
    visits = records[2].visits[2]
    for action, name in enumerate(("left", "right", "up", "down")):
        row = table.get_by_role("row", name=name)
        expect(row.get_by_role("cell").nth(1)).to_have_text(str(visits[action]))
        assert float(row.get_by_role("cell").nth(0).text_content()) == pytest.approx(
            records[2].tables["target"][2, action], rel=1e-3
        )

    button(page, "Share").click()
    button(page, "Copy as Python").click()
    wait_for(page, "navigator.clipboard.readText().then((text) => text.includes(\"('vv-ucb', {})\"))")
    button(page, "Copy link").click()
    wait_for(page, "navigator.clipboard.readText().then((text) => text.startsWith('http://127.0.0.1'))")
    link = page.evaluate("navigator.clipboard.readText()")
    assert server.studio.token not in link
    assert "token" not in page.url
    colleague = new_page()
    colleague.goto("about:blank")
    colleague.goto(link)
    expect(lane(colleague, 3).get_by_role("combobox", name="Explorer")).to_have_value("vv-ucb")
    expect(status(colleague, "Step")).to_have_text("1000")
    expect(status(lane(colleague, 3), "States discovered")).to_have_text(str(discovered[2]))


def test_every_control_and_shortcut_works(page: Any) -> None:
    for role, names in {
        "combobox": ("World",),
        "button": ("Run", "Pause", "Step", "Restart", "Add lane", "Remove lane", "Share…"),
        "slider": ("Speed", "Timeline"),
        "radiogroup": ("Layer",),
        "status": ("Step", "States discovered"),
        "table": ("Actions of the cell",),
    }.items():
        for name in names:
            expect(page.get_by_role(role, name=name)).to_be_visible()  # There is one.
    button(page, "Step").click()
    expect(status(page, "Step")).to_have_text("1")
    page.get_by_role("combobox", name="Kind of event").select_option("reward found")
    button(page, "Next event").click()
    expect(status(page, "Notice")).to_contain_text("found at")
    before = step_of(page)
    page.get_by_role("slider", name="Speed").fill("20")
    button(page, "Run").click()
    wait_for(page, f"studio.viewed > {before}")
    button(page, "Pause").click()
    wait_for(page, "!studio.playing")
    button(page, "Restart").click()
    expect(status(page, "Step")).to_have_text("0")
    button(page, "Add lane").click()
    button(page, "Remove lane").click()
    expect(lane(page, 2)).to_have_count(0)
    button(page, "New seed").click()
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("2")
    page.get_by_role("heading", name="wanderlust studio").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_contain_text("run or pause")
    page.keyboard.press("Escape")
    page.keyboard.press("4")
    expect(page.get_by_role("radio", name="W")).to_be_checked()
    page.keyboard.press(".")
    expect(status(page, "Step")).to_have_text("1")
    page.keyboard.press("p")
    expect(page.get_by_role("radiogroup", name="Layer")).to_be_hidden()
    wait_for(page, "document.fullscreenElement === document.documentElement")
    button(page, "End presentation").click()
    expect(page.get_by_role("radiogroup", name="Layer")).to_be_visible()
    wait_for(page, "document.fullscreenElement === null")


def test_timeline_charts_and_keyboard_show_moments_exactly_and_the_run_goes_on_from_there(page: Any) -> None:
    run_to_end(page, 1000)
    record = wl.train("prison", "vv-ucb", seed=1)
    timeline = page.get_by_role("slider", name="Timeline")
    for step in (137, 3):
        timeline.fill(str(step))
        expect(status(page, "Step")).to_have_text(str(step))
        earlier = wl.train("prison", "vv-ucb", seed=1, steps=step)
        assert page.evaluate("Array.from(studio.frames[0].visits)") == earlier.visits.ravel().tolist()
    charts = page.locator("#charts figure")
    box = charts.nth(0).locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for i in range(charts.count()):
        expect(charts.nth(i).locator("figcaption")).to_contain_text(re.compile(r"at step \d+: 1: \d"))
    page.mouse.down()
    page.mouse.up()
    wait_for(page, "Math.abs(studio.viewed - studio.length / 2) < studio.length / 20")
    expect(charts.nth(0).get_by_role("img", name=re.compile("^States discovered. Lane 1, vv-ucb: "))).to_be_visible()

    lane(page, 1).locator("canvas").focus()
    page.keyboard.press("ArrowDown")
    heading = page.locator("#cell-title")
    first = heading.text_content()
    page.keyboard.press("ArrowRight")
    expect(heading).not_to_have_text(first)
    expect(page.locator("#cell-reason")).to_contain_text(re.compile("exploit|explore|tie|Not discovered"))

    timeline.fill("200")
    button(page, "Step").click()
    expect(status(page, "Step")).to_have_text("201")
    button(page, "Pause").click()
    button(page, "Step").click()
    expect(status(page, "Step")).to_have_text("202")
    assert page.evaluate("studio.live") == 1000, "the steps after it are still there"
    timeline.fill("20")
    page.get_by_role("combobox", name="Kind of event").select_option("state discovered")
    button(page, "Next event").click()
    wait_for(page, "studio.viewed > 20 && studio.viewed < 200 && !studio.busy")
    at = page.evaluate("studio.viewed")
    before, after = (len(set(wl.train("prison", "vv-ucb", seed=1, steps=step, keep_trajectory=True).states))
                     for step in (at - 1, at))  # fmt: skip
    assert after == before + 1
    timeline.fill("5")
    page.get_by_role("slider", name="Speed").fill("0")
    button(page, "Run").click()
    wait_for(page, "studio.playing && studio.viewed > 5")
    assert page.evaluate("studio.viewed") < 20
    run_to_end(page, 1000)
    assert page.evaluate("Array.from(studio.frames[0].visits)") == record.visits.ravel().tolist()


def test_a_slider_is_dragged_while_the_lane_follows(new_page: Callable[..., Any], server: RunningStudio) -> None:
    page = new_page(url=address_of(server, {"world": "prison", "seed": 1, "lanes": [{"explorer": "vv-ucb"}]}))
    run_to_end(page, 1000)
    lane(page, 1).get_by_label("Options", exact=True).click()
    gamma = lane(page, 1).get_by_role("slider", name="γ_w")
    box = gamma.bounding_box()
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.98, height)
    page.mouse.down()
    for share in (0.7, 0.4, 0.0):
        page.mouse.move(box["x"] + box["width"] * share, height)
        # Every change opens the lane again; the slider stays with the pointer.
        wait_for(page, f"Math.abs(studio.accepted.lanes[0].options?.gamma_w - {share}) < 0.05")
    page.mouse.up()
    assert gamma.input_value() == "0"
    without = wl.train("prison", "vv-ucb", seed=1, gamma_w=0)
    expect(status(lane(page, 1), "States discovered")).to_have_text(str(int(without.discovered[-1])))
    page.keyboard.press("ArrowRight")
    wait_for(page, "studio.accepted.lanes[0].options.gamma_w === 0.001")
    assert page.evaluate("document.activeElement.type") == "range", "the slider keeps the focus"
    page.keyboard.press("Escape")
    expect(gamma).to_be_hidden()


def test_what_is_refused_leaves_the_lanes(new_page: Callable[..., Any], server: RunningStudio) -> None:
    page = new_page(url=address_of(server, {"world": "nowhere", "seed": 1, "lanes": [{"explorer": "ucb1"}]}))
    expect(page.get_by_role("alert")).to_contain_text("unknown world 'nowhere'")
    expect(page.get_by_role("combobox", name="World")).to_have_value("world:prison")
    page.get_by_role("combobox", name="World").select_option(label="Bottleneck")
    expect(status(page, "Notice")).to_contain_text("One door joins two rooms")
    wait_for(page, "studio.world.columns === 13")
    # An error about something else leaves the setup as it is.
    page.evaluate("studio.source.send({ type: 'speed', speed: -1 })")
    expect(page.get_by_role("alert")).to_contain_text("speed")
    lane(page, 1).get_by_label("Options", exact=True).click()
    lane(page, 1).get_by_role("spinbutton", name="κ").fill("-1")
    page.keyboard.press("Tab")
    expect(page.get_by_role("alert")).to_contain_text("kappa must be in [0, inf]")
    wait_for(page, "studio.setup.lanes[0].options?.kappa === undefined")
    button(page, "Step").click()
    expect(status(page, "Step")).to_have_text("1")
    assert page.evaluate("studio.world.columns") == 13


def test_three_lanes_fit_the_first_screen(new_page: Callable[..., Any], server: RunningStudio) -> None:
    """Maps, sentences and counts, also with a lesson."""
    url = address_of(server, {"world": "prison", "seed": 1, "lanes": THREE})
    page = new_page(url=url, color_scheme="dark")
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", colour)[:3])) < 200, "dark"
    for lesson, share in (("", 0.3), ("noise", 0.13), ("your-maze", 0.13)):
        page.get_by_role("combobox", name="Lesson").select_option(lesson)
        wait_for(page, f"(studio.lesson.lesson?.name ?? '') === '{lesson}' && studio.cards.length === 3")
        # The first drawing fills the legends, which can change the height of a lane; then the maps are fitted again.
        wait_for(page, "document.getElementById('lanes').getBoundingClientRect().bottom <= 720")
        boxes = [lane(page, number).locator("canvas").bounding_box() for number in (1, 2, 3)]
        assert sum(box["width"] * box["height"] for box in boxes) > share * 1280 * 720, "maps first"


def test_on_a_phone_the_lane_of_the_caption_is_shown(new_page: Callable[..., Any]) -> None:
    page = new_page(390, 844, has_touch=True, is_mobile=True)
    page.get_by_role("combobox", name="Lesson").select_option("noise")
    lanes = page.locator("#lanes")
    title = page.locator("#cell-title")
    expect(title).to_contain_text("Lane 1 · ucb1")
    expect(page.get_by_role("combobox", name="World")).to_be_hidden()
    button(page, "Next").click()
    skip(page)
    expect(page.locator("#lesson-place")).to_contain_text("Stop 2 of 5")
    centre = "studio.cards[1].root.getBoundingClientRect()"
    wait_for(page, f"Math.abs({centre}.left + {centre}.right - innerWidth) < 24")
    expect(title).to_contain_text("Lane 2 · vv-ucb")
    lanes.evaluate("(box) => box.scrollTo({ left: box.scrollWidth })")
    expect(title).to_contain_text("Lane 3 · vv-count")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # A tapped cell stays.
    lane(page, 1).locator("canvas").scroll_into_view_if_needed()
    box = lane(page, 1).locator("canvas").bounding_box()
    assert box["width"] > 200
    page.touchscreen.tap(box["x"] + box["width"] * 0.36, box["y"] + box["height"] * 0.25)
    expect(title).to_have_text("Lane 1 · ucb1 · cell (2, 3)")
    expect(page.locator("#map-keys")).to_have_text("This cell stays here until it is clicked again.")


def test_layers_scales_arrows_and_the_difference(new_page: Callable[..., Any], server: RunningStudio) -> None:
    lanes = [{"explorer": name} for name in ("epsilon-greedy", "boltzmann", "vv-ucb")]
    page = new_page(url=address_of(server, {"world": "toy", "seed": 1, "lanes": lanes}))
    run_to_end(page, 2000)
    pictures: set[str] = set()

    def picture() -> str:
        return str(page.evaluate("document.querySelector('.lane-3 canvas').toDataURL()"))

    for name in ("State visits", "Action visits", "Q", "W", "Behaviour value"):
        page.get_by_role("radio", name=name).check()
        wait_until(lambda: picture() not in pictures)  # Every layer has another picture.
        pictures.add(picture())
    page.get_by_role("radio", name="Exploration κU").check()
    expect(lane(page, 3)).to_contain_text("κU within a state")
    page.get_by_role("radio", name="W").check()
    expect(lane(page, 1)).to_contain_text("epsilon-greedy learns no W")
    page.get_by_role("radio", name="State visits").check()
    expect(lane(page, 1)).to_contain_text("visits, log")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("combobox", name="Colour scale").select_option("linear")
    expect(lane(page, 1)).not_to_contain_text("log")
    page.get_by_role("combobox", name="Difference").select_option("lane 3 − lane 1")
    expect(page.get_by_role("region", name="Difference")).to_contain_text("difference of visits")
    # An explorer that draws its action says so.
    expect(status(lane(page, 2), "Next action")).to_contain_text("a drawn action: Every action with a probability")


def test_a_sentence_says_what_the_agent_does_next(page: Any) -> None:
    """It names the actions that `explain` gives; the numbers of a row of the table add up as they are printed."""
    for step in range(1, 15):
        button(page, "Step").click()
        expect(status(page, "Step")).to_have_text(str(step))
        state = page.evaluate("studio.frames[0].agent")
        explanation = wl.train("prison", "vv-ucb", seed=1, steps=step).agent.explain(state)
        largest = max(action.score for action in explanation.actions)
        best = [action for action in explanation.actions if action.score == largest]
        names = "any action" if len(best) == 4 else " or ".join(action.name for action in best)
        sentence = status(lane(page, 1), "Next action")
        expect(sentence).to_have_text(re.compile(f"^{names}: "))
        if len(best) == 1 and best[0].visits == 0:
            expect(sentence).to_contain_text("never tried, so its W (")
    page.get_by_role("radio", name="W").check()
    expect(lane(page, 1)).to_contain_text("not tried")
    lane(page, 1).locator("canvas").hover(position={"x": 20, "y": 20})
    rows = page.get_by_role("table", name="Actions of the cell").locator("tbody tr")
    for row in rows.all():
        q, _, _, term, total = (float(cell) for cell in row.locator("td").all_inner_texts()[:5])
        assert q + term == pytest.approx(total, abs=1e-9)


def test_a_world_of_small_cells_with_reduced_motion(new_page: Callable[..., Any], server: RunningStudio) -> None:
    """Cells show the rank of their best action; a run is shown in few frames."""
    url = address_of(server, {"world": "wall", "seed": 1, "lanes": [{"explorer": "vv-ucb"}]})
    page = new_page(700, 500, url=url, reduced_motion="reduce")
    page.get_by_role("radio", name="W").check()
    expect(lane(page, 1)).to_contain_text("W of the best action, by rank")
    button(page, "Step").click()
    expect(status(page, "Step")).to_have_text("1")
    shares = page.evaluate("Array.from(studio.cards[0].picture.shares)")
    assert len(shares) == page.evaluate("studio.world.states")
    assert all(math.isnan(share) or 0 <= share <= 1 for share in shares)
    page.evaluate("studio.source.play(100)")
    wait_for(page, "studio.playing && studio.viewed > 1")
    first = page.evaluate("[studio.framesDrawn, performance.now()]")
    wait_for(page, f"studio.framesDrawn >= {first[0]} + 3")
    last = page.evaluate("[studio.framesDrawn, performance.now()]")
    # Four frames per second, and the one that was due at the beginning.
    assert last[0] - first[0] <= (last[1] - first[1]) / 250 + 2


def paint_at(page: Any, row: int, column: int, *, to: tuple[int, int] | None = None) -> None:
    """Press a cell of the map of the first lane; with `to`, drag from it to another cell."""
    box = lane(page, 1).locator("canvas").bounding_box()
    size = box["width"] / page.evaluate("studio.world.columns")
    first, last = (
        (box["x"] + (x - 0.5) * size, box["y"] + (y - 0.5) * size) for y, x in ((row, column), to or (row, column))
    )
    page.mouse.move(*first)
    page.mouse.down()
    page.mouse.move(*last, steps=4)
    page.mouse.up()


def test_painting_a_world_and_running_it(page: Any, tmp_path: Path) -> None:
    button(page, "Paint").click()
    bar = page.get_by_role("region", name="Paint")
    bar.get_by_text("Size, text, file").click()
    text = bar.locator("textarea")
    expect(text).to_have_value(re.compile(r"^S\.\.\.\."))
    lane(page, 1).locator("canvas").focus()
    for key in ("ArrowRight", "Space"):
        page.keyboard.press(key)
    expect(text).to_have_value(re.compile(r"^S#\.\.\."))
    page.keyboard.press("Control+z")
    expect(text).to_have_value(re.compile(r"^S\.\.\.\."))
    button(bar, "Clear").click()
    expect(text).to_have_value(re.compile(r"^S\.{4}\n(\.{5}\n){4}"))
    paint_at(page, 2, 2)
    bar.get_by_role("radio", name="Treasure").check()
    bar.get_by_role("spinbutton", name="Value").fill("7")
    paint_at(page, 5, 5)
    bar.get_by_role("radio", name="One-way").check()
    paint_at(page, 1, 2)
    expect(text).to_have_value(re.compile(r"^Sa\.\.\.\n\.#\.\.\.\n.*\n.*\n\.{4}A\n\n", re.S))
    expect(text).to_have_value(
        re.compile(r"a = floor enter right\nA = treasure 7\n|A = treasure 7\na = floor enter right\n")
    )
    bar.get_by_text("Size, text, file").click()
    bar.get_by_role("spinbutton", name="Rows").fill("4")
    page.keyboard.press("Tab")
    expect(text).to_have_value(re.compile(r"^(.{5}\n){4}\n"))
    text.fill("S..\n..B\n\nB = treasure 3\nhorizon = 9\nbudget = 200\n")
    button(bar, "Read the text").click()
    expect(bar.get_by_role("spinbutton", name="Columns")).to_have_value("3")
    with page.expect_download() as saved:
        button(bar, "Save file").click()
    kept = Path(saved.value.path()).read_text(encoding="utf-8")
    assert wl.make_world("mine", map=kept).mdp.reward.max() == 3
    (tmp_path / "mine.map").write_text(kept.replace("3", "4"), encoding="utf-8")
    bar.get_by_label("Map file").set_input_files(tmp_path / "mine.map")
    expect(text).to_have_value(re.compile("treasure 4"))
    expect(bar.get_by_role("textbox", name="Name")).to_have_value("mine")
    bar.get_by_role("spinbutton", name="Slip probability").fill("0.2")
    page.keyboard.press("Tab")
    expect(page.get_by_role("combobox", name="World")).to_have_value("painted")
    wait_for(page, "studio.accepted.world_options.slips?.length === 3")
    run_to_end(page, 200)
    world = wl.make_world("mine", map=kept.replace("3", "4"), slips=[0.8, 0.1, 0.1])
    record = wl.train(world, "vv-ucb", seed=1)
    assert page.evaluate("Array.from(studio.frames[0].visits)") == record.visits.ravel().tolist()


def test_a_map_is_painted_while_the_run_goes_on(new_page: Callable[..., Any], server: RunningStudio) -> None:
    text = "S....\n.....\n....B\n\nB = treasure 3\nbudget = 100000\n"
    setup = {"world": "mine", "world_options": {"map": text}, "seed": 1, "lanes": [{"explorer": "vv-ucb"}]}
    page = new_page(url=address_of(server, setup))
    page.get_by_role("slider", name="Speed").fill("60")
    button(page, "Paint").click()
    button(page, "Run").click()
    wait_for(page, "studio.live > 60")
    paint_at(page, 1, 1, to=(2, 1))
    wait_for(
        page, "studio.accepted.changes?.length === 1 && studio.playing && studio.live > studio.accepted.changes[0].step"
    )
    page.get_by_role("region", name="Paint").get_by_role("radio", name="Treasure").check()
    page.get_by_role("region", name="Paint").get_by_role("spinbutton", name="Value").fill("5")
    paint_at(page, 1, 5)
    wait_for(page, "studio.accepted.changes?.length === 2 && studio.events[0].some(({ reward }) => reward === 5)")
    button(page, "Pause").click()
    wait_for(page, "!studio.playing")
    accepted, step = page.evaluate("[studio.accepted, studio.viewed]")
    bench = Workbench(read_setup(accepted))
    bench.lanes[0].advance(step)
    assert page.evaluate("Array.from(studio.frames[0].visits)") == bench.lanes[0].session.agent.visits.ravel().tolist()
    start = "studio.world.layers[0].kind.indexOf(2)"
    assert page.evaluate(start) == 5
    page.get_by_role("slider", name="Timeline").fill("10")
    wait_for(page, f"studio.viewed === 10 && {start} === 0")
    # A draft that cannot be used survives Escape and a reload.
    page.get_by_role("radio", name="Erase").check()
    paint_at(page, 1, 1)
    expect(status(page, "Problem")).to_contain_text("the map has no start")
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Paint")).to_be_hidden()
    assert page.evaluate(start) == 0
    page.reload()
    wait_for_maps(page)
    page.get_by_role("slider", name="Timeline").fill("10")
    wait_for(page, "studio.viewed === 10")
    button(page, "Paint").click()
    expect(status(page, "Problem")).to_contain_text("the map has no start")
    assert page.evaluate(start) == -1


def test_a_page_reconnects_and_a_reload_in_mid_run_goes_on(new_page: Callable[..., Any]) -> None:
    own = RunningStudio()
    page = new_page(url=own.url)
    button(page, "Step").click()
    expect(status(page, "Step")).to_have_text("1")
    own.stop()
    expect(status(page, "Connection")).to_contain_text("The server cannot be reached")
    own.start()
    try:
        expect(page.locator("#connection")).to_be_hidden()
        page.get_by_role("slider", name="Speed").fill("30")
        button(page, "Run").click()
        wait_for(page, "studio.viewed > 10")
        before = step_of(page)
        page.reload()
        wait_for_maps(page)
        wait_for(page, f"studio.viewed >= {before} && studio.playing")
    finally:
        page.close()
        own.stop()


def test_an_export_plays_from_disk_without_a_network(new_page: Callable[..., Any], axe: str, tmp_path: Path) -> None:
    file = tmp_path / "lecture.html"
    lanes = [{"explorer": "epsilon-greedy"}, {"explorer": "vv-ucb"}]
    setup = read_setup({"world": "prison", "seed": 1, "settings": {"budget": 300}, "lanes": lanes})
    file.write_text(export_page(setup), encoding="utf-8")
    page = new_page(url=file.as_uri(), offline=True)
    record = wl.train("prison", "vv-ucb", seed=1, budget=300)
    run_to_end(page, 300)
    assert page.evaluate("Array.from(studio.frames[1].visits)") == record.visits.ravel().tolist()
    expect(status(lane(page, 2), "States discovered")).to_have_text(str(int(record.discovered[-1])))
    page.get_by_role("slider", name="Timeline").fill("120")
    expect(status(page, "Step")).to_have_text("120")
    earlier = wl.train("prison", "vv-ucb", seed=1, budget=300, steps=120)
    values = page.evaluate("Array.from(studio.frames[1].w)")
    assert values == pytest.approx(earlier.tables["visitation"].ravel().tolist(), rel=2e-4)
    page.get_by_role("radio", name="W").check()
    lane(page, 2).locator("canvas").hover(position={"x": 20, "y": 20})
    expect(page.get_by_role("heading", name="Lane 2 · vv-ucb · cell (1, 1)")).to_be_visible()
    page.evaluate(f"() => {{ {axe} }}")
    assert serious_violations(page) == []


def test_the_page_without_a_server(new_page: Callable[..., Any], tmp_path: Path) -> None:
    """Events, another explorer and world, and what needs Python, from a file without a network."""
    file = tmp_path / "studio.html"
    file.write_text(static_page(lessons(), "epsilon-greedy"), encoding="utf-8")
    page = new_page(url=file.as_uri(), offline=True)
    page.get_by_role("combobox", name="Kind of event").select_option("reward found")
    for _ in range(9):
        button(page, "Next event").click()
    expect(lane(page, 2)).to_contain_text("reward 10 found at (6, 7), step 228")
    lane(page, 1).get_by_role("combobox", name="Explorer").select_option("thompson")
    wait_for(page, "studio.accepted.lanes[0].explorer === 'thompson' && studio.frames.length === 2")
    page.get_by_role("slider", name="Speed").fill("100")
    page.get_by_role("combobox", name="World").select_option("world:prison")
    button(page, "Run").click()
    wait_for(page, "studio.viewed > 50")
    expect(button(page, "Paint…")).to_be_hidden()
    page.evaluate("studio.change({ world_options: { map: 'S.A' } })")
    expect(page.get_by_role("alert")).to_contain_text("runs without Python")


def test_pictures_and_data_are_saved(page: Any, tmp_path: Path) -> None:
    run_to_end(page, 1000)
    button(page, "Share").click()
    record = wl.train("prison", "vv-ucb", seed=1)
    saved = {}
    for name in ("PNG", "SVG", "CSV", "JSON"):
        with page.expect_download() as download:
            button(page, f"Save {name}").click()
        saved[name] = tmp_path / download.value.suggested_filename
        download.value.save_as(saved[name])
    assert saved["PNG"].read_bytes().startswith(b"\x89PNG")
    svg = ElementTree.fromstring(saved["SVG"].read_text(encoding="utf-8"))
    assert svg.findall(".//{*}circle[@fill='#d0006f']"), "the agent"
    assert svg.findall(".//{*}path[@stroke='#d0006f']"), "its trail"
    assert svg.findall(".//{*}path[@fill='#10131a']"), "arrows of the greedy policy"
    assert {"S", "P", "+5", str(record.visits[0].sum())} <= set(svg.itertext()), "badges and numbers"
    lines = saved["CSV"].read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 4 * int(record.discovered[-1])
    data = json.loads(saved["JSON"].read_text(encoding="utf-8"))
    assert data["lanes"][0]["states_discovered"] == record.discovered[-1]
    with page.expect_download() as download:
        button(page, "Save HTML page").click()
    download.value.save_as(tmp_path / "page.html")
    assert 'id="embedded"' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_results_are_browsed_and_opened_in_a_lane(page: Any) -> None:
    button(page, "Results").click()
    dialog = page.get_by_role("dialog", name="Results")
    expect(dialog).to_contain_text("9 runs in 5 groups")
    expect(dialog.get_by_role("heading", name="Scorecard")).to_be_visible()
    show = dialog.get_by_role("combobox", name="Study or sweep")
    show.select_option("study: recap-quick")
    expect(dialog.get_by_role("table").last).to_contain_text("2")
    dialog.get_by_role("button", name="figure: curves").click()
    expect(dialog.get_by_role("img", name="Figure curves")).to_be_visible()
    show.select_option("sweep: mine")
    expect(dialog.get_by_role("heading", name="Sweep mine")).to_be_visible()
    show.select_option("all runs")
    # A name from a store is text.
    expect(dialog.get_by_role("button", name="<img src=x onerror=alert(1)>")).to_be_visible()
    dialog.get_by_role("textbox", name="Filter").fill("vv-ucb")
    dialog.get_by_role("button", name="toy").click()
    dialog.get_by_role("button", name="Open seed 2 in a lane").click()
    wait_for(page, "studio.world.name === 'toy' && studio.setup.seed === 2 && studio.length === 200")
    expect(lane(page, 1).get_by_role("combobox", name="Explorer")).to_have_value("vv-ucb")
    button(page, "Results").click()
    dialog.get_by_role("textbox", name="Filter").fill("as_published_code")
    dialog.get_by_role("button", name="toy").click()
    dialog.get_by_role("button", name="Open seed 0 in a lane").click()
    wait_for(page, "studio.setup.lanes[0].preset === 'as_published_code' && studio.length === 99")
    lane(page, 1).get_by_label("Options").click()
    expect(lane(page, 1).get_by_role("combobox", name="preset")).to_have_value("as_published_code")


def test_axe_finds_no_serious_violation(new_page: Callable[..., Any], axe: str) -> None:
    page = new_page(bypass_csp=True)
    page.evaluate(f"() => {{ {axe} }}")
    dialog = page.get_by_role("dialog", name="Results")

    def show_in_results(name: str) -> None:
        button(page, "Results").click()
        dialog.get_by_role("combobox", name="Study or sweep").select_option(name)

    views: dict[str, Callable[[], Any]] = {
        "lanes": lambda: button(page, "Step").click(),
        "a teaching world": lambda: page.get_by_role("combobox", name="World").select_option(label="Loop"),
        "an error": lambda: page.evaluate("studio.error('no such thing')"),
        "options": lambda: lane(page, 1).get_by_label("Options", exact=True).click(),
        "paint": lambda: button(page, "Paint").click(),
        "take away": lambda: button(page, "Share").click(),
        "help": lambda: button(page, "Help").click(),
        "a scorecard": lambda: show_in_results("all runs"),
        "a sweep": lambda: show_in_results("sweep: mine"),
        "a study": lambda: show_in_results("study: recap-quick"),
        "a lesson": lambda: page.get_by_role("combobox", name="Lesson").select_option("horizon"),
        "presentation": lambda: button(page, "Present").click(),
    }
    # 640 × 400 is a page of 1280 × 800 at a zoom of 200 %.
    looks = [("light", (1280, 720), set(views))]
    looks += [(theme, size, {"lanes", "paint", "a sweep", "a lesson"})
              for theme, size in (("dark", (1280, 720)), ("light", (640, 400)))]  # fmt: skip
    for theme, size, seen in looks:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.evaluate(f"document.documentElement.dataset.theme === '{theme}' || studio.switchTheme()")
        for view in (view for view in views if view in seen):
            views[view]()
            wait_for(page, "document.getAnimations().length === 0")
            assert serious_violations(page) == [], (view, theme, size)
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0], view
            page.keyboard.press("Escape")


def test_a_lesson_runs_from_stop_to_stop(new_page: Callable[..., Any], tmp_path: Path) -> None:
    """Predict, run, see whether it was right; go back; change the setup; the same without a server."""
    known = lessons()
    lesson = known["epsilon-greedy"]
    running = RunningStudio(lessons=known, lesson="epsilon-greedy", opening=lesson.setup.description)
    try:
        for url in (running.url, *pages_of(tmp_path, lesson)):
            page = new_page(url=url)
            panel = page.get_by_role("region", name=lesson.title)
            expect(panel).to_contain_text("Stop 1 of 6")
            button(panel, "Next").click()
            skip(page)
            expect(panel).to_contain_text("Stop 2 of 6, step 40")
            expect(panel).to_contain_text(lesson.stops[1].text)
            expect(status(page, "Step")).to_have_text("40")
            button(panel, lesson.stops[1].answers[1]).click()
            skip(page)
            verdict = f"Your prediction “{lesson.stops[1].answers[1]}” is not correct."
            expect(panel).to_contain_text(verdict, timeout=60_000)
            expect(page.get_by_role("radio", name="Q", exact=True)).to_be_checked()
            expect(status(page, "Step")).to_have_text("300")
            expect(page.locator("#lesson-text")).not_to_have_class("dim")
            page.get_by_role("radio", name="W", exact=True).check()
            expect(page.locator("#lesson-text")).to_have_class("dim")
            button(panel, "Back").click()
            expect(panel).to_contain_text("Stop 2 of 6")
            expect(status(page, "Step")).to_have_text("40")
            page.close()
        page = new_page(url=running.url)
        page.get_by_role("combobox", name="Lesson").select_option("prison")
        expect(page.get_by_role("region", name=known["prison"].title)).to_contain_text(known["prison"].stops[0].text)
        expect(button(page, "Restore")).to_be_hidden()
        button(page, "New seed").click()
        button(page, "Restore").click()
        expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("2")
        wait_for(page, "studio.accepted.world === 'trap' && location.hash.length > 9")
        page.reload()
        expect(page.get_by_role("region", name=known["prison"].title)).to_contain_text("Stop 1 of 5")
        button(page, "Close the lesson").click()
        expect(page.get_by_role("region", name=known["prison"].title)).to_be_hidden()
        page.close()
    finally:
        running.stop()


def pages_of(folder: Path, lesson: Lesson) -> Iterator[str]:
    """Yield the addresses of a page with the recorded lesson, and of one that executes it."""
    for name, text in (("a", export_page(lesson.setup, lesson)), ("b", static_page({"lesson": lesson}, "lesson"))):
        file = folder / f"{name}.html"
        file.write_text(text, encoding="utf-8")
        yield file.as_uri()
