"""What the tests can catch: small faults are put into the source, one at a time, and the tests of that part must fail.

    nice python benchmarks/mutations.py HEAD --log build/mutations.jsonl

runs every mutation on a commit and writes one line per mutation to the log; repeated, it continues with those that the
log does not have. `--only experiments` takes those that the tests of this folder should find. To compare two commits,
run it on each with a log of its own. A mutation is a line of the source and the line that replaces it, wherever that
line is: files may be renamed and merged. The outcomes:

caught      a test failed; the log has its name
survived    all tests of these folders passed
gone        no file has this line any more: give `Mutation` the new text beside the old one
timeout     the tests did not end; most often a loop that the mutation made endless

Only the folders of tests that a mutation names are run, in that order, until the first failure. The source is a copy
made by `git archive` in a temporary folder, with its own cache of compiled code.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
TIMEOUT_SECONDS = 1800

ORACLE = ("learning/test_oracle*.py", "learning")
EXPLORERS = ("learning/test_oracle*.py", "explorers", "learning")
PLANNING = ("core", "training")
STORE = ("experiments/test_store*.py", "experiments/test_sweep*.py", "experiments")
SWEEP = ("experiments/test_sweep*.py", "experiments")
STATISTICS = ("experiments/test_statistics*.py", "experiments")
TRAINING = ("training",)
WORLDS = ("worlds",)
ENVIRONMENTS = ("environments",)
AGENTS = ("agents",)
EXAM = ("exams",)


class Mutation(NamedTuple):
    """One fault: the tests that should find it, a line without its indentation, and what replaces it."""

    tests: tuple[str, ...]
    line: str | tuple[str, ...]
    """Several texts if the line has changed over time."""
    old: str
    new: str

    @property
    def lines(self) -> tuple[str, ...]:
        """The texts of the line."""
        return (self.line,) if isinstance(self.line, str) else self.line

    @property
    def name(self) -> str:
        """The line and its replacement; the log has it."""
        return f"{self.lines[0]}  →  {self.new or 'nothing'}"


MUTATIONS = [
    # The TD rule, counts, and the memory.
    Mutation(ORACLE, "return reward + discount * next_value", "+", "-"),
    Mutation(ORACLE, "return value + rate * (target - value)", "target - value", "target + value"),
    Mutation(
        ORACLE, "return value + rate * ((target - value) + prior_weight * (0.0 - value))", "0.0 - value", "1.0 - value"
    ),
    Mutation(ORACLE, "return one if one < other else other", "<", ">"),
    Mutation(ORACLE, "target += outcomes.weight[outcome] * one", "+=", "="),
    Mutation(ORACLE, "visits[pair] += 1", "1", "2"),
    Mutation(ORACLE, "counters.max_visits = visits[pair]", "visits[pair]", "visits[pair] - 1"),
    Mutation(ORACLE, "return reward + explorer.bonus(visits)  # type: ignore[no-any-return]", "visits", "visits + 1"),
    Mutation(ORACLE, "outcomes.signals[REWARD, outcome] = reward if count == 1.0 else mean + (reward - mean) / count",
             "/ count", "/ (count + 1)"),
    Mutation(ORACLE, "oldest = counters.step % spec.capacity", "spec.capacity", "(spec.capacity - 1 or 1)"),
    Mutation(ORACLE, "outcomes.weight[outcome] = outcomes.stored[outcome] / learner.stored[pair]", "/", "*"),
    Mutation(ORACLE, "or outcomes.signals[REWARD, outcome] != mean_before", "!=", "<"),
    Mutation(ORACLE, "activate_in_all_tables(outcomes.state[forgotten], learner, spec)",
             "activate_in_all_tables(outcomes.state[forgotten], learner, spec)", "pass"),
    Mutation(ORACLE, "n_drawn += 1 if counts[outcome] == 0 else 0", "== 0", "<= 1"),
    Mutation(ORACLE, "weight = counts[outcome] / samples_of[pair]", "counts[outcome]", "1.0"),
    Mutation(ORACLE, "places[i] = place + scaled(bits >> HALF_WORD, left)", "left)", "left - ONE)"),
    Mutation(ORACLE, "if spec.sweeps == 1 or learner.counters.n_stochastic > 0:", "> 0", "> 1"),
    Mutation(ORACLE, "changed |= (new_a != value_a) | (new_b != value_b)", " | (new_b != value_b)", ""),
    Mutation(ORACLE, "n_next += np.uint64(flags[predecessor] == 0)", "== 0", "!= 0"),
    Mutation(ORACLE, "state_values[state] = best_action_value(values, state, spec.n_actions, spec.minimise[table])",
             "spec.n_actions, spec", "spec.n_actions - 1, spec"),
    # Explorers.
    Mutation(EXPLORERS, "return math.sqrt(2.0 * math.log(plus + total) / visits)", "2.0", "1.0"),
    Mutation(EXPLORERS, "return scale / math.sqrt(visits)", "math.sqrt(visits)", "visits"),
    Mutation(EXPLORERS, "return span + math.sqrt(2.0 * math.log(others))", "span +", "span -"),
    Mutation(EXPLORERS, "return reward / (1.0 - gamma_w)", "1.0 - gamma_w", "1.0 + gamma_w"),
    Mutation(EXPLORERS, "return start * math.pow(decay, float(step))", "float(step)", "float(step + 1)"),
    Mutation(EXPLORERS, "return visits > 0 and visits & (visits - 1) == 0", "visits > 0", "visits > 1"),
    Mutation(EXPLORERS, "return (horizon + 1.0) / (horizon + visits)", "1.0", "2.0"),
    Mutation(EXPLORERS, "skip = below(streams, which, ties)", "ties", "ties - 1"),
    Mutation(EXPLORERS, "bound = ucb(count, total, 1.0) if count > 0.0 else self.untried", "1.0)", "0.0)"),
    Mutation(EXPLORERS, "left -= weights[i]", "weights[i]", "0.5 * weights[i]"),
    # Planning and hardness.
    Mutation(PLANNING, "weight = np.where(mdp.terminal, 0.0, gamma * mdp.probability)", "0.0", "gamma"),
    Mutation(PLANNING, "continues = discount * np.where(mdp.terminal, 0.0, mdp.probability)", "0.0", "1.0"),
    Mutation(PLANNING, "reached[breadth_first_order(graph, n, return_predecessors=False)] = True", "True", "False"),
    Mutation(PLANNING, "ties = table == table.max(axis=1, keepdims=True)", "max", "min"),
    Mutation(PLANNING, "powers, power, horizon = powers + power @ powers, power @ power, horizon // 2",
             "powers + power @ powers", "powers + power"),
    Mutation(PLANNING, "gaps = q.max(axis=1, keepdims=True) - q", "max", "min"),
    # Worlds and environments.
    Mutation(WORLDS,
             "probability=np.concatenate([success * p, random / n_actions * of_all_actions(p), stay * p], axis=2),",
             "/ n_actions", "/ (n_actions + 1)"),
    Mutation(ENVIRONMENTS, "position = np.clip((point - self.low) * self._scale, 0, self._last)", "0, self", "1, self"),
    Mutation(ENVIRONMENTS, "return int(np.prod([int(count) for count in self.counts]))", "np.prod", "sum"),
    # Training.
    Mutation(TRAINING, "if loop.terminated or loop.truncated:", " or loop.truncated", ""),
    Mutation(TRAINING, "total += rewards[-1]", "+=", "="),
    # Statistics, scores, results and sweeps.
    Mutation(STATISTICS, "return values.mean(axis=0), _STANDARD_ERRORS * values.std(axis=0) / math.sqrt(len(values))",
             "math.sqrt(len(values))", "len(values)"),
    Mutation(STATISTICS, "centre = (share + z * z / (2 * n)) / scale", "2 * n", "n"),
    Mutation(STATISTICS, "return float((a > b).mean() + 0.5 * (a == b).mean())", "0.5", "1.0"),
    Mutation(STATISTICS, "low, high = np.quantile(statistics, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])",
             "(1 + _LEVEL) / 2", "_LEVEL"),
    Mutation(STORE, "yield archive if zlib.crc32(archive) == crc else None", "== crc", "is not crc"),
    Mutation(STORE, "if len(text) != size or zlib.crc32(text) != crc:", " or zlib.crc32(text) != crc", ""),
    Mutation(STORE, ("if (places[:, 0] + places[:, 1] > length).any():",
                     "if any(offset + size > length for _, offset, size, _ in index.runs):"), "> length", "< 0"),
    # Packs are never merged, or only many small ones; merged ones stay.
    Mutation(STORE, "if free and len(packs := self._to_merge()) > 1:", "> 1", "> 10**9"),
    Mutation(STORE, "if sum(map(len, small)) >= PACK_RUNS:", ">=", "< 0 *"),
    Mutation(STORE, "merged.append(pack.path)", "append", "count"),
    Mutation(STORE, "if time.time() - file.stat().st_mtime > _STALE_SECONDS:", ">", "<"),
    Mutation(SWEEP, 'tables["settings"][_REPLAY] = values["memory"]', '["memory"]', '["seed"]'),
    Mutation(SWEEP, "elif self._is_option(name):", "self._is_option(name)", "False"),
    Mutation(EXAM, "return min(failed, key=lambda place: (self.family_score(place[0]), place[1]), default=None)",
             "min(", "max("),
    Mutation(EXAM, "return sum(map(is_passed, self.worlds.values()))", "map(is_passed, self.worlds.values())",
             "1 for _ in self.worlds"),
    # Files.
    Mutation(("core", "agents"), "if self._checksum != _checksum(self.metadata, arrays):",
             "self._checksum !=", "self._checksum is None and self._checksum !="),
    Mutation(("core", "agents"), "if stream.tell() + math.prod(shape) * kind.itemsize != member.file_size:", "!=", ">"),
    Mutation(("core", "agents"), "if unknown := sorted(headers.keys() - declared.keys()):", "- declared", "- headers"),
    Mutation(("agents",), 'times_stored = np.bincount(arrays["transitions"], minlength=len(pair))',
             "len(pair))", "len(pair)) * 0 + stored"),
    Mutation(("_numba",), "if status.st_uid not in owners:", "not in owners", "in ()"),
    Mutation(("_numba",), "for parent in self.path.parents:", "self.path.parents", "()"),
    Mutation(("core", "agents"), "if len(members) > _MAX_MEMBERS:", ">", "<"),
    Mutation(("core", "agents"), "partial.chmod(mode)", "mode", "0o600"),
]  # fmt: skip


def copy_commit(commit: str, folder: Path) -> None:
    """Write the files of a commit to a new folder."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "x", "-C", str(folder)], input=archive.stdout, check=True)


