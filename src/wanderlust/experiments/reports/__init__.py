"""What is made of stored runs: statistics, tables, and a scorecard against the paper."""
