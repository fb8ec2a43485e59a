"""Runs one simulation, or many on this machine or a cluster: checks, memory, cores and launchers."""
