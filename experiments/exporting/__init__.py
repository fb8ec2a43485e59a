"""The files of `flitgym export`."""
