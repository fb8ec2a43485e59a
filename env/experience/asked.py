"""The inputs of blocks of features in Python: the decisions of one network, and the network itself."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...simcore import Simulation


class Tables:
    """The constant tables of a network, by router, port and terminal. Each array is computed when it is first read.

    Ports are numbered over all routers, as in `Simulation.arrays()["ports"]`: port p of router r is
    `first_port[r] + p`. Links that fail and recover in a run stay in the tables.

    Args:
        simulation: the network.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation

    @cached_property
    def first_port(self) -> NDArray[np.int64]:
        """The number of port 0 of each router, [routers]."""
        return np.asarray(self.simulation.routers()["first_port"]).astype(np.int64)

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """The group of each router, [routers]."""
        return np.asarray(self.simulation.routers()["group"]).astype(np.int64)

    @cached_property
    def terminal_router(self) -> NDArray[np.int64]:
        """The router of each terminal, [terminals]."""
        return np.asarray(self.simulation.terminals()["router"]).astype(np.int64)

    @cached_property
    def terminal_job(self) -> NDArray[np.int64]:
        """The job of each terminal's rank, [terminals]; 0 for a terminal without a rank."""
        of = np.zeros(len(self.terminal_router), np.int64)
        for k, job in enumerate(self.simulation.jobs()):
            of[job["rank_terminal"]] = k
        return of

    @cached_property
    def next_router(self) -> NDArray[np.int64]:
        """The router at the other end of each port, [ports]; -1 for a terminal or an unused port."""
        return self._by_port("peer_router", -1, np.int64)

    @cached_property
    def hop_us(self) -> NDArray[np.float64]:
        """Time of a hop through each port into the next buffer, without queueing, [ports] us; 0 for unused ports."""
        return self._by_port("hop_ns", 0, np.float64) * 1e-3

    @cached_property
    def flit_us(self) -> NDArray[np.float64]:
        """Time of a flit on the link of each port, [ports] us; 0 for unused ports."""
        return self._by_port("flit_time_ns", 0, np.float64) * 1e-3

    @cached_property
    def links(self) -> NDArray[np.int64]:
        """The ports of each router that lead to routers, [routers, largest number of such ports].

        Unused entries are -1.
        """
        ports = np.flatnonzero(self.next_router >= 0)
        router = np.searchsorted(self.first_port, ports, side="right") - 1
        counts = np.bincount(router, minlength=len(self.first_port))
        table = np.full((len(counts), counts.max()), -1, np.int64)
        table[router, np.arange(len(ports)) - (np.cumsum(counts) - counts)[router]] = ports
        return table

    @cached_property
    def hops(self) -> NDArray[np.uint8]:
        """Hops of a shortest path between routers, [routers, routers]; the memory grows with the square of the routers.

        A Dragonfly's minimal path, which has one global link, may be longer.
        """
        routers = len(self.first_port)
        reached = np.eye(routers, dtype=np.bool_)
        hops = np.zeros((routers, routers), np.uint8)
        ports = np.flatnonzero(self.next_router >= 0)
        neighbours = np.zeros((routers, routers), np.float32)
        neighbours[np.searchsorted(self.first_port, ports, side="right") - 1, self.next_router[ports]] = 1
        new, distance = reached, 0
        while new.any():
            distance += 1
            new = (new.astype(np.float32) @ neighbours > 0) & ~reached
            hops[new] = distance
            reached |= new
        return hops

    def _by_port(self, column: str, nothing: float, kind: type[np.generic]) -> NDArray[Any]:
        channels, arrays = self.simulation.channels(), self.simulation.arrays()
        table = np.full(len(arrays["ports"]) - len(self.terminal_router), nothing, kind)
        table[self.first_port[channels["router"]] + channels["port"]] = channels[column]
        return table

    # A copy belongs to another simulation, so it computes its own tables.
    def __getstate__(self) -> dict[str, Any]:
        return {"simulation": self.simulation}


