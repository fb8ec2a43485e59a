"""The parts of `flitgym evaluate` and `flitgym saturate`: the plan of runs, their cells, the tables and the figure."""
