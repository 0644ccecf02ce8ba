"""The command `sweep`."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from wanderlust.cli.options import LOCAL, ExecutionArgument, Names, Text, read_options, read_value
from wanderlust.core.errors import InvalidSetting, counted

if TYPE_CHECKING:
    from wanderlust.experiments.execute import Execution
    from wanderlust.experiments.sweep import Sweep


_MAX_SHOWN = 12
Lists = Annotated[tuple[str, ...], arg(metavar="NAME=VALUE[,VALUE] ...")]


@dataclass(frozen=True)
class SweepOptions:
    """The description of a sweep on the command line; the same keys as in a file."""

    world: Names = ()
    """Built-in worlds."""
    environment: Names = ()
    """Gymnasium ids, or module:function."""
    env: Lists = ()
    """Options of the worlds and environments, such as depth=10,20 or map_name=4x4,8x8."""
    explorer: Names = ()
    """Explorers, also module:Class."""
    set: Lists = ()
    """Settings and options of the explorers, such as kappa=0.1,1,10 steps=2000."""
    memory: Names = ()
    """Replay memories: full, none, window."""
    preset: Names = ()
    """as_written, as_published_code; in environments also adaptive."""
    seeds: Annotated[str, arg(metavar="N")] = "10"
    """Number of seeds, 0 to N-1; or a list 3,5,8, or a range 10..19."""
    zip: Annotated[tuple[str, ...], arg(metavar="GROUP ...")] = ()
    """Fields that change together: 'world=prison,taxi steps=1000,20000'."""
    exclude: Annotated[tuple[str, ...], arg(metavar="PATTERN ...")] = ()
    """Combinations to leave out: 'world=taxi kappa=10'."""
    name: Text = ""
    """Name in `status` and `report`; a hash if not given."""


_NO_OPTIONS = SweepOptions()


def sweep(
    file: Annotated[
        Positional[Path | None],
        arg(metavar="FILE", help="Description of the sweep, a TOML file; not needed with --world and --explorer."),
    ] = None,
    *,
    description: Annotated[SweepOptions, arg(name="")] = _NO_OPTIONS,
    execution: ExecutionArgument = LOCAL,
    out: Annotated[Path, arg(metavar="FOLDER", help="Folder for runs and reports.")] = Path("results"),
    allow_code: Annotated[
        tuple[str, ...],
        arg(metavar="MODULE ...", help="Modules that names 'module:attribute' in FILE may import; none by default."),
    ] = (),
    shard: Annotated[
        str, arg(metavar="I/N", help="Only part I of N equal parts, such as 2/8: one for each of several machines.")
    ] = "",
    dry_run: Annotated[
        bool, arg(help="Only print what would run: how many, how long, what is stored. Import no user-defined code.")
    ] = False,
) -> None:
    """Execute every combination of worlds, explorers, settings and seeds, on this machine or on a Ray cluster.

    If interrupted, the same command continues: runs that are stored in the folder are not repeated.

    Example: wanderlust sweep --world prison taxi --explorer vv-ucb vv-count --set kappa=0.1,1,10 --seeds 20

    Example: wanderlust sweep sweep.toml --on ray --dry-run
    """
    from wanderlust.experiments.execute.progress import Progress
    from wanderlust.experiments.sweep import Sweep

    if file is not None and description != _NO_OPTIONS:
        raise InvalidSetting("give the sweep as a file or as options such as --world, not both.")
    described = (
        from_options(description) if file is None else Sweep.from_file(file, allow_code=allow_code, imports=not dry_run)
    )
    if dry_run:
        _print_plan(described, out, execution, shard)
        return
    results = described.run(out, execution, progress=Progress(quiet=execution.quiet), shard=shard)
    results.summary.print(quiet=execution.quiet)
    if not execution.quiet:
        print(f"tables and plots: wanderlust report {shlex.quote(str(out))}")
    sys.exit(int(bool(results.failures)))


def from_options(options: SweepOptions) -> Sweep:
    """Return the sweep of command-line options."""
    from wanderlust.experiments.sweep import Sweep

    shared, seeds = _tables(options.env, "depth=10,20"), read_values(options.seeds)
    tables: dict[str, Any] = {
        "worlds": dict.fromkeys(options.world, shared) if shared else list(options.world),
        "environments": dict.fromkeys(options.environment, shared) if shared else list(options.environment),
        "explorers": list(options.explorer),
        "settings": _tables(options.set, "kappa=0.1,1,10"),
        "memory": [read_value(each) for each in options.memory],
        "presets": list(options.preset),
        "seeds": seeds[0] if len(seeds) == 1 else seeds,  # 20 seeds, not the seed 20.
        "zip": [_tables(shlex.split(each), "steps=1000,2000") for each in options.zip],
        "exclude": [_tables(shlex.split(each), "kappa=10") for each in options.exclude],
        "name": options.name,
    }
    return Sweep(**tables)


def read_values(text: str) -> list[Any]:
    """Return the values of a comma-separated list, of a range of integers 1..5, or of a single value."""
    low, dots, high = text.partition("..")
    if dots and low.isdecimal() and high.isdecimal():
        if int(high) < int(low):
            raise InvalidSetting(f"a range is written from the lower to the higher number, such as 1..5, got {text!r}.")
        return list(range(int(low), int(high) + 1))
    value = read_value(text)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, list):
        return [value]  # In brackets: one value that is a list.
    if isinstance(value, str) and "," in value:
        return [read_value(part) for part in value.split(",")]
    return [value]


def _tables(options: Any, example: str) -> dict[str, Any]:
    texts = read_options(options, example)  # Checks the form, and that no name is given twice.
    pairs = (option.partition("=")[::2] for option in options)
    return {name: read_values(text) for name, text in pairs if name in texts}


def _print_plan(described: Sweep, out: Path, execution: Execution, shard: str) -> None:
    from wanderlust.core.user_code import modules_named
    from wanderlust.experiments.execute.driver import RunSummary, missing_runs
    from wanderlust.experiments.execute.progress import format_duration, total_seconds
    from wanderlust.experiments.report.text_tables import print_problems, printable
    from wanderlust.experiments.store import Store
    from wanderlust.experiments.sweep import part_of
    from wanderlust.experiments.table import fields_of, swept_fields

    described.check_environments(imports=False)
    described.check_name(out)
    runs, summary = part_of(described.plan(imports=False), shard), RunSummary()
    missing = missing_runs(runs, Store(out), summary)
    place, jobs = "here", execution.jobs or os.cpu_count() or 1
    if execution.on != "local":
        from wanderlust.experiments.execute.ray_cluster import cluster_size

        place, jobs = cluster_size(execution, jobs)
    print(f"sweep       {printable(described.name)}")
    for name, values in swept_fields([fields_of(run.description) for run in runs]).items():
        shown = [printable(str(value)) for value in values if value is not None]
        few = ", ".join(shown) if len(shown) <= _MAX_SHOWN else f"{len(shown):,} values, {shown[0]} to {shown[-1]}"
        print(f"  {name:<9} {few}{'; some runs do not have it' if None in values else ''}")
    print(f"runs        {len(runs):,}")
    print(f"stored      {summary.stored:,} in {out}")
    print(f"to execute  {len(missing):,}")
    duration = format_duration(total_seconds(missing, jobs))
    print(f"time        about {duration} {place} with {counted(jobs, 'job')}, without compilation")
    if modules := modules_named([run.description for run in runs]):
        print(f"not checked {', '.join(modules)}: a dry run imports no user-defined code and assumes all its options")
    print_problems(summary.problems)
