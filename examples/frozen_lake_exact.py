"""FrozenLake tells its own dynamics, so what is learnt can be measured against what is exactly best."""

import gymnasium as gym

import wanderlust as wl
from wanderlust.core.planning import optimal_values, reachable_states

STEPS = 5_000


def main() -> None:
    """Solve the lake exactly, then learn it."""
    env = gym.make("FrozenLake-v1", is_slippery=True)
    world = wl.world_from_gym(env)
    best = optimal_values(world.mdp, discount=0.99)
    print(f"{int(reachable_states(world.mdp).sum())} states can be reached")
    print(f"from the start, the best policy is worth {world.mdp.start @ best.v:.3f} (discounted)")
    agent = wl.learn(env, "vv-ucb", steps=STEPS, seed=0, quiet=True, learning_rate=0.1)
    start = agent.env.keys.find(0)
    print(f"after {STEPS:,} steps the agent believes it is worth {agent.action_values(start).max():.3f}")
    print(f"it reaches the goal in {100 * wl.evaluate(agent, episodes=50).mean():.0f} % of its episodes")


if __name__ == "__main__":
    main()
