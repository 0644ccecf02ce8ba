"""The command `explain`."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from wanderlust.cli.options import AgentExplorer, AgentFile, AgentKey, OptionalNumber, load_agent, read_value
from wanderlust.core.errors import InvalidObservation, InvalidSetting, WanderlustError, counted, shown
from wanderlust.core.files import finite_values, shown_path

if TYPE_CHECKING:
    from wanderlust.agents.agent import Agent
    from wanderlust.agents.presentation import Explanation


def explain(
    file: AgentFile,
    *,
    state: Annotated[
        str | None,
        arg(metavar="OBSERVATION", help='The environment\'s observation: 12, [0.1,-0.02], {"position": 3}.'),
    ] = None,
    index: Annotated[OptionalNumber, arg(help="Instead of --state: the state's number, by first visits.")] = None,
    explorer: AgentExplorer = None,
    key: AgentKey = None,
    json: Annotated[bool, arg(help="Print JSON instead of text.")] = False,
) -> None:
    """Explain which action a saved agent takes in a state: visits, Q, W and exploration term κU of every action.

    Example: wanderlust explain agent.npz --state 12

    Example: wanderlust explain car.npz --state=-0.5,0.01
    """
    if (state is None) == (index is None):
        raise InvalidSetting("give the state either as --state OBSERVATION or as --index N.")
    agent = load_agent(file, explorer, key, needs_key=state is not None)
    number = index if state is None else _index_of(agent, read_value(state))
    try:
        state_key = None if agent.encoding is None else agent.encoding.keys.key_of(number)  # type: ignore[arg-type]
        explanation = agent.explain(number)  # type: ignore[arg-type]
    except WanderlustError as error:
        raise type(error)(f"{shown_path(file)}: {error}") from error
    (_print_json if json else _print_text)(agent, explanation, state_key)


def _index_of(agent: Agent, observation: Any) -> Any:
    """Return the index of the state that has an observation."""
    encoding = agent.encoding
    if encoding is None:
        return observation
    try:
        index = encoding.keys.find(encoding.key(observation))
    except Exception as error:  # A key function of the user may raise anything.
        kind = type(error) if isinstance(error, WanderlustError) else InvalidObservation
        raise kind(f"--state {shown(observation)}: {error} --index N takes the number of the state instead.") from error
    if index >= len(encoding.keys):
        raise InvalidObservation(f"the agent has never been in the state of the observation {shown(observation)}.")
    return index


def _summary(explanation: Explanation) -> str:
    """Return one sentence on why the action is chosen."""
    chosen = explanation.actions[explanation.chosen]
    action = f"{chosen.action} ({chosen.name})" if chosen.name else str(chosen.action)
    if sum(each.visits for each in explanation.actions) == 0:
        return f"No action was taken in this state yet; action {action} is as good as any other."
    reason = {
        "exploit": "it has the largest Q and the largest score",
        "explore": f"its exploration term κU, {chosen.bonus:.4g}, outweighs its smaller Q",
        "tie": "it is one of several actions with the largest score, chosen at random",
        "random": "it was chosen at random, regardless of the scores",
    }[explanation.reason]
    return f"Action {action}, because {reason}."


def _print_text(agent: Agent, explanation: Explanation, key: Any) -> None:
    where = "" if agent.environment is None else f" in {agent.environment['name']}"
    print(f"{agent.explorer}{where}, after {counted(agent.steps, 'step')}")
    if agent.encoding is not None and key != explanation.state:
        print(f"state index {explanation.state}: {agent.encoding.describe(explanation.state)}")
    print(f"{explanation}\n\n{_summary(explanation)}")


def _print_json(agent: Agent, explanation: Explanation, key: Any) -> None:
    document = {
        "environment": agent.environment,
        "explorer": agent.explorer,
        "steps": agent.steps,
        "key": key.hex() if isinstance(key, bytes) else key,
        **dataclasses.asdict(explanation),
        "summary": _summary(explanation),
    }
    document["actions"] = [finite_values(each) for each in document["actions"]]
    print(json.dumps(document, indent=1, allow_nan=False))
