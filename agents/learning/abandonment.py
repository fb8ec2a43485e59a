"""A round of learning that stops in its middle, so that Ctrl-C does not wait for the end of a long round."""

from __future__ import annotations


class RoundAbandonedError(Exception):
    """`Agent.abandon()` stopped `Agent.train_round()`; `Agent.state()` is that of the last finished round."""
