"""DQN in one file with PyTorch, in the style of CleanRL; two calls of the explorer replace its ε-greedy actions.

It needs `pip install torch`. Several environments run side by side and share one explorer.
"""

import gymnasium as gym
import numpy as np
import torch
from torch import nn

import wanderlust as wl

STEPS, N_ENVS, BATCH, DISCOUNT, SEED = 4_000, 4, 64, 0.99, 0


def main() -> None:
    """Train and print when the goal of FrozenLake was first reached, and the greedy policy's return."""
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    make = lambda: gym.wrappers.FlattenObservation(gym.make("FrozenLake-v1", map_name="8x8", is_slippery=False))  # noqa: E731
    envs = gym.vector.SyncVectorEnv([make] * N_ENVS, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
    space, n_actions = envs.single_observation_space, int(envs.single_action_space.n)
    network, target = (
        nn.Sequential(nn.Linear(space.shape[0], 64), nn.ReLU(), nn.Linear(64, n_actions)) for _ in range(2)
    )
    target.load_state_dict(network.state_dict())
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    w = wl.Explorer("vv-ucb", observation_space=space, n_actions=n_actions, key="hash", greedy_episodes=0.5, seed=SEED)
    memory: list[tuple] = []
    first_goal = None
    observations, _ = envs.reset(seed=SEED)
    for step in range(STEPS):
        with torch.no_grad():
            q = network(torch.as_tensor(observations, dtype=torch.float32)).numpy()
        actions = w.act(observations, q=q)
        following, rewards, terminated, truncated, infos = envs.step(actions)
        last = following.copy()
        for i in np.flatnonzero(terminated | truncated):
            last[i] = infos["final_obs"][i]
        w.observe(observations, actions, last, terminated, truncated, reward=rewards)
        memory += zip(observations, actions, rewards, last, terminated, strict=True)
        if rewards.any() and first_goal is None:
            first_goal = step * N_ENVS
        observations = following
        rows = [memory[i] for i in rng.integers(len(memory), size=BATCH)]
        s, a, r, s2, end = (torch.as_tensor(np.array(column)) for column in zip(*rows, strict=True))
        with torch.no_grad():
            goal = r.float() + DISCOUNT * target(s2.float()).max(dim=1).values * ~end
        loss = nn.functional.mse_loss(network(s.float()).gather(1, a[:, None])[:, 0], goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            target.load_state_dict(network.state_dict())
    env = make()
    observation, over, total = env.reset(seed=SEED)[0], False, 0.0
    while not over:
        action = int(network(torch.as_tensor(observation, dtype=torch.float32)).argmax())
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + reward, terminated or truncated
    print(f"first goal after {first_goal} steps; return of the greedy policy: {total:.0f}")


if __name__ == "__main__":
    main()
