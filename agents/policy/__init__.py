"""Policies as files, and policies that are written down instead of trained."""
