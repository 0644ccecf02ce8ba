"""`check_explorer`: a test of user-defined explorers."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from wanderlust._numba.cache import methods_of
from wanderlust.agents.agent import Agent
from wanderlust.agents.loop import action_dtype
from wanderlust.agents.session import train
from wanderlust.agents.settings import Replay, make_spec, resolve
from wanderlust.core.errors import InvalidExplorer, WanderlustError
from wanderlust.explorers.compiled import python_reason
from wanderlust.explorers.protocol import ExtraTables, configured, explorer_class, explorer_name, view_of
from wanderlust.learning.planned import Model, Transition
from wanderlust.learning.state import InitialValues, new_learner
from wanderlust.worlds import World, make_world

# A prime number, so that a hidden counter with a short period does not start two runs with the same value.
_STEPS = 307
_MEMORIES = (Replay("full"), Replay("none"), Replay("window", capacity=50, batch=8))

# Compiled code returns inf or nan where Python raises the first two; Python cannot call numba's intrinsics (the last).
_PYTHON_ONLY_ERRORS = (ArithmeticError, ValueError, NotImplementedError)

_LIBRARIES = sys.stdlib_module_names | {"numba", "numpy", "scipy"}


def check_explorer(explorer: str | type, *, steps: int = _STEPS, **options: Any) -> None:
    """Raise `InvalidExplorer` unless an explorer implements the protocol.

    Its methods are first called once in plain Python. Then it is run with every kind of memory (full, if it plans), in
    a deterministic and a stochastic world, in a fused run and step by step. It must choose valid actions, keep all
    values finite, give the same results with the same seed and in both kinds of run, and continue exactly from a saved
    file.
    """
    cls = explorer_class(explorer)
    name = explorer_name(cls)
    own = check_in_python(cls, name, {"steps": steps, **options}).own
    memories = _MEMORIES[:1] if own is not None and own.plans else _MEMORIES
    for world in (make_world("prison"), make_world("noisy-toy")):
        for replay in memories:
            where = f"explorer {name!r} in {world.name!r} with {replay.memory} memory"
            try:
                _check_run(cls, world, where, {"replay": replay, "steps": steps, **options})
            except WanderlustError:
                raise
            except Exception as error:
                raise InvalidExplorer(f"{where} failed with {type(error).__name__}: {error}") from error


def check_in_python(cls: type, name: str, changes: dict[str, Any]) -> ExtraTables:
    """Call every method without compiling it, in an unvisited state and in a visited one; return its tables.

    A misspelt name is then reported by Python; numba would report it as a type error in a long trace.
    """
    world, preset = make_world("prison"), changes.pop("preset", "as_written")
    settings, options = resolve(world, cls, preset, changes)
    problem = settings.problem(world.n_actions, world.reward_range)
    compilable = configured(cls, problem, options)
    spec, noise = make_spec(compilable, problem, settings)
    learner = new_learner(spec, InitialValues(spec, noise, 0), 0)
    in_python = InPython()
    explorer = in_python(cls)._make(compilable)
    for state, visits in ((1, 0), (2, 1)):
        learner.visits[state * spec.n_actions : (state + 1) * spec.n_actions] = visits
        view, n = in_python(view_of)(state, learner, spec), np.int64(visits + 1)
        model, pair = in_python(Model)(learner, spec), state * spec.n_actions
        own_methods = (
            ("learn_tables", model, Transition(state, 0, pair, 0.0, state), learner.streams),
            ("plan_episode", model, learner.streams),
            ("backup", model, pair),
        )
        for method, *arguments in (
            *(own_methods if spec.n_own else ()),
            ("begin_episode", learner.notes, learner.streams),
            ("score", view, learner.scores),
            ("choose", view, learner.scores, learner.streams),
            ("bonus", n),
            ("visitation_reward", n, n * spec.n_actions, n),
            ("terminal_visitation_reward", n, n * spec.n_actions, n),
        ):
            try:
                with np.errstate(all="ignore"):
                    result = getattr(explorer, method)(*arguments)
            except _PYTHON_ONLY_ERRORS:
                continue
            except Exception as error:
                raise InvalidExplorer(f"explorer {name!r}: {method} failed: {python_reason(error, cls)}") from error
            if method == "choose" and (isinstance(result, bool) or not isinstance(result, int | np.integer)):
                raise InvalidExplorer(f"explorer {name!r}: choose must return an action, an integer, got {result!r}.")
    tables: ExtraTables = compilable.extra_tables()
    return tables


class InPython:
    """Returns copies of functions, classes and modules that call no compiled function, but its Python source.

    Python cannot call the compiled functions that numba inlines into their callers, such as those behind `view.total`.
    """

    def __init__(self) -> None:
        self._copies: dict[int, Any] = {}

    def __call__(self, value: Any) -> Any:
        """Return the copy of a value; the value itself if it needs none."""
        value = getattr(value, "py_func", value)
        module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if not isinstance(module, str) or module.partition(".")[0] in _LIBRARIES:
            return value
        if id(value) not in self._copies:
            if isinstance(value, ModuleType):
                self._copies[id(value)] = _ModuleInPython(value, self)
            elif isinstance(value, FunctionType):
                self._copy_function(value)
            elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
                self._copies[id(value)] = copy = type(value.__name__, (value,), {"__slots__": ()})
                for name, method in methods_of(value).items():
                    setattr(copy, name, self(method))
            else:
                return value
        return self._copies[id(value)]

    def _copy_function(self, function: FunctionType) -> None:
        namespace = self._copies.setdefault(id(function.__globals__), _Globals(function.__globals__, self))
        cells = [CellType() for _ in function.__closure__ or ()]
        copy = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__, tuple(cells))
        copy.__kwdefaults__ = function.__kwdefaults__
        self._copies[id(function)] = copy  # Before its closure is copied, which may contain the function itself.
        for cell, original in zip(cells, function.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):  # An empty cell.
                cell.cell_contents = self(original.cell_contents)


class _Globals(dict[str, Any]):
    """The global names of a module, copied when a function first uses them."""

    def __init__(self, original: dict[str, Any], in_python: InPython) -> None:
        self._original, self._in_python = original, in_python

    def __missing__(self, name: str) -> Any:
        return self._in_python(self._original[name])


class _ModuleInPython:
    """A module whose attributes are copied when they are read."""

    def __init__(self, module: ModuleType, in_python: InPython) -> None:
        self._module, self._in_python = module, in_python

    def __getattr__(self, name: str) -> Any:
        return self._in_python(getattr(self._module, name))


def _check_run(cls: type, world: World, where: str, changes: dict[str, Any]) -> None:
    """Check one run, first step by step: only there is an action checked before it is taken."""
    agent, actions = run_agent(world, cls, seed=3, **changes)
    fused = train(world, cls, seed=3, keep_trajectory=True, **changes)
    for table, values in fused.tables.items():
        if not np.isfinite(values).all():
            raise InvalidExplorer(f"{where}: table {table!r} has values that are not finite.")
    again = train(world, cls, seed=3, keep_trajectory=True, **changes)
    _check_same(fused.actions, again.actions, f"{where} chooses different actions in two runs with the same seed")
    _check_same(fused.actions, actions, f"{where} chooses different actions step by step and in a fused run")
    for table, values in agent.tables.items():
        _check_same(fused.tables[table], values, f"{where}: table {table!r} differs step by step and in a fused run")
    with tempfile.TemporaryDirectory() as folder:
        agent.save(Path(folder) / "agent")
        loaded = Agent.load(Path(folder) / "agent", explorer=cls)
    for state in range(world.n_states):
        scores = [reason.score for reason in agent.explain(state).actions]
        if not np.isfinite(scores).all():
            raise InvalidExplorer(f"{where}: scores {scores} of state {state} are not all finite.")
        _check_same(agent.act(state), loaded.act(state), f"{where} chooses another action after saving and loading")


def _check_same(one: Any, other: Any, message: str) -> None:
    if not np.array_equal(one, other):
        raise InvalidExplorer(f"{message}. Store its state in `notes`, and draw random numbers only from `random`.")


def run_agent(world: World, explorer: str | type, *, seed: int, **changes: Any) -> tuple[Agent, Any]:
    """Run an agent in a world step by step, as `train` does in a fused run; return it and its actions."""
    agent = Agent.for_world(world, explorer, seed=seed, **changes)
    steps = agent.settings.run_length
    simulator = agent.simulate(world)
    state, t, actions = simulator.reset(), 0, np.zeros(steps, action_dtype(world.n_actions))
    for i in range(steps):
        action = agent.act(state)
        next_state, reward, terminated = simulator.step(state, action)
        t += 1
        truncated = not terminated and t == agent.settings.horizon
        agent.observe(state, action, reward, next_state, terminated, truncated)
        actions[i] = action
        state, t = (simulator.reset(), 0) if terminated or truncated else (next_state, t)
    return agent, actions
