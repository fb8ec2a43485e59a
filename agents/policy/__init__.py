"""Policies whose weights are computed from given costs instead of trained."""
