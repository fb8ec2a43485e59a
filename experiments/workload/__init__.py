"""Runs of jobs: the run itself, the load of the links over time, and the rows for the figures of studies."""
