"""Tests that `check_explorer` finds the mistakes that users make in their own explorers."""

import math
import re
import textwrap
from collections import namedtuple
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import wanderlust as wl
from conftest import every_explorer, run_python
from wanderlust._numba.jit import JIT_ENABLED
from wanderlust.checks import check_in_python
from wanderlust.explorers import choice, dithering
from wanderlust.explorers.compiled import compilation_reason
from wanderlust.explorers.protocol import explorer_class


def error_message(explorer: type) -> str:
    with pytest.raises(wl.WanderlustError) as caught:
        wl.check_explorer(explorer, steps=50)
    return str(caught.value)


@every_explorer
def test_every_explorer_passes_the_check(explorer: str) -> None:
    wl.check_explorer(explorer)


def test_what_an_explorer_class_must_be() -> None:
    class WrongSignature(NamedTuple):
        scale: float = 1.0

        def score(self, view):
            pass

    class WrongExtraTables(NamedTuple):
        scale: float = 1.0

        def extra_tables(self):
            return "one table"

    for explorer, words in (
        (type("NoTuple", (), {}), "NamedTuple"),
        (NamedTuple("NoFields", []), "scale: float = 1.0"),
        (WrongSignature, "(self, view, scores)"),
        (NamedTuple("NeedsScale", [("scale", float)]), "'scale'"),
        (WrongExtraTables, "'one table'"),
        (namedtuple("TextField", ["scale"], defaults=["large"]), "TextField.scale must be a number"),
    ):
        assert words in error_message(explorer)
    with pytest.raises(wl.WanderlustError):
        wl.register_explorer("wrong")(WrongSignature)
    assert "wrong" not in wl.explorer_names()


@pytest.mark.parametrize(
    ("method", "function", "words"),
    [
        ("score", lambda self, view, scores: scores.fill(self.kapa), "'kapa'. Did you mean 'kappa'? It has kappa."),
        ("score", lambda self, view, scores: scores.fill(self.kapa if view.n(0) else 0.0), "Did you mean 'kappa'?"),
        ("choose", lambda self, view, scores, random: view.totl(), "'totl'. Did you mean 'total'? It has q, w, n, "),
        ("begin_episode", lambda self, notes, random: choice.random_acton(random, 4), "no attribute 'random_acton'"),
        ("terminal_visitation_reward", lambda self, visits, total, max_visits: totl, "'totl' is not defined"),  # noqa: F821
        ("score", lambda self, view, scores: scores.put(4, 1.0), "out of bounds for axis 0 with size 4"),
        ("choose", lambda self, view, scores, random: None, "choose must return an action, an integer, got None."),
    ],
)  # fmt: skip
def test_mistakes_are_reported_by_python_before_anything_is_compiled(
    method: str, function: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wanderlust.checks.run_agent", lambda *_, **__: pytest.fail("the explorer was compiled"))
    explorer = namedtuple("Mine", ["kappa"], defaults=[1.0])
    setattr(explorer, method, function)
    message = error_message(explorer)
    assert message.startswith(f"explorer 'test_check_explorer:Mine': {method} ")
    assert words in message


def test_valid_explorers_run_in_plain_python() -> None:
    """Closures, modules, inlined functions, and the arithmetic of compiled code, where log(0) is -inf."""
    weight = 2.0

    def factorial(n):
        return 1 if n < 1 else n * factorial(n - 1)

    class Valid(NamedTuple):
        epsilon: float = 0.1
        decay: float = 1.0

        def begin_episode(self, notes, random):
            notes[0] = weight * choice.random_action(random, factorial(3))

        def bonus(self, visits):
            return math.log(visits - 1) + np.float64(1.0) / (visits - 1)

        def choose(self, view, scores, random):
            return dithering.choose_epsilon_greedy(self, view, scores, random)

    check_in_python(explorer_class(Valid), "valid", {})


class NotCompilable(NamedTuple):
    kappa: float = 1.0

    def choose(self, view, scores, random):
        return int(np.random.default_rng(0).integers(4))


class Misspelt(NamedTuple):
    kappa: float = 1.0

    def choose(self, view, scores, random):
        return 0 if view.total() > self.kapa else view.totl()


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("explorer", "reason", "line"),
    [
        (NotCompilable, "Unknown attribute 'default_rng'", "return int(np.random.default_rng(0).integers(4))"),
        (Misspelt, "Misspelt has no attribute 'kapa'. Did you mean 'kappa'?", "return 0 if view.total() > self.kapa"),
    ],
)
def test_a_compilation_error_names_the_reason_and_the_line(explorer: type, reason: str, line: str) -> None:
    with pytest.raises(wl.WanderlustError) as caught:
        wl.train("toy", explorer)
    message = str(caught.value)
    assert message.startswith(f"explorer 'test_check_explorer:{explorer.__name__}' cannot be compiled: {reason}")
    assert re.search(rf"test_check_explorer\.py, line \d+: `{re.escape(line)}", message)
    assert not re.search(r"nopython|Resolution|During|hooks\.py", message)
    assert len(message) < 400
    assert compilation_reason(ValueError("Use of unsupported opcode\n"), explorer) == "Use of unsupported opcode"


BAD_EXPLORERS = """
import random as global_random
from typing import NamedTuple

class TooLarge(NamedTuple):
    scale: float = 1.0
    def choose(self, view, scores, random):
        return view.n_actions

class Negative(NamedTuple):
    scale: float = 1.0
    def choose(self, view, scores, random):
        return -1

class Careless(NamedTuple):
    scale: float = 1.0
    def score(self, view, scores):
        scores[0] = 1 / 0

class HiddenRandomness(NamedTuple):
    scale: float = 1.0
    def choose(self, view, scores, random):
        return global_random.randrange(view.n_actions)

calls = 0

class HiddenCounter(NamedTuple):
    scale: float = 1.0
    def choose(self, view, scores, random):
        global calls
        calls += 1
        return calls % view.n_actions
"""


WORDS = {
    "TooLarge": "chose action 4; valid are 0 to 3",
    "Negative": "chose action -1; valid are 0 to 3",
    "Careless": "ZeroDivisionError",
    "HiddenRandomness": "`notes`",
    "HiddenCounter": "`notes`",
}


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_explorers_that_break_the_protocol(tmp_path: Path, jit: bool) -> None:
    (tmp_path / "bad.py").write_text(BAD_EXPLORERS)
    # Compiled code cannot change global variables, so one explorer is enough.
    names = ["HiddenCounter"] if jit else list(WORDS)
    code = f"""
        import bad
        import wanderlust as wl
        for name in {names}:
            try:
                wl.check_explorer(getattr(bad, name), steps=50)
            except wl.WanderlustError as error:
                print(name, "->", error)
        """
    variables = {"NUMBA_DISABLE_JIT": "0" if jit else "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = run_python(textwrap.dedent(code), folder=tmp_path, **variables)
    assert done.returncode == 0, done.stderr
    messages = dict(line.split(" -> ") for line in done.stdout.splitlines())
    assert list(messages) == names
    for name in names:
        assert f"bad:{name}" in messages[name]
        assert jit or WORDS[name] in messages[name]
