"""The scorecard of all studies: how many cells of the paper's tables agree, with which settings, and every claim.

The counts begin with the paper's own seeds and nothing inferred. Each setting that was inferred from the paper's
numbers, and more seeds, add a row. 109 of the 198 cells are 100 ± 0 in both columns, and the rows of `random` with
optimistic initialization repeat those with zero initialization: the other cells are *informative*.

The page and the Markdown are templates, `templates/scorecard.html` and `templates/scorecard.md`.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

from wanderlust import __version__
from wanderlust.experiments.report.text_tables import markdown_cell
from wanderlust_paper import claims as claims_module
from wanderlust_paper.claims import Claim
from wanderlust_paper.reports.reasons import reason_of, reason_of_cell
from wanderlust_paper.reports.recap_tables import (
    AGREES,
    DIFFERS,
    EQUIVALENCE_ERRORS,
    FRESH,
    INFERRED,
    NOTHING_INFERRED,
    PAPER_SEEDS,
    TABLES,
    Numbers,
    Row,
    alternative_setting_notes,
    as_entry,
    format_percent,
    group_by_environment,
    row_texts,
    world_title,
)

PERFECT = (100.0, 0.0)
_COMPARED = (AGREES, DIFFERS)
_SYMBOLS = {"agrees": "✓", "differs": "✗", "not compared": "·", "no runs": "·"}
RULE = (
    "By the plain rule a cell agrees if its discovery and its success both differ from the paper's by at most 2.58 "
    "standard errors of the difference plus half a point. Of the cells that vary over seeds, about 1 % would differ by "
    "chance. The rule is weak where errors are large: the fewer seeds, the more easily a cell agrees, and in `wall` "
    "with zero initialization half a point is more than the success of most explorers. So there is a second measure, "
    "equivalence: a cell agrees if the 95 % interval of each difference is inside ± a tenth of the paper's number, at "
    "most 5 points; otherwise it differs if an interval excludes 0; otherwise these seeds cannot tell."
)
LEGEND = (
    "*Informative* cells are those that can tell explorers apart: not 100 ± 0 in both columns of the paper, and not "
    "the rows of `random` with optimistic initialization, which repeat those with zero initialization. None of them is "
    "a cell of the paper's own explorers: all 44 of these are 100 ± 0."
)
TOLERANCES = (
    "Each kind of statement has one rule. Some tolerances were chosen when results of earlier runs were known, and the "
    "seeds of this run are those of earlier ones, so they are not those of a preregistered study. The margin beside "
    "each verdict is the measured number and the tolerance, of the case that uses most of it."
)


class Count(NamedTuple):
    """Numbers of cells: those that agree by the plain rule, and by equivalence."""

    agree: int
    cells: int
    informative_agree: int
    informative: int
    equivalence: tuple[int, int, int]
    """Agree, differ, cannot tell."""
    informative_equivalence: tuple[int, int, int]

    @property
    def texts(self) -> list[str]:
        """The columns of the table."""
        plain = [f"{self.agree} of {self.cells}", f"{self.informative_agree} of {self.informative}"]
        return [*plain, *(", ".join(map(str, each)) for each in (self.equivalence, self.informative_equivalence))]


class Step(NamedTuple):
    """A row of the headline table: what it adds to the rows above, and the counts."""

    setting: str
    sentence: str
    counted: Count


def is_informative(row: Row) -> bool:
    """Return whether a cell can tell explorers apart: not 100 ± 0 in both columns, and not a repeated row."""
    repeated = row.cell.algorithm == "random" and row.cell.initialization == "optimistic"
    return row.theirs is not None and not repeated and not all(tuple(each) == PERFECT for each in row.theirs)


def _count(rows: Sequence[Row], verdicts: Callable[[Row], tuple[str, str]]) -> Count:
    found = [(is_informative(row), *verdicts(row)) for row in rows]

    def equivalence(pairs: Sequence[tuple[bool, str, str]]) -> tuple[int, int, int]:
        agree, differ = (sum(each == verdict for _, _, each in pairs) for verdict in _COMPARED)
        return agree, differ, len(pairs) - agree - differ

    return Count(
        agree=sum(verdict == AGREES for _, verdict, _ in found),
        cells=len(found),
        informative_agree=sum(informative and verdict == AGREES for informative, verdict, _ in found),
        informative=sum(informative for informative, _, _ in found),
        equivalence=equivalence(found),
        informative_equivalence=equivalence([each for each in found if each[0]]),
    )


def headline(rows: Sequence[Row]) -> list[Step]:
    """Return the counts of the cells that were compared with the paper: first what needs no inference."""
    compared = [row for row in rows if row.verdict in _COMPARED and NOTHING_INFERRED in row.variants]
    if not compared:
        return []
    used = {row.cell: NOTHING_INFERRED for row in compared}

    def verdicts(row: Row) -> tuple[str, str]:
        variant = row.variants[used[row.cell]]
        return variant.verdict, variant.equivalence

    def add(setting: str, what: str) -> Step:
        before = _count(compared, verdicts).agree - (steps[-1].counted.agree if steps else 0)
        sentence = f"{what}: {before:+d} {'cell' if abs(before) == 1 else 'cells'}." if steps else what
        return Step(setting, sentence, _count(compared, verdicts))

    steps: list[Step] = []
    first = f"seeds 1 to {_most_seeds(compared)}{_fewer_seeds(compared)}, {_inferred_from_the_start(compared)}"
    steps.append(add(first, "settings of the preset, no more than the paper's 20 seeds."))
    released = [row for row in compared if row.released]
    if released:
        used |= {row.cell: TABLES for row in released}
        steps.append(
            add("deep sea: 100,000 steps", f"instead of the 500,000 of the released code, {len(released)} cells")
        )
    for setting in dict.fromkeys(row.setting for row in compared if row.setting):
        cells = [row for row in compared if row.setting == setting and INFERRED in row.variants]
        used |= {row.cell: INFERRED for row in cells}
        worlds = " and ".join(dict.fromkeys(f"{row.cell.environment}, {row.cell.algorithm}" for row in cells))
        steps.append(
            add(
                f"{worlds}: {setting}",
                f"inferred from the paper's numbers, {len(cells)} {'cell' if len(cells) == 1 else 'cells'}",
            )
        )
    more = [
        row for row in compared if row.seeds > max(each.seeds for each in row.variants.values() if each.seeds <= 20)
    ]
    if more:
        final = _count(compared, lambda row: (row.verdict, row.equivalence))
        gained = final.agree - steps[-1].counted.agree
        most = max(row.seeds for row in more)
        text = f"{len(more)} cells whose runs are brief have up to {most} seeds: {gained:+d} cells."
        steps.append(Step("more seeds", text, final))
    return steps


def _most_seeds(compared: Sequence[Row]) -> int:
    return max(row.variants[NOTHING_INFERRED].seeds for row in compared)


def _inferred_from_the_start(compared: Sequence[Row]) -> str:
    """Say what the first row of the headline table infers: the steps of the deep sea, without runs of 500,000."""
    deep_sea = any(row.cell.environment == "deep-sea" and not row.released for row in compared)
    return "nothing inferred but the 100,000 steps of the deep sea" if deep_sea else "nothing inferred"


def _fewer_seeds(compared: Sequence[Row]) -> str:
    """Say how many cells have fewer seeds than the others."""
    seeds = [row.variants[NOTHING_INFERRED].seeds for row in compared]
    fewer = sum(n < max(seeds) for n in seeds)
    return f" (1 to {min(seeds)} in {fewer} cells)" if fewer else ""


def as_table(steps: Sequence[Step]) -> list[list[str]]:
    """Return the rows of the table: setting, sentence, and the counts."""
    return [
        [("" if i == 0 else "+ ") + step.setting, step.sentence, *step.counted.texts] for i, step in enumerate(steps)
    ]


def sentence(steps: Sequence[Step]) -> str:
    """Return the headline in one sentence, without its full stop."""
    first, last = steps[0].counted, steps[-1].counted
    text = (
        f"With {steps[0].setting}, {first.agree} of {first.cells} cells of the paper's "
        f"tables ({first.informative_agree} of the {first.informative} that can tell explorers apart) are "
        "within 2.58 standard errors plus half a point of ours"
    )
    if len(steps) > 1:
        text += f", and {last.agree} ({last.informative_agree}) with every inferred setting and more seeds"
    agree, differ, unknown = last.informative_equivalence
    return (
        f"{text}; by the stricter rule of equivalence, {agree} of these {last.informative} agree, {differ} differ, and "
        f"the seeds cannot tell for {unknown}"
    )


def cell_sensitivity(rows: Sequence[Row]) -> str:
    """Return how many verdicts of the first row of the headline would change with other tolerances."""
    variants = [row.variants[NOTHING_INFERRED] for row in rows if NOTHING_INFERRED in row.variants]
    halved, doubled = (sum(getattr(each, name) != each.verdict for each in variants) for name in ("halved", "doubled"))
    return (
        f"If the tolerance of the plain rule were halved, {halved} of the {len(variants)} verdicts of the first row "
        f"would change; if it were doubled, {doubled} would."
    )


def summary(rows: Sequence[Row], note: str) -> str:
    """Return a short summary of the scorecard."""
    verdicts = Counter(row.verdict for row in rows)
    steps = headline(rows)
    text = f"{sentence(steps)}." if steps else ""
    for verdict in ("not compared", "no runs"):
        if verdicts.get(verdict):
            text += f" {verdict.capitalize()}: {verdicts[verdict]}."
    fewest = min((row.seeds for row in rows if row.verdict in _COMPARED), default=PAPER_SEEDS)
    if fewest < PAPER_SEEDS:
        text += f" With {fewest} seeds (the paper: {PAPER_SEEDS}) intervals are wide, and agreement is weak evidence."
    return f"{text} ({note})".strip() if note else text.strip()


def as_json(rows: Sequence[Row], claims: Sequence[Claim], note: str) -> str:
    """Return the scorecard as JSON; `cells` has one entry per row of the tables, `claims` one per statement."""
    document = {
        "wanderlust": __version__,
        "note": note,
        "rule": RULE,
        "rules": claims_module.RULES,
        "summary": summary(rows, note),
        "claims_summary": claims_module.summary(claims),
        "headline": as_table(headline(rows)),
        "verdicts": dict(Counter(row.verdict for row in rows)),
        "cells": [as_entry(row) for row in rows],
        "claims": [asdict(claim) for claim in claims],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _render(template: str, rows: Sequence[Row], claims: Sequence[Claim], note: str) -> str:
    import jinja2
    from markupsafe import Markup, escape

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("wanderlust_paper.reports", "templates"), autoescape=template.endswith(".html"),
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "row": lambda cells: f"| {' | '.join(markdown_cell(str(cell)) for cell in cells)} |",
        "first_three": lambda texts: texts[:3],
        "paragraph": lambda text: " ".join(text.split()) + "\n",
        "with_code": lambda text: Markup(re.sub("`([^`]*)`", r"<code>\1</code>", escape(text.replace("*", "")))),
    }
    worlds = [_World(*each) for each in group_by_environment(rows)]
    groups = {kind: [c for c in claims if c.kind == kind] for kind in claims_module.KINDS}
    return environment.get_template(template).render(
        summary=summary(rows, note),
        claims_summary=claims_module.summary(claims),
        counts=as_table(headline(rows)),
        legend=LEGEND,
        rule=RULE,
        cell_sensitivity=cell_sensitivity(rows) if rows else "",
        tolerances=TOLERANCES,
        rules=[[name, *texts] for name, texts in claims_module.RULES.items()],
        several=claims_module.SEVERAL,
        sensitivity=claims_module.sensitivity(claims),
        worlds=worlds,
        verdicts=[[world.title, *world.counts] for world in worlds],
        alternative=[
            [*_names(row), row.setting, *_numbers(row.ours, row.default, row.theirs)] for row in rows if row.setting
        ],
        released=[
            [
                *_names(row)[1:],
                *_numbers(row.variants[TABLES].ours, row.released.ours, row.theirs),
                row.released.verdict,
                row.released.seeds,
            ]
            for row in rows
            if row.released
        ],
        differing=[] if note else [_differing(row) for row in rows if _differs(row)],
        not_equivalent=[]
        if note
        else [_not_equivalent(row) for row in rows if row.verdict == AGREES and row.equivalence == DIFFERS],
        kinds=[(kind, text, groups[kind]) for kind, text in claims_module.KINDS.items() if groups[kind]],
        unconfirmed=[]
        if note
        else [
            [*claim.texts[:3], claim.fresh or "–", *reason_of(claim), claim.verdict]
            for claim in claims
            if claim.verdict not in (claims_module.REPRODUCED,)
            and claim.kind in (claims_module.EMPIRICAL, claims_module.EXACT)
        ],
        reasons=[claim for claim in claims if claim.kind == claims_module.REASON],
        version=__version__,
    )


class _World:
    """The table of a world: its cells with each verdict, the texts of every row, and footnotes."""

    def __init__(self, name: str, scenarios: Sequence[tuple[str, list[Row]]]) -> None:
        rows = [row for _, scenario_rows in scenarios for row in scenario_rows]
        verdicts = Counter(row.verdict for row in rows)
        self.name, self.title = name, world_title(name)
        self.counts = [verdicts[each] for each in _SYMBOLS]
        self.scenarios = [(scenario, [(row.verdict, _cell_texts(row)) for row in part]) for scenario, part in scenarios]
        self.footnotes = alternative_setting_notes(rows)


def _cell_texts(row: Row) -> list[str]:
    *numbers, _learnt, seeds, verdict = row_texts(row)
    return [*numbers, seeds, f"{_SYMBOLS[row.verdict]} {verdict}"]


def _names(row: Row) -> list[str]:
    return [world_title(row.cell.environment), row.cell.scenario, row.cell.algorithm]


def _numbers(*given: Numbers | None) -> list[str]:
    """Return the discovery of each argument, then the success of each."""
    return [format_percent(numbers[i] if numbers else None) for i in range(len(Numbers._fields)) for numbers in given]


FORMATS: Mapping[str, Callable[[Sequence[Row], Sequence[Claim], str], str]] = {
    "md": functools.partial(_render, "scorecard.md"),
    "html": functools.partial(_render, "scorecard.html"),
    "json": as_json,
}
"""The functions that return the scorecard in each format."""


def _differs(row: Row) -> bool:
    return NOTHING_INFERRED in row.variants and row.variants[NOTHING_INFERRED].verdict == DIFFERS


def _differing(row: Row) -> list[str]:
    """Return the line of a cell that differs with seeds 1 to 20 and nothing inferred: every number, and the reason."""
    variant, fresh = row.variants[NOTHING_INFERRED], row.variants.get(FRESH)
    again = f"{fresh.seeds}: {' and '.join(_numbers(fresh.ours))}, {fresh.verdict}" if fresh else "not run"
    columns = _differences(row, variant.ours, variant.seeds, variant.error)
    return [*_names(row), str(variant.seeds), *columns, again, *reason_of_cell(row.cell)]


def _not_equivalent(row: Row) -> list[str]:
    """Return the line of a cell that agrees by the plain rule and differs by equivalence, with all seeds."""
    assert row.ours is not None
    return [*_names(row), str(row.seeds), *_differences(row, row.ours, row.seeds, row.error)]


def _differences(row: Row, ours: Numbers, seeds: int, errors: tuple[float, float]) -> list[str]:
    """Return discovery and success, ours and the paper's, with the difference and its 95 % interval."""
    assert row.theirs is not None
    columns = []
    for mine, theirs, error in zip(ours, row.theirs, errors, strict=True):
        difference, half = mine.mean - theirs.mean, EQUIVALENCE_ERRORS * error
        interval = f"{difference:+.2f} [{difference - half:.2f}, {difference + half:.2f}]"
        columns += [format_percent(mine, seeds), format_percent(theirs), interval]
    return columns
