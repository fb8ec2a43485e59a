"""One run: warm up, sample decisions, try up to `slots` candidates of each decision in forks, write the costs."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from omegaconf import OmegaConf

from ...configs import unknown
from ...simcore import ConfigError, MarginalCost, Simulation
from ..evaluation.kinds import ExtendedKind, network_of
from ..results.cautions import late_events
from ..results.files import require_writable, write_table
from ..terminal.progress import Report

OTHERS = ("kept", "routed")
CANDIDATES = ("own", "pair")
_CHUNK = 64  # decisions between two reports of progress
_WARMUP_CHUNK = 20_000  # cycles between two reports of progress
_WARMUP_PART = 0.2  # of the progress bar

Columns = dict[str, NDArray[Any]]


def check(given: Mapping[str, Any]) -> None:
    """Check the section `regret`, which `evaluate.yaml` explains.

    Raises:
        ConfigError: names the key.
    """
    for key, valid, rule in (
        ("decisions", given["decisions"] >= 1, "less than 1"),
        ("sample_fraction", 0 < given["sample_fraction"] <= 1, "not in (0, 1]"),
        ("horizon_ns", 0 < given["horizon_ns"] < 1e9, "not between 0 and 1e9"),
        ("slots", 2 <= given["slots"] <= 64, "not in [2, 64]"),
        ("threads", given["threads"] >= 0, "less than 0"),
    ):
        if not valid:
            raise ConfigError(f"regret.{key}: {given[key]:g} is {rule}")
    for key, words in (("other_packets", OTHERS), ("candidates", CANDIDATES)):
        if given[key] not in words:
            raise ConfigError(unknown(f"regret.{key}", given[key], words, "value"))


class RegretKind(ExtendedKind):
    """A run with forks; the section `regret` has the sampling."""

    section = "regret"
    no_identity = ("threads",)

    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        """See `Kind`."""
        measure(plain, directory, report)

    def cost(self, plain: Mapping[str, Any]) -> float:
        """See `Kind`. All runs sample equally many decisions."""
        return float(plain[self.section]["decisions"])

    def survey(self, plain: dict[str, Any]) -> tuple[int, int]:
        """See `Kind`. A routing without choices is refused here."""
        facts = _forks(plain)[0].facts()
        return int(facts["memory_estimate_bytes"]), int(facts["terminals"])


REGRETS = RegretKind()


def _forks(plain: Mapping[str, Any]) -> tuple[Simulation, MarginalCost]:
    """The network of a run, and the forks that try its candidates."""
    (simulation, _), given = network_of(plain), plain[REGRETS.section]
    settings = {key: given[key] for key in ("horizon_ns", "slots", "threads")}
    reroute = given["other_packets"] == "routed"
    return simulation, MarginalCost(simulation, **settings, seed=plain["seed"], reroute=reroute)


def measure(plain: dict[str, Any], directory: Path, report: Report) -> None:
    """Write `result.json` and `decisions.parquet`, a row per decision, into `directory`.

    Args:
        plain: The resolved configuration of the run, with the section `regret`.
        directory: The folder of the run.
        report: Receives the phase and the finished fraction.

    Raises:
        ConfigError: the configuration cannot run, or no packet has more than one candidate.
        CoreError: the simulation stopped with an error.
        OSError: the folder cannot be written.
    """
    (simulation, costs), given = _forks(plain), plain[REGRETS.section]
    require_writable(directory)
    warmup = simulation.cycles(plain["run"]["warmup_ns"])
    while simulation.now < warmup:
        report("warm-up", _WARMUP_PART * simulation.now / warmup)
        simulation.run(min(_WARMUP_CHUNK, warmup - simulation.now))

    began, pieces, found = time.perf_counter(), [], 0
    random = np.random.default_rng(plain["seed"])
    while found < given["decisions"]:
        labels = costs.label(min(_CHUNK, given["decisions"] - found), given["sample_fraction"])
        pieces.append(columns_of(pairs_of(labels, random) if given["candidates"] == "pair" else labels))
        found += len(pieces[-1]["regret_ns"])
        report("forks", _WARMUP_PART + (1 - _WARMUP_PART) * found / given["decisions"])
    columns = {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}
    seconds = time.perf_counter() - began
    write_table(directory / "decisions.parquet", columns)
    late = late_events(OmegaConf.create(plain), simulation.time_ns)
    numbers = {
        **means_of(columns),
        "decisions": found,
        "horizon_ns": given["horizon_ns"],
        "others": given["other_packets"],
        "candidates": given["candidates"],
        "wall_seconds": seconds,
        "decisions_per_second": found / seconds,
        "simulated_ns": simulation.time_ns,
        "files": {"decisions": "decisions.parquet"},
        "warnings": {} if late is None else {"late_events": late},
    }
    REGRETS.write(plain, directory, simulation, numbers)


def pairs_of(labels: Columns, random: np.random.Generator) -> Columns:
    """The same labels with two candidates per decision, so that all policies are compared on sets of the same kind.

    The two are the minimal candidate, and the candidate taken or, if that is the minimal one, a random other.

    Args:
        labels: The result of `MarginalCost.label`.
        random: Draws the other candidate.
    """
    mask, taken = labels["mask"], labels["taken"].astype(np.int64)
    drawn = 1 + random.integers(mask.sum(axis=1) - 1)
    slots = np.arange(mask.shape[1])
    kept = (slots == 0) | (slots == np.where(taken > 0, taken, drawn)[:, None])
    return {
        **labels,
        "mask": kept,
        "cost_ns": np.where(kept, labels["cost_ns"], np.nan),
        "candidates": np.full_like(labels["candidates"], 2),
    }


def columns_of(labels: Columns) -> Columns:
    """The columns of `decisions.parquet`.

    Args:
        labels: The result of `MarginalCost.label`.

    Returns:
        `cycle`, `router`, `hops`, `came_by` and `candidates`, as in `labels`.
        `taken`, `best`: the slots of the candidate taken and of the cheapest one.
        `regret_ns`: cost of the candidate taken minus that of the cheapest.
        `chance_ns`: mean cost of all candidates minus that of the cheapest.
        `change_ns`: mean cost of the other candidates minus that of the one taken.
        `minimal_ns`: cost of the minimal candidate minus that of the one taken.
        `taken_minimal`: 1 if the minimal candidate was taken.
    """
    cost, mask, taken = labels["cost_ns"], labels["mask"], labels["taken"]
    best, tried = np.nanmin(cost, axis=1), mask.sum(axis=1)
    total = np.nansum(cost, axis=1)
    return {
        **{key: labels[key] for key in ("cycle", "router", "hops", "came_by", "candidates", "taken")},
        "best": np.nanargmin(cost, axis=1).astype(np.uint32),
        "regret_ns": -best,
        "chance_ns": total / tried - best,
        "change_ns": total / (tried - 1),
        "minimal_ns": cost[:, 0],
        "taken_minimal": (taken == 0).astype(np.uint8),
    }


def means_of(columns: Columns) -> dict[str, float]:
    """The means over all decisions of a run."""
    return {
        "regret_mean_ns": float(columns["regret_ns"].mean()),
        "chance_mean_ns": float(columns["chance_ns"].mean()),
        "change_mean_ns": float(columns["change_ns"].mean()),
        "best_taken_fraction": float((columns["regret_ns"] <= 0).mean()),
        "minimal_fraction": float(columns["taken_minimal"].mean()),
    }
