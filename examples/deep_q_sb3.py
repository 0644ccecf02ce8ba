"""Stable-Baselines3's DQN with W: its networks, replay buffer and loss; only the actions of training are chosen by W.

It needs `pip install 'wanderlust[sb3]'`. In deep sea one path of ten right actions leads to the treasure, and every one
of them costs: ε-greedy DQN learns to stop trying. In half of the episodes there is a penalty instead of the treasure,
which the observation shows, so the optimal policy has a mean return of about 0.5.
"""

import gymnasium as gym
from stable_baselines3.common.evaluation import evaluate_policy

from wanderlust.integrations.stable_baselines3 import VisitationDQN


def main() -> None:
    """Train for 3,000 steps and print the greedy policy's return."""
    env = gym.make("wanderlust/DeepSea-v0", depth=10)
    model = VisitationDQN(
        "MlpPolicy", env, explorer="vv-ucb", seed=0, learning_rate=1e-3, train_freq=1, target_update_interval=100
    )  # fmt: skip
    model.learn(3_000)
    mean, _ = evaluate_policy(model, env, n_eval_episodes=40)
    print(f"states visited: {model.visitation.n_states}; return of the greedy policy: {mean:.2f}")


if __name__ == "__main__":
    main()
