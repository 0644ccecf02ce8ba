"""Whole runs compared with two NumPy implementations, which are first checked to learn the same tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from speed.plain_numpy import Transcription, Transition, Tuned
from speed.result import shortest_times, speedup
from speed.timing import MICRO, Results, time_per_step
from wanderlust.agents.session import Session, train
from wanderlust.core.planning import reachable_states
from wanderlust.worlds import World, make_world


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
    """Raise `AssertionError` unless a reference learns the same tables as wanderlust from the same transitions."""
    record = train(world, explorer, seed=1, steps=steps, keep_trajectory=True)
    for s, a in zip(record.states, record.actions, strict=True):
        index = (int(s), int(a), 0)
        mdp = world.mdp
        reference.learn(s, a, mdp.reward[index], int(mdp.next_state[index]), bool(mdp.terminal[index]))
    visited = record.visits > 0
    for name, values in reference.tables().items():
        if not np.allclose(values[visited], record.tables[name][visited], rtol=1e-12, atol=0):
            raise AssertionError(f"{type(reference).__name__} and wanderlust differ in {name} on {world.name}.")


def against_numpy(quick: bool) -> Results:
    """Compare whole runs on `wall` with two NumPy versions, extrapolated from their time per step at full memory."""
    wall, steps = make_world("wall"), 100_000
    transitions = full_memory(wall)
    for explorer, versions in (("vv-ucb", ((Transcription, 250), (Tuned, 12))), ("vv-count", ((Tuned, 10),))):
        configured = Session(wall, explorer).agent.configured_explorer
        # The whole run, although its first steps are faster, because the memory is not full yet.
        ours = time_per_step(wall, explorer, steps=steps, repeats=1 if quick else 3)
        for version, target in versions:
            check_reference(version(wall.mdp, configured, discount=0.99, learning_rate=0.5), wall, explorer, 400)
            reference = version(wall.mdp, configured, discount=0.99, learning_rate=0.5)
            reference.fill(transitions)
            n_timed = 5 if quick else 20

            def some_steps(learner: Any = reference, n: int = n_timed) -> None:
                for transition in transitions[:n]:
                    learner.learn(*transition)

            reference_time = shortest_times(3 if quick else 10, some_steps)[0] / n_timed
            label = "NumPy transcription" if version is Transcription else "tuned NumPy"
            yield speedup(
                f"wall, {explorer}, {steps:,} steps, against {label}",
                MICRO * ours,
                MICRO * reference_time,
                target,
                unit="µs/step",
            )
