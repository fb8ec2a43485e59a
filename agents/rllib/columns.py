"""The columns of a batch from RLlib's runners: the rows of all its episodes, one after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Sampled:
    """The columns of a batch.

    Args:
        episodes: RLlib's `SingleAgentEpisode`s in NumPy form.
    """

    def __init__(self, episodes: Sequence[Any]) -> None:
        self.episodes = episodes

    def _joined(self, rows_of: Callable[[Any, slice], Any]) -> NDArray[Any]:
        return np.concatenate([rows_of(episode, slice(0, len(episode))) for episode in self.episodes])

    def observations(self) -> NDArray[np.float32]:
        """[n, width + slots]."""
        return self._joined(lambda episode, every: episode.get_observations(every))

    def actions(self) -> NDArray[Any]:
        """The slots taken, [n]."""
        return self._joined(lambda episode, every: episode.get_actions(every))

    def rewards(self) -> NDArray[np.float32]:
        """[n], us."""
        return self._joined(lambda episode, every: episode.get_rewards(every))

    def extra(self, name: str) -> NDArray[Any]:
        """A further column of the runner, [n, ...]."""
        return self._joined(lambda episode, every: episode.get_extra_model_outputs(name, every))
