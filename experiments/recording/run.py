"""A run that records the decisions of its routing as transitions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from omegaconf import DictConfig

from ...configs import config_hash, core_sections, has_workload
from ...configs.identity import digest
from ...configs.policies import require_policy_file
from ...env.experience.dataset import COLUMNS, Dataset
from ...env.experience.ring import Ring, Rows
from ...simcore import ConfigError, Simulation, __version__, registered
from ...simcore.plugins import versions
from ..running.one_run import run_cycles, with_table
from ..terminal.commandline import CommandError
from ..terminal.progress import Report, no_report

CORE = registered("record")["record"]["params"]
OF_ROWS = ("observation", "slots", "slots_by", "reward", "toll")  # the core's keys that a user may set
DECISIONS = 100_000  # default
_CAPACITY = 1 << 16  # transitions in the core's ring
_FIRST_CHUNK, _LONGEST_CHUNK = 16, 20_000  # cycles between two reads of the ring
_PATIENCE_NS = 20_000  # simulated time without a decision after which a record gives up
_LOOK_NS = 1_000_000  # simulated time without the reward of a decision after which a record gives up


def record(config: DictConfig, given: Mapping[str, Any], report: Report = no_report, command: str = "") -> Dataset:
    """Run a configuration and record its first `decisions` decisions after the warm-up.

    The run goes on until the rewards of all of them are known, so slow packets are not missing. Keys of `record` that
    are not `given` have their defaults. The dataset's description has the command line.
    """
    count = given.get("decisions", DECISIONS)
    if not 1 <= count < 1 << 32:
        raise ConfigError(f"record.decisions: {count} is not a number from 1 to 2^32 - 1")
    simulation = prepared(config, {key: given[key] for key in OF_ROWS if key in given})
    warmup = 0 if has_workload(config) else simulation.cycles(config.run.warmup_ns)
    run_cycles(simulation, warmup, "warm-up", math.inf, report)
    rows = recorded(simulation, count, report)
    return Dataset(rows, _about(config, simulation, given, command))


def prepared(config: DictConfig, of_rows: Mapping[str, Any], capacity: int = _CAPACITY) -> Simulation:
    """The simulation of a configuration, with a record of the decisions by keys of `OF_ROWS`."""
    name = config.routing.name
    if registered("routing")[name]["facts"]["external"]:
        raise ConfigError(f"routing: '{name}' gets its decisions from Python, which knows them; record another routing")
    sections = {**core_sections(config), "max_memory_gb": config.run.max_memory_gb}
    if "record" in registered("routing")[name]["params"]:
        require_policy_file(config.routing)
        sections["routing"] = {**sections["routing"], **of_rows, "record": capacity, "record_part": 1.0}
    else:
        sections["record"] = {**of_rows, "capacity": capacity}
    return with_table(Simulation(sections), config)


def recorded(simulation: Simulation, count: int, report: Report = no_report) -> Rows:
    """The transitions of the next `count` decisions, in the order of the decisions."""
    ring, first = Ring(simulation), simulation.decision_count
    pieces: list[Rows] = []
    found, chunk, last, seen = 0, _FIRST_CHUNK, simulation.now, first
    while found < count:
        began, filed = simulation.now, ring.filed
        simulation.run(chunk)
        new = ring.take(COLUMNS)
        own = (new["decision"] >= first) & (new["decision"] < first + count)
        pieces.append({name: column[own] for name, column in new.items()})
        found += int(own.sum())
        report("record", min(found / count, 0.999))
        if own.any() or (simulation.decision_count != seen and seen < first + count):
            last, seen = simulation.now, simulation.decision_count
        silent_ns = (simulation.now - last) * simulation.cycle_ns
        over = silent_ns > (_PATIENCE_NS if seen < first + count else _LOOK_NS) or simulation.workload_finished
        if found < count and over:
            raise CommandError(
                f"only {found:,} of {count:,} decisions have a reward after {simulation.time_ns:,.0f} ns; a decision "
                "is a packet with several candidates. Use another routing or a higher load, or lower record.decisions"
            )
        # A quarter of the ring at the present rate, so that a rising rate does not overflow it.
        rate = (ring.filed - filed) / (simulation.now - began)
        chunk = max(_FIRST_CHUNK, min(2 * chunk, int(ring.capacity / 4 / rate) if rate else 2 * chunk, _LONGEST_CHUNK))
    rows = {name: np.concatenate([piece[name] for piece in pieces]) for name in COLUMNS}
    order = np.argsort(rows["decision"], kind="stable")
    return {name: column[order] for name, column in rows.items()}


def _about(config: DictConfig, simulation: Simulation, given: Mapping[str, Any], command: str) -> dict[str, Any]:
    seam, core = simulation.seam(), simulation.configuration()
    routing = core["routing"]
    of_rows = core.get("record", routing)
    return {
        "routing": routing["name"],
        "relation": seam["relation"] or routing["name"],
        "topology": core["topology"]["name"],
        **{key: seam[key] for key in ("observation", "reward", "slots", "width")},
        **{key: [feature["name"] for feature in seam[key]] for key in ("general", "per_slot")},
        "slots_by": of_rows["slots_by"],
        "toll": float(of_rows["toll"]),
        "cycle_ns": float(simulation.cycle_ns),
        "seed": int(config.seed),
        "config": core,
        "command": command,
        "version": __version__,
        "plugins": versions(simulation.facts()["plugins"]),
        "identity": identity(config, given),
    }


def identity(config: DictConfig, given: Mapping[str, Any]) -> str:
    """A hash of all that determines the rows, 12 hexadecimal digits."""
    keys = {key: given.get(key, CORE[key]["default"]) for key in OF_ROWS}
    keys["decisions"] = given.get("decisions", DECISIONS)
    return digest([config_hash(config), keys])
