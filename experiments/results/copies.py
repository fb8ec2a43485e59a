"""Copies: runs with other seeds whose final states are equal bit by bit, because they draw nothing from the seed."""

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

Run = TypeVar("Run", bound=Mapping[str, Any])


def state_of(run: Mapping[str, Any]) -> Hashable:
    """A value that is equal for equal runs: the hash of the final state, or the loads and latencies of a search.

    None: unknown. The state of the core does not hold the seed, so runs without random draws have equal hashes.
    """
    if run.get("state_hash") is not None:
        return str(run["state_hash"])
    return json.dumps(run["probe_latency_ns"]) if run.get("probe_latency_ns") else None


def distinct(runs: Iterable[Run]) -> list[Run]:
    """The first run of each state, and all runs whose state is unknown. The runs differ only in their seeds."""
    every = list(runs)
    return [every[k] for k in once(every)]


def once(*sides: Sequence[Mapping[str, Any] | None]) -> list[int]:
    """The indices of the seeds that do not repeat an earlier seed bit by bit on all sides, such as a pair of policies.

    Args:
        sides: A run per seed; None: the run is missing.
    """
    found: dict[Hashable, int] = {}
    for k, runs in enumerate(zip(*sides, strict=True)):
        states = tuple(None if run is None else state_of(run) for run in runs)
        found.setdefault(k if None in states else states, k)
    return list(found.values())


def copies_text(results: Sequence[Mapping[str, Any]]) -> str | None:
    """A warning about runs that repeat a run with another seed; None without copies."""
    groups: dict[tuple[Hashable, str], set[str]] = {}  # the configurations of each group with their seeds
    for result in results:
        if "config" in result and (state := state_of(result)) is not None:
            groups.setdefault((state, _text(_without_seeds(result["config"]))), set()).add(_text(result["config"]))
    copies = sum(len(configs) - 1 for configs in groups.values())
    if not copies:
        return None
    return (
        f"{copies} of {len(results)} runs repeat a run with another seed bit by bit, because nothing in them follows "
        "from the seed; they count once, and no interval is computed from them"
    )


def count_text(counts: Sequence[int], noun: str = "seed") -> str:
    """The numbers of seeds behind the points of a figure or table: `1 seed`, `3 seeds`, `2 to 3 seeds`."""
    few, many = min(counts), max(counts)
    return f"{few if few == many else f'{few} to {many}'} {noun}{'s' if many > 1 else ''}"


def _text(config: Any) -> str:
    return json.dumps(config, sort_keys=True, default=str)


def _without_seeds(config: Any) -> Any:
    if not isinstance(config, Mapping):
        return config
    return {key: _without_seeds(value) for key, value in config.items() if key != "seed" and not key.endswith("_seed")}
