"""Interrupted training loses nothing: signals and kills at random moments of real processes."""

import contextlib
import os
import random
import re
import shlex
import signal
import sys
import threading
import time

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import settings

import wanderlust as wl
from process_server import send, wait_until
from wanderlust.experiments.store import Store
from wanderlust.training.learn import SIGNALS

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

STEPS = 1_000
BUDGET = 10**6
"""More steps than any process takes before it is interrupted."""
LAKE = "FrozenLake-v1"
COMMAND = ("train", LAKE, "--steps", BUDGET, "--quiet", "--log", "log.csv")


@pytest.fixture(scope="module")
def whole():
    """Return a function that trains without interruption."""
    trained = {}

    def train(explorer="vv-ucb", *, steps=STEPS, budget=STEPS):
        key = (explorer, steps, budget)
        if key not in trained:
            trained[key] = wl.learn(LAKE, explorer, steps=steps, budget=budget, quiet=True)
        return trained[key]

    return train


def assert_identical(one, other):
    """Fail unless two agents are bit-identical."""
    n = one.env.n_states
    assert one.steps == other.steps
    assert one.reward_range == other.reward_range
    assert [one.env.key_of(state) for state in range(n)] == [other.env.key_of(state) for state in range(n)]
    for name in ("streams", "notes"):
        assert np.array_equal(getattr(one.learner, name), getattr(other.learner, name)), name
    assert np.array_equal(one.visits[:n], other.visits[:n])
    for name, table in one.tables.items():
        assert np.array_equal(table[..., :n, :], other.tables[name][..., :n, :]), name


def assert_resumable(path, expected):
    """Fail unless training that continues from a file is identical to training that was not interrupted."""
    assert_identical(wl.learn(LAKE, resume=path, steps=expected.steps, quiet=True), expected)


def wait_for_rows(log, count):
    """Wait until a process has written a number of lines to its log."""
    wait_until(lambda: log.exists() and log.read_bytes().count(b"\n") >= count)


