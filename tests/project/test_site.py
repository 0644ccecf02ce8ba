"""The site: every name, link and number of the pages exists, and the paper map is complete."""

import re
import shlex
import sys
from pathlib import Path

import pytest

import wanderlust as wl
from wanderlust.explorers.protocol import class_options, explorer_class
from wanderlust.worlds import world_options
from wanderlust.worlds.registry import world_factory

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

sys.path.append(str(ROOT / "docs" / "site"))
import assemble  # noqa: E402
import check_site  # noqa: E402
import command_page  # noqa: E402
import explorer_pages  # noqa: E402
import paper_map  # noqa: E402

GENERATED = assemble.generated_pages()
MAKE = re.compile(r"(?:^|`|run: )make ([a-z-]+)", flags=re.M)


def test_link_targets_exist_and_pages_have_no_roles():
    """Links are plain Markdown, which GitHub shows as links, too."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"\{[\w:]+\}`", text), page
        if page.parent.name == "results" and not (page.parent / "runs.csv.gz").exists():
            continue  # A source distribution has no pictures and no table of the runs.
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            assert (page.parent / target).exists(), (page, target)


def rows(page, heading):
    """Return the cells of the first table after a heading."""
    _, _, rest = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    lines = re.search(r"(?:^\|.*\n)+", rest, flags=re.M).group().splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_readme_lists_the_explorers_in_their_order():
    """Every one that has a note in the documentation; `wanderlust explorers`, which it names, lists all."""
    explorers = [name for row in rows(ROOT / "README.md", "Explorers") for name in re.findall(r"`(.+?)`", row[0])]
    assert sorted(explorers) == sorted(explorer_pages.NOTES)
    assert [name for name in explorers if name in explorer_pages.EXPLORERS] == list(explorer_pages.EXPLORERS)


def test_readme_is_short():
    """Two screens: a hundred lines besides the results, which a script writes between two comments."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = re.sub(r"<!-- results: .*<!-- end of results -->", "", text, flags=re.S).splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 100


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {wl.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


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


def test_every_explorer_and_world_has_a_page():
    built_in = [name for name in wl.explorer_names() if explorer_class(name).__module__.startswith("wanderlust.")]
    assert sorted(explorer_pages.names()) == sorted(built_in)
    assert explorer_pages.NOTES.keys() <= set(built_in)
    # Other tests of the same process may have registered worlds.
    worlds = [name for name in wl.world_names() if world_factory(name).__module__.startswith("wanderlust.")]
    assert len(worlds) == 11
    assert all(f"worlds/{name}" in GENERATED for name in worlds)
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


@pytest.mark.parametrize("name", command_page.commands())
def test_every_command_is_described(name):
    """The help of a command has a text, an example and the meaning of every argument, and the page has all of them."""
    command, page = command_page.parse(name), GENERATED["commands"]
    assert command.texts
    assert command.examples
    assert all(example.startswith(f"wanderlust {name}") and f"\n{example}\n" in page for example in command.examples)
    for argument in command.arguments:
        assert argument.meaning.endswith((".", ")")), argument
        assert f"\n| `{argument.name}` | {argument.default} |" in page
    assert page.count(f"\n## {name}\n") == page.count(f"](#{name})") == 1


def test_the_tests_of_the_entry_points_exist():
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8"))
    assert len(named) > 40
    for file, function in named:
        assert f"def {function}(" in (ROOT / "tests" / file).read_text(encoding="utf-8"), (file, function)


def test_make_targets_exist():
    """The workflows, the templates and the pages name targets that the Makefile has."""
    targets = set(re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)[1].split())
    files = [*PAGES, *(ROOT / ".github").rglob("*.*"), ROOT / ".ci" / "run", ROOT / ".pre-commit-config.yaml"]
    used = [name for file in files for name in MAKE.findall(file.read_text(encoding="utf-8"))]
    assert {"demo", "test", "docs"} <= set(used) <= targets


def test_the_check_of_the_site_finds_what_is_wrong(tmp_path):
    """A missing page, a missing anchor, and a way that takes more than three clicks are found."""
    for i in range(5):
        link = f'<a href="{i + 1}.html#part">next</a>' if i < 4 else '<a href="9.html">9</a><a href="0.html#no">0</a>'
        (tmp_path / f"{i}.html").write_text(f'<section id="part">{link}</section>', encoding="utf-8")
    pages = {file.name: check_site.Page(file) for file in tmp_path.glob("*.html")}
    broken = sorted(check_site.broken_links(tmp_path, pages))
    assert broken == ["4.html: 0.html#no: no such anchor", "4.html: 9.html: no such file"]
    clicks = check_site.graph(pages)
    assert check_site.way(clicks, "0.html#part", "3.html#part") == [f"{i}.html#part" for i in range(4)]
    assert not check_site.way(clicks, "0.html#part", "4.html#part")
