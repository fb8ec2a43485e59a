"""The typed schema of the configuration. In the core, the parameters of a component are declared next to its code.

Every registered name becomes a Hydra group option with a structured config made from its parameter list. So a misspelt
key or a value of a wrong type is refused before a run begins, and a new component needs no edit here.
"""

from dataclasses import dataclass, field, make_dataclass
from functools import partial
from typing import Any

from omegaconf import MISSING, DictConfig, OmegaConf

from ..simcore import registered
from .identity import run_id, study_folder
from .policies import shipped_policy
from .source import offer
from .warmup import warmup_ns

KINDS = ("topology", "router", "routing", "traffic")
GROUPS = (*KINDS, "workload")
WORKLOADS = ("pair", "mixed", "stencil27", "goal", "trace", "jobs")
FAILING = ("links", "routers", "terminals", "events")  # keys of `failures` other than its seed

_TYPES: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "list_int": list[int],
    "list_float": list[float],
}


@dataclass
class Run:
    """Length and records of a simulation; times in ns. `run/standard.yaml` has the values and explains the keys."""

    warmup_ns: float = MISSING
    measure_ns: float = MISSING
    precision: float = MISSING
    confidence: float = MISSING
    max_ns: float = MISSING
    drain: bool = MISSING
    drain_max_ns: float = MISSING
    series_interval_ns: float = MISSING
    channels: bool = MISSING
    load_q_table: str | None = MISSING
    freeze_q_table: bool = MISSING
    save_q_table: bool = MISSING
    max_memory_gb: float = MISSING
    threads: int = MISSING
    partitions: int = MISSING
    overwrite: bool = MISSING


@dataclass
class Workload:
    """The time limit and the records of a run of jobs. The core's parameters of a workload are added."""

    max_ns: float = MISSING
    series_interval_ns: float = MISSING
    map_interval_ns: float = MISSING


@dataclass
class Pair(Workload):
    """Keys of `workload/pair.yaml`."""

    target: str = MISSING
    background: str = MISSING
    scale: float = MISSING
    size_scale: float = MISSING
    target_params: dict[str, Any] = field(default_factory=dict)
    background_params: dict[str, Any] = field(default_factory=dict)
    ends_with: str = MISSING


@dataclass
class Mixed(Workload):
    """Keys of `workload/mixed.yaml`."""

    scale: float = MISSING
    size_scale: float = MISSING
    params: dict[str, Any] = field(default_factory=dict)


@dataclass
class Goal(Workload):
    """Keys of `workload/goal.yaml`."""

    file: str = MISSING
    job: str = MISSING
    start_ns: float = MISSING


@dataclass
class Trace(Goal):
    """Keys of `workload/trace.yaml`."""

    format: str = MISSING
    replicate: int = MISSING
    collective: str = MISSING
    size_scale: float = MISSING


@dataclass
class Jobs(Workload):
    """Keys of `workload/jobs.yaml`. The core checks the keys of a job."""

    jobs: list[Any] = MISSING


@dataclass
class Failures:
    """Failed components. `config.yaml` explains the keys; the core checks their values."""

    links: Any = None
    routers: Any = None
    terminals: Any = None
    seed: int | None = None
    events: Any = None


@dataclass
class Plot:
    """The picture of a sweep. `plot.py` lists its formats."""

    format: Any = MISSING


@dataclass
class Experiment:
    """The root of the configuration: one section per kind of component, and the keys of the run."""

    study: str = MISSING
    seed: int = MISSING
    topology: Any = MISSING
    router: Any = MISSING
    routing: Any = MISSING
    traffic: Any = MISSING
    workload: Any = MISSING
    failures: Failures = field(default_factory=Failures)
    run: Run = field(default_factory=Run)
    plot: Plot = field(default_factory=Plot)


@dataclass
class Regret:
    """The section `regret` of `evaluate.yaml`, which explains the keys."""

    decisions: int = MISSING
    sample_fraction: float = MISSING
    horizon_ns: float = MISSING
    slots: int = MISSING
    candidates: str = MISSING
    other_packets: str = MISSING
    threads: int = MISSING


@dataclass
class Evaluation:
    """The root of `evaluate.yaml`, which explains the keys. Entries of the lists are words or mappings."""

    study: str = MISSING
    measure: str = MISSING
    routings: list[Any] = MISSING
    reference: str | None = MISSING
    patterns: list[Any] | None = MISSING
    loads: list[float] = MISSING
    traffic: dict[str, Any] = field(default_factory=dict)
    workloads: list[Any] = MISSING
    workload: dict[str, Any] = field(default_factory=dict)
    seeds: list[int] = MISSING
    confidence: float = MISSING
    workers: int | None = MISSING
    regret: Regret = field(default_factory=Regret)
    topology: Any = MISSING
    router: Any = MISSING
    failures: Failures = field(default_factory=Failures)
    run: Run = field(default_factory=Run)


