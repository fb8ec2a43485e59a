"""The contents of a recorded trace: numbers, the finishing time without a network, and a picture."""
