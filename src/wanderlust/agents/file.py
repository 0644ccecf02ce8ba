"""Saving and loading agents; the file format is that of `wanderlust.core.archives`.

A file has only the arrays from which the others follow. It may come from anywhere, so every array is checked against a
declared type and shape before it is read, and against a declared range and the others before an agent has it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from wanderlust.agents.history import HISTORY_ARRAYS, TrainingCurves
from wanderlust.agents.loop import refresh_signals
from wanderlust.agents.settings import PRESETS, Replay, Settings, make_spec
from wanderlust.core.archives import Header, open_archive, write_archive
from wanderlust.core.errors import BadFile, check_choice
from wanderlust.core.schema import checked
from wanderlust.environments.encoding import Encoding
from wanderlust.explorers.ensembles import CURRENT_HEAD, Bootstrapped
from wanderlust.explorers.protocol import configured, explorer_class, explorer_name
from wanderlust.learning.memory import rebuild
from wanderlust.learning.state import FIRST_STATES, N_NOTES, NAMES, TERMINAL, count_flags, count_signals, resized
from wanderlust.learning.td import EXCLUDED, FULL, NO_MEMORY, TARGET, WINDOW, TableSpec
from wanderlust.version import __version__
from wanderlust.worlds.base import checked_names, layout_from_plain, layout_to_plain

if TYPE_CHECKING:
    from wanderlust.agents.agent import Agent


FORMAT = 5
MAX_INDEX = 2**31 - 1
STATE_INDEX, KEYS, ACTIONS, LAST_VISITS = "state_index", "state_keys", "episode_actions", "last_visits"
LOOP = "loop"
"""The field of a checkpoint with what `learn` needs to continue."""
_AS_THEY_ARE = (
    "explorer", "options", "fields", "n_actions", "n_states", "reward_range", "seed", "preset", "environment",
    "action_names",
)  # fmt: skip
_OUTCOMES = ("pair", "next_state", "stored", "signals")

Arrays = Mapping[str, NDArray[Any]]


class Description(msgspec.Struct, frozen=True):
    """The metadata of a file: what a new agent is created with, then what is given to it."""

    explorer: str
    options: dict[str, Any]
    fields: dict[str, float]
    settings: dict[str, Any]
    n_actions: int
    n_states: int | None
    reward_range: tuple[float, float]
    seed: int
    learns_q: bool
    preset: str | None
    encoding: Any = None
    history: dict[str, Any] | None = None
    environment: Any = None
    action_names: Any = None
    layout: Any = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments with which the agent was created, without the explorer and its options."""
        names = ("n_actions", "n_states", "reward_range", "seed", "learns_q", "fields")
        settings = Settings(**{**self.settings, "replay": Replay(**self.settings["replay"])})
        return {name: getattr(self, name) for name in names} | {"settings": settings}


def save(agent: Agent, path: Path, more_about: Mapping[str, Any], more_arrays: Mapping[str, Any]) -> None:
    """Write an agent to `path`, with more JSON values and arrays; `load_all` returns them."""
    arrays = {**more_arrays, **_saved_arrays(agent)}
    about = {
        "format": FORMAT,
        "wanderlust": __version__,
        **{name: getattr(agent, name) for name in _AS_THEY_ARE},
        "settings": dataclasses.asdict(agent.settings),
        "learns_q": bool(agent.spec.learns_q),
        "layout": layout_to_plain(agent.layout),
        **more_about,
    }
    if agent.encoding is not None:
        about["encoding"], arrays[KEYS] = agent.encoding.to_file()
    if agent.curves is not None:
        about["history"], curves = agent.curves.to_file()
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
    try:
        with open_archive(path) as archive:
            about = archive.metadata
            description = _description(about)
            found = _explorer_class(description.explorer, explorer)
            spec, chosen = _spec_of(found, description)
            # Before arrays and agent exist: both take as much memory as the file claims to need.
            declared = _declared(spec, description.n_states, archive.headers)
            _check_headers(archive.headers, declared)
            arrays = archive.read()
        _check_entries(arrays, declared, spec, chosen)
        agent = cls(found, **description.arguments(), **description.options)
        _restore(agent, arrays)
        agent.encoding = _read_encoding(description, arrays, agent, key)
        if description.history is not None:
            agent.curves = TrainingCurves.from_file(description.history, arrays, len(agent.state_index), agent.steps)
        if description.preset is not None:
            agent.preset = check_choice("preset", description.preset, PRESETS)
    except FileNotFoundError:
        raise BadFile(f"{path}: there is no such file.") from None
    except OSError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror or error}).") from error
    except BadFile as error:
        raise BadFile(f"{path}: {str(error).rstrip('.')}; no agent can continue from this file.") from error
    except Exception as error:  # zipfile, NumPy, numbers of any size and explorers of the user raise almost anything.
        reason = str(error).rstrip(".") or type(error).__name__
        raise BadFile(f"{path}: not an agent that wanderlust saved, or damaged ({reason}).") from error
    environment = description.environment
    agent.environment = dict(environment) if isinstance(environment, Mapping) else None
    # Only for display, and files of earlier versions do not have them: invalid ones are ignored.
    agent.action_names = checked_names(description.action_names, agent.n_actions)
    agent.layout = layout_from_plain(description.layout, agent.n_states)
    return agent, about, arrays


