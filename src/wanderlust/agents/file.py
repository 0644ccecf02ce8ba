"""Saving and loading agents; the file format is that of `wanderlust.core.archives`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wanderlust.agents.history import Curves
from wanderlust.agents.presets import PRESETS
from wanderlust.agents.settings import Replay, Settings, make_spec
from wanderlust.agents.validation import InvalidArray, check_arrays, check_form
from wanderlust.core.archives import is_intact, read_archive, write_archive
from wanderlust.core.errors import BadFile, WanderlustError, check_choice, check_flag, check_integer
from wanderlust.encoding.encoding import Encoding
from wanderlust.explorers.ensembles import CURRENT_HEAD, Bootstrapped, RandomPrior
from wanderlust.explorers.registry import configured, explorer_class, explorer_name
from wanderlust.learning.allocation import trimmed
from wanderlust.learning.state import COUNTERS, SWEEP_MODE, LearnerState, Outcomes
from wanderlust.version import __version__
from wanderlust.worlds.plain_layout import checked_names, layout_from_plain, layout_to_plain

if TYPE_CHECKING:
    from wanderlust.agents.agent import Agent

FORMAT = 4
_STATE_INDEX = "state_index"
_ENCODING, _KEYS = "encoding", "state_keys"
_HISTORY = "history"
_OUTCOMES = "outcomes."
_NAMES = [name for name in LearnerState._fields if name != "outcomes"]
_NAMES += [f"{_OUTCOMES}{name}" for name in Outcomes._fields]


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
        "fields": agent.fields,
        "preset": agent.preset,
        "settings": dataclasses.asdict(agent.settings),
        "n_actions": agent.n_actions,
        "n_states": agent.n_states,
        "reward_range": agent.reward_range,
        "seed": agent.seed,
        "learns_q": bool(agent.spec.learns_q),
        "environment": agent.environment,
        "action_names": agent.action_names,
        "layout": layout_to_plain(agent.layout),
    }
    if agent.encoding is not None:
        about[_ENCODING], arrays[_KEYS] = agent.encoding.to_file()
    if agent.curves is not None:
        about[_HISTORY], curves = agent.curves.to_file()
        arrays |= curves
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_archive(path, about, arrays)
    except OSError as error:
        raise BadFile(f"{path}: the agent cannot be saved there ({error.strerror or error}).") from error


def load_all(
    cls: type[Agent], path: Path, explorer: type | None, key: Callable[..., Any] | None = None
) -> tuple[Agent, Mapping[str, Any], Mapping[str, Any]]:
    """Read an agent, its description, and all arrays that were saved with it; or raise `BadFile`."""
    about, arrays = _read(path)
    found = _explorer_class(about, path, explorer)
    try:
        arguments = _arguments(about)
        # Before the agent exists: it would allocate whatever sizes the description claims.
        _check_sizes(found, arguments, about["options"], arrays)
        agent = cls(found, **arguments, **about["options"])
        _check_notes(agent, arrays)
        agent.preset = None if about["preset"] is None else check_choice("preset", about["preset"], PRESETS)
    except InvalidArray as error:
        raise BadFile(f"{path}: {error}; no agent can continue from this file.") from error
    except (KeyError, MemoryError) as error:
        raise BadFile(f"{path}: its description cannot be used ({type(error).__name__}: {error}).") from error
    except Exception as error:  # Numbers of any size and type, and explorers of the user, can raise almost anything.
        raise BadFile(f"{path}: its description cannot be used ({error}).") from error
    _restore(agent, arrays)
    agent.encoding = _read_encoding(about, arrays, agent, path, key)
    if isinstance(about.get(_HISTORY), Mapping):
        try:
            agent.curves = Curves.from_file(about[_HISTORY], arrays, len(agent._state_index), agent.steps)
        except BadFile as error:
            raise BadFile(f"{path}: {error}") from error
    environment = about.get("environment")
    agent.environment = dict(environment) if isinstance(environment, Mapping) else None
    # Only for display, and files of earlier versions do not have them: invalid ones are ignored.
    agent.action_names = checked_names(about.get("action_names"), agent.n_actions)
    agent.layout = layout_from_plain(about.get("layout"), agent.n_states)
    return agent, about, arrays


def _read_encoding(
    about: Mapping[str, Any], arrays: Mapping[str, Any], agent: Agent, path: Path, key: Callable[..., Any] | None
) -> Encoding | None:
    """Return the encoding in a file, if there is one; it must fit the agent."""
    if about.get(_ENCODING) is None:
        if key is not None:
            raise BadFile(f"{path}: key= was given, but the file has no state encoding.")
        return None
    if _KEYS not in arrays:
        raise BadFile(f"{path}: {_KEYS} missing.")
    try:
        encoding = Encoding.from_file(about[_ENCODING], arrays[_KEYS], key)
    except BadFile as error:
        raise BadFile(f"{path}: {error}") from error
    if encoding.actions.n != agent.n_actions:
        raise BadFile(f"{path}: its encoding has {encoding.actions.n} actions, but the agent has {agent.n_actions}.")
    visited = np.flatnonzero(agent._state_index)
    needed = int(visited[-1]) + 1 if len(visited) else 0
    if len(encoding.keys) < needed:
        raise BadFile(f"{path}: {_KEYS} has {len(encoding.keys):,} keys; the agent needs {needed:,}.")
    return encoding


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        about, arrays = read_archive(path)
    except FileNotFoundError:
        raise BadFile(f"{path}: there is no such file.") from None
    except OSError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror or error}).") from error
    except Exception as error:  # A damaged archive makes zipfile and NumPy raise almost anything.
        raise BadFile(f"{path}: not an agent that wanderlust saved, or cut short ({error}).") from error
    if about.get("format") != FORMAT:
        raise BadFile(
            f"{path}: written in format {about.get('format')!r} by wanderlust {about.get('wanderlust')!r}; "
            f"this is {__version__}, which reads format {FORMAT}. Install a newer version."
        )
    if not is_intact(about, arrays):
        raise BadFile(f"{path}: its contents do not match their checksum; the file was damaged or changed.")
    return about, arrays


def _explorer_class(about: Mapping[str, Any], path: Path, explorer: type | None) -> type:
    """Return the explorer class given, which must be that of the file, or the built-in one that the file names."""
    name = about.get("explorer")
    if not isinstance(name, str):
        raise BadFile(f"{path}: its explorer is {name!r}; it must be a name.")
    if explorer is not None:
        found = explorer_class(explorer)
        if explorer_name(found) != name:
            raise BadFile(f"{path}: its explorer is {name!r}, but {explorer_name(found)!r} was given.")
        return found
    if ":" in name:
        raise BadFile(
            f"{path}: its explorer is {name!r}, which is not one of wanderlust's. Give the class: "
            f"Agent.load({str(path)!r}, explorer={name.partition(':')[2]})."
        )
    try:
        return explorer_class(name)
    except WanderlustError as error:
        raise BadFile(f"{path}: {error}") from error


def _arguments(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with which the agent of a file was created, without the explorer and its options."""
    settings = about["settings"]
    n_states = about["n_states"]
    return {
        "n_actions": check_integer("n_actions", about["n_actions"], low=1),
        "n_states": None if n_states is None else check_integer("n_states", n_states, low=1),
        "reward_range": tuple(about["reward_range"]),
        "seed": about["seed"],
        "settings": Settings(**{**settings, "replay": Replay(**settings["replay"])}),
        "learns_q": check_flag("learns_q", about["learns_q"]),
        "fields": dict(about["fields"]),
    }


