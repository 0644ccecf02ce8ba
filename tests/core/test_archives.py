"""Tests of archives and atomic writes: sizes are checked before memory is used, special files are left alone."""

import io
import os
import socket
import stat
import threading
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import wanderlust as wl
from wanderlust.core.archives import Header, open_archive, write_archive
from wanderlust.core.errors import BadFile
from wanderlust.core.files import atomic_write
from wanderlust.core.schema import parse_toml

ARRAYS = {
    "grid": np.arange(12, dtype=np.int32).reshape(3, 4),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "empty": np.zeros((2, 0)),
    "number": np.array(5),
    "flags": np.array([True, False]),
    "names": np.array(["a", "bcd"]),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.npz"


def write_npz(path, members, *, claim=None, compression=zipfile.ZIP_DEFLATED):
    """Write a zip file of raw members; `claim` replaces the declared size of the last one."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
        if claim is not None:
            archive.infolist()[-1].file_size = claim


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npy_header(shape, descr="|u1"):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


ABOUT = ("about.npy", npy(np.array("{}")))


def read(path, **options):
    with open_archive(path, **options) as archive:
        return archive.read()


def refused(path, words, **options):
    with pytest.raises((ValueError, TypeError, RecursionError, zipfile.BadZipFile), match=words):
        read(path, **options)
    with pytest.raises(BadFile, match=r"a\.npz"):
        wl.Agent.load(path)


def test_an_archive_is_read_as_it_was_written(path):
    write_archive(path, {"a": [1, "ü"], "b": np.float64(0.5), "c": np.int64(3)}, ARRAYS)
    with open_archive(path) as archive:
        about, headers, arrays = archive.metadata, archive.headers, archive.read()
    assert about == {"a": [1, "ü"], "b": 0.5, "c": 3}
    wanted = {name: Header(array.dtype, array.shape) for name, array in ARRAYS.items()}
    assert headers == {name: Header(array.dtype, array.shape) for name, array in arrays.items()} == wanted
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
    with np.load(path, allow_pickle=False) as archive:
        assert sorted(archive.files) == sorted([*ARRAYS, "about"])


@pytest.fixture
def traced():
    """Trace the memory that is allocated."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


def test_checksums_and_reading_copy_nothing(path, traced):
    size = 2**25
    write_archive(path, {}, {"zeros": np.zeros(size, np.uint8)})
    tracemalloc.reset_peak()
    assert len(read(path)["zeros"]) == size
    assert traced() < 1.2 * size


def test_changed_contents_do_not_match_their_checksum(path):
    write_archive(path, {"a": 1}, {"zeros": np.zeros(3)})
    with np.load(path) as archive:
        np.savez(path, about=archive["about"], zeros=np.ones(3))
    refused(path, "checksum")


# --- Sizes ---------------------------------------------------------------------------------------------


def test_contents_that_would_fill_the_memory_are_refused(path):
    size = 12 * 2**30
    write_npz(path, [ABOUT, ("zeros.npy", npy_header((size,)) + bytes(2**20))], claim=size + 128)
    refused(path, r"would take 12,88\d,\d+,\d+ bytes; at most 4,294,967,296")


def test_many_members_together_are_refused(path):
    content = npy(np.zeros(2**22, np.uint8))
    write_npz(path, [ABOUT, *((f"{i}.npy", content) for i in range(40))])
    with pytest.raises(ValueError, match="would take"):
        read(path, max_bytes=2**27)
    with open_archive(path) as archive:
        assert len(archive.headers) == 40
    write_npz(path, [ABOUT, *((f"{i}.npy", b"") for i in range(2000))])
    refused(path, "2,001 members")


def test_a_large_file_may_have_large_contents(path):
    noise = np.random.default_rng(0).integers(0, 256, 2**20, np.uint8)
    write_archive(path, {}, {"noise": noise})
    assert np.array_equal(read(path, max_bytes=1000)["noise"], noise)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (npy_header((2**40,)), "does not fit"),
        (npy_header((99,)), "does not fit"),
        (npy_header((101,)), "does not fit"),
        (npy_header((-1, -100)), "shape"),
        (npy_header((True, 100)), "shape"),
        (npy_header((100,), "|U0"), "dtype"),
        (npy_header((100,), "|O"), "dtype"),
        (npy_header((1,), "|V100"), "dtype"),
        (npy_header((1,), [("a", "|u1"), ("b", "|V99")]), "dtype"),
        (npy_header((2**62, 2**62, 0)), "does not fit"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "version"),
        (b"\x93NUMPY\x01\x00\xff\xff", "header"),
        (b"no magic", "magic"),
    ],
)
def test_a_header_must_agree_with_its_member(path, header, words):
    write_npz(path, [ABOUT, ("array.npy", header + bytes(100))])
    refused(path, words)


def test_sizes_that_the_directory_understates_are_noticed(path):
    content = npy(np.zeros(1000, np.uint8))
    for claim in (len(content) - 1, len(content) + 1, 100, 0):
        write_npz(path, [ABOUT, ("array.npy", content)], claim=claim)
        refused(path, ".")


ZEROS, ONES = ("array.npy", npy(np.zeros(1))), ("array.npy", npy(np.ones(1)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([ZEROS], "no metadata"),
        ([ABOUT, ("letter.txt", b"Dear diary")], "not an array"),
        ([ABOUT, ZEROS, ONES], "repeated"),
        ([("about.npy", npy(np.array(3)))], "not a text"),
        ([("about.npy", npy(np.array(["{}"])))], "not a text"),
        ([("about.npy", npy(np.array("[]")))], "not a JSON object"),
        ([("about.npy", npy(np.array("[" * 100_000)))], "recursion"),
        (None, "unknown method"),
    ],
)
def test_other_archives_are_refused(path, members, words):
    compression = zipfile.ZIP_LZMA if members is None else zipfile.ZIP_DEFLATED
    write_npz(path, members or [ABOUT, ZEROS], compression=compression)
    refused(path, words)


