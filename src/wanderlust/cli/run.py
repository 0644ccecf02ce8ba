"""The command `run`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from wanderlust.core.errors import WanderlustError, counted
from wanderlust.core.user_code import announce_imports, modules_named


def run(
    description: Annotated[
        Positional[str], arg(metavar="JSON", help="Description of a run, as in reports and error messages.")
    ],
    *,
    out: Annotated[Path | None, arg(metavar="FOLDER", help="Also store the result in this folder.")] = None,
) -> None:
    """Execute one run, described as JSON, and print its result.

    Example: wanderlust run '{"world":"prison","explorer":"vv-ucb","seed":1}'
    """
    from wanderlust.experiments.run import Run
    from wanderlust.experiments.store import Store

    selected = Run.from_json(description)
    announce_imports(modules_named(selected.description), "which the description names")
    store = None if out is None else Store(out)
    if store is not None:
        store.prepare()
    start = time.perf_counter()
    try:
        result = selected.train()
    except MemoryError as error:
        raise WanderlustError(f"the run needs more memory than there is ({error}).") from error
    seconds = time.perf_counter() - start
    last = (
        f"{result.returns[-1]:.6g} after {counted(int(result.steps[-1]), 'step')}"
        if len(result.steps)
        else "not evaluated"
    )
    print(f"run        {selected.json}")
    print(f"key        {selected.key}")
    of_optimal = f": {result.success:.2f} % of the optimal return, {float(result.optimal_return):.6g}"
    of_reachable = f" of {result.reachable} states: {result.discovery:.2f} %"
    print(f"return     {last}{'' if selected.kind == 'environment' else of_optimal}")
    print(f"discovery  {result.n_discovered}{' states' if selected.kind == 'environment' else of_reachable}")
    print(f"time       {seconds:.2f} s")
    if store is not None:
        print(f"stored as  {store.save(selected, result, seconds)}")
