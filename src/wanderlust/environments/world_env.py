"""A world as a Gymnasium environment.

The observation is the state index. The reward is received for acting in a state, and a step that acts in a terminal
state terminates the episode (see `wanderlust.core.mdp`). The observation after termination has no meaning.

`info` contains the position of the agent (`row` and `column`, counted from 0, and `layer`, such as "bomb", if the
world has several layers) and the probability of the outcome, `prob`.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.wrappers import TimeLimit
from numpy.typing import NDArray

from wanderlust.core.errors import InvalidMap, InvalidObservation, InvalidSetting, check_choice
from wanderlust.environments import WORLD_HORIZON
from wanderlust.worlds import Layout, World, make_world
from wanderlust.worlds.drawing import display_layout, text_map
from wanderlust.worlds.grid import MAP_SUFFIXES
from wanderlust.worlds.raster import Renderer
from wanderlust.worlds.registry import GRID_ID

Transitions = dict[int, dict[int, list[tuple[float, int, float, bool]]]]


class WorldEnv(gymnasium.Env[Any, Any]):
    """The environment of any world, given by its name and options or as a `World`."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 8}  # type: ignore[misc]

    def __init__(self, world: World | str | Path, *, render_mode: str | None = None, **options: Any) -> None:
        if isinstance(world, World) and options:
            raise InvalidSetting(f"options are only for a world given by its name, got {', '.join(options)}.")
        self.world = world if isinstance(world, World) else make_world(world, **options)
        if render_mode is not None:
            check_choice("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.observation_space = Discrete(self.world.n_states)
        self.action_space = Discrete(self.world.n_actions)
        self.visits: NDArray[np.int64] = np.zeros(self.world.n_states, dtype=np.int64)
        """[state]: the number of actions taken in each state, over all episodes."""
        self._n_steps = 0
        self._state: int | None = None
        self._shown_state = 0
        self._caption = ""
        self._episode_steps = 0
        self._episode_return = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Start an episode in a state drawn from the start distribution; there are no options."""
        super().reset(seed=seed)
        if options:
            raise InvalidSetting(f"reset takes no options, got {', '.join(map(repr, options))}.")
        mdp = self.world.dynamics(self._n_steps)
        starts = np.flatnonzero(mdp.start)
        self._state = state = int(starts[self._sample(mdp.start[starts])])
        self._episode_steps, self._episode_return = 0, 0.0
        self._shown_state, self._caption = state, "start"
        return state, self._info(state, float(mdp.start[state]))

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take an action; episodes are truncated by the `TimeLimit` wrapper that `gymnasium.make` adds."""
        state, mdp = self._state, self.world.dynamics(self._n_steps)
        if state is None:
            raise InvalidObservation("the episode has not started or is over: call reset() first.")
        if not self.action_space.contains(action):
            names = ", ".join(f"{i} {name}" for i, name in enumerate(self.world.action_names))
            raise InvalidObservation(f"there is no action {action!r}; valid are {names}.")
        outcome = (state, int(action), self._sample(mdp.probability[state, int(action)]))
        next_state, reward = int(mdp.next_state[outcome]), float(mdp.reward[outcome])
        terminated = bool(mdp.terminal[outcome])
        self.visits[state] += 1
        self._n_steps += 1
        self._state = None if terminated else next_state
        self._episode_steps += 1
        self._episode_return += reward
        # An episode terminates in the state acted in, so the agent is drawn there.
        self._shown_state = state if terminated else next_state
        self._caption = self.world.action_names[int(action)] + (", terminated" if terminated else "")
        return next_state, reward, terminated, False, self._info(next_state, float(mdp.probability[outcome]))

    def render(self) -> Any:
        """Return an image or text of the current state; with "human", `gymnasium.make` adds a window that shows it."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: 'rgb_array', 'ansi' or 'human'.")
            return None
        if self.render_mode == "ansi":
            return text_map(self._layout, self._shown_state) + f"\n{self._title}\n"
        return self._renderer.frame(self._shown_state, self.visits, self._title)

    @cached_property
    def P(self) -> Transitions:  # noqa: N802 (the name in Gymnasium's toy-text environments)
        """The dynamics: {state: {action: [(probability, next state, reward, terminated)]}}."""
        if self.world.later is not None:
            raise AttributeError(f"{self.world.name} has no table P: its dynamics change during the training.")
        mdp = self.world.mdp
        arrays = (mdp.probability, mdp.next_state, mdp.reward, mdp.terminal)
        columns = zip(*(array.tolist() for array in arrays), strict=True)
        return {
            state: {
                action: [outcome for outcome in zip(*of_action, strict=True) if outcome[0] > 0]
                for action, of_action in enumerate(zip(*of_state, strict=True))
            }
            for state, of_state in enumerate(columns)
        }

    @cached_property
    def _layout(self) -> Layout:
        return display_layout(self.world)

    @cached_property
    def _renderer(self) -> Renderer:
        return Renderer(self._layout)

    @property
    def _title(self) -> str:
        layer = self._layout.layer_names[self._layout.layer[self._shown_state]]
        name = f"{self.world.name}, {layer}" if layer else self.world.name
        return f"{name}   step {self._episode_steps} ({self._caption})   return {self._episode_return:.6g}"

    def _sample(self, probabilities: NDArray[np.float64]) -> int:
        """Return a random index with these probabilities; a certain outcome uses no random number."""
        if probabilities[0] == 1.0:
            return 0
        return int(self.np_random.choice(len(probabilities), p=probabilities))

    def _info(self, state: int, probability: float) -> dict[str, Any]:
        info: dict[str, Any] = {"prob": probability}
        layout = self.world.layout
        if layout is not None:
            info |= {"row": int(layout.row[state]), "column": int(layout.column[state])}
            if layout.n_layers > 1:
                info["layer"] = layout.layer_names[layout.layer[state]]
        return info


class GridEnv(WorldEnv):
    """The environment of a text map; docs/maps.md describes the format."""

    def __init__(self, map: str | Path | None = None, *, render_mode: str | None = None, **options: Any) -> None:
        if not isinstance(map, str | Path) or not ("\n" in str(map) or str(map).endswith(MAP_SUFFIXES)):
            raise InvalidMap(
                f"{GRID_ID} needs map=, a text map such as 'S.A\\n\\nA = treasure 1\\n' "
                f"or the path of a .txt file, got {map!r}."
            )
        super().__init__(map, render_mode=render_mode, **options)


def apply_world_horizon(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """Return the environment with its world's horizon as the time limit, unless the user set another one.

    The horizon depends on options such as the depth of deep sea, which `gymnasium.make` does not evaluate. It
    therefore adds a time limit with a placeholder value, which this function replaces.
    """
    spec = env.spec
    if spec is None or spec.max_episode_steps != WORLD_HORIZON or not isinstance(env, TimeLimit):
        return env
    inner = env.unwrapped
    assert isinstance(inner, WorldEnv)
    return TimeLimit(env.env, inner.world.defaults.horizon)
