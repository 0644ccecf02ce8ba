"""The commands `worlds` and `explorers`."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from wanderlust.cli.options import OptionalFile, Pairs, read_options
from wanderlust.core.errors import InvalidSetting, check_choice
from wanderlust.core.files import check_writable, shown_path, write_file
from wanderlust.version import __version__

if TYPE_CHECKING:
    from wanderlust.core.hardness import Hardness


PICTURE_FORMATS = ("png", "svg", "pdf")
_HEADINGS = (
    "world", "states", "horizon", "random walks per visit of the rarest state", "random return / optimal (%)",
    "smallest action gap", "value norm", "steps to the farthest state", "diameter",
)  # fmt: skip

_SOFTWARE = Template("""\
@software{wanderlust,
  author = {{The wanderlust developers}},
  title = {wanderlust: exploration for sparse-reward reinforcement learning},
  version = {$version}
}""")


def worlds(
    *,
    draw: Annotated[
        str | None, arg(metavar="WORLD", help="Draw a built-in world or a map file (mine.txt) instead of listing all.")
    ] = None,
    env: Annotated[Pairs, arg(help="Options of the world to draw, such as depth=10.")] = (),
    out: Annotated[OptionalFile, arg(help="Picture, .png, .svg or .pdf; by default the world's name, as .png.")] = None,
    hardness: Annotated[bool, arg(help="Print how hard each world is, computed from its model.")] = False,
    exam: Annotated[bool, arg(help="With --hardness: the held-out worlds of the exam.")] = False,
) -> None:
    """List the built-in worlds with their options, default values and descriptions, or draw one.

    Example: wanderlust worlds

    Example: wanderlust worlds --hardness

    Example: wanderlust worlds --hardness --exam

    Example: wanderlust worlds --draw deep-sea --env depth=10 --out deep-sea.png
    """
    from wanderlust.worlds import world_names, world_options
    from wanderlust.worlds.registry import environment_id, world_meaning

    if draw is not None:
        _draw(draw, env, out)
        return
    if env or out:
        raise InvalidSetting("--env and --out are for a picture: name a world with --draw, such as --draw prison.")
    if exam and not hardness:
        raise InvalidSetting("--exam is for the measures of the exam's worlds: add --hardness.")
    if hardness:
        _print_hardness(exam=exam)
        return
    entries = []
    for name in world_names():
        options = [(f"{option.name}={option.default}", option.meaning) for option in world_options(name)]
        entries.append((name, f"{world_meaning(name)} Gymnasium: {environment_id(name)}", options))
    _print_listing(entries)


def explorers(
    *, bibtex: Annotated[bool, arg(help="Print the references of the explorers and of this package as BibTeX.")] = False
) -> None:
    """List the explorers with their options, default values and descriptions.

    Example: wanderlust explorers

    Example: wanderlust explorers --bibtex
    """
    from wanderlust.explorers.protocol import explorer_class, explorer_names, explorer_options

    if bibtex:
        references = (files("wanderlust.explorers") / "references.bib").read_text(encoding="utf-8")
        print(f"{references}\n{_SOFTWARE.substitute(version=__version__)}")
        return
    entries = []
    for name in explorer_names():
        options = [(f"{option.name}={option.default}", option.text) for option in explorer_options(name)]
        entries.append((name, (explorer_class(name).__doc__ or "").splitlines()[0], options))
    _print_listing(entries)


def _print_listing(entries: Sequence[tuple[str, str, list[tuple[str, str]]]]) -> None:
    """Print (name, description, options) of every entry; options are (name=default, description)."""
    name_width = max(len(name) for name, _, _ in entries)
    option_width = max(len(option) for _, _, options in entries for option, _ in options)
    for name, description, options in entries:
        print(f"{name:<{name_width}}  {description}")
        for option, option_description in options:
            print(f"    {option:<{option_width}}  {option_description}".rstrip())


def _draw(name: str, env: tuple[str, ...], out: Path | None) -> None:
    """Write the picture of a world."""
    from wanderlust.worlds import make_world

    world = make_world(name, **read_options(env, "depth=10"))
    path = Path(f"{Path(name).stem}.png") if out is None else out
    form = check_choice("the suffix of the picture file", path.suffix.removeprefix(".").lower(), PICTURE_FORMATS)
    check_writable(path)
    buffer = io.BytesIO()
    world.draw().savefig(buffer, format=form, dpi=150)
    write_file(path, buffer.getvalue())
    print(f"{world.name}: {world.n_states:,} states, drawn to {shown_path(path)}")


def _print_hardness(*, exam: bool) -> None:
    """Print the measures of every built-in world, one row each; with `exam`, of the held-out worlds of the exam."""
    from wanderlust.experiments.report.text_tables import new_console, new_table
    from wanderlust.worlds import make_world, world_names
    from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, exam_world

    if exam:
        levels = [(family, level) for family in FAMILIES for level in LEVELS]
        worlds = {f"{family} {level}": exam_world(family, level=level, held_out=True) for family, level in levels}
    else:
        worlds = {name: make_world(name) for name in world_names()}
    rows = [[name, *_hardness_cells(world.hardness())] for name, world in worlds.items()]
    new_console(120, highlight=False).print(new_table(_HEADINGS, rows), crop=False)


def _hardness_cells(found: Hardness) -> list[str]:
    from wanderlust.core.hardness import short_number

    share = found.random_share
    return [
        f"{found.n_states:,}",
        f"{found.horizon:,}",
        short_number(found.rarest_visit),
        "–" if math.isnan(share) else f"{100 * share:.3g}",
        f"{found.action_gap:.3g}",
        f"{found.value_norm:.3g}",
        "–" if found.farthest is None else short_number(found.farthest),
        "–" if found.diameter is None else short_number(found.diameter),
    ]
