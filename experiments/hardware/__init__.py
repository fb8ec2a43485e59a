"""The parts of `flitgym cost`: counts of a run, and the cost that the core's components declare."""
