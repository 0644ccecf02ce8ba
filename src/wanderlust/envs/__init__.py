"""Gymnasium environments: our worlds as environments, and any environment with numbered states and actions."""
