"""Saving and loading agents; the file format is that of `wanderlust.core.archives`."""

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
from wanderlust.learning.random_streams import NAMES
from wanderlust.learning.spec import FULL, NO_MEMORY, WINDOW, TableSpec
from wanderlust.learning.state import (
    COUNTERS,
    N_NOTES,
    NONE,
    SWEEP_MODE,
    TERMINAL,
    LearnerState,
    Outcomes,
    count_flags,
    count_signals,
    trimmed,
)
from wanderlust.learning.sweep import DENSE_RUN
from wanderlust.version import __version__
from wanderlust.worlds.base import checked_names, layout_from_plain, layout_to_plain

if TYPE_CHECKING:
    from wanderlust.agents.agent import Agent


MIN_STATES = 65
"""The fewest states that the arrays of a new agent hold, with `TERMINAL`."""
MAX_INDEX = 2**31 - 1

Arrays = Mapping[str, NDArray[Any]]


class InvalidArray(ValueError):
    """An array that no agent has; the message names it and says what is valid."""


class Sizes(NamedTuple):
    """The counters of a file, and the sizes that follow from them."""

    n_states: int
    n_outcomes: int
    n_stored: int
    n_stochastic: int
    max_visits: int
    step: int
    n_discovered: int
    capacity: int
    """The number of states in the arrays, with `TERMINAL`."""
    n_pairs: int
    """The number of pairs in the arrays."""


def check_arrays(arrays: Arrays, spec: TableSpec, state_index: NDArray[Any]) -> None:
    """Raise `InvalidArray` unless the arrays of a learner and the index of its states are valid and consistent."""
    sizes = _checked_sizes(arrays, spec)
    for name, (kind, shape) in _layout(spec, sizes, arrays["transitions"].size).items():
        check_form(name, arrays[name], kind, shape)
    _check_state_index(state_index, sizes)
    _check_visits(arrays, spec, sizes)
    _check_values(arrays, spec)
    _check_outcomes(arrays, spec, sizes)
    _check_lists(arrays, spec, sizes)
    _check_sweep_inputs(arrays, spec, sizes)
    _check_work(arrays, spec, sizes)
    _check_transitions(arrays, spec, sizes)
    _check_temporary(arrays, sizes)


def check_form(name: str, array: NDArray[Any], kind: Any, shape: tuple[int, ...]) -> None:
    """Raise `InvalidArray` unless an array has the given dtype and shape."""
    if array.dtype != np.dtype(kind) or array.shape != shape:
        raise InvalidArray(f"{name} is {array.dtype} {array.shape}; it must be {np.dtype(kind)} {shape}")


