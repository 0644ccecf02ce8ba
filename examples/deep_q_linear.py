"""A linear Q without any framework, and an explorer that chooses the actions from observations.

Q is a weight vector per action; the explorer has a table of W over the observation's content. Here it finds the only
reward of an 8×8 FrozenLake, whose observations are one-hot vectors.
"""

import gymnasium as gym
import numpy as np

import wanderlust as wl

DISCOUNT, LEARNING_RATE = 0.99, 0.5


def main() -> None:
    """Train for 3,000 steps and print the results."""
    env = gym.wrappers.FlattenObservation(gym.make("FrozenLake-v1", map_name="8x8", is_slippery=False))
    n_actions = int(env.action_space.n)
    weights = np.zeros((n_actions, env.observation_space.shape[0]))
    space = env.observation_space
    w = wl.Explorer("vv-ucb", observation_space=space, n_actions=n_actions, key="hash", greedy_episodes=0.5, seed=0)
    first_reward, over = None, True
    for step in range(1, 3001):
        if over:
            observation, _ = env.reset(seed=step)
        q = weights @ observation
        action = w.act(observation, q=q)
        following, reward, terminated, truncated, _ = env.step(action)
        target = reward if terminated else reward + DISCOUNT * (weights @ following).max()
        weights[action] += LEARNING_RATE * (target - q[action]) * observation
        w.observe(observation, action, following, terminated, truncated, reward=reward)
        if reward > 0 and first_reward is None:
            first_reward = step
        observation, over = following, terminated or truncated
    print(f"first reward at step {first_reward}")
    print(f"states visited: {w.n_states}, of the latest steps {w.repeat_rate:.0%} in a state visited before")
    print(f"value of the start state: {weights[:, 0].max():.3f}; optimal: {DISCOUNT**13:.3f}")


if __name__ == "__main__":
    main()
