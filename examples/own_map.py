"""A user-defined world from a text map: a near treasure is a distractor, a far one gives ten times its reward."""

import wanderlust as wl
from wanderlust.core.planning import optimal_values

MAP = """\
S.......
.####.#.
A.....#.
.####.#.
......#B

A = treasure 1
B = treasure 10
horizon = 40
budget = 3000
"""


def main() -> None:
    """Train two explorers."""
    world = wl.make_world(MAP)
    optimal_return = float(world.mdp.start @ optimal_values(world.mdp).v)
    print(f"optimal return: {optimal_return:.2f}")
    for explorer in ("vv-ucb", "epsilon-greedy"):
        record = wl.train(world, explorer, seed=1)
        print(f"{explorer:<15} return {record.returns[-1]:.2f}, {record.discovered[-1]} states discovered")


if __name__ == "__main__":
    main()
