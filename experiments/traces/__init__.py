"""What a recorded trace holds: numbers, the finishing time without a network, and a picture."""
