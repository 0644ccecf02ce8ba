"""Tests that `check_explorer` finds the mistakes that users make in their own explorers."""

import math
import re
import textwrap
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import wanderlust as wl
from conftest import run_python
from wanderlust._numba.jit import JIT_ENABLED
from wanderlust.checks import check_in_python
from wanderlust.explorers import choice, dithering
from wanderlust.explorers.choice import greedy_action
from wanderlust.explorers.compiled import compilation_reason
from wanderlust.explorers.protocol import ExtraTables, Visitation, explorer_class

SOURCES = Path(wl.__file__).parent


def error_message(explorer: type) -> str:
    with pytest.raises(wl.WanderlustError) as caught:
        wl.check_explorer(explorer, steps=50)
    return str(caught.value)


def test_what_an_explorer_class_must_be() -> None:
    class NoTuple:
        pass

    class NoFields(NamedTuple):
        pass

    class WrongSignature(NamedTuple):
        scale: float = 1.0

        def score(self, view):
            pass

    class NeedsScale(NamedTuple):
        scale: float

    class WrongExtraTables(NamedTuple):
        scale: float = 1.0

        def extra_tables(self):
            return "one table"

    class TextField(NamedTuple):
        scale: str = "large"

    assert "NamedTuple" in error_message(NoTuple)
    assert "scale: float = 1.0" in error_message(NoFields)
    assert "(self, view, scores)" in error_message(WrongSignature)
    assert "'scale'" in error_message(NeedsScale)
    assert "'one table'" in error_message(WrongExtraTables)
    assert "TextField.scale must be a number, as compiled code needs it, got 'large'" in error_message(TextField)
    with pytest.raises(wl.WanderlustError):
        wl.register_explorer("wrong")(WrongSignature)
    assert "wrong" not in wl.explorer_names()


class MisspeltField(NamedTuple):
    kappa: float = 1.0

    def score(self, view, scores):
        for action in range(view.n_actions):
            scores[action] = view.q(action) + self.kapa


class MisspeltMethod(NamedTuple):
    kappa: float = 1.0

    def choose(self, view, scores, random):
        self.score(view, scores)
        return greedy_action(scores, random) if view.totl() > 0 else 0


class MisspeltGlobal(NamedTuple):
    kappa: float = 1.0

    def begin_episode(self, notes, random):
        notes[0] = choice.random_acton(random, 4)


class MisspeltInABranch(NamedTuple):
    kappa: float = 1.0

    def score(self, view, scores):
        for action in range(view.n_actions):
            scores[action] = self.kapa if view.n(action) > 0 else 0.0


class MisspeltInASignal(NamedTuple):
    kappa: float = 1.0

    def extra_tables(self):
        return ExtraTables(visitation=Visitation(discount=0.9, initial=0.0))

    def terminal_visitation_reward(self, visits, total, max_visits):
        return visits / totl  # noqa: F821


class WrongIndex(NamedTuple):
    kappa: float = 1.0

    def score(self, view, scores):
        for action in range(view.n_actions):
            scores[action + 1] = view.q(action)


class NoAction(NamedTuple):
    kappa: float = 1.0

    def choose(self, view, scores, random):
        self.score(view, scores)


@pytest.mark.parametrize(
    ("explorer", "sentence"),
    [
        (MisspeltField, "score failed: MisspeltField has no attribute 'kapa'. Did you mean 'kappa'? It has kappa."),
        (MisspeltMethod, "choose failed: the view has no attribute 'totl'. Did you mean 'total'? It has q, w, n, "),
        (MisspeltGlobal, "begin_episode failed: module 'wanderlust.explorers.choice' has no attribute 'random_acton'"),
        (MisspeltInABranch, "score failed: MisspeltInABranch has no attribute 'kapa'. Did you mean 'kappa'?"),
        (MisspeltInASignal, "terminal_visitation_reward failed: name 'totl' is not defined"),
        (WrongIndex, "score failed: index 4 is out of bounds for axis 0 with size 4"),
        (NoAction, "choose must return an action, an integer, got None."),
    ],
)
def test_mistakes_are_reported_by_python_before_anything_is_compiled(
    explorer: type, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wanderlust.checks.run_agent", lambda *_, **__: pytest.fail("the explorer was compiled"))
    assert error_message(explorer).startswith(f"explorer 'test_check_explorer:{explorer.__name__}': {sentence}")


@pytest.mark.parametrize("memory", ["full", "none"])
@pytest.mark.parametrize("explorer", wl.explorer_names())
def test_built_in_explorers_run_in_plain_python(explorer: str, memory: str) -> None:
    """Combinations that `can_run` of conftest.py excludes are left out."""
    check_in_python(explorer_class(explorer), explorer, {"replay": memory})


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


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")
def test_a_compilation_error_names_the_reason_and_the_line() -> None:
    message = error_message(NotCompilable)
    start = "explorer 'test_check_explorer:NotCompilable' cannot be compiled: Unknown attribute 'default_rng' of type "
    assert message.startswith(start)
    line = re.escape("`return int(np.random.default_rng(0).integers(4))`")
    assert re.search(rf"\(\S*test_check_explorer\.py, line \d+: {line}\)$", message)
    assert not re.search(r"nopython|Resolution|During|hooks\.py", message)
    assert compilation_reason(ValueError("Use of unsupported opcode\n"), NotCompilable) == "Use of unsupported opcode"


@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")
@pytest.mark.parametrize(
    ("explorer", "words"),
    [
        (MisspeltMethod, "the view has no attribute 'totl'. Did you mean 'total'? It has q, w, n, total, head, "),
        (MisspeltField, "MisspeltField has no attribute 'kapa'. Did you mean 'kappa'? It has kappa."),
    ],
)
def test_a_misspelt_attribute_is_named(explorer: type, words: str) -> None:
    with pytest.raises(wl.WanderlustError) as caught:
        wl.train("toy", explorer)
    assert words in str(caught.value)
    assert re.search(r"\(\S*test_check_explorer\.py, line \d+: `", str(caught.value))
    assert len(str(caught.value)) < 400


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


@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
def test_explorers_that_break_the_protocol(tmp_path: Path, jit: bool) -> None:
    (tmp_path / "bad.py").write_text(BAD_EXPLORERS)
    # Compiled code cannot change global variables, so one explorer is enough.
    names = ["HiddenCounter"] if jit else re.findall(r"class (\w+)", BAD_EXPLORERS)
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
    if not jit:
        assert "chose action 4; valid are 0 to 3" in messages["TooLarge"]
        assert "chose action -1; valid are 0 to 3" in messages["Negative"]
        assert "ZeroDivisionError" in messages["Careless"]
        for name in ("HiddenRandomness", "HiddenCounter"):
            assert "`notes`" in messages[name]
