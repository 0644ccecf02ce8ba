"""MountainCar, whose observations are real numbers: cut into bins, they become states that are met again.

Every step costs 1 until the car is on the hill, and there is no hint on the way; acting at random never gets there.
"""

import wanderlust as wl

STEPS = 12_000


class FirstTime(wl.Callback):
    """Notes the step at which the hill was first reached."""

    step = None

    def on_step(self, loop):
        """Look whether the episode ended by itself."""
        if loop.terminated and self.step is None:
            self.step = loop.step


def main() -> None:
    """Learn, and say when the hill was first reached."""
    env = wl.tabular("MountainCar-v0", bins=(16, 16))
    first = FirstTime()
    agent = wl.learn(env, "vv-ucb", steps=STEPS, seed=0, quiet=True, callbacks=[first])
    print(f"{agent.discovered} of 256 bins were visited in {STEPS:,} steps")
    print(f"the hill was first reached at step {first.step}")
    print(f"state 0 is {env.describe(0)}")


if __name__ == "__main__":
    main()
