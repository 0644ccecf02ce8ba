"""Sections 3.1 to 3.3: the 3×3 example. What an agent that saw four given episodes, or everything once, would do next.

Nothing is run: the tables are trained to their fixed points on given experience.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from wanderlust.agents.agent import Agent
from wanderlust.agents.settings import Settings
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.paper.registry import Choice, Study
from wanderlust.experiments.reports.claims import Claim, judged
from wanderlust.experiments.reports.figures.triangles import ValuePanel, toy_figure
from wanderlust.experiments.reports.formats import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.reports.report import Report
from wanderlust.experiments.run import Run
from wanderlust.experiments.store import Stored
from wanderlust.worlds import World, make_world

LEFT, RIGHT, UP, DOWN = range(4)
START = 0
EPISODES = (
    (LEFT, DOWN, LEFT, DOWN, DOWN),
    (UP, DOWN, RIGHT, RIGHT, RIGHT),
    (RIGHT, LEFT, RIGHT, DOWN, DOWN),
    (RIGHT, DOWN, LEFT, UP, RIGHT),
)
"""The four episodes of Section 3.1."""
_NAMES = ("left", "right", "up", "down")
UNTRIED = (START, LEFT)
"""The only pair that was never tried, in Section 3.3."""
DISCOUNT = 0.99
EXPLORERS = ("greedy", "bonus", "ucb1", "vv-ucb", "vv-count")

_SWEEPS = 3000


def new_agent(explorer: str, world: World, reward_range: tuple[float, float] = (0.0, 2.0)) -> Agent:
    """Return an agent for a world, with one state more to be trained in; see `converge`."""
    settings = Settings(discount=DISCOUNT, learning_rate=1.0, gamma_w=DISCOUNT)
    return Agent(
        explorer, n_states=world.n_states + 1, n_actions=world.n_actions, reward_range=reward_range, settings=settings
    )


def converge(agent: Agent, sweeps: int = _SWEEPS) -> Agent:
    """Train all tables on what the agent remembers, without adding to it.

    Every observation makes one sweep over the whole memory. These are made in a state of its own, from which and to
    which nothing leads: no count, no value of any other state knows of it. With γ = 0.99 and a learning rate of 1 the
    distance to the fixed point falls by 0.99 a sweep, to 1e-13 of what it was.
    """
    assert agent.n_states is not None
    aside = agent.n_states - 1
    for _ in range(sweeps):
        agent.observe(aside, 0, 0.0, aside, terminated=True)
    return agent


def walk(agent: Agent, world: World, actions: Sequence[int], start: int = START) -> None:
    """Lead an agent along one episode."""
    mdp, state = world.mdp, start
    for i, action in enumerate(actions):
        following, ends = int(mdp.next_state[state, action, 0]), bool(mdp.terminal[state, action, 0])
        last = i == len(actions) - 1
        agent.observe(state, action, float(mdp.reward[state, action, 0]), following, ends, last and not ends)
        assert last or not ends
        state = following


def try_all(agent: Agent, world: World, times: int = 1, but: Collection[tuple[int, int]] = ()) -> None:
    """Show an agent every action of every state of a deterministic world."""
    mdp = world.mdp
    for state, action in np.ndindex(mdp.n_states, mdp.n_actions):
        for _ in range(0 if (state, action) in but else times):
            at = (state, action, 0)
            agent.observe(state, action, float(mdp.reward[at]), int(mdp.next_state[at]), bool(mdp.terminal[at]))


def scores(agent: Agent, state: int) -> FloatArray:
    """Return what an agent's behaviour maximises in a state."""
    return np.array([reason.score for reason in agent.explain(state).actions])


def values_of(explorer: str, agent: Agent, n_states: int) -> FloatArray:
    """Return the values [state, action] that the agent, or the greedy policy, maximises."""
    if explorer == "greedy":
        return agent.tables["target"][:n_states]
    return np.stack([scores(agent, state) for state in range(n_states)])


def after_the_episodes(explorer: str) -> tuple[FloatArray, FloatArray]:
    """Return the counts after the four episodes, and the converged values of a policy."""
    world = make_world("toy-example")
    agent = new_agent("ucb1" if explorer == "greedy" else explorer, world)
    for actions in EPISODES:
        walk(agent, world, actions)
    counts = agent.visits[: world.n_states].astype(float)
    return counts, values_of(explorer, converge(agent), world.n_states)


