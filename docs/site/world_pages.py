"""A page for every world, from its factory, its options and the paper map."""

from __future__ import annotations

from typing import Any

from paper_map import entries, item_link, item_links, source_link, world_items

import wanderlust as wl
from wanderlust.core.planning import optimal_values, reachable_states
from wanderlust.worlds.registry import environment_id, world_factory, world_meaning, world_options

CAPTIONS = {"deep-sea": "The picture has depth 10."}


def pages() -> dict[str, str]:
    """Return the text of every page by its path without suffix."""
    return {"worlds/index": _index(), **{f"worlds/{name}": _page(name) for name in wl.world_names()}}


def _index() -> str:
    names = wl.world_names()
    parts = [
        f"## {{ref}}`{name} <world-{name}>`\n\n{world_meaning(name)}\n\n![The world {name}]({name}.png){{.world}}\n"
        for name in names
    ]
    toctree = "\n".join(names)
    return f"""\
(worlds)=
# Worlds

A world is a tabular environment with a known model. The worlds of the paper are built in; each is also a
[Gymnasium environment](../gymnasium.md#built-in-worlds-as-environments). [Text maps](../maps.md) define further ones.

In the pictures S is the start, the disc is the agent, yellow cells are treasures, red ones penalties, grey ones with
bars prisons, blue ones puddles, and dark ones walls.

{chr(10).join(parts)}

```{{toctree}}
:hidden:

{toctree}
```
"""


def _page(name: str) -> str:
    world = wl.make_world(name)
    function = world_factory(name)
    factory = f"{function.__module__}.{function.__name__}"
    shown = [entry.item for entry in entries() if factory in entry.functions and entry.item.kind == "Figure"]
    figure = f" Shown in {', '.join(map(item_link, shown))}." if shown else ""
    rows = "\n".join(
        f"| `{each.name}` | {_value(each.default)} | {each.meaning.replace('|', chr(92) + '|')} |"
        for each in world_options(name)
    )
    return f"""\
(world-{name})=
# {name}

{world_meaning(name)}{figure}

![The world {name}]({name}.png){{.world}}

{CAPTIONS.get(name, "")}

```python
import wanderlust as wl

world = wl.make_world("{name}")
print(world.n_states, world.n_actions, world.reward_range)
```

```sh
wanderlust watch {name}
```

## Facts

{_facts(name, world)}

## Options

| option | default | meaning |
|---|---|---|
{rows}

Source: {source_link(factory)}.

{_in_the_paper(name)}"""


def _in_the_paper(name: str) -> str:
    links = item_links(world_items(name))
    return f"## In the paper\n\n{links}.\n" if links else ""


def _facts(name: str, world: Any) -> str:
    defaults = world.defaults
    low, high = world.reward_range
    facts = {
        "reachable states": f"{int(reachable_states(world.mdp).sum()):,}",
        "actions": world.n_actions,
        "transitions": "deterministic" if world.mdp.deterministic else "stochastic",
        "reward of a step": f"{low:g} to {high:g}",
        "optimal value of the start": f"{float(world.mdp.start @ optimal_values(world.mdp).v):.4g}",
        "horizon (short, long)": f"{defaults.horizon:,}, {defaults.long_horizon or '–'}",
        "training steps": f"{defaults.budget:,}",
        "discount γ": defaults.discount,
        "Gymnasium id": f"`{environment_id(name)}`",
    }
    return "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in facts.items())


def _value(value: Any) -> str:
    return "not given" if value is None else f"`{value!r}`"
