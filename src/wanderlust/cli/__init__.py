"""The command line: one module per command, imported when the command is called.

A command imports what it needs when it is called, so that its help, for which it is imported too, is printed at once.
"""
