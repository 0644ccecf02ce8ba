"""What the key of a run sees of the code: the library, imported modules, registered worlds, declared files."""

import base64
import hashlib
import importlib
import os
import shutil
import sys
import types
from pathlib import Path

import gymnasium
import pytest

import wanderlust as wl
from conftest import run_python
from wanderlust.core.errors import BadFile
from wanderlust.experiments.execute.ray_cluster import execute_batch
from wanderlust.experiments.run import files_to_send, library_hash, source_hash
from wanderlust.worlds import registry

PACKAGE = Path(wl.__file__).parent


def printed(expression: str, *folders: Path) -> str:
    """Return the value of an expression in a new process whose modules are first searched in some folders."""
    code = f"from wanderlust.experiments.run import library_hash, source_hash; print({expression})"
    path = os.pathsep.join(map(str, (*folders, PACKAGE.parent)))
    done = run_python(code, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_worker_uses_the_hash_of_the_driver_for_the_same_sources():
    """A release on the driver can be a folder of sources on a worker, with --ship-package."""
    run = wl.Run(world="toy", explorer="random", settings={"budget": 20})
    ((sealed, *_),) = execute_batch([(run.json, "")], None, "of the driver")
    assert sealed.key == run.key_with(("of the driver", "")) != run.key


def test_an_edited_formula_changes_the_hash_of_the_library(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "wanderlust", ignore=shutil.ignore_patterns("__pycache__", "static"))
    before = printed("library_hash()", tmp_path)
    assert before == library_hash() != ""
    edit(tmp_path / "wanderlust" / "studio" / "frames.py")
    assert printed("library_hash()", tmp_path) == before
    edit(tmp_path / "wanderlust" / "explorers" / "formulas.py")
    assert printed("library_hash()", tmp_path) != before


def test_an_installed_release_counts_by_its_version_until_it_is_edited(tmp_path):
    folder = tmp_path / "site-packages"
    shutil.copytree(PACKAGE, folder / "wanderlust", ignore=shutil.ignore_patterns("__pycache__", "static"))
    install(folder, "wanderlust", "0.1.0")
    assert printed("library_hash()", folder) == ""
    edit(folder / "wanderlust" / "core" / "planning.py")
    assert printed("library_hash()", folder) not in ("", library_hash())


def test_an_imported_distribution_counts_by_its_version(tmp_path):
    mine, folder = tmp_path / "mine", tmp_path / "site-packages"
    for name in (mine, folder):
        name.mkdir()
    (mine / "user_world.py").write_text("import module_of_the_distribution")
    (folder / "module_of_the_distribution.py").write_text("x = 1")
    install(folder, "the-distribution", "1.0")
    found = [printed("source_hash('user_world')", mine, folder)]
    edit(folder / "module_of_the_distribution.py")
    found.append(printed("source_hash('user_world')", mine, folder))
    shutil.rmtree(folder / "the_distribution-1.0.dist-info")
    install(folder, "the-distribution", "1.1")
    found.append(printed("source_hash('user_world')", mine, folder))
    assert found[0] == found[1] != found[2]


def test_code_without_a_file_is_not_found_again_once_it_is_defined_again(monkeypatch):
    notebook = types.ModuleType("notebook_module")
    monkeypatch.setitem(sys.modules, "notebook_module", notebook)
    found = []
    for _ in range(2):
        exec("class Mine: pass", vars(notebook))
        found += [source_hash("notebook_module") for _ in range(2)]
    assert found[0] == found[1] != found[2] == found[3] != ""


def test_what_is_registered_counts_by_the_module_of_its_factory_or_entry_point(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "factory_module.py"
    file.write_text("from wanderlust.worlds.paper_worlds import toy\n\ndef make():\n    return toy()\n")
    wl.register_world("mine-of-a-module", importlib.import_module("factory_module").make)
    spec = gymnasium.envs.registration.EnvSpec("EntryModule-v0", "factory_module:Env")
    monkeypatch.setitem(gymnasium.registry, "EntryModule-v0", spec)
    names = ["mine-of-a-module", "wanderlust/MineOfAModule-v0", "EntryModule-v0"]
    runs = [wl.Run(world=name, explorer="random", kind="environment") for name in names]
    runs.append(wl.Run(world="mine-of-a-module", explorer="random"))
    before = [run.key for run in runs]
    edit(file)
    assert all(wl.Run.from_json(run.json).key != key for run, key in zip(runs, before, strict=True))


def test_what_depends_on_names_must_be_files(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for text, named in (("depends_on = ['gone.csv']", "gone.csv"), ("NAME = 'x'\ndepends_on = [NAME]", "line 2")):
        (tmp_path / "wrongly_declared.py").write_text(text)
        with pytest.raises(BadFile, match=named):
            source_hash("wrongly_declared")


def test_declared_files_are_sent_to_workers_unless_they_are_elsewhere(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path / "code")
    for name, text in {"code/declares.py": "depends_on = ('inside.csv', '../outside.csv')", "code/inside.csv": "",
                       "outside.csv": ""}.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert set(files_to_send(["declares"])) == {"declares.py", "inside.csv"}
    before = source_hash("declares")
    edit(tmp_path / "outside.csv")
    assert source_hash("declares") != before


def edit(file: Path) -> None:
    file.write_text(file.read_text(encoding="utf-8") + "\n# edited\n", encoding="utf-8")


def install(folder: Path, name: str, version: str) -> None:
    """Write what an installer records of the files of a folder."""
    about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    lines = [
        f"{file.relative_to(folder).as_posix()},sha256={digest.decode().rstrip('=')},{file.stat().st_size}"
        for file in folder.rglob("*.py")
        if (digest := base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()))
    ]
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (about / "RECORD").write_text("\n".join(lines) + "\n")
