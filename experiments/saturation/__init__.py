"""The parts of `flitgym saturate`: the bounds, the search of one load, and the cells of the tables."""
