"""Fingerprints of results: hashes of the tables, visits and curves of many short runs.

    python tests/fingerprints.py            compare with tests/fingerprints.json
    python tests/fingerprints.py --write    replace it, after a change of results that is meant

A change of any fingerprint is a change of results: it needs a new `ALGORITHM_VERSION`, so that stored results of the
earlier version are not used. The file has the version that it was written with.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import wanderlust as wl
from conftest import MEMORIES, PAPER_EXPLORERS, PLANNERS
from wanderlust.experiments.run import ADAPTIVE_VERSION, ALGORITHM_VERSION

VERSION = f"{ALGORITHM_VERSION}.{ADAPTIVE_VERSION}"
"""The version of this code's results."""
FILE = Path(__file__).with_suffix(".json")
WORLDS: dict[str, dict[str, Any]] = {
    "toy": {},
    "prison": {},
    "deep-sea": {"depth": 8},
    "taxi": {},
    "chain": {"length": 9},
    "deep-gridworld": {},
}


def fingerprint(*arrays: Any) -> str:
    """Return a hash of numbers; 10 digits count, because solvers differ between processors in the last ones."""
    digest = hashlib.sha256()
    for array in arrays:
        numbers = np.asarray(array, np.float64)
        digest.update(str(numbers.shape).encode())
        digest.update(" ".join(f"{x:.10g}" for x in (numbers.ravel() + 0.0)).encode())
    return digest.hexdigest()[:16]


def of_record(record: Any) -> str:
    tables = [record.tables[name] for name in sorted(record.tables)]
    return fingerprint(record.steps, record.returns, record.discovered, record.visits, record.first_visit, *tables)


def of_agent(agent: Any) -> str:
    return fingerprint(agent.visits, *(agent.tables[name] for name in sorted(agent.tables)))


def trainings() -> Iterator[tuple[str, str]]:
    for explorer in wl.explorer_names():
        for name, options in WORLDS.items():
            if name == "chain" and explorer in PLANNERS:
                continue  # Its default has no replay memory.
            world = wl.make_world(name, **options)
            yield f"train {name} {explorer}", of_record(wl.train(world, explorer, seed=3, steps=600))
        world = wl.with_slips(wl.make_world("toy"))
        yield f"train slippery toy {explorer}", of_record(wl.train(world, explorer, seed=3, steps=400))
        if explorer not in PLANNERS:
            for memory in ("none", "window"):
                record = wl.train("prison", explorer, seed=4, steps=600, replay=MEMORIES[memory])
                yield f"train prison {explorer} memory {memory}", of_record(record)
        if explorer in PAPER_EXPLORERS:
            for initialization in ("zero", "optimistic"):
                start = {"preset": "as_published_code", "initial": initialization}
                record = wl.train("toy", explorer, seed=5, steps=400, **start)
                yield f"train toy {explorer} as_published_code {initialization}", of_record(record)


def learnings() -> Iterator[tuple[str, str]]:
    environments: dict[str, Any] = {
        "lake": lambda: gym.make("FrozenLake-v1", is_slippery=False),
        "slippery lake": lambda: gym.make("FrozenLake-v1"),
        "cliff": lambda: gym.make("CliffWalking-v1"),
        "car": lambda: wl.tabular(gym.make("MountainCar-v0"), bins=8),
    }
    for name, make in environments.items():
        for explorer in ("vv-ucb", "vv-count", "ucb1", "bonus", "bootstrapped"):
            for preset in ("as_written", "adaptive"):
                agent = wl.learn(make(), explorer, steps=500, seed=2, preset=preset, quiet=True)
                yield f"learn {name} {explorer} {preset}", of_agent(agent)


def loops() -> Iterator[tuple[str, str]]:
    for name in ("vv-ucb", "vv-count", "ucb1"):
        explorer = wl.Explorer(name, n_states=12, n_actions=3, reward_range=(0, 1), seed=1)
        state, actions = 0, []
        for step in range(300):
            actions.append(explorer.act(state, q=[0.1 * (state % 3), 0.0, 0.05]))
            following = (state * 3 + actions[-1]) % 12
            explorer.observe(state, actions[-1], following, terminated=step % 17 == 0)
            state = following
        yield f"own loop {name}", fingerprint(actions, explorer.visits)


def saved_agents() -> Iterator[tuple[str, str]]:
    for name in ("vv-ucb", "bootstrapped", "bonus"):
        agent = wl.train("prison", name, seed=1, steps=300).agent
        with tempfile.TemporaryDirectory() as folder:
            agent.save(Path(folder) / "agent.npz")
            loaded = wl.Agent.load(Path(folder) / "agent.npz")
        state = 0
        for _ in range(50):
            action = loaded.act(state)
            loaded.observe(state, action, 0.0, (state + action) % 7, terminated=False)
            state = (state + action) % 7
        yield f"saved agent {name}", of_agent(loaded)


def exams() -> Iterator[tuple[str, str]]:
    families = ["depth", "slip", "copies"]
    result = wl.exam(["vv-ucb", "ucbvi"], families=families, levels=[1, 2], seeds=2, out=None, quiet=True)
    for row in result.rows():
        place = " ".join(str(row[name]) for name in ("explorer", "family", "level", "seed"))
        yield f"exam {place}", fingerprint([row["score"], row["data_score"], row["last"]])


PARTS = (trainings, learnings, loops, saved_agents, exams)


def fingerprints() -> dict[str, str]:
    """Return the fingerprints by the name of the run."""
    return {name: value for part in PARTS for name, value in part()}


def read() -> tuple[str, dict[str, str]]:
    """Return the committed version and fingerprints."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    return kept["version"], kept["fingerprints"]


def problem(kept_version: str, different: list[str]) -> str:
    """Return what is wrong if some fingerprints differ from the committed ones; "" if nothing is."""
    if different and kept_version == VERSION:
        return (
            f"the results of {', '.join(different)} changed, but not their version, {VERSION}: increase "
            "ALGORITHM_VERSION (or ADAPTIVE_VERSION) in experiments/run.py, then run tests/fingerprints.py --write."
        )
    if kept_version != VERSION:
        return (
            f"{FILE.name} has results of version {kept_version}, this is version {VERSION} (ALGORITHM_VERSION and "
            "ADAPTIVE_VERSION): run tests/fingerprints.py --write and commit the file."
        )
    return ""


def main() -> None:
    """Compare or write the file."""
    now = fingerprints()
    kept_version, kept = read()
    different = sorted(name for name in kept.keys() | now.keys() if kept.get(name) != now.get(name))
    print(f"{len(kept)} fingerprints, {len(different)} differ", *different, sep="\n  ")
    sentence = problem(kept_version, different)
    if "--write" in sys.argv:
        if different and kept_version == VERSION:
            sys.exit(sentence)
        contents = {"version": VERSION, "fingerprints": now}
        FILE.write_text(json.dumps(contents, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{len(now)} fingerprints written to {FILE}")
    elif sentence:
        sys.exit(sentence)


if __name__ == "__main__":
    main()
