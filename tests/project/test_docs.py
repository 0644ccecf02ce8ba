"""Every example runs: the Python blocks of the pages, the cells of the tutorials, the commands, and `examples/`.

The commands run in a temporary folder with few steps and seeds. `NOT_RUN` lists those of which only the options are
checked, with the reason.
"""

import importlib.util
import re
import shlex
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.first]

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

sys.path.append(str(ROOT / "docs" / "site"))
import assemble  # noqa: E402
import command_page  # noqa: E402
import paper_map  # noqa: E402

PAPER_COMMANDS = {entry.command for entry in paper_map.entries()}
TEXTS = {
    **{page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES},
    **assemble.generated_pages(),
    "paper map, commands": "".join(f"```sh\n{each}\n```\n" for each in sorted(PAPER_COMMANDS)),
}

REPRODUCTION = "docs/reproducing.md"
REPRODUCE = ("wanderlust reproduce recap", "wanderlust report", "wanderlust results results/")
NOT_RUN = {
    "pip install": "it changes the Python that runs the tests; `make` installs the package before every test",
    ".venv/bin/pip install": "as `pip install`",
    "python3 -m venv": "`make` creates a virtual environment before every test",
    "make": "its targets run these tests; test_site.py checks that they exist",
    "python benchmarks/keep_results.py": "it replaces docs/results by those of a full run, which takes hours",
    **dict.fromkeys(REPRODUCE, "they take seconds, and run on one page: docs/reproducing.md"),
    "python benchmarks/leaderboard.py": "it examines all explorers, which takes hours; test_exam.py runs a small part",
    "wanderlust exam --leaderboard": "it takes no other options; test_exam.py runs it",
    "wanderlust sweep sweep.toml": "the page shows parts of the file; test_sweep.py and test_ray.py run such files",
    "wanderlust explain car.npz": "the page does not train this agent; test_commands.py explains states with bins",
    "wanderlust status": "it reads a sweep; test_sweep.py runs it",
    "wanderlust results": "as `status`",
    "wanderlust run 1d0c9e8b7a6f5e4d3c2b1a09": "it needs the key of a failed run; test_sweep_use.py runs it",
    "wanderlust studio": "it runs until it is stopped; test_studio_browser.py opens it, test_studio_server.py exports",
    "wanderlust reproduce list": "it takes seconds; test_experiments.py runs it",
    "wanderlust reproduce all": "it takes hours; test_experiments.py runs every experiment with few seeds",
    **{f"wanderlust reproduce {name}": "as `reproduce all`" for name in paper_map.study_names() if name != "recap"},
}
"""Beginning of a command -> why it is not run."""

SHORT = {
    "train": {"--steps": [200], "--episodes": [2]},
    "evaluate": {"--episodes": [2]},
    "compare": {"--steps": [200], "--seeds": [2], "--episodes": [2], "--jobs": [1]},
    "diagnose": {"--steps": [200], "--seeds": [1], "--jobs": [1]},
    "watch": {"--steps": [20]},
    "report": {"--formats": ["png"]},
    "exam": {"--families": ["lock"], "--levels": [1], "--seeds": [1], "--jobs": [1]},
    "sweep": {"--world": ["toy"], "--explorer": ["vv-ucb"], "--seeds": [1]},
    "reproduce": {
        "--quick": [], "--worlds": ["toy"], "--explorers": ["vv-ucb"], "--seeds": [1], "--jobs": [1],
        "--out": ["results"],
    },
}  # fmt: skip
"""Command -> the options that shorten it, in place of those on the page."""

FOLDERS = ("explorers/", "worlds/")
"""Folders with many short pages of the same form."""
READERS = ("report", "results", "evaluate", "explain")
WRITE = {"--save", "--out"}
FINISHED = []
"""The shortened commands that were run; of those that are the same but for names, in lists of worlds, one is."""
COPIES = ("contributing", "guide/own-explorer")
"""Pages of the site that repeat examples of CONTRIBUTING.md."""


def python_blocks(text):
    """Return the Python blocks of a text: examples and the cells of tutorials."""
    return re.findall(r"^```(?:python|\{code-cell\} python)\n(.*?)^```$", text, flags=re.M | re.S)


def commands(text):
    """Return the commands of the shell blocks of a text."""
    shell = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.M | re.S)
    return [line.partition(" #")[0].strip() for line in "".join(shell).splitlines()]


def is_run(command, page):
    """Return whether a command of a page is run."""
    if page == REPRODUCTION and f"{command} ".startswith(REPRODUCE):
        return True
    return not any(f"{command} ".startswith(f"{start} ") for start in NOT_RUN)


def shortened(words):
    """Return the arguments of a `wanderlust` command that takes seconds on its page, and a fraction of one here."""
    words = [word.replace("my_package:", "hunt:") for word in words]  # Two names of one module.
    for name, value in SHORT.get(words[0], {}).items():
        if name in words:
            start = words.index(name)
            end = next((i for i in range(start + 1, len(words)) if words[i].startswith("--")), len(words))
            del words[start:end]
        words += [name, *map(str, value)]
    return words


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
"""What each file of `examples/` prints."""

