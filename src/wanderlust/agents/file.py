"""Saving and loading agents; the file format is that of `wanderlust.core.archives`.

A file has only the arrays from which the others follow. It may come from anywhere, so every array is checked against a
declared type, shape and range, and against the others, before an agent has it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wanderlust.agents.history import Curves
from wanderlust.agents.settings import PRESETS, Replay, Settings, make_spec
from wanderlust.core.archives import is_intact, read_archive, write_archive
from wanderlust.core.errors import BadFile, WanderlustError, check_choice, check_flag, check_integer
from wanderlust.environments.encoding import Encoding
from wanderlust.explorers.ensembles import CURRENT_HEAD, Bootstrapped, RandomPrior
from wanderlust.explorers.registry import configured, explorer_class, explorer_name
from wanderlust.learning.memory import rebuild
from wanderlust.learning.random_streams import NAMES
from wanderlust.learning.spec import FULL, NO_MEMORY, WINDOW, TableSpec
from wanderlust.learning.state import FIRST_STATES, N_NOTES, TERMINAL, count_flags, count_signals, resized
from wanderlust.version import __version__
from wanderlust.worlds.base import checked_names, layout_from_plain, layout_to_plain

if TYPE_CHECKING:
    from wanderlust.agents.agent import Agent


FORMAT = 5
MAX_INDEX = 2**31 - 1
_STATE_INDEX = "state_index"
_ENCODING, _KEYS = "encoding", "state_keys"
_HISTORY = "history"
_OUTCOMES = ("pair", "next_state", "stored", "signals")

Arrays = Mapping[str, NDArray[Any]]


class InvalidArray(ValueError):
    """An array that no agent has; the message names it and says what is valid."""


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
    arrays = {**(more_arrays or {}), **_saved_arrays(agent)}
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
        _check_arrays(found, arguments, about["options"], arrays)
        agent = cls(found, **arguments, **about["options"])
        _restore(agent, arrays)
        agent.preset = None if about["preset"] is None else check_choice("preset", about["preset"], PRESETS)
    except InvalidArray as error:
        raise BadFile(f"{path}: {error}; no agent can continue from this file.") from error
    except (KeyError, MemoryError) as error:
        raise BadFile(f"{path}: its description cannot be used ({type(error).__name__}: {error}).") from error
    except Exception as error:  # Numbers of any size and type, and explorers of the user, can raise almost anything.
        raise BadFile(f"{path}: its description cannot be used ({error}).") from error
    agent.encoding = _read_encoding(about, arrays, agent, path, key)
    if isinstance(about.get(_HISTORY), Mapping):
        try:
            agent.curves = Curves.from_file(about[_HISTORY], arrays, len(agent.state_index), agent.steps)
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
    visited = np.flatnonzero(agent.state_index)
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
            f"this is {__version__}, which reads format {FORMAT}. Load it with the version that wrote it."
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


def _saved_arrays(agent: Agent) -> dict[str, Any]:
    """Return the arrays from which an agent can be rebuilt; all others follow from them."""
    learner, spec = agent.learner, agent.spec
    counters, n_stored = learner.counters, int(learner.counters.n_stored)
    n_states, n_outcomes = int(counters.n_initialised), int(counters.n_outcomes)
    n_pairs = n_states * spec.n_actions
    arrays: dict[str, Any] = {
        _STATE_INDEX: agent.state_index,
        "visits": learner.visits[:n_pairs],
        "values": learner.values[:, :n_pairs],
        # Explorers may write their own tables without the values of states.
        "own_state_values": learner.state_values[spec.n_swept + spec.n_heads :, :n_states],
        "planning_marks": learner.flags[spec.n_swept + 1 :, :n_states],
        "transitions": learner.transitions[:n_stored],
        "slots": learner.slots[:n_stored],
        "converged": learner.converged,
        "streams": learner.streams,
        "notes": learner.notes,
    }
    for name in _OUTCOMES:
        arrays[f"outcomes.{name}"] = getattr(learner.outcomes, name)[..., :n_outcomes]
    return arrays


class _Array(NamedTuple):
    """What is valid for an array: its type, its shape, and the range of its entries."""

    kind: Any
    shape: tuple[int, ...]
    low: float = -np.inf
    high: float = np.inf


def _declared(spec: TableSpec, n_state_index: int, n_pairs: int, n_outcomes: int, step: int) -> dict[str, _Array]:
    """Return what is valid for every array of an agent, from its spec and the sizes of its file."""
    n_states, n_swept = n_pairs // spec.n_actions, spec.n_swept
    replays = spec.memory == WINDOW or (spec.memory == FULL and spec.n_heads > 0)
    n_stored = min(step, spec.capacity) if spec.memory == WINDOW else step if replays else 0
    largest = np.finfo(np.float64).max
    return {
        _STATE_INDEX: _Array(np.int32, (n_state_index,), 0, n_states - 1),
        "visits": _Array(np.int64, (n_pairs,), 0, 2**53),
        "values": _Array(np.float64, (len(spec.signal), n_pairs), -largest, largest),
        "own_state_values": _Array(np.float64, (spec.n_own, n_states), -largest, largest),
        "planning_marks": _Array(np.uint8, (count_flags(spec) - n_swept - 1, n_states), 0, 1),
        "outcomes.pair": _Array(np.int32, (n_outcomes,), spec.n_actions, n_pairs - 1),
        "outcomes.next_state": _Array(np.int32, (n_outcomes,), 0, n_states - 1),
        "outcomes.stored": _Array(np.float64, (n_outcomes,), 0, 2**53),
        "outcomes.signals": _Array(np.float64, (count_signals(spec), n_outcomes), -largest, largest),
        "transitions": _Array(np.uint32, (n_stored,), 0, max(n_outcomes - 1, 0)),
        "slots": _Array(np.uint32, (n_stored if spec.memory == WINDOW else 0,), 0, max(n_stored - 1, 0)),
        "converged": _Array(np.uint8, (spec.n_heads,), 0, 1),
        "streams": _Array(np.uint64, (len(NAMES),)),
        "notes": _Array(np.float64, (N_NOTES,)),
    }


def _check_arrays(explorer: type, arguments: Mapping[str, Any], options: dict[str, Any], arrays: Arrays) -> None:
    """Raise `InvalidArray` unless an agent with this description can have these arrays.

    Compiled code does not check indices: a wrong one would read or overwrite other memory.
    """
    settings, n_actions, n_states = arguments["settings"], arguments["n_actions"], arguments["n_states"]
    problem = settings.problem(n_actions, arguments["reward_range"])
    chosen = configured(explorer, problem, options, arguments["fields"])
    spec, _ = make_spec(chosen, problem, settings, learns_q=arguments["learns_q"])
    declared = _declared(spec, 0, 0, 0, 0)
    if missing := sorted(declared.keys() - arrays.keys()):
        raise InvalidArray(f"{', '.join(missing)} missing")
    visits, state_index = arrays["visits"], arrays[_STATE_INDEX]
    n_pairs, n_outcomes = visits.size, arrays["outcomes.pair"].size
    if visits.dtype != np.int64 or n_pairs % n_actions or not FIRST_STATES < n_pairs // n_actions <= MAX_INDEX:
        raise InvalidArray(f"visits is {visits.dtype} {visits.shape}; it must be int64 with {n_actions} for each state")
    # As floats first: the sum of integers may overflow.
    total = visits.sum(dtype=np.float64)
    step = int(visits.sum()) if 0 <= total <= 2**53 else 0
    n_state_index = state_index.size if n_states is None else n_states
    for name, valid in _declared(spec, n_state_index, n_pairs, n_outcomes, step).items():
        array = arrays[name]
        if array.dtype != np.dtype(valid.kind) or array.shape != valid.shape:
            raise InvalidArray(f"{name} is {array.dtype} {array.shape}; it must be {valid.kind.__name__} {valid.shape}")
        inside = (array >= valid.low) & (array <= valid.high) if np.isfinite(valid.high) else np.array(True)
        _check_all(name, inside, f"must be from {valid.low:,g} to {valid.high:,g}, and is not at")
    _check_consistency(arrays, spec)
    if isinstance(chosen, Bootstrapped | RandomPrior):
        # These explorers use the note as an index of a head.
        head = arrays["notes"][CURRENT_HEAD]
        if head not in range(spec.n_heads):
            raise InvalidArray(f"notes is {head} at {CURRENT_HEAD}; valid are the heads 0 to {spec.n_heads - 1}")


def _check_consistency(arrays: Arrays, spec: TableSpec) -> None:
    """Raise `InvalidArray` unless arrays that are valid by themselves fit together."""
    visits, state_index, pair = arrays["visits"], arrays[_STATE_INDEX], arrays["outcomes.pair"]
    n_states = int(state_index.max(initial=0))
    times_used = np.bincount(state_index[state_index != TERMINAL], minlength=n_states + 1)[1:]
    _check_all(_STATE_INDEX, times_used == 1, "must contain each index up to the largest once; see index")
    end, marks = (n_states + 1) * spec.n_actions, arrays["planning_marks"]
    for name, array, width in (
        ("visits", visits[None], spec.n_actions),
        ("values", arrays["values"], spec.n_actions),
        ("own_state_values", arrays["own_state_values"], 1),
        ("planning_marks", marks, 1),
    ):
        _check_all(f"{name} of the terminal state", array[:, :width] == 0, "must be 0, but is not at")
    _check_all("visits of states that are not visited yet", visits[end:] == 0, "must be 0, but is not at")
    _check_all("planning_marks of states that are not visited yet", marks[:, n_states + 1 :] == 0, "must be 0 at")
    _check_all("outcomes.pair", pair < end, "must be a pair of a visited state at")
    _check_all("outcomes.next_state", arrays["outcomes.next_state"] <= n_states, "must be a visited state at")
    if spec.memory == NO_MEMORY:
        _check_all("outcomes.pair", pair < 0, "must be empty without a memory, but has an entry at")
        return
    keys = np.sort(pair.astype(np.int64) * (n_states + 1) + arrays["outcomes.next_state"])
    _check_all("outcomes.pair", np.diff(keys) > 0, "must have each next state of a pair once; see outcome")
    by_pair = np.bincount(pair, arrays["outcomes.stored"], minlength=len(visits))
    fits = by_pair == visits if spec.memory == FULL else by_pair <= visits
    _check_all("outcomes.stored", fits, "must agree with the visits of its pair; see pair")
    has_outcome = np.bincount(pair, minlength=len(visits)) > 0
    _check_all("outcomes.pair", has_outcome == (visits > 0), "must list exactly the visited pairs; see pair")
    if spec.memory == WINDOW or spec.n_heads:
        times_stored = np.bincount(arrays["transitions"], minlength=len(pair))
        fits = times_stored == arrays["outcomes.stored"]
        _check_all("transitions", fits, "must agree with outcomes.stored; see outcome")
    slots = arrays["slots"]
    _check_all("slots", np.bincount(slots, minlength=len(slots)) == 1, "must contain each stored transition once; see")


def _check_all(name: str, valid: NDArray[np.bool_], rule: str) -> None:
    """Raise `InvalidArray` with the rule and the first place where it does not hold."""
    if not valid.all():
        raise InvalidArray(f"{name} {rule} {int(np.argmin(valid)):,}")


def _restore(agent: Agent, arrays: Arrays) -> None:
    """Give a new agent the arrays of the saved one, and rebuild those that follow from them.

    All states become active: an active state that a sweep does not change is only skipped again.
    """
    spec, visits = agent.spec, arrays["visits"]
    n_pairs, n_outcomes, n_stored = len(visits), arrays["outcomes.pair"].size, arrays["transitions"].size
    n_states = n_pairs // spec.n_actions
    n_new = int(agent.learner.counters.n_initialised)
    if n_states < n_new:
        raise InvalidArray(f"visits has {n_states:,} states; a new agent has {n_new:,}")
    n_rows = max(n_outcomes, agent.learner.outcome_capacity)
    learner = resized(agent.learner, spec, states=n_states, outcomes=n_rows, stored=n_stored)
    outcomes, counters = learner.outcomes, learner.counters
    learner.visits[:n_pairs], learner.values[:, :n_pairs] = visits, arrays["values"]
    for name in ("converged", "streams", "notes"):
        getattr(learner, name)[:] = arrays[name]
    learner.transitions[:n_stored], learner.slots[: arrays["slots"].size] = arrays["transitions"], arrays["slots"]
    for name in _OUTCOMES:
        getattr(outcomes, name)[..., :n_outcomes] = arrays[f"outcomes.{name}"]
    counters.n_states, counters.n_initialised = int(arrays[_STATE_INDEX].max(initial=0)), n_states
    counters.n_outcomes, counters.n_stored, counters.step = n_outcomes, n_stored, int(visits.sum())
    counters.max_visits, counters.policy_changed = int(visits.max()), 1
    counters.n_discovered = int(visits.reshape(-1, spec.n_actions).any(axis=1).sum())
    rebuild(learner, spec)
    n_learnt = spec.n_swept + spec.n_heads
    learner.state_values[n_learnt:, :n_states] = arrays["own_state_values"]
    learner.flags[spec.n_swept + 1 :, :n_states] = arrays["planning_marks"]
    agent.restore(learner, np.ascontiguousarray(arrays[_STATE_INDEX]), n_states - n_new)
