"""Runs and their files: serialization and keys of runs, atomic writes, damaged files."""

import contextlib
import os
import pickle
import re
import sys
import threading
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanderlust.core.archives import archive_bytes
from wanderlust.core.errors import BadFile, CannotWrite, InvalidSetting, UnknownName, WanderlustError
from wanderlust.experiments import store as store_module
from wanderlust.experiments.execute.driver import run_all
from wanderlust.experiments.run import Result, Run
from wanderlust.experiments.store import Store, read_pack, seal, write_pack

RUN = Run(world="toy", explorer="random", seed=3, settings={"budget": 200})

plain = st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(plain | st.text(), lambda inner: st.lists(inner, max_size=3), max_leaves=5)
options = st.dictionaries(st.text(min_size=1), values, max_size=4)


@pytest.fixture(scope="module")
def result():
    return RUN.train()


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "results")
    store.prepare()
    return store


@given(options, options, st.integers(0, 2**63), st.sampled_from(["as_written", "as_published_code"]))
def test_json_and_pickle_preserve_a_run(world_options, changes, seed, preset):
    tables = {"world_options": world_options, "explorer_options": changes, "settings": changes}
    run = Run(world="toy", explorer="vv-ucb", seed=seed, preset=preset, **tables)
    for copy in (Run.from_json(run.json), pickle.loads(pickle.dumps(run))):
        assert copy == run
        assert (hash(copy), copy.key, copy.json, copy.command) == (hash(run), run.key, run.json, run.command)


def test_a_run_is_immutable_and_the_order_of_options_does_not_matter():
    one = Run(world="toy", explorer="random", settings={"budget": 200, "horizon": 5})
    other = Run(explorer="random", settings={"horizon": np.int64(5), "budget": 200}, world="toy")
    assert (one, one.key) == (other, other.key)
    with pytest.raises(InvalidSetting, match="numbers, strings, lists"):
        Run(world="toy", explorer="random", settings={"budget": object()})
    with pytest.raises(TypeError):
        RUN.settings["budget"] = 1
    with pytest.raises(AttributeError):
        RUN.seed = 4


def test_keys_do_not_change_by_accident():
    """If this fails, stored results are ignored; increase `ALGORITHM_VERSION` only when results change."""
    assert RUN.json == '{"explorer":"random","seed":3,"settings":{"budget":200},"world":"toy"}'
    assert RUN.key_with(("", "")) == "7938c39b97d4a58ccf1d41b8"
    assert RUN.code[1:] == ("",)
    run = Run(kind="environment", world="FrozenLake-v1", explorer="vv-ucb", seed=2, settings={"steps": 500})
    assert run.key_with(("", "")) == "33b36949f0f2727c2566c36b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must be described by JSON"),
        ("[]", "JSON object"),
        ('{"world":"toy"}', "'explorer'"),
        ('{"world":"toy","explorer":"random","sed":1}', "Did you mean 'seed'"),
        ('{"world":"toy","explorer":"random","seed":-1}', "seed must be"),
        ('{"world":"a.txt","explorer":"random"}', "option `map`"),
        ('{"world":"toy","explorer":"random","preset":"as_writen"}', "Did you mean 'as_written'"),
        ('{"world":"toy","explorer":"random","settings":3}', "table of names"),
    ],
)
def test_bad_descriptions_raise_a_clear_error(text, message):
    with pytest.raises(WanderlustError, match=message):
        Run.from_json(text)


def test_a_replay_and_a_map_can_be_described_and_success_is_nan_if_the_optimal_return_is_zero():
    settings = {"replay": {"memory": "window", "capacity": 7}, "budget": 60, "horizon": 9}
    run = Run(world="mine", world_options={"map": "S.."}, explorer="random", settings=settings)
    result = Run.from_json(run.json).train()
    assert (result.visits.sum(), result.discovery) == (60, 100.0)
    assert np.isnan([result.success, RUN.train(steps=1).success]).all()
    with pytest.raises(UnknownName, match="capacity"):
        Run(world="toy", explorer="random", settings={"replay": {"capcity": 7}}).train()


