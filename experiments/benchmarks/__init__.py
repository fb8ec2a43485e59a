"""What `flitgym-benchmark` is made of: suites of tasks, recorded results, measures and scores, tables and the figure."""
