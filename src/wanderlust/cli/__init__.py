"""The command line: one module per command, imported when the command is called."""

import sys

__all__ = ["HELP_ONLY"]

HELP_ONLY = not {"-h", "--help"}.isdisjoint(sys.argv)
"""Whether a help text is all that is printed. Commands then do not import the library, which takes seconds."""
