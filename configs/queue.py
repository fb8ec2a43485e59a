"""The jobs of `workload=queue`: from a log in the Standard Workload Format, or drawn from distributions.

Feitelson's archive defines the format: a line per job with 18 numbers, comments that begin with a semicolon.
"""

import json
import math
import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ..simcore import ConfigError, Simulation, registered
from ..simcore._core import motif_ranks
from ..simcore._files import read_plain
from ..simcore._words import refuse_unknown

Section = Mapping[str, Any]
_FIELDS = 18
_MOST = 255  # jobs of a workload
_NUMBER, _SUBMIT, _RUN, _ALLOCATED, _REQUESTED, _EXPECTED = 0, 1, 3, 4, 7, 8


class Request(NamedTuple):
    """A job as the log gives it. Times are in ns of the simulation."""

    name: str
    submit_ns: float
    run_ns: float
    estimate_ns: float
    ranks: int
    place: str  # for messages


def queue_jobs(section: Section, available: int, sections: Section, parameters: Section) -> list[dict[str, Any]]:
    """The jobs in the order of their submission. Each one runs a motif for about the run time of its request.

    Args:
        section: the keys of `workload`.
        available: ranks for which the network has room.
        sections: the other sections of the core, for runs of the motifs alone.
        parameters: the core's keys of the section `workload`.

    Raises:
        ConfigError: a line of the log is wrong, or a job is larger than the network.
    """
    _check(section)
    requests = requests_of(section, available, sections["seed"])
    if not requests:
        raise ConfigError(f"workload.file: {section['file']} has no job with a run time and processors")
    if len(requests) > _MOST:
        raise ConfigError(f"workload.count: {len(requests)} jobs exceed the maximum of {_MOST}")
    generator = random.Random(f"{sections['seed']} motifs")
    motifs = [generator.choice(section["motifs"]) for _ in requests]
    return [_job(*each, section, available, sections, parameters) for each in zip(requests, motifs, strict=True)]


def requests_of(section: Section, available: int, seed: int) -> list[Request]:
    """The jobs as the log gives them, or as they are drawn."""
    return list(_logged(section) if section["file"] else _drawn(section, available, seed))


def _job(
    request: Request, motif: Any, section: Section, available: int, sections: Section, parameters: Section
) -> dict[str, Any]:
    if request.ranks > available:
        raise ConfigError(
            f"{request.place}: job {request.name} needs {request.ranks} ranks, but the network has room for "
            f"{available}; lower workload.ranks_per_processor"
        )
    own = dict(motif) if isinstance(motif, Mapping) else {"motif": motif}
    motifs = {name for name, spec in registered("motif").items() if "iterations" in spec["params"]}
    refuse_unknown("workload.motifs", [own.get("motif")], motifs, "iterating motif")
    times = {"start_ns": request.submit_ns, "estimate_ns": request.estimate_ns}
    ranks = motif_ranks(own["motif"], request.ranks)
    if ranks == 1:  # it sends nothing
        compute = {"motif": "collective", "ranks": 1, "iterations": 1, "compute_ns": round(request.run_ns)}
        return {"name": request.name, **compute, **times}
    job = {**own, "ranks": ranks, "size_scale": section["size_scale"]}
    # All routings and controls get the same jobs.
    simplest = {key: value for key, value in sections.items() if key != "congestion_control"}
    once, further = iteration_times({**simplest, "routing": {"name": "minimal"}}, parameters, job)
    job["iterations"] = max(1, 1 + round((request.run_ns - once) / further))
    return {"name": request.name, **job, **times}


def iteration_times(sections: Section, parameters: Section, job: Section) -> tuple[float, float]:
    """The run time of one iteration of a job alone on the network, and of each further one.

    The placement is linear. The job runs without noise and without traffic classes.
    """
    if job["ranks"] == 1:
        return float(job["compute_ns"]), 0.0
    alone = {key: value for key, value in parameters.items() if not key.startswith(("noise", "classes"))}
    alone |= {"scheduler": "none", "placement": "linear", "blame": False, "message_matrix": False}
    router = {key: value for key, value in sections["router"].items() if key != "classes"}
    one, two = (
        _run_alone(json.dumps({**sections, "router": router, "workload": {**alone, "jobs": [one_job]}}, sort_keys=True))
        for one_job in ({**job, "iterations": 1}, {**job, "iterations": 2})
    )
    return one, two - one


