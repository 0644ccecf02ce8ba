"""An explorer for your own Q-learning loop: it keeps the visit counts and W, you keep Q, as a table or as a network.

w = wl.Explorer("vv-ucb", observation_space=env.observation_space, n_actions=7, key="hash", seed=0)
action = w.act(observation, q=q_values)
w.observe(observation, action, next_observation, terminated, truncated, reward=reward)

W is a table over a key of the observation: `key="hash"` is its content, `wl.keys` has coarser ones. Nothing is added to
the reward. With several environments side by side, observations, `q`, actions, rewards and flags are arrays with a row
for each. Without `observation_space`, states are integers.

The cost of a step and the memory are bounded: a sweep updates at most `sweep_pairs` pairs, and at `max_states` states
the half that was visited least recently is forgotten, as if it had never been visited.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from gymnasium import Space
from gymnasium.spaces import Discrete
from numpy.typing import ArrayLike, NDArray

from wanderlust.agents import file
from wanderlust.agents.agent import Agent
from wanderlust.agents.masks import Mask, checked_mask, excluded_actions
from wanderlust.agents.presentation import Explanation
from wanderlust.agents.settings import MAX_ACTIONS, MAX_VALUE, Settings
from wanderlust.core.errors import (
    BadFile,
    InvalidExplorer,
    InvalidObservation,
    InvalidSetting,
    check_flag,
    check_index,
    check_instance,
    check_integer,
    check_number,
    counted,
    shown,
)
from wanderlust.core.files import check_path
from wanderlust.core.repeats import SELDOM, WINDOW, RepeatRate
from wanderlust.core.schema import checked
from wanderlust.environments.bins import Bounds, Counts
from wanderlust.environments.encoding import Encoding, Key, StateKeys
from wanderlust.environments.vector import batch_size, entry_of
from wanderlust.explorers.choice import bernoulli, greedy_action, random_action
from wanderlust.learning.td import EXCLUDED, NO_SIGNAL, TARGET, Floats
from wanderlust.training.adaptive import TaskEstimate, adapt, adapted_fields
from wanderlust.training.loop import checked_reward
from wanderlust.training.memory import FIRST_WARNING

SWEEP_PAIRS = 20_000
"""The default of `sweep_pairs` for observations: about 20 microseconds per step, and all pairs of most tasks."""
MAX_STATES = 100_000
GREEDY_EPSILON = 0.05
"""ε of greedy episodes."""
REPEATED = 0.5
"""The share of greedy episodes that begin by repeating the best one; in the others Q corrects its own mistakes."""
_DIGEST_BYTES = 16
_MAX_RECENT = 256
"""The number of observations whose states are remembered."""
_MAX_REPEATED = 10_000
"""The number of steps of an episode that greedy episodes repeat at most."""
_ABOUT = "drop_in"


_Value = Annotated[float, msgspec.Meta(ge=-MAX_VALUE, le=MAX_VALUE)]


class Episode(msgspec.Struct):
    """What was done in an episode of one environment, and its discounted return."""

    is_greedy: bool = False
    repeats: bool = False
    """Whether the episode is greedy and all its states so far are those of the best one."""
    states: list[int] = []
    actions: list[int] = []
    value: float = 0.0


class Progress(msgspec.Struct):
    """What an explorer has besides its agent; it is saved with it."""

    greedy_episodes: Annotated[float, msgspec.Meta(ge=0, le=1)]
    max_states: Annotated[int, msgspec.Meta(ge=2)]
    adapted: tuple[str, ...]
    """The explorer's fields that follow the observed rewards and outcomes."""
    rewards: tuple[_Value, _Value] | None
    """The smallest and the largest reward observed; None if there are none yet, or the range was given."""
    estimates_rewards: bool
    is_stochastic: bool = False
    has_reward: bool = False
    """Whether a positive reward was observed."""
    steps: Annotated[int, msgspec.Meta(ge=0, lt=2**62)] = 0
    episodes: list[Episode] = []
    """[environment]: its current episode."""
    best: Episode = msgspec.field(default_factory=Episode)
    """The episode with the largest return; without actions until a return was positive."""


