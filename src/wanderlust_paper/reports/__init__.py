"""Tables of the paper beside ours, and the scorecard of all results."""
