"""The sweeps and the minibatches on their own, against plainer ways to do the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from wanderlust._numba.jit import by_pointer, entry
from wanderlust.agents.session import Session, train
from wanderlust.bench.result import best_of, faster, within
from wanderlust.bench.timing import MICRO, Lines, a_run
from wanderlust.learning.dense_sweep import sweep_dense
from wanderlust.learning.replay import shuffle_front
from wanderlust.learning.spec import TableSpec
from wanderlust.learning.state import LearnerState
from wanderlust.worlds import World, make_world


@entry
def _sweep_often(table: int, learner: LearnerState, spec: TableSpec, times: int) -> None:
    for _ in range(times):
        sweep_dense(table, learner, spec)


@entry
def _stream_often(values: Any, reward: Any, sweep_next: Any, times: int) -> None:
    """Read and write the arrays of a sweep in order: its arithmetic, with the next state's number for its value."""
    for _ in range(times):
        for pair in range(len(values)):
            values[pair] = values[pair] + 0.5 * ((reward[pair] + 0.99 * sweep_next[pair]) - values[pair])


def sweep_against_stream(quick: bool) -> Lines:
    """Compare one dense sweep of W over all of `wall` with streaming the same arrays once."""
    session = Session("wall", "vv-ucb", seed=1)
    session.advance(60_000)
    learner, spec, times = session.learner, session.spec, 500
    n_pairs = int(learner.counters.n_states + 1) * spec.n_actions
    table = spec.visitation
    values, reward = learner.values[table, :n_pairs].copy(), learner.sweep_reward[table, :n_pairs].copy()
    sweep_next = learner.sweep_next[:n_pairs].copy()
    m, p = by_pointer(learner), by_pointer(spec)
    _sweep_often(table, m, p, 1)
    _stream_often(values, reward, sweep_next, 1)
    ours, stream = best_of(
        5 if quick else 20,
        lambda: _sweep_often(table, m, p, times),
        lambda: _stream_often(values, reward, sweep_next, times),
    )
    yield within(
        f"one dense W sweep over {n_pairs:,} pairs, against streaming its arrays",
        MICRO * ours / times,
        MICRO * stream / times,
        2.5,
        unit="µs",
    )


def active_against_dense(quick: bool) -> Lines:
    """Compare the work lists with dense sweeps of our own, compiled as well."""
    wall, steps, times = make_world("wall"), 100_000, 4_000
    # A dense sweep over the whole world, as the work list would have to be replaced by once all is discovered.
    session = Session(wall, "vv-ucb", seed=1)
    session.advance(60_000)
    m, p = by_pointer(session.learner), by_pointer(session.spec)
    _sweep_often(0, m, p, 1)
    # Both take hundredths of a second, and many turns: so both find moments in which a busy machine leaves them alone.
    ours, dense = best_of(
        10 if quick else 50,
        a_run(wall, "epsilon-greedy", steps=steps),
        lambda: _sweep_often(0, m, p, times),
    )
    yield faster(
        "wall, ε-greedy, whole budget, work list against a dense sweep each step",
        MICRO * ours / steps,
        MICRO * dense / times,
        25,
        unit="µs/step",
    )


def check_plain_sweeps(world: World, explorer: str, steps: int) -> None:
    """Make sure that plain sweeps give the same bits, or they would be no reference."""
    ours, plain = (train(world, explorer, seed=1, steps=steps, plain_sweeps=plainly) for plainly in (False, True))
    for name, table in plain.tables.items():
        if not np.array_equal(table, ours.tables.get(name, ours.tables["target"])):
            raise AssertionError(f"plain sweeps and ours differ in {name} on {world.name}.")


def deep_sea(quick: bool) -> Lines:
    """Compare whole runs in the deep sea with runs of plain sweeps of all three tables."""
    world, steps, times = make_world("deep-sea"), 100_000 if quick else 500_000, 500
    check_plain_sweeps(world, "vv-ucb", 5_000)
    ours, plain = best_of(
        1 if quick else 3,
        a_run(world, "vv-ucb", steps=steps),
        a_run(world, "vv-ucb", steps=steps, plain_sweeps=True),
    )
    session = Session(world, "vv-ucb", seed=1)
    session.advance(60_000)
    m, p = by_pointer(session.learner), by_pointer(session.spec)
    vectorised = best_of(10, lambda: _sweep_often(session.spec.visitation, m, p, times))[0]
    yield faster(
        f"deep-sea 50, vv-ucb, {steps:,} steps, against plain sweeps of all three tables",
        MICRO * ours / steps,
        MICRO * plain / steps,
        3,
        unit="µs/step",
        note=f"three vectorised sweeps of our own, and nothing else: {3 * MICRO * vectorised / times:.1f} µs",
    )


@entry
def _draw_often(learner: LearnerState, spec: TableSpec, times: int) -> None:
    for _ in range(times):
        shuffle_front(learner.transitions, learner.counters.n_stored, spec.batch_size, learner.streams, learner.batch)


def minibatches(quick: bool) -> Lines:
    """Compare draws without replacement with NumPy's, and a step of a bootstrapped ensemble with one of vv-ucb."""
    n_stored, batch, times = 500_000, 1024, 100
    session = Session("wall", "bootstrapped", seed=1)
    session.advance(500)
    learner = session.learner._replace(transitions=np.arange(n_stored, dtype=np.uint32))
    learner.counters.n_stored = n_stored
    m, p = by_pointer(learner), by_pointer(session.spec)
    _draw_often(m, p, 1)
    generator = np.random.default_rng(0)
    ours, numpy = best_of(
        20 if quick else 200,
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
    ensemble, awake, visitation = best_of(
        1 if quick else 2,
        a_run(wall, "bootstrapped", steps=steps),
        a_run(wall, "bootstrapped", steps=steps, initial="optimistic"),
        a_run(wall, "vv-ucb", steps=steps),
    )
    yield within(
        "wall, bootstrapped with 10 heads, whole budget, against a step of vv-ucb",
        MICRO * ensemble / steps,
        MICRO * visitation / steps,
        6,
        unit="µs/step",
        note=f"from zero its heads soon sleep; from an optimistic start they are awake: {MICRO * awake / steps:.0f} µs",
    )
