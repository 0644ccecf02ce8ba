"""`python -m wanderlust` is the command line."""

from wanderlust.cli.main import main

# Processes that help with many runs import this file once more.
if __name__ == "__main__":
    main()