def places(tree: Path, mutation: Mutation) -> list[tuple[Path, int]]:
    """Return every file and line number that has the line of a mutation."""
    return [
        (file, number)
        for file in sorted((tree / "src").rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines())
        if line.strip() in mutation.lines
    ]


def tests_of(tree: Path, mutation: Mutation) -> list[str]:
    """Return the existing test files of a mutation, in its order, each once."""
    found: dict[str, None] = {}
    for pattern in mutation.tests:
        path = tree / "tests" / pattern
        files = sorted(path.rglob("test_*.py")) if path.is_dir() else sorted((tree / "tests").glob(pattern))
        found |= dict.fromkeys(str(file.relative_to(tree)) for file in files)
    if not found:
        raise ValueError(f"no tests are left of {mutation.tests}")
    return list(found)


def run_tests(tree: Path, tests: list[str], cache: Path, left_out: list[str]) -> tuple[str, str]:
    """Return the outcome, and the first test that failed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE", *tests]
    command += [f"--deselect={test}" for test in left_out]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "WANDERLUST_CACHE_DIR": str(cache)}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "timeout", ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    reason = failed[0] if failed else "" if done.returncode == 0 else (done.stdout + done.stderr)[-300:]
    return "survived" if done.returncode == 0 else "caught", reason


def outcome_of(tree: Path, mutation: Mutation, cache: Path, left_out: list[str]) -> tuple[str, str]:
    """Apply a mutation, run its tests, and restore the file."""
    found = places(tree, mutation)
    if not found:
        return "gone", ""
    file, number = found[0]
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    if mutation.old not in lines[number]:
        raise ValueError(f"{mutation.old!r} is not in the line {lines[number]!r}")
    lines[number] = lines[number].replace(mutation.old, mutation.new, 1)
    file.write_text("".join(lines), encoding="utf-8")
    try:
        return run_tests(tree, tests_of(tree, mutation), cache, left_out)
    finally:
        file.write_text(text, encoding="utf-8")
        shutil.rmtree(cache, ignore_errors=True)


def main() -> None:
    """Run all mutations that the log does not have."""
    parser = argparse.ArgumentParser(description="Put faults into the source; the tests must fail.")
    parser.add_argument("commit", help="what to test: a branch, a tag or a commit")
    parser.add_argument("--log", type=Path, required=True, help="one JSON line per mutation; continued if it exists")
    parser.add_argument("--only", default="", help="only mutations with this text in their tests or their line")
    parser.add_argument("--deselect", nargs="*", default=[], help="tests that fail without a mutation")
    parser.add_argument("--list", action="store_true", help="only say where the lines are")
    arguments = parser.parse_args()
    arguments.log.parent.mkdir(parents=True, exist_ok=True)
    log = arguments.log.read_text(encoding="utf-8").splitlines() if arguments.log.exists() else []
    outcomes = {entry["mutation"]: entry["outcome"] for entry in map(json.loads, log)}
    with tempfile.TemporaryDirectory() as folder:
        tree, cache = Path(folder) / "tree", Path(folder) / "cache"
        copy_commit(arguments.commit, tree)
        for i, mutation in enumerate(MUTATIONS, start=1):
            if arguments.only not in f"{' '.join(mutation.tests)} {mutation.name}":
                continue
            if arguments.list:
                found = [f"{file.relative_to(tree)}:{number + 1}" for file, number in places(tree, mutation)]
                print(f"{i:2} {mutation.name}: {', '.join(found) or 'gone'}")
                continue
            if mutation.name not in outcomes:
                began = time.monotonic()
                outcome, reason = outcome_of(tree, mutation, cache, arguments.deselect)
                outcomes[mutation.name] = outcome
                entry = {"mutation": mutation.name, "outcome": outcome, "by": reason}
                entry["seconds"] = str(round(time.monotonic() - began))
                with arguments.log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            print(f"{i:2} of {len(MUTATIONS)}  {outcomes[mutation.name]:9} {mutation.name}", flush=True)
    names = [mutation.name for mutation in MUTATIONS if mutation.name in outcomes]
    for outcome in ("caught", "survived", "gone", "timeout"):
        print(f"{outcome}: {sum(outcomes[name] == outcome for name in names)}")


if __name__ == "__main__":
    main()
