"""Handmade rows of sweeps in the form of `rows.parquet`, for tests of figures and comparisons."""

from typing import Any

# The keys of three routings. Each routing has keys that the others lack.
ROUTINGS: dict[str, dict[str, Any]] = {
    "minimal": {"routing.name": "minimal"},
    "par": {"routing.name": "par", "routing.threshold": 2.0},
    "ugal_group": {"routing.name": "ugal_group", "routing.threshold": 2.0, "routing.hop_weighted": False},
    "ugal_l": {
        "routing.name": "ugal_group",
        "routing.threshold": 1.0,
        "routing.hop_weighted": True,
        "routing.bias_flits": 0.0,
    },
    "dqn": {"routing.name": "policy", "routing.path": "policies/dqn.safetensors"},
    "flitgym_marginal": {"routing.name": "policy", "routing.path": "policies/flitgym_marginal.safetensors"},
}
DRAGONFLIES: dict[str, dict[str, Any]] = {
    f"dragonfly_{terminals}": {
        "topology.name": "dragonfly",
        "topology.terminals_per_router": h,
        "topology.routers_per_group": 2 * h,
        "topology.global_ports": h,
        "topology.groups": 2 * h * h + 1,
        "topology.arrangement": "absolute",
    }
    for h, terminals in ((2, 72), (3, 342))
}


def traffic_row(routing: str, load: float, seed: int = 1, latency: float | None = None, **more: Any) -> dict[str, Any]:
    """A run of uniform traffic. The latency is 500 + 100 load + seed unless given; `more` replaces columns."""
    mean = 500 + 100 * load + seed if latency is None else latency
    return {
        "study": "made",
        "seed": seed,
        **ROUTINGS[routing],
        **DRAGONFLIES["dragonfly_72"],
        "router.name": "vc_router",
        "router.vcs": 3,
        "traffic.name": "uniform",
        "traffic.load": load,
        "workload.name": "none",
        "run.warmup_ns": 2000.0,
        "run.threads": 1,
        "offered_load": load,
        "accepted_load": load,
        "packet_latency_mean_ns": mean,
        "packet_latency_p99_ns": 2 * mean,
        "hops_mean": 2.5,
        "state_hash": f"{routing} {load} {seed} {mean} {more}",
        "config_hash": f"{routing} {load} {seed} {more}",
        **more,
    }


def job_row(routing: str, background: str, seed: int = 1, **times: float | None) -> dict[str, Any]:
    """A run of a pair of jobs. `times` holds the mean communication time of each job, in ns."""
    return {
        "seed": seed,
        **ROUTINGS[routing],
        **DRAGONFLIES["dragonfly_72"],
        "router.name": "vc_router",
        "traffic.name": "uniform",
        "traffic.load": 0.5,
        "workload.name": "pair",
        "workload.target": "lu",
        "workload.background": background,
        "run.warmup_ns": 2000.0,
        "offered_load": None,
        "accepted_load": 0.01,
        "packet_latency_mean_ns": 700.0,
        "state_hash": f"{routing} {background} {seed}",
        "config_hash": f"{routing} {background} {seed}",
        **{f"jobs.{job}.comm_time_mean_ns": value for job, value in times.items()},
    }
