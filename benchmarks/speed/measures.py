"""The measurements, in the order of the table. Each takes `quick` and yields its results."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import gymnasium

from speed.peers import peers
from speed.plain_numpy import against_numpy
from speed.result import (
    MICRO,
    NANO,
    Results,
    Skipped,
    absolute_time,
    median_times,
    relative_time,
    shortest_times,
    speedup,
)
from speed.sweeps import active_against_dense, deep_sea, minibatches, sweep_against_stream
from wanderlust.agents.agent import Agent
from wanderlust.agents.session import Session, train
from wanderlust.experiments.execute.driver import RunSummary
from wanderlust.experiments.store import PACK_RUNS, Sealed, Store, seal
from wanderlust.experiments.sweep import Sweep
from wanderlust.experiments.table import Results as StoredResults
from wanderlust.learning.state import LearnerState, Outcomes, copied
from wanderlust.training.learn import learn
from wanderlust.worlds import World, make_world

_FIRST_STEP = "import wanderlust as wl; wl.train('prison', 'vv-ucb', steps=1)"
_SECOND_EXPLORER = f"""
import time
{_FIRST_STEP}
begin = time.perf_counter()
wl.train('prison', 'vv-count', steps=1)
print(time.perf_counter() - begin)
"""


def n_bytes(learner: LearnerState) -> int:
    """Return the size of all arrays."""
    arrays = [array for array in learner if not isinstance(array, Outcomes)]
    return sum(int(array.nbytes) for array in [*arrays, *learner.outcomes])


def run_python(arguments: list[str], **environment: str) -> tuple[float, str]:
    """Return the time and the output of a new Python process."""
    command, variables = [sys.executable, *arguments], {**os.environ, **environment}
    begin = time.perf_counter()
    done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    return time.perf_counter() - begin, done.stdout


def wall_like(side: int) -> World:
    """Return a square world like `wall`, with a small treasure near the start and a large one far away."""
    rows = [["."] * side for _ in range(side)]
    for i in range(side - 4):
        rows[side - 4][i] = "#"
    middle = side // 2
    rows[middle][middle], rows[middle - 3][middle - 1], rows[side - 1][0] = "S", "A", "B"
    text = "\n".join("".join(row) for row in rows)
    legend = "A = treasure 3\nB = treasure 10000\nstep = -0.01"
    return make_world(f"{text}\n\n{legend}\n", name=f"wall {side}x{side}", horizon=330, budget=100_000)


def growth(quick: bool) -> Results:
    """Measure the time per step in worlds of growing size."""
    sides = (25, 50, 100) if quick else (25, 50, 100, 200, 400)
    steps, repeats = 10_000, 20
    sessions = [Session(wall_like(side), "epsilon-greedy", seed=1, epsilon_start=0.1, steps=400_000) for side in sides]
    for session in sessions:
        session.advance(200_000)
    shortest = shortest_times(repeats, *(partial(_advance, session, steps) for session in sessions))
    times = {side: NANO * t / steps for side, t in zip(sides, shortest, strict=True)}
    line = relative_time(
        f"world size from {sides[0]}² to {sides[-1]}², ε-greedy with converged Q",
        times[sides[-1]],
        times[sides[0]],
        1.5,
        unit="ns/step",
        note=", ".join(f"{side}²: {t:.0f} ns" for side, t in times.items()),
    )
    yield replace(line, points=tuple((float(side**2), t) for side, t in times.items()))
    points, notes, times_per_pair = [], [], []
    for depth in (50, 100) if quick else (50, 100, 200):
        # First visit every state, so that sweeps of the full table are timed.
        first_steps, steps, repeats = 40 * depth**2, 500, 10
        session = Session(make_world("deep-sea", depth=depth), "vv-ucb", seed=1, steps=first_steps + repeats * steps)
        session.advance(first_steps)
        t = shortest_times(repeats, partial(_advance, session, steps))[0] / steps
        n_pairs = int(session.agent.learner.counters.n_states) * session.agent.spec.n_actions
        size = n_bytes(copied(session.agent.learner, session.agent.spec))
        points.append((float(n_pairs), NANO * t))
        times_per_pair.append(NANO * t / n_pairs)
        notes.append(f"N={depth}: {n_pairs:,} pairs, {MICRO * t:.1f} µs, {size / 2**20:.1f} MiB")
    name = "deep-sea, vv-ucb, time per step and visited pair, maximum over depths N"
    line = absolute_time(name, max(times_per_pair), 1.5, unit="ns/pair", note="; ".join(notes))
    yield replace(line, points=tuple(points))


def _advance(session: Session, steps: int) -> None:
    session.advance(session.step + steps)


def step_by_step(quick: bool) -> Results:
    """Compare a step-by-step agent with a fused run."""
    wall, steps = make_world("wall"), 5_000 if quick else 20_000
    record = train(wall, "epsilon-greedy", seed=1, steps=steps, keep_trajectory=True)
    transitions = [
        (s, a, float(wall.mdp.reward[s, a, 0]), int(wall.mdp.next_state[s, a, 0]), bool(wall.mdp.terminal[s, a, 0]))
        for s, a in zip(record.states.tolist(), record.actions.tolist(), strict=True)
    ]

    def replay_transitions() -> None:
        agent = Agent.for_world(wall, "epsilon-greedy", seed=1)
        for s, a, r, s2, terminated in transitions:
            agent.act(s)
            agent.observe(s, a, r, s2, terminated)

    replay_transitions()
    agent, fused = shortest_times(3, replay_transitions, lambda: train(wall, "epsilon-greedy", seed=1, steps=steps))
    name = "step-by-step Agent on wall (act and observe), in addition to the fused step"
    yield absolute_time(name, MICRO * (agent - fused) / steps, 15, unit="µs/step")


def learning(quick: bool) -> Results:
    """Compare `learn` in Gymnasium environments with a loop that takes random actions in them."""
    steps, repeats = (10_000, 3) if quick else (20_000, 7)
    times = {}
    for name in ("FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"):
        learn(name, "vv-ucb", steps=100, seed=1, sweeps=1, quiet=True)
        ours = partial(learn, name, "vv-ucb", steps=steps, seed=1, sweeps=1, quiet=True)
        times[name] = shortest_times(repeats, ours, partial(random_steps, name, steps))
    slowest, (ours_time, reference) = max(times.items(), key=lambda item: item[1][0] / item[1][1])
    yield relative_time(
        "learn with vv-ucb and sweeps=1 against random actions in the same environment, maximum over 3 environments",
        MICRO * ours_time / steps,
        MICRO * reference / steps,
        1.8,
        unit="µs/step",
        note=", ".join(f"{name}: {ours / bare:.2f}×" for name, (ours, bare) in times.items()) + f"; times of {slowest}",
    )


def random_steps(name: str, steps: int) -> None:
    """Take random actions in a Gymnasium environment."""
    env = gymnasium.make(name)
    env.reset(seed=1)
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()


def startup(quick: bool) -> Results:
    """Measure first uses in new processes."""
    empty, filled, second = [], [], []
    for _ in range(1 if quick else 2):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
            first, *others = (run_python(["-c", _FIRST_STEP], WANDERLUST_CACHE_DIR=folder)[0] for _ in range(4))
            empty.append(first)
            filled += others
            second.append(float(run_python(["-c", _SECOND_EXPLORER], WANDERLUST_CACHE_DIR=other)[1]))
    yield absolute_time("first step of an explorer in a new process, nothing cached", min(empty), 15, unit="s")
    yield absolute_time("first step of an explorer in a new process, everything cached", min(filled), 1.5, unit="s")
    name = "first step of a second explorer in one process, nothing of it cached"
    yield absolute_time(name, min(second), 3, unit="s")
    help_time = min(run_python(["-m", "wanderlust", "--help"])[0] for _ in range(3))
    yield absolute_time("wanderlust --help", help_time, 0.5, unit="s")


def threads(quick: bool) -> Results:
    """Compare two threads with one, over several seeds."""
    wall, n_seeds, steps = make_world("wall"), 8, 30_000 if quick else 100_000
    train(wall, "vv-ucb", seed=1, steps=200)

    def run_seeds(workers: int) -> None:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda seed: train(wall, "vv-ucb", seed=seed, steps=steps), range(n_seeds)))

    two, one = median_times(5 if quick else 7, lambda: run_seeds(2), lambda: run_seeds(1))
    yield speedup(f"2 threads over {n_seeds} seeds of wall, vv-ucb, against 1 thread", two, one, 1.8, unit="s")


def stored_tables(quick: bool) -> Results:
    """Compare the table of stored runs, without their curves, with pyarrow, which reads the same rows as JSON."""
    name = f"table of {10_000 if quick else 100_000:,} stored runs, pandas, against pyarrow"
    try:
        read_json = importlib.import_module("pyarrow.json").read_json
    except ImportError:
        yield Skipped(name, "pyarrow is not installed: pip install 'wanderlust[dataframes]'")
        return
    kappas = [round(0.01 * i, 2) for i in range(1, 101)]
    sweep = Sweep(worlds="toy", explorers="ucb1", settings={"steps": 50, "kappa": kappas}, seeds=100 if quick else 1000)
    sealed = seal(sweep.runs[0], sweep.runs[0].train(), 0.001)
    with tempfile.TemporaryDirectory() as folder:
        results, file = StoredResults(Store(folder), sweep.runs, RunSummary()), Path(folder) / "rows.jsonl"
        lines = ({**sealed.line, "key": run.key, "run": run.description, "seconds": 1e-6 * i}
                 for i, run in enumerate(sweep.runs))  # fmt: skip
        entries = [Sealed(line["key"], b"not read", line) for line in lines]
        for start in range(0, len(entries), PACK_RUNS):
            results.store.add(entries[start : start + PACK_RUNS])
        file.write_text("\n".join(map(json.dumps, results.rows(curves=False))), encoding="utf-8")
        ours, theirs = shortest_times(3, lambda: results.to_pandas(curves=False), lambda: read_json(file).to_pandas())
    yield relative_time(name, ours, theirs, 5, unit="s")


def all_lines(quick: bool, peers_python: str | None) -> Results:
    """Yield all results, one after another."""
    for measure in (
        against_numpy,
        sweep_against_stream,
        active_against_dense,
        deep_sea,
        minibatches,
        growth,
        step_by_step,
        learning,
        startup,
        threads,
        stored_tables,
    ):
        yield from measure(quick)
    yield from peers(quick, peers_python or sys.executable)
