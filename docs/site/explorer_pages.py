"""A page for every explorer, from its class, its options, the paper map and the stored results."""

from __future__ import annotations

import csv
import inspect
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from paper_map import entries, explorer_items, item_link, item_links, source_link

import wanderlust as wl
from wanderlust.explorers.protocol import explorer_class
from wanderlust_paper.registry import EXPLORERS

RESULTS = Path(__file__).parents[1] / "results" / "recap" / "tables.csv"


_FEW = 3
"""Equations of more explorers are those of learning and evaluation."""


NOTES = {
    "vv-ucb": (
        "The default. Use it when rewards are sparse, far away, or hidden behind smaller ones. In stochastic "
        "environments `wl.learn` decreases κ and γ_w over the budget; `wl.train` keeps the paper's values. In its "
        "first phase it visits every reachable state-action pair, which takes long in very large state spaces."
    ),
    "vv-count": (
        "In the same tasks as `vv-ucb`. W is a discounted sum of visit counts that starts at zero, so `(1 - γ_w) W` "
        "can be read as a count."
    ),
    "bootstrapped": (
        "A baseline for deep exploration without counts. It needs rewards that distinguish the Q-tables: with zero "
        "initialization and distractors it often converges to the nearest reward. It needs a replay memory and more "
        "time per step."
    ),
    "random-prior": (
        "A baseline for deep exploration, like `bootstrapped`. The prior at zero bounds the Q-tables where there is "
        "little data."
    ),
    "thompson": (
        "A baseline for tasks with frequent rewards. A new Q-table at every step does not follow one policy for a "
        "whole episode, so exploration is not deep."
    ),
    "ucb1": (
        "When the next state hardly depends on the action, as in bandits, or when rewards are frequent. It considers "
        "only the counts of the current state: `vv-ucb` with γ_w = 0 is similar."
    ),
    "bonus": (
        "When the reward may be changed and rewards are of the order of the bonus. The bonus propagates through the "
        "Q-table of the behaviour, but only after an action was taken once, and the rewards of this Q-table change "
        "over time."
    ),
    "epsilon-greedy": (
        "When random actions find rewards: short tasks, or dense rewards. The number of steps to reach a reward "
        "grows exponentially with its distance where wrong actions lead back."
    ),
    "random": (
        "As a reference: how much of an environment a random walk discovers. Q is learnt from its data, so `random` "
        "also measures learning without directed exploration."
    ),
    "optimistic": (
        "As the simplest deep exploration in deterministic environments. Once an action was tried, nothing makes it "
        "attractive again, so it can fail where outcomes or rewards are stochastic."
    ),
    "mbie-eb": (
        "A strong baseline in deterministic and in stochastic environments: `optimistic` with a bonus that decreases "
        "with the count."
    ),
    "boltzmann": (
        "As a baseline that prefers better actions when it acts at random. Like ε-greedy it does not explore deeply."
    ),
    "r-max": (
        "In deterministic environments. In stochastic ones set `known_after` to 5 or more."
    ),
    "ucbvi": (
        "A strong baseline. It takes more time per step than the other optimistic explorers in large state spaces."
    ),
    "mbie-plan": (
        "A strong baseline: `mbie-eb` without a learning rate, as its source has it. It needs a full memory."
    ),
    "vv-plan": (
        "Instead of `vv-ucb` where a step may take twice the time: W has no learning rate, so it follows new "
        "information at once. With noisy rewards `vv-ucb` was better."
    ),
    "rlsvi": (
        "As a randomized explorer without a bonus to tune. It needs a full memory."
    ),
    "psrl": (
        "In small stochastic environments. Every draw is planned from the start, so it is the slowest explorer."
    ),
    "goal-directed": (
        "When all states can be reached again and again. It visits all pairs equally often, whatever their value."
    ),
    "ucb-q": (
        "As optimism without a memory. It learns from each transition once, so it needs many visits."
    ),
    "dora": (
        "As a propagated visit count that needs no memory. With γ_E = 0 it counts the visits of the pair alone. The "
        "same table gives the successor counts of Machado et al. (2020): E = 1 − (1 − γ_E) ‖ψ‖₁."
    ),
}
"""Explorer -> when to use it, which the code does not contain."""
MORE = {
    "bonus": "Their algorithm is model-based; the paper uses its bonus with Q-learning.",
    "vv-plan": "`vv-plan` is of this package: W of Algorithm 3, planned.",
    "optimistic": "Section 2.6.",
    "boltzmann": "Section 2.8.",
    "random": "The uniform policy.",
}
"""Explorer -> what its references do not say."""


def source(name: str) -> str:
    """Return the references of an explorer, from the package's BibTeX file; "" if there are none."""
    text = (files("wanderlust.explorers") / "references.bib").read_text(encoding="utf-8")
    found = []
    for entry in text.split("\n@"):
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", entry, re.M))
        if name in fields["explorers"].split(", "):
            people = [" ".join(reversed(each.split(", "))) for each in fields["author"].split(" and ")]
            authors = ", ".join(people[:-1]) + (" and " if len(people) > 1 else "") + people[-1]
            title = f"[{fields['title']}]({fields['url']})" if "url" in fields else fields["title"]
            place = next(fields[kind] for kind in ("journal", "booktitle", "school", "publisher") if kind in fields)
            text_of_entry = f"{authors}: {title}. {place} ({fields['year']})."
            found.append(_ACCENTS.sub(lambda match: _LETTERS[match[0]], text_of_entry))
    return " ".join([*found, MORE.get(name, "")]).strip()


_LETTERS = {r"{\`o}": "ò", r"{\'e}": "é"}
_ACCENTS = re.compile("|".join(map(re.escape, _LETTERS)))


