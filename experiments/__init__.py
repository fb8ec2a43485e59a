"""The commands of flitgym on the ground floor, in rooms what they are made of, and the figures they reproduce."""
