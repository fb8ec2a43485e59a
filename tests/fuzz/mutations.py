"""Mutated input for the readers in Python, as simcore/tests/support/fuzz.hpp makes it for the readers of the core."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

import numpy as np


def mutated(corpus: Sequence[bytes], words: Sequence[bytes], seed: int) -> bytes:
    """A file of the corpus after one to eight changes. Equal seeds give equal files."""
    random = np.random.default_rng(seed)
    text = bytearray(random.choice(np.array(corpus, object)))
    for _ in range(random.integers(1, 9)):
        at, end = np.sort(random.integers(len(text) + 1, size=2))
        end = min(end, at + random.integers(1, 257))
        kind = random.integers(6)
        if kind == 0 and at < len(text):
            text[at] ^= 1 << random.integers(8)
        elif kind == 1 and at < len(text):
            text[at] = random.integers(256)
        elif kind == 2:
            del text[at:end]
        elif kind == 3:
            text[at:at] = text[at:end]
        elif kind == 4:
            text[at:at] = words[random.integers(len(words))]
        elif kind == 5:
            del text[at:]
    return bytes(text)


def fuzz(
    corpus: Sequence[bytes],
    words: Sequence[bytes],
    runs: int,
    read: Callable[[bytes], object],
    refusals: tuple[type[Exception], ...],
) -> None:
    """Pass mutations to `read`, which must return or raise one of `refusals`.

    The default is `runs` mutations, which never change. FLITGYM_FUZZ_SECONDS (`make fuzz`) asks for random mutations
    for this time.
    """
    for whole in corpus:
        read(whole)
    seconds = os.environ.get("FLITGYM_FUZZ_SECONDS")
    end = time.monotonic() + float(seconds or 0)
    seed = 0
    while time.monotonic() < end if seconds else seed < runs:
        text = mutated(corpus, words, seed)
        try:
            read(text)
        except refusals:
            pass
        except Exception as error:
            raise AssertionError(f"mutation {seed} ends in {type(error).__name__}: {error}\n{text[:2000]!r}") from error
        seed += 1
