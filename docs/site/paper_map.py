"""The paper map: every figure, table, equation and algorithm, with its command, study, explorers and functions.

The studies come from `Study.reference`; the worlds and explorers of a study are those of its runs. A docstring that
cites an item ("Eq. 14", "Algorithm 3", "Figures 20 and 21") adds its function, class or module to that item.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from paper_items import ALGORITHMS, EQUATIONS, FIGURES, TABLES, Item

import wanderlust
from wanderlust_paper.registry import Study, StudySelection, find_study, study_names
from wanderlust_paper.reports.captions import CAPTIONS

SOURCES = Path(wanderlust.__file__).parents[1]
PACKAGES = ("wanderlust", "wanderlust_paper")
KINDS = {"Figure": FIGURES, "Table": TABLES, "Equation": EQUATIONS, "Algorithm": ALGORITHMS}
_PREFIXES = {"Fig": "Figure", "Tab": "Table", "Eq.": "Equation", "Alg": "Algorithm"}
_NUMBERS = r"\d+(?:(?:, | and | or | to |–)\d+)*"
_CITATION = re.compile(rf"(Figures?|Tables?|Eq\.|Algorithms?) ({_NUMBERS})")


@dataclasses.dataclass(frozen=True)
class Entry:
    """An item of the paper with everything that the code adds to it."""

    item: Item
    study: Study | None
    command: str
    worlds: tuple[str, ...]
    explorers: tuple[str, ...]
    functions: tuple[str, ...]
    """Full names, the most important first."""


def cited_items(text: str) -> Iterator[tuple[str, int]]:
    """Yield the items that a text cites, such as ("Figure", 20)."""
    for prefix, numbers in _CITATION.findall(text):
        for part in re.split(r", | and | or ", numbers):
            first, *last = (int(number) for number in re.split(r" to |–", part))
            for number in range(first, (last[0] if last else first) + 1):
                yield _PREFIXES[prefix[:3]], number


def source_files() -> list[Path]:
    """Return the source files of the library and of the paper."""
    return [file for package in PACKAGES for file in sorted((SOURCES / package).rglob("*.py"))]


def module_name(file: Path) -> str:
    """Return the module of a source file of the package."""
    parts = file.relative_to(SOURCES).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def definitions() -> dict[str, tuple[Path, int, str]]:
    """Return full name -> (file, line, docstring) of every module, class, function and method of the package."""
    found = {}
    for file in source_files():
        module, tree = module_name(file), ast.parse(file.read_text(encoding="utf-8"))
        found[module] = (file, 1, ast.get_docstring(tree) or "")
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[f"{module}.{node.name}"] = (file, node.lineno, ast.get_docstring(node) or "")
                for inner in node.body if isinstance(node, ast.ClassDef) else ():
                    if isinstance(inner, ast.FunctionDef):
                        name = f"{module}.{node.name}.{inner.name}"
                        found[name] = (file, inner.lineno, ast.get_docstring(inner) or "")
    return found


@functools.cache
def citations() -> dict[tuple[str, int], list[str]]:
    """Return item -> the objects whose docstrings cite it. The index of the experiments is left out."""
    cited = defaultdict(list)
    for name, (_, _, text) in definitions().items():
        if name != "wanderlust_paper.studies":
            for item in dict.fromkeys(cited_items(text)):
                cited[item].append(name)
    return dict(cited)


@functools.cache
def studies() -> dict[tuple[str, int], Study]:
    """Return item -> the study that reproduces it."""
    return {item: study for study in map(find_study, study_names()) for item in cited_items(study.reference)}


def study_module(study: Study) -> str:
    """Return the module of a study."""
    return f"wanderlust_paper.studies.{study.id.replace('-', '_')}"


@functools.cache
def _runs_of(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the worlds and explorers of a study."""
    runs = find_study(name).runs(StudySelection(quick=True))
    return tuple(dict.fromkeys(run.world for run in runs)), tuple(dict.fromkeys(run.explorer for run in runs))


def _entry(item: Item) -> Entry:
    key = (item.kind, item.number)
    study = studies().get(key)
    worlds, explorers = _runs_of(study.id) if study else ((), ())
    functions = [name if name.startswith("wanderlust_paper.") else f"wanderlust.{name}" for name in item.functions]
    functions += [name for name in citations().get(key, ()) if name not in functions]
    return Entry(
        item,
        study,
        item.command or (f"wanderlust reproduce {study.id}" if study else ""),
        item.worlds or worlds,
        item.explorers or explorers,
        tuple(functions),
    )


