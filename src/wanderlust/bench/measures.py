"""What is measured, one function per line of the table. Each takes `quick` and returns its results."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from wanderlust.agent import Agent
from wanderlust.bench import peer_script
from wanderlust.bench.plain_numpy import Transcription, Transition, Tuned
from wanderlust.bench.result import Result, Skipped, best_of, faster, limited, within
from wanderlust.bench.startup import cold_start, help_time
from wanderlust.compiled import by_reference, entry
from wanderlust.learning.mind import N_ROWS, N_STATES, N_STORED, Mind, Plan
from wanderlust.learning.replay import discard_batch, draw_batch
from wanderlust.learning.sweep import sweep_dense
from wanderlust.planning import reachable_states
from wanderlust.training import Session, train
from wanderlust.worlds import World, make_world

Lines = Iterator[Result | Skipped]
MICRO, NANO = 1e6, 1e9


def whole_run(world: World, explorer: str, *, steps: int, repeats: int = 3, **changes: Any) -> float:
    """Return the time of a step, over a whole run with its set-up and its evaluations."""
    train(world, explorer, seed=1, steps=200, **changes)
    return best_of(repeats, lambda: train(world, explorer, seed=1, steps=steps, **changes))[0] / steps


def full_memory(world: World) -> list[Transition]:
    """Return one transition for every pair that can be visited."""
    mdp = world.mdp
    states = np.flatnonzero(reachable_states(mdp))
    return [
        (int(s), a, float(mdp.reward[s, a, 0]), int(mdp.next_state[s, a, 0]), bool(mdp.terminal[s, a, 0]))
        for s in states
        for a in range(mdp.n_actions)
    ]


def check_reference(reference: Transcription | Tuned, world: World, explorer: str, steps: int) -> None:
    """Make sure that a reference learns what wanderlust learns, or it would be no reference."""
    record = train(world, explorer, seed=1, steps=steps, keep_trajectory=True)
    for s, a in zip(record.states, record.actions, strict=True):
        index = (int(s), int(a), 0)
        mdp = world.mdp
        reference.learn(s, a, mdp.reward[index], int(mdp.next_state[index]), bool(mdp.terminal[index]))
    for name, values in reference.tables().items():
        seen = record.visits > 0
        if not np.allclose(values[seen], record.tables[name][seen], rtol=1e-12, atol=0):
            raise AssertionError(f"{type(reference).__name__} and wanderlust differ in {name} on {world.name}.")


def against_numpy(quick: bool) -> Lines:
    """Compare whole runs on `wall` with two NumPy versions, extrapolated from their time per step at full memory."""
    wall, steps = make_world("wall"), 100_000
    pairs = full_memory(wall)
    for explorer, versions in (("vv-ucb", ((Transcription, 250), (Tuned, 12))), ("vv-count", ((Tuned, 10),))):
        rule = Session(wall, explorer).rule
        # The first steps, in which memory fills up, take less of everything; the whole run is what is compared.
        ours = whole_run(wall, explorer, steps=steps, repeats=1 if quick else 3)
        for version, target in versions:
            check_reference(version(wall.mdp, rule, discount=0.99, learning_rate=0.5), wall, explorer, 400)
            reference = version(wall.mdp, rule, discount=0.99, learning_rate=0.5)
            reference.fill(pairs)
            few = 5 if quick else 20

            def some_steps(learner: Any = reference, count: int = few) -> None:
                for transition in pairs[:count]:
                    learner.learn(*transition)

            time_of_step = best_of(3 if quick else 10, some_steps)[0] / few
            what = "NumPy transcription" if version is Transcription else "tuned NumPy"
            yield faster(
                f"wall, {explorer}, {steps:,} steps, against {what}",
                MICRO * ours,
                MICRO * time_of_step,
                target,
                unit="µs/step",
            )


@entry
def _sweep_often(table: int, mind: Mind, plan: Plan, times: int) -> None:
    for _ in range(times):
        sweep_dense(table, mind, plan)


@entry
def _stream_often(values: Any, reward: Any, next_id: Any, times: int) -> None:
    """Read and write the arrays of a sweep in order: its arithmetic, with the next state's number for its value."""
    for _ in range(times):
        for pair in range(len(values)):
            values[pair] = values[pair] + 0.5 * ((reward[pair] + 0.99 * next_id[pair]) - values[pair])


