"""The live terminal view of `wanderlust watch`."""