def _check_sizes(explorer: type, arguments: Mapping[str, Any], options: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Compare all arrays with the sizes that follow from an agent's description."""
    missing = sorted({*_NAMES, _STATE_INDEX} - arrays.keys())
    if missing:
        raise InvalidArray(f"{', '.join(missing)} missing")
    settings, n_actions, n_states = arguments["settings"], arguments["n_actions"], arguments["n_states"]
    problem = settings.problem(n_actions, arguments["reward_range"])
    chosen = configured(explorer, problem, options, arguments["fields"])
    ensemble = chosen.extra_tables().ensemble
    # The spec has an entry for each head, so their number must be right first.
    check_form("converged", arrays["converged"], np.uint8, (ensemble.heads if ensemble else 0,))
    spec, _ = make_spec(chosen, problem, settings, learns_q=arguments["learns_q"])
    state_index = arrays[_STATE_INDEX]
    check_form(_STATE_INDEX, state_index, np.int32, (state_index.size if n_states is None else n_states,))
    check_arrays(arrays, spec, state_index)


def _check_notes(agent: Agent, arrays: Mapping[str, Any]) -> None:
    """The built-in explorers that sample a head for each episode use it as an index."""
    if isinstance(agent.configured_explorer, Bootstrapped | RandomPrior):
        head, n_heads = arrays["notes"][CURRENT_HEAD], agent.spec.n_heads
        if head not in range(n_heads):
            raise InvalidArray(f"notes is {head} at {CURRENT_HEAD}, the current head; valid are 0 to {n_heads - 1}")


def _restore(agent: Agent, arrays: Mapping[str, Any]) -> None:
    """Give a new agent the arrays of the saved one."""
    learner = _restored(arrays)
    if agent.learner.stored is agent.learner.visits:
        learner = learner._replace(stored=learner.visits)
    agent.restore(learner, np.ascontiguousarray(arrays[_STATE_INDEX]))


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
