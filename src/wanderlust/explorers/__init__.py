"""Exploration: how an agent that learns Q decides where to go."""
