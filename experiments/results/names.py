"""Names of routers and terminals, which networks from files and damaged networks have besides numbers."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import Simulation

Columns = Mapping[str, NDArray[Any]]
Texts = NDArray[np.str_]


def channel_names(simulation: Simulation, channels: Columns) -> dict[str, Texts]:
    """Columns for rows of channels: `router_name` of the sender, and `peer_name` of the receiving node.

    Empty if all names in the network are just the numbers.
    """
    routers, terminals = _names(simulation.routers), _names(simulation.terminals)
    if routers is None and terminals is None:
        return {}
    peer, terminal = channels["peer_router"], channels["terminal"]
    to_router, to_terminal = _called(routers, np.maximum(peer, 0)), _called(terminals, np.maximum(terminal, 0))
    return {
        "router_name": _called(routers, channels["router"]),
        "peer_name": np.where(peer >= 0, to_router, to_terminal),
    }


def rank_names(simulation: Simulation, terminal: NDArray[Any]) -> dict[str, Texts]:
    """A column for rows of ranks: `terminal_name`, empty if it is just the number."""
    names = _names(simulation.terminals)
    return {} if names is None else {"terminal_name": names[terminal]}


def _names(of: Callable[[], Mapping[str, Any]]) -> Texts | None:
    """The names of nodes, which are just their numbers for None. With failures, terminals keep their names."""
    names = of()["name"]
    return None if all(name == str(k) for k, name in enumerate(names)) else np.array(names)


def _called(names: Texts | None, numbers: NDArray[Any]) -> Texts:
    return numbers.astype(np.int64).astype(np.str_) if names is None else names[numbers]
