"""Sweeps as a lab uses them, each command in a process of its own."""

import json
import subprocess

import pytest

from wanderlust.experiments.store import Store

pytestmark = pytest.mark.slow

LAKE = "import gymnasium as gym\n\ndef lake():\n    return gym.make('FrozenLake-v1')\n"


def rows_of(processes, folder, *words):
    processes.command(folder, "results", "results", "--to", "rows.json", *words)
    return json.loads((folder / "rows.json").read_text())


def git(folder, *words):
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_commit_of_the_code_and_the_removal_of_results_of_earlier_code(tmp_path, processes):
    code = tmp_path / "lake_of_a_lab.py"
    code.write_text(LAKE)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", code.name)
    git(tmp_path, "commit", "-q", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")[:12]
    words = ("--explorer", "random", "--set", "steps=50", "--seeds", "2")
    sweep = ("sweep", "--environment", "lake_of_a_lab:lake", *words)
    for text in (LAKE, LAKE + "# edited\n"):
        code.write_text(text)
        processes.command(tmp_path, *sweep)
    processes.command(tmp_path, "sweep", "--world", "toy", *words)
    old_and_new = rows_of(processes, tmp_path, "--all-versions")
    assert sorted(row["git"] for row in old_and_new) == ["", "", commit, commit, f"{commit}-dirty", f"{commit}-dirty"]
    assert "2 of 6 stored results would be removed" in processes.command(tmp_path, "clean", "results")
    assert len(Store(tmp_path / "results").stored_keys()) == 6
    assert "2 of 6 stored results removed" in processes.command(tmp_path, "clean", "results", "--delete")
    assert sorted(row["git"] for row in rows_of(processes, tmp_path)) == ["", "", f"{commit}-dirty", f"{commit}-dirty"]
    assert "nothing to remove" in processes.command(tmp_path, "clean", "results", "--delete")
    code.unlink()
    code.with_name("results").rename(tmp_path / "other")
    assert "nothing to remove" in processes.command(tmp_path, "clean", "other"), "the only results of a run stay"
