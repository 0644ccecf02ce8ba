"""What users download: the wheel has the whole package, the source distribution the tests; both are small."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import wanderlust as wl

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
MEGABYTE = 1_000_000


def test_the_wheel_contains_every_file_of_the_packages_and_no_other(tmp_path: Path) -> None:
    (file,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    assert Path(file).stat().st_size <= MEGABYTE
    with zipfile.ZipFile(file) as wheel:
        packed = {each.filename: each.file_size for each in wheel.infolist()}
    files = [path for path in SOURCES.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    metadata = f"wanderlust-{wl.__version__}.dist-info/"
    described = {name for name in packed if name.startswith(metadata)}
    assert {f"{metadata}METADATA", f"{metadata}entry_points.txt", f"{metadata}licenses/LICENSE"} <= described
    in_packages = {name: size for name, size in packed.items() if name not in described}
    assert in_packages == {path.relative_to(SOURCES).as_posix(): path.stat().st_size for path in files}
    page = "wanderlust/studio/static/"
    assert {f"{page}index.html", f"{page}main.js", f"{page}studio.css"} <= packed.keys()


def test_the_source_distribution_has_what_the_tests_need(tmp_path: Path) -> None:
    (file,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    assert Path(file).stat().st_size <= 6 * MEGABYTE
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for folder in ("tests", "benchmarks", "examples", ".ci", ".github"):
        made = {"__pycache__", "node_modules", "package-lock.json", "build"}  # Ignored by git.
        committed = {path for path in (ROOT / folder).rglob("*") if path.is_file() and not made & {*path.parts}}
        assert {path.relative_to(ROOT).as_posix() for path in committed} <= names
    assert {"docs/index.md", "docs/results/scorecard.json", "pyproject.toml", "Makefile", "CITATION.cff"} <= names
