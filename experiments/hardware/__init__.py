"""The parts of `flitgym list cost`: counts of a run, and the cost that the core's components declare."""
