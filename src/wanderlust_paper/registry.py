"""The paper's experiments by name.

A `Study` has a reference to the paper, a list of runs, and a report of their results. A `StudySelection` restricts it
to some worlds, explorers or seeds. Each study has its own module.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import RenderableType

from wanderlust import Run, check_integer
from wanderlust.agents.settings import WORLD_PRESETS
from wanderlust.core.errors import BadFile, InvalidSetting, check_choice, check_flag, unknown_name
from wanderlust.experiments.run import Result
from wanderlust.experiments.store import StoredRun
from wanderlust_paper.claims import Claim
from wanderlust_paper.reports.recap_tables import Row
from wanderlust_paper.summary_file import reduced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXPLORERS = (
    "vv-ucb", "vv-count", "random-prior", "bootstrapped", "thompson", "ucb1", "bonus", "epsilon-greedy", "random",
)  # fmt: skip
"""The nine algorithms, in the order of the paper's tables."""
VV_EXPLORERS, OTHERS = EXPLORERS[:2], EXPLORERS[2:]
"""Those of the paper, and those that it compares them with."""

_STUDIES = (
    "environments", "toy-example", "recap", "deep-sea-ensembles", "taxi-horizon", "visit-maps", "gamma-w",
    "deep-sea-scaling", "chain", "stochastic", "memory", "appendix",
)  # fmt: skip
"""In the order of the paper. Each has a module of this name."""
_ALIASES = {"curves": "recap"}


@dataclass(frozen=True)
class StudySelection:
    """The part of a study to run; None selects everything."""

    worlds: tuple[str, ...] | None = None
    explorers: tuple[str, ...] | None = None
    seeds: int | None = None
    preset: str = "as_published_code"
    quick: bool = False

    def __post_init__(self) -> None:
        for name in ("worlds", "explorers"):
            names = getattr(self, name)
            if names is not None and not (isinstance(names, tuple) and all(isinstance(each, str) for each in names)):
                raise InvalidSetting(f"{name} must be names, got {names!r}.")
        check_flag("quick", self.quick)
        check_choice("preset", self.preset, WORLD_PRESETS)
        if self.seeds is not None:
            check_integer("seeds", self.seeds, low=1)

    @property
    def suffix(self) -> str:
        """The suffix of the report folder; empty for the full study with the preset of the released code."""
        return ("-quick" if self.quick else "") + ("" if self.preset == "as_published_code" else f"-{self.preset}")

    def select_worlds(self, known: Iterable[str]) -> tuple[str, ...]:
        """Return the selected worlds of a study, in its order."""
        return _select("world", self.worlds, tuple(known))

    def select_explorers(self, known: Iterable[str]) -> tuple[str, ...]:
        """Return the selected explorers of a study, in its order."""
        return _select("explorer", self.explorers, tuple(known))

    def select_seeds(self, full: int, quick: int) -> range:
        """Return the seeds, starting at 1 as in the paper."""
        return range(1, 1 + (self.seeds if self.seeds is not None else quick if self.quick else full))


class Report(NamedTuple):
    """The report of a study."""

    renderables: list[RenderableType]
    """For the terminal."""
    files: Mapping[str, str]
    """File name -> contents."""
    figures: Mapping[str, Callable[[], Figure]] = MappingProxyType({})
    """File name without suffix -> function that draws the figure."""
    claims: Sequence[Claim] = ()
    """Statements of the paper's text, checked."""
    cells: Sequence[Row] = ()
    """Cells of the recap tables."""
    note: str = ""
    """What is said below every table and figure."""


@dataclass(frozen=True)
class Study:
    """One experiment of the paper."""

    id: str
    reference: str
    """Its section, figures and tables in the paper."""
    description: str
    runs: Callable[[StudySelection], list[Run]]
    report: Callable[[list[Run], Iterable[StoredRun], str], Report]
    """Called with the requested runs, the stored ones of them, and a note for every table and figure."""
    quick_changes: str
    """What `--quick` changes, as text."""
    summarize: Callable[[Run, Result], Result] = lambda run, result: reduced(result)
    """Returns the part of a result that the report uses, for the summary of all runs."""


def figure_note(note: str, seeds: Mapping[str, int], more: str = "") -> str:
    """Return what is said below a figure: the number of seeds of its lines, the preset, and the interval."""
    by_number: dict[int, list[str]] = {}
    for name, n in seeds.items():
        by_number.setdefault(n, []).append(name)
    common = max(by_number, key=lambda n: len(by_number[n]), default=0)
    others = [f"{', '.join(names)}: 1 to {n}" for n, names in by_number.items() if n != common]
    text = f"Seeds 1 to {common}" + (f" ({'; '.join(others)})" if others else "")
    preset = "the paper's text" if "as_written" in note else "the released code"
    return f"{text}; settings of {preset}{more}; intervals: mean ± 2 σ/√seeds. {note}".strip()


def study_names() -> tuple[str, ...]:
    """Return the experiments, in the order of the paper."""
    return _STUDIES


def find_study(name: str) -> Study:
    """Return an experiment by its name or alias."""
    name = _ALIASES.get(name, name)
    if name not in _STUDIES:
        raise unknown_name("experiment", name, [*_STUDIES, *_ALIASES])
    study: Study = importlib.import_module(f"wanderlust_paper.studies.{name.replace('-', '_')}").STUDY
    return study


def to_json(study: Study, selections: Iterable[StudySelection]) -> str:
    """Return the JSON text that `from_json` reads."""
    return json.dumps({"study": study.id, "choices": [dataclasses.asdict(each) for each in selections]}, indent=1)


def from_json(text: str, where: str) -> tuple[Study, list[StudySelection]]:
    """Return a study and its selections; `where` names the file in errors."""
    try:
        document: dict[str, Any] = json.loads(text)
        selections = []
        for each in document["choices"]:
            fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in each.items()}
            selections.append(StudySelection(**fields))
        if not selections:
            raise InvalidSetting("it has no selection")
        return find_study(document["study"]), selections
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadFile(f"{where}: does not describe an experiment ({error}).") from error


def _select(kind: str, selected: tuple[str, ...] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if selected is None:
        return known
    if not selected:
        raise InvalidSetting(f"select at least one {kind} of {', '.join(known)}.")
    for name in selected:
        if name not in known:
            raise unknown_name(f"{kind} of this experiment", name, known)
    return tuple(name for name in known if name in selected)