def folders(tmp_path):
    """Yield new folders, one for each random moment; `make fuzz` has ten times as many."""
    for i in range(settings().max_examples // 8):
        (tmp_path / str(i)).mkdir()
        yield tmp_path / str(i)


IN_A_CALLBACK = """
import os, signal, time, weakref

class Module:
    pass

def make():
    names, code = {"os": os, "signal": signal}, "def cb(_): os.kill(os.getpid(), signal.SIGTERM); sum([])"
    exec(compile(code, "<frozen importlib._bootstrap>", "exec"), names)
    module = Module()
    reference = weakref.ref(module, names["cb"])
    del module
    time.sleep(600)
"""


def test_a_signal_in_a_callback_of_an_import_is_not_lost(processes, tmp_path):
    (tmp_path / "own_lake.py").write_text(IN_A_CALLBACK)
    process = processes.start_command(tmp_path, "train", "own_lake:make", "--steps", "100")
    assert processes.wait(process) == 128 + signal.SIGTERM
    assert "Traceback" not in (tmp_path / "err.txt").read_text()


# --- Random moments --------------------------------------------------------------------------------------


@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("explorer", "number", "save"),
    [("vv-ucb", signal.SIGINT, True), ("bootstrapped", signal.SIGINT, False), ("vv-ucb", signal.SIGTERM, False)],
)
def test_command_interrupted_at_random_moments(processes, whole, explorer, number, save, tmp_path):
    """Every run continues, bit for bit, from the file that the message names."""
    words = [*COMMAND, "--explorer", explorer, *(["--save", "agent.npz"] if save else [])]
    moments, saved = random.Random(f"{explorer} {number} {save}"), 0
    expected = "agent.npz" if save else f"{LAKE}-unfinished.npz"
    for folder in folders(tmp_path):
        process = processes.start_command(folder, *words)
        if moments.random() < 0.8:  # Otherwise, while it starts.
            wait_for_rows(folder / "log.csv", moments.choice((1, 2, 5)))
        time.sleep(moments.uniform(0.0, 0.1))
        send(process, number)
        code, message = processes.wait(process), (folder / "err.txt").read_text()
        assert "Traceback" not in message
        if "is saved in" not in message:  # Before the first step.
            assert code in (128 + number, -number)
            assert not list(folder.glob("*.npz"))
            continue
        assert code == 128 + number
        assert f"saved in {expected}; continue with --resume {expected}: wanderlust train {LAKE} " in message
        assert [path.name for path in folder.glob("*.npz")] == [expected]
        steps = (wl.Agent.load(folder / expected).steps // STEPS + 1) * STEPS
        assert_resumable(folder / expected, whole(explorer, steps=steps, budget=BUDGET))
        saved += 1
    assert saved


@pytest.mark.fuzz
def test_killed_command_loses_at_most_the_steps_since_the_checkpoint(processes, whole, tmp_path):
    """Kill -9, a row that was cut off, resume: the agent and the log are those of uninterrupted training."""
    moments, name = random.Random(0), "agent.npz"
    for folder in folders(tmp_path):
        process = processes.start_command(folder, *COMMAND, "--save", name, "--checkpoint-every", 50)
        wait_for_rows(folder / "log.csv", 8)
        wait_until((folder / name).exists)
        time.sleep(moments.uniform(0.0, 0.1))
        send(process, signal.SIGKILL)
        assert processes.wait(process) == -signal.SIGKILL
        logged = (folder / "log.csv").read_bytes()
        last_step = int(logged.splitlines()[-1].split(b",")[0])
        assert last_step - wl.Agent.load(folder / name).steps < 50
        steps = (last_step // STEPS + 1) * STEPS
        (folder / "log.csv").write_bytes(logged + b"99")  # As if the process had been killed within a row.
        resumed = ("--steps", steps, "--resume", name, "--save", "resumed.npz", "--episodes", 1)
        assert processes.wait(processes.start_command(folder, *COMMAND, *resumed)) == 0
        for file in ("resumed.npz", name):
            assert_resumable(folder / file, whole(steps=steps, budget=BUDGET))
        wl.learn(LAKE, steps=steps, budget=BUDGET, callbacks=[wl.CsvLog(folder / "whole.csv")], quiet=True)
        assert (folder / "log.csv").read_bytes() == (folder / "whole.csv").read_bytes()


def test_printed_command_continues(processes, tmp_path):
    """Hang up the training, then run the command that the message contains."""
    words = ["train", LAKE, "--env", "is_slippery=true", "--steps", 10**6, "--log", "my log.csv"]
    default = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    process = processes.start_command(tmp_path, *words, before=default)
    wait_for_rows(tmp_path / "my log.csv", 20)
    send(process, signal.SIGHUP)
    assert processes.wait(process) == 128 + signal.SIGHUP
    command = re.search(r"--resume \S+: (wanderlust train .*)\n", (tmp_path / "err.txt").read_text())[1]
    assert f"{LAKE}-unfinished.npz" in command
    done = wl.Agent.load(tmp_path / f"{LAKE}-unfinished.npz").steps
    again = shlex.split(command.replace(str(10**6), str(done + 100)))
    assert f"{done + 100:,} steps" in processes.command(tmp_path, *again[1:])


def test_rescue_files_never_replace_a_file(processes, tmp_path):
    """Four processes in one folder, terminated at once, next to an earlier file."""
    first = tmp_path / f"{LAKE}-unfinished.npz"
    first.write_bytes(b"mine")
    logs = [tmp_path / f"{seed}.csv" for seed in range(4)]
    started = [processes.start_command(tmp_path, *COMMAND, "--seed", log.stem, "--log", log) for log in logs]
    for log in logs:
        wait_for_rows(log, 3)
    for process in started:
        send(process, signal.SIGTERM)
    assert [processes.wait(process) for process in started] == [143] * 4
    assert first.read_bytes() == b"mine"
    saved = [wl.Agent.load(tmp_path / f"{LAKE}-unfinished-{number}.npz") for number in range(2, 6)]
    assert sorted(agent.seed for agent in saved) == [0, 1, 2, 3]
    assert len(list(tmp_path.glob("*.npz"))) == 5


# --- Chosen moments ------------------------------------------------------------------------------------


class Interrupting(gym.Wrapper):
    """Sends signals to its own process in one call of `step` or `reset`."""

    def __init__(self, *, step=None, reset=None, signals=(signal.SIGINT,)):
        super().__init__(gym.make(LAKE))
        self.interrupted_step, self.interrupted_reset, self.signals = step, reset, signals
        self.steps = self.resets = 0

    def step(self, action):
        self.steps += 1
        result = super().step(action)
        if self.steps == self.interrupted_step:
            self.send()
        return result

    def reset(self, **options):
        self.resets += 1
        result = super().reset(**options)
        if self.resets == self.interrupted_reset:
            self.send()
        return result

    def send(self):
        for number in self.signals:
            signal.raise_signal(number)


@pytest.fixture(autouse=True)
def default_handler():
    """Processes that a shell starts in the background ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("count", "where"),
    [*((1, {name: n}) for name, n in (("step", 1), ("step", 200), ("step", STEPS), ("reset", 1), ("reset", 5))),
     (2, {"step": 200}), (2, {"reset": 5})],
)  # fmt: skip
def test_the_first_interrupt_waits_for_the_step_and_the_second_does_not(count, where, whole, tmp_path):
    """The call of the environment that a second one interrupts is undone, so that the agent can be saved."""
    env, path = Interrupting(**where, signals=(signal.SIGINT,) * count), tmp_path / "a.npz"
    with pytest.raises(KeyboardInterrupt) as caught:
        wl.learn(env, steps=STEPS, save=path, quiet=True)
    saved = wl.Agent.load(path).steps
    assert saved == (caught.value.agent.steps if count == 1 else env.steps - ("step" in where))
    assert count == 2 or saved == where.get("step", saved)
    assert_identical(wl.learn(Interrupting(), resume=path, steps=STEPS, quiet=True), whole())


@contextlib.contextmanager
def interrupts_in(function, *, at_call, count):
    """Send interrupts to this process at one call of a function."""
    calls = 0

    def profile(frame, event, argument):
        nonlocal calls
        if event == "call" and frame.f_code.co_name == function and "wanderlust" in frame.f_code.co_filename:
            calls += 1
            if calls == at_call:
                for _ in range(count):
                    signal.raise_signal(signal.SIGINT)

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize(
    ("function", "count", "saved"),
    [
        *((name, 1, None) for name in ("act", "observe", "on_step", "deliver")),
        *((name, 2, 199) for name in ("act", "_transition")),
        *((name, 2, 140) for name in ("_adapt", "observe")),
    ],
)
def test_interrupts_anywhere_in_a_step(function, count, saved, whole, tmp_path):
    """While the agent learns, a second interrupt leaves the previous checkpoint; no file is of half a step."""
    path = tmp_path / "a.npz"
    with pytest.raises(KeyboardInterrupt) as caught, interrupts_in(function, at_call=200, count=count):
        wl.learn(Interrupting(), steps=STEPS, callbacks=[wl.Checkpoint(path, every=70)], quiet=True)
    assert wl.Agent.load(path).steps == (saved or caught.value.agent.steps)
    notes = getattr(caught.value, "__notes__", [])
    assert any("earlier checkpoints are unchanged" in note for note in notes) == (saved == 140)
    assert_identical(wl.learn(Interrupting(), resume=path, steps=STEPS, quiet=True), whole())


@pytest.mark.parametrize("step", [20, 50])
def test_user_defined_handlers_run_between_steps(step):
    """A handler that returns does not stop training, and handlers are restored; 50 is the last step."""
    received, loops = [], []

    class Observes(wl.Callback):
        def on_start(self, loop):
            loops.append(loop)

    def handler(number, frame):
        received.append((number, loops[0].step, loops[0].between_steps))

    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        env = Interrupting(step=step, signals=(signal.SIGTERM,))
        assert wl.learn(env, steps=50, callbacks=[Observes()], quiet=True).steps == 50
        assert received == [(signal.SIGTERM, step, True)]
        assert all(signal.getsignal(number) is handler for number in SIGNALS)
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def test_other_signals_and_threads_are_left_alone(whole):
    trained, before = [], signal.signal(signal.SIGTERM, signal.SIG_DFL)  # Ray, from another test, handles it.

    class Handlers(wl.Callback):
        def on_step(self, loop):
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
            if threading.current_thread() is not threading.main_thread():
                assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def train():
        trained.append(wl.learn(LAKE, steps=STEPS, callbacks=[Handlers()], quiet=True))

    train()
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    signal.signal(signal.SIGTERM, before)
    assert len(trained) == 2
    for agent in trained:
        assert_identical(agent, whole())


def test_ignored_interrupts_stay_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert wl.learn(Interrupting(step=20), steps=50, quiet=True).steps == 50
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# --- Logs ----------------------------------------------------------------------------------------------


def test_log_on_a_full_disk(processes, tmp_path):
    """A limit of the file size has the same effect. The agent is saved, and no row is lost."""
    code = f"""
import resource
import wanderlust as wl
resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.RLIM_INFINITY))
class NoLimit(wl.Callback):
    def on_end(self, loop):
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
wl.learn({LAKE!r}, steps=400, callbacks=[NoLimit(), wl.CsvLog("log.csv")], save="a.npz", quiet=True)
"""
    assert processes.wait(processes.start(tmp_path, code)) == 1
    assert "log.csv: cannot be written (File too large)" in (tmp_path / "err.txt").read_text()
    log = tmp_path / "log.csv"
    wl.learn(LAKE, resume=tmp_path / "a.npz", steps=400, callbacks=[wl.CsvLog(log)], quiet=True)
    wl.learn(LAKE, steps=400, callbacks=[wl.CsvLog(tmp_path / "whole.csv")], quiet=True)
    assert log.read_text() == (tmp_path / "whole.csv").read_text()


def test_an_interrupted_exam_keeps_its_runs_and_says_what_is_missing(processes, tmp_path):
    words = ("exam", "vv-ucb", "--families", "tv", "chain", "--seeds", "30", "--quiet")
    process = processes.start_command(tmp_path, *words)
    wait_until(lambda: Store(tmp_path / "results").stored_keys())
    send(process)
    assert processes.wait(process) == 130
    assert "finished runs are stored, the same command continues." in (tmp_path / "err.txt").read_text()
    stored = len(Store(tmp_path / "results").stored_keys())
    assert 0 < stored < 240
    assert processes.wait(processes.start_command(tmp_path, "report", "results")) == 0
    assert f"Incomplete: {240 - stored} runs not executed yet" in (tmp_path / "out.txt").read_text()
