"""The `workload` section: its jobs on a network of a given size, and its identity."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..simcore import ConfigError, Program, exchange_of, read_matrix_market, registered
from ..simcore._core import motif_ranks, nodes
from ..simcore._files import read_plain
from ..simcore._words import refuse_unknown
from .queue import queue_jobs
from .traces import OPTIONS, file_hash, trace_hash, trace_of

Section = Mapping[str, Any]

# The six jobs of the interference study's mixed workload (SC'22) in placement order, and their ranks of 1,056.
MIXED = {"fft3d": 140, "cosmoflow": 138, "lu": 140, "ur": 139, "lqcd": 256, "stencil5d": 243}

# Keys of `run` that divide time into windows. A workload has none, since it ends with its jobs.
WINDOWS = {
    *("warmup_ns", "measure_ns", "drain", "drain_max_ns", "series_interval_ns"),
    *("precision", "confidence", "max_ns"),
}

# Values of keys that are off, with the keys that then have no effect. Neither reaches the core or the identity.
_OFF: dict[str, tuple[Any, ...]] = {
    "classes": ({},),
    "scheduler": ("none", "launch_ns"),
    "noise": ("none", "noise_variation"),
    "noise_slow_share": (0, "noise_slow_factor"),
    "noise_trace": ("",),
    "noise_skew_ns": (0,),
}


def has_workload(config: Mapping[Any, Any]) -> bool:
    """Whether jobs use the network instead of a traffic pattern."""
    return bool(config["workload"]["name"] != "none")


def core_workload(section: Section, sections: Section, failures: Section) -> dict[str, Any]:
    """The core's `workload` section: parameters and the list of jobs. `sections` are the core's other ones.

    Jobs use working terminals only, so `failures` (the core's section) and the seed that draws them count.
    """
    topology, seed = sections["topology"], sections["seed"]
    own = _without_off(section)
    parameters = {key: own[key] for key in registered("workload")["workload"]["params"] if key in own}
    per_node = {key: section[key] for key in ("ranks_per_node", "nics_per_node", "node_terminals")}
    available = section["ranks_per_node"] * nodes(dict(topology), dict(failures), seed, per_node)
    classes = {"classes": own["classes"]} if "classes" in own else {}
    jobs = (
        queue_jobs(section, available, sections, parameters)
        if section["name"] == "queue"
        else core_jobs(section, available)
    )
    return {**parameters, **classes, "jobs": jobs}


def core_jobs(section: Section, available: int) -> list[dict[str, Any]]:
    """The jobs of a `workload` section on a network with room for `available` ranks, in placement order."""
    where = "workload" if section["name"] == "trace" else ""
    return [_made_job(job, available, where) for job in _JOBS[section["name"]](section, available)]


def _made_job(given: Section, available: int, where: str) -> dict[str, Any]:
    where = where or f"workload.jobs.{_job_name(given)}"
    file = next((key for key in _PROGRAMS if key in given), None)
    if file is None:
        return _free_job(given)
    options, program = _PROGRAMS[file]
    refuse_unknown(f"{where} (with a {file})", given, (*_PLACE, file, *options), "key")
    if not isinstance(given[file], str):
        raise ConfigError(f"{where}.{file}: {given[file]!r} is not a path")
    place = {key: given[key] for key in _PLACE if key in given}
    return {**place, "name": _job_name(given), "program": program(given, where, available)}


def _without_off(section: Section) -> dict[str, Any]:
    off = {key: names for key, (value, *names) in _OFF.items() if section.get(key, value) in (value, None)}
    dropped = {*off, *(name for names in off.values() for name in names)}
    return {key: value for key, value in section.items() if key not in dropped}


def workload_identity(section: Section) -> dict[str, Any]:
    """The identity of a workload. A file counts by its content, not by its path."""
    identity = _without_off(section)
    if "noise_trace" in identity:
        identity["noise_trace"] = file_hash("workload.noise_trace", section["noise_trace"])
    if section["name"] == "queue" and section["file"]:
        identity["file"] = file_hash("workload.file", section["file"])
    if section["name"] in _MISSING:
        _name_in(section)  # an empty path is an error
        hash_of = trace_hash if section["name"] == "trace" else file_hash
        identity["file"] = hash_of("workload.file", section["file"])
    if section["name"] == "jobs":
        identity["jobs"] = [{**job, **_file_hashes(job)} for job in _mappings(section["jobs"])]
    return identity


def traces_of(section: Section) -> dict[str, dict[str, Any]]:
    """The facts for `result.json` about every trace of a workload, by the name of its job: contents and assumptions."""
    alone = section["name"] == "trace"
    facts = {}
    for job in _played(section, 0) if alone else section.get("jobs", []):
        if "trace_file" in job:
            trace = trace_of(job, "workload" if alone else f"workload.jobs.{_job_name(job)}")
            contents = {"format": trace.format, "ranks": trace.program.ranks, "counts": dict(trace.counts)}
            facts[_job_name(job)] = {**contents, "notes": list(trace.notes)}
    return facts


def _file_hashes(job: Section) -> dict[str, str]:
    hashes = {key: trace_hash if key == "trace_file" else file_hash for key in _PROGRAMS if key in job}
    return {key: hash_of(f"workload.jobs.{key}", str(job[key])) for key, hash_of in hashes.items()}


def workload_label(section: Section) -> str:
    """A short name for folders and figures, e.g. `pair-fft3d-halo3d`."""
    name, words = section["name"], []
    if name in _MISSING:
        words = [_name_in(section)]
    elif name == "jobs":
        words = [_job_name(job) for job in _mappings(section["jobs"])]
    elif name == "queue":
        words = [_name_of(section["file"]) if section["file"] else "drawn", section["scheduler"], section["placement"]]
    elif name != "mixed":
        words = [section[key] for key in ("target", "background", "phase") if key in section]
    if len(words) > 4:
        words = [str(len(words))]
    return "-".join(re.sub(r"[^\w.]+", "_", str(word)) for word in [name, *words])


def file_word(label: str, longest: int) -> str:
    """A label as part of a folder's name: safe characters only, at most `longest` of them."""
    word = re.sub(r"[^\w.-]+", "_", label, flags=re.ASCII)
    return word if len(word) <= longest else f"{word[:longest]}..."


def refuse_unused(config: Mapping[Any, Any], overrides: Iterable[str]) -> None:
    """Refuse overrides of traffic and windows with a workload, since they would have no effect."""
    jobs, listed = has_workload(config), config["traffic"]["name"] == "flows" and config["traffic"]["file"]
    if not jobs and not listed:
        return
    option = f"workload={config['workload']['name']}" if jobs else "traffic.file"
    if jobs and config["run"]["precision"] > 0:
        raise ConfigError(
            f"run.precision: {option} ends with its jobs, so it has no steady state; leave out run=steady and "
            "run.precision"
        )
    for override in overrides:
        section, _, key = override.lstrip("+~").split("=", 1)[0].split("@", 1)[0].partition(".")
        if jobs and section == "traffic":
            raise ConfigError(f"{override}: with {option} the jobs are the traffic; leave it out, or use workload=none")
        if section == "run" and key in WINDOWS:
            if not jobs and key == "series_interval_ns":
                continue
            end = "jobs end; see workload.max_ns and workload.series_interval_ns" if jobs else "flows are complete"
            raise ConfigError(f"{override}: a run with {option} has no windows, it runs until its {end}")


def _pair(section: Section, available: int) -> list[dict[str, Any]]:
    target, background = section["target"], section["background"]
    motifs = registered("motif").keys()
    refuse_unknown("workload.target", [target], motifs, "motif")
    refuse_unknown("workload.background", [background], {*motifs, "none"}, "motif")
    half = _whole_nodes(section, available // 2)
    jobs = [_job(target, target, half, section, "target_params", section["target_params"])]
    if background != "none":
        name = background if background != target else f"{background}_background"
        jobs.append(_job(name, background, half, section, "background_params", section["background_params"]))
    return jobs


def _mixed(section: Section, available: int) -> list[dict[str, Any]]:
    given, whole = section["params"], sum(MIXED.values())
    refuse_unknown("workload.params", given, MIXED, "job")
    for motif, parameters in given.items():
        if not isinstance(parameters, Mapping):
            raise ConfigError(f"workload.params.{motif}: {parameters!r} is not a mapping; write {{iterations: 2}}")
    jobs = []
    for motif, part in MIXED.items():
        ranks = _whole_nodes(section, available * part // whole)
        jobs.append(_job(motif, motif, ranks, section, f"params.{motif}", given.get(motif, {})))
    return jobs


def _whole_nodes(section: Section, share: int) -> int:
    # The ranks of the nodes that a job's share fills. Jobs do not share nodes, and each job has at least one.
    per_node = int(section["ranks_per_node"])
    return share if per_node == 1 else max(share // per_node, 1) * per_node


def _stencil27(section: Section, available: int) -> list[dict[str, Any]]:
    parameters = {key: section[key] for key in registered("motif")["stencil27"]["params"]}
    return [_job("stencil27", "stencil27", available, section, "stencil27", parameters)]


def _job(name: str, motif: str, available: int, section: Section, key: str, parameters: Section) -> dict[str, Any]:
    # Parameters are checked here, because the core's message would name a job that the user did not write.
    own = [word for word in parameters if word not in ("name", "motif", "terminals")]
    refuse_unknown(f"workload.{key}", own, registered("motif")[motif]["params"], "key")
    # The largest number of ranks within the share that the motif can use, unless the parameters set `ranks`.
    job = {"name": name, "motif": motif, "scale": section["scale"], "size_scale": section["size_scale"], **parameters}
    if not job.get("ranks"):
        job["ranks"] = motif_ranks(motif, available)
    return job


def _played(section: Section, available: int) -> list[Section]:
    # The only job of `workload=goal` or `workload=trace`, which have a file.
    file = f"{section['name']}_file"
    given = {key: section[key] for key in ("start_ns", *_PROGRAMS[file][0])}
    return [{"name": _name_in(section), file: section["file"], **given}]


def _free_job(given: Section) -> dict[str, Any]:
    job = dict(given)
    if "name" in job:
        job["name"] = str(job["name"])
    if own := _terminals_of(job):
        job.setdefault("ranks", own)
    if job.get("ranks") == 0:
        raise ConfigError(f"workload.jobs.{_job_name(job)}.ranks: 0; a job has at least one rank")
    return job


def _terminals_of(job: Section) -> int:
    """The length of a job's list of terminals, which is its number of ranks; 0 without a list."""
    own = job.get("terminals")
    return len(own) if isinstance(own, list) else 0


def _goal_program(given: Section, where: str, available: int) -> Program:
    # Passed as bytes, so that the GOAL parser reports line and column. Some editors begin a file with a byte order
    # mark.
    path = given["goal_file"]
    return Program.goal(read_plain(path).removeprefix(b"\xef\xbb\xbf"), path)


def _matrix_program(given: Section, where: str, available: int) -> Program:
    path, numbers = given["matrix_file"], {**_MATRIX, **{key: given[key] for key in _MATRIX if key in given}}
    for key, value in numbers.items():
        if key in given and (not isinstance(value, int) or value < 1):
            raise ConfigError(f"{where}.{key}: {value!r} is not a whole number of at least 1")
    matrix = read_matrix_market(path)
    # The default is a rank per row, but at most one per terminal.
    ranks = numbers["ranks"] or _terminals_of(given) or min(matrix.shape[0], available)
    try:
        exchanged = exchange_of(matrix, ranks, numbers["bytes_per_value"])
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    if exchanged.nnz == 0:
        raise ConfigError(f"{where}: {path}: its {ranks} ranks send each other nothing")
    return Program.exchange(exchanged, numbers["iterations"])


# The keys of a job that plays a file, besides those of its place. The file sets the number of ranks.
_MATRIX = {"ranks": 0, "bytes_per_value": 8, "iterations": 1}  # and their defaults
_PROGRAMS: dict[str, tuple[Iterable[str], Callable[[Section, str, int], Program]]] = {
    "goal_file": ((), _goal_program),
    "matrix_file": (_MATRIX, _matrix_program),
    "trace_file": (("format", *OPTIONS), lambda given, where, available: trace_of(given, where).program),
}
_PLACE = ("name", "terminals", "start_ns", "estimate_ns")
_JOBS: dict[str, Callable[[Section, int], Sequence[Section]]] = {
    "pair": _pair,
    "mixed": _mixed,
    "stencil27": _stencil27,
    "goal": _played,
    "trace": _played,
    "jobs": lambda section, available: _mappings(section["jobs"]),
}


_MISSING = {
    "goal": "a file in GOAL's text form, workload.file=schedule.goal",
    "trace": "a trace, workload.file=<file, or folder with one file per rank>",
}


def _name_in(section: Section) -> str:
    """The name of the job of `workload=goal` or `workload=trace`."""
    if not section["file"]:
        raise ConfigError(f"workload.file: name {_MISSING[section['name']]}")
    return str(section["job"] or _name_of(section["file"]))


def _job_name(job: Section) -> str:
    files = (str(job[key]) for key in _PROGRAMS if key in job)
    return str(job.get("name") or job.get("motif") or _name_of(next(files, "job")))


def _name_of(path: str) -> str:
    # The core allows letters, digits, _ and - in the name of a job.
    return re.sub(r"[^\w-]+", "_", Path(str(path)).stem, flags=re.ASCII)


def _mappings(jobs: list[Any]) -> list[Section]:
    for job in jobs:
        if not isinstance(job, Mapping):
            raise ConfigError(f"workload.jobs: {job!r} is not a mapping; write {{motif: halo3d, ranks: 64}}")
    return jobs