def names() -> tuple[str, ...]:
    """Return the explorers of the package, those of the paper first, in the order of its tables."""
    ours = [name for name in wl.explorer_names() if explorer_class(name).__module__.startswith("wanderlust.")]
    return (*EXPLORERS, *(name for name in ours if name not in EXPLORERS))


def summary(name: str) -> str:
    """Return the first line of the docstring of an explorer."""
    return (inspect.getdoc(explorer_class(name)) or "").splitlines()[0]


def pages() -> dict[str, str]:
    """Return the text of every page by its path without suffix."""
    return {"explorers/index": _index(), **{f"explorers/{name}": _page(name) for name in names()}}


def _index() -> str:
    rows = "\n".join(f"| {{ref}}`{name} <explorer-{name}>` | {summary(name)} |" for name in names())
    toctree = "\n".join(names())
    return f"""\
(explorers)=
# Explorers

Learning curves of the paper's explorers in `prison`: 1,000 steps, the mean of ten seeds.

![States discovered and return of the paper's explorers in prison](all.png)

The first nine explorers are those of the paper; the others are from the papers that their pages cite.

| explorer | action selection |
|---|---|
{rows}

`wl.explorer_names()` and `wanderlust explorers` list them with their options.

```{{toctree}}
:hidden:

{toctree}
```
"""


def _page(name: str) -> str:
    cls = explorer_class(name)
    class_name = f"{cls.__module__}.{cls.__name__}"
    if name not in EXPLORERS:
        return _field_page(name, class_name)
    used = item_links([item for item in explorer_items(name) if item.kind in ("Figure", "Table")])
    algorithms = ", ".join(item_link(item) for item in explorer_items(name) if item.kind == "Algorithm")
    return f"""\
{_head(name)}

## Equations

{_equations(name)}

## Source

{source(name)} In the paper: {algorithms}. File: {source_link(cls.__module__)}, class {source_link(class_name)}.

## When to use it

{NOTES[name]}

## Options

{_options(name)}

## Learning curve

![States discovered and return of {name} in prison]({name}.png)

`prison`, 1,000 steps, mean and 95 % interval of ten seeds; the other explorers in grey.

## Results in the paper's worlds

{_results(name)}

## In the paper

{used}. {{ref}}`The paper map <paper-map>` has all items.
"""


def _head(name: str) -> str:
    """Return the title of a page, what the explorer does, and how to use it."""
    return f"""\
(explorer-{name})=
# {name}

{inspect.getdoc(explorer_class(name))}

```python
import wanderlust as wl

record = wl.train("prison", "{name}", seed=1)
print("return:", record.returns[-1], "states discovered:", record.discovered[-1])
```

```sh
wanderlust train prison --explorer {name} --steps 1000
```"""


def _field_page(name: str, class_name: str) -> str:
    """Return the page of an explorer that is not in the paper; one without a note has all in its docstring."""
    cls = explorer_class(name)
    found = source(name)
    origin = f"{found} Where it differs from this source: [deviations](../deviations.md). " if found else ""
    use = f"## When to use it\n\n{NOTES[name]}\n\n" if name in NOTES else ""
    rules = [(method, inspect.getdoc(getattr(cls, method))) for method in _RULES if method in vars(cls)]
    return f"""\
{_head(name)}

## Source

{origin}File: {source_link(cls.__module__)}, class {source_link(class_name)}.

{_rule_table(rules)}

{use}## Options

{_options(name)}
"""


_RULES = (
    "bonus", "backup", "draw_reward", "draw_transitions", "draw", "learn_tables", "plan_episode", "score", "choose"
)  # fmt: skip


def _rule_table(rules: list[tuple[str, str | None]]) -> str:
    shown = [(method, text.splitlines()[0]) for method, text in rules if text]
    rows = "\n".join(f"| `{method}` | {_cell(text)} |" for method, text in shown)
    return f"| method | rule |\n|---|---|\n{rows}" if rows else "The action with the largest Q, ties broken at random."


def _equations(name: str) -> str:
    own = [entry for entry in entries() if entry.item.kind == "Equation" and name in entry.explorers]
    specific = [entry for entry in own if len(entry.explorers) <= _FEW]
    parts = []
    for entry in specific or own:
        text = entry.item.title[0].upper() + entry.item.title[1:]
        code = ", ".join(map(source_link, entry.functions))
        parts.append(f"**{item_link(entry.item)}** {text}.\n\n$$\n{entry.item.formula}\n$$\n\nCode: {code}\n")
    return "\n".join(parts)


def _options(name: str) -> str:
    options = wl.explorer_options(name)
    if not options:
        return "None."
    rows = "\n".join(f"| `{each.name}` | {_value(each.default)} | {_cell(each.text)} |" for each in options)
    return f"| option | default | meaning |\n|---|---|---|\n{rows}"


def _value(value: Any) -> str:
    return "not given" if value is None else f"`{value!r}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _results(name: str) -> str:
    with RESULTS.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["algorithm"] == name and row["initialization"] == "zero"]
    lines = [
        f"| {{ref}}`{row['environment']} <world-{row['environment']}>` | {row['seeds']}"
        f" | {float(row['discovery_mean']):.1f} ({float(row['paper_discovery_mean']):.1f})"
        f" | {float(row['success_mean']):.1f} ({float(row['paper_success_mean']):.1f}) |"
        for row in rows
        if row["horizon"] in ("fixed", "short")
    ]
    return (
        "States discovered and final return in percent, zero initialization, short horizon; the paper's numbers in "
        "brackets.\n\n| world | seeds | discovery (%) | success (%) |\n|---|---:|---:|---:|\n" + "\n".join(lines)
    )
