"""The files that a sweep leaves at its end."""