@dataclass
class Saturation:
    """The root of `saturate.yaml`, which explains the keys."""

    study: str = MISSING
    networks: list[str] = MISSING
    routings: list[Any] = MISSING
    reference: str | None = MISSING
    patterns: list[Any] = MISSING
    topology: dict[str, Any] = field(default_factory=dict)
    traffic: dict[str, Any] = field(default_factory=dict)
    seeds: list[int] = MISSING
    precision: float = MISSING
    max_ns: float = MISSING
    confidence: float = MISSING
    workers: int | None = MISSING
    router: Any = MISSING
    failures: Failures = field(default_factory=Failures)
    run: Run = field(default_factory=Run)


@dataclass
class Scoring:
    """The root of `benchmark.yaml`, which explains the keys."""

    suite: str | None = MISSING
    routings: list[Any] = MISSING
    tasks: list[str] | None = MISSING
    baselines: str = MISSING
    record: str | None = MISSING
    results: str = MISSING
    confidence: float = MISSING
    resamples: int = MISSING
    workers: int | None = MISSING


def component_schema(kind: str, name: str) -> type:
    """The structured config of one registered component.

    Args:
        kind: One of `KINDS`, or `engine`.
        name: The registered name, e.g. `q_adaptive`.

    Returns:
        A dataclass with the field `name` and one typed field per parameter, with the core's default.
    """
    params = registered(kind)[name]["params"]
    return make_dataclass(f"{kind}_{name}", [("name", str, field(default=name)), *_fields(params)])


def workload_schemas() -> dict[str, type]:
    """The structured config of every option of the group `workload`: its keys and the core's parameters."""
    core = registered("workload")["workload"]["params"]
    motif = registered("motif")["stencil27"]["params"]
    own: dict[str, tuple[type, dict[str, Any]]] = {
        "pair": (Pair, {}),
        "mixed": (Mixed, {}),
        "stencil27": (Workload, motif),
        "goal": (Goal, {}),
        "trace": (Trace, {}),
        "jobs": (Jobs, {}),
    }
    return {
        name: make_dataclass(
            f"workload_{name}",
            [("name", str, field(default=name)), *_fields(params), *_fields(core)],
            bases=(base,),
        )
        for name, (base, params) in own.items()
    }


def _fields(params: dict[str, dict[str, Any]]) -> list[tuple[str, Any, Any]]:
    fields = []
    for key, spec in params.items():
        default, kind = spec["default"], _TYPES[spec["type"]]
        initial = field(default_factory=partial(list, default)) if isinstance(default, list) else field(default=default)
        fields.append((key, kind | None if default is None else kind, initial))
    return fields


def register_schema() -> None:
    """Offer the root schema and all registered components to Hydra, and register the resolvers; safe to repeat."""
    OmegaConf.register_new_resolver("run_id", run_id, replace=True)
    OmegaConf.register_new_resolver("study_folder", study_folder, replace=True)
    OmegaConf.register_new_resolver("warmup_ns", warmup_ns, replace=True)
    OmegaConf.register_new_resolver("shipped_policy", shipped_policy, replace=True)
    offer("experiment", Experiment)
    offer("evaluation", lambda: _open(Evaluation, "traffic", "workload"))
    offer("scoring", Scoring)
    offer("saturation", lambda: _open(Saturation, "topology", "traffic"))
    for kind in KINDS:
        for name in registered(kind):
            offer(f"{kind}/{name}", partial(component_schema, kind, name))
    # The options of this group are YAML files with these types.
    offer("hydra/schema/workload/none", lambda: make_dataclass("workload_none", [("name", str, "none")]))
    for name in WORKLOADS:
        offer(f"hydra/schema/workload/{name}", partial(_workload_node, name))


def _open(schema: type, *keys: str) -> DictConfig:
    """The node of a schema whose sections `keys` accept any key; the code that reads such a section checks its keys."""
    node: DictConfig = OmegaConf.structured(schema)
    for key in keys:
        if key in node:
            OmegaConf.set_struct(node[key], False)
    return node


def _workload_node(name: str) -> DictConfig:
    return _open(workload_schemas()[name], "target_params", "background_params", "params")
