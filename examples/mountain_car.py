"""MountainCar has continuous observations: bins make them discrete states that are visited repeatedly.

The reward is -1 per step until the goal is reached, so it gives no guidance; random actions never reach the goal.
"""

import wanderlust as wl

STEPS = 12_000


class FirstSuccess(wl.Callback):
    """Stores the step at which the goal was first reached."""

    step = None

    def on_step(self, loop):
        """Check whether the episode terminated."""
        if loop.terminated and self.step is None:
            self.step = loop.step


def main() -> None:
    """Train an agent and print when the goal was first reached."""
    env = wl.tabular("MountainCar-v0", bins=(16, 16))
    first_success = FirstSuccess()
    agent = wl.learn(env, "vv-ucb", steps=STEPS, seed=0, quiet=True, callbacks=[first_success])
    print(f"{agent.discovered} of 256 bins were visited in {STEPS:,} steps")
    print(f"the goal was first reached at step {first_success.step}")
    print(f"state 0 is {env.describe(0)}")


if __name__ == "__main__":
    main()
