"""A user-defined Q-learning loop with an explorer that selects the actions.

The loop stores and updates Q; the explorer stores the visit counts and W. Here it finds the only reward of an 8×8
FrozenLake, 14 steps from the start, which random actions almost never reach.
"""

import gymnasium as gym
import numpy as np

import wanderlust as wl

DISCOUNT, LEARNING_RATE = 0.99, 0.5


def main() -> None:
    """Train for 3,000 steps and print the results."""
    env = gym.make("FrozenLake-v1", map_name="8x8", is_slippery=False)
    q = np.zeros((env.observation_space.n, env.action_space.n))
    explorer = wl.Explorer("vv-ucb", n_states=q.shape[0], n_actions=q.shape[1], reward_range=(0, 1), seed=0)
    first_reward, over = None, True
    for step in range(1, 3001):
        if over:
            state, _ = env.reset(seed=step)
        action = explorer.act(state, q=q[state])
        next_state, reward, terminated, truncated, _ = env.step(action)
        target = reward if terminated else reward + DISCOUNT * q[next_state].max()
        q[state, action] += LEARNING_RATE * (target - q[state, action])
        explorer.observe(state, action, next_state, terminated, truncated)
        if reward > 0 and first_reward is None:
            first_reward = step
        state, over = next_state, terminated or truncated
    print(f"first reward at step {first_reward}")
    print(f"states visited: {(explorer.visits.sum(axis=1) > 0).sum()} of 64")
    print(f"value of the start state: {q[0].max():.3f}; optimal: {DISCOUNT**13:.3f}")


if __name__ == "__main__":
    main()
