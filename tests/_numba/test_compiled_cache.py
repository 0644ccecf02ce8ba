"""The cache of compiled code: never stale, never someone else's, and damage is found."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

import wanderlust as wl
from conftest import run_python
from wanderlust._numba import cache, jit
from wanderlust._numba.cache import class_fingerprint
from wanderlust._numba.jit import JIT_ENABLED
from wanderlust.core.errors import BadFile

pytestmark = pytest.mark.slow

needs_jit = pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled")

EXPLORER = """
from typing import NamedTuple

from my_numbers import SCALE


class Mine(NamedTuple):
    scale: float = 1.0

    def total(self, view, power):  # The view has a method of this name, with other parameters.
        return self.scale * view.total() ** power

    def score(self, view, scores):
        for action in range(view.n_actions):
            scores[action] = view.q(action) + SCALE * action * self.total(view, 0.5) / (1 + view.n(action))
"""
TRAIN = """
import wanderlust as wl
from my_explorer import Mine
print(wl.train("toy", Mine, steps=50, keep_trajectory=True).actions.tolist())
"""
SIMULATE = """
from wanderlust.agents.loop import Simulator
from wanderlust.learning.state import new_streams
from wanderlust.worlds import make_world
simulator = Simulator(make_world("noisy-toy"), new_streams(1))
print([simulator.reset(), *(simulator.step(3, 1) for _ in range(20))])
"""
"""Two short compiled functions, which need no more than a second to compile."""


def run(code: str, folder: Path, cache_dir: Path, **variables: str) -> tuple[str, str]:
    """Return what a new process prints on standard output and standard error."""
    done = run_python(textwrap.dedent(code), folder=folder, **{cache.CACHE_DIR: str(cache_dir), **variables})
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def files_of(folder: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A cache folder with everything that `SIMULATE` needs, and what it prints."""
    folder = tmp_path_factory.mktemp("compiled") / "cache"
    output, messages = run(SIMULATE, folder.parent, folder)
    assert messages.count("compiling for this machine (once per machine") == 1
    return folder, output


@needs_jit
def test_compiled_code_is_cached_and_never_stale(tmp_path: Path) -> None:
    wl.train("toy", "ucb1", steps=9)
    shared, elsewhere = cache.cache_folder(), tmp_path / "elsewhere"
    assert shared is not None
    # Everything but the explorers of users.
    warm = Path(shutil.copytree(shared.path, tmp_path / "cache", ignore=shutil.ignore_patterns("*.partial")))
    elsewhere.mkdir()
    (elsewhere / "my_numbers.py").write_text("SCALE = 1.0\n")
    (tmp_path / "my_explorer.py").write_text(EXPLORER)
    code = f"import sys; sys.path.append({str(elsewhere)!r}){TRAIN}"
    first, _ = run(code, tmp_path, warm)
    files = files_of(warm)
    assert run(code, tmp_path, warm) == (first, "")
    assert files_of(warm) == files, "the second process compiles nothing"
    # A constant of another module, in another folder, is part of the machine code.
    (elsewhere / "my_numbers.py").write_text("SCALE = -1.0\n")
    edited, _ = run(code, tmp_path, warm)
    assert edited != first
    assert edited == run(code, tmp_path, warm, NUMBA_DISABLE_JIT="1")[0]
    # A process that shares the cache but does not have these modules is not affected.
    assert run('import wanderlust as wl; wl.train("toy", "ucb1", steps=9)', elsewhere, warm)[1] == ""


CONSTANT = 1.0
ARRAY = np.array([1.0, 2.0])


def helper(x: float) -> float:
    return x * CONSTANT


USES = {
    "a constant": lambda self: CONSTANT,
    "a function that uses it": lambda self: helper(2.0),
    "an array": lambda self: float(ARRAY[0]),
    "an attribute of a module": lambda self: subprocess.PIPE,
}


def test_fingerprint_covers_all_that_the_code_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fingerprints() -> list[str | None]:
        return [class_fingerprint(type("One", (), {"method": function})) for function in USES.values()]

    before = fingerprints()
    assert None not in before
    assert before == fingerprints()
    monkeypatch.setitem(globals(), "CONSTANT", 2.0)
    monkeypatch.setitem(globals(), "ARRAY", np.array([1.0, 3.0]))
    monkeypatch.setattr(subprocess, "PIPE", -99)
    for use, one, other in zip(USES, before, fingerprints(), strict=True):
        assert one != other, use
    monkeypatch.setitem(globals(), "CONSTANT", object())
    assert fingerprints()[0] is None, "what cannot be described is not cached"


