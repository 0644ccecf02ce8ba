"""`python -m wanderlust` is the command line."""

from wanderlust.cli import main

main()
