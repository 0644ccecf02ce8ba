"""Learning: one TD rule, a few ways to select what is replayed, tables that differ in their rewards only."""
