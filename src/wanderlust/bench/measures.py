"""What is measured, one function per line of the table. Each takes `quick` and returns its results."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from wanderlust.agents.agent import Agent
from wanderlust.agents.session import Session, train
from wanderlust.bench.against_numpy import against_numpy
from wanderlust.bench.peers import peers
from wanderlust.bench.result import best_of, faster, limited, middle_of, within
from wanderlust.bench.startup import cold_start, help_time
from wanderlust.bench.sweeps import active_against_dense, deep_sea, minibatches, sweep_against_stream
from wanderlust.bench.timing import MICRO, NANO, Lines
from wanderlust.learning.allocation import n_bytes, trimmed
from wanderlust.worlds import World, make_world


def wall_like(side: int) -> World:
    """Return a square world of the given size with a wall, a treasure near the start and one far away."""
    rows = [["."] * side for _ in range(side)]
    for i in range(side - 4):
        rows[side - 4][i] = "#"
    middle = side // 2
    rows[middle][middle], rows[middle - 3][middle - 1], rows[side - 1][0] = "S", "A", "B"
    text = "\n".join("".join(row) for row in rows)
    legend = "A = treasure 3\nB = treasure 10000\nstep = -0.01"
    return make_world(f"{text}\n\n{legend}\n", name=f"wall {side}x{side}", horizon=330, budget=100_000)


def growth(quick: bool) -> Lines:
    """Follow the time of a step as worlds grow."""
    sides = (25, 50, 100) if quick else (25, 50, 100, 200, 400)
    stretch, turns = 10_000, 20
    sessions = [Session(wall_like(side), "epsilon-greedy", seed=1, epsilon_start=0.1, steps=400_000) for side in sides]
    for session in sessions:
        session.advance(200_000)
    shortest = best_of(turns, *(partial(_go_on, session, stretch) for session in sessions))
    times = {side: NANO * t / stretch for side, t in zip(sides, shortest, strict=True)}
    line = within(
        f"growth of the world {sides[0]}² to {sides[-1]}², ε-greedy with Q settled",
        times[sides[-1]],
        times[sides[0]],
        1.5,
        unit="ns/step",
        note=", ".join(f"{side}²: {t:.0f} ns" for side, t in times.items()),
    )
    yield replace(line, points=tuple((float(side**2), t) for side, t in times.items()))
    points, notes, costs = [], [], []
    for depth in (50, 100) if quick else (50, 100, 200):
        # Long enough to meet every state: the time of a sweep is to be that of a full table.
        steps, stretch, turns = 40 * depth**2, 500, 10
        session = Session(make_world("deep-sea", depth=depth), "vv-ucb", seed=1, steps=steps + turns * stretch)
        session.advance(steps)
        t = best_of(turns, partial(_go_on, session, stretch))[0] / stretch
        n_pairs = int(session.learner.counters.n_states) * session.spec.n_actions
        size = n_bytes(trimmed(session.learner, session.spec))
        points.append((float(n_pairs), NANO * t))
        costs.append(NANO * t / n_pairs)
        notes.append(f"N={depth}: {n_pairs:,} pairs, {MICRO * t:.1f} µs, {size / 2**20:.1f} MiB")
    line = limited("deep-sea, vv-ucb, the dearest step", max(costs), 1.5, unit="ns/pair", note="; ".join(notes))
    yield replace(line, points=tuple(points))


def _go_on(session: Session, steps: int) -> None:
    session.advance(session.step + steps)


def step_by_step(quick: bool) -> Lines:
    """Compare the two drivers."""
    wall, steps = make_world("wall"), 5_000 if quick else 20_000
    record = train(wall, "epsilon-greedy", seed=1, steps=steps, keep_trajectory=True)
    path = [
        (s, a, float(wall.mdp.reward[s, a, 0]), int(wall.mdp.next_state[s, a, 0]), bool(wall.mdp.terminal[s, a, 0]))
        for s, a in zip(record.states.tolist(), record.actions.tolist(), strict=True)
    ]

    def follow() -> None:
        agent = Agent.for_world(wall, "epsilon-greedy", seed=1)
        for s, a, r, s2, over in path:
            agent.act(s)
            agent.observe(s, a, r, s2, over)

    follow()
    agent, fused = best_of(3, follow, lambda: train(wall, "epsilon-greedy", seed=1, steps=steps))
    yield limited(
        "step-by-step Agent on wall (act and observe), above the fused step",
        MICRO * (agent - fused) / steps,
        15,
        unit="µs/step",
    )


def startup(quick: bool) -> Lines:
    """Time first uses in new processes."""
    first, second = cold_start(repeats=1 if quick else 2)
    yield limited("first ever run of an explorer, in a new process, compilation included", first, 15, unit="s")
    yield limited("the same from the second process on, to the end of the first step", second, 1.5, unit="s")
    yield limited("wanderlust --help", help_time(), 0.5, unit="s")


def threads(quick: bool) -> Lines:
    """Compare two threads with one, over seeds."""
    wall, n_seeds, steps = make_world("wall"), 8, 30_000 if quick else 100_000
    train(wall, "vv-ucb", seed=1, steps=200)

    def seeds(workers: int) -> None:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda seed: train(wall, "vv-ucb", seed=seed, steps=steps), range(n_seeds)))

    two, one = middle_of(5 if quick else 7, lambda: seeds(2), lambda: seeds(1))
    yield faster(f"2 threads over {n_seeds} seeds of wall, vv-ucb, against 1 thread", two, one, 1.8, unit="s")


def all_lines(quick: bool, peers_python: str | None) -> Lines:
    """Measure everything, one line after the other."""
    for measure in (
        against_numpy,
        sweep_against_stream,
        active_against_dense,
        deep_sea,
        minibatches,
        growth,
        step_by_step,
        startup,
        threads,
    ):
        yield from measure(quick)
    yield from peers(quick, peers_python or sys.executable)