def sweep_against_stream(quick: bool) -> Lines:
    """Compare one dense sweep of W over all of `wall` with streaming the same arrays once."""
    session = Session("wall", "vv-ucb", seed=1)
    session.advance(60_000)
    mind, plan, times = session.mind, session.plan, 500
    n_pairs = int(mind.numbers[N_STATES] + 1) * plan.n_actions
    table = plan.visitation
    values, reward = mind.values[table, :n_pairs].copy(), mind.mirror[table, :n_pairs].copy()
    next_id = mind.next_id[:n_pairs].copy()
    m, p = by_reference(mind), by_reference(plan)
    _sweep_often(table, m, p, 1)
    _stream_often(values, reward, next_id, 1)
    ours, stream = best_of(
        5 if quick else 20,
        lambda: _sweep_often(table, m, p, times),
        lambda: _stream_often(values, reward, next_id, times),
    )
    yield within(
        f"one dense W sweep over {n_pairs:,} pairs, against streaming its arrays",
        MICRO * ours / times,
        MICRO * stream / times,
        2.5,
        unit="µs",
    )


def active_against_dense(quick: bool) -> Lines:
    """Compare the work lists with plain sweeps of our own, compiled as well."""
    wall, steps = make_world("wall"), 100_000
    ours = whole_run(wall, "epsilon-greedy", steps=steps)
    # A plain sweep over the whole world, as the work list would have to be replaced by once all is discovered.
    session = Session(wall, "vv-ucb", seed=1)
    session.advance(60_000)
    m, p = by_reference(session.mind), by_reference(session.plan)
    _sweep_often(0, m, p, 1)
    dense = best_of(5, lambda: _sweep_often(0, m, p, 200))[0] / 200
    yield faster(
        "wall, ε-greedy, whole budget, work list against a dense sweep each step",
        MICRO * ours,
        MICRO * dense,
        25,
        unit="µs/step",
    )
    deep_sea, steps = make_world("deep-sea"), 100_000 if quick else 500_000
    ours = whole_run(deep_sea, "vv-ucb", steps=steps, repeats=1)
    plain = whole_run(deep_sea, "vv-ucb", steps=steps, repeats=1, plain_sweeps=True)
    yield faster(
        f"deep-sea 50, vv-ucb, {steps:,} steps, against dense sweeps of all three tables",
        MICRO * ours,
        MICRO * plain,
        3,
        unit="µs/step",
    )


@entry
def _draw_often(mind: Mind, plan: Plan, times: int) -> None:
    for _ in range(times):
        discard_batch(draw_batch(mind, plan), mind)


def minibatches(quick: bool) -> Lines:
    """Compare draws without replacement with NumPy's, and a step of a bootstrapped ensemble with one of vv-ucb."""
    n_stored, batch, times = 500_000, 1024, 100
    session = Session("wall", "bootstrapped", seed=1)
    session.advance(500)
    mind = session.mind._replace(memory=np.zeros(n_stored, np.uint32))
    mind.memory[:] = np.random.default_rng(0).integers(0, int(mind.numbers[N_ROWS]), n_stored)
    mind.numbers[N_STORED] = n_stored
    m, p = by_reference(mind), by_reference(session.plan)
    _draw_often(m, p, 1)
    generator = np.random.default_rng(0)
    ours, numpy = best_of(
        5 if quick else 20,
        lambda: _draw_often(m, p, times),
        lambda: [generator.choice(n_stored, batch, replace=False) for _ in range(times)],
    )
    yield faster(
        f"minibatch of {batch:,} out of {n_stored:,} without replacement, against Generator.choice",
        MICRO * ours / times,
        MICRO * numpy / times,
        4,
        unit="µs",
    )
    wall, steps = make_world("wall"), 20_000 if quick else 100_000
    ensemble = whole_run(wall, "bootstrapped", steps=steps, repeats=1)
    visitation = whole_run(wall, "vv-ucb", steps=steps if steps > 50_000 else 100_000, repeats=1)
    yield within(
        "wall, bootstrapped with 10 heads, against a step of vv-ucb",
        MICRO * ensemble,
        MICRO * visitation,
        6,
        unit="µs/step",
    )


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
    times = {}
    for side in sides:
        session = Session(wall_like(side), "epsilon-greedy", seed=1, epsilon_start=0.1, steps=400_000)
        session.advance(200_000)
        times[side] = _time_of_steps(session, 100_000) * NANO
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
        steps = 40 * depth**2
        session = Session(make_world("deep-sea", depth=depth), "vv-ucb", seed=1, steps=steps + 3_000)
        session.advance(steps)
        t = _time_of_steps(session, 3_000)
        n_pairs = int(session.mind.numbers[N_STATES]) * session.plan.n_actions
        size = sum(array.nbytes for array in session.mind)
        points.append((float(n_pairs), NANO * t))
        costs.append(NANO * t / n_pairs)
        notes.append(f"N={depth}: {n_pairs:,} pairs, {MICRO * t:.1f} µs, {size / 2**20:.1f} MiB")
    line = limited("deep-sea, vv-ucb, the dearest step", max(costs), 1.5, unit="ns/pair", note="; ".join(notes))
    yield replace(line, points=tuple(points))


