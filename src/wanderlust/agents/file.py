"""Saving and loading agents; the file format is that of `wanderlust.core.archives`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.agents.settings import Replay, Settings
from wanderlust.core.archives import is_intact, read_archive, write_archive
from wanderlust.core.errors import BadFile, WanderlustError
from wanderlust.explorers.registry import explorer_class, explorer_name
from wanderlust.learning.allocation import trimmed
from wanderlust.learning.state import COUNTERS, SWEEP_MODE, LearnerState, Outcomes
from wanderlust.version import __version__

if TYPE_CHECKING:
    from wanderlust.agents.agent import Agent

FORMAT = 3
_STATE_INDEX = "state_index"
_OUTCOMES = "outcomes."


def save(
    agent: Agent,
    path: Path,
    *,
    more_arrays: Mapping[str, Any] | None = None,
    more_about: Mapping[str, Any] | None = None,
) -> None:
    """Write an agent to `path`.

    `more_arrays` and `more_about` are saved with it; `load_all` returns them.
    """
    arrays = {**(more_arrays or {}), **_flattened(trimmed(agent.learner, agent.spec)), _STATE_INDEX: agent._state_index}
    about = {
        **(more_about or {}),
        "format": FORMAT,
        "wanderlust": __version__,
        "explorer": agent.explorer,
        "options": agent.options,
        "settings": dataclasses.asdict(agent.settings),
        "n_actions": agent.n_actions,
        "n_states": agent.n_states,
        "reward_range": agent.reward_range,
        "seed": agent.seed,
        "learns_q": bool(agent.spec.learns_q),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_archive(path, about, arrays)
    except OSError as error:
        raise BadFile(f"{path}: the agent cannot be saved there ({error.strerror or error}).") from error


def load(cls: type[Agent], path: Path, explorer: type | None) -> Agent:
    """Read an agent, or raise `BadFile`."""
    return load_all(cls, path, explorer)[0]


def load_all(cls: type[Agent], path: Path, explorer: type | None) -> tuple[Agent, Mapping[str, Any], Mapping[str, Any]]:
    """Read an agent, its description, and all arrays that were saved with it."""
    try:
        about, arrays = read_archive(path)
    except FileNotFoundError:
        raise BadFile(f"{path}: there is no such file.") from None
    except Exception as error:  # A damaged archive makes zipfile and NumPy raise almost anything.
        raise BadFile(f"{path}: not an agent that wanderlust saved, or cut short ({error}).") from error
    if about.get("format") != FORMAT:
        raise BadFile(
            f"{path}: written in format {about.get('format')!r} by wanderlust {about.get('wanderlust')!r}; "
            f"this is {__version__}, which reads format {FORMAT}. Install a newer version."
        )
    if not is_intact(about, arrays):
        raise BadFile(f"{path}: its contents do not match their checksum; the file was damaged or changed.")
    name = about["explorer"]
    if explorer is None and ":" in name:
        raise BadFile(
            f"{path}: its explorer is {name!r}, which is not one of wanderlust's. Give the class: "
            f"Agent.load({str(path)!r}, explorer={name.partition(':')[2]})."
        )
    found = explorer_class(explorer if explorer is not None else name)
    if explorer is not None and explorer_name(found) != name:
        raise BadFile(f"{path}: its explorer is {name!r}, but {explorer_name(found)!r} was given.")
    try:
        settings = Settings(**{**about["settings"], "replay": Replay(**about["settings"]["replay"])})
        agent = cls(
            found,
            n_actions=about["n_actions"],
            n_states=about["n_states"],
            reward_range=tuple(about["reward_range"]),
            seed=about["seed"],
            settings=settings,
            learns_q=about["learns_q"],
            **about["options"],
        )
    except (KeyError, TypeError, WanderlustError) as error:
        raise BadFile(f"{path}: its description cannot be used ({error}).") from error
    _restore(agent, arrays, path)
    return agent, about, arrays


def _restore(agent: Agent, arrays: Mapping[str, Any], path: Path) -> None:
    """Give a new agent the arrays of the saved one, and draw the initial values of further states from there on."""
    new = agent.learner
    wanted = _flattened(new)
    missing = sorted({*wanted, _STATE_INDEX} - arrays.keys())
    if missing:
        raise BadFile(f"{path}: {', '.join(missing)} missing.")
    for name, array in wanted.items():
        found = arrays[name]
        if array.dtype != found.dtype or array.shape[:-1] != found.shape[:-1]:
            raise BadFile(f"{path}: {name} is {found.dtype}{found.shape}, which does not fit this explorer.")
    n_states = arrays["state_values"].shape[1]
    if n_states > new.counters.n_initialised:
        agent._initial_values.draw(n_states - int(new.counters.n_initialised))
    learner = _restored(arrays)
    learner.counters.n_initialised = n_states
    if new.stored is new.visits:
        learner = learner._replace(stored=learner.visits)
    agent.learner = learner
    agent._state_index = np.ascontiguousarray(arrays[_STATE_INDEX], dtype=np.int32)


def _flattened(learner: LearnerState) -> dict[str, Any]:
    """Return the arrays of a learner by name."""
    arrays = learner._asdict()
    arrays["counters"] = np.array([learner.counters], COUNTERS).view(np.int64)
    arrays["sweep_mode"] = learner.sweep_mode.view(np.int64)
    outcomes = arrays.pop("outcomes")
    return arrays | {f"{_OUTCOMES}{name}": array for name, array in outcomes._asdict().items()}


def _restored(arrays: Mapping[str, Any]) -> LearnerState:
    """Return the learner whose arrays `_flattened` returned."""
    names = [name for name in LearnerState._fields if name != "outcomes"]
    fields = {name: np.ascontiguousarray(arrays[name]) for name in names}
    fields["counters"] = fields["counters"].view(COUNTERS)[0]
    fields["sweep_mode"] = fields["sweep_mode"].view(SWEEP_MODE)
    outcomes = Outcomes(**{name: np.ascontiguousarray(arrays[f"{_OUTCOMES}{name}"]) for name in Outcomes._fields})
    return LearnerState(outcomes=outcomes, **fields)
