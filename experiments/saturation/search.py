"""The search for the highest load that is carried: one network, routing, pattern and seed."""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...simcore import ConfigError, __version__, results_version
from ...simcore._files import read_plain
from ..evaluation.bounds import bound_of
from ..evaluation.kinds import ExtendedKind
from ..results.files import require_writable, write_json
from ..running.one_run import prepare, with_table
from ..running.steady import measure_steady, shortest_ns
from ..terminal.progress import Report

KIND = "saturation"  # of its result, which has other fields than that of a simulation
_PROBES = "probes.json"
# Shortest warm-ups that a search may take in addition to `max_ns`, because `measure_steady` may repeat one.
_WARMUPS = 2.0
_LEAST_LOAD = 1e-3  # a network that does not carry this load has no saturation load

Probe = dict[str, Any]  # the result of one load, see `_probe`


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


class SaturationKind(ExtendedKind):
    """A search; the section `saturation` has its settings `precision`, `confidence` and `max_ns`."""

    section = KIND

    def folder(self, plain: Mapping[str, Any]) -> str:
        """See `Kind`. The load is the result."""
        return super().folder(plain).replace(f"_load{plain['traffic']['load']:g}_", "_")

    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        require_writable(directory)
        settings, began = plain[KIND], time.process_time()
        bound = bound_of(plain)
        high = 1.0 if bound is None else bound
        expected = 1 + math.ceil(math.log2(1 / settings["precision"]))
        # An interrupted search has left its loads. Those of another core do not count.
        file, search = directory / _PROBES, f"{self.identity(plain)} {results_version or __version__}"
        known = json.loads(read_plain(file)) if file.is_file() else {}
        probes: dict[float, Probe] = {}
        if known.get("search") == search:
            probes = {probe["load"]: probe for probe in known["probes"]}

        def probe(load: float) -> Probe:
            load, done = round(load, 6), len(probes)
            if load not in probes:
                probes[load] = _probe(
                    plain, load, lambda phase, part: report(phase, min(1.0, (done + part) / (expected + 1)))
                )
                write_json(file, {"search": search, "probes": list(probes.values())})
            return probes[load]

        bracket = bisect(lambda at: probe(at)["carried"], lambda at: probe(at)["accepted"], high, settings["precision"])
        low, high = (round(load, 6) for load in bracket)
        numbers = {
            "saturation_load": low,
            "refused_load": high,
            "saturation_accepted": probes[low]["accepted"] if low else None,
            "bound": bound,
            **{f"probe_{key}": [one[key] for one in probes.values()] for key in next(iter(probes.values()))},
            "cpu_seconds": time.process_time() - began,
        }
        self.write(plain, directory, prepare(plain), numbers)
        file.unlink()

    def cost(self, plain: Mapping[str, Any]) -> float:
        """See `Kind`. All searches have about the same number of loads."""
        return float(plain[KIND]["max_ns"])


SATURATIONS = SaturationKind()


def _probe(plain: Mapping[str, Any], load: float, report: Report) -> Probe:
    """Simulate one load: whether it is `carried`, and the means with the reason why the measurement ended."""
    settings, run = plain[KIND], plain["run"]
    simulation = with_table(prepare({**plain, "traffic": {**plain["traffic"], "load": load}}), plain)
    windows = {"warmup_ns": run["warmup_ns"], "window_ns": run["measure_ns"]}
    warmups = _WARMUPS * run["warmup_ns"]
    least = shortest_ns(simulation, **windows) - warmups
    if settings["max_ns"] < least:
        raise ConfigError(f"max_ns: {settings['max_ns']:g} ns is too short for one load; use at least {least:g}")
    limits = (settings["precision"], settings["confidence"], settings["max_ns"] + warmups)
    found = measure_steady(simulation, *limits, **windows, report=report)
    numbers = simulation.statistics()
    accepted, interval = numbers["accepted_load"], found.accepted_interval or (None, None)
    return {
        "load": load,
        # The source queues are stable, and the accepted load equals the offered one.
        "carried": not found.saturated and accepted >= (1 - settings["precision"]) * numbers["offered_load"],
        "accepted": accepted,
        "accepted_low": interval[0],
        "accepted_high": interval[1],
        "steady": found.steady,
        "reason": found.reason,
        "simulated_ns": simulation.time_ns,
        "latency_ns": numbers["packet_latency_mean_ns"],
    }
