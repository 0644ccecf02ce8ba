"""Use the wheel as a newcomer would: build it, install it outside of the repository, and try it. `make try-wheel`.

The source distribution is built from the clone, and the wheel from the source distribution. In a new environment and an
empty folder: the README's Python, the commands, what a command says if an extra is missing, the studio. An agent saved
there must give the same actions in the clone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from pathlib import Path

from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

CLONE = Path(__file__).resolve().parents[1]
PAPER = "reproduce recap --quick --worlds toy prison --explorers vv-ucb random --seeds 2"
COMMANDS = (
    "--version",
    "train FrozenLake-v1 --env is_slippery=false --steps 1000 --seed 1 --save agent.npz --quiet",
    "evaluate agent.npz",
    "compare FrozenLake-v1 --env map_name=8x8 is_slippery=false --explorers ucb1 vv-ucb --steps 2000 --seeds 2 --quiet",
    PAPER,
)
MISSING = {
    "studio --no-browser": "wanderlust[studio]",
    "sweep --world toy --explorer random --set steps=100 --seeds 1 --out sweeps --on ray": "wanderlust[ray]",
    "results results --to runs.parquet": "wanderlust[dataframes]",
    "train FrozenLake-v1 --steps 100 --tensorboard events": "wanderlust[tensorboard]",
    "train MiniGrid-Empty-5x5-v0 --steps 100": "wanderlust[minigrid]",
}
"""[a command]: the extra that it needs, and names."""
ACTIONS = "import wanderlust as wl; a = wl.Agent.load('agent.npz'); print([a.predict(s) for s in range(16)])"


class Trial:
    """A new environment and an empty folder in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.place, self.bin = folder / "newcomer", folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        self.place.mkdir()
        self.variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(self, *words: str | Path, code: int = 0) -> str:
        """Run a program; return its output, or end this script if its exit code is another one."""
        begin = time.monotonic()
        done = subprocess.run(
            list(map(str, words)), cwd=self.place, env=self.variables, encoding="utf-8", errors="replace", check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900,
        )  # fmt: skip
        shown = " ".join([Path(words[0]).name, *map(str, words[1:])])
        print(f"{time.monotonic() - begin:5.0f} s  {shown if len(shown) < 120 else shown[:117] + '...'}", flush=True)
        if done.returncode != code:
            sys.exit(f"exit code {done.returncode} instead of {code}:\n{done.stdout}")
        return done.stdout

    def wanderlust(self, command: str, code: int = 0) -> str:
        """Run a command of the installed wheel."""
        return self.run(self.bin / "wanderlust", *command.split(), code=code)

    def open_studio(self) -> None:
        """Start the studio, and load its page with the token of the address that it prints."""
        words = [str(self.bin / "wanderlust"), "studio", "--no-browser"]
        with subprocess.Popen(words, cwd=self.place, env=self.variables, text=True, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            try:
                address = next((found[0] for line in server.stdout if (found := re.search(r"http://\S+", line))), None)
                if address is None:
                    sys.exit("the studio printed no address.")
                # The token of the address becomes a cookie at the first visit.
                browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
                with browser.open(address, timeout=60) as page:
                    text = page.read().decode()
            finally:
                server.terminate()
        check("<title>" in text and "main.js" in text, f"the page of the studio is {text[:200]!r}")
        print("         studio: its page was loaded", flush=True)


def check(condition: object, sentence: str) -> None:
    """End this script with a sentence unless a condition holds."""
    if not condition:
        sys.exit(sentence)


def build(folder: Path) -> Path:
    """Build the source distribution from the clone and the wheel from the source distribution."""
    (source,) = SdistBuilder(str(CLONE)).build(directory=str(folder), versions=["standard"])
    with tarfile.open(source) as archive:
        archive.extractall(folder / "source", filter="data")
    (unpacked,) = (folder / "source").iterdir()
    (wheel,) = WheelBuilder(str(unpacked)).build(directory=str(folder), versions=["standard"])
    for file in map(Path, (source, wheel)):
        print(f"         {file.name}: {file.stat().st_size / 1e6:.2f} MB")
    return Path(wheel)


def main() -> None:
    """Build, install, try."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trial = Trial(folder)
        wheel = build(folder)
        trial.run(sys.executable, "-m", "venv", folder / "env")
        python = trial.bin / "python"
        install = (python, "-m", "pip", "install", "--quiet", "--no-compile")
        trial.run(*install, wheel)

        snippets = re.findall(r"```python\n(.*?)```", (CLONE / "README.md").read_text(encoding="utf-8"), flags=re.S)
        (trial.place / "readme.py").write_text("\n".join(snippets), encoding="utf-8")
        trial.run(python, "readme.py")
        where = trial.run(python, "-c", "import wanderlust, wanderlust_paper; print(wanderlust.__file__)")
        check(str(folder) in where, f"wanderlust was imported from {where}, not from the wheel.")
        outputs = {command: trial.wanderlust(command) for command in COMMANDS}
        check(wheel.name.split("-")[1] in outputs["--version"], f"--version prints {outputs['--version']!r}.")
        check("of 16 cells" in outputs[PAPER], f"reproduce prints {outputs[PAPER]!r}.")
        for command, extra in MISSING.items():
            text = trial.wanderlust(command, code=2)
            check(extra in text, f"wanderlust {command} must name {extra}, but prints {text!r}.")

        here, in_clone = trial.run(python, "-c", ACTIONS), trial.run(sys.executable, "-c", ACTIONS)
        check(here == in_clone, f"an agent of the wheel differs in the clone: {here!r}, {in_clone!r}.")
        trial.run(*install, f"{wheel}[studio]")
        trial.open_studio()


if __name__ == "__main__":
    main()
