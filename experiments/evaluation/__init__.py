"""What `flitgym-evaluate` is made of: the runs it plans, what it makes of their rows, its tables and its figure."""
