"""The Sphinx extension of the site: links to source lines, formulas as images, and the markup of our docstrings."""

from __future__ import annotations

import hashlib
import html
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
from docutils import nodes
from matplotlib.figure import Figure
from paper_map import definitions, items_of_function, module_name
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxRole

_CODE = re.compile(r"(`+)(.+?)\1")
_POINTS, _SCALE = 12.0, 1.1
_BULLET = re.compile(r"\s*\* ")


class SourceRole(SphinxRole):
    """A link to the source of an object: {source}`wanderlust.learning.td.td_target`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the link, with the file and the object as its text."""
        if self.text not in definitions():
            message = self.inliner.reporter.error(f"no object {self.text!r} in the package", line=self.lineno)
            return [], [message]
        file, line, _ = definitions()[self.text]
        module = module_name(file)
        name = self.text.removeprefix(module).lstrip(".")
        path = "/".join(module.split(".")[1:]) or "wanderlust"
        text = f"{path}.py" + (f": {name}" if name else "")
        # viewcode writes one page per module, with an anchor for every object.
        target = f"_modules/{module.replace('.', '/')}.html" + (f"#{name}" if name else "")
        uri = "../" * self.env.docname.count("/") + target
        link = nodes.reference("", "", nodes.literal(text, text), refuri=uri, reftitle=f"line {line}")
        return [link], []


def math_inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(_image(self, node.astext()))
    raise nodes.SkipNode


def math_block(self: Any, node: nodes.math_block) -> None:
    """Write a formula as a block."""
    self.body.append(f'<div class="math">{_image(self, node.astext())}</div>\n')
    raise nodes.SkipNode


def _image(translator: Any, formula: str) -> str:
    """Return an image drawn by matplotlib: it needs no script from the internet and no mathematical font."""
    formula = " ".join(formula.split()).replace("\\frac", "\\dfrac")
    builder = translator.builder
    name = f"{hashlib.sha256(formula.encode()).hexdigest()[:16]}.svg"
    file = Path(builder.outdir) / "_images" / "math" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    image = io.StringIO()
    with matplotlib.rc_context({"mathtext.fontset": "stix", "svg.hashsalt": "wanderlust"}):
        figure = Figure(figsize=(1, 1))
        figure.text(0, 0, f"${formula}$", fontsize=_POINTS)
        options = {"bbox_inches": "tight", "pad_inches": 0.02, "transparent": True, "metadata": {"Date": None}}
        figure.savefig(image, format="svg", **options)
    text = image.getvalue()
    file.write_text(text, encoding="utf-8")
    width, height = (
        _SCALE * float(value) / _POINTS for value in re.findall(r'(?:width|height)="([0-9.]+)pt"', text)[:2]
    )
    uri = "../" * builder.current_docname.count("/") + f"_images/math/{name}"
    size = f"width: {width:.2f}em; height: {height:.2f}em"
    return f'<img class="formula" src="{uri}" alt="{html.escape(formula)}" style="{size}">'


def as_rst(lines: list[str]) -> Iterator[str]:
    """Convert a docstring: text between backquotes and indented lines are code, and nothing else is markup."""
    in_list = in_code = False
    for i, line in enumerate(lines):
        text = line.strip()
        indented = line.startswith("    ") and not in_list
        if indented and not in_code and (i == 0 or not lines[i - 1].strip()):
            yield from (".. code-block:: text", "")
            in_code = True
        if in_code and (indented or not text):
            yield line
            continue
        in_code = False
        in_list = bool(_BULLET.match(line)) or (in_list and bool(text) and line.startswith(" "))
        if _BULLET.match(line) and i > 0 and lines[i - 1].strip() and not _in_list_item(lines[i - 1]):
            yield ""
        yield _line(line)


def _in_list_item(line: str) -> bool:
    return bool(_BULLET.match(line)) or line.startswith("  ")


def _line(line: str) -> str:
    bullet = _BULLET.match(line)
    start = bullet.end() if bullet else 0
    parts, position = [line[:start]], start
    for code in _CODE.finditer(line, start):
        parts += [_escaped(line[position : code.start()]), _code(code.group(2))]
        position = code.end()
    return "".join([*parts, _escaped(line[position:])])


def _code(text: str) -> str:
    if text.startswith("wanderlust.") and text in definitions():
        return f":py:obj:`{text}`"
    return f"``{text}``"


def _escaped(text: str) -> str:
    """Escape everything that reStructuredText would interpret, except **strong** text."""
    text = text.replace("\\", "\\\\")
    text = re.sub(r"(?<!\*)\*(?!\*)", r"\\*", text)
    return re.sub(r"([|`])|_(?!\w)", lambda match: f"\\{match.group()}", text)


def convert_docstring(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Convert a docstring, and add the items of the paper whose code the object is."""
    converted = list(as_rst(lines))
    items = items_of_function().get(name, [])
    if items:
        links = ", ".join(f":ref:`{item.name} <{item.label}>`" for item in items)
        converted += ["", f"*In the paper:* {links}", ""]
    lines[:] = converted


def skip_member(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out fields of named tuples without a description of their own."""
    if type(obj).__name__ == "_tuplegetter":
        return not _is_described(name, app)
    return None


def _is_described(name: str, app: Sphinx) -> bool:
    module = app.env.ref_context.get("py:module")
    if not module:
        return False
    docs = ModuleAnalyzer.for_module(module).find_attr_docs()
    return any(field == name for _, field in docs)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register everything."""
    app.add_role("source", SourceRole())
    app.add_html_math_renderer("images", (math_inline, None), (math_block, None))
    app.connect("autodoc-process-docstring", convert_docstring)
    app.connect("autodoc-skip-member", skip_member)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
