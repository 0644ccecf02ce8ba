"""The cache of compiled code: never stale, never someone else's, and damage is found."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

from wanderlust._numba import cache, jit
from wanderlust._numba.jit import JIT_ENABLED
from wanderlust._numba.methods import class_fingerprint
from wanderlust.core.errors import BadFile

pytestmark = pytest.mark.slow

needs_jit = pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")

EXPLORER = """
from typing import NamedTuple

from my_numbers import SCALE


class Mine(NamedTuple):
    scale: float = 1.0

    def score(self, view, scores):
        for action in range(view.n_actions):
            scores[action] = view.q(action) + SCALE * action / (1 + view.n(action))
"""
TRAIN = """
import wanderlust as wl
from my_explorer import Mine
print(wl.train("toy", Mine, steps=50, keep_trajectory=True).actions.tolist())
"""
SIMULATE = """
from wanderlust.agents.loop import Simulator
from wanderlust.learning.random_streams import new_streams
from wanderlust.worlds import make_world
simulator = Simulator(make_world("noisy-toy").mdp, new_streams(1))
print([simulator.reset(), *(simulator.step(3, 1) for _ in range(20))])
"""
"""Two short compiled functions, which need no more than a second to compile."""


def run(code: str, folder: Path, cache_dir: Path | None, **variables: str) -> tuple[str, str]:
    """Return what a new process prints on standard output and standard error."""
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join(sys.path)}
    if cache_dir is not None:
        environment[cache.CACHE_DIR] = str(cache_dir)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def files_of(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with everything that `SIMULATE` needs."""
    folder = tmp_path_factory.mktemp("compiled") / "cache"
    _, messages = run(SIMULATE, folder.parent, folder)
    assert messages.count("compiling for this machine (once per machine") == 1
    return folder


@needs_jit
def test_compiled_code_is_cached_and_never_stale(tmp_path: Path, compiled: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "my_numbers.py").write_text("SCALE = 1.0\n")
    (tmp_path / "my_explorer.py").write_text(EXPLORER)
    code = f"import sys; sys.path.append({str(elsewhere)!r}){TRAIN}"
    first, _ = run(code, tmp_path, compiled)
    files = files_of(compiled)
    again, messages = run(code, tmp_path, compiled)
    assert again == first
    assert messages == ""
    assert files_of(compiled) == files, "the second process compiles nothing"
    # A constant of another module, in another folder, is part of the machine code.
    (elsewhere / "my_numbers.py").write_text("SCALE = -1.0\n")
    edited, _ = run(code, tmp_path, compiled)
    assert edited != first
    assert edited == run(code, tmp_path, compiled, NUMBA_DISABLE_JIT="1")[0]
    # So is a constant that depends on the environment of the process.
    (elsewhere / "my_numbers.py").write_text("import os\n\nSCALE = float(os.environ['SCALE'])\n")
    assert run(code, tmp_path, compiled, SCALE="1")[0] == first
    assert run(code, tmp_path, compiled, SCALE="-1")[0] == edited
    # A process that shares the cache but does not have these modules is not affected.
    assert run(SIMULATE, elsewhere, compiled)[1] == ""


CONSTANT = 1.0
ARRAY = np.array([1.0, 2.0])


def helper(x: float) -> float:
    return x * CONSTANT


class Uses:
    def constant(self) -> float:
        return CONSTANT

    def called(self) -> float:
        return helper(2.0)

    def array(self) -> float:
        return float(ARRAY[0])

    def attribute_of_module(self) -> int:
        return subprocess.PIPE


def test_fingerprint_covers_all_that_the_code_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fingerprint(method: str) -> str | None:
        return class_fingerprint(type("One", (), {method: vars(Uses)[method]}))

    methods = ("constant", "called", "array", "attribute_of_module")
    before = {method: fingerprint(method) for method in methods}
    assert None not in before.values()
    assert before == {method: fingerprint(method) for method in methods}
    monkeypatch.setitem(globals(), "CONSTANT", 2.0)
    monkeypatch.setitem(globals(), "ARRAY", np.array([1.0, 3.0]))
    monkeypatch.setattr(subprocess, "PIPE", -99)
    for method in methods:
        assert fingerprint(method) != before[method], method
    monkeypatch.setitem(globals(), "CONSTANT", object())
    assert fingerprint("constant") is None, "what cannot be described is not cached"


