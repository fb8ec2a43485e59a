"""PPO and DQN by RLlib. Importing this package imports neither Ray nor torch."""