def after_everything_once(explorer: str, *, terminal: bool) -> FloatArray:
    """Return the converged values of a policy when all but one pair were tried once."""
    world = make_world("toy-example", terminal=terminal)
    agent = new_agent("ucb1" if explorer == "greedy" else explorer, world)
    try_all(agent, world, but={UNTRIED})
    return values_of(explorer, converge(agent), world.n_states)


def runs(choice: Choice) -> list[Run]:
    """Return no runs."""
    choice.of_worlds(("toy-example",))
    return []


def report(asked: list[Run], stored: Iterable[Stored], note: str) -> Report:
    """Return the three parts of the example, drawn and as a table."""
    found = {explorer: after_the_episodes(explorer) for explorer in EXPLORERS}
    counts = found["greedy"][0]
    panel = {explorer: ValuePanel(explorer, values) for explorer, (_, values) in found.items()}
    counted = ValuePanel("times tried", counts, arrows=False)
    cases = {"treasures end the episode": True, "they do not": False}
    once = {
        name: [ValuePanel(each, after_everything_once(each, terminal=terminal)) for each in EXPLORERS]
        for name, terminal in cases.items()
    }
    layout = make_world("toy-example").layout
    assert layout is not None
    parts = {
        "part-1": ("Immediate counts are myopic", {"": [counted, *(panel[name] for name in EXPLORERS[:3])]}),
        "part-2": ("W looks far ahead", {"": [counted, *(panel[name] for name in EXPLORERS[3:])]}),
        "part-3": ("Everything tried once, but “left” in the start", once),
    }
    everything = [("four episodes", ValuePanel("count", counts)), *(("four episodes", each) for each in panel.values())]
    everything += [(f"all but one, {name}", each) for name, row in once.items() for each in row]
    heads = ["experience", "policy", "row", "column", "left", "right", "up", "down"]
    lines = [
        [what, shown.title, str(s // 3 + 1), str(s % 3 + 1), *(f"{value:.6g}" for value in shown.values[s])]
        for what, shown in everything
        for s in range(9)
    ]
    at_start = [[line[0], line[1], *line[4:]] for line in lines if line[2:4] == ["1", "1"]]
    title, columns = "The toy example: values of the actions in the start", ["experience", "policy", *heads[4:]]
    return Report(
        shown=[as_rich_table(title, columns, at_start, note, names=2)],
        claims=claims_of({name: values for name, (_, values) in found.items()}, once),
        files={"table.md": as_markdown_table(title, columns, at_start, "", note), "values.csv": as_csv(heads, lines)},
        figures={
            name: functools.partial(toy_figure, title, rows, layout, note=note) for name, (title, rows) in parts.items()
        },
    )


def claims_of(values: Mapping[str, FloatArray], once: Mapping[str, Sequence[ValuePanel]]) -> list[Claim]:
    """Return what Section 3 says in words of the agent in its start."""
    best = {name: _best(found[START]) for name, found in values.items()}
    words = {name: " or ".join(_NAMES[action] for action in sorted(found)) for name, found in best.items()}
    untried = {
        name: [_best(panel.values[START]) for row in once.values() for panel in row if panel.title == name]
        for name in EXPLORERS
    }
    takes = {name: all(found == {UNTRIED[1]} for found in each) for name, each in untried.items()}
    return [
        judged(
            "3.1",
            "after the four episodes UCB1 and the bonus myopically choose the least tried actions of the start",
            f"UCB1: {words['ucb1']}; bonus: {words['bonus']}",
            holds=best["ucb1"] == best["bonus"] == {LEFT, UP},
        ),
        judged(
            "3.2",
            "both vv go down instead, towards actions that were never tried",
            f"vv-ucb: {words['vv-ucb']}; vv-count: {words['vv-count']}",
            holds=best["vv-ucb"] == best["vv-count"] == {DOWN},
        ),
        judged(
            "3.3",
            "with one action left to try, UCB1 and vv take it in the start, the bonus does not",
            ", ".join(f"{name} {'does' if takes[name] else 'does not'}" for name in EXPLORERS[1:]),
            holds=takes["ucb1"] and takes["vv-ucb"] and takes["vv-count"] and not takes["bonus"],
        ),
    ]


def _best(scores_of_actions: FloatArray) -> set[int]:
    """Return the best actions, equal but for rounding."""
    return set(np.flatnonzero(scores_of_actions >= scores_of_actions.max() - 1e-7).tolist())


STUDY = Study(
    id="toy-example",
    place="Sections 3.1 to 3.3, Figures “Toy example (part 1 to 3)”",
    what="what each policy would do after four given episodes, and after everything was tried once",
    runs=runs,
    report=report,
    quick="nothing: it takes seconds",
)