@needs_jit
@pytest.mark.parametrize("damage", ["empty", "truncated", "flipped", "foreign"])
def test_damaged_files_are_compiled_again(tmp_path: Path, compiled: Path, damage: str) -> None:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    for file in files_of(compiled):
        contents = bytearray(file.read_bytes())
        if damage == "flipped":
            contents[len(contents) // 2] ^= 1
        elif damage == "foreign":
            contents = bytearray(b"not ours, but long enough to have a checksum" * 10)
        else:
            del contents[0 if damage == "empty" else len(contents) // 2 :]
        (folder / file.name).write_bytes(contents)
    expected, _ = run(SIMULATE, tmp_path, compiled)
    found, messages = run(SIMULATE, tmp_path, folder)
    assert found == expected
    assert "damaged or foreign and is compiled again" in messages
    assert run(SIMULATE, tmp_path, folder) == (expected, "")


@needs_jit
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, compiled: Path) -> None:
    """Cached code is loaded as it is, so a file that another user planted would run as this user."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    planted = shared / next(iter(files_of(compiled))).name
    planted.write_bytes(b"planted")
    output, messages = run(SIMULATE, tmp_path, shared)
    assert output == run(SIMULATE, tmp_path, compiled)[0]
    assert f"compiled code cannot be cached (other users may write to {shared}" in messages
    assert "WANDERLUST_CACHE_DIR" in messages
    assert files_of(shared).keys() == {planted}


def test_private_folders(tmp_path: Path) -> None:
    folder = cache.private_folder(tmp_path / "new" / "cache")
    assert folder.stat().st_mode & 0o777 == 0o700
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(BadFile, match="link"):
        cache.private_folder(link)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadFile, match="not a folder"):
        cache.private_folder(tmp_path / "file")
    folder.chmod(0o770)
    with pytest.raises(BadFile, match="other users may write"):
        cache.private_folder(folder)
    folder.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(folder, 12345, 12345)
        with pytest.raises(BadFile, match="another user"):
            cache.private_folder(folder)


def test_a_user_without_home(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for variable in ("HOME", "XDG_CACHE_HOME", cache.CACHE_DIR):
        monkeypatch.delenv(variable, raising=False)

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert cache.cache_folder.__wrapped__() is None
    assert "this user has no home folder" in capsys.readouterr().err


def test_a_full_disk_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.write_sealed(tmp_path / "code", b"contents")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    cache.write_sealed(tmp_path / "code", b"contents")
    assert cache.read_sealed(tmp_path / "code") == b"contents"
    assert cache.read_sealed(tmp_path / "no such file") is None


@needs_jit
@pytest.mark.parametrize(("version", "warns"), [("0.59.1", True), ("0.60.0", False), ("0.68.1", False), ("1.0", True)])
def test_an_untested_numba_gives_a_warning(monkeypatch: pytest.MonkeyPatch, version: str, warns: bool) -> None:
    import numba

    monkeypatch.setattr(numba, "__version__", version)
    monkeypatch.setattr(numba.core.event, "register", lambda kind, listener: None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jit._prepare_numba.__wrapped__()
    assert [version in str(each.message) and "0.60 to 0.68" in str(each.message) for each in caught] == [True] * warns


@needs_jit
def test_methods_of_two_classes_may_have_one_name(tmp_path: Path) -> None:
    """`total` is also a method of the view, with other parameters."""
    (tmp_path / "mine.py").write_text(
        textwrap.dedent(
            """
            from typing import NamedTuple


            class Mine(NamedTuple):
                scale: float = 1.0

                def total(self, view, power):
                    return self.scale * view.total() ** power

                def score(self, view, scores):
                    for action in range(view.n_actions):
                        scores[action] = view.q(action) + self.total(view, 0.5) / (1 + view.n(action))


            class Other(NamedTuple):
                scale: float = 2.0

                def total(self, view):
                    return view.total()

                def score(self, view, scores):
                    for action in range(view.n_actions):
                        scores[action] = view.q(action) + self.total(view) / (1 + view.n(action))
            """
        )
    )
    code = """
        import mine, wanderlust as wl
        for explorer in (mine.Mine, mine.Other):
            print(wl.train("toy", explorer, steps=60, keep_trajectory=True).actions.tolist())
        """
    output, _ = run(code, tmp_path, None)
    assert output == run(code, tmp_path, None, NUMBA_DISABLE_JIT="1")[0]


def test_compilation_is_announced_once_and_not_by_worker_processes(tmp_path: Path) -> None:
    code = """
        import multiprocessing, threading
        from wanderlust._numba.cache import _announce_compilation as announce

        if __name__ == "__main__":
            threads = [threading.Thread(target=announce) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            worker = multiprocessing.get_context("spawn").Process(target=announce)
            worker.start()
            worker.join()
            print(worker.exitcode)
    """
    out, messages = run(code, tmp_path, tmp_path / "cache")
    assert (out, messages.count("compiling")) == ("0\n", 1)
