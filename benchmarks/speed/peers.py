"""Comparison with other libraries for tabular Q-learning, each in a separate process."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from speed import peer_script
from speed.result import MICRO, Results, Skipped, speedup, time_per_step
from wanderlust.worlds import World, make_world

PEERS = ("mushroom-rl", "table-rl")


def peers(quick: bool, python: str) -> Results:
    """Compare the time per environment step with that of the fastest other library."""
    for name in ("prison", "taxi"):
        world, steps = make_world(name), 5_000 if quick else 20_000
        times = {}
        for library in PEERS:
            measured = _peer_time(library, world, steps, python)
            if isinstance(measured, str):
                yield Skipped(f"{name}, against {library}", measured)
            else:
                times[library] = measured
        if not times:
            continue
        fastest = min(times, key=lambda library: times[library])
        for label, explorer, replay, target in (
            ("ε-greedy without memory", "epsilon-greedy", "none", 100),
            ("vv-ucb with full memory", "vv-ucb", "full", 1),
        ):
            ours = time_per_step(world, explorer, steps=200_000, replay=replay)
            yield speedup(
                f"{name}, {label}, against {fastest}",
                MICRO * ours,
                MICRO * times[fastest],
                target,
                unit="µs/step",
                note=", ".join(f"{library}: {MICRO * t:.1f} µs" for library, t in times.items()),
            )


def _peer_time(library: str, world: World, steps: int, python: str) -> float | str:
    """Return the time per step, or the reason why it could not be measured."""
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
        error = done.stderr.strip().splitlines()[-1:] or ["no error message"]
        return f"{library} does not run in {Path(python).name} ({error[0]}); install it there, or use --peers-python."
    return float(done.stdout.split()[-1])
