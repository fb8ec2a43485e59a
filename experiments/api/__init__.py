"""Runs and sweeps from Python; their names are those of the package `flitgym`."""
