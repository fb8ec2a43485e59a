"""A routing that learns while it routes starts from an empty table: how long it is warmed up, and when to say so."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ..simcore import registered
from .jobs import has_workload

_RUN = Path(__file__).parent / "run"


def learns(config: Mapping[Any, Any]) -> bool:
    """Whether a run begins with an empty table that the routing fills while it routes; the core's registry knows."""
    run = config["run"]
    return _learns_in_core(config["routing"]["name"]) and run["load_q_table"] is None and not run["freeze_q_table"]


def warmup_ns(*, _root_: Mapping[Any, Any]) -> float:
    """The warm-up of `run=auto`: that of `run=settled` for a routing that learns, that of `run=standard` for others."""
    return _warmup_of("settled" if learns(_root_) else "standard")


def cold_table(config: DictConfig) -> str | None:
    """What to tell about a run whose routing is measured before its table has settled; None where it is not."""
    if not learns(config):
        return None
    name = config.routing.name
    if has_workload(config):
        return (
            f"routing={name} begins the jobs with an empty table; run.load_q_table=<file> begins with a learned one "
            "(run.save_q_table=true keeps one)"
        )
    settled = _warmup_of("settled")
    # With a time series, how it learns is what is looked at.
    if config.run.warmup_ns >= settled or config.run.series_interval_ns > 0:
        return None
    return (
        f"routing={name} learns while it routes, and its table was empty {config.run.warmup_ns:,.0f} ns before the "
        f"window; run=settled gives it {settled:,.0f} ns"
    )


@cache
def _learns_in_core(routing: str) -> bool:
    facts = registered("routing").get(routing, {"facts": {"learns": False, "external": False}})["facts"]
    # `external` hears of its packets, too, but what is learned from that is its owner's.
    return bool(facts["learns"] and not facts["external"])


@cache
def _warmup_of(option: str) -> float:
    return float(OmegaConf.load(_RUN / f"{option}.yaml").warmup_ns)
