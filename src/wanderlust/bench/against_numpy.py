"""Whole runs against two NumPy versions of the same algorithm, which are checked to learn the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from wanderlust.agents.session import Session, train
from wanderlust.bench.plain_numpy import Transcription, Transition, Tuned
from wanderlust.bench.result import best_of, faster
from wanderlust.bench.timing import MICRO, Lines, whole_run
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
        configured = Session(wall, explorer).configured_explorer
        # The first steps, in which memory fills up, take less of everything; the whole run is what is compared.
        ours = whole_run(wall, explorer, steps=steps, repeats=1 if quick else 3)
        for version, target in versions:
            check_reference(version(wall.mdp, configured, discount=0.99, learning_rate=0.5), wall, explorer, 400)
            reference = version(wall.mdp, configured, discount=0.99, learning_rate=0.5)
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
