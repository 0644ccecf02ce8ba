"""Stable-Baselines3's DQN with an explorer that chooses the actions.

from wanderlust.integrations.stable_baselines3 import VisitationDQN
model = VisitationDQN("MlpPolicy", "FrozenLake-v1", explorer="vv-ucb", seed=0).learn(20_000)

Networks, replay buffer and loss are those of DQN: only the actions of training are chosen by Q + κU instead of
ε-greedily. `VisitationMixin` does the same for other algorithms with Q-values; see
`wanderlust.integrations.sb3_contrib`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from wanderlust.core.errors import MissingPackage, check_instance
from wanderlust.environments.bins import Bounds, Counts
from wanderlust.environments.encoding import Key
from wanderlust.environments.vector import entry_of
from wanderlust.training.drop_in import Explorer

try:
    import torch
    from stable_baselines3 import DQN
    from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
    from stable_baselines3.common.vec_env import VecEnvWrapper
except ImportError as error:
    raise MissingPackage("VisitationDQN needs Stable-Baselines3: pip install 'wanderlust[sb3]'.") from error


_ORIGINAL = "original_terminal_observation"


class VisitationMixin(OffPolicyAlgorithm):
    """An off-policy algorithm of Stable-Baselines3 whose actions during training are those of an explorer.

    The state key is computed from the observation before `VecNormalize`; images have their channels first, as for the
    policy. The scale of exploration follows the rewards that Q learns from. `greedy_episodes` is the share of episodes
    that exploit once a positive reward was received; see `wl.Explorer`.
    """

    visitation: Explorer
    """The explorer; `model.visitation.repeat_rate` and `.values(observation)` show what it has learnt."""

    def __init__(
        self,
        *args: Any,
        explorer: str | type = "vv-ucb",
        key: Key | None = None,
        bins: Counts | None = None,
        bounds: Bounds | None = None,
        greedy_episodes: float = 0.5,
        explorer_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Create the algorithm; `explorer_kwargs` are further arguments of `wl.Explorer`, such as `kappa`."""
        self._explorer_arguments = {
            "explorer": explorer,
            "key": key,
            "bins": bins,
            "bounds": bounds,
            "greedy_episodes": greedy_episodes,
            **(explorer_kwargs or {}),
        }
        super().__init__(*args, **kwargs)

    def q_values(self, observation: Any) -> Any:
        """Return Q of every action, [environment, action]."""
        raise NotImplementedError(f"{type(self).__name__} needs the method q_values(observation).")

    def _setup_model(self) -> None:
        super()._setup_model()
        if not hasattr(self, "visitation"):  # A loaded model has it.
            seed = int(np.random.default_rng().integers(2**31)) if self.seed is None else self.seed
            # The reach of W is that of Q.
            defaults = {"discount": self.gamma, "gamma_w": self.gamma, "seed": seed}
            self.visitation = Explorer(
                observation_space=self.observation_space,
                n_actions=int(check_instance("action_space", self.action_space, Discrete).n),
                **(defaults | self._explorer_arguments),
            )

    def _setup_learn(self, *args: Any, **kwargs: Any) -> Any:
        before = self._last_obs
        result = super()._setup_learn(*args, **kwargs)
        if self._last_obs is not before:  # The environments were reset.
            self.visitation.reset()
        normalize = self._vec_normalize_env
        if normalize is not None and not isinstance(normalize.venv, _LastObservations):
            normalize.venv = _LastObservations(normalize.venv)
        return result

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        self.policy.set_training_mode(False)
        with torch.no_grad():
            q = self.q_values(self.policy.obs_to_tensor(self._last_obs)[0]).cpu().numpy()
        observations = self._last_obs if self._vec_normalize_env is None else self._last_original_obs
        if len(q) == 1:  # Single values are checked sooner than arrays.
            actions = np.array([self.visitation.act(entry_of(observations, 0), q[0])])
        else:
            actions = self.visitation.act(observations, q)
        return actions, actions

    def _store_transition(
        self, replay_buffer: Any, buffer_action: Any, new_obs: Any, reward: Any, dones: Any, infos: Any
    ) -> None:
        super()._store_transition(
            _Recorder(replay_buffer, self.visitation, reward, infos), buffer_action, new_obs, reward, dones, infos
        )

    def _on_step(self) -> None:
        super()._on_step()
        self.logger.record("explorer/repeat_rate", self.visitation.repeat_rate)
        self.logger.record("explorer/states", self.visitation.n_states)


class _LastObservations(VecEnvWrapper):
    """Environments below `VecNormalize`; keeps the last observation of an episode as it is before normalization."""

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        step = self.venv.step_wait()
        for info in step[3]:
            if "terminal_observation" in info:
                info[_ORIGINAL] = info["terminal_observation"]
        return step


class _Recorder:
    """A replay buffer that shows each transition to the explorer: observations are the original ones, episodes end."""

    def __init__(self, buffer: Any, explorer: Explorer, rewards: Any, infos: Any) -> None:
        self.buffer, self.explorer, self.rewards, self.infos = buffer, explorer, rewards, infos

    def add(self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: Any) -> None:
        truncated = [bool(info.get("TimeLimit.truncated", False)) for info in infos]
        following = [info[_ORIGINAL] if _ORIGINAL in info else entry_of(next_obs, i) for i, info in enumerate(infos)]
        if len(infos) == 1:
            step = action.item(), following[0], bool(done[0]) and not truncated[0], truncated[0]
            self.explorer.observe(entry_of(obs, 0), *step, self.rewards.item())
        else:
            self.explorer.observe(obs, action.ravel(), following, done & ~np.array(truncated), truncated, self.rewards)
        self.buffer.add(obs, next_obs, action, reward, done, infos)


class VisitationDQN(VisitationMixin, DQN):
    """DQN that acts by Q + κU."""

    def q_values(self, observation: Any) -> Any:
        """Return Q of every action, [environment, action]."""
        return self.q_net(observation)
