"""Ways to explore with the same DQN, for `benchmarks/deep_q.py`: W, ε-greedy, bonuses, an ensemble with priors.

Networks, replay buffer and the number of updates are the same, and so is the share of greedy episodes of all but W and
ε-greedy. Bonuses are added to the rewards in the buffer.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import torch
from sb3_contrib import QRDQN
from stable_baselines3 import DQN
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import nn

from wanderlust.integrations.sb3_contrib import VisitationQRDQN
from wanderlust.integrations.stable_baselines3 import VisitationDQN

EPSILON = {"exploration_fraction": 0.5, "exploration_final_eps": 0.05}
"""Of ε-greedy."""
LITTLE = {"epsilon_start": 0.05, "epsilon_end": 0.05}
"""Of the explorers that explore by a bonus."""


class CountBonusDQN(VisitationDQN):
    """DQN with the bonus β / √n(s, a), over the same state key as W."""

    explorer, options = "bonus", LITTLE

    def __init__(self, *args: Any, scale: float = 0.1, **kwargs: Any) -> None:
        self.scale = scale
        options = self.options | ({"scale": scale} if self.explorer == "bonus" else {})
        super().__init__(*args, explorer=self.explorer, explorer_kwargs=options, **kwargs)

    def bonus(self, observation: Any, action: int, following: Any) -> float:
        """Return the bonus of a transition that was just counted."""
        return self.visitation.bonus(observation, action)

    def _store_transition(
        self, replay_buffer: Any, buffer_action: Any, new_obs: Any, reward: Any, dones: Any, infos: Any
    ) -> None:
        super()._store_transition(BonusBuffer(replay_buffer, self), buffer_action, new_obs, reward, dones, infos)


class BonusBuffer:
    """A replay buffer that adds the bonus to the rewards, after the explorer has observed the transition."""

    def __init__(self, buffer: Any, model: CountBonusDQN) -> None:
        self.buffer, self.model = buffer, model

    def add(self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: Any) -> None:
        """Store a transition; a terminal one has its bonus divided by 1 - γ, as W has it."""
        bonus = self.model.bonus(obs[0], int(action[0]), next_obs[0])
        if done[0] and not infos[0].get("TimeLimit.truncated", False):
            bonus /= 1.0 - self.model.gamma
        self.buffer.add(obs, next_obs, action, reward + bonus, done, infos)


class RndDQN(CountBonusDQN):
    """DQN with random network distillation (Burda et al. 2019): β times the error of a predictor, in deviations."""

    explorer = "epsilon-greedy"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        n = int(np.prod(self.observation_space.shape))
        layers = [nn.Sequential(nn.Linear(n, 64), nn.ReLU(), nn.Linear(64, 32)) for _ in range(2)]
        self.fixed, self.predictor = layers
        self.optimizer = torch.optim.Adam(self.predictor.parameters(), lr=1e-3)
        self.n_errors, self.mean, self.squares = 0, 0.0, 0.0

    def bonus(self, observation: Any, action: int, following: Any) -> float:
        """Train the predictor on the next observation, and return its error before."""
        batch = torch.as_tensor(np.asarray(following, np.float32).reshape(1, -1))
        error = ((self.predictor(batch) - self.fixed(batch).detach()) ** 2).mean()
        self.optimizer.zero_grad()
        error.backward()
        self.optimizer.step()
        value = float(error.detach())
        self.n_errors += 1
        change = value - self.mean
        self.mean += change / self.n_errors
        self.squares += change * (value - self.mean)
        return self.scale * value / max(float(np.sqrt(self.squares / self.n_errors)), 1e-6)


class Heads(nn.Module):  # type: ignore[misc]
    """Several multilayer perceptrons of the same shape, evaluated at once: [batch, input] to [head, batch, output]."""

    def __init__(self, n_heads: int, sizes: list[int]) -> None:
        super().__init__()
        single = [nn.Linear(*shape) for shape in itertools.pairwise(sizes) for _ in range(n_heads)]
        groups = [single[i : i + n_heads] for i in range(0, len(single), n_heads)]
        self.weights = nn.ParameterList([torch.stack([one.weight.T for one in group]).detach() for group in groups])
        self.biases = nn.ParameterList([torch.stack([one.bias[None] for one in group]).detach() for group in groups])

    def forward(self, batch: Any) -> Any:
        """Return the outputs of all heads."""
        values = batch.expand(len(self.weights[0]), *batch.shape)
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = torch.baddbmm(bias, torch.relu(values) if i else values, weight)
        return values


class PriorNetwork(QNetwork):  # type: ignore[misc]
    """An ensemble of Q-networks with randomized priors (Osband et al. 2018); its Q is the mean of the heads."""

    n_heads, scale = 10, 3.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sizes = [self.features_dim, *self.net_arch, int(self.action_space.n)]
        self.q_net, self.prior = Heads(self.n_heads, sizes), Heads(self.n_heads, sizes)
        for weight in self.prior.parameters():
            weight.requires_grad = False

    def heads(self, obs: Any) -> Any:
        """Return Q of every head: [head, batch, action]."""
        features = self.extract_features(obs, self.features_extractor)
        return self.q_net(features) + self.scale * self.prior(features)

    def forward(self, obs: Any) -> Any:
        """Return the mean of the heads."""
        return self.heads(obs).mean(dim=0)


class PriorPolicy(DQNPolicy):  # type: ignore[misc]
    """DQN's policy with the ensemble."""

    def make_q_net(self) -> Any:
        """Return the ensemble; online and target network have the same priors."""
        arguments = self._update_features_extractor(self.net_args, features_extractor=None)
        network = PriorNetwork(**arguments)
        if hasattr(self, "q_net"):
            network.prior = copy.deepcopy(self.q_net.prior)
        return network.to(self.device)