def _time_of_steps(session: Session, steps: int) -> float:
    """Return the shortest time of a step over three stretches of a run that goes on."""
    stretch = steps // 3
    return min(best_of(1, lambda: session.advance(session.step + stretch))[0] for _ in range(3)) / stretch


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
    first, second = cold_start()
    yield limited("first ever run of an explorer, in a new process, compilation included", first, 15, unit="s")
    yield limited("the same from the second process on, to the end of the first step", second, 1.5, unit="s")
    yield limited("wanderlust --help", help_time(), 0.5, unit="s")


def threads(quick: bool) -> Lines:
    """Compare two threads with one, over seeds."""
    wall, steps = make_world("wall"), 10_000 if quick else 30_000
    train(wall, "vv-ucb", seed=1, steps=200)

    def seeds(workers: int) -> None:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda seed: train(wall, "vv-ucb", seed=seed, steps=steps), range(4)))

    one, two = best_of(2 if quick else 3, lambda: seeds(1), lambda: seeds(2))
    yield faster("2 threads over 4 seeds of wall, vv-ucb, against 1 thread", two, one, 1.8, unit="s")


PEERS = ("mushroom-rl", "table-rl")


def peers(quick: bool, python: str) -> Lines:
    """Compare with libraries that a user would pick instead, in environment steps."""
    for name in ("prison", "taxi"):
        world, steps = make_world(name), 5_000 if quick else 20_000
        times = {}
        for library in PEERS:
            found = _time_of_peer(library, world, steps, python)
            if isinstance(found, str):
                yield Skipped(f"{name}, against {library}", found)
            else:
                times[library] = found
        if not times:
            continue
        best = min(times, key=lambda library: times[library])
        for what, explorer, replay, target in (
            ("ε-greedy without memory", "epsilon-greedy", "none", 100),
            ("vv-ucb with full memory", "vv-ucb", "full", 1),
        ):
            ours = whole_run(world, explorer, steps=200_000, replay=replay)
            yield faster(
                f"{name}, {what}, against {best}",
                MICRO * ours,
                MICRO * times[best],
                target,
                unit="µs/step",
                note=", ".join(f"{library}: {MICRO * t:.1f} µs" for library, t in times.items()),
            )


def _time_of_peer(library: str, world: World, steps: int, python: str) -> float | str:
    """Return the time of a step, or why there is none."""
    mdp = world.mdp
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "world.npz"
        np.savez(
            file,
            next_state=mdp.next_state[:, :, 0],
            reward=mdp.reward[:, :, 0],
            terminal=mdp.terminal[:, :, 0],
            start=int(np.argmax(mdp.start)),
            horizon=world.defaults.horizon,
        )
        command = [python, peer_script.__file__, library, str(file), str(steps)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        return f"{library} does not run in {Path(python).name} ({reason[0]}); install it there, or give --peers-python."
    return float(done.stdout.split()[-1])


def all_lines(quick: bool, peers_python: str | None) -> Lines:
    """Measure everything, one line after the other."""
    for measure in (
        against_numpy,
        sweep_against_stream,
        active_against_dense,
        minibatches,
        growth,
        step_by_step,
        startup,
        threads,
    ):
        yield from measure(quick)
    yield from peers(quick, peers_python or sys.executable)
