"""Training in any Gymnasium environment: the loop, its callbacks, checkpoints, and the adaptive preset."""