class Asked:
    """The n decisions of one network in a cycle. Each array is computed when it is first read.

    Attributes:
        simulation: the network, between `collect()` and `apply()`; a block must not change it.
        tables: the constant tables of the network.
        arrays: `Simulation.arrays()`, views of the core's memory, e.g. `arrays["ports"]["load"]`.
        own: the value that the block's `setup` returned.
        router: [n] the router of each decision.
        mask: bool [n, slots], true for slots with a candidate; these slots come first.
        seen: float32 [n, width], the features of the core's blocks: the general ones, then those of slot 0, slot 1, ...
    """

    def __init__(
        self,
        tables: Tables,
        arrays: dict[str, NDArray[Any]],
        router: NDArray[np.uint32],
        mask: NDArray[np.bool_],
        seen: NDArray[np.float32],
    ) -> None:
        self.simulation = tables.simulation
        self.tables, self.arrays = tables, arrays
        self.router, self.mask, self.seen = router, mask, seen
        self.own: Any = None

    def __len__(self) -> int:
        return len(self.router)

    @property
    def now(self) -> int:
        """The present cycle."""
        return self.simulation.now

    @property
    def source(self) -> NDArray[np.uint32]:
        """Source terminal of each packet, [n]."""
        return self._decisions["source"]

    @property
    def destination(self) -> NDArray[np.uint32]:
        """Destination terminal of each packet, [n]."""
        return self._decisions["destination"]

    @property
    def sequence(self) -> NDArray[np.uint32]:
        """Number of the packet at its source, [n], from 0; source and number identify the packet."""
        return self._decisions["sequence"]

    @property
    def hops(self) -> NDArray[np.uint32]:
        """Links between routers that each packet has taken, [n]."""
        return self._decisions["hops"]

    @property
    def slots(self) -> NDArray[np.uint32]:
        """The number of candidates, [n]."""
        return self._decisions["slots"]

    @cached_property
    def port(self) -> NDArray[np.uint16]:
        """Output port of each candidate, counted per router, [n, slots]; 0 after the last candidate."""
        return np.where(self.mask, self._decisions["port"], np.uint16(0))

    @cached_property
    def link(self) -> NDArray[np.int64]:
        """The port of each candidate, numbered over all routers as in `arrays["ports"]` and `tables`, [n, slots].

        After the last candidate it is some port of the router; the features of these slots become 0.
        """
        # After the last candidate an old value remains, which is always a valid port.
        link: NDArray[np.int64] = self.tables.first_port[self.router][:, None] + self._decisions["port"]
        return link

    @cached_property
    def next_router(self) -> NDArray[np.int64]:
        """The router to which each candidate leads, [n, slots]; after the last candidate some router or -1."""
        return self.tables.next_router[self.link]

    @cached_property
    def destination_router(self) -> NDArray[np.int64]:
        """The router of each packet's destination, [n]."""
        return self.tables.terminal_router[self.destination]

    @cached_property
    def job(self) -> NDArray[np.int64]:
        """The job of each packet, [n]; 0 without a workload."""
        return self.tables.terminal_job[self.source]

    @cached_property
    def in_port(self) -> NDArray[np.uint16]:
        """Input port of each packet, counted per router, [n]."""
        asked, rows = self._requests
        port: NDArray[np.uint16] = asked["in_port"][rows]
        return port

    @cached_property
    def in_vc(self) -> NDArray[np.uint16]:
        """Input VC of each packet, [n]; its buffer is `arrays["input_vcs"]` at port number x VCs per port + VC."""
        asked, rows = self._requests
        vc: NDArray[np.uint16] = asked["in_vc"][rows]
        return vc

    @cached_property
    def _decisions(self) -> dict[str, NDArray[Any]]:
        return self.simulation.decisions()

    @cached_property
    def _requests(self) -> tuple[dict[str, NDArray[Any]], NDArray[np.intp]]:
        # A request with one candidate is not a decision.
        asked = self.simulation.requests()
        return asked, np.flatnonzero(np.diff(asked["offsets"]) > 1)
