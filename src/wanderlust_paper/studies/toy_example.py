"""Sections 3.1 to 3.4, Figures 3, 4 and 6: behaviour policies in the 3×3 toy example.

There are no runs: the tables are trained to their fixed points, either on four given episodes (Figures 3 and 4), or on
one transition of every state-action pair except one (Figure 6).
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from wanderlust import Agent, Run, World, make_world
from wanderlust.core.mdp import FloatArray
from wanderlust.experiments.report.text_tables import as_csv, as_markdown_table, as_rich_table
from wanderlust.experiments.store import StoredRun
from wanderlust_paper.claims import Claim
from wanderlust_paper.figures.maps import ValuePanel, action_values_figure
from wanderlust_paper.registry import Report, Study, StudySelection
from wanderlust_paper.studies import w_function_claims
from wanderlust_paper.studies.toy_example_claims import DOWN, LEFT, RIGHT, START, UP, ToyValues, check_claims

EPISODES = (
    (LEFT, DOWN, LEFT, DOWN, DOWN),
    (UP, DOWN, RIGHT, RIGHT, RIGHT),
    (RIGHT, LEFT, RIGHT, DOWN, DOWN),
    (RIGHT, DOWN, LEFT, UP, RIGHT),
)
"""The four episodes of Section 3.1."""
UNVISITED = (START, LEFT)
"""The only state-action pair without a visit, in Section 3.3."""
DISCOUNT = 0.99
EXPLORERS = ("greedy", "bonus", "ucb1", "vv-ucb", "vv-count")

_SWEEPS = 3000


def new_agent(explorer: str, world: World, *, gamma_w: float = DISCOUNT) -> Agent:
    """Return an agent for a world."""
    return Agent(
        explorer,
        n_states=world.n_states,
        n_actions=world.n_actions,
        reward_range=(0.0, 2.0),
        discount=DISCOUNT,
        learning_rate=1.0,
        gamma_w=gamma_w,
    )


def converge(agent: Agent, sweeps: int = _SWEEPS) -> Agent:
    """Train all tables to their fixed points on the agent's replay memory.

    With γ = 0.99 and a learning rate of 1 each sweep multiplies the distance to the fixed point by 0.99, in total by
    1e-13.
    """
    agent.replay(sweeps)
    return agent


def observe_episode(agent: Agent, world: World, actions: Sequence[int], start: int = START) -> None:
    """Pass the transitions of one episode to an agent."""
    mdp, state = world.mdp, start
    for i, action in enumerate(actions):
        next_state, terminated = int(mdp.next_state[state, action, 0]), bool(mdp.terminal[state, action, 0])
        last = i == len(actions) - 1
        reward = float(mdp.reward[state, action, 0])
        agent.observe(state, action, reward, next_state, terminated, last and not terminated)
        assert last or not terminated
        state = next_state


def observe_all(agent: Agent, world: World, times: int = 1, skip: Collection[tuple[int, int]] = ()) -> None:
    """Pass the transition of every state-action pair of a deterministic world to an agent, except `skip`."""
    mdp = world.mdp
    for state, action in np.ndindex(mdp.n_states, mdp.n_actions):
        for _ in range(0 if (state, action) in skip else times):
            at = (state, action, 0)
            agent.observe(state, action, float(mdp.reward[at]), int(mdp.next_state[at]), bool(mdp.terminal[at]))


def scores(agent: Agent, state: int) -> FloatArray:
    """Return [action]: the values that the behaviour policy maximises in a state."""
    return np.array([reason.score for reason in agent.explain(state).actions])


def policy_scores(explorer: str, agent: Agent, n_states: int) -> FloatArray:
    """Return [state, action]: the values that the explorer, or the greedy policy, maximises."""
    if explorer == "greedy":
        return agent.tables["target"]
    return np.stack([scores(agent, state) for state in range(n_states)])


def after_four_episodes(explorer: str) -> tuple[FloatArray, FloatArray]:
    """Return the visit counts after the four episodes, and the converged values of a policy."""
    world = make_world("toy-example")
    agent = new_agent("ucb1" if explorer == "greedy" else explorer, world)
    for actions in EPISODES:
        observe_episode(agent, world, actions)
    counts = agent.visits.astype(float)
    return counts, policy_scores(explorer, converge(agent), world.n_states)


def after_uniform_visits(
    explorer: str, *, terminal: bool, skip: Collection[tuple[int, int]] = (UNVISITED,)
) -> FloatArray:
    """Return the converged values of a policy when all pairs except `skip` were visited once."""
    world = make_world("toy-example", terminal=terminal)
    agent = new_agent("ucb1" if explorer == "greedy" else explorer, world)
    observe_all(agent, world, skip=set(skip))
    return policy_scores(explorer, converge(agent), world.n_states)


def after_visits(explorer: str, gamma_w: float, times: int, skip: Collection[tuple[int, int]]) -> Agent:
    """Return a converged agent that visited every pair so many times, except `skip`."""
    world = make_world("toy-example")
    agent = new_agent(explorer, world, gamma_w=gamma_w)
    observe_all(agent, world, times, set(skip))
    return converge(agent)


def _auxiliary_reward_claims() -> list[Claim]:
    """Check the statements about auxiliary rewards; the visits of the agent that explored are not uniform."""
    world = make_world("toy-example", terminal=False)
    explored = new_agent("vv-ucb", world)
    observe_all(explored, world)
    for actions in EPISODES:
        observe_episode(explored, world, actions)
    # The paper's κ: the largest difference of two values.
    kappa = world.r_max / (1.0 - DISCOUNT)
    return w_function_claims.auxiliary_reward_claims(after_visits, converge(explored), world.mdp, kappa)


def runs(selection: StudySelection) -> list[Run]:
    """Return an empty list: this experiment has no runs."""
    selection.select_worlds(("toy-example",))
    return []


def report(requested: list[Run], stored: Iterable[StoredRun], note: str) -> Report:
    """Return the three parts of the example, as figures and as a table."""
    results = {explorer: after_four_episodes(explorer) for explorer in EXPLORERS}
    counts = results["greedy"][0]
    panel = {explorer: ValuePanel(explorer, values) for explorer, (_, values) in results.items()}
    visits = ValuePanel("visits", counts, arrows=False)
    cases = {"terminal treasures": True, "non-terminal treasures": False}
    uniform = {
        name: [ValuePanel(each, after_uniform_visits(each, terminal=terminal)) for each in EXPLORERS]
        for name, terminal in cases.items()
    }
    layout = make_world("toy-example").layout
    assert layout is not None
    parts = {
        "part-1": ("Toy example, part 1", {"": [visits, *(panel[name] for name in EXPLORERS[:3])]}),
        "part-2": ("Toy example, part 2", {"": [visits, *(panel[name] for name in EXPLORERS[3:])]}),
        "part-3": ("Toy example, part 3: all pairs visited once, except “left” in the start state", uniform),
    }
    panels = [("four episodes", ValuePanel("count", counts)), *(("four episodes", each) for each in panel.values())]
    panels += [(f"uniform visits, {name}", each) for name, row in uniform.items() for each in row]
    heads = ["experience", "policy", "row", "column", "left", "right", "up", "down"]
    rows = [
        [experience, each.title, str(s // 3 + 1), str(s % 3 + 1), *(f"{value:.6g}" for value in each.values[s])]
        for experience, each in panels
        for s in range(9)
    ]
    at_start = [[row[0], row[1], *row[4:]] for row in rows if row[2:4] == ["1", "1"]]
    title, columns = "Toy example: values of the actions in the start state", ["experience", "policy", *heads[4:]]
    return Report(
        renderables=[as_rich_table(title, columns, at_start, note, text_columns=2)],
        claims=w_function_claims.check_claims(after_visits, scores)
        + _auxiliary_reward_claims()
        + check_claims(
            ToyValues(
                counts=counts,
                values={name: values for name, (_, values) in results.items()},
                uniform={cases[name]: {each.title: each.values for each in row} for name, row in uniform.items()},
                equal={
                    terminal: {each: after_uniform_visits(each, terminal=terminal, skip=()) for each in EXPLORERS}
                    for terminal in cases.values()
                },
            )
        ),
        files={"table.md": as_markdown_table(title, columns, at_start, "", note), "values.csv": as_csv(heads, rows)},
        figures={
            name: functools.partial(action_values_figure, title, panel_rows, layout, note=note)
            for name, (title, panel_rows) in parts.items()
        },
    )


STUDY = Study(
    id="toy-example",
    reference="Sections 3.1 to 3.4, Figures 3, 4, 6",
    description="behaviour policies after four given episodes, and under uniform visit counts",
    runs=runs,
    report=report,
    quick_changes="nothing: it takes seconds",
)
