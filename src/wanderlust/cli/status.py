"""The command `status`."""

from __future__ import annotations

import contextlib
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from wanderlust.core.errors import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from wanderlust.experiments.execute.progress import FailedRun


_SHOWN_FAILURES = 10


def status(
    folder: Annotated[Positional[Path], arg(metavar="FOLDER", help="Folder with the stored runs.")],
    *,
    watch: Annotated[bool, arg(help="Repeat until everything has ended.")] = False,
    failures: Annotated[bool, arg(help="List all failed runs with tracebacks and commands that repeat them.")] = False,
) -> None:
    """Show how far the sweeps and experiments of a folder are: done, running, failed, rate, time left.

    It only reads files, so it works on any machine that sees the folder, also while a sweep runs.

    Example: wanderlust status results/ --watch
    """
    from rich.live import Live

    from wanderlust.experiments.report.text_tables import new_console

    console = new_console()
    is_live = watch and console.is_terminal
    with Live(console=console, auto_refresh=False) if is_live else contextlib.nullcontext() as live:
        while True:
            renderable, active = _overview(folder)
            if live is None:
                console.print(renderable, highlight=False, crop=False)
            else:
                live.update(renderable, refresh=True)
            if not (watch and active):
                break
            time.sleep(2.0 if is_live else 30.0)
    _print_failures(folder, everything=failures)


def _overview(folder: Path) -> tuple[RenderableType, bool]:
    """Return what to print, and whether any driver is active."""
    from rich.console import Group
    from rich.text import Text

    from wanderlust.experiments.execute.progress import format_duration, read_all
    from wanderlust.experiments.report.text_tables import new_table, print_problems, printable
    from wanderlust.experiments.store import Store

    store, problems = Store(folder), list[str]()
    store.check_exists()
    stored = store.stored_keys(problems)
    found = list(read_all(store, problems))
    rows = []
    for each in found:
        rate = f"{each.rate:,.1f}/s" if each.rate >= 1 else f"{60 * each.rate:.1f}/min" if each.rate else ""
        left = "" if each.seconds_left is None else format_duration(each.seconds_left)
        percent = f"{each.done:,} ({100 * each.done / max(each.total, 1):.0f} %)"
        rows.append([each.name, f"{each.total:,}", percent, f"{each.running:,}", f"{each.failed:,}", rate, left])
    table = new_table(["name", "runs", "done", "running", "failed", "rate", "time left"], rows)
    print_problems(problems)
    # Below the table: a terminal of 80 columns has no place for it in a column.
    drivers = [Text(f"{printable(each.name)}: {printable(each.driver)}") for each in found]
    total = Text(f"{counted(len(stored), 'run')} stored in {printable(str(folder))}")
    shown = [table, *drivers, total] if found else [total]
    return Group(*shown), any(each.active for each in found)


def _print_failures(folder: Path, *, everything: bool) -> None:
    """Print the failed runs that have not been executed since."""
    from wanderlust.experiments.execute.progress import failures
    from wanderlust.experiments.report.text_tables import printable
    from wanderlust.experiments.store import Store

    found = failures(folder)
    stored = Store(folder).stored_keys() if found else set()
    missing = [failure for failure in found if failure["key"] not in stored]
    groups: dict[str, list[FailedRun]] = {}
    for failure in missing:
        groups.setdefault(failure.get("trace") or failure["error"], []).append(failure)
    for failed in list(groups.values())[: None if everything else _SHOWN_FAILURES]:
        print(f"failed, {counted(len(failed), 'run')}: {printable(failed[0]['error'])}")
        for line in failed[0].get("trace", "").splitlines() if everything else ():
            print(f"    {printable(line)}")
        for failure in failed if everything else failed[:1]:
            print(f"  {failure['key']}  repeat: {printable(failure['repeat'])}")
    if missing:
        place = shlex.quote(str(folder))
        all_of_them = "" if everything else f"all failed runs with tracebacks: wanderlust status {place} --failures\n"
        print(f"{all_of_them}debugger at the error: wanderlust run KEY --folder {place} --debug")
