"""The wheel that users install has the files that are not Python: without them the studio would have no page."""

from __future__ import annotations

import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"


def test_the_wheel_contains_every_file_of_the_package(tmp_path: Path) -> None:
    (file,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(file) as wheel:
        packed = {name: wheel.getinfo(name).file_size for name in wheel.namelist() if name.startswith("wanderlust/")}
    files = [path for path in (SOURCES / "wanderlust").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert packed == {path.relative_to(SOURCES).as_posix(): path.stat().st_size for path in files}
    page = "wanderlust/studio/static/"
    assert {f"{page}index.html", f"{page}main.js", f"{page}studio.css"} <= packed.keys()
