"""Execution of many runs: the driver, and executors with threads, processes and Ray."""
