"""Sweeps and minibatches compared with simpler implementations."""

from __future__ import annotations

from typing import Any

import numpy as np

from speed.result import MICRO, Results, relative_time, run_task, shortest_times, speedup
from wanderlust._numba.jit import by_pointer, entry
from wanderlust.agents.session import Session, train
from wanderlust.learning.replay import shuffle_front
from wanderlust.learning.state import LearnerState
from wanderlust.learning.sweep import sweep_dense
from wanderlust.learning.td import TableSpec
from wanderlust.worlds import World, make_world


@entry
def _repeat_sweep(table: int, learner: LearnerState, spec: TableSpec, n: int) -> None:
    for _ in range(n):
        sweep_dense(table, learner, spec)


@entry
def _repeat_stream(values: Any, reward: Any, sweep_next: Any, n: int) -> None:
    """Read and write a sweep's arrays in order: its arithmetic, with the next state's index in place of its value."""
    for _ in range(n):
        for pair in range(len(values)):
            values[pair] = values[pair] + 0.5 * ((reward[pair] + 0.99 * sweep_next[pair]) - values[pair])


def sweep_against_stream(quick: bool) -> Results:
    """Compare one dense sweep of W over all of `wall` with streaming the same arrays once."""
    session = Session("wall", "vv-ucb", seed=1)
    session.advance(60_000)
    learner, spec, n = session.agent.learner, session.agent.spec, 500
    n_pairs = int(learner.counters.n_states + 1) * spec.n_actions
    table = spec.visitation
    values, reward = learner.values[table, :n_pairs].copy(), learner.sweep_reward[table, :n_pairs].copy()
    sweep_next = learner.sweep_next[:n_pairs].copy()
    learner_pointer, spec_pointer = by_pointer(learner), by_pointer(spec)
    _repeat_sweep(table, learner_pointer, spec_pointer, 1)
    _repeat_stream(values, reward, sweep_next, 1)
    ours, stream = shortest_times(
        5 if quick else 20,
        lambda: _repeat_sweep(table, learner_pointer, spec_pointer, n),
        lambda: _repeat_stream(values, reward, sweep_next, n),
    )
    name = f"one dense W sweep over {n_pairs:,} pairs, against streaming its arrays"
    yield relative_time(name, MICRO * ours / n, MICRO * stream / n, 2.5, unit="µs")


def active_against_dense(quick: bool) -> Results:
    """Compare work lists with compiled dense sweeps."""
    wall, steps, n = make_world("wall"), 100_000, 4_000
    # Without work lists, every step would be a dense sweep over all discovered states.
    session = Session(wall, "vv-ucb", seed=1)
    session.advance(60_000)
    learner_pointer, spec_pointer = by_pointer(session.agent.learner), by_pointer(session.agent.spec)
    _repeat_sweep(0, learner_pointer, spec_pointer, 1)
    # Both take hundredths of a second, so with many repeats both find moments without other load.
    ours, dense = shortest_times(
        10 if quick else 50,
        run_task(wall, "epsilon-greedy", steps=steps),
        lambda: _repeat_sweep(0, learner_pointer, spec_pointer, n),
    )
    name = "wall, ε-greedy, whole budget, work list against a dense sweep each step"
    yield speedup(name, MICRO * ours / steps, MICRO * dense / n, 25, unit="µs/step")


def check_plain_sweeps(world: World, explorer: str, steps: int) -> None:
    """Raise `AssertionError` unless plain sweeps give bitwise the same tables."""
    ours, plain = (train(world, explorer, seed=1, steps=steps, plain_sweeps=setting) for setting in (False, True))
    for name, table in plain.tables.items():
        if not np.array_equal(table, ours.tables.get(name, ours.tables["target"])):
            raise AssertionError(f"plain sweeps and active sweeps differ in {name} on {world.name}.")


def deep_sea(quick: bool) -> Results:
    """Compare whole runs in `deep-sea` with runs that use plain sweeps of all three tables."""
    world, steps, n = make_world("deep-sea"), 100_000 if quick else 500_000, 500
    check_plain_sweeps(world, "vv-ucb", 5_000)
    ours, plain = shortest_times(
        1 if quick else 3,
        run_task(world, "vv-ucb", steps=steps),
        run_task(world, "vv-ucb", steps=steps, plain_sweeps=True),
    )
    session = Session(world, "vv-ucb", seed=1)
    session.advance(60_000)
    learner_pointer, spec_pointer, visitation = *session.agent.pointers[1:], session.agent.spec.visitation
    vectorized = shortest_times(10, lambda: _repeat_sweep(visitation, learner_pointer, spec_pointer, n))[0]
    yield speedup(
        f"deep-sea 50, vv-ucb, {steps:,} steps, against plain sweeps of all three tables",
        MICRO * ours / steps,
        MICRO * plain / steps,
        3,
        unit="µs/step",
        note=f"three vectorized dense sweeps alone take {3 * MICRO * vectorized / n:.1f} µs",
    )


@entry
def _repeat_draw(learner: LearnerState, spec: TableSpec, n: int) -> None:
    for _ in range(n):
        shuffle_front(learner.transitions, learner.counters.n_stored, spec.batch_size, learner.streams, learner.batch)


def minibatches(quick: bool) -> Results:
    """Compare sampling without replacement with NumPy's, and a step of a bootstrapped ensemble with one of vv-ucb."""
    n_stored, batch, n = 500_000, 1024, 100
    session = Session("wall", "bootstrapped", seed=1)
    session.advance(500)
    learner = session.agent.learner._replace(transitions=np.arange(n_stored, dtype=np.uint32))
    learner.counters.n_stored = n_stored
    learner_pointer, spec_pointer = by_pointer(learner), by_pointer(session.agent.spec)
    _repeat_draw(learner_pointer, spec_pointer, 1)
    generator = np.random.default_rng(0)
    ours, numpy = shortest_times(
        20 if quick else 200,
        lambda: _repeat_draw(learner_pointer, spec_pointer, n),
        lambda: [generator.choice(n_stored, batch, replace=False) for _ in range(n)],
    )
    name = f"minibatch of {batch:,} out of {n_stored:,} without replacement, against Generator.choice"
    yield speedup(name, MICRO * ours / n, MICRO * numpy / n, 4, unit="µs")
    wall, steps = make_world("wall"), 20_000 if quick else 100_000
    ensemble, active, visitation = shortest_times(
        1 if quick else 2,
        run_task(wall, "bootstrapped", steps=steps),
        run_task(wall, "bootstrapped", steps=steps, initial="optimistic"),
        run_task(wall, "vv-ucb", steps=steps),
    )
    yield relative_time(
        "wall, bootstrapped with 10 heads, whole budget, against vv-ucb",
        MICRO * ensemble / steps,
        MICRO * visitation / steps,
        6,
        unit="µs/step",
        note=f"with zero initial values, heads converge early; optimistic, all active: {MICRO * active / steps:.0f} µs",
    )
