"""Warnings about the numbers of a run, which are printed and stored in the result."""

import re
import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ...configs import core_failures, has_workload
from ...configs.policies import foreign_policy
from ...configs.warmup import cold_table
from ...simcore._window import cautions_of
from .copies import copies_text

_DOWN_NS = re.compile(r"@(\d+(?:\.\d*)?(?:[eE]\+?\d+)?)")  # of an event LINK@DOWN_NS, LINK@DOWN_NS-UP_NS...
_LEAST_ITERATIONS = 0.5  # below, the one iteration that remains is at least twice as long as `scale` says
_ROUNDED = 0.01  # of a time
_LEAST_OVERLAP = 0.5  # of the target's time


def cautions(config: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, str]:
    """The `warnings` of a result, by kind, from the configuration and the fields of the result so far.

    Returns:
        `cold_table`: a routing that learns was measured before its table had settled.
        `saturated`: the network accepted less than 97 % of the offered load.
        `drift`: the latency had not settled, although nothing changed.
        `not_steady`: a run with `run.precision` has not reached it.
        `replaced`: because of failures, the routing for any graph replaced the routing for this topology.
        `threads`: some of `run.threads` had nothing to do, or there are fewer partitions than `run.partitions`.
        `late_events`: some of `failures.events` come after the end of the run.
        `foreign_policy`: a policy file was trained on another kind of network.
        `rounding`: a time is no multiple of `router.cycle_ns`, so the run has another one.
        `scale`: a job keeps more of its iterations than `scale` says, since at least one remains.
        `overlap`: the background of a pair runs for less than half of the target's time.
        `long_iterations`: a single iteration of jobs of a queue exceeds the run time of the log.
    """
    found = {
        "cold_table": cold_table(config),
        **_of_window(config, numbers),
        "not_steady": None if numbers.get("steady", True) else f"not steady: {numbers['steady_reason']}",
        "replaced": _replaced(config, numbers),
        "threads": _threads(config, numbers),
        "late_events": late_events(config, numbers.get("simulated_ns")),
        "foreign_policy": foreign_policy(config["routing"], config["topology"]["name"]),
        "rounding": _rounding(numbers),
        "scale": _scale(numbers),
        "overlap": _overlap(config, numbers),
        "long_iterations": _long_iterations(numbers),
    }
    return {kind: text for kind, text in found.items() if text is not None}


def outages(events: Any) -> dict[str, float]:
    """The times in ns at which links go down, by the words of `failures.events`. The core checks the syntax."""
    words = events if isinstance(events, list) else [] if events is None else str(events).split(",")
    return {str(word).strip(): float(found[1]) for word in words if (found := _DOWN_NS.search(str(word)))}


def late_events(config: Mapping[str, Any], simulated_ns: float | None) -> str | None:
    """The warning about `failures.events` after the end of a run; None if there are none, or the end is unknown."""
    if simulated_ns is None:
        return None
    late = [event for event, down_ns in outages(core_failures(config).get("events")).items() if down_ns >= simulated_ns]
    if not late:
        return None
    return (
        f"failures.events: {', '.join(late)}: the run ended after {simulated_ns:,.0f} ns, before the link went down. "
        "The routing has VC classes for this failure all the same"
    )


def _rounding(numbers: Mapping[str, Any]) -> str | None:
    times = [time for time in numbers.get("facts", {}).get("rounding", ()) if abs(time["error"]) > _ROUNDED]
    texts = [
        f"{time['quantity']} = {time['ns']:g} ns becomes {time['ns'] * (1 + time['error']):g} ns" for time in times
    ]
    return f"router.cycle_ns: {'; '.join(texts)}, the nearest cycle" if texts else None


