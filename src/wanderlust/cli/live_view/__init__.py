"""A run, live in the terminal: the command `watch`."""
