"""The measure `regret` of `flitgym evaluate`: one run with its forks, and the cells of the tables."""
