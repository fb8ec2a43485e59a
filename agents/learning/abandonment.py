"""A round of learning that is given up in its middle, so that Ctrl-C need not wait for the end of a long one."""

from __future__ import annotations


class RoundAbandonedError(Exception):
    """`Agent.train_round()` gave up, as `Agent.abandon()` asked; `Agent.state()` is that of the last finished round."""
