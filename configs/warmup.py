"""The warm-up of a run. Routings that learn need a long one, because they begin with an empty table."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ..simcore import registered
from .jobs import has_workload

_RUN = Path(__file__).parent / "run"


def learns(config: Mapping[Any, Any]) -> bool:
    """Whether the routing learns a table in this run and begins with an empty table."""
    run = config["run"]
    return _learns_in_core(config["routing"]["name"]) and run["load_q_table"] is None and not run["freeze_q_table"]


def warmup_ns(*, _root_: Mapping[Any, Any]) -> float:
    """The warm-up of `run=auto`: as in `run=settled` for a routing that learns, else as in `run=standard`."""
    return _warmup_of("settled" if learns(_root_) else "standard")


def cold_table(config: Mapping[Any, Any]) -> str | None:
    """A warning if the measurement begins before the routing's table has settled, else None."""
    if not learns(config):
        return None
    name, run = config["routing"]["name"], config["run"]
    if has_workload(config):
        return (
            f"routing={name} begins the jobs with an empty table; run.load_q_table=<file> loads a learned one "
            "(run.save_q_table=true saves one)"
        )
    settled = _warmup_of("settled")
    # A time series is meant to show the learning, and a run with a precision finds the end of the warm-up.
    if run["precision"] > 0 or run["warmup_ns"] >= settled or run["series_interval_ns"] > 0:
        return None
    return (
        f"routing={name} learns while it routes, and its table was empty {run['warmup_ns']:,.0f} ns before the "
        f"window; run=settled gives it {settled:,.0f} ns"
    )


@cache
def _learns_in_core(routing: str) -> bool:
    facts = registered("routing").get(routing, {"facts": {"learns": False, "external": False}})["facts"]
    # `external` gets feedback, too, but the caller of the core learns from it.
    return bool(facts["learns"] and not facts["external"])


@cache
def _warmup_of(option: str) -> float:
    return float(OmegaConf.load(_RUN / f"{option}.yaml").warmup_ns)
