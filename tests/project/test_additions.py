"""A new explorer or world is one new module: everything else that lists them follows, here in a copy of the package."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conftest import run_python

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXPLORER = '''
"""An explorer of its own."""

from typing import Annotated, NamedTuple

from wanderlust.core.errors import check_number
from wanderlust.explorers.protocol import register_explorer


@register_explorer("fading")
class Fading(NamedTuple):
    """Q plus a bonus h / (h + n) (Doe 2030)."""

    half_life: float

    @classmethod
    def configure(cls, problem, *, half_life: Annotated[float, "h, the visits that halve the bonus."] = 10.0):
        return cls(check_number("half_life", half_life, low=0, open_low=True))

    def score(self, view, scores):
        """Q + h / (h + n)."""
        for action in range(view.n_actions):
            scores[action] = view.q(action) + self.half_life / (self.half_life + view.n(action))
'''
WORLD = '''
"""A world of its own."""

from typing import Annotated

from wanderlust.worlds.base import World
from wanderlust.worlds.grid import grid_world
from wanderlust.worlds.registry import register_world


def corridor(*, cells: Annotated[int, "number of cells"] = 5) -> World:
    """Return a corridor with a treasure at its end."""
    return grid_world("S" + "." * (cells - 2) + "A\\n\\nA = treasure 1\\n")


register_world("corridor", corridor)
'''
CHECKS = """
import sys
import gymnasium
import wanderlust as wl
from wanderlust.cli.main import main

sys.path.insert(0, "docs/site")
import assemble

pages = assemble.generated_pages()


def printed(*words):
    from contextlib import redirect_stdout
    from io import StringIO
    sys.argv = ["wanderlust", *words]
    with redirect_stdout(StringIO()) as out:
        main()
    return out.getvalue()


assert "fading" in wl.explorer_names()
assert [option.name for option in wl.explorer_options("fading")] == ["half_life"]
wl.check_explorer("fading", steps=30)
assert "fading" in printed("explorers")
assert "h, the visits that halve the bonus." in pages["explorers/fading"]
assert "Q plus a bonus" in pages["explorers/index"]

assert "corridor" in wl.world_names()
wl.check_world(wl.make_world("corridor", cells=7))
assert wl.train("corridor", "fading", steps=50, seed=1).discovered[-1] == 5
assert "corridor" in printed("worlds")
assert "number of cells" in pages["worlds/corridor"]
assert "A corridor with a treasure at its end." in pages["worlds/index"]
"""


def test_an_explorer_and_a_world_are_one_module_each(tmp_path: Path) -> None:
    for folder in ("src", "docs", "benchmarks"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.png"))
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(ROOT / page, tmp_path)
    (tmp_path / "src" / "wanderlust" / "explorers" / "fading.py").write_text(EXPLORER, encoding="utf-8")
    (tmp_path / "src" / "wanderlust" / "worlds" / "corridor.py").write_text(WORLD, encoding="utf-8")
    # Plain Python: the changed sources would all be compiled again.
    variables = {"PYTHONPATH": str(tmp_path / "src"), "NUMBA_DISABLE_JIT": "1", "PYTHONUTF8": "1"}
    done = run_python(CHECKS, folder=tmp_path, **variables)
    assert done.returncode == 0, done.stderr
