"""Common parts of all commands at the terminal: errors, exit codes, progress, tables, and times in words."""
