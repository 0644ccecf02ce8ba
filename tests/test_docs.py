"""Every Python example of the documentation runs, and every name and link in it exists."""

import functools
import importlib.util
import itertools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import wanderlust as wl
from wanderlust.explorers.protocol import class_options
from wanderlust.explorers.registry import explorer_class
from wanderlust.worlds import world_options

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


sys.path.append(str(ROOT / "docs" / "site"))
import assemble  # noqa: E402
import explorer_pages  # noqa: E402
import paper_map  # noqa: E402
import world_pages  # noqa: E402

GENERATED = assemble.generated_pages()


def python_blocks(text):
    """Return the Python blocks of a text: examples and the cells of tutorials."""
    return re.findall(r"^```(?:python|\{code-cell\} python)\n(.*?)^```$", text, flags=re.M | re.S)


def blocks(page):
    """Return the Python blocks of a page."""
    return python_blocks(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_examples_run(page, tmp_path):
    """The blocks of a page run in order as one script."""
    run_script("\n".join(blocks(page)), tmp_path)


@pytest.mark.parametrize("folder", ["explorers", "worlds"])
def test_examples_of_generated_pages_run(folder, tmp_path):
    pages = [text for name, text in GENERATED.items() if name.startswith(f"{folder}/") and not name.endswith("index")]
    code = [python_blocks(text) for text in pages]
    assert all(code)
    run_script("\n".join(block for each in code for block in each), tmp_path)


def run_script(code, tmp_path):
    """Run code as a script without warnings; it must print something."""
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    path = os.pathsep.join([str(Path(wl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", script.name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1", "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def shell_commands():
    """Yield every `wanderlust` command of the shell blocks, with the page it is on."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in PAGES} | GENERATED
    for name, text in texts.items():
        for block in re.findall(r"^```sh\n(.*?)^```$", text, flags=re.M | re.S):
            for line in block.splitlines():
                if line.startswith("wanderlust "):
                    yield name, line.partition(" #")[0].strip()
    yield from (("paper-map", entry.command) for entry in paper_map.entries())


@functools.cache
def help_of(subcommand):
    """Return the help text of a subcommand, in one line."""
    done = subprocess.run(
        [sys.executable, "-m", "wanderlust", subcommand, "--help"],
        env={**os.environ, "COLUMNS": "200", "PYTHONPATH": str(Path(wl.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_commands_have_the_options_that_the_pages_use():
    for page, command in shell_commands():
        _, subcommand, *arguments = shlex.split(command)
        for argument in arguments:
            if argument.startswith("--"):
                assert re.search(rf"{argument}\b", help_of(subcommand)), f"{page}: {command}"
        for name, value in itertools.pairwise(arguments):
            if name == "--explorer":
                assert ":" in value or value in wl.explorer_names(), f"{page}: {command}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_link_targets_exist(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def rows(page, heading):
    """Return the cells of the first table after a heading."""
    _, _, rest = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    lines = re.search(r"(?:^\|.*\n)+", rest, flags=re.M).group().splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_readme_lists_every_explorer_and_world():
    explorers = [name for row in rows(ROOT / "README.md", "Explorers") for name in re.findall(r"`(.+?)`", row[0])]
    assert sorted(explorers) == sorted(set(wl.explorer_names()) - {"fading"})
    worlds = [name for row in rows(ROOT / "README.md", "Worlds") for name in re.findall(r"`(.+?)`", row[0])]
    assert worlds == list(wl.world_names())


def test_every_deviation_is_listed_with_options_that_exist():
    page = ROOT / "docs" / "deviations.md"
    table = [row for part in ("Explorers", "Memory and evaluation", "Worlds") for row in rows(page, part)]
    assert sorted(int(row[0]) for row in table) == list(range(1, 27))
    known = {"with_slips", "Record.returns", "Record.steps", "Record.policy_values", "capacity", "batch"}
    known |= {"wanderlust.core.planning", "wanderlust.core.planning.policy_value"}
    known |= set(wl.Settings.__dataclass_fields__) | set(wl.explorer_names()) | set(wl.world_names())
    for name in wl.explorer_names():
        known |= {option.name for option in class_options(explorer_class(name))}
    for name in wl.world_names():
        known |= {option.name for option in world_options(name)}
    for row in table:
        assert len(row) == 6, row
        assert set(re.findall(r"`(.+?)`", f"{row[4]} {row[5]}")) <= known, row


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
    marked = f"before\n{keep_results.MARKERS[0]}\nold\n{keep_results.MARKERS[1]}\nafter"
    written = keep_results.with_sentence(marked, ROOT / "docs" / "results")
    assert keep_results.summary(ROOT / "docs" / "results") in written
    assert "old" not in written


def test_stored_results_are_complete():
    page = (ROOT / "docs" / "results" / "README.md").read_text(encoding="utf-8")
    figures = re.findall(r"\]\(([\w./-]+\.png)\)", page)
    assert len(figures) >= 15
    for figure in figures:
        assert (ROOT / "docs" / "results" / figure).stat().st_size > 5_000


def test_incomplete_results_are_rejected(keep_results, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["keep_results.py", str(tmp_path)])
    with pytest.raises(SystemExit, match="no results of environments, toy-example, recap"):
        keep_results.main()


def test_the_paper_map_has_every_item():
    numbers = {kind: [item.number for item in items] for kind, items in paper_map.KINDS.items()}
    last = {"Figure": 28, "Table": 8, "Equation": 34, "Algorithm": 6}
    assert numbers == {kind: list(range(1, n + 1)) for kind, n in last.items()}
    for kind, number in [*paper_map.citations(), *paper_map.studies()]:
        assert number in numbers[kind], f"the code cites {kind} {number}"


@pytest.mark.parametrize("entry", paper_map.entries(), ids=lambda entry: entry.item.label)
def test_the_paper_map_resolves(entry):
    """Every item has a command and functions, at the line of their definition; its explorers and worlds exist."""
    assert entry.command
    assert entry.explorers
    assert set(entry.explorers) <= set(wl.explorer_names())
    assert set(entry.worlds) <= set(wl.world_names())
    assert entry.functions
    for name in entry.functions:
        file, line, _ = paper_map.definitions()[name]
        if line > 1:
            text = file.read_text(encoding="utf-8").splitlines()[line - 1]
            assert re.match(rf"\s*(def|class) {name.rpartition('.')[2]}\b", text), f"{file}:{line}: {text}"
    words = shlex.split(entry.command)
    if words[1] == "reproduce":
        worlds = tuple(words[words.index("--worlds") + 1 :]) if "--worlds" in words else None
        study = paper_map.find_study(words[2])
        assert worlds is None or study.runs(paper_map.StudySelection(worlds=worlds, quick=True))
        assert entry.study is None or entry.study.id == study.id
    elif words[1] in ("watch", "train", "compare"):
        assert words[2] in wl.world_names()


def test_cited_explorers_are_in_the_paper_map():
    """The explorer whose docstring cites an equation or an algorithm is an explorer of that item."""
    classes = {explorer_class(name): name for name in explorer_pages.names()}
    for entry in paper_map.entries():
        for cls, name in classes.items():
            prefix = f"{cls.__module__}.{cls.__name__}"
            if any(f"{function}.".startswith(f"{prefix}.") for function in entry.functions):
                assert name in entry.explorers, entry.item.label


def test_every_explorer_and_world_has_a_page():
    built_in = [name for name in wl.explorer_names() if explorer_class(name).__module__.startswith("wanderlust.")]
    assert sorted(explorer_pages.names()) == sorted(explorer_pages.NOTES) == sorted(built_in)
    assert tuple(world_pages.FACTORIES) == wl.world_names()
    for name in explorer_pages.names():
        page = GENERATED[f"explorers/{name}"]
        assert all(f"`{option.name}`" in page for option in wl.explorer_options(name))


def test_pages_name_existing_objects():
    """Links to sources and to the API reference name modules, classes and functions that exist."""
    texts = {page.name: assemble.site_links(page.read_text(encoding="utf-8"), "") for page in PAGES} | GENERATED
    for page, text in texts.items():
        for name in re.findall(r"\{source\}`([\w.]+)`|\{py:\w+\}`[^`<]*<?(wanderlust[\w.]+)>?`", text):
            assert "".join(name) in paper_map.definitions(), f"{page}: {name}"
        for label in re.findall(r"\{ref\}`[^`<]*<([\w-]+)>`", text):
            assert f"({label})=" in "".join(GENERATED.values()), f"{page}: {label}"
