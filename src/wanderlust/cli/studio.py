"""The command `studio`."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from wanderlust.core.errors import BadFile, InvalidSetting, MissingPackage, check_integer
from wanderlust.core.files import check_writable, read_text_file, write_file

if TYPE_CHECKING:
    from wanderlust.studio.setup import Setup


DEFAULT_WORLD = "prison"
DEFAULT_LANES = ("vv-ucb",)
DEFAULT_PORT = 8484
_FREE_PORTS = 20


def studio(
    what: Annotated[
        Positional[str],
        arg(metavar="WORLD|FOLDER|FILE", help="World, map file, setup file, or folder of results to browse."),
    ] = DEFAULT_WORLD,
    *,
    explorers: Annotated[
        tuple[str, ...], arg(metavar="NAME ...", help="One to three explorers, side by side.")
    ] = DEFAULT_LANES,
    seed: Annotated[int, arg(metavar="N", help="Random seed of all lanes.")] = 1,
    export: Annotated[
        Path | None, arg(metavar="FILE", help="Write the recorded run as one HTML file instead, without a server.")
    ] = None,
    host: Annotated[
        str, arg(metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all, so that others can open the page.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, arg(metavar="N", help=f"Port; the first free one from {DEFAULT_PORT} if not given.")
    ] = None,
    no_browser: Annotated[bool, arg(help="Do not open the page in a browser.")] = False,
) -> None:
    """Open a page in the browser that shows how explorers explore, side by side, step by step.

    Choose or paint a world, run, scrub back in time, and see visits, Q, W and the exploration term of every action.
    Stop the server with Ctrl-C.

    Example: wanderlust studio prison --explorers epsilon-greedy ucb1 vv-ucb

    Example: wanderlust studio --export lecture.html prison --explorers epsilon-greedy vv-ucb

    Example: wanderlust studio results/
    """
    setup, store = _read_what(what, explorers, seed)
    if export is not None:
        if store is not None:
            raise InvalidSetting(f"--export needs a world, not a folder of results, got {what!r}.")
        from wanderlust.studio.export import export_page

        check_writable(export)
        text = export_page(setup)
        write_file(export, text)
        print(f"written to {export} ({len(text.encode()) / 1e6:.1f} MB); open it in any browser.")
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
    services = Services(store=store, extra_explorers=extra, opening=setup.description)
    _serve(server, server.Studio(services, host=host), port, open_browser=not no_browser)


def _read_what(what: str, explorers: tuple[str, ...], seed: int) -> tuple[Setup, Path | None]:
    """Return the setup to open, and the folder of results if one was given."""
    from wanderlust.studio.setup import read_setup
    from wanderlust.worlds import world_names
    from wanderlust.worlds.grid import MAP_SUFFIXES

    extra = tuple(name for name in explorers if ":" in name)
    given: dict[str, Any] = {"seed": seed, "lanes": [{"explorer": name} for name in explorers]}
    path = Path(what)
    if what in world_names():
        return read_setup({**given, "world": what}, extra), None
    if what.endswith(MAP_SUFFIXES):
        return read_setup(_from_file(path, given), extra), None
    if path.is_dir():
        return read_setup({**given, "world": DEFAULT_WORLD}, extra), path
    if "/" in what:
        raise BadFile(f"{what}: there is no such folder; give a folder of results, such as results/.")
    return read_setup({**given, "world": what}, extra), None


def _from_file(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Return the plain setup of a setup file (TOML with lanes), or of a map file."""
    from wanderlust.studio.limits import MAX_MESSAGE
    from wanderlust.worlds.grid import parse_toml, read_map_file

    if path.suffix == ".toml":
        table = parse_toml(read_text_file(path, max_bytes=MAX_MESSAGE))
        if "lanes" in table:
            return table
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