class BootstrappedDQN(VisitationDQN):
    """DQN with an ensemble: an episode follows one head, drawn at random; every head learns from all transitions."""

    def __init__(self, policy: Any, *args: Any, scale: float = 3.0, **kwargs: Any) -> None:
        PriorNetwork.scale, self.head = scale, 0
        greedy = {"epsilon_start": 0.0, "epsilon_end": 0.0}
        super().__init__(PriorPolicy, *args, explorer="epsilon-greedy", explorer_kwargs=greedy, **kwargs)

    def q_values(self, observation: Any) -> Any:
        """Return Q of the episode's head."""
        return self.q_net.heads(observation)[self.head]

    def _store_transition(self, replay_buffer: Any, buffer_action: Any, new_obs: Any, reward: Any, dones: Any,
                          infos: Any) -> None:  # fmt: skip
        super()._store_transition(replay_buffer, buffer_action, new_obs, reward, dones, infos)
        if dones[0]:
            self.head = int(np.random.randint(PriorNetwork.n_heads))  # noqa: NPY002  (seeded by Stable-Baselines3)

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Update every head towards its own target, as DQN updates its network."""
        self.policy.set_training_mode(True)
        for _ in range(gradient_steps):
            data = self.replay_buffer.sample(batch_size)
            with torch.no_grad():
                best = self.q_net_target.heads(data.next_observations).max(dim=2).values
                target = data.rewards[:, 0] + (1 - data.dones[:, 0]) * self.gamma * best
            actions = data.actions.T.expand(len(best), -1)[:, :, None]
            q = self.q_net.heads(data.observations).gather(2, actions)[:, :, 0]
            loss = nn.functional.smooth_l1_loss(q, target, reduction="none").mean(dim=1).sum()
            self.policy.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
            self.policy.optimizer.step()
            self._n_updates += 1


def without_overhead(model: Any) -> Any:
    """Return the model, which learns the same in less time: no layer has a mode, and parameters are listed once."""
    parameters = list(model.policy.parameters())
    model.policy.set_training_mode = lambda mode: None
    model.policy.parameters = lambda: parameters
    return model


def adapted(algorithm: type, learner: dict[str, Any]) -> dict[str, Any]:
    """Return the hyper-parameters of DQN for an algorithm; QR-DQN has fewer quantiles than by default, to save time."""
    if not issubclass(algorithm, QRDQN):
        return learner
    return learner | {"policy_kwargs": learner["policy_kwargs"] | {"n_quantiles": 25}}


def explorers(choice: dict[str, float]) -> dict[str, Any]:
    """Return what creates the model of each explorer, of an environment, the task's state key, and the learner.

    `choice` has the scales of exploration that are not the default.
    """

    def visitation(share: float, algorithm: Any = VisitationDQN, **options: Any) -> Any:
        def create(env: Any, key: dict[str, Any], **learner: Any) -> Any:
            learner = adapted(algorithm, learner)
            return algorithm("MlpPolicy", env, greedy_episodes=share, explorer_kwargs=options, **key, **learner)

        return create

    def with_scale(name: str, algorithm: Any) -> Any:
        def create(env: Any, key: dict[str, Any], **learner: Any) -> Any:
            more = {"scale": choice[name]} if name in choice else {}
            return algorithm("MlpPolicy", env, greedy_episodes=0.5, **key, **more, **learner)

        return create

    def epsilon_greedy(algorithm: Any) -> Any:
        return lambda env, key, **learner: algorithm("MlpPolicy", env, **EPSILON, **adapted(algorithm, learner))

    return {
        "W": visitation(0.0),
        "W, half greedy": visitation(0.5),
        "W per episode, half greedy": visitation(0.5, explorer="vv-plan", novelty="episode"),
        "ε-greedy": epsilon_greedy(DQN),
        "count bonus": with_scale("count bonus", CountBonusDQN),
        "RND": with_scale("RND", RndDQN),
        "bootstrapped": with_scale("bootstrapped", BootstrappedDQN),
        "QR-DQN: W, half greedy": visitation(0.5, VisitationQRDQN),
        "QR-DQN: ε-greedy": epsilon_greedy(QRDQN),
    }
