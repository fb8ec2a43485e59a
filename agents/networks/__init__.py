"""The neural networks of flitgym's own agents and RLlib's: a score per slot, and a value per observation."""

from .scores import Layers, Perceptron, SlotScores
from .values import QNetwork, StateValue

__all__ = ["Layers", "Perceptron", "QNetwork", "SlotScores", "StateValue"]
