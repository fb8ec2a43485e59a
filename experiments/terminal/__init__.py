"""What every command has in common at the terminal: its errors and exit codes, its progress, times in words."""
