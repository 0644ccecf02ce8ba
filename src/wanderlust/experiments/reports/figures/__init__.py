"""The paper's figures: one function each, from plain arrays. Nothing here imports matplotlib until it draws."""
