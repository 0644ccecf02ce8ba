"""Check the built site: every internal link resolves, and the paper is three clicks from the code, both ways.

python docs/site/check_site.py build/docs
"""

from __future__ import annotations

import sys
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from paper_map import definitions, entries, module_name

CLICKS = 3
TARGET_OF_W = ("figure-7", "wanderlust.learning.td.td_target")
"""A way that is not in the map itself: from the first picture of a world to the line that computes the target of W."""


class Page(HTMLParser):
    """The links and anchors of a page, each link with the anchors of the parts of the page that contain it."""

    def __init__(self, file: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = {""}
        self.links: list[tuple[frozenset[str], str]] = []
        self._parts: list[tuple[str, set[str]]] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect ids, links and images."""
        values = dict(attrs)
        name = values.get("id") or ""
        self.anchors.add(name)
        if tag in ("section", "div", "dl"):
            # Sections, blocks of source code, and the documentation of objects, whose anchor is in its first line.
            is_part = tag == "section" or "viewcode-block" in (values.get("class") or "")
            self._parts.append((tag, {name} if is_part else set()))
        elif name and self._parts and ((tag, self._parts[-1][0]) in (("span", "section"), ("dt", "dl"))):
            self._parts[-1][1].add(name)
        for attribute in ("href", "src"):
            if values.get(attribute) and tag in ("a", "img", "script", "link", "iframe"):
                inside = frozenset(anchor for _, anchors in self._parts for anchor in anchors)
                self.links.append((inside, values[attribute] or ""))

    def handle_endtag(self, tag: str) -> None:
        """Leave a part of the page."""
        if tag in ("section", "div", "dl"):
            assert self._parts.pop()[0] == tag, f"unbalanced <{tag}>"


def resolve(page: str, link: str) -> str | None:
    """Return the page and anchor that an internal link leads to; None for an external link."""
    if urlsplit(link).scheme or link.startswith("//"):
        return None
    path, anchor = urldefrag(unquote(link))
    path = path.partition("?")[0]
    parts = [*page.split("/")[:-1], *path.split("/")] if path else page.split("/")
    normal: list[str] = []
    for part in parts:
        if part == "..":
            normal.pop()
        elif part not in ("", "."):
            normal.append(part)
    target = "/".join(normal)
    return f"{target}#{anchor}" if anchor else target


def broken_links(site: Path, pages: dict[str, Page]) -> list[str]:
    """Return every internal link without a target."""
    broken = []
    for name, page in pages.items():
        for _, link in page.links:
            target = resolve(name, link)
            if target is None:
                continue
            path, _, anchor = target.partition("#")
            if not (site / path).exists():
                broken.append(f"{name}: {link}: no such file")
            elif path in pages and anchor not in pages[path].anchors:
                broken.append(f"{name}: {link}: no such anchor")
    return broken


def graph(pages: dict[str, Page]) -> dict[str, set[str]]:
    """Return place -> the places one click away. The navigation, which is on every page, does not count."""
    clicks: dict[str, set[str]] = defaultdict(set)
    for name, page in pages.items():
        for inside, link in page.links:
            target = resolve(name, link)
            if target and inside:
                for place in (name, *(f"{name}#{anchor}" for anchor in inside)):
                    clicks[place].add(target)
    return clicks


def way(clicks: dict[str, set[str]], start: str, goal: str) -> list[str]:
    """Return the places on the shortest way between two places; empty if it takes more than `CLICKS` clicks."""
    before = {start: ""}
    reached = {start}
    for _ in range(CLICKS):
        found = {target: place for place in sorted(reached) for target in sorted(clicks.get(place, ()))}
        reached = found.keys() - before.keys()
        before |= {target: found[target] for target in reached}
    places = [goal] if goal in before else []
    while places and before[places[0]]:
        places.insert(0, before[places[0]])
    return places


def missing_ways(pages: dict[str, Page]) -> list[str]:
    """Return the items of the paper that are not within three clicks of their code, or the code of them."""
    clicks, missing = graph(pages), []
    ways = [(entry.item.label, name) for entry in entries() for name in entry.functions[:1]]
    for label, name in [*ways, TARGET_OF_W]:
        module = module_name(definitions()[name][0])
        anchor = name.removeprefix(module).lstrip(".")
        source = f"_modules/{module.replace('.', '/')}.html" + (f"#{anchor}" if anchor else "")
        item = f"paper-map.html#{label}"
        there, back = way(clicks, item, source), way(clicks, source, item)
        missing += [f"{item} -> {source}: more than {CLICKS} clicks"] if not there else []
        missing += [f"{source} -> {item}: more than {CLICKS} clicks"] if not back else []
        if (label, name) == TARGET_OF_W:
            print(" -> ".join(there), " -> ".join(back), sep="\n")
    return missing


def main() -> None:
    """Check the folder given on the command line."""
    site = Path(sys.argv[1])
    pages = {file.relative_to(site).as_posix(): Page(file) for file in sorted(site.rglob("*.html"))}
    problems = broken_links(site, pages) + missing_ways(pages)
    for problem in problems[:50]:
        print(problem)
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values()):,} links, {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
