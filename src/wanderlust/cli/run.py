"""The command `run`."""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from wanderlust.core.errors import BadFile, WanderlustError, counted
from wanderlust.core.user_code import announce_imports, check_allowed, modules_named

if TYPE_CHECKING:
    from wanderlust.experiments.run import Run


def run(
    description: Annotated[
        Positional[str],
        arg(metavar="JSON|KEY", help="A run, as in reports and error messages, or the key of a stored or failed one."),
    ],
    *,
    folder: Annotated[Path, arg(metavar="FOLDER", help="Folder of the run with this key.")] = Path("results"),
    allow_code: Annotated[
        tuple[str, ...], arg(metavar="MODULE ...", help="Modules that a run given by its key may import.")
    ] = (),
    out: Annotated[Path | None, arg(metavar="FOLDER", help="Also store the result in this folder.")] = None,
    debug: Annotated[
        bool, arg(help="If the run fails, open the debugger pdb at the error. Nothing is compiled, so it is slower.")
    ] = False,
) -> None:
    """Execute one run, described as JSON or by its key, and print its result.

    Example: wanderlust run '{"world":"prison","explorer":"vv-ucb","seed":1}'

    Example: wanderlust run 1d0c9e8b7a6f5e4d3c2b1a09 --folder results/ --debug
    """
    if debug:
        os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # The debugger shows no variables of compiled code.
    from wanderlust.experiments.run import Run
    from wanderlust.experiments.store import Store

    if description.lstrip().startswith("{"):
        selected = Run.from_json(description)
        announce_imports(modules_named(selected.description), "which the description names")
    else:
        selected = _run_with_key(folder, description)
        named = check_allowed(f"{folder}, run {description}", selected.description, allow_code)
        announce_imports(named, "as allowed by --allow-code")
    store = None if out is None else Store(out)
    if store is not None:
        store.prepare()
    start = time.perf_counter()
    try:
        result = selected.train()
    except (Exception, SystemExit) as error:
        if debug:
            _open_debugger(error)
            sys.exit(1)
        if not isinstance(error, MemoryError):
            raise
        raise WanderlustError(f"the run needs more memory than there is ({error}).") from error
    seconds = time.perf_counter() - start
    last = "not evaluated"
    if len(result.steps):
        last = f"{result.returns[-1]:.6g} after {counted(int(result.steps[-1]), 'step')}"
    print(f"run        {selected.json}")
    print(f"key        {selected.key}")
    of_optimal = f": {result.success:.2f} % of the optimal return, {float(result.optimal_return):.6g}"
    of_reachable = f" of {result.reachable} states: {result.discovery:.2f} %"
    print(f"return     {last}{'' if selected.kind == 'environment' else of_optimal}")
    print(f"discovery  {result.n_discovered}{' states' if selected.kind == 'environment' else of_reachable}")
    print(f"time       {seconds:.2f} s")
    if store is not None:
        print(f"stored as  {store.save(selected, result, seconds)}")


def _run_with_key(folder: Path, key: str) -> Run:
    """Return the stored or failed run of a folder with this key."""
    from wanderlust.experiments.execute.progress import failures
    from wanderlust.experiments.run import Run
    from wanderlust.experiments.store import Store

    for failed in (each for each in failures(folder) if each["key"] == key):
        return Run.from_json(shlex.split(failed["repeat"])[-1])
    for line in Store(folder).lines([]):
        if line["key"] == key:
            return Run(**line["run"])
    raise BadFile(
        f"{folder}: has no run with the key {key!r}. `wanderlust results FOLDER --columns key` and `wanderlust status "
        "FOLDER --failures` list keys; a run can also be described as JSON, in quotes."
    )


def _open_debugger(error: BaseException) -> None:
    """Print an error and open pdb where it was raised first."""
    import pdb
    import traceback

    from wanderlust.experiments.execute.driver import first_cause

    traceback.print_exception(first_cause(error))
    pdb.post_mortem(first_cause(error).__traceback__)
