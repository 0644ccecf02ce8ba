"""Learning: the memory, the TD rule, sweeps and minibatches, as compiled functions on flat arrays."""