class Explorer:
    """An explorer that receives the Q-values of the state in which it chooses an action."""

    def __init__(
        self,
        explorer: str | type,
        *,
        n_actions: int,
        reward_range: tuple[float, float] | None = None,
        n_states: int | None = None,
        observation_space: Space[Any] | None = None,
        key: Key | None = None,
        bins: Counts | None = None,
        bounds: Bounds | None = None,
        greedy_episodes: float = 0.0,
        max_states: int = MAX_STATES,
        seed: int = 0,
        **changes: Any,
    ) -> None:
        """Create the explorer; `changes` are settings (see `Settings`) and options of the explorer.

        Without `reward_range` the scale of exploration follows the rewards given to `observe`, as in `learn`, but r_max
        is at least 1 until a positive reward was observed. `key`, `bins` and `bounds` are those of `wl.tabular`.
        `greedy_episodes` is the share of episodes that exploit, once a positive reward was observed: a network needs
        many episodes that reach the goal, not one. Such an episode is ε-greedy for Q. Half of them first repeat the
        actions of the best episode with a positive return, as long as they meet the same states.
        """
        encoding = None
        if observation_space is not None and n_states is not None:
            raise InvalidSetting("n_states is the number of integer states; with observation_space give max_states.")
        if observation_space is not None:
            space = check_instance("observation_space", observation_space, Space)
            n_actions = check_integer("n_actions", n_actions, low=1, high=MAX_ACTIONS)
            encoding = Encoding.of(space, Discrete(n_actions), key=key, bins=bins, bounds=bounds)
            changes.setdefault("sweep_pairs", SWEEP_PAIRS)
        elif key is not None or bins is not None or bounds is not None:
            raise InvalidSetting("key, bins and bounds encode observations; give observation_space as well.")
        agent = Agent(
            explorer,
            n_actions=n_actions,
            reward_range=(0.0, 0.0) if reward_range is None else reward_range,
            n_states=n_states,
            seed=seed,
            learns_q=False,
            **changes,
        )
        tables = agent.configured_explorer.extra_tables()
        if tables.ensemble or tables.optimistic or (tables.own and tables.own.is_q):
            what = "an ensemble of Q-tables" if tables.ensemble else "an optimistic Q-table"
            raise InvalidExplorer(
                f"{agent.explorer!r} learns {what} itself, so it cannot use yours; use wanderlust.Agent, or an "
                "explorer such as 'vv-ucb'."
            )
        if encoding is not None and agent.settings.replay.memory == "window":
            raise InvalidSetting("replay='window' is not possible with observations; sweep_pairs limits the sweeps.")
        agent.encoding = encoding
        adapted = adapted_fields(explorer, tables, changes) if reward_range is None else ()
        progress = Progress(
            greedy_episodes=check_number("greedy_episodes", greedy_episodes, low=0, high=1),
            max_states=check_integer("max_states", max_states, low=2),
            adapted=tuple(name for name in adapted if name in ("kappa", "scale", "terminal_count")),
            rewards=None,
            estimates_rewards=reward_range is None,
        )
        self._connect(agent, progress, np.zeros(0, np.int64))

    def _connect(self, agent: Agent, progress: Progress, last_visits: NDArray[np.int64]) -> None:
        self._agent, self._progress, self._last_visits = agent, progress, last_visits
        self._repeats, self._n_discovered, self._warned = RepeatRate(step=agent.steps), 0, False
        self._has_masks = agent.steps > 0  # A loaded one may have them.
        self._recent: dict[Hashable, int] = {}

    def act(self, observation: Any, q: ArrayLike, *, mask: ArrayLike | None = None) -> Any:
        """Return the action for an observation whose Q-values are `q`, or an array of actions for several.

        With a `mask`, a boolean for each action, it is a valid one; Q-values of the others may be infinite.
        """
        valid = None if mask is None else self._checked_mask(mask)
        self._has_masks |= mask is not None
        values = self._checked_q(q, valid)
        if values.ndim == 1:
            return self._act(0, observation, values, valid)
        masks = [None] * len(values) if valid is None else valid
        rows = zip(_rows(observation, len(values)), values, masks, strict=True)
        return np.array([self._act(i, *row) for i, row in enumerate(rows)], np.int64)

    def observe(
        self,
        observation: Any,
        action: Any,
        next_observation: Any,
        terminated: Any,
        truncated: Any = False,
        reward: Any = None,
        *,
        valid: Any = True,
    ) -> None:
        """Count the visit and learn W from a transition, or from one of each environment.

        At the end of an episode `next_observation` is its last one, not the first of the next episode. The last step of
        an episode that the caller ends is truncated. `reward` only sets the scale of exploration. `valid` is False for
        an environment that was reset instead of making a transition.
        """
        given = observation, action, next_observation, terminated, truncated, reward
        if not (isinstance(terminated, list | tuple) or getattr(terminated, "ndim", 0) > 0):
            if check_flag("valid", valid):
                self._observe(0, *given)
            return
        rows = zip(*(_rows(each, len(terminated)) for each in (valid, *given)), strict=True)
        for environment, (flag, *step) in enumerate(rows):
            if check_flag("valid", flag):
                self._observe(environment, *step)

    def reset(self) -> None:
        """Begin new episodes: the caller has reset the environments before their episodes ended."""
        self._progress.episodes.clear()

    def values(self, observation: Any) -> Floats:
        """Return W of every action for an observation; the explorer must learn W."""
        agent = self._agent
        self._check_has_w()
        first = agent.index_of(self._state(observation, adds=False)) * agent.n_actions
        return agent.learner.values[agent.spec.visitation, first : first + agent.n_actions].copy()

    def bonus(self, observation: Any, action: int) -> float:
        """Return the bonus to add to the reward of the action just observed; 0 unless the explorer has one."""
        agent = self._agent
        action = check_index("action", action, agent.n_actions)
        index = agent.index_of(self._state(observation, adds=False))
        visits = int(agent.learner.visits[index * agent.n_actions + action])
        return float(agent.configured_explorer.bonus(visits)) if visits else 0.0

    def explain(self, observation: Any, q: ArrayLike) -> Explanation:
        """Return its choice for an observation with these Q-values, and the reasons; not that of a greedy episode."""
        state = self._state(observation, adds=False)
        self._set_q(state, self._checked_q(q, None, n_dimensions=(1,)))
        return self._agent.explain(state)

    def __repr__(self) -> str:
        steps, states = counted(self._agent.steps, "step"), counted(self.n_states, "state")
        return f"<Explorer {self._agent.explorer}, seed {self._agent.seed}: {steps}, {states} visited>"

    @property
    def settings(self) -> Settings:
        """Its settings."""
        return self._agent.settings

    @property
    def reward_range(self) -> tuple[float, float]:
        """The reward range from which the scale of exploration follows."""
        return self._agent.reward_range

    @property
    def n_states(self) -> int:
        """The number of distinct states visited."""
        return self._agent.discovered

    @property
    def repeat_rate(self) -> float:
        """The share of the latest 1,000 transitions whose state had been visited before; NaN if there are none."""
        return self._repeats.rate

    @property
    def visits(self) -> Any:
        """n(s, a), the visit counts: [state, action]; states of observations are in the order of their first visit."""
        return self._agent.visits[: self._n_indices]

    @property
    def visitation_values(self) -> Floats:
        """W, [state, action], of an explorer that learns it."""
        self._check_has_w()
        return self._agent.tables["visitation"][: self._n_indices]

    def save(self, path: str | Path) -> None:
        """Write the explorer with its states to a file; `load` continues exactly where it was."""
        about = {_ABOUT: msgspec.to_builtins(self._progress)}
        file.save(self._agent, check_path("path", path), about, {file.LAST_VISITS: self._last_visits})

    @classmethod
    def load(cls, path: str | Path, *, explorer: type | None = None, key: Callable[..., Any] | None = None) -> Explorer:
        """Read an explorer. Files contain no code: a user-defined explorer class or key function is given."""
        path = check_path("path", path)
        agent, about, arrays = file.load_all(Agent, path, explorer, key)
        if _ABOUT not in about or file.LAST_VISITS not in arrays:
            raise BadFile(f"{path}: this file holds an agent; read it with wanderlust.Agent.load.")
        progress = checked(f"{path}: {_ABOUT}", about[_ABOUT], Progress)
        names = adapted_fields(type(agent.configured_explorer), agent.configured_explorer.extra_tables())
        if not set(progress.adapted) <= set(names):
            raise BadFile(f"{path}: {agent.explorer!r} has no adapted fields {', '.join(progress.adapted)}.")
        for episode in (progress.best, *progress.episodes):
            if len(episode.actions) != len(episode.states) or not set(episode.actions) <= set(range(agent.n_actions)):
                raise BadFile(f"{path}: an episode has an action without a state or above {agent.n_actions - 1}.")
        agent.learner.counters.step = max(progress.steps, agent.steps)
        self = object.__new__(cls)
        self._connect(agent, progress, arrays[file.LAST_VISITS].copy())
        return self

    def _act(self, environment: int, observation: Any, q: Floats, mask: Mask | None) -> int:
        state = self._state(observation)
        if (self._n_indices or 0) >= self._progress.max_states:
            state, _ = self._with_room(state, state)
        self._set_q(state, q)
        agent, episode, best = self._agent, self._episode(environment), self._progress.best
        if not episode.is_greedy:
            return agent.act(state, mask)
        time = len(episode.actions)
        episode.repeats = episode.repeats and time < len(best.actions) and best.states[time] == int(state)
        if episode.repeats and (mask is None or mask[best.actions[time]]):
            return best.actions[time]
        streams, valid = agent.learner.streams, np.arange(agent.n_actions) if mask is None else np.flatnonzero(mask)
        is_random = bernoulli(streams, GREEDY_EPSILON)
        return int(valid[random_action(streams, len(valid)) if is_random else greedy_action(q[valid], streams)])

    def _observe(self, environment: int, *step: Any) -> None:
        observation, action, next_observation, terminated, truncated, reward = step
        terminated, truncated = check_flag("terminated", terminated), check_flag("truncated", truncated)
        state = self._state(observation)
        next_state = state if terminated else self._state(next_observation)
        state, next_state = self._with_room(state, next_state)
        agent, progress = self._agent, self._progress
        if reward is not None:
            self._follow(checked_reward(reward))
        n_discovered = agent.discovered
        agent.observe(state, action, 0.0, next_state, terminated, truncated)
        steps = progress.steps = agent.steps
        self._n_discovered += agent.discovered - n_discovered  # Forgotten states are counted again.
        self._repeats.add(steps, self._n_discovered)
        if not self._warned and steps >= FIRST_WARNING and self._repeats.steps == WINDOW:
            self._warn_of_states()
        if progress.greedy_episodes > 0.0:
            episode = self._episode(environment)
            if reward is not None:
                episode.value += agent.settings.discount ** len(episode.actions) * float(reward)
            if len(episode.actions) < _MAX_REPEATED:
                episode.states.append(int(state))
                episode.actions.append(int(action))
            if terminated or truncated:
                self._end_episode(environment)

    def _episode(self, environment: int) -> Episode:
        episodes = self._progress.episodes
        while len(episodes) <= environment:
            episodes.append(Episode())
        return episodes[environment]

    def _end_episode(self, environment: int) -> None:
        """Keep the episode if it is the best one, and decide whether the next one is greedy."""
        progress = self._progress
        if progress.episodes[environment].value > progress.best.value:
            progress.best = progress.episodes[environment]
        share = progress.greedy_episodes if progress.has_reward else 0.0
        streams = self._agent.learner.streams
        is_greedy = share > 0.0 and bool(bernoulli(streams, share))
        progress.episodes[environment] = Episode(is_greedy, repeats=is_greedy and bool(bernoulli(streams, REPEATED)))

    def _follow(self, reward: float) -> None:
        """Adapt the scale of exploration to the rewards observed, with the rules of `learn`."""
        progress, agent = self._progress, self._agent
        progress.has_reward |= reward > 0.0
        if not progress.estimates_rewards:
            return
        low, high = progress.rewards or (reward, reward)
        is_known = progress.rewards is not None and low <= reward <= high
        if is_known and agent.is_stochastic == progress.is_stochastic:
            return
        low, high = progress.rewards = min(low, reward), max(high, reward)
        progress.is_stochastic = agent.is_stochastic
        # Costs of about one size do not tell how large rewards are, and a network's outputs are noisy: r_max is 1.
        supposed = 1.0 if high <= 0.0 and high - low < 1.0 else high
        task = TaskEstimate((low, supposed), progress.is_stochastic, stage=0)
        adapt(agent, task, progress.adapted, binned=False)

    def _state(self, observation: Any, *, adds: bool = True) -> int:
        """Return the state of an observation; a new one has the next index, and is kept if `adds`."""
        encoding = self._agent.encoding
        if encoding is None:
            return observation  # type: ignore[no-any-return]
        key = encoding.key(observation)
        # An observation is the next one of a transition, then the one of an action, then that of the next transition.
        state = self._recent.get(key)
        if state is None:
            short: Hashable = key
            if type(key) is bytes and len(key) > _DIGEST_BYTES:
                short = hashlib.blake2b(key, digest_size=_DIGEST_BYTES).digest()
            if not adds:
                return encoding.keys.find(short)
            state = encoding.keys.add(short)
            if len(self._recent) >= _MAX_RECENT:
                self._recent.clear()
            self._recent[key] = state
        return state

    def _with_room(self, state: int, next_state: int) -> tuple[int, int]:
        """Record a visit of two states; at the maximum number of states, forget those visited least recently first."""
        encoding = self._agent.encoding
        if encoding is None or not isinstance(encoding.keys, StateKeys):
            return state, next_state
        keys = encoding.keys
        while len(self._last_visits) <= max(state, next_state):
            self._last_visits = np.concatenate([self._last_visits, np.full(len(self._last_visits) + 64, -1)])
        self._last_visits[state] = self._last_visits[next_state] = self._progress.steps
        if len(keys) < self._progress.max_states:
            return state, next_state
        latest = np.argsort(-self._last_visits[: len(keys)], kind="stable")[: self._progress.max_states // 2]
        kept = np.unique([*latest, state, next_state])
        self._agent.index_of(len(keys) - 1)  # The latest one may not be known to the agent.
        self._agent = file.without_states(self._agent, kept)
        left = StateKeys([keys.key_of(index) for index in kept], limit=keys.limit)
        self._agent.encoding = replace(encoding, keys=left)
        self._last_visits = self._last_visits[kept]
        self._recent.clear()
        self._progress.best = Episode()  # States have other indices now.
        for episode in self._progress.episodes:
            episode.value, episode.repeats = -math.inf, False
        return int(np.searchsorted(kept, state)), int(np.searchsorted(kept, next_state))

    def _warn_of_states(self) -> None:
        """Warn once if the state key is too fine or too coarse for W."""
        if self.repeat_rate < SELDOM:
            text = (
                f"states seldom repeat: {self.repeat_rate:.0%} of the latest {WINDOW:,} were visited before, so W "
                "cannot guide exploration. Use a coarser key: bins=, key=wl.keys.downscale(8, 8) for images, or "
                "key=wl.keys.rounded(step) for numbers."
            )
        elif self.n_states == 1 and self._agent.encoding is not None:
            text = "all observations are the same state, so W cannot guide exploration. Use a finer key."
        else:
            return
        self._warned = True
        warnings.warn(text, RuntimeWarning, stacklevel=4)

    @property
    def _n_indices(self) -> int | None:
        encoding = self._agent.encoding
        return None if encoding is None else len(encoding.keys)

    def _check_has_w(self) -> None:
        if self._agent.spec.visitation_signal == NO_SIGNAL:
            raise InvalidExplorer(f"{self._agent.explorer!r} does not learn visitation values.")

    def _checked_mask(self, mask: ArrayLike) -> Mask:
        n = self._agent.n_actions
        if isinstance(mask, np.ndarray | list | tuple) and np.ndim(mask) == 2:
            return np.array([checked_mask(row, n) for row in mask])
        return checked_mask(mask, n)

    def _checked_q(self, q: ArrayLike, valid: Mask | None, n_dimensions: Sequence[int] = (1, 2)) -> Floats:
        n = self._agent.n_actions
        if valid is None and type(q) is np.ndarray and q.dtype.kind == "f" and q.shape[-1:] == (n,):
            values = q.astype(np.float64)
            if values.ndim in n_dimensions and math.isfinite(sum(values.ravel().tolist())):
                return values
        try:
            given = np.asarray(q)
            values = given.astype(np.float64) if given.dtype.kind in "iuf" else np.zeros(0)
        except Exception:  # Any object can be given.
            values = np.zeros(0)
        fits = values.ndim in n_dimensions and values.shape[-1] == n and (valid is None or values.shape == valid.shape)
        if fits and valid is not None:
            values[~valid] = 0.0  # Those are often infinite.
        # The sum takes less time, but may overflow.
        if not fits or not (math.isfinite(sum(values.ravel().tolist())) or np.isfinite(values).all()):
            raise InvalidObservation(f"q must be {n} finite numbers, one for each action, got {shown(q)}.")
        return values

    def _set_q(self, state: int, q: Floats) -> None:
        agent = self._agent
        index = agent.index_of(state)
        first = index * agent.n_actions
        if self._has_masks:
            q = np.where(excluded_actions(index, agent.learner, agent.spec), -EXCLUDED, q)
        agent.learner.values[TARGET, first : first + agent.n_actions] = q


def _rows(given: Any, n: int) -> Any:
    """Return the values of each of `n` environments."""
    if given is None or isinstance(given, bool):
        return [given] * n
    if type(given) is np.ndarray and given.shape[:1] == (n,):
        return given.tolist() if given.ndim == 1 else given  # Python's numbers are checked sooner than NumPy's.
    try:
        size = batch_size(given)
    except Exception:  # Any object can be given.
        size = -1
    if size != n:
        raise InvalidObservation(f"there are {n} environments, but not {n} values in {shown(given)}.")
    return [entry_of(given, i) for i in range(n)]
