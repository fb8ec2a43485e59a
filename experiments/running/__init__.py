"""Runs one simulation, or the many simulations of a sweep, on this machine or on a cluster."""
