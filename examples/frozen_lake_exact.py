"""FrozenLake provides its model, so the learned values can be compared with the optimal values."""

import gymnasium as gym

import wanderlust as wl
from wanderlust.core.planning import optimal_values, reachable_states

STEPS = 5_000


def main() -> None:
    """Solve FrozenLake exactly, then train an agent."""
    env = gym.make("FrozenLake-v1", is_slippery=True)
    world = wl.world_from_gym(env)
    optimal = optimal_values(world.mdp, discount=0.99)
    print(f"{int(reachable_states(world.mdp).sum())} reachable states")
    print(f"optimal value of the start state: {world.mdp.start @ optimal.v:.3f} (discounted)")
    agent = wl.learn(env, "vv-ucb", steps=STEPS, seed=0, quiet=True, learning_rate=0.1)
    start = agent.env.keys.find(0)
    print(f"learned value after {STEPS:,} steps: {agent.action_values(start).max():.3f}")
    print(f"the greedy policy reaches the goal in {100 * wl.evaluate(agent, episodes=50).mean():.0f} % of its episodes")


if __name__ == "__main__":
    main()
