"""What `flitgym-regret` is made of: one run of forks, what its rows come to, the tables and the figure."""
