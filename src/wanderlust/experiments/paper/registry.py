"""The paper's experiments by name, and what is chosen when one is asked for.

A `Study` is where it stands in the paper, the runs that it takes, and what is made of them. A `Choice` narrows it down:
some worlds, some explorers, fewer seeds. Each study has a file of its own.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from wanderlust.agents.presets import PRESETS
from wanderlust.core.errors import BadFile, InvalidSetting, check_choice, check_integer, unknown_name
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Stored

EXPLORERS = (
    "vv-ucb",
    "vv-count",
    "random-prior",
    "bootstrapped",
    "thompson",
    "ucb1",
    "bonus",
    "epsilon-greedy",
    "random",
)
"""The nine algorithms, in the order of the paper's tables."""

_MODULES = {
    "toy-example": "toy_example",
    "recap": "recap",
    "visit-maps": "visit_maps",
    "gamma-w": "gamma_w",
    "deep-sea-scaling": "deep_sea_scaling",
    "chain": "chain",
    "stochastic": "stochastic",
    "memory": "memory",
}
_ALSO_KNOWN_AS = {"curves": "recap"}


@dataclass(frozen=True)
class Choice:
    """What of a study to run; None stands for all of it."""

    worlds: tuple[str, ...] | None = None
    explorers: tuple[str, ...] | None = None
    seeds: int | None = None
    preset: str = "as_published_code"
    quick: bool = False

    def __post_init__(self) -> None:
        check_choice("preset", self.preset, PRESETS)
        if self.seeds is not None:
            check_integer("seeds", self.seeds, low=1)

    @property
    def suffix(self) -> str:
        """What sets the results' folder apart from that of the full study as the paper's code has it."""
        return ("-quick" if self.quick else "") + ("" if self.preset == "as_published_code" else f"-{self.preset}")

    def of_worlds(self, known: Iterable[str]) -> tuple[str, ...]:
        """Return the chosen ones of a study's worlds, in its order."""
        return _chosen("world", self.worlds, tuple(known))

    def of_explorers(self, known: Iterable[str]) -> tuple[str, ...]:
        """Return the chosen ones of a study's explorers, in its order."""
        return _chosen("explorer", self.explorers, tuple(known))

    def of_seeds(self, full: int, quick: int) -> range:
        """Return the seeds, counted from 1 as in the paper."""
        return range(1, 1 + (self.seeds if self.seeds is not None else quick if self.quick else full))


@dataclass(frozen=True)
class Study:
    """One experiment of the paper."""

    id: str
    place: str
    """Where it stands in the paper."""
    what: str
    """One line on what it asks."""
    runs: Callable[[Choice], list[Run]]
    report: Callable[[list[Run], Iterable[Stored], str], Report]
    """Of the runs asked for, what is stored of them, and a note that goes on top of everything."""
    quick: str
    """What `--quick` leaves out, in words."""


def study_names() -> tuple[str, ...]:
    """Return the experiments, in the order of the paper."""
    return tuple(_MODULES)


def find_study(name: str) -> Study:
    """Return an experiment by its name."""
    module = _MODULES.get(_ALSO_KNOWN_AS.get(name, name))
    if module is None:
        raise unknown_name("experiment", name, [*_MODULES, *_ALSO_KNOWN_AS])
    study: Study = importlib.import_module(f"wanderlust.experiments.paper.{module}").STUDY
    return study


def choices_as_json(study: Study, choices: Iterable[Choice]) -> str:
    """Return what was asked for in a folder, to be read by `choices_from_json`."""
    return json.dumps({"study": study.id, "choices": [dataclasses.asdict(each) for each in choices]}, indent=1)


def choices_from_json(text: str, where: str) -> tuple[Study, list[Choice]]:
    """Return a study and what was asked of it."""
    try:
        found: dict[str, Any] = json.loads(text)
        choices = []
        for each in found["choices"]:
            fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in each.items()}
            choices.append(Choice(**fields))
        return find_study(found["study"]), choices
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadFile(f"{where}: does not say which experiment was run ({error}).") from error


def _chosen(kind: str, chosen: tuple[str, ...] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if chosen is None:
        return known
    if not chosen:
        raise InvalidSetting(f"choose at least one {kind} of {', '.join(known)}.")
    for name in chosen:
        if name not in known:
            raise unknown_name(f"{kind} of this experiment", name, known)
    return tuple(name for name in known if name in chosen)
