"""Agents and records as text, figures and tables, for terminals and notebooks."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.core.errors import InvalidSetting, MissingPackage, check_choice, counted
from wanderlust.core.mdp import FloatArray
from wanderlust.worlds import World, as_world
from wanderlust.worlds.action_values import action_values_figure
from wanderlust.worlds.base import Layout
from wanderlust.worlds.pictures import figure_html, text_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wanderlust.agents.agent import Agent
    from wanderlust.agents.history import History
    from wanderlust.agents.session import Record

PLOTS = {"Q": "target", "W": "visitation", "behaviour": "behaviour", "visits": "visits"}
"""What `Agent.plot` draws, and the name of its table."""


def agent_text(agent: Agent) -> str:
    """Return a summary of an agent in a few lines."""
    low, high = agent.reward_range
    name = (agent.environment or {}).get("name")
    trained = f"{counted(agent.steps, 'step')}{f' in {name}' if name else ''}"
    n_states = f" of {agent.n_states:,}" if agent.n_states is not None else ""
    actions = "" if agent.action_names is None else f" ({', '.join(agent.action_names)})"
    return "\n".join(
        [
            f"Agent: {agent.explorer}, {trained}, seed {agent.seed}",
            f"{agent.discovered:,}{n_states} states visited, {counted(agent.n_actions, 'action')}{actions}",
            f"rewards from {low:g} to {high:g}, discount {agent.settings.discount:g}, tables {', '.join(agent.tables)}",
        ]
    )


def agent_html(agent: Agent) -> str:
    """Return the summary, and W (or Q) on the map if there is one."""
    what = "W" if "visitation" in agent.tables else "Q"
    try:
        return figure_html(plot_agent(agent, what, None), agent_text(agent))
    except InvalidSetting:  # No map, or one that does not fit.
        return text_html(agent_text(agent))


def plot_agent(agent: Agent, what: str, world: World | str | None) -> Figure:
    """Draw a table of an agent on the map of its world; see `Agent.plot`."""
    check_choice("what", what, PLOTS)
    layout, names = _map_of(agent, world)
    tables = agent.tables | {"visits": agent.visits.astype(np.float64)}
    if PLOTS[what] not in tables:
        drawn = ", ".join(repr(each) for each, table in PLOTS.items() if table in tables)
        raise InvalidSetting(f"explorer {agent.explorer!r} does not learn {what}; plot {drawn}.")
    values = _by_state(tables[PLOTS[what]], len(layout.row))
    visited = _by_state(tables["visits"], len(layout.row)).sum(axis=1) > 0
    values[~visited] = np.nan
    visitation = agent.configured_explorer.extra_tables().visitation
    return action_values_figure(
        f"{what}, {agent.explorer}, {agent.steps:,} steps",
        values,
        layout,
        names,
        minimise=what == "W" and visitation is not None and visitation.minimise,
        counts=what == "visits",
    )


def _map_of(agent: Agent, world: World | str | None) -> tuple[Layout, tuple[str, ...]]:
    """Return the map and the action names of a world, by default those of the agent."""
    if world is None:
        layout, names = agent.layout, agent.action_names
        hint = "give its world: world=wl.make_world(...) or world=wl.world_from_gym(...)"
    else:
        world = as_world(world)
        layout, names = world.layout, world.action_names
        hint = f"world {world.name!r} has none"
        if world.n_actions != agent.n_actions:
            raise InvalidSetting(f"world {world.name!r} has {world.n_actions} actions, the agent {agent.n_actions}.")
    if layout is None or names is None:
        raise InvalidSetting(f"a plot needs the map of the agent's environment; {hint}.")
    return layout, names


def _by_state(table: FloatArray, n_states: int) -> FloatArray:
    """Return the first rows of a table, with NaN for states that it does not have."""
    values = np.full((n_states, table.shape[1]), np.nan)
    values[: len(table)] = table[:n_states]
    return values


def record_text(record: Record) -> str:
    """Return a summary of a record in a few lines."""
    n_states, n_actions = record.visits.shape
    steps = counted(int(record.visits.sum()), "step")
    lines = [f"Record: {record.explorer} in {record.world}, seed {record.seed}, {steps}"]
    if len(record.returns):
        best = int(np.argmax(record.returns))
        lines.append(
            f"greedy return {record.returns[-1]:.6g} at step {record.steps[-1]:,}, at most {record.returns[best]:.6g} "
            f"(first at step {record.steps[best]:,}), {counted(len(record.steps), 'evaluation')}"
        )
    discovered = int((record.first_visit >= 0).sum())
    lines.append(f"{discovered:,} of {n_states:,} states discovered, {counted(n_actions, 'action')}")
    lines.append(f"tables {', '.join(record.tables)}; curves steps, returns, discovered")
    return "\n".join(lines)


def history_text(history: History) -> str:
    """Return a summary of a history in a few lines."""
    n_states, n_actions = int((history.first_visit >= 0).sum()), history.visits.shape[1]
    steps = counted(int(history.visits.sum()), "step")
    lines = [f"History: {steps}, {counted(n_states, 'state')} visited, {counted(n_actions, 'action')}"]
    if np.isfinite(history.returns).any():
        best = int(np.nanargmax(history.returns))
        lines.append(
            f"{_returns_title(history)} {history.returns[-1]:.6g} at step {history.steps[-1]:,}, at most "
            f"{history.returns[best]:.6g} (first at step {history.steps[best]:,}), "
            f"{counted(len(history.steps), 'point')}"
        )
    return "\n".join(lines)


def _returns_title(history: History) -> str:
    """Return what the returns of a history are, as a title."""
    article = "the " if history.returns_of == "greedy policy" else ""
    return f"return of {article}{history.returns_of}"


def history_html(history: History) -> str:
    """Return the summary and the curves."""
    return figure_html(history.plot(), str(history)) if len(history.steps) else text_html(str(history))


def plot_history(history: History, title: str) -> Figure:
    """Draw the curves of a history: the returns, and the states discovered."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7.0, 2.8), layout="constrained")
    figure.suptitle(title, fontsize=10, fontweight="bold")
    curves = {_returns_title(history): history.returns, "states discovered": history.discovered}
    for axes, (name, values) in zip(figure.subplots(1, 2), curves.items(), strict=True):
        axes.plot(history.steps, values, color="#0072b2")
        axes.set_title(name, fontsize=9)
        axes.set_xlabel("step")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e4e4e4", linewidth=0.5)
    return figure


def history_frame(history: History) -> Any:
    """Return the curves of a history as a pandas DataFrame."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise MissingPackage("to_pandas needs the package pandas: pip install pandas.") from error
    return pandas.DataFrame({"step": history.steps, "return": history.returns, "discovered": history.discovered})
