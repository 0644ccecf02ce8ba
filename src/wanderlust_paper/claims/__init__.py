"""The statements of the paper's text, checked: one module per experiment, and the rules that all share."""
