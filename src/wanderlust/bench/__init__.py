"""How fast wanderlust is, measured as ratios inside one run."""
