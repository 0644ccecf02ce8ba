"""The scorecard as one self-contained HTML page, for wide and narrow screens, light and dark mode."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

from wanderlust import __version__
from wanderlust_paper import claims as claims_module
from wanderlust_paper.claims import NOT_REPRODUCED, PARTLY, REPRODUCED, Claim
from wanderlust_paper.reports import recap_tables
from wanderlust_paper.reports.known_differences import explain_difference
from wanderlust_paper.reports.recap_cells import Row
from wanderlust_paper.reports.scorecard import LEGEND, RULE, TABLE_HEADS, as_table, headline, summary

_SYMBOLS = {"agrees": "✓", "differs": "✗", "not compared": "·", "no runs": "·"}
_CLASSES = {REPRODUCED: "agrees", PARTLY: "partly", NOT_REPRODUCED: "differs"}
_HEADS = ("algorithm", "discovery (%)", "paper", "success (%)", "paper", "seeds", "verdict")
_STYLE = """\
:root { color-scheme: light dark; --ink: #1c1c1e; --paper: #fff; --dim: #6b6b70; --line: #dcdce0; --head: #f4f4f6;
  --agrees: #0b6e4f; --agrees-ground: #e2f3ec; --differs: #a4262c; --differs-ground: #fbe6e6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8ea; --paper: #161618; --dim: #9a9aa0; --line: #38383c; --head: #222226;
    --agrees: #6fd3ae; --agrees-ground: #14352a; --differs: #ff9a9a; --differs-ground: #451c1e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1.2rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
.sum { font-size: 1.1rem; }
.rule, footer { color: var(--dim); font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { font-weight: 600; }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
thead th { background: var(--head); }
.scenario th { padding-top: .9rem; text-align: left; }
.agrees td:last-child { color: var(--agrees); background: var(--agrees-ground); }
.differs td:last-child { color: var(--differs); background: var(--differs-ground); font-weight: 600; }
.claims th, .claims td { text-align: left; white-space: normal; vertical-align: top; }
.claims td:last-child { white-space: nowrap; }
.partly td:last-child { background: var(--head); }
.not-compared td, .no-runs td { color: var(--dim); }
.bar { display: flex; min-width: 7rem; height: .8rem; border-radius: .2rem; overflow: hidden; background: var(--line); }
.bar i { background: var(--agrees); }
.bar i + i { background: var(--differs); }
"""


def as_html(rows: Iterable[Row], claims: Sequence[Claim], note: str) -> str:
    """Return the page: a summary, verdicts by world, the claims, and every cell."""
    rows = list(rows)
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Scorecard</title><style>\n{_STYLE}</style></head>",
        "<body>",
        "<h1>Scorecard</h1>",
        f'<p class="sum">{escape(summary(rows, note))} {escape(claims_module.summary(claims)) if claims else ""}</p>',
        *_headline_table(rows),
        f'<p class="rule">{_with_code(RULE)}</p>',
        *_verdict_table(rows),
        *(_claim_table(claims) if claims else []),
    ]
    for environment, scenarios in recap_tables.group_by_environment(rows):
        parts.append(f'<h2 id="{escape(environment)}">{escape(recap_tables.world_title(environment))}</h2>')
        parts.append(f'<div class="wide"><table>{_head(_HEADS)}')
        for name, scenario_rows in scenarios:
            parts.append(f'<tbody><tr class="scenario"><th colspan="{len(_HEADS)}">{escape(name)}</th></tr>')
            parts += [_table_row(row) for row in scenario_rows]
            parts.append("</tbody>")
        parts.append("</table></div>")
        world_rows = [row for _, scenario_rows in scenarios for row in scenario_rows]
        footnotes = (*recap_tables.alternative_setting_notes(world_rows), *_explanations(world_rows, note))
        parts += [f'<p class="rule">{escape(text)}</p>' for text in footnotes]
    parts += [f"<footer><p>wanderlust {escape(__version__)}</p></footer>", "</body>", "</html>"]
    return "\n".join(parts) + "\n"


def _explanations(rows: Iterable[Row], note: str) -> list[str]:
    """Return an explanation of each row that differs."""
    return [
        f"✗ {row.cell.algorithm}, {recap_tables.scenario(row.cell)}: {explain_difference(row, note)}"
        for row in rows
        if row.verdict == "differs"
    ]


def _head(heads: Iterable[str]) -> str:
    return "<thead><tr>" + "".join(f"<th>{escape(head)}</th>" for head in heads) + "</tr></thead>"


def _with_code(text: str) -> str:
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(text))


def _headline_table(rows: list[Row]) -> list[str]:
    """Return the table of the numbers of cells that agree, by setting."""
    counts = headline(rows)
    if not counts:
        return []
    parts = [f'<div class="wide"><table class="claims">{_head(TABLE_HEADS)}<tbody>']
    parts += [
        f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in line)}</tr>" for line in as_table(counts)
    ]
    legend = _with_code(LEGEND.replace("*", ""))
    return [*parts, "</tbody></table></div>", f'<p class="rule">{legend}</p>']


def _verdict_table(rows: list[Row]) -> list[str]:
    """Return a table with one row per world: the number of cells with each verdict, and a bar."""
    parts = [f'<div class="wide"><table>{_head(("world", "agree", "differ", "not compared", "no runs", ""))}<tbody>']
    for environment in dict.fromkeys(row.cell.environment for row in rows):
        counts = Counter(row.verdict for row in rows if row.cell.environment == environment)
        cells = "".join(f"<td>{counts[verdict]}</td>" for verdict in _SYMBOLS)
        shares = "".join(
            f'<i style="width:{100 * counts[verdict] / counts.total():.1f}%"></i>' for verdict in ("agrees", "differs")
        )
        name = f'<a href="#{escape(environment)}">{escape(recap_tables.world_title(environment))}</a>'
        parts.append(f'<tr><td>{name}</td>{cells}<td><div class="bar">{shares}</div></td></tr>')
    return [*parts, "</tbody></table></div>"]


def _claim_table(claims: Sequence[Claim]) -> list[str]:
    """Return a table of the statements of the paper's text, and one of the reasons of differences."""
    parts = ["<h2>Statements of the paper's text</h2>"]
    parts.append(f'<p class="rule">{_with_code(claims_module.TOLERANCES.replace("*", ""))}</p>')
    parts += _claim_rows(claims_module.HEADS, claims_module.statements(claims))
    reasons = claims_module.reasons(claims)
    if reasons:
        parts += ["<h2>Reasons of differences, tested</h2>", *_claim_rows(claims_module.REASON_HEADS, reasons)]
    return parts


def _claim_rows(heads: Sequence[str], claims: Sequence[Claim]) -> list[str]:
    parts = ['<div class="wide"><table class="claims">', _head(heads) + "<tbody>"]
    for claim in claims:
        cells = "".join(f"<td>{escape(text)}</td>" for text in claim.texts)
        parts.append(f'<tr class="{_CLASSES[claim.verdict]}">{cells}</tr>')
    return [*parts, "</tbody></table></div>"]


def _table_row(row: Row) -> str:
    *numbers, _learnt, seeds, verdict = recap_tables.row_texts(row)
    texts = (*numbers, seeds, f"{_SYMBOLS[row.verdict]} {verdict}")
    cells = "".join(f"<td>{escape(text)}</td>" for text in texts)
    return f'<tr class="cell {row.verdict.replace(" ", "-")}">{cells}</tr>'
