"""MiniGrid: fetch the key, open the door, reach the goal. A state is the environment's own hash of all that it holds.

With `reset_seed` every episode has the same layout, so that states are met again. It needs `pip install minigrid`.
"""

import gymnasium as gym
import minigrid  # noqa: F401 (importing it makes its environments known)

import wanderlust as wl

STEPS = 6_000


def main() -> None:
    """Learn, and evaluate what was learnt."""
    env = wl.tabular(gym.make("MiniGrid-DoorKey-5x5-v0"), key="hash", reset_seed=0)
    agent = wl.learn(env, "vv-count", steps=STEPS, seed=0, quiet=True)
    returns = wl.evaluate(agent, episodes=3)
    print(f"{agent.discovered} states explored in {STEPS:,} steps")
    print(f"return of the learnt policy: {returns.mean():.3f} (0 means that the goal is never reached)")


if __name__ == "__main__":
    main()
