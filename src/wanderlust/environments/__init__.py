"""Gymnasium: state keys of observations, a wrapper that makes any environment tabular, the worlds as environments."""
