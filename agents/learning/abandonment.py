"""Stops a round of learning before its end, so that Ctrl-C does not have to wait for a long round."""

from __future__ import annotations


class RoundAbandonedError(Exception):
    """`Agent.abandon()` stopped `Agent.train_round()`; `Agent.state()` is the state after the last finished round."""
