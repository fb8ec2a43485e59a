"""What `flitgym-benchmark` is made of: suites of tasks, recorded results, measures, scores, tables and the figure."""
