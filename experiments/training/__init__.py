"""The parts of `flitgym train`: checkpoints, metrics, baselines, and the comparison of a study's trainings."""
