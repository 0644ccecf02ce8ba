"""The command `studio`."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from tyro.conf import Positional, arg

from wanderlust.cli.options import Names, OptionalFile, OptionalNumber
from wanderlust.core.errors import BadFile, InvalidSetting, MissingPackage, check_choice, check_integer, counted
from wanderlust.core.files import check_writable, read_text_file, write_file

if TYPE_CHECKING:
    from wanderlust.studio.lesson import Lesson
    from wanderlust.studio.setup import Setup


DEFAULT_WORLD = "prison"
DEFAULT_LANES = ("vv-ucb",)
DEFAULT_PORT = 8484
_FREE_PORTS = 20


def studio(
    what: Annotated[
        Positional[str],
        arg(metavar="WORLD|FOLDER|FILE", help="World, map file, setup or lesson file, or folder of results to browse."),
    ] = "",
    *,
    explorers: Annotated[Names, arg(help="One to three explorers, side by side.")] = DEFAULT_LANES,
    seed: Annotated[int, arg(metavar="N", help="Random seed of all lanes.")] = 1,
    lesson: Annotated[
        str, arg(metavar="NAME", help="Open a lesson: epsilon-greedy, deep-sea, prison, horizon, optimism and others.")
    ] = "",
    check: Annotated[bool, arg(help="Execute the lesson and check the claims of its captions; no server.")] = False,
    export: Annotated[OptionalFile, arg(help="Write the recorded run as one HTML file, without a server.")] = None,
    static: Annotated[OptionalFile, arg(help="Write a page that executes the lessons without Python.")] = None,
    host: Annotated[
        str, arg(metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all, so that others can open the page.")
    ] = "127.0.0.1",
    port: Annotated[OptionalNumber, arg(help=f"Port; the first free one from {DEFAULT_PORT} if not given.")] = None,
    no_browser: Annotated[bool, arg(help="Do not open the page in a browser.")] = False,
) -> None:
    """Open a page in the browser that shows how explorers explore, side by side, step by step.

    Without a world it opens the first lesson, a run with captions. Choose or paint a world, run, scrub back in time,
    and see visits, Q, W and the exploration term of every action. Stop the server with Ctrl-C.

    Example: wanderlust studio

    Example: wanderlust studio prison --explorers epsilon-greedy ucb1 vv-ucb

    Example: wanderlust studio --export lecture.html prison --explorers epsilon-greedy vv-ucb

    Example: wanderlust studio results/
    """
    opening = _read_what(what, explorers, seed, lesson)
    setup, store = opening.setup, opening.store
    if check:
        _check(opening)
        return
    if static is not None:
        from wanderlust.studio.static_page import static_page

        _write_page(static, static_page(opening.lessons, opening.name or next(iter(opening.lessons))))
        return
    if export is not None:
        if store is not None:
            raise InvalidSetting(f"--export needs a world, not a folder of results, got {what!r}.")
        from wanderlust.studio.export import export_page

        check_writable(export)
        _write_page(export, export_page(setup, opening.lesson))
        return
    try:
        from wanderlust.studio import server
        from wanderlust.studio.connection import Services
    except ImportError as error:
        raise MissingPackage(
            f'the studio needs another package ({error}); install it with: pip install "wanderlust[studio]"'
        ) from error
    if not server.is_loopback(host):
        print("Other machines can reach this address. Share the URL, with its token, only with people you trust.")
    extra = tuple(name for name in explorers if ":" in name)
    services = Services(store=store, extra_explorers=extra, opening=setup.description, lessons=opening.lessons,
                        lesson=opening.name)  # fmt: skip
    _serve(server, server.Studio(services, host=host), port, open_browser=not no_browser)


def _write_page(file: Path, text: str) -> None:
    write_file(file, text)
    print(f"written to {file} ({len(text.encode()) / 1e6:.1f} MB); open it in any browser.")


class _Opening(NamedTuple):
    """What a new page opens: a setup, the folder of results if one was given, and the name of a lesson about it."""

    setup: Setup
    store: Path | None
    lessons: dict[str, Lesson]
    name: str | None = None

    @property
    def lesson(self) -> Lesson | None:
        return None if self.name is None else self.lessons[self.name]


def _read_what(what: str, explorers: tuple[str, ...], seed: int, lesson: str) -> _Opening:
    from wanderlust.studio.catalogue import checked_world
    from wanderlust.studio.lesson import lessons, read_lesson
    from wanderlust.studio.setup import read_setup
    from wanderlust.worlds import world_names
    from wanderlust.worlds.grid import MAP_SUFFIXES

    extra = tuple(name for name in explorers if ":" in name)
    given: dict[str, Any] = {"seed": seed, "lanes": [{"explorer": name} for name in explorers]}
    path, known, store = Path(what), lessons(), None
    if lesson:
        check_choice("lesson", lesson, list(known))
        if what:
            raise InvalidSetting(f"--lesson {lesson} has a world of its own; leave {what!r} out.")
    elif not what and explorers == DEFAULT_LANES:
        lesson = next(iter(known))
    if lesson:
        return _Opening(known[lesson].setup, None, known, lesson)
    table: dict[str, Any] = {**given, "world": what or DEFAULT_WORLD}
    if what.endswith((*MAP_SUFFIXES, ".map", ".toml")) and what not in world_names():
        table = _from_file(path, given)
        if "stops" in table:
            own = read_lesson(table, extra)
            return _Opening(own.setup, None, {path.stem: own, **known}, path.stem)
    elif path.is_dir() and what and what not in world_names():
        table, store = {**given, "world": DEFAULT_WORLD}, path
    elif "/" in what:
        raise BadFile(f"{what}: there is no such folder; give a folder of results, such as results/.")
    setup = read_setup(table, extra)
    if setup.world_options:
        checked_world(setup)  # A map that is not valid is an error here, not in the page.
    return _Opening(setup, store, known)


def _check(opening: _Opening) -> None:
    """Print which claims of a lesson are false; exit with code 1 if there are any."""
    from wanderlust.studio.lesson import check_claims

    if opening.lesson is None:
        raise InvalidSetting("--check needs a lesson: a file with stops, or --lesson NAME.")
    problems = check_claims(opening.lesson)
    for problem in problems:
        print(problem)
    claims = sum(bool(stop.claim) for stop in opening.lesson.stops)
    print(f"{opening.lesson.title}: {counted(len(opening.lesson.stops), 'stop')}, {counted(claims, 'claim')} checked, "
          f"{counted(len(problems), 'problem')}")  # fmt: skip
    if problems:
        sys.exit(1)


def _from_file(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Return the plain setup of a setup file (TOML), or of a map file."""
    from wanderlust.core.schema import parse_toml
    from wanderlust.studio.limits import MAX_MESSAGE
    from wanderlust.worlds.grid import read_map_file

    if path.suffix == ".toml":
        return parse_toml(read_text_file(path, max_bytes=MAX_MESSAGE))
    return {**given, "world": path.stem, "world_options": {"map": read_map_file(path)}}


def _serve(server: Any, studio: Any, port: int | None, *, open_browser: bool) -> None:
    # By default the usual port, so that links stay valid, or one of the next ones, or any other.
    ports = [*range(DEFAULT_PORT, DEFAULT_PORT + _FREE_PORTS), 0] if port is None else [port]
    for each in ports:
        try:
            listener = server.listen(studio.host, check_integer("--port", each, low=0, high=65535))
            break
        except InvalidSetting:
            if each == ports[-1]:
                raise
    studio.port = listener.getsockname()[1]
    print(f"wanderlust studio: {studio.url}", flush=True)
    print("Stop with Ctrl-C.", flush=True)
    if open_browser:
        webbrowser.open(studio.url)
    server.make_server(studio).run(sockets=[listener])
