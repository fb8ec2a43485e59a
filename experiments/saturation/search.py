"""The search for the highest load that is carried: one network, routing, pattern and seed."""

import hashlib
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ...configs import config_hash, run_id
from ...simcore import ConfigError, __version__, results_version
from ...simcore._files import read_plain
from ...simcore.plugins import versions
from ..evaluation.plan import Trial
from ..results.files import DamagedError, finished, read_with_care, require_writable, write_json, write_result
from ..running.one_run import prepare
from ..running.plan import Composers, PlannedRun, SimulationKind, expand
from ..running.steady import measure_steady, shortest_ns
from ..terminal.progress import Report
from .bounds import bound_of

KIND = "saturation"  # of its result, which has other fields than that of a simulation
_PROBES = "probes.json"
_SECTION = "saturation"  # of the configuration of a search
_WARMUPS = (
    2.0  # shortest warm-ups that a search may take in addition to `max_ns`, because `measure_steady` may repeat one
)
_LEAST_LOAD = 1e-3  # a network that does not carry this load has no saturation load


@dataclass(frozen=True)
class Probe:
    """One simulated load.

    Args:
        load: Offered, flits per terminal per flit time.
        carried: Whether the source queues are stable, and the accepted load equals the offered one.
        accepted: Accepted load.
        accepted_low: Lower end of its interval.
        accepted_high: Upper end.
        steady: Whether the intervals are narrow enough.
        reason: A sentence that explains `steady`.
        simulated_ns: Simulated time.
        latency_ns: Mean packet latency in the window.
    """

    load: float
    carried: bool
    accepted: float
    accepted_low: float | None
    accepted_high: float | None
    steady: bool
    reason: str
    simulated_ns: float
    latency_ns: float


_COLUMNS = tuple(field.name for field in fields(Probe))


@dataclass(frozen=True)
class Search(Trial):
    """One search; its run is the PlannedRun of the whole search."""

    network: str

    @property
    def pair(self) -> str:
        """The network, the policy and the pattern, for messages."""
        return f"{self.network}, {super().pair}"

    @property
    def labels(self) -> dict[str, str]:
        """The columns that identify the search and are missing from its configuration."""
        return {"network": self.network, **super().labels}


def bisect(
    carried: Callable[[float], bool], accepted: Callable[[float], float], high: float, precision: float
) -> tuple[float, float]:
    """Bracket the highest carried load.

    A saturated network often accepts about its saturation load. The search therefore continues near the accepted load
    at `high`. It doubles its steps until it has both a carried and a refused load there, and then halves the bracket.

    Args:
        carried: Whether a load is carried.
        accepted: The accepted load at a load that was not carried.
        high: Upper end of the search.
        precision: Largest width of the bracket, relative to its upper end.

    Returns:
        The highest load that was carried (0: none) and the lowest one that was not. Both are `high` if it is carried.
    """
    if carried(high):
        return high, high
    low, refused = 0.0, False
    load = max(_LEAST_LOAD, min(accepted(high) * (1 + precision / 2), high * (1 - precision)))
    step = 0.99 * precision * load  # less than `precision`, because loads are rounded
    while high - low > precision * high and high > _LEAST_LOAD:
        if carried(load):
            low = load
        else:
            high, refused = load, True
        load = middle = (low + high) / 2
        if not refused:
            load = min(low + step, middle)
        elif not low:
            load = max(high - step, middle)
        step *= 2
    return low, high


class SaturationKind(SimulationKind):
    """A search. Its configuration is that of a simulation, and a section with the settings of the search."""

    def folder(self, plain: Mapping[str, Any]) -> str:
        """See `Kind`."""
        name = run_id(_root_=plain).rpartition("_")[0].replace(f"_load{plain['traffic']['load']:g}_", "_")
        return f"{name}_{_identity(plain)}"

    def finished(self, plain: Mapping[str, Any], directory: Path) -> dict[str, Any] | None:
        """See `Kind`."""
        return finished(directory, _identity(plain), __version__, results_version)

    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        """See `Kind`."""
        require_writable(directory)
        _search(plain, directory, report)

    def cost(self, plain: Mapping[str, Any]) -> float:
        """See `Kind`. All searches have about the same number of loads."""
        return float(plain[_SECTION]["max_ns"])


SATURATIONS = SaturationKind()


def search_of(trial: Trial, network: str, settings: Mapping[str, float]) -> Search:
    """The search in place of a planned simulation.

    Args:
        trial: A pattern at any load.
        network: The name of the network.
        settings: As in `planned`.
    """
    run = planned(trial.run.plain, trial.run.directory.parent, settings)
    return Search(trial.policy, trial.scenario, run, network)