@needs_jit
def test_damaged_files_are_compiled_again(tmp_path: Path, compiled: tuple[Path, str]) -> None:
    folder = Path(shutil.copytree(compiled[0], tmp_path / "cache"))
    for file in files_of(folder):
        contents = bytearray(file.read_bytes())
        contents[len(contents) // 2] ^= 1
        file.write_bytes(contents)
    found, messages = run(SIMULATE, tmp_path, folder)
    assert found == compiled[1]
    assert "damaged or foreign and is compiled again" in messages
    assert run(SIMULATE, tmp_path, folder) == (found, "")


@needs_jit
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, compiled: tuple[Path, str]) -> None:
    """Cached code is loaded as it is, so a file that another user planted would run as this user."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    planted = shared / next(iter(files_of(compiled[0]))).name
    planted.write_bytes(b"planted")
    output, messages = run(SIMULATE, tmp_path, shared)
    assert output == compiled[1]
    assert f"compiled code cannot be cached (other users may write to {shared}" in messages
    assert "WANDERLUST_CACHE_DIR" in messages
    assert files_of(shared).keys() == {planted}


@pytest.fixture
def folder(tmp_path: Path) -> cache.CacheFolder:
    return cache.CacheFolder(tmp_path / "new" / "cache")


def test_a_new_folder_is_private(folder: cache.CacheFolder) -> None:
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.write("code", b"contents")
    assert folder.read("code") == b"contents"
    assert folder.read("no such file") is None
    assert (folder.path / "code").stat().st_mode & 0o777 == 0o600


def test_folders_that_are_refused(folder: cache.CacheFolder, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder.path)
    (tmp_path / "file").write_text("")
    for name in ("link", "file"):
        with pytest.raises(BadFile, match=f"{name} is a link or a file"):
            cache.CacheFolder(tmp_path / name)
    folder.path.chmod(0o770)
    with pytest.raises(BadFile, match=f"other users may write to {folder.path}"):
        cache.CacheFolder(folder.path)
    with pytest.raises(BadFile, match="other users may write"):
        folder.read("code")


@pytest.mark.parametrize("mode", [0o755, 0o1777, 0o777, 0o775])
def test_the_parents_of_the_folder_are_checked(tmp_path: Path, mode: int) -> None:
    """Who can write to a parent can put another folder in its place, unless it is sticky."""
    parent = tmp_path / "parent"
    (parent / "between").mkdir(parents=True)
    parent.chmod(mode)
    refused = pytest.raises(BadFile, match=f"other users may write to {parent}")
    with refused if mode in (0o777, 0o775) else contextlib.nullcontext():
        cache.CacheFolder(parent / "between" / "cache")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_files_and_folders_of_other_users_are_refused(folder: cache.CacheFolder) -> None:
    folder.write("code", b"contents")
    for path, used in (
        (folder.path / "code", lambda: folder.read("code")),
        (folder.path, lambda: folder.read("code")),
        (folder.path.parent, lambda: cache.CacheFolder(folder.path)),
    ):
        os.chown(path, 12345, 12345)
        with pytest.raises(BadFile, match=f"{path} belongs to another user"):
            used()
        os.chown(path, 0, 0)
    assert folder.read("code") == b"contents"


def test_a_folder_that_was_replaced_is_not_used(folder: cache.CacheFolder) -> None:
    """Files are opened in the folder that was checked, wherever it is now."""
    folder.write("code", b"ours")
    folder.path.rename(folder.path.with_name("moved"))
    cache.CacheFolder(folder.path).write("code", b"theirs")
    assert folder.read("code") == b"ours"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "shared", "empty", "truncated", "flipped", "foreign"])
def test_files_that_are_refused(folder: cache.CacheFolder, kind: str) -> None:
    folder.write("code", b"contents")
    path, whole = folder.path / "code", bytearray((folder.path / "code").read_bytes())
    path.rename(folder.path / "other")
    if kind == "link":
        path.symlink_to("other")
    elif kind == "pipe":
        os.mkfifo(path, 0o600)
    elif kind == "folder":
        path.mkdir()
    else:
        whole[-1] ^= kind == "flipped"
        found = {"empty": b"", "truncated": whole[:-1], "foreign": b"not ours" * 10}.get(kind, whole)
        path.write_bytes(found)
        path.chmod(0o666 if kind == "shared" else 0o600)
    with pytest.raises(BadFile, match="code"):
        folder.read("code")


def test_a_user_without_home(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for variable in ("HOME", "XDG_CACHE_HOME", cache.CACHE_DIR):
        monkeypatch.delenv(variable, raising=False)

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert cache.cache_folder.__wrapped__() is None
    assert "this user has no home folder" in capsys.readouterr().err


def test_a_full_disk_leaves_no_file(folder: cache.CacheFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    folder.write("code", b"contents")
    assert list(folder.path.iterdir()) == []


@needs_jit
@pytest.mark.parametrize(("version", "warns"), [("0.59.1", True), ("0.60.0", False), ("0.68.1", False), ("1.0", True)])
def test_an_untested_numba_gives_a_warning(monkeypatch: pytest.MonkeyPatch, version: str, warns: bool) -> None:
    import numba

    monkeypatch.setattr(numba, "__version__", version)
    monkeypatch.setattr(numba.core.event, "register", lambda kind, listener: None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jit.prepare_numba.__wrapped__()
    assert [version in str(each.message) and "0.60 to 0.68" in str(each.message) for each in caught] == [True] * warns


def test_compilation_is_announced_once_and_not_by_worker_processes(tmp_path: Path) -> None:
    code = """
        import multiprocessing, threading
        from wanderlust._numba.cache import announce_compilation as announce

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
