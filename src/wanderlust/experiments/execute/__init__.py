"""Execution of many runs: its options, the driver, and executors with threads, processes and Ray."""

from __future__ import annotations

from dataclasses import dataclass

from wanderlust.core.errors import InvalidSetting, check_choice, check_flag, check_integer, check_number, shown

__all__ = ["LOCAL", "RAY", "Execution"]

LOCAL, RAY = "local", "ray"


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Where and how runs are executed."""

    on: str = LOCAL
    """'local', this machine; 'ray', a Ray cluster started here or named by RAY_ADDRESS; or 'ray://HOST:PORT'."""
    jobs: int | None = None
    """Number of runs at the same time; by default, the number of CPUs."""
    time_limit: float | None = None
    """Seconds after which a run fails; its worker process is ended."""
    processes: bool | None = None
    """Whether runs on this machine are executed in processes, which a run cannot take with it when it hangs or exits.
    By default, runs with code of the user are (`module:name`), and all runs with a time limit."""
    ship_package: bool = False
    """Send this version of the package to the workers of a Ray cluster."""
    skip_failed: bool = False
    """Do not repeat runs that failed before with the same code."""
    ray_memory: float | None = None
    """Gigabytes that each run needs on a Ray cluster: as many runs are on a node at a time as fit."""
    fallback: str = ""
    """local: continue on this machine if the connection to the Ray cluster is lost."""

    def __post_init__(self) -> None:
        if not isinstance(self.on, str) or (self.on not in (LOCAL, RAY) and not self.on.startswith("ray://")):
            raise InvalidSetting(
                f"runs are executed on 'local', this machine, on 'ray', or on 'ray://HOST:PORT', got {shown(self.on)}."
            )
        if self.jobs is not None:
            object.__setattr__(self, "jobs", check_integer("jobs", self.jobs, low=1))
        for name in ("time_limit", "ray_memory"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, check_number(name, value, low=0, open_low=True))
        if self.processes is not None and not check_flag("processes", self.processes) and self.time_limit is not None:
            raise InvalidSetting("a time limit needs processes: leave out processes=False.")
        check_flag("ship_package", self.ship_package)
        check_flag("skip_failed", self.skip_failed)
        check_choice("fallback", self.fallback, ("", LOCAL))
        if self.on == LOCAL and (self.ray_memory is not None or self.fallback):
            raise InvalidSetting("ray_memory and fallback are for a Ray cluster: add on='ray', or leave them out.")
