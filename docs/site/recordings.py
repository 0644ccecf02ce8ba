"""The pages of the studio that the site has: recorded runs, and the lessons, which a browser executes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import wanderlust

RECORDINGS = {
    "prison": ("prison", "--explorers", "epsilon-greedy", "vv-ucb", "--export"),
    "deep-gridworld": ("deep-gridworld", "--explorers", "ucb1", "vv-ucb", "--export"),
    "studio": ("--static",),
}
"""[name of the page]: the arguments of the command."""
PACKAGE = Path(wanderlust.__file__).parent


def write_recordings(folder: Path) -> None:
    """Write every recorded page that is missing or older than the code."""
    folder.mkdir(parents=True, exist_ok=True)
    suffixes = (".py", ".js", ".css", ".html", ".toml")
    newest = max(file.stat().st_mtime for file in PACKAGE.rglob("*") if file.suffix in suffixes)
    for name, arguments in RECORDINGS.items():
        file = folder / f"{name}.html"
        if not file.exists() or file.stat().st_mtime < newest:
            command = [sys.executable, "-m", "wanderlust", "studio", *arguments, str(file)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
