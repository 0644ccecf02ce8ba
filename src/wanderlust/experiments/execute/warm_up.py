"""Compile once per node: the workers of a node share its cache of compiled code (see `wanderlust._numba.cache`).

Without this, all workers of a node would compile the same functions at the same time. The first worker compiles while
it holds a lock; a small file in the cache then tells the others that they only need to load.
"""

from __future__ import annotations

import hashlib
import socket

from wanderlust._numba.cache import cache_folder, source_hash
from wanderlust._numba.jit import numba_version
from wanderlust.experiments.file_lock import locked
from wanderlust.experiments.run import Run

SECONDS_TO_COMPILE = 300.0
"""More than any explorer needs, also if other workers of the node compile before it."""
_PREFIX, _LOCK = "compiled-on-", "compile.lock"


_compiled: set[tuple[str, str]] = set()
"""The explorers and kinds of runs that this process has compiled or loaded."""


def compile_once(run: Run) -> None:
    """Compile the explorer of a run, unless this process has done so; errors are raised.

    One step in a built-in world compiles it, so that the code of a user's environment does not delay this.
    """
    what = run.explorer, run.kind
    if what in _compiled:
        return
    run = Run(world="toy", explorer=run.explorer, kind=run.kind, settings={"steps": 1})
    folder = cache_folder()
    parts = (socket.gethostname(), *what, *run.code, source_hash(), numba_version())
    marker = folder and folder / f"{_PREFIX}{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"
    if folder is None or marker is None or marker.exists():
        run.train()
    else:
        with locked(folder / _LOCK):
            run.train()
            marker.touch()
    _compiled.add(what)
