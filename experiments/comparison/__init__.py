"""Comparisons of two sets of runs: the pairs, and the differences that exceed noise."""
