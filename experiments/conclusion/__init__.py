"""The files that a sweep writes at its end."""
