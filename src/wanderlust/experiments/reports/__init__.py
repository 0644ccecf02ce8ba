"""Reports of stored runs: statistics, tables, figures, and the scorecard that compares them with the paper."""
