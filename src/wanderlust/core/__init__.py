"""Foundations: error classes, checked archive files, tabular Markov decision processes, exact planning."""