PYTHON_PAGES = [name for name, text in TEXTS.items() if python_blocks(text) and name not in COPIES]
SINGLE_PAGES = [name for name in PYTHON_PAGES if not name.startswith(FOLDERS)]


@pytest.mark.parametrize("name", SINGLE_PAGES)
def test_examples_run(name, processes, tmp_path):
    """The blocks of a page run in order as one script."""
    run_script("\n".join(python_blocks(TEXTS[name])), processes, tmp_path)


@pytest.mark.parametrize("folder", FOLDERS)
def test_examples_of_generated_pages_run(folder, processes, tmp_path):
    """The blocks of all explorers or all worlds run as one script."""
    pages = [name for name in TEXTS if name.startswith(folder) and not name.endswith("index")]
    assert set(pages) <= set(PYTHON_PAGES)
    code = "\n".join(block for name in pages for block in python_blocks(TEXTS[name]))
    # All explorers have the same example; 200 steps show whether it runs.
    run_script(code.replace("seed=1)", "seed=1, steps=200)"), processes, tmp_path)


def run_script(code, processes, tmp_path):
    """Run code as a script without warnings; it must print something."""
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    status, out, errors = processes.run_script(script, tmp_path)
    assert status == 0, errors
    assert out


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if commands(text) and name not in COPIES])
def test_commands_run(name, processes, tmp_path):
    """The commands of a page run in order in one folder, each without an error and with output."""
    for module, code in user_modules().items():
        (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
    page = [command for command in commands(TEXTS[name]) if is_run(command, name)]
    reads_files, done = any(command.split()[1] in READERS for command in page), []
    for command in page:
        program, *words = shlex.split(command)
        words = shortened(words)
        form = words
        if name.startswith((*FOLDERS, "paper map")):
            form = [words[0], *(word for word in words if word.startswith("--"))]
        # What another page has run is needed again if a command of this page may read what it writes.
        if form in (done if reads_files and WRITE.intersection(words) else FINISHED):
            continue
        assert program == "wanderlust", command
        code = processes.wait(processes.start_command(tmp_path, *words))
        assert code == 0, f"{command}: {(tmp_path / 'err.txt').read_text(encoding='utf-8')}"
        assert (tmp_path / "out.txt").stat().st_size > 0, command
        for each in (done, FINISHED):
            each.append(form)


def user_modules():
    """Return the modules that the commands name, with the code of the pages that describe them."""
    environment = python_blocks(TEXTS["docs/tutorials/own-environment.md"])[0]
    explorer = python_blocks(TEXTS["CONTRIBUTING.md"])[0]
    return {"hunt": environment, "my_package": environment, "mine": explorer}


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if commands(text)])
def test_commands_have_their_options(name):
    """All options of a command exist, also of those that do not run."""
    for command in commands(TEXTS[name]):
        program, *words = shlex.split(command)
        if program == "wanderlust":
            known = {word for each in command_page.parse(words[0]).arguments for word in each.name.split()}
            assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, command


@pytest.fixture(scope="module")
def keep_results():
    """Return the script that copies results into the documentation, as a module."""
    spec = importlib.util.spec_from_file_location("keep_results", ROOT / "benchmarks" / "keep_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_matches_stored_results(keep_results):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert keep_results.with_sentence(text, ROOT / "docs" / "results") == text
    marked = f"before\n{keep_results.MARKERS[0]}\nreplaced\n{keep_results.MARKERS[1]}\nafter"
    written = keep_results.with_sentence(marked, ROOT / "docs" / "results")
    assert keep_results.summary(ROOT / "docs" / "results") in written
    assert "replaced" not in written


def test_stored_results_are_complete():
    if not (ROOT / "docs" / "results" / "runs.csv.gz").exists():
        pytest.skip("a source distribution has no pictures of the results")
    page = (ROOT / "docs" / "results" / "README.md").read_text(encoding="utf-8")
    figures = re.findall(r"\]\(([\w./-]+\.png)\)", page)
    assert len(figures) >= 15
    for figure in figures:
        assert (ROOT / "docs" / "results" / figure).stat().st_size > 5_000


def test_incomplete_results_are_rejected(keep_results, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["keep_results.py", str(tmp_path)])
    with pytest.raises(SystemExit, match="no results of environments, toy-example, recap"):
        keep_results.main()


def test_every_example_is_run():
    elsewhere = {"demo", "deep_q_sb3", "deep_q_torch"}  # `make demo` and tests/integrations run them.
    assert {file.stem for file in (ROOT / "examples").glob("*.py")} == {*EXAMPLES, *elsewhere}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, processes, tmp_path):
    file = ROOT / "examples" / f"{name}.py"
    assert len(file.read_text(encoding="utf-8").splitlines()) < 50
    status, out, errors = processes.run_script(file, tmp_path)
    assert status == 0, errors
    assert re.search(EXAMPLES[name], out), out
