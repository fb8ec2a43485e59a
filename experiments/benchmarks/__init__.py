"""The parts of `flitgym benchmark`: suites of tasks, recorded results, measures, scores, tables and the figure."""
