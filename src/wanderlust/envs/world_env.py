"""A world as a Gymnasium environment.

The observation is the number of the state. The reward is paid for acting in a state, and the step that acts in a
terminal state is the one that ends the episode (see `wanderlust.core.mdp`); what is observed after it is the next state of
that transition, which means nothing, as everywhere in Gymnasium.

`info` tells where the agent is (`row` and `column`, counted from 0, and `layer`, such as "bomb", where a world has
several) and `prob`, how probable the outcome was.
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
from wanderlust.envs.registration import GRID_ID, HORIZON_OF_THE_WORLD
from wanderlust.envs.rendering import Picture
from wanderlust.envs.window import Window
from wanderlust.worlds import Layout, World, make_world
from wanderlust.worlds.drawing import display_layout, text_map

Transitions = dict[int, dict[int, list[tuple[float, int, float, bool]]]]


class WorldEnv(gymnasium.Env[Any, Any]):
    """Any world, to act in step by step: one by name with its options, or a `World` of your own."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 8}  # type: ignore[misc]

    def __init__(self, world: World | str | Path, *, render_mode: str | None = None, **options: Any) -> None:
        if isinstance(world, World) and options:
            raise InvalidSetting(f"options are for a world that is given by its name, got {', '.join(options)}.")
        self.world = world if isinstance(world, World) else make_world(world, **options)
        if render_mode is not None:
            check_choice("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.observation_space = Discrete(self.world.n_states)
        self.action_space = Discrete(self.world.n_actions)
        self.visits: NDArray[np.int64] = np.zeros(self.world.n_states, dtype=np.int64)
        """[state]: how often an action was taken in each, in all episodes."""
        self._starts = np.flatnonzero(self.world.mdp.start)
        self._state: int | None = None
        self._shown = 0
        self._caption = ""
        self._episode_steps = 0
        self._episode_return = 0.0
        self._window = Window(self.world.name, self.metadata["render_fps"]) if render_mode == "human" else None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Begin an episode where the world begins its episodes; there are no options."""
        super().reset(seed=seed)
        if options:
            raise InvalidSetting(f"reset takes no options, got {', '.join(map(repr, options))}.")
        starts, mdp = self._starts, self.world.mdp
        self._state = state = int(starts[self._draw(mdp.start[starts])])
        self._episode_steps, self._episode_return = 0, 0.0
        self._show(state, "start")
        return state, self._info(state, float(mdp.start[state]))

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take an action; the world's horizon is the business of the `TimeLimit` that `gymnasium.make` puts around."""
        state, mdp = self._state, self.world.mdp
        if state is None:
            raise InvalidObservation("no episode is under way: call reset() first, and again after each end.")
        if not self.action_space.contains(action):
            names = ", ".join(f"{i} {name}" for i, name in enumerate(self.world.action_names))
            raise InvalidObservation(f"there is no action {action!r}; valid are {names}.")
        outcome = (state, int(action), self._draw(mdp.probability[state, int(action)]))
        following, reward, over = int(mdp.next_state[outcome]), float(mdp.reward[outcome]), bool(mdp.terminal[outcome])
        self.visits[state] += 1
        self._state = None if over else following
        self._episode_steps += 1
        self._episode_return += reward
        # An episode ends in the state acted in: that is where the agent is to be seen.
        self._show(state if over else following, self.world.action_names[int(action)] + (", the end" if over else ""))
        return following, reward, over, False, self._info(following, float(mdp.probability[outcome]))

    def render(self) -> Any:
        """Return the picture or the text of the present, or show it, as `render_mode` says."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() without a render_mode does nothing; make the environment with "
                "render_mode='rgb_array', 'ansi' or 'human'."
            )
            return None
        if self.render_mode == "ansi":
            return text_map(self._sheet, self._shown) + f"\n{self._title}\n"
        frame = self._picture.frame(self._shown, self.visits, self._title)
        if self._window is None:
            return frame
        self._window.show(frame)
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()

    @cached_property
    def P(self) -> Transitions:  # noqa: N802 (as Gymnasium's own tabular environments call it)
        """The dynamics: {state: {action: [(probability, next state, reward, terminated)]}}."""
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
    def _sheet(self) -> Layout:
        return display_layout(self.world)

    @cached_property
    def _picture(self) -> Picture:
        return Picture(self._sheet)

    @property
    def _title(self) -> str:
        layer = self._sheet.layer_names[self._sheet.layer[self._shown]]
        name = f"{self.world.name}, {layer}" if layer else self.world.name
        return f"{name}   step {self._episode_steps} ({self._caption})   return {self._episode_return:.6g}"

    def _draw(self, chances: NDArray[np.float64]) -> int:
        """Draw which of several things happens; what is sure takes no random number."""
        if chances[0] == 1.0:
            return 0
        return int(self.np_random.choice(len(chances), p=chances))

    def _info(self, state: int, probability: float) -> dict[str, Any]:
        info: dict[str, Any] = {"prob": probability}
        layout = self.world.layout
        if layout is not None:
            info |= {"row": int(layout.row[state]), "column": int(layout.column[state])}
            if layout.n_layers > 1:
                info["layer"] = layout.layer_names[layout.layer[state]]
        return info

    def _show(self, state: int, caption: str) -> None:
        self._shown, self._caption = state, caption
        if self.render_mode == "human":
            self.render()


class GridEnv(WorldEnv):
    """A world drawn as a text map; docs/maps.md teaches the format."""

    def __init__(self, map: str | Path | None = None, *, render_mode: str | None = None, **options: Any) -> None:
        if not isinstance(map, str | Path) or not ("\n" in str(map) or str(map).endswith((".txt", ".toml"))):
            raise InvalidMap(
                f"{GRID_ID} needs map=, a text map such as 'S.A\\n\\nA = treasure 1\\n' "
                f"or the path of a .txt or .toml file, got {map!r}."
            )
        super().__init__(map, render_mode=render_mode, **options)


def within_horizon(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """Return the environment as `gymnasium.make` made it, cut off at its world's horizon unless told otherwise.

    The horizon depends on options such as the depth of the sea, of which `gymnasium.make` knows nothing. It puts a
    placeholder's limit around the environment if the user gave none, and that one is replaced here.
    """
    made_as = env.spec
    if made_as is None or made_as.max_episode_steps != HORIZON_OF_THE_WORLD or not isinstance(env, TimeLimit):
        return env
    inner = env.unwrapped
    assert isinstance(inner, WorldEnv)
    return TimeLimit(env.env, inner.world.defaults.horizon)
