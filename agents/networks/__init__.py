"""The networks that learn: a score per slot and a value per observation, for flitgym's own agents and RLlib's."""

from .scores import Layers, Perceptron, SlotScores
from .values import QNetwork, StateValue

__all__ = ["Layers", "Perceptron", "QNetwork", "SlotScores", "StateValue"]