def _description(about: Mapping[str, Any]) -> Description:
    """Return the description in a file of this format."""
    if about.get("format") != FORMAT:
        raise BadFile(
            f"written in format {about.get('format')!r} by wanderlust {about.get('wanderlust')!r}; this is "
            f"{__version__}, which reads format {FORMAT}. Load it with the version that wrote it"
        )
    return checked("its description", about, Description)


def _explorer_class(name: str, explorer: type | None) -> type:
    """Return the explorer class given, which must be that of the file, or the built-in one that the file names."""
    if explorer is not None:
        found = explorer_class(explorer)
        if explorer_name(found) != name:
            raise BadFile(f"its explorer is {name!r}, but {explorer_name(found)!r} was given")
        return found
    if ":" in name:
        raise BadFile(
            f"its explorer is {name!r}, which is not one of wanderlust's. Give the class: "
            f"Agent.load(path, explorer={name.partition(':')[2]})"
        )
    return explorer_class(name)


def _spec_of(explorer: type, description: Description) -> tuple[TableSpec, Any]:
    """Return the tables of an agent with this description, and its configured explorer."""
    arguments = description.arguments()
    problem = arguments["settings"].problem(description.n_actions, description.reward_range)
    chosen = configured(explorer, problem, description.options, description.fields)
    return make_spec(chosen, problem, arguments["settings"], learns_q=description.learns_q)[0], chosen


def _read_encoding(
    description: Description, arrays: Arrays, agent: Agent, key: Callable[..., Any] | None
) -> Encoding | None:
    """Return the encoding in a file, if there is one; it must fit the agent."""
    if description.encoding is None:
        if key is not None:
            raise BadFile("key= was given, but the file has no state encoding")
        return None
    if KEYS not in arrays:
        raise BadFile(f"{KEYS} missing")
    encoding = Encoding.from_file(description.encoding, arrays[KEYS], key)
    if encoding.actions.n != agent.n_actions:
        raise BadFile(f"its encoding has {encoding.actions.n} actions, but the agent has {agent.n_actions}")
    visited = np.flatnonzero(agent.state_index)
    needed = int(visited[-1]) + 1 if len(visited) else 0
    if len(encoding.keys) < needed:
        raise BadFile(f"{KEYS} has {len(encoding.keys):,} keys; the agent needs {needed:,}")
    return encoding


