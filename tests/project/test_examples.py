"""Every example runs and prints the expected results."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = {
    "deep_q_linear": r"first reward at step \d+\n.*\nvalue of the start state: 0\.8[67]",
    "own_loop": r"first reward at step \d+\n.*\nvalue of the start state: 0\.[78]",
    "own_map": r"optimal return: 8\..*\nvv-ucb +return 8\..*\nepsilon-greedy +return 0\.",
    "minigrid_door": r"return of the greedy policy: 0\.9",
    "mountain_car": r"the goal was first reached at step \d+",
    "frozen_lake_exact": r"optimal value of the start state: 0\.542",
    "track_experiments": r"steps: 2000 logged to: ",
    "own_explorer": r"half-life   1: discovered \d+ of 25 states",
}


def test_every_example_is_run():
    elsewhere = {"demo", "deep_q_sb3", "deep_q_torch"}  # `make demo` and tests/integrations run them.
    assert {file.stem for file in FOLDER.glob("*.py")} == {*EXAMPLES, *elsewhere}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, processes, tmp_path):
    file = FOLDER / f"{name}.py"
    assert len(file.read_text(encoding="utf-8").splitlines()) < 50
    status, out, errors = processes.run_script(file, tmp_path)
    assert status == 0, errors
    assert re.search(EXAMPLES[name], out), out