def test_an_archive_of_another_kind_is_refused_before_its_arrays_are_inflated(path, traced):
    wl.Agent("random", n_actions=2, reward_range=(0, 1)).save(path)
    with open_archive(path) as archive:
        about, arrays = archive.metadata, archive.read()
    wl.Agent.load(path)  # Which imports modules.
    for change, words in (({"format": 99}, "format 99"), ({}, "zeros: no agent has such arrays")):
        write_archive(path, about | change, arrays | {"zeros": np.zeros(2**25, np.uint8)})
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        with pytest.raises(BadFile, match=words):
            wl.Agent.load(path)
        assert traced() - before < 2**24


# --- Special files -------------------------------------------------------------------------------------


def null_device(folder):
    """Return a device that the tests may lose: who may replace /dev/null gets a copy of it."""
    if os.geteuid() != 0:
        return Path("/dev/null")
    try:
        os.mknod(folder / "null", 0o666 | stat.S_IFCHR, os.stat("/dev/null").st_rdev)
    except PermissionError:
        return None
    return folder / "null"


def special_files(folder):
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "link").symlink_to(folder / "pipe")
    (folder / "loop").symlink_to(folder / "loop")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
    device = null_device(folder)
    return {
        folder / "pipe": "named pipe",
        folder / "folder": "folder",
        folder / "link": "named pipe",
        folder / "loop": "symbolic link",
        folder / "socket": "socket",
        **({} if device is None else {device: "device"}),
    }


def error_of(function):
    """Run a function that may block, and return the error that it raises within a second."""
    errors = []

    def run():
        try:
            function()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(1.0)
    assert not thread.is_alive(), "blocked"
    return errors[0]


def test_special_files_are_not_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # The names of sockets must be short.
    devices = dict.fromkeys((Path("/dev/null"), Path("/dev/zero")), "device")
    for path, kind in {**special_files(Path()), **devices}.items():
        with pytest.raises(BadFile, match=f"{path}.*{kind}"):
            raise error_of(lambda path=path: wl.Agent.load(path))


def test_special_files_are_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    agent = wl.Agent("random", n_actions=2, reward_range=(0, 1))
    for path, kind in special_files(Path()).items():
        before = path.lstat()
        with pytest.raises(BadFile, match=f"{path}.*{kind}"):
            raise error_of(lambda path=path: agent.save(path))
        with pytest.raises(OSError, match=kind), atomic_write(path) as file:
            file.write(b"never")
        after = path.lstat()
        assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)
    assert not list(tmp_path.glob(".*"))


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    link.symlink_to("there/target")
    (tmp_path / "link to link").symlink_to(link)
    for i, name in enumerate([link, tmp_path / "link to link", target]):  # At first the link leads nowhere.
        with atomic_write(name) as file:
            file.write(b"%d" % i)
            assert list(target.parent.glob(".*.partial"))
        assert link.is_symlink()
        assert not target.is_symlink()
        assert link.read_bytes() == b"%d" % i
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["link", "link to link", "target", "there"]


def test_a_link_to_a_missing_folder_or_to_itself_is_an_error(tmp_path):
    one, other, lost = tmp_path / "one", tmp_path / "other", tmp_path / "lost"
    one.symlink_to(other)
    other.symlink_to(one)
    lost.symlink_to(tmp_path / "missing" / "file")
    for path, words in [(one, "leads back to itself"), (lost, "No such file")]:
        with pytest.raises(OSError, match=words), atomic_write(path) as file:
            file.write(b"never")
        assert path.is_symlink()


def test_permissions_are_kept(tmp_path):
    path, link = tmp_path / "a", tmp_path / "link"
    link.symlink_to(path)
    for mode in (0o600, 0o640, 0o444):
        path.touch()
        path.chmod(mode)
        with atomic_write(link) as file:
            [partial] = tmp_path.glob(".*.partial")
            assert stat.S_IMODE(partial.stat().st_mode) == mode
            file.write(b"new")
        assert stat.S_IMODE(path.stat().st_mode) == mode
        path.unlink()
    (tmp_path / "new").touch()
    with atomic_write(path) as file:
        file.write(b"new")
    assert path.stat().st_mode == (tmp_path / "new").stat().st_mode


def test_an_error_while_writing_changes_nothing(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_write(path) as file:
        file.write(b"new" * (1 // 0))
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("map = ", "not a TOML file"),
        ("a = " + "[" * 10_000, "not a TOML file"),
        (".".join(["a"] * 100_000) + " = 1", "line 1 has 99,999 dots in names"),
        ("map = '''\n" + "S." * 30 + "\n'''\n\n" + "a." * 30 + "a = 1", "line 5 has 30 dots in names"),
    ],
)
def test_a_toml_text_that_would_fill_the_memory_is_refused(toml, message):
    with pytest.raises(BadFile, match=message):
        parse_toml(toml)
    dots = "." * 100
    assert parse_toml(f"map = '''\n{dots}\n'''  # {dots}") == {"map": f"{dots}\n"}
    numbers = [0.5, -1.5, 1e-3] * 30
    assert parse_toml(f"kappa = {numbers}") == {"kappa": numbers}
    with pytest.raises(BadFile, match="dots in names"):
        parse_toml(".".join(["1"] * 100) + " = 1")
