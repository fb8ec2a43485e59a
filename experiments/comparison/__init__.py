"""Two sets of runs beside each other: the pairs, and the differences that exceed noise."""
