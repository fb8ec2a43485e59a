"""How a user's seed becomes the seeds of episodes. Nothing else in Python makes one.

An episode is one simulation, and its seed decides everything in it: what `World.vary` draws, what fails, traffic, and
the draws of routings and exploration (`World.simulation(routing, seed)`). A user gives one seed for many episodes:

| who | seed of episode n = 0, 1, ... | |
|---|---|---|
| environments of `flitgym.env`, `play` | `episode_seed(seed, n)` | two seeds share episodes by chance |
| the k-th of several networks | `episode_seed(seed + k, n)` | it is the single environment of seed + k |
| a training by flitgym's own agents | `training_seed(seed) + n` | a million of its own for each training |
| a training by RLlib, process w | `episode_seed(seed, w, n)` | whatever the number of processes |

Trainings count from a number, for which one integer in a checkpoint is enough to go on. Evaluations take seeds as they
are (`flitgym-simulate seed=1`), far below those of trainings by flitgym's own agents, so that these are not tested on
what they were trained on. RLlib's are hashed: they may meet one by chance.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

EPISODES_PER_TRAINING = 1_000_000


def episode_seed(seed: int, *numbers: int) -> int:
    """The seed of an episode, 32 bits by NumPy's `SeedSequence`.

    Of tuples of one length two have the same seed by chance alone (4 pairs in 200,000 were seen). A last number of 0
    is as none: (1, 2, 0) has the seed of (1, 2), so the first episode of RLlib's process w is episode w of an
    environment.

    Args:
        seed: the user's, at least 0.
        *numbers: of the episode; with several processes that of the process first.
    """
    return int(np.random.SeedSequence((seed, *numbers)).generate_state(1)[0])


def training_seed(seed: int) -> int:
    """The seed of the first episode of a training; the next ones count on.

    The episodes of one training never have the seeds of another's.

    Args:
        seed: the user's, at least 0.
    """
    return EPISODES_PER_TRAINING * (seed + 1)


class Episodes:
    """The sequence of episodes of one seed.

    Args:
        seed: the user's; none yet = `begin` must come before `next`.
        *place: what tells apart those who draw from the same seed, e.g. the number of a process.
    """

    def __init__(self, seed: int | None = None, *place: int) -> None:
        self.seed, self.number = seed, 0
        self._place = place

    def begin(self, seed: int | None, fallback: int = 0) -> bool:
        """Start anew with a seed; without one go on, from `fallback` if there was never any.

        Returns:
            Whether the sequence has started anew.
        """
        if seed is not None:
            self.seed, self.number = seed, 0
        elif self.seed is None:
            self.seed = fallback
        return seed is not None

    def next(self) -> int:
        """The seed of the next episode."""
        return next(self.next_of(1))

    def next_of(self, networks: int) -> Iterator[int]:
        """The seeds of the next episode of several networks side by side."""
        assert self.seed is not None
        first, place, number = self.seed, self._place, self.number
        self.number += 1
        return (episode_seed(first + k, *place, number) for k in range(networks))
