"""Parts that several algorithms share: rollouts, replay, advantages, bounds of hyperparameters, checkpoints."""
