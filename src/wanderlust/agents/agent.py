"""An agent that is driven step by step, in any environment whose states are integers.

    agent = Agent("vv-ucb", n_actions=4, reward_range=(0, 1), seed=1)
    action = agent.act(state)
    agent.observe(state, action, reward, next_state, terminated, truncated)

It uses the same functions as `train`: with the same seed and world, both give the same results, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import Env

from wanderlust._numba.jit import by_pointer
from wanderlust.agents import file, presentation
from wanderlust.agents.compiled_steps import rollout_return
from wanderlust.agents.explanation import Explanation, explain
from wanderlust.agents.history import Curves, History
from wanderlust.agents.settings import Settings, resolve, split_changes
from wanderlust.agents.simulation import Simulator, start_distribution
from wanderlust.agents.step_learner import StepLearner
from wanderlust.core.errors import InvalidWorld, check_flag, shown
from wanderlust.core.files import check_path
from wanderlust.environments.encoding import Encoding
from wanderlust.learning.spec import TARGET, Floats
from wanderlust.learning.state import TERMINAL
from wanderlust.worlds import World, as_world, check_world
from wanderlust.worlds.base import Layout

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Agent(StepLearner):
    """Q-learning with an explorer: chooses actions, learns from transitions, explains its choices.

    States are integers from 0; without `n_states` there may be any number of them. `changes` are settings (see
    `Settings`), such as `discount`, and options of the explorer. `settings` gives all settings at once.
    """

    def __init__(
        self,
        explorer: str | type,
        *,
        n_actions: int,
        reward_range: tuple[float, float],
        n_states: int | None = None,
        seed: int = 0,
        settings: Settings | None = None,
        learns_q: bool = True,
        fields: Mapping[str, float] | None = None,
        **changes: Any,
    ) -> None:
        settings, options = split_changes(explorer, changes, settings)
        super().__init__(
            explorer,
            n_actions=n_actions,
            reward_range=reward_range,
            n_states=n_states,
            seed=seed,
            settings=settings,
            learns_q=learns_q,
            options=options,
            fields=fields,
        )
        self.env: Any = None
        """The environment in which `learn` trained this agent; None if it was not trained by `learn`, or was loaded."""
        self.environment: dict[str, Any] | None = None
        """The name and the options of that environment, which are saved with the agent."""
        self.encoding: Encoding | None = None
        """How observations and actions of that environment are encoded; None if states and actions are integers."""
        self.preset: str | None = None
        """The preset with which `learn` trained this agent; None if it was not trained by `learn`."""
        self.curves: Curves | None = None
        """The curves of its training, which `history` returns as arrays."""
        self.layout: Layout | None = None
        """The map of that environment or world, for `plot`; None if there is none."""
        self.action_names: tuple[str, ...] | None = None
        """The names of the actions, if they are known."""

    @classmethod
    def for_world(
        cls, world: World | str, explorer: str | type, *, seed: int = 0, preset: str = "as_written", **changes: Any
    ) -> Agent:
        """Return an agent with the paper's settings for a world, but for the changes given."""
        world = as_world(world)
        settings, options = resolve(world, explorer, preset, changes)
        agent = cls(
            explorer,
            n_actions=world.n_actions,
            n_states=world.n_states,
            reward_range=world.reward_range,
            seed=seed,
            settings=settings,
            **options,
        )
        agent.layout, agent.action_names = world.layout, world.action_names
        return agent

    @property
    def history(self) -> History | None:
        """How the training by `learn` or `train` went, in the fields of a `Record`; None for other agents."""
        return None if self.curves is None else self.curves.history(self.visits)

    def predict(
        self,
        observation: Any,
        *,
        explore: bool = False,
        env: Env[Any, Any] | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the action for an observation of the environment, in the form that the environment takes.

        It is the greedy action of the target policy; of several, the first. In a state that was never visited it is the
        first action: `knows` tells. With `explore=True` it is the explorer's choice, as `act` returns it. `env` or
        `info` are needed if the state key comes from them instead of the observation.
        """
        if self.encoding is None:
            state = self._checked_state(observation, "observation")
            return self.act(state) if explore else self.greedy_action(state)
        key = self.encoding.key(observation, info, env)
        if check_flag("explore", explore):
            return self.encoding.actions.decode(self.act(self.encoding.keys.add(key)))
        state = self.encoding.keys.find(key)
        return self.encoding.actions.decode(self.greedy_action(state) if self._has_visited(state) else 0)

    def knows(
        self, observation: Any, *, env: Env[Any, Any] | None = None, info: Mapping[str, Any] | None = None
    ) -> bool:
        """Return whether the agent has been in the state of an observation; the parameters are those of `predict`."""
        if self.encoding is None:
            return self._has_visited(self._checked_state(observation, "observation"))
        return self._has_visited(self.encoding.keys.find(self.encoding.key(observation, info, env)))

    def _has_visited(self, state: int) -> bool:
        return state < len(self._state_index) and bool(self._state_index[state] != TERMINAL)

    def greedy_action(self, state: int) -> int:
        """Return the greedy action of the target policy; of several, the first."""
        return int(np.argmax(self.action_values(state)))

    def action_values(self, state: int) -> Floats:
        """Return the target table's Q-values of a state."""
        known = self._checked_state(state, "state")  # This may extend the index.
        first = self._state_index[known] * self.n_actions
        return self.learner.values[TARGET, first : first + self.n_actions].copy()

    def explain(self, state: int) -> Explanation:
        """Return the explorer's choice in a state and its reasons; the agent is not changed."""
        known = self._checked_state(state, "state")
        index = int(self._state_index[known])
        return explain(self._hooks, index, known, self.learner, self.spec, self.action_names or ())

    def plot(self, what: str = "W", *, world: World | str | None = None) -> Figure:
        """Return a matplotlib figure of "W", "Q", "behaviour" (its Q-table) or "visits" on the map of the world.

        Each cell has a triangle for each of the actions left, right, up and down; arrows show the best actions.
        `world` gives the map of an agent that has none, such as one that was trained in a user-defined loop.
        """
        return presentation.plot_agent(self, what, world)

    def __str__(self) -> str:
        return presentation.agent_text(self)

    def __repr__(self) -> str:
        return f"<{str(self).splitlines()[0]}>"

    def _repr_html_(self) -> str:
        return presentation.agent_html(self)

    def evaluate(self, world: World) -> float:
        """Return the greedy policy's discounted return in a deterministic world, ties broken at random."""
        if isinstance(world, World):
            check_world(world, start_can_be_left=False)
        if not (isinstance(world, World) and world.mdp.deterministic and world.n_actions == self.n_actions):
            what = shown(world.name if isinstance(world, World) else world)
            raise InvalidWorld(f"evaluate needs a deterministic World with {self.n_actions} actions, got {what}.")
        starts, probabilities = start_distribution(world.mdp)
        state_index = np.zeros(max(len(self._state_index), world.n_states), np.int32)
        state_index[: len(self._state_index)] = self._state_index
        horizon, discount = self.settings.rollout_length, self.settings.discount
        mdp = by_pointer(world.mdp)
        return float(
            rollout_return(self._learner, self._spec, mdp, starts, probabilities, state_index, horizon, discount)
        )

    def simulate(self, world: World | str) -> Simulator:
        """Return a simulator of the world that uses this agent's random stream."""
        return Simulator(as_world(world).mdp, self.learner.streams)

    def save(self, path: str | Path) -> None:
        """Write the agent to a file; `load` continues exactly where it was."""
        file.save(self, check_path("path", path))

    @classmethod
    def load(cls, path: str | Path, *, explorer: type | None = None, key: Callable[..., Any] | None = None) -> Agent:
        """Read an agent from a file. Files contain no code: a user-defined explorer class or key function is given."""
        return file.load_all(cls, check_path("path", path), explorer, key)[0]