def _checked_sizes(arrays: Arrays, spec: TableSpec) -> Sizes:
    found = arrays["counters"]
    check_form("counters", found, np.int64, (len(COUNTERS.fields or ()),))
    counters = dict(zip(COUNTERS.names or (), found.tolist(), strict=True))
    capacity, step = counters.pop("n_initialised"), counters["step"]
    remembers, replays = spec.memory != NO_MEMORY, spec.memory == WINDOW or (spec.memory == FULL and spec.n_heads > 0)
    n_stored = min(step, spec.capacity) if spec.memory == WINDOW else step if replays else 0
    n_pairs = capacity * spec.n_actions
    for name, value, low, high in (
        ("n_initialised", capacity, MIN_STATES, MAX_INDEX // spec.n_actions),
        ("n_states", counters["n_states"], 0, capacity - 1),
        ("step", step, 0, 2**53),
        ("n_outcomes", counters["n_outcomes"], 0, min(step, MAX_INDEX) if remembers else 0),
        ("n_stored", counters["n_stored"], max(n_stored, 0), max(n_stored, 0)),
        ("n_stochastic", counters["n_stochastic"], 0, min(n_pairs, max(counters["n_outcomes"], 0))),
        ("policy_changed", counters.pop("policy_changed"), 0, 1),
    ):
        if not low <= value <= high:
            valid = f"it must be {low:,}" if low == high else f"valid are {low:,} to {high:,}"
            raise InvalidArray(f"counters.{name} is {value:,}; {valid}")
    return Sizes(**counters, capacity=capacity, n_pairs=n_pairs)


def _layout(spec: TableSpec, sizes: Sizes, n_transitions: int) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """Return the dtype and the shape of every array; see `wanderlust.learning.state`."""
    states, pairs, outcomes, swept = sizes.capacity, sizes.n_pairs, sizes.n_outcomes, spec.n_swept
    n_tables, n_signals = len(spec.signal), count_signals(spec)
    transitions = {NO_MEMORY: 0, WINDOW: spec.capacity + 1, FULL: 1}[spec.memory]
    if spec.memory == FULL and spec.n_heads:  # This list alone is saved with its reserve.
        transitions = max(n_transitions, sizes.n_stored)
    rates = pairs if spec.memory == FULL and spec.n_heads else 0
    return {
        "visits": (np.int64, (pairs,)),
        "stored": (np.int64, (pairs,)),
        "values": (np.float64, (n_tables, pairs)),
        "state_values": (np.float64, (n_tables, states)),
        "sweep_reward": (np.float64, (swept, pairs)),
        "sweep_next": (np.uint32, (pairs,)),
        "first_outcome": (np.int32, (pairs,)),
        "first_into": (np.int32, (states,)),
        **{f"outcomes.{name}": (np.int32, (outcomes,)) for name in ("pair", "state", "next_state")},
        **{f"outcomes.{name}": (np.int32, (outcomes,)) for name in ("next_of_pair", "next_into")},
        **{f"outcomes.{name}": (np.float64, (outcomes,)) for name in ("stored", "weight")},
        "outcomes.signals": (np.float64, (n_signals, outcomes)),
        "stochastic_pairs": (np.int32, (pairs,)),
        "work": (np.int32, (swept + 1, states)),
        "flags": (np.uint8, (count_flags(spec), states)),
        "sweep_mode": (np.int64, (2 * swept,)),
        "scratch": (np.float64, (2, pairs)),
        "transitions": (np.uint32, (transitions,)),
        "slots": (np.uint32, (spec.capacity if spec.memory == WINDOW else 0,)),
        "batch": (np.int32, (spec.batch_size,)),
        "batch_counts": (np.int32, (outcomes,)),
        "batch_rates": (np.float64, (rates,)),
        "converged": (np.uint8, (spec.n_heads,)),
        "streams": (np.uint64, (len(NAMES),)),
        "notes": (np.float64, (N_NOTES,)),
        "scores": (np.float64, (spec.n_actions,)),
    }


def _check_state_index(state_index: NDArray[Any], sizes: Sizes) -> None:
    """The indices 1 to n_states are given to one state each."""
    _check_range("state_index", state_index, 0, sizes.n_states)
    times_used = np.bincount(state_index[state_index != TERMINAL], minlength=sizes.n_states + 1)[1:]
    _check_all("state_index", times_used == 1, "must contain each index from 1 to n_states once; see index", first=1)


def _check_visits(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    visits, used = arrays["visits"], (sizes.n_states + 1) * spec.n_actions
    _check_range("visits", visits, 0, sizes.step)
    _check_zero("visits of the terminal state", visits[: spec.n_actions])
    _check_zero("visits of states that are not visited yet", visits[used:])
    # As floats first: the sum of integers may overflow.
    if visits.sum(dtype=np.float64) > 2.0 * sizes.step or int(visits.sum()) != sizes.step:
        raise InvalidArray(f"visits must sum to the number of steps, {sizes.step:,}")
    discovered = int(visits.reshape(-1, spec.n_actions).any(axis=1).sum())
    for name, expected in (("max_visits", int(visits.max())), ("n_discovered", discovered)):
        if getattr(sizes, name) != expected:
            raise InvalidArray(f"counters.{name} is {getattr(sizes, name):,}; by the visits it must be {expected:,}")
    stored = arrays["stored"]
    if spec.memory == WINDOW:
        _check_all("stored", (stored >= 0) & (stored <= visits), "must be from 0 to the visits of its pair at")
    else:
        _check_all("stored", stored == visits, "must equal visits at")


def _check_values(arrays: Arrays, spec: TableSpec) -> None:
    """Values that are not finite spread to all other values. The terminal state has the value 0 in every table."""
    for name in ("values", "state_values", "sweep_reward", "outcomes.stored", "outcomes.weight", "outcomes.signals"):
        _check_all(name, np.isfinite(arrays[name]), "must be finite (rewards near 1e308 overflow) at")
    for name, width in (("values", spec.n_actions), ("sweep_reward", spec.n_actions), ("state_values", 1)):
        _check_zero(f"{name} of the terminal state", arrays[name][:, :width])
    _check_range("outcomes.weight", arrays["outcomes.weight"], 0, 1)


def _check_outcomes(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    pair, stored = arrays["outcomes.pair"], arrays["outcomes.stored"]
    _check_range("outcomes.pair", pair, spec.n_actions, (sizes.n_states + 1) * spec.n_actions - 1)
    _check_range("outcomes.next_state", arrays["outcomes.next_state"], 0, sizes.n_states)
    _check_all("outcomes.state", arrays["outcomes.state"] == pair // spec.n_actions, "must be the state of its pair at")
    if spec.memory != NO_MEMORY:
        _check_all("outcomes.stored", stored >= 0, "must not be negative at")
        by_pair = np.bincount(pair, stored, minlength=sizes.n_pairs)
        _check_all("outcomes.stored", by_pair == arrays["stored"], "must sum to `stored` of its pair; see pair")


def _check_lists(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    """Each outcome is in the list of its pair, in order of appearance, and in that of its next state, latest first."""
    for first, following, key, order in (
        ("first_outcome", "outcomes.next_of_pair", "outcomes.pair", 1),
        ("first_into", "outcomes.next_into", "outcomes.next_state", -1),
    ):
        heads, links, owner = arrays[first], arrays[following], arrays[key]
        _check_range(first, heads, NONE, sizes.n_outcomes - 1)
        _check_range(following, links, NONE, sizes.n_outcomes - 1)
        begins, linked = np.flatnonzero(heads != NONE), np.flatnonzero(links != NONE)
        _check_all(first, owner[heads[begins]] == begins, "must refer to an outcome of its own list; see list")
        target = links[linked]
        # The order excludes cycles, so that all outcomes with one predecessor each form lists that end.
        valid = (order * (target - linked) > 0) & (owner[target] == owner[linked])
        _check_all(following, valid, f"must refer to {'a later' if order > 0 else 'an earlier'} outcome of the list at")
        predecessors = np.bincount(np.append(heads[begins], target), minlength=sizes.n_outcomes)
        _check_all(following, predecessors == 1, "must contain each outcome in one list; see outcome")
    if spec.memory != NO_MEMORY:
        visited = arrays["visits"] > 0
        _check_all("first_outcome", (arrays["first_outcome"] != NONE) == visited, "must fit the visits at")


def _check_sweep_inputs(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    """Pairs with several outcomes are listed; the dense sweep reads the next state of the other remembered pairs."""
    first, following = arrays["first_outcome"], arrays["outcomes.next_of_pair"]
    tried = np.flatnonzero(first != NONE)
    is_single = following[first[tried]] == NONE
    listed, several = arrays["stochastic_pairs"], tried[~is_single]
    _check_range("stochastic_pairs", listed, 0, sizes.n_pairs - 1)
    if not np.array_equal(np.sort(listed[: sizes.n_stochastic]), several):
        raise InvalidArray(f"stochastic_pairs must list the {len(several):,} pairs with several outcomes")
    is_stochastic = np.zeros(sizes.capacity, np.uint8)
    is_stochastic[several // spec.n_actions] = 1
    _check_all("flags", arrays["flags"][spec.n_swept] == is_stochastic, "must mark the stochastic states; see state")
    expected = np.zeros(sizes.n_pairs, np.uint32)
    single = tried[is_single & (arrays["stored"][tried] > 0)]
    expected[single] = arrays["outcomes.next_state"][first[single]]
    _check_all("sweep_next", arrays["sweep_next"] == expected, "must be the next state of the pair at")


def _check_work(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    """A state is on a work list at most once, and its flag says whether it is."""
    _check_range("work", arrays["work"], 0, sizes.n_states)
    if spec.n_own > 0:
        waiting = arrays["flags"][-1]
        _check_range("flags of planning", waiting, 0, 1)
        _check_zero("flags of planning of states that are not visited yet", waiting[sizes.n_states + 1 :])
        _check_zero("flags of planning of the terminal state", waiting[: TERMINAL + 1])
    for table, (n_active, dense_left) in enumerate(arrays["sweep_mode"].reshape(-1, 2).tolist()):
        if not (0 <= n_active <= sizes.n_states and 0 <= dense_left <= DENSE_RUN):
            raise InvalidArray(
                f"sweep_mode of table {table} is n_active {n_active:,}, dense_left {dense_left:,}; valid are 0 to "
                f"{sizes.n_states:,} and 0 to {DENSE_RUN}"
            )
        times_listed = np.bincount(arrays["work"][table, :n_active], minlength=sizes.capacity)
        _check_all(f"work of table {table}", times_listed[: TERMINAL + 1] == 0, "must not list the terminal state,")
        fits = times_listed == arrays["flags"][table]
        _check_all(f"flags of table {table}", fits & (times_listed < 2), "must mark the work list; see state")


def _check_transitions(arrays: Arrays, spec: TableSpec, sizes: Sizes) -> None:
    """Each stored transition is one of an outcome; the slots of a window are in any order."""
    transitions, slots, n = arrays["transitions"], arrays["slots"], sizes.n_stored
    _check_range("transitions", transitions, 0, max(sizes.n_outcomes - 1, 0))
    if spec.memory == WINDOW or (spec.memory == FULL and spec.n_heads):
        times_stored = np.bincount(transitions[:n], minlength=sizes.n_outcomes)
        fits = times_stored == arrays["outcomes.stored"]
        _check_all("transitions", fits, "must agree with outcomes.stored; see outcome")
    if spec.memory == WINDOW:
        _check_range("slots", slots, 0, max(n - 1, 0))
        _check_all("slots", np.bincount(slots[:n], minlength=n) == 1, "must contain each stored transition once; see")


def _check_temporary(arrays: Arrays, sizes: Sizes) -> None:
    """Between two steps, temporary arrays hold nothing, or indices of the latest minibatch."""
    _check_range("batch", arrays["batch"], 0, max(sizes.n_outcomes, sizes.n_stored, 1) - 1)
    _check_range("converged", arrays["converged"], 0, 1)
    for name in ("batch_counts", "batch_rates"):
        _check_zero(name, arrays[name])
    _check_zero("scratch, row 1,", arrays["scratch"][1])


def _check_range(name: str, array: NDArray[Any], low: int, high: int) -> None:
    if array.size and (array.min() < low or array.max() > high):
        place = int(np.flatnonzero((array < low) | (array > high))[0])
        raise InvalidArray(f"{name} is {array.reshape(-1)[place]} at {place:,}; valid are {low:,} to {high:,}")


def _check_zero(name: str, array: NDArray[Any]) -> None:
    _check_all(name, array == 0, "must be 0, but is not at")


def _check_all(name: str, valid: NDArray[np.bool_], rule: str, *, first: int = 0) -> None:
    """Raise `InvalidArray` with the rule and the first place where it does not hold."""
    if not valid.all():
        raise InvalidArray(f"{name} {rule} {first + int(np.argmin(valid)):,}")


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
    arrays = {**(more_arrays or {}), **_flattened(trimmed(agent.learner, agent.spec)), _STATE_INDEX: agent.state_index}
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
