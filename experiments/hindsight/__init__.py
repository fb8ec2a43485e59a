"""The parts of `flitgym regret`: one run with its forks, the summary of its rows, the tables and the figure."""
