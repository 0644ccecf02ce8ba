"""Count the source files of which a command executes a function body: what a reader follows to understand it.

    python benchmarks/files_executed.py          counts
    python benchmarks/files_executed.py --list   the files, too

Each command runs in a process of its own, in an empty folder, with threads as workers. Class bodies, module bodies and
`__init__.py` do not count; neither does compiled code, which calls functions that a reader finds from its caller.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
CALL = "from wanderlust.cli.main import main; import sys; sys.argv = {!r}.split(); main()"
CODE = {
    "train": "import wanderlust as wl; wl.train('prison', 'vv-ucb', seed=1, steps=500)",
    "learn": (
        "import gymnasium as gym, wanderlust as wl; "
        "wl.learn(gym.make('FrozenLake-v1', is_slippery=False), 'vv-ucb', steps=300, seed=0)"
    ),
    "sweep": CALL.format("wanderlust sweep --world prison --explorer vv-ucb ucb1 --seeds 2 --set steps=300"),
    "reproduce recap": CALL.format("wanderlust reproduce recap --quick --worlds toy --explorers vv-ucb ucb1"),
    "exam": CALL.format("wanderlust exam ucb1 --families depth --levels 1 --seeds 1"),
}
TRACE = """
import atexit, sys, threading
files = set()
def trace(frame, event, argument):
    if event == "call" and frame.f_code.co_name != "<module>" and frame.f_code.co_flags & 2:  # not a class body
        files.add(frame.f_code.co_filename)
sys.setprofile(trace); threading.setprofile(trace)
atexit.register(lambda: (sys.setprofile(None), open({out!r}, "w").write("\\n".join(files))))
"""


def files_executed(code: str) -> list[str]:
    """Return the source files of which the code executes a function body."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "files.txt"
        script = TRACE.format(out=str(out)) + code
        environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{code}\n{done.stdout}{done.stderr}")
        names = out.read_text().splitlines()
        # Templates are compiled under the name of their file.
        files = {Path(name) for name in names if name.startswith(str(SOURCES)) and name.endswith(".py")}
    return sorted(str(file.relative_to(SOURCES)) for file in files if file.name != "__init__.py")


def main() -> None:
    """Print the counts."""
    for name, code in CODE.items():
        files = files_executed(code)
        print(f"{name:16} {len(files):3}")
        if "--list" in sys.argv:
            print(*(f"    {file}" for file in files), sep="\n")


if __name__ == "__main__":
    main()
