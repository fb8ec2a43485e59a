"""What `flitgym-train` is made of: checkpoints, metrics, baselines, and the trainings of a study side by side."""
