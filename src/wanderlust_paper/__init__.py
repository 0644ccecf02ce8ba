"""The experiments of the paper, with its tables, figures and statements beside our results.

A client of the library `wanderlust`: it imports only public names, and the library does not import it. The command
`wanderlust reproduce` and the reports of `wanderlust report` are found by the entry points in `pyproject.toml`.

    studies    one module per experiment: its runs, its report and the statements of the text that it checks
    claims     one rule for each kind of statement
    reports    tables beside the paper's, the scorecard
    figures    the paper's figures
"""
