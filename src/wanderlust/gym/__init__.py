"""The worlds as Gymnasium environments: `gymnasium.make("wanderlust/DeepSea-v0", depth=20)`."""
