"""Gymnasium: the built-in worlds as environments, and a wrapper that makes any environment tabular."""
