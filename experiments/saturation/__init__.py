"""The parts of `flitgym saturate`: the bounds, the search of one load, the summary, the tables and the figure."""
