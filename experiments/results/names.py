"""Names of routers and terminals, which networks from files and damaged networks have besides numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import Simulation

Columns = Mapping[str, NDArray[Any]]
Texts = NDArray[np.str_]


@dataclass(frozen=True)
class Names:
    """The names of routers and terminals; None if all names are just the numbers.

    Args:
        routers: [routers].
        terminals: [terminals].
    """

    routers: Texts | None
    terminals: Texts | None

    @classmethod
    def of(cls, simulation: Simulation) -> "Names":
        """The names in a simulation's network. With failures, terminals keep their names, although numbers shift."""
        return cls(*(_unless_numbers(of()["name"]) for of in (simulation.routers, simulation.terminals)))

    def of_channels(self, channels: Columns) -> dict[str, Texts]:
        """Columns for rows of channels: `router_name` of the sender, and `peer_name` of the receiving node."""
        if self.routers is None and self.terminals is None:
            return {}
        peer, terminal = channels["peer_router"], channels["terminal"]
        to_router = _called(self.routers, np.maximum(peer, 0))
        to_terminal = _called(self.terminals, np.maximum(terminal, 0))
        return {
            "router_name": _called(self.routers, channels["router"]),
            "peer_name": np.where(peer >= 0, to_router, to_terminal),
        }

    def of_ranks(self, terminal: NDArray[Any]) -> dict[str, Texts]:
        """A column for rows of ranks: `terminal_name`."""
        return {} if self.terminals is None else {"terminal_name": self.terminals[terminal]}


def _unless_numbers(names: Sequence[str]) -> Texts | None:
    return None if all(name == str(k) for k, name in enumerate(names)) else np.array(names)


def _called(names: Texts | None, numbers: NDArray[Any]) -> Texts:
    return numbers.astype(np.int64).astype(np.str_) if names is None else names[numbers]
