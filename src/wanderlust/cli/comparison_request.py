"""What `compare` was asked for, stored in its folder, so that `report` can print the same table."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from wanderlust.cli.threshold import Threshold
from wanderlust.core.errors import BadFile, WanderlustError, check_number
from wanderlust.core.files import read_text_file, shown_path, write_json
from wanderlust.experiments.run import Run

REQUEST_FILE = "comparison.json"
_MAX_BYTES = 100_000_000


class ComparisonRequest(NamedTuple):
    """The environment, the threshold and the runs of a comparison."""

    title: str
    """The environment and its options, as on the command line."""
    threshold: Threshold
    runs: list[Run]

    @property
    def steps(self) -> int:
        """The number of training steps of each run."""
        return int(self.runs[0].settings["steps"])

    def save(self, folder: Path) -> None:
        """Write the request to the folder of the runs."""
        runs = [run.description for run in self.runs]
        write_json(folder / REQUEST_FILE, {"title": self.title, "solved": list(self.threshold), "runs": runs})


def read_request(folder: Path) -> ComparisonRequest | None:
    """Return the request that is stored in a folder, or None if there is none."""
    file = folder / REQUEST_FILE
    if not os.path.isfile(file):  # Unlike Path.is_file, this is false for names that the file system cannot have.
        return None
    try:
        stored = json.loads(read_text_file(file, max_bytes=_MAX_BYTES))
        value, source = stored["solved"]
        threshold = Threshold(None if value is None else check_number("solved", value), str(source))
        request = ComparisonRequest(str(stored["title"]), threshold, [_read_run(run) for run in stored["runs"]])
        _ = request.steps
    except BadFile:
        raise
    except (WanderlustError, ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        reason = str(error) if isinstance(error, WanderlustError) else f"{type(error).__name__}: {error}"
        raise BadFile(f"{shown_path(file)}: not a comparison that `wanderlust compare` stored ({reason}).") from error
    return request


def _read_run(stored: Any) -> Run:
    return Run.from_json(json.dumps(stored))
