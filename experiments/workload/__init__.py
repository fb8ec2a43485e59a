"""Runs of jobs: played until they are done, the links meanwhile, and the rows that studies of them draw."""
