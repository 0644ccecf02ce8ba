"""Assemble the sources of the site: the pages of docs/, pages generated from the code, and pictures.

    python docs/site/assemble.py build/docs-source

Files that did not change keep their time, so that Sphinx reads only what changed.
"""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

import api_pages
import command_page
import explorer_pages
import paper_map
import world_pages

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)*)([^)#\s]+)(#[^)]*)?\)")
_OWN_EXPLORER = "## Add an explorer in 30 lines"


_GENERATED = {
    "README.md": "start.md",
    "CONTRIBUTING.md": "contributing.md",
    "CONTRIBUTING.md#from-the-paper-to-the-code": "paper-map.md",
    "CONTRIBUTING.md#add-an-explorer-in-30-lines": "guide/own-explorer.md",
    "src/wanderlust/explorers": "explorers/index.md",
    "src/wanderlust/worlds": "worlds/index.md",
    "src/wanderlust/cli": "commands.md",
}
"""Files and folders of the repository -> the pages of the site that take their place."""


@functools.cache
def generated_pages() -> dict[str, str]:
    """Return the text of every page that is generated, by its path without suffix."""
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    before, _, section = contributing.partition(f"{_OWN_EXPLORER}\n")
    return {
        "contributing": site_links(f"{before}{_OWN_EXPLORER}\n\nSee [the user guide](guide/own-explorer.md).\n", ""),
        "changelog": site_links((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), ""),
        "guide/own-explorer": "# Your own explorer\n" + site_links(section, "../"),
        "paper-map": paper_map.page(),
        "commands": command_page.page(),
        **explorer_pages.pages(),
        **world_pages.pages(),
        **api_pages.pages(),
    }


def site_links(text: str, to_root: str) -> str:
    """Rewrite links to files outside docs/: sources to their pages, the README to the start page."""

    def rewrite(match: re.Match[str]) -> str:
        label, _, path, anchor = match.groups()
        page = _GENERATED.get(f"{path}{anchor or ''}")
        if page:
            return f"[{label}]({to_root}{page})"
        if path.startswith("src/wanderlust"):
            module = path.removeprefix("src/").removesuffix(".py").strip("/").replace("/", ".")
            name = f"{module}.{label.strip('`')}"
            if name in paper_map.definitions():
                return paper_map.source_link(name)
            return f"{{py:mod}}`{label.strip('`')} <{module}>`"
        if path.startswith("examples"):
            return f"[{label}]({to_root}{path})"
        if path.startswith("docs/"):
            return f"[{label}]({to_root}{path.removeprefix('docs/')}{anchor or ''})"
        return match.group()

    return _LINK.sub(rewrite, text)


def write(path: Path, contents: bytes) -> None:
    """Write a file unless it has this content already."""
    if not path.exists() or path.read_bytes() != contents:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)


def _toctree(names: list[str]) -> str:
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def assemble(target: Path) -> None:
    """Write all sources into a folder, and remove all other files from it."""
    pages = {f"{name}.md": text.encode() for name, text in generated_pages().items()}
    for file in DOCS.rglob("*"):
        path = file.relative_to(DOCS)
        if file.is_file() and path.parts[0] != "site":
            contents = file.read_bytes()
            if file.suffix == ".md":
                contents = site_links(contents.decode(), "../" * (len(path.parts) - 1)).encode()
            pages[path.as_posix()] = contents
    tables = sorted(path.removesuffix(".md") for path in pages if path.startswith("results/") and path.endswith(".md"))
    pages["results/README.md"] += _toctree([f"/{path}" for path in tables if path != "results/README"]).encode()
    pages |= {f"examples/{file.name}": file.read_bytes() for file in (ROOT / "examples").glob("*.py")}
    for path, contents in pages.items():
        write(target / path, contents)
    for file in target.rglob("*.md"):
        if file.relative_to(target).as_posix() not in pages:
            file.unlink()


def main() -> None:
    """Write the sources into the folder given on the command line."""
    from pictures import draw_curves, draw_worlds
    from recordings import write_recordings

    target = Path(sys.argv[1])
    assemble(target)
    write_recordings(target.parent / "docs-extra" / "recordings")
    if _is_outdated(target / "worlds" / "wall.png"):
        draw_worlds(target / "worlds")
    if _is_outdated(target / "explorers" / "all.png"):
        draw_curves(target / "explorers")


def _is_outdated(picture: Path) -> bool:
    """Return whether a picture is missing or older than the code."""
    sources = [*paper_map.source_files(), *Path(__file__).parent.glob("*.py")]
    return not picture.exists() or picture.stat().st_mtime < max(file.stat().st_mtime for file in sources)


if __name__ == "__main__":
    main()
