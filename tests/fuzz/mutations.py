"""Mutated input for the readers in Python, as simcore/tests/support/fuzz.hpp makes it for the readers of the core."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

import numpy as np

_ENDS = [0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1]


def mutated(corpus: Sequence[bytes], words: Sequence[bytes], seed: int) -> bytes:
    """A file of the corpus after one to eight changes. Equal seeds give equal files."""
    random = np.random.default_rng(seed)

    def pick(n: int) -> int:
        return int(random.integers(n)) if n else 0

    text = bytearray(corpus[pick(len(corpus))])
    for _ in range(1 + pick(8)):
        at, length = pick(len(text) + 1), 1 + pick(256 if pick(2) else 8)
        other = corpus[pick(len(corpus))]
        kind = pick(8)
        if kind == 0 and at < len(text):
            text[at] ^= 1 << pick(8)
        elif kind == 1 and at < len(text):
            text[at] = pick(256)
        elif kind == 2:
            del text[at : at + length]
        elif kind == 3:
            text[at:at] = text[at : at + length]
        elif kind == 4:
            start = pick(len(other) + 1)
            text[at:at] = other[start : start + length]
        elif kind == 5 and words:
            text[at:at] = words[pick(len(words))]
        elif kind == 6:
            del text[at:]
        elif kind == 7:
            width = 1 << pick(4)
            number = (_ENDS[pick(len(_ENDS))] % 256**width).to_bytes(width, "little")
            text[at : at + width] = number[: max(len(text) - at, 0)]
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
