"""Encodings: from observations to state indices, from action indices to actions; saved with an agent as plain data."""
