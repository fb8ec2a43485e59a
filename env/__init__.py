"""Gymnasium, PettingZoo and RLlib faces of the core. No algorithms; those are in `flitgym.agents`."""

from .world import World

__all__ = ["World"]
