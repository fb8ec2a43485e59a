"""Forwarding tables and how good they are: one result per table, its figure and its row, and those of a sweep."""
