"""Benchmarks of wanderlust's speed, as ratios measured within one run."""