def _saved_arrays(agent: Agent) -> dict[str, Any]:
    """Return the arrays from which an agent can be rebuilt; all others follow from them."""
    learner, spec = agent.learner, agent.spec
    counters, n_stored = learner.counters, int(learner.counters.n_stored)
    n_states, n_outcomes = int(counters.n_initialized), int(counters.n_outcomes)
    n_pairs = n_states * spec.n_actions
    arrays: dict[str, Any] = {
        STATE_INDEX: agent.state_index,
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
    shape: tuple[int, ...] | None
    """None: one dimension of any length."""
    low: float = -np.inf
    high: float = np.inf


def _declared(spec: TableSpec, known_states: int | None, headers: Mapping[str, Header]) -> dict[str, _Array]:
    """Return what is valid for every array of an agent, from its spec and the sizes of four arrays."""
    sizes = {name: _length(headers, name) for name in (STATE_INDEX, "visits", "outcomes.pair", "transitions")}
    n_states, n_stored = sizes["visits"] // spec.n_actions, sizes["transitions"]
    n_pairs, n_outcomes = n_states * spec.n_actions, sizes["outcomes.pair"]
    if not FIRST_STATES < n_states <= MAX_INDEX:
        raise BadFile(f"visits has {sizes['visits']:,} entries; it must have {spec.n_actions} for each state")
    largest = np.finfo(np.float64).max
    own = {
        STATE_INDEX: _Array(np.int32, (known_states or sizes[STATE_INDEX],), 0, n_states - 1),
        "visits": _Array(np.int64, (n_pairs,), 0, 2**53),
        "values": _Array(np.float64, (len(spec.signal), n_pairs), -largest, largest),
        "own_state_values": _Array(np.float64, (spec.n_own, n_states), -largest, largest),
        "planning_marks": _Array(np.uint8, (count_flags(spec) - spec.n_swept - 1, n_states), 0, 1),
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
    further = {KEYS: np.uint8, ACTIONS: np.int32, LAST_VISITS: np.int64, **HISTORY_ARRAYS}
    return own | {name: _Array(kind, None) for name, kind in further.items() if name in headers}


def _length(headers: Mapping[str, Header], name: str) -> int:
    shape = headers[name].shape if name in headers else ()
    return shape[0] if len(shape) == 1 else 0


def _check_headers(headers: Mapping[str, Header], declared: Mapping[str, _Array]) -> None:
    """Raise `BadFile` unless the arrays of a file are the declared ones."""
    if missing := sorted(declared.keys() - headers.keys()):
        raise BadFile(f"{', '.join(missing)} missing")
    if unknown := sorted(headers.keys() - declared.keys()):
        raise BadFile(f"{', '.join(unknown)}: no agent has such arrays")
    for name, (dtype, shape) in headers.items():
        valid = declared[name]
        if dtype != np.dtype(valid.kind) or (shape != valid.shape if valid.shape else len(shape) != 1):
            raise BadFile(f"{name} is {dtype} {shape}; it must be {valid.kind.__name__} {valid.shape or '(any,)'}")


def _check_entries(arrays: Arrays, declared: Mapping[str, _Array], spec: TableSpec, explorer: Any) -> None:
    """Raise `BadFile` unless the entries of all arrays are valid, by themselves and together.

    Compiled code does not check indices: a wrong one would read or overwrite other memory.
    """
    for name, valid in declared.items():
        if np.isfinite(valid.high):
            inside = (arrays[name] >= valid.low) & (arrays[name] <= valid.high)
            _check_all(name, inside, f"must be from {valid.low:,g} to {valid.high:,g}, and is not at")
    visits, state_index, pair = arrays["visits"], arrays[STATE_INDEX], arrays["outcomes.pair"]
    n_states = int(state_index.max(initial=0))
    times_used = np.bincount(state_index[state_index != TERMINAL], minlength=n_states + 1)[1:]
    _check_all(STATE_INDEX, times_used == 1, "must contain each index up to the largest once; see index")
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
    _check_memory(arrays, spec)
    if isinstance(explorer, Bootstrapped):
        # These explorers use the note as an index of a head.
        head = arrays["notes"][CURRENT_HEAD]
        if head not in range(spec.n_heads):
            raise BadFile(f"notes is {head} at {CURRENT_HEAD}; valid are the heads 0 to {spec.n_heads - 1}")


def _check_memory(arrays: Arrays, spec: TableSpec) -> None:
    """Raise `BadFile` unless the outcomes and the stored transitions fit the visits."""
    visits, pair, stored = arrays["visits"], arrays["outcomes.pair"], arrays["outcomes.stored"]
    # As floats first: the sum of integers may overflow.
    step = int(visits.sum()) if visits.sum(dtype=np.float64) <= 2**53 else 0
    replays = spec.memory == WINDOW or (spec.memory == FULL and spec.n_heads > 0)
    n_stored = (min(step, spec.capacity) if spec.memory == WINDOW else step) if replays else 0
    if arrays["transitions"].size != n_stored:
        raise BadFile(f"transitions has {arrays['transitions'].size:,} entries; it must have {n_stored:,}")
    if spec.memory == NO_MEMORY:
        _check_all("outcomes.pair", pair < 0, "must be empty without a memory, but has an entry at")
        return
    keys = np.sort(pair.astype(np.int64) * len(visits) + arrays["outcomes.next_state"])
    _check_all("outcomes.pair", np.diff(keys) > 0, "must have each next state of a pair once; see outcome")
    by_pair = np.bincount(pair, stored, minlength=len(visits))
    fits = by_pair == visits if spec.memory == FULL else by_pair <= visits
    _check_all("outcomes.stored", fits, "must agree with the visits of its pair; see pair")
    has_outcome = np.bincount(pair, minlength=len(visits)) > 0
    _check_all("outcomes.pair", has_outcome == (visits > 0), "must list exactly the visited pairs; see pair")
    if replays:
        times_stored = np.bincount(arrays["transitions"], minlength=len(pair))
        _check_all("transitions", times_stored == stored, "must agree with outcomes.stored; see outcome")
    slots = arrays["slots"]
    _check_all("slots", np.bincount(slots, minlength=len(slots)) == 1, "must contain each stored transition once; see")


def _check_all(name: str, valid: NDArray[np.bool_], rule: str) -> None:
    """Raise `BadFile` with the rule and the first place where it does not hold."""
    if not valid.all():
        raise BadFile(f"{name} {rule} {int(np.argmin(valid)):,}")


def _restore(agent: Agent, arrays: Arrays) -> None:
    """Give a new agent the arrays of the saved one, and rebuild those that follow from them.

    All states become active: an active state that a sweep does not change is only skipped again.
    """
    spec, visits = agent.spec, arrays["visits"]
    n_pairs, n_outcomes, n_stored = len(visits), arrays["outcomes.pair"].size, arrays["transitions"].size
    n_states = n_pairs // spec.n_actions
    n_new = int(agent.learner.counters.n_initialized)
    if n_states < n_new:
        raise BadFile(f"visits has {n_states:,} states; a new agent has {n_new:,}")
    n_rows = max(n_outcomes, agent.learner.outcome_capacity)
    learner = resized(agent.learner, spec, states=n_states, outcomes=n_rows, stored=n_stored)
    outcomes, counters = learner.outcomes, learner.counters
    learner.visits[:n_pairs], learner.values[:, :n_pairs] = visits, arrays["values"]
    for name in ("converged", "streams", "notes"):
        getattr(learner, name)[:] = arrays[name]
    learner.transitions[:n_stored], learner.slots[: arrays["slots"].size] = arrays["transitions"], arrays["slots"]
    for name in _OUTCOMES:
        getattr(outcomes, name)[..., :n_outcomes] = arrays[f"outcomes.{name}"]
    counters.n_states, counters.n_initialized = int(arrays[STATE_INDEX].max(initial=0)), n_states
    counters.n_outcomes, counters.n_stored, counters.step = n_outcomes, n_stored, int(visits.sum())
    counters.max_visits, counters.policy_changed = int(visits.max()), 1
    counters.n_discovered = int(visits.reshape(-1, spec.n_actions).any(axis=1).sum())
    rebuild(learner, spec)
    n_learnt = spec.n_swept + spec.n_heads
    learner.state_values[n_learnt:, :n_states] = arrays["own_state_values"]
    learner.flags[spec.n_swept + 1 :, :n_states] = arrays["planning_marks"]
    agent._restore(learner, np.ascontiguousarray(arrays[STATE_INDEX]), n_states - n_new)


def without_states(agent: Agent, kept: NDArray[np.integer[Any]]) -> Agent:
    """Return the agent as if it had only visited the given states, which get the numbers 0, 1, ... in this order.

    Transitions into other states are forgotten as well. The memory must not be a window.
    """
    explorer, spec, arrays = type(agent.configured_explorer), agent.spec, _saved_arrays(agent)
    n_actions, index = spec.n_actions, arrays[STATE_INDEX][kept]
    new_index = np.zeros(int(agent.learner.counters.n_initialized), np.int32)
    new_index[index[index != TERMINAL]] = np.arange(1, np.count_nonzero(index) + 1)
    other = type(agent)(
        explorer, n_actions=n_actions, reward_range=agent.reward_range, seed=agent.seed, settings=agent.settings,
        learns_q=bool(spec.learns_q), fields=agent.fields, **agent.options,
    )  # fmt: skip
    n_states = max(len(kept) + 1, int(other.learner.counters.n_initialized))
    old_states = np.flatnonzero(new_index)
    old_pairs = (old_states[:, None] * n_actions + np.arange(n_actions)).ravel()
    new_pairs = (new_index[old_states][:, None] * n_actions + np.arange(n_actions)).ravel()
    pair, following = arrays["outcomes.pair"], arrays["outcomes.next_state"]
    is_kept = (new_index[pair // n_actions] > 0) & ((following == TERMINAL) | (new_index[following] > 0))
    for name in _OUTCOMES:
        arrays[f"outcomes.{name}"] = arrays[f"outcomes.{name}"][..., is_kept]
    arrays["outcomes.pair"] = (new_index[pair // n_actions] * n_actions + pair % n_actions)[is_kept].astype(np.int32)
    arrays["outcomes.next_state"] = new_index[following[is_kept]]
    visits = np.zeros(n_states * n_actions, np.int64)
    visits[new_pairs] = arrays["visits"][old_pairs]
    if spec.memory == FULL:
        counted = np.bincount(arrays["outcomes.pair"], arrays["outcomes.stored"], minlength=len(visits))
        visits = counted.astype(np.int64)
    values = np.repeat(spec.initial[:, None], len(visits), axis=1)
    values[:, :n_actions] = 0.0
    old_values = arrays["values"][:, old_pairs]
    is_known = (visits[new_pairs] > 0) | (old_values[TARGET] == -EXCLUDED)
    values[:, new_pairs] = np.where(is_known, old_values, values[:, new_pairs])
    arrays |= {STATE_INDEX: new_index[index], "visits": visits, "values": values}
    for name in ("own_state_values", "planning_marks"):
        by_state = np.zeros((len(arrays[name]), n_states), arrays[name].dtype)
        by_state[:, new_index[old_states]] = arrays[name][:, old_states]
        arrays[name] = by_state
    _restore(other, arrays)
    other.learner.counters.step = agent.steps
    if spec.memory != NO_MEMORY:
        refresh_signals(*other.pointers, terminal_only=False)
    return other
