"""The command `worlds`."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import arg

from wanderlust.cli import HELP_ONLY

if TYPE_CHECKING or not HELP_ONLY:
    from rich.table import Table

    from wanderlust.cli.printing import new_console, new_table, print_listing, print_table
    from wanderlust.core.errors import InvalidSetting, check_choice
    from wanderlust.core.files import check_writable, shown_path, write_file
    from wanderlust.core.hardness import Hardness, short_number
    from wanderlust.environments.registration import environment_id
    from wanderlust.worlds import World, make_world, world_names, world_options
    from wanderlust.worlds.exam_suite import FAMILIES, LEVELS, exam_world
    from wanderlust.worlds.registry import world_meaning

PICTURE_FORMATS = ("png", "svg", "pdf")


def worlds(
    *,
    draw: Annotated[
        str | None, arg(metavar="WORLD", help="Draw a built-in world or a map file (mine.txt) instead of listing all.")
    ] = None,
    env: Annotated[
        tuple[str, ...], arg(metavar="NAME=VALUE ...", help="Options of the world to draw, such as depth=10.")
    ] = (),
    out: Annotated[
        Path | None, arg(metavar="FILE", help="Picture file, .png, .svg or .pdf; by default the world's name, as .png.")
    ] = None,
    hardness: Annotated[bool, arg(help="Print how hard each world is, computed from its model.")] = False,
    exam: Annotated[bool, arg(help="With --hardness: the held-out worlds of the exam.")] = False,
) -> None:
    """List the built-in worlds with their options, default values and descriptions, or draw one.

    Example: wanderlust worlds

    Example: wanderlust worlds --hardness

    Example: wanderlust worlds --hardness --exam

    Example: wanderlust worlds --draw deep-sea --env depth=10 --out deep-sea.png
    """
    if draw is not None:
        _draw(draw, env, out)
        return
    if env or out:
        raise InvalidSetting("--env and --out are for a picture: name a world with --draw, such as --draw prison.")
    if exam and not hardness:
        raise InvalidSetting("--exam is for the measures of the exam's worlds: add --hardness.")
    if hardness:
        print_table(_hardness_table(exam=exam), new_console(120, highlight=False))
        return
    entries = []
    for name in world_names():
        options = [(f"{option.name}={option.default}", option.meaning) for option in world_options(name)]
        entries.append((name, f"{world_meaning(name)} Gymnasium: {environment_id(name)}", options))
    print_listing(entries)


def _draw(name: str, env: tuple[str, ...], out: Path | None) -> None:
    """Write the picture of a world."""
    from wanderlust.cli.options import read_options  # Not at the top: it imports numba, which a list does not need.

    world = make_world(name, **read_options(env, "depth=10"))
    path = Path(f"{Path(name).stem}.png") if out is None else out
    form = check_choice("the suffix of the picture file", path.suffix.removeprefix(".").lower(), PICTURE_FORMATS)
    check_writable(path)
    buffer = io.BytesIO()
    world.draw().savefig(buffer, format=form, dpi=150)
    write_file(path, buffer.getvalue())
    print(f"{world.name}: {world.n_states:,} states, drawn to {shown_path(path)}")


def _hardness_table(*, exam: bool = False) -> Table:
    """Return the measures of every built-in world, one row each; with `exam`, of the held-out worlds of the exam."""
    headings = (
        "world",
        "states",
        "horizon",
        "random walks per visit of the rarest state",
        "random return / optimal (%)",
        "smallest action gap",
        "value norm",
        "steps to the farthest state",
        "diameter",
    )
    worlds = _exam_worlds() if exam else ((name, make_world(name)) for name in world_names())
    return new_table(headings, [[name, *_hardness_cells(world.hardness())] for name, world in worlds])


def _exam_worlds() -> Iterator[tuple[str, World]]:
    for family in FAMILIES:
        for level in LEVELS:
            yield f"{family} {level}", exam_world(family, level=level, held_out=True)


def _hardness_cells(found: Hardness) -> list[str]:
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
