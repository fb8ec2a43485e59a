"""Runs and sweeps from Python. The package `flitgym` exports their names."""
