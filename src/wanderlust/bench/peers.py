"""Against libraries that a user would pick instead, each in a process of its own."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from wanderlust.bench import peer_script
from wanderlust.bench.result import Skipped, faster
from wanderlust.bench.timing import MICRO, Lines, whole_run
from wanderlust.worlds import World, make_world

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