@lru_cache(maxsize=4096)
def _run_alone(config: str) -> float:
    simulation = Simulation(json.loads(config))
    simulation.run_workload(2**32)
    (job,) = simulation.jobs()
    if job["finish_ns"] is None:
        raise ConfigError(f"workload.motifs: two iterations of {job['motif']} alone take more than 2^32 cycles")
    return float(job["finish_ns"])


def _check(section: Section) -> None:
    if section["scheduler"] == "none":
        raise ConfigError("workload.scheduler: none; a queue needs first_come or backfilling")
    if not section["motifs"]:
        raise ConfigError("workload.motifs: the list is empty")
    for key in ("time_scale", "ranks_per_processor", "interarrival_ns", "run_ns", "estimate_factor"):
        if not (math.isfinite(section[key]) and section[key] > 0):
            raise ConfigError(f"workload.{key}: {section[key]} is no number above 0")
    for key in ("skip", "count", "max_ranks", "run_variation"):
        if not section[key] >= 0:
            raise ConfigError(f"workload.{key}: {section[key]} is below 0")


def _drawn(section: Section, available: int, seed: int) -> Iterator[Request]:
    # Arrivals of a Poisson process, sizes of powers of two, and log-normal run times with the given mean.
    generator, now = random.Random(f"{seed} jobs"), 0.0
    largest = int(math.log2(max(2, section["max_ranks"] or available // 2)))
    sigma = math.sqrt(math.log(1 + section["run_variation"] ** 2))
    for number in range(1, (section["count"] or 20) + 1):
        run = section["run_ns"] * generator.lognormvariate(-(sigma**2) / 2, sigma)
        ranks = 2 ** generator.randint(1, largest)
        yield Request(f"job{number}", now, run, run * section["estimate_factor"], ranks, "workload.max_ranks")
        now += generator.expovariate(1 / section["interarrival_ns"])


def _logged(section: Section) -> Iterator[Request]:
    first: float | None = None
    before, taken, left_out = 0.0, 0, section["skip"]
    scale, names = section["time_scale"], set[str]()
    for number, line in enumerate(read_plain(section["file"]).decode("utf-8", "replace").splitlines(), 1):
        words, place = line.partition(";")[0].split(), f"workload.file: {section['file']}:{number}"
        if not words:
            continue
        try:
            values = [float(word) for word in words]
        except ValueError:
            values = [math.nan]
        if not all(map(math.isfinite, values)):
            raise ConfigError(f"{place}: '{line[:80]}' has a word that is not a number")
        if len(values) != _FIELDS:
            raise ConfigError(f"{place}: {len(values)} numbers, but the Standard Workload Format has {_FIELDS}")
        submit, run, processors = values[_SUBMIT], values[_RUN], values[_ALLOCATED]
        if submit < before:
            raise ConfigError(f"{place}: the submit time {submit:g} is before that of an earlier line, {before:g}")
        before = submit
        processors = processors if processors > 0 else values[_REQUESTED]
        if run <= 0 or processors <= 0:  # a job that was cancelled before its start
            continue
        if left_out > 0:
            left_out -= 1
            continue
        if taken == section["count"] > 0:
            return
        taken += 1
        first = submit if first is None else first
        expected = values[_EXPECTED] if values[_EXPECTED] > 0 else run * section["estimate_factor"]
        ranks = math.ceil(processors * section["ranks_per_processor"])
        name, since = f"job{values[_NUMBER]:.0f}", submit - first
        if name in names:
            raise ConfigError(f"{place}: the job number {values[_NUMBER]:.0f} is that of an earlier line")
        names.add(name)
        yield Request(name, since * scale, run * scale, expected * scale, ranks, place)
