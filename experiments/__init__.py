"""Entry points of flitgym, what they measure, and the figures they reproduce."""
