"""The simulation core: a flit-level, cycle-accurate, deterministic interconnection-network simulator.

A `Simulation` is built from a mapping of sections: `topology`, `router`, `routing` and `traffic`, each with a `name`
and parameters, and a `seed`. Instead of `traffic`, the section `workload` lists jobs; each job runs a registered motif
or a `Program`. `registered(kind)` lists the names of a kind with their parameters, units and ranges.

The import also loads the C++ components of installed plugins (`flitgym.simcore.plugins`).
"""

from __future__ import annotations

from ._core import (
    ConfigError,
    CoreError,
    Demand,
    SimulationBatch,
    __version__,
    available_memory,
    registered,
    results_version,
)
from ._demand import read_demand, read_flows
from ._mapping import exchange_of, read_matrix_market
from ._marginal_cost import MarginalCost
from ._program import CALC, RECEIVE, SEND, Program
from ._quality import Bisection, Quality
from ._simulation import NO_DECISION, Simulation
from ._table import NO_PORT, ChannelGraph, ForwardingTable
from .plugins import load_libraries

__all__ = [
    "CALC",
    "NO_DECISION",
    "NO_PORT",
    "RECEIVE",
    "SEND",
    "Bisection",
    "ChannelGraph",
    "ConfigError",
    "CoreError",
    "Demand",
    "ForwardingTable",
    "MarginalCost",
    "Program",
    "Quality",
    "Simulation",
    "SimulationBatch",
    "__version__",
    "available_memory",
    "exchange_of",
    "read_demand",
    "read_flows",
    "read_matrix_market",
    "registered",
    "results_version",
]

load_libraries()