@functools.cache
def entries() -> tuple[Entry, ...]:
    """Return the whole map, in the order of the paper within each kind."""
    return tuple(_entry(item) for items in KINDS.values() for item in items)


@functools.cache
def items_of_function() -> dict[str, list[Item]]:
    """Return full name -> the items whose code it is."""
    found = defaultdict(list)
    for entry in entries():
        for name in entry.functions:
            found[name].append(entry.item)
    return dict(found)


def item_link(item: Item) -> str:
    """Return a link to the section of an item."""
    return f"{{ref}}`{item.name} <{item.label}>`"


def item_links(items: list[Item]) -> str:
    """Return links to several items, grouped by kind: "Figures 4, 6 · Eq. 12"."""
    groups = []
    for kind in KINDS:
        links = [f"{{ref}}`{item.number} <{item.label}>`" for item in items if item.kind == kind]
        if links:
            plural = "Eq." if kind == "Equation" else kind + ("s" if len(links) > 1 else "")
            groups.append(f"{plural} {', '.join(links)}")
    return " · ".join(groups)


def explorer_items(name: str) -> list[Item]:
    """Return the items that concern an explorer."""
    return [entry.item for entry in entries() if name in entry.explorers]


def world_items(name: str) -> list[Item]:
    """Return the items that concern a world."""
    return [entry.item for entry in entries() if name in entry.worlds]


def source_link(name: str) -> str:
    """Return a link to the source of an object, with the file and the object as text."""
    return f"{{source}}`{name}`"


def page() -> str:
    """Return the page of the map."""
    parts = [_INTRODUCTION]
    for kind, items in KINDS.items():
        links = " ".join(f"{{ref}}`{item.number} <{item.label}>`" for item in items)
        parts.append(f"{kind}s\n: {links}\n")
    for kind in KINDS:
        parts.append(f"\n## {kind}s\n")
        parts += [_section(entry) for entry in entries() if entry.item.kind == kind]
    return "\n".join(parts)


_INTRODUCTION = """\
(paper-map)=
# The paper map

Every numbered figure, table, equation and algorithm of
[Parisi et al. (2022)](https://doi.org/10.3390/a15030081), with the command that reproduces or uses it, the study's
file, the worlds, the explorers and the functions. The way back: every documented function lists its items under *In the
paper*, and every source page has a link *\\[docs\\]* to that documentation.

From Figure 7 to the line of code of W's target: {ref}`Figure 7 <figure-7>`, then the explorer
{ref}`vv-ucb <explorer-vv-ucb>`, then {source}`wanderlust.learning.td.td_target` next to Eq. 12.
"""


def results_link(item: Item) -> str:
    """Return a link to the picture or table of the results; empty for equations and algorithms."""
    if item.kind == "Table":
        page = {1: "results/README.md#table-1", 2: "results/environments/table.md"}.get(item.number)
        return f"[{item.name}]({page or 'results/recap/tables.md'})"
    figures = [figure for figure, _ in CAPTIONS.values() if figure.partition(",")[0] == str(item.number)]
    slugs = [(figure, re.sub("[^a-z0-9]+", "-", f"figure-{figure}")) for figure in figures]
    links = [f"[Figure {figure}](results/README.md#{slug})" for figure, slug in slugs]
    return ", ".join(links) if item.kind == "Figure" else ""


def _section(entry: Entry) -> str:
    item = entry.item
    rows = [("command", f"`{entry.command}`")] if entry.command else []
    if entry.study:
        rows.append(("study", f"{source_link(study_module(entry.study))}: {entry.study.description}"))
    rows += [
        ("our result", results_link(item)),
        ("worlds", ", ".join(f"{{ref}}`{name} <world-{name}>`" for name in entry.worlds)),
        ("explorers", ", ".join(f"{{ref}}`{name} <explorer-{name}>`" for name in entry.explorers)),
        ("code", "<br>".join(map(source_link, entry.functions))),
    ]
    if item.kind in ("Equation", "Algorithm"):
        shown = {each.label: each for name in entry.explorers for each in explorer_items(name)}
        rows.append(("used in", item_links([each for each in shown.values() if each.kind in ("Figure", "Table")])))
    table = "\n".join(f"| {name} | {text} |" for name, text in rows if text)
    formula = f"\n$$\n{item.formula}\n$$\n" if item.formula else ""
    title = f"{item.title[0].upper()}{item.title[1:]}. Section {item.section}."
    if item.section.startswith("A"):
        title = title.replace("Section", "Appendix")
    return f"({item.label})=\n### {item.name}\n\n{title}\n{formula}\n| | |\n|---|---|\n{table}\n"