def _threads(config: Mapping[str, Any], numbers: Mapping[str, Any]) -> str | None:
    run, parts = config["run"], numbers.get("facts", {}).get("partitions", 1)
    threads, wanted = run["threads"], run["partitions"]
    if max(threads, wanted) <= parts:
        return None
    key = f"run.threads: {threads}" if threads > parts else f"run.partitions: {wanted}"
    if parts == wanted:
        return f"{key}, but run.partitions={wanted}"
    more = "" if wanted else "; see run.partitions"
    have = f"has only {parts} partitions" if parts > 1 else "is one partition"
    return f"{key}, but this network {have}{more}"


def say_cautions(name: str, results: Iterable[Mapping[str, Any]], silent: Collection[str] = ()) -> None:
    """Print the warnings of results on stderr: each kind once, with the number of runs if there are several.

    `silent` kinds are expected in these runs, such as `saturated` for curves beyond saturation.
    """
    every = list(results)
    by_kind: dict[str, list[str]] = {}
    for result in every:
        for kind, text in (result.get("warnings") or {}).items():
            by_kind.setdefault(kind, []).append(text)
    said = [texts for kind, texts in by_kind.items() if kind not in silent]
    several = [f"{len(texts)} of {len(every)} runs, for example: " * (len(every) > 1) + texts[0] for texts in said]
    for text in filter(None, [*several, copies_text(every)]):
        print(f"{name}: warning: {text}", file=sys.stderr, flush=True)


def _scale(numbers: Mapping[str, Any]) -> str | None:
    longer = [
        f"{job['name']} keeps 1 of {job['iterations']} iterations (scale={job['scale']:g})"
        for job in numbers.get("core_config", {}).get("workload", {}).get("jobs", ())
        if job.get("iterations", 1) * job.get("scale", 1.0) < _LEAST_ITERATIONS
    ]
    if not longer:
        return None
    return f"{', '.join(longer)}, since at least one remains; workload.size_scale shortens its messages"


def _overlap(config: Mapping[str, Any], numbers: Mapping[str, Any]) -> str | None:
    jobs = numbers.get("jobs") or {}
    if not has_workload(config) or config["workload"]["name"] != "pair" or len(jobs) != 2:
        return None
    now = numbers["simulated_ns"]
    times = [(job["start_ns"], now if job["finish_ns"] is None else job["finish_ns"]) for job in jobs.values()]
    (target, background), ((begin, end), (since, until)) = jobs, times
    both = max(0.0, min(end, until) - max(begin, since))
    if end <= begin or (part := both / (end - begin)) >= _LEAST_OVERLAP:
        return None
    return f"{background} runs for {part:.0%} of the time of {target}; give it more iterations, or {target} fewer"


def _long_iterations(numbers: Mapping[str, Any]) -> str | None:
    longer = numbers.get("queue", {}).get("jobs_longer", 0)
    if not longer:
        return None
    return (
        f"workload.motifs: {longer} jobs take more than twice their run time of the log, since an iteration is longer; "
        "use another motif, a smaller workload.size_scale or a larger workload.time_scale"
    )


def _replaced(config: Mapping[str, Any], numbers: Mapping[str, Any]) -> str | None:
    if not numbers.get("facts", {}).get("routing_replaced"):
        return None
    routing, topology = config["routing"]["name"], config["topology"]["name"]
    return (
        f"with failures, the {routing} for any graph replaces the {routing} for {topology} from cycle 0 on, with other "
        "paths and other VC classes; compare only with runs that have failures, too"
    )


def _of_window(config: Mapping[str, Any], numbers: Mapping[str, Any]) -> dict[str, str]:
    """The warnings about a window. If traffic or links change, or with large flows, its halves differ by themselves."""
    if numbers.get("changes_ns") or numbers.get("steady") is not None or numbers.get("jobs"):
        return {}
    found = cautions_of(numbers)
    if shows_start(config["run"]) or numbers.get("flows"):
        found.pop("drift", None)
    return found


def shows_start(run: Mapping[str, Any]) -> bool:
    """Whether a run records how a network settles: a time series without a warm-up, as `run=convergence`."""
    return bool(run["warmup_ns"] == 0 and run["series_interval_ns"] > 0)
