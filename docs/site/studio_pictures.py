"""Pictures of the studio, from a real browser: those of the README and of docs/studio.md, or all views to look at.

python docs/site/studio_pictures.py                  # docs/pictures/studio-*.png
python docs/site/studio_pictures.py --all FOLDER     # every view, light and dark, wide and narrow
python docs/site/studio_pictures.py --lessons FOLDER # every stop of every lesson, light and dark, in three widths

Needs the extras `studio` and `test`, and the program chromium.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from wanderlust.studio.connection import Services
from wanderlust.studio.export import export_page
from wanderlust.studio.lesson import lessons
from wanderlust.studio.server import Studio, listen, make_server
from wanderlust.studio.setup import read_setup

PICTURES = Path(__file__).parents[1] / "pictures"
LANES = ("epsilon-greedy", "ucb1", "vv-ucb")
WIDE, NARROW, WIDEST = (1280, 720), (390, 844), (1920, 1080)
Action = Callable[[Any], object]


def plain_setup(world: str, *explorers: str) -> dict[str, Any]:
    """Return the setup of a world and its lanes."""
    return {"world": world, "seed": 1, "lanes": [{"explorer": name} for name in explorers]}


class Camera:
    """A studio server and a browser that takes pictures of it."""

    def __init__(self, browser: Any, store: Path | None) -> None:
        self._browser = browser
        self._studio = Studio(Services(store=store, opening=plain_setup("prison", "vv-ucb"), lessons=lessons()))
        listener = listen(self._studio.host, 0)
        self._studio.port = listener.getsockname()[1]
        server = make_server(self._studio)
        threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
        while not server.started:
            time.sleep(0.01)

    def link(self, setup: dict[str, Any], layer: str, step: int, **lesson: Any) -> str:
        """Return the address of a setup at a step, or of a stop of a lesson."""
        text = json.dumps({"setup": setup, "layer": layer, "step": step, **lesson})
        return f"{self._studio.url}#s={base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}"

    def take(self, file: Path, setup: dict[str, Any], *actions: Action, layer: str = "state-visits", step: int = 10**6,
             size: tuple[int, int] = WIDE, scheme: str = "light", scale: float = 1, url: str = "",
             **lesson: Any) -> None:  # fmt: skip
        """Open a setup at a step, act on the page, and write the picture."""
        viewport = {"width": size[0], "height": size[1]}
        context = self._browser.new_context(viewport=viewport, color_scheme=scheme, device_scale_factor=scale)
        page = context.new_page()
        page.goto(url or self.link(setup, layer, step, **lesson))
        last = 0 if url else step
        end = f"studio.framesDrawn && studio.viewed >= Math.min({last}, studio.length)"
        while not page.evaluate(f"Boolean(globalThis.studio?.frames.length && {end})"):
            time.sleep(0.05)
        for action in actions:
            action(page)
        page.wait_for_timeout(600)
        # On a slow machine the page says that the server is computing.
        page.locator("#notice").evaluate("(notice) => { notice.hidden = true; }")
        page.screenshot(path=file, full_page=size == NARROW)
        context.close()
        print(file)

    def take_stops(self, folder: Path, name: str, size: tuple[int, int], scheme: str) -> None:
        """Write a picture of every stop of a lesson."""
        lesson = lessons()[name]
        viewport = {"width": size[0], "height": size[1]}
        context = self._browser.new_context(viewport=viewport, color_scheme=scheme)
        page = context.new_page()
        page.goto(self.link(lesson.setup.description, lesson.layer, 0, lesson=name, stop=0))
        for stop in range(len(lesson.stops)):
            while not page.evaluate(f"Boolean(globalThis.studio?.framesDrawn && studio.lesson.index === {stop})"):
                page.evaluate(f"globalThis.studio?.framesDrawn && studio.lesson.go({stop})")
                time.sleep(0.1)
            page.wait_for_timeout(600)
            file = folder / f"{name}-{stop + 1}-{size[0]}-{scheme}.png"
            # A full page would have another size for a moment, at which the swiped lanes stop elsewhere.
            page.screenshot(path=file)
            print(file)
        context.close()


def click(name: str) -> Action:
    """Return the action that presses a button."""
    return lambda page: page.get_by_role("button", name=name).click()


def press(selector: str) -> Action:
    """Return the action that presses what a selector finds."""
    return lambda page: page.locator(selector).click()


def point_at(lane: int, x: float, y: float) -> Action:
    """Return the action that points at a place of a map, given as shares of its size."""

    def act(page: Any) -> None:
        box = page.get_by_role("region", name=f"Lane {lane}").locator("canvas").bounding_box()
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])

    return act


def choose(name: str, label: str) -> Action:
    """Return the action that chooses in a list."""
    return lambda page: page.get_by_role("combobox", name=name).select_option(label=label)


def draw_for_docs(camera: Camera) -> None:
    """Write the pictures of the README and of docs/studio.md."""
    three = plain_setup("prison", *LANES)
    view: dict[str, Any] = {"layer": "action-visits", "size": (1280, 680), "scale": 1.5}
    camera.take(PICTURES / "studio-prison.png", three, point_at(3, 0.5, 0.3), **view)
    camera.take(PICTURES / "studio-wall.png", plain_setup("wall", *LANES), click("Present"), scheme="dark", scale=1.5)
    two, wide = plain_setup("wall", "vv-ucb", "vv-count"), {"layer": "w", "size": (1280, 800)}
    camera.take(PICTURES / "studio-w.png", two, step=7_000, **wide)
    first = lessons()["epsilon-greedy"]
    stop = {"layer": "w", "step": first.stops[3].step, "lesson": "epsilon-greedy", "stop": 3}
    camera.take(PICTURES / "studio-lesson.png", first.setup.description, size=(1280, 720), scale=1.5, **stop)
    painted = plain_setup("toy", "epsilon-greedy", "vv-ucb")
    camera.take(PICTURES / "studio-paint.png", painted, click("Paint"), layer="w", step=150)


def draw_all(camera: Camera, folder: Path) -> None:
    """Write a picture of every view."""
    folder.mkdir(parents=True, exist_ok=True)
    three = plain_setup("prison", *LANES)
    views: dict[str, tuple[dict[str, Any], list[Action], str]] = {
        "prison": (three, [point_at(3, 0.5, 0.3)], "behaviour"),
        "prison-difference": (three, [choose("Difference", "lane 3 − lane 1")], "action-visits"),
        "one-lane": (plain_setup("toy-example", "vv-ucb"), [], "w"),
        "wall": (plain_setup("wall", *LANES), [], "state-visits"),
        "deep-sea": (plain_setup("deep-sea", "vv-ucb", "ucb1"), [], "w"),
        "chain": (plain_setup("chain", *LANES), [], "action-visits"),
        "taxi": (plain_setup("taxi", "vv-ucb", "epsilon-greedy"), [], "q"),
        "present": (three, [click("Present")], "action-visits"),
        "paint": (three, [click("Paint")], "state-visits"),
        "share": (three, [click("Share"), click("Copy as TOML")], "state-visits"),
        "help": (three, [click("Help")], "state-visits"),
        "options": (three, [press("summary[aria-label=Options] >> nth=2")], "w"),
        "results": (three, [click("Results")], "state-visits"),
        "results-group": (three, [click("Results"), press("#results-dialog tbody th button >> nth=1")], "q"),
    }
    for name, (setup, actions, layer) in views.items():
        for look, size, scheme in (("light", WIDE, "light"), ("dark", WIDE, "dark"), ("narrow", NARROW, "light")):
            camera.take(folder / f"{name}-{look}.png", setup, *actions, layer=layer, size=size, scheme=scheme)
    exported = folder / "export.html"
    exported.write_text(export_page(read_setup(three)), encoding="utf-8")
    for look, size in (("light", WIDE), ("narrow", NARROW), ("embedded", (736, 620))):
        camera.take(folder / f"export-{look}.png", three, click("Run"), size=size, url=exported.resolve().as_uri())


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="write every view to this folder instead")
    parser.add_argument(
        "--lessons", type=Path, metavar="FOLDER", help="write every stop of every lesson to this folder"
    )
    parser.add_argument("--store", type=Path, metavar="FOLDER", help="results to browse in the pictures")
    arguments = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        camera = Camera(browser, arguments.store)
        if arguments.all:
            draw_all(camera, arguments.all)
        elif arguments.lessons:
            arguments.lessons.mkdir(parents=True, exist_ok=True)
            for name, size, scheme in itertools.product(lessons(), (NARROW, WIDE, WIDEST), ("light", "dark")):
                camera.take_stops(arguments.lessons, name, size, scheme)
        else:
            draw_for_docs(camera)
        browser.close()


if __name__ == "__main__":
    main()
