"""MiniGrid: fetch the key, open the door, reach the goal. The state key is the environment's hash of its state.

With `reset_seed` every episode has the same layout, so that states are visited again. Needs `pip install minigrid`.
"""

import gymnasium as gym
import minigrid  # noqa: F401 (the import registers its environments)

import wanderlust as wl

STEPS = 6_000


def main() -> None:
    """Train an agent and evaluate its greedy policy."""
    env = wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key="hash", reset_seed=0)
    agent = wl.learn(env, "vv-count", steps=STEPS, seed=0, quiet=True)
    returns = wl.evaluate(agent, episodes=3)
    print(f"{agent.discovered} states discovered in {STEPS:,} steps")
    print(f"return of the greedy policy: {returns.mean():.3f} (0 means that the goal is never reached)")


if __name__ == "__main__":
    main()
