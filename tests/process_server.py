"""Starts processes that run Python code, quickly: they are forked from a process that has imported everything."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import wanderlust as wl

WARM_UP = """
import contextlib, importlib, io, json, os, pkgutil, signal, sys, traceback
import gymnasium as gym
import matplotlib.backends.backend_agg, matplotlib.figure
import wanderlust as wl
import wanderlust.cli, wanderlust.environments.bins, wanderlust.exams.exam, wanderlust.experiments.report
for package in (wanderlust.cli, wanderlust.experiments.report):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
for explorer in ("vv-ucb", "epsilon-greedy", "bootstrapped", "random"):
    wl.train("toy", explorer, steps=9)
    wl.evaluate(wl.learn("FrozenLake-v1", explorer, steps=50, save=sys.argv[1] + "/warm-up.npz", quiet=True))
wl.learn("FrozenLake-v1", resume=sys.argv[1] + "/warm-up.npz", steps=60, quiet=True)
wl.make_world("toy").draw().savefig(io.BytesIO())
with contextlib.redirect_stdout(io.StringIO()):
    wanderlust.cli.watch.watch("toy", steps=2)
"""

SERVER = (
    WARM_UP
    + '''
def run(folder, code):
    """Run code as a new interpreter would; its output goes to files."""
    # Processes that a shell starts in the background ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(folder)
    for name, stream in (("out.txt", 1), ("err.txt", 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    status = 0
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
        exec(code, {"__name__": "__main__"})
    except SystemExit as error:
        status = error.code
    except BaseException:
        traceback.print_exc()
        status = 1
    if isinstance(status, str):
        print(status, file=sys.stderr)
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)


BLOCKED = {signal.SIGINT, signal.SIGTERM}
print("ready", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if isinstance(request, int):
        answer = os.waitstatus_to_exitcode(os.waitpid(request, 0)[1])
    else:
        # A signal that comes before the code runs waits for it.
        signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
        answer = os.fork()
        if answer == 0:
            run(*request)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, BLOCKED)
    print(answer, flush=True)
'''
)


class ProcessServer:
    """Starts processes and waits for them."""

    def __init__(self):
        self._running = set()
        self._folder = tempfile.TemporaryDirectory()
        environment = {
            **os.environ,
            "PYTHONPATH": str(Path(wl.__file__).parents[1]),
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONUTF8": "1",
            "COLUMNS": "150",
        }
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER, self._folder.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        assert self._server.stdout.readline() == "ready\n"

    def _ask(self, request):
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def start(self, folder, code):
        """Start a process that runs code in a folder; return its id."""
        process = self._ask([str(folder), code])
        self._running.add(process)
        return process

    def start_command(self, folder, *words, before=""):
        """Start `wanderlust` with these arguments, after some other code; return the id of the process."""
        words = ["wanderlust", *map(str, words)]
        code = f"import os, sys; sys.argv = {words!r}\n{before}\nimport wanderlust.cli.main as m; m.main()"
        return self.start(folder, code)

    def in_terminal(self, folder, *words, react=lambda process, terminal, text: None, **environment):
        """Run `wanderlust` in a terminal of its own; return its exit code and all that it printed.

        `react` is called with the process, our end of the terminal and the text so far.
        """
        ours, theirs = os.openpty()
        # Opened by its name, as the server does not have it; the first byte says that it is open.
        before = f"for i in range(3): os.dup2(os.open({os.ttyname(theirs)!r}, os.O_RDWR), i)\n"
        before += "sys.stdin, sys.stdout, sys.stderr = open(0), open(1, 'w'), open(2, 'w')\n"
        before += f"os.environ |= {environment!r}\nos.write(1, b' ')"
        process, text = self.start_command(folder, *words, before=before), ""
        text += os.read(ours, 1).decode()
        os.close(theirs)
        with contextlib.suppress(OSError):  # Raised when the process has ended.
            while piece := os.read(ours, 65536):
                text += piece.decode(errors="replace")
                react(process, ours, text)
        os.close(ours)
        return self.wait(process), text

    def run(self, folder, code):
        """Run code in a folder; return the exit code of the process, its output and its errors."""
        status = self.wait(self.start(folder, code))
        return status, *((Path(folder) / name).read_text(encoding="utf-8") for name in ("out.txt", "err.txt"))

    def run_script(self, file, folder, *words, before=""):
        """Run a script in a folder with warnings as errors, after some other code."""
        code = f"import runpy, sys, warnings; warnings.simplefilter('error'); sys.argv = {[str(file), *words]!r}\n"
        code += f"{before}import matplotlib; matplotlib.use('agg')\nrunpy.run_path({str(file)!r}, run_name='__main__')"
        return self.run(folder, code)

    def command(self, folder, *words, code=0, before=""):
        """Run `wanderlust` with these arguments; return its output and errors."""
        status = self.wait(self.start_command(folder, *words, before=before))
        printed = "".join((Path(folder) / name).read_text(encoding="utf-8") for name in ("out.txt", "err.txt"))
        assert status == code, printed
        assert "Traceback" not in printed
        return printed

    def wait(self, process):
        """Return the exit code of a process, negative for a signal."""
        self._running.remove(process)
        return self._ask(process)

    def close(self):
        """End the processes that no test has waited for, and the server."""
        for process in self._running:
            os.kill(process, signal.SIGKILL)
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()
        self._folder.cleanup()


def wait_until(condition, seconds=120):
    """Wait until a condition holds; fail if it takes longer."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this takes too long"
        time.sleep(0.005)


def send(process, number=signal.SIGINT):
    """Send a signal to a process that was started and not waited for."""
    os.kill(process, number)