def same(one: Result, other: Result) -> bool:
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def flipped(contents):
    # Several bytes: a single one may be a time in the header of a part, which means nothing.
    middle = slice(len(contents) // 2 - 32, len(contents) // 2 + 32)
    return contents[: middle.start] + bytes(byte ^ 0xFF for byte in contents[middle]) + contents[middle.stop :]


@pytest.mark.parametrize(
    ("damaged", "count"),
    [(lambda contents: contents[:-100], 5), (flipped, 1), (flipped, 5), (lambda _: b"a list", 1), (lambda _: b"", 5)],
)
def test_the_runs_of_a_damaged_pack_are_repeated(store, damaged, count):
    runs = runs_of(count)
    store.add(sealed(runs))
    (pack,) = store.packs.glob("*.zip")
    pack.write_bytes(damaged(pack.read_bytes()))
    problems = []
    readable = list(Store(store.folder).load_all(problems))
    assert len(readable) < count
    assert pack.name in problems[0]
    summary = run_all(runs, Store(store.folder), jobs=1)
    assert (summary.executed, summary.stored, summary.failures) == (count - len(readable), len(readable), [])
    assert pack.name in summary.problems[0]
    assert {each.run for each in Store(store.folder).load_all([])} == set(runs)


def test_another_number_in_a_line_is_noticed(store):
    store.add(sealed(runs_of(1)))
    (pack,) = store.packs.glob("*.zip")
    contents = pack.read_bytes()
    pack.write_bytes(contents.replace(b'"seconds": 0.25', b'"seconds": 0.35'))
    assert pack.read_bytes() != contents
    assert list(Store(store.folder).lines(problems := [])) == []
    assert pack.name in problems[0]


def test_an_index_may_not_name_places_outside_of_the_file(store):
    store.add(sealed(runs_of(1)))
    (pack,) = store.packs.glob("*.zip")
    contents = pack.read_bytes()
    offset, size, crc = map(int, re.search(rb"wanderlust pack 3 (\d+) (\d+) (\d+)", contents).groups())
    index = contents[offset : offset + size]
    forged = re.sub(rb", \d(\d+, \d+\]\]\})", rb", 9\1", index)  # the size of the archive
    contents = contents.replace(index, forged).replace(b"%015d" % crc, b"%015d" % zlib.crc32(forged))
    pack.write_bytes(contents)
    with pytest.raises(BadFile, match="outside of the file"):
        read_pack(pack)


@pytest.mark.parametrize(
    "forged",
    [
        lambda: sealed(runs_of(1))[0].contents,
        lambda: archive_bytes({"format": 3, "explorer": "vv-ucb"}, {"q": np.zeros(3)}),
        lambda: b"a shopping list",
    ],
)
def test_an_archive_of_something_else_is_not_a_result(store, result, forged):
    """The pack itself is intact."""
    write_pack(store.packs, [seal(RUN, result, 0.0)._replace(contents=forged())])
    problems = []
    assert list(store.load_all(problems)) == []
    assert RUN.key in problems[0]
    with pytest.raises(BadFile, match=RUN.key):
        store.load(RUN)


def test_packs_of_other_versions_are_ignored(store, result, monkeypatch):
    with monkeypatch.context() as patch:
        for module in ("run", "store"):
            patch.setattr(f"wanderlust.experiments.{module}.ALGORITHM_VERSION", 0)
        old = Run.from_json(RUN.json)
        path = store.save(old, result, 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "PACK_FORMAT", 1)
        store.save(RUN, result, 0.0)
    before = path.read_bytes()
    fresh = Run.from_json(RUN.json)
    assert fresh.key != old.key
    summary = run_all([fresh], store, jobs=1)
    assert (summary.executed, len(summary.problems)) == (1, 2)
    assert path.read_bytes() == before
    problems = []
    assert [each.run for each in store.load_all(problems)] == [fresh]
    assert "algorithm version 0" in problems[0]
    assert "format 1" in problems[1]


def test_folders_that_are_no_store(tmp_path):
    with pytest.raises(BadFile, match="no results in this folder"):
        Store(tmp_path).load_all([])
    (tmp_path / "results").write_text("")
    with pytest.raises(CannotWrite, match="cannot be written there"):
        Store(tmp_path / "results").prepare()


def test_unfinished_files_are_not_results_and_stale_ones_are_deleted(store):
    fresh, stale = store.packs / ".a.1.partial", store.packs / ".b.2.partial"
    for file in (fresh, stale):
        file.write_bytes(b"half")
    os.utime(stale, (0, 0))
    store.prepare()
    assert fresh.exists()
    assert not stale.exists()
    assert list(store.load_all([])) == []


@contextlib.contextmanager
def full_disk(size):
    """Let every larger file fail to be written."""
    resource = pytest.importorskip("resource", reason="limits the size of files as POSIX does")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        with pytest.raises(CannotWrite, match="Finished runs are stored"):
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the size of files as Linux does")
def test_a_full_disk_loses_nothing(store, monkeypatch):
    run_all(runs_of(2), store, jobs=1)
    with full_disk(500):
        run_all(runs_of(3), store, jobs=2)
    assert {each.run for each in store.load_all([])} == set(runs_of(2))
    assert all(file.suffix == ".zip" for file in store.packs.iterdir())
    store.add(sealed(runs_of(4, first=2)))
    store.add(sealed(runs_of(6, first=6)))
    monkeypatch.setattr(store_module, "PACK_RUNS", 12)
    with full_disk(10_000):
        store.merge()
    assert packs_in(store) > 1
    assert len(list(store.load_all([]))) == 12


# --- Packs -----------------------------------------------------------------------------------------------


def runs_of(count, first=0):
    return [Run(world="toy", explorer="random", seed=first + i, settings={"steps": 20}) for i in range(count)]


def sealed(runs):
    return [seal(run, run.train(), 0.25) for run in runs]


def test_the_chunk_size_does_not_change_the_result(result, monkeypatch):
    monkeypatch.setattr("wanderlust.experiments.world_run._STEPS_PER_CHUNK", 7)
    assert same(RUN.train(), result)


@pytest.fixture
def small_packs(monkeypatch):
    monkeypatch.setattr(store_module, "PACK_RUNS", 10)


def packs_in(store):
    return len(list(store.packs.glob("*.zip")))


def test_results_that_arrive_together_are_one_pack(store):
    runs = runs_of(6)
    entries = sealed(runs)
    store.add(entries)
    (pack,) = store.packs.iterdir()
    assert pack.stat().st_mode & 0o444
    for run, entry in zip(runs, entries, strict=True):
        stored = store.load(run)
        assert (stored.run, stored.metadata["seconds"]) == (run, 0.25)
        assert same(stored.result, run.train())
        assert {"wanderlust", "python", "numpy", "numba", "machine", "finished"} <= stored.metadata.keys()
        with zipfile.ZipFile(pack) as archive:
            assert archive.read(f"{run.key}.npz") == entry.contents
            assert archive.testzip() is None
    store.add(sealed(runs_of(1, first=6)))
    assert len(list(store.load_all([]))) == len(store.stored_keys()) == 7
    lines = {line["key"]: line for line in store.lines([])}
    assert lines.keys() == {run.key for run in runs_of(7)}
    assert lines[runs[0].key]["discovery"] == runs[0].train().discovery
    before = {path: path.stat().st_mtime_ns for path in store.packs.iterdir()}
    summary = run_all(runs_of(8) * 2, store, jobs=1)
    assert (summary.stored, summary.executed) == (7, 1)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_runs_that_arrive_one_by_one_are_merged(store, monkeypatch):
    monkeypatch.setattr(store_module, "MAX_SMALL_PACKS", 10)
    runs = runs_of(25)
    for entry in sealed(runs):
        store.add([entry])
    assert packs_in(store) < 20
    assert {each.run for each in Store(store.folder).load_all([])} == set(runs)


def test_small_packs_are_merged_and_readers_follow(store, small_packs):
    reader = Store(store.folder)
    runs = runs_of(16)
    store.add(sealed(runs[:4]))
    assert len(list(reader.load_all([]))) == 4
    store.add(sealed(runs[4:8]))
    store.add(sealed(runs[8:12]))
    assert packs_in(store) == 1
    assert reader.load(runs[0]) is not None
    assert len(list(reader.load_all(problems := []))) == len(list(reader.lines(problems))) == 12
    assert problems == []


def test_a_kill_between_merging_and_deleting_loses_and_repeats_nothing(store, small_packs, monkeypatch):
    runs = runs_of(12)
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.unlink", lambda *_, **__: None)
        for i in range(0, 12, 4):
            store.add(sealed(runs[i : i + 4]))
    # The same as after a kill: everything is there twice.
    assert packs_in(store) == 4
    again = Store(store.folder)
    assert len(list(again.load_all([]))) == len(list(again.lines([]))) == len(again.stored_keys()) == 12
    assert run_all(runs, again, jobs=1).executed == 0
    again.merge()
    assert len(list(again.load_all([]))) == 12
    assert packs_in(again) < 4


def test_reading_while_another_process_packs(store, small_packs):
    results = {run: run.train() for run in runs_of(30)}
    entries = [seal(run, result, 0.0) for run, result in results.items()]
    problems, stop, counts = [], threading.Event(), []

    def read_all():
        reader = Store(store.folder)
        while not stop.is_set():
            stored = list(reader.load_all(problems))
            assert all(same(each.result, results[each.run]) for each in stored)
            counts.extend([len(stored), len(list(reader.lines(problems)))])

    thread = threading.Thread(target=read_all)
    thread.start()
    for i in range(0, 30, 3):
        store.add(entries[i : i + 3])
    stop.set()
    thread.join()
    assert problems == []
    assert counts == sorted(counts)
    assert len(store.stored_keys()) == 30