def planned(plain: Mapping[str, Any], directory: Path, settings: Mapping[str, float]) -> PlannedRun:
    """The search in place of a simulation.

    Args:
        plain: The configuration of the simulation at any load.
        directory: The parent of the folder of the search.
        settings: `precision`, `confidence` and `max_ns`.
    """
    plain = {**plain, _SECTION: dict(settings)}
    return PlannedRun(plain, directory / SATURATIONS.folder(plain), SATURATIONS)


def expand_with_searches(
    common: Sequence[str], blocks: Iterable[Mapping[str, Any]], directory: Path
) -> list[PlannedRun]:
    """Every run of a sweep, as `expand` gives them. Blocks with `command: saturate` are searches.

    Args:
        common: Hydra overrides of every run.
        blocks: As in `expand`. A block of searches has their settings in `search`.
        directory: The parent of the folders of the runs.
    """
    composers, found = Composers(), []
    for block in blocks:
        runs = expand(common, [block], directory, composers)
        if block.get("command") == "saturate":
            runs = [planned(run.plain, directory, block["search"]) for run in runs]
        found += runs
    return found


def _identity(plain: Mapping[str, Any]) -> str:
    """A hash that is equal for equal searches, 12 hexadecimal digits."""
    text = json.dumps([config_hash(plain), plain[_SECTION]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _search(plain: dict[str, Any], directory: Path, report: Report) -> None:
    settings, identity, began = plain[_SECTION], _identity(plain), time.process_time()
    bound = bound_of(plain)
    high = 1.0 if bound is None else bound
    search = f"{identity} {results_version or __version__}"  # loads of another core do not count
    probes = _known(directory / _PROBES, search)
    expected = 1 + math.ceil(math.log2(1 / settings["precision"]))

    def probe(load: float) -> Probe:
        load = round(load, 6)
        done = len(probes)
        if load not in probes:
            probes[load] = _probe(
                plain, load, lambda phase, part: report(phase, min(1.0, (done + part) / (expected + 1)))
            )
            write_json(directory / _PROBES, {"search": search, "probes": [asdict(p) for p in probes.values()]})
        return probes[load]

    bracket = bisect(lambda load: probe(load).carried, lambda load: probe(load).accepted, high, settings["precision"])
    low, high = (round(load, 6) for load in bracket)
    simulation = prepare(OmegaConf.create(plain))
    write_result(
        directory,
        {
            "kind": KIND,
            "saturation_load": low,
            "refused_load": high,
            "saturation_accepted": probes[low].accepted if low else None,
            "bound": bound,
            **{f"probe_{key}": [getattr(probe, key) for probe in probes.values()] for key in _COLUMNS},
            "cpu_seconds": time.process_time() - began,
            "jobs": {},
            "version": __version__,
            "results_version": results_version,
            "plugins": versions(simulation.facts()["plugins"]),
            "files": {},
            "facts": simulation.facts(),
            "config_hash": identity,
            "config": plain,
            "core_config": simulation.configuration(),
            "warnings": {},
        },
    )
    (directory / _PROBES).unlink(missing_ok=True)


def _known(path: Path, search: str) -> dict[float, Probe]:
    """The loads that an interrupted search has simulated, from its file."""
    if not path.is_file():
        return {}
    try:
        with read_with_care(path):
            known = json.loads(read_plain(path))
            probes = [Probe(**probe) for probe in known["probes"]] if known["search"] == search else []
    except DamagedError as error:
        print(f"{error}; the search starts again", file=sys.stderr, flush=True)
        return {}
    return {probe.load: probe for probe in probes}


def _probe(plain: Mapping[str, Any], load: float, report: Report) -> Probe:
    """Simulate one load."""
    settings, config = plain[_SECTION], OmegaConf.create(dict(plain))
    config.traffic.load = load
    simulation = prepare(config)
    if config.run.load_q_table is not None:
        simulation.load_q_table(config.run.load_q_table)
    simulation.q_frozen = config.run.freeze_q_table
    warmups = _WARMUPS * config.run.warmup_ns
    least = shortest_ns(simulation, config.run.warmup_ns, config.run.measure_ns) - warmups
    if settings["max_ns"] < least:
        raise ConfigError(f"max_ns: {settings['max_ns']:g} ns is too short for one load; use at least {least:g}")
    found = measure_steady(
        simulation,
        settings["precision"],
        settings["confidence"],
        settings["max_ns"] + warmups,
        warmup_ns=config.run.warmup_ns,
        window_ns=config.run.measure_ns,
        report=report,
    )
    numbers = simulation.statistics()
    accepted = numbers["accepted_load"]
    low, high = found.accepted_interval or (None, None)
    carried = not found.saturated and accepted >= (1 - settings["precision"]) * numbers["offered_load"]
    latency = numbers["packet_latency_mean_ns"]
    return Probe(load, carried, accepted, low, high, found.steady, found.reason, simulation.time_ns, latency)
