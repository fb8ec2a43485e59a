"""One run: warm up, sample decisions, try up to `slots` candidates of each decision in forks, write the costs."""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf

from ...configs import config_hash, run_id, unknown
from ...simcore import ConfigError, MarginalCost, Simulation, __version__
from ...simcore.plugins import versions
from ..results.cautions import late_events
from ..results.files import finished, require_writable, write_result, write_table
from ..running.one_run import prepare
from ..running.plan import SimulationKind, Survey
from ..terminal.progress import Report

OTHERS = ("kept", "routed")
CANDIDATES = ("own", "pair")
KIND = "regret"  # of its result, and the section of its configuration
_CHUNK = 64  # decisions between two reports of progress
_WARMUP_CHUNK = 20_000  # cycles between two reports of progress
_WARMUP_PART = 0.2  # of the progress bar

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Sampling:
    """How decisions are sampled and tried. Keys and units are those of the section `regret` of `evaluate.yaml`."""

    decisions: int
    sample_fraction: float
    horizon_ns: float
    slots: int
    other_packets: str
    candidates: str = "own"
    threads: int = 1

    def check(self) -> None:
        """Check the values.

        Raises:
            ConfigError: names the key.
        """
        if self.decisions < 1:
            raise ConfigError(f"regret.decisions: {self.decisions} is less than 1")
        if not 0 < self.sample_fraction <= 1:
            raise ConfigError(f"regret.sample_fraction: {self.sample_fraction:g} is not in (0, 1]")
        if not 0 < self.horizon_ns < 1e9:
            raise ConfigError(f"regret.horizon_ns: {self.horizon_ns:g} is not between 0 and 1e9")
        if not 2 <= self.slots <= 64:
            raise ConfigError(f"regret.slots: {self.slots} is not in [2, 64]")
        if self.other_packets not in OTHERS:
            raise ConfigError(unknown("regret.other_packets", self.other_packets, OTHERS, "value"))
        if self.candidates not in CANDIDATES:
            raise ConfigError(unknown("regret.candidates", self.candidates, CANDIDATES, "value"))
        if self.threads < 0:
            raise ConfigError(f"regret.threads: {self.threads} is less than 0")


class RegretKind(SimulationKind):
    """A run with forks. Its configuration is that of a simulation, and a section `regret` with the sampling."""

    def folder(self, plain: Mapping[str, Any]) -> str:
        """See `Kind`."""
        return f"{run_id(_root_=plain).rpartition('_')[0]}_{_identity(plain)}"

    def finished(self, plain: Mapping[str, Any], directory: Path) -> dict[str, Any] | None:
        """See `Kind`."""
        return finished(directory, _identity(plain), __version__)

    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        """See `Kind`."""
        measure(plain, directory, report)

    def cost(self, plain: Mapping[str, Any]) -> float:
        """See `Kind`. All runs sample equally many decisions."""
        return float(plain[KIND]["decisions"])

    def survey(self, plain: dict[str, Any]) -> Survey:
        """See `Kind`. A routing without choices is refused here."""
        simulation = _forks(OmegaConf.create(plain), Sampling(**plain[KIND]))[0]
        facts = simulation.facts()
        return Survey(int(facts["memory_estimate_bytes"]), int(facts["terminals"]))


REGRETS = RegretKind()


def _identity(plain: Mapping[str, Any]) -> str:
    """A hash that is equal for equal runs, 12 hexadecimal digits. The number of threads changes no number."""
    sampling = {key: value for key, value in plain[KIND].items() if key != "threads"}
    text = json.dumps([config_hash(plain), sampling], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _forks(config: DictConfig, sampling: Sampling) -> tuple[Simulation, MarginalCost]:
    """The network of a run, and the forks that try its candidates."""
    simulation = prepare(config)
    costs = MarginalCost(
        simulation,
        horizon_ns=sampling.horizon_ns,
        slots=sampling.slots,
        threads=sampling.threads,
        seed=config.seed,
        reroute=sampling.other_packets == "routed",
    )
    return simulation, costs


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
    config, sampling = OmegaConf.create(plain), Sampling(**plain[KIND])
    simulation, costs = _forks(config, sampling)
    if config.run.load_q_table is not None:
        simulation.load_q_table(config.run.load_q_table)
    simulation.q_frozen = config.run.freeze_q_table
    require_writable(directory)
    warmup = simulation.cycles(config.run.warmup_ns)
    while simulation.now < warmup:
        report("warm-up", _WARMUP_PART * simulation.now / warmup)
        simulation.run(min(_WARMUP_CHUNK, warmup - simulation.now))

    began, pieces, found = time.perf_counter(), [], 0
    random = np.random.default_rng(config.seed)
    while found < sampling.decisions:
        labels = costs.label(min(_CHUNK, sampling.decisions - found), sampling.sample_fraction)
        pieces.append(columns_of(pairs_of(labels, random) if sampling.candidates == "pair" else labels))
        found += len(pieces[-1]["regret_ns"])
        report("forks", _WARMUP_PART + (1 - _WARMUP_PART) * found / sampling.decisions)
    columns = {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}
    seconds = time.perf_counter() - began
    write_table(directory / "decisions.parquet", columns)
    result = {
        "kind": KIND,
        **means_of(columns),
        "decisions": found,
        "horizon_ns": sampling.horizon_ns,
        "others": sampling.other_packets,
        "candidates": sampling.candidates,
        "wall_seconds": seconds,
        "decisions_per_second": found / seconds,
        "simulated_ns": simulation.time_ns,
        "jobs": {},
        "version": __version__,
        "plugins": versions(simulation.facts()["plugins"]),
        "files": {"decisions": "decisions.parquet"},
        "facts": simulation.facts(),
        "config_hash": _identity(plain),
        "config": plain,
        "core_config": simulation.configuration(),
        "warnings": {} if (late := late_events(config, simulation.time_ns)) is None else {"late_events": late},
    }
    write_result(directory, result)


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
