"""The paper's figures: one function each, from plain arrays. Matplotlib is imported only when a figure is drawn."""
