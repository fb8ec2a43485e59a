"""The parts of `flitgym evaluate`: its plan of runs, the summary of their rows, its tables and its figure."""
