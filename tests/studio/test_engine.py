"""The engine of the page without a server, in a real browser: the same actions and values as the library's."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from oracle.random_stream import seed_of
from test_studio_browser import browser, sync_api  # noqa: F401
from wanderlust.agents.session import Session
from wanderlust.agents.settings import resolve
from wanderlust.experiments.run import Run
from wanderlust.studio.export import STATIC
from wanderlust.studio.lesson import lessons
from wanderlust.studio.static_page import EXPLORERS, engine_settings, engine_world
from wanderlust.worlds import World, make_world, world_names

pytestmark = pytest.mark.slow

# The chain is learnt without memory, which the engine does not have.
WORLDS: dict[str, dict[str, Any]] = {name: {} for name in world_names() if name != "chain"}
WORLDS |= {"deep-sea": {"depth": 8}, "slippery": {"slips": (0.8, 0.1, 0.1)}}
STEPS, LONGEST = 150, 5000
# As text: Playwright takes much longer for numbers.
EXECUTE = """(text) => {
  const given = JSON.parse(text);
  globalThis.world = given.world ?? globalThis.world;
  const run = new EngineRun(world, given.explorer, given);
  const actions = [];
  for (let i = 0; i < given.steps; i++) actions.push(run.advance().action);
  const tables = { target: run.target, visitation: run.w, behaviour: run.heads ? null : run.behaviour };
  const learnt = Object.entries(tables).filter(([, table]) => table);
  const values = Object.fromEntries(learnt.map(([name, table]) => [name, Array.from(table.values)]));
  const heads = run.heads?.map((head) => Array.from(head.values));
  return JSON.stringify({ actions, returns: run.returns, tables: values, heads });
}"""


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: F811
    """A page with the names of the engine's module."""
    file = tmp_path_factory.mktemp("page") / "page.html"
    code = (STATIC / "engine.js").read_text(encoding="utf-8").replace("export ", "")
    file.write_text(f"<!doctype html><script>{code}</script>", encoding="utf-8")
    context = browser.new_context()
    opened = context.new_page()
    opened.goto(file.as_uri())
    yield opened
    context.close()


def compare(page: Any, world: World, run: Run, steps: int, *, is_new: bool = True) -> None:
    """Execute a run in the browser and in Python; the actions are equal, the values within 1e-12 of the largest.

    A world that is not new is the one of the run before.
    """
    settings, options = resolve(world, run.explorer, run.preset, run.overrides)
    session = Session(world, run.explorer, seed=run.seed, preset=run.preset, keep_trajectory=True, **run.overrides)
    heads = session.agent.tables.get("heads")
    noise = None
    if heads is not None:
        generator = np.random.Generator(np.random.PCG64(seed_of(run.seed, "initial values")))
        noise = generator.standard_normal(heads.size + heads[:, 0].size).tolist()
    given = {
        "world": engine_world(world) if is_new else None, "explorer": run.explorer, "seed": run.seed, "noise": noise,
        "steps": steps, "settings": engine_settings(settings), "options": options,
    }  # fmt: skip
    found = json.loads(page.evaluate(EXECUTE, json.dumps(given)))
    session.advance(steps)
    assert found["actions"] == session.run_state.actions[:steps].tolist()
    expected = {name: session.agent.tables[name].ravel() for name in found["tables"]}
    if heads is not None:
        found["tables"]["heads"], expected["heads"] = np.ravel(found["heads"]), session.agent.tables["heads"].ravel()
    for name, values in expected.items():
        limit = 1e-12 * max(1.0, float(np.abs(values).max()))
        np.testing.assert_allclose(found["tables"][name], values, rtol=0, atol=limit, err_msg=name)
    if world.mdp.deterministic:
        np.testing.assert_allclose(found["returns"], session.run_state.returns[: len(found["returns"])], atol=1e-9)


@pytest.mark.parametrize("name", WORLDS)
def test_the_engine_follows_the_library(page: Any, name: str) -> None:
    world, first = make_world("toy" if name == "slippery" else name, **WORLDS[name]), list(WORLDS).index(name)
    # Each explorer and world with one of the two presets and initializations; all four occur with each explorer.
    for number, explorer in enumerate(EXPLORERS, first):
        preset, initial = ("as_written", "as_published_code")[number % 2], ("zero", "optimistic")[number // 2 % 2]
        settings = {"initial": initial, "steps": STEPS}
        run = Run(world=world.name, explorer=explorer, preset=preset, settings=settings, seed=3)
        compare(page, world, run, STEPS, is_new=number == first)


@pytest.mark.parametrize("name", lessons())
def test_the_engine_follows_every_lesson(page: Any, name: str) -> None:
    lesson = lessons()[name]
    world = lesson.setup.make_world()
    for run in lesson.setup.runs(world):
        compare(page, world, run, min(lesson.stops[-1].step, LONGEST))
