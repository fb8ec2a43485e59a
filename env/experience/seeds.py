"""Computes the seeds of episodes from a user's seed. No other file does so.

An episode is one simulation. Its seed determines all its draws: those of `World.vary`, failures, traffic, routing and
exploration (`World.simulation(routing, seed)`). A user gives one seed for many episodes:

| source of episodes | seed of episode n = 0, 1, ... | |
|---|---|---|
| environments of `flitgym.env`, `play` | `episode_seed(seed, n)` | two seeds share an episode only by chance |
| network k of several | `episode_seed(seed + k, n)` | as a single environment with seed + k |
| a training by flitgym's agents | `training_seed(seed) + n` | each training has a million seeds |
| a training by RLlib, process w | `episode_seed(seed, w, n)` | independent of the number of processes |

Seeds of a training are consecutive, so that a checkpoint needs one integer to continue. Evaluations use the user's seed
(`flitgym simulate seed=1`), which is far below the seeds of trainings by flitgym's agents. So these agents are not
evaluated on episodes of their training. RLlib's seeds are hashed and may equal an evaluation's by chance.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

EPISODES_PER_TRAINING = 1_000_000


def episode_seed(seed: int, *numbers: int) -> int:
    """The seed of an episode, 32 bits by NumPy's `SeedSequence`.

    Two tuples of the same length have the same seed only by chance (4 pairs among 200,000 tuples in a test). A last
    number of 0 has no effect: (1, 2, 0) has the seed of (1, 2). So the first episode of RLlib's process w is episode w
    of an environment.

    Args:
        seed: the user's seed, at least 0.
        *numbers: the number of the episode; with several processes, the number of the process comes first.
    """
    return int(np.random.SeedSequence((seed, *numbers)).generate_state(1)[0])


def training_seed(seed: int) -> int:
    """The seed of the first episode of a training; the next episodes have the next seeds.

    Trainings with different seeds share no episode.

    Args:
        seed: the user's seed, at least 0.
    """
    return EPISODES_PER_TRAINING * (seed + 1)


class Episodes:
    """The sequence of episodes of one seed.

    Args:
        seed: the user's seed; if it is None, call `begin` before `next`.
        *place: distinguishes sequences of the same seed, e.g. the number of a process.
    """

    def __init__(self, seed: int | None = None, *place: int) -> None:
        self.seed, self.number = seed, 0
        self._place = place

    def begin(self, seed: int | None, fallback: int = 0) -> bool:
        """Restart with `seed`. Without a seed, continue, or start from `fallback` if there was no seed before.

        Returns:
            Whether the sequence has restarted.
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
        """The seeds of the next episode, one per network."""
        assert self.seed is not None
        first, place, number = self.seed, self._place, self.number
        self.number += 1
        return (episode_seed(first + k, *place, number) for k in range(networks))
