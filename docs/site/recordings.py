"""The recorded runs that the site embeds: pages written by `wanderlust studio --export`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import wanderlust

RECORDINGS = {
    "prison": ("prison", "--explorers", "epsilon-greedy", "vv-ucb"),
    "deep-gridworld": ("deep-gridworld", "--explorers", "ucb1", "vv-ucb"),
}
"""[name of the page]: the arguments of the command."""
PACKAGE = Path(wanderlust.__file__).parent


def write_recordings(folder: Path) -> None:
    """Write every recorded page that is missing or older than the code."""
    folder.mkdir(parents=True, exist_ok=True)
    newest = max(file.stat().st_mtime for file in PACKAGE.rglob("*") if file.suffix in (".py", ".js", ".css", ".html"))
    for name, arguments in RECORDINGS.items():
        file = folder / f"{name}.html"
        if not file.exists() or file.stat().st_mtime < newest:
            command = [sys.executable, "-m", "wanderlust", "studio", *arguments, "--export", str(file)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
