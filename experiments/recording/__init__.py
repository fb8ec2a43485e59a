"""The parts of `flitgym record`: a run whose decisions are recorded."""
