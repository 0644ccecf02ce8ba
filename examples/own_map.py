"""A world of your own, drawn as text: a near prize that distracts, and a far one that pays ten times as much."""

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
    """Let two explorers learn in it."""
    world = wl.make_world(MAP)
    best = float(world.mdp.start @ optimal_values(world.mdp).v)
    print(f"the best possible return is {best:.2f}")
    for explorer in ("vv-ucb", "epsilon-greedy"):
        record = wl.train(world, explorer, seed=1)
        print(f"{explorer:<15} learnt {record.returns[-1]:.2f} and found {record.discovered[-1]} cells")


if __name__ == "__main__":
    main()
