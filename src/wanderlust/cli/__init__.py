"""The command line: one module per command, shared helpers, and `main`, which assembles the commands."""
