"""Forwarding tables and their quality: the result, the figure and the row of a table, and those of a sweep."""
