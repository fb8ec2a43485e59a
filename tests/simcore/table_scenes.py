"""Networks and forwarding tables for several test files."""

from collections.abc import Iterator

from flitgym.simcore import ForwardingTable

HYPERX = {"name": "hyperx", "widths": [4, 3], "terminals_per_router": 2}
DRAGONFLY = {"name": "dragonfly", "terminals_per_router": 2, "routers_per_group": 4, "global_ports": 2, "groups": 9}
TORUS = {"name": "torus", "sizes": [5, 4], "terminals_per_router": 2}
IRREGULAR = {"name": "random_regular", "routers": 14, "degree": 4, "terminals_per_router": 3}
TOPOLOGIES = (HYPERX, DRAGONFLY, TORUS, IRREGULAR)


def paths(table: ForwardingTable) -> Iterator[tuple[int, int, list[int]]]:
    """Source, destination address and channels of the routes between all pairs of terminals, followed port by port."""
    graph, arrays = table.graph, table.graph.arrays()
    lmc = int(table.arrays()["lmc"])
    at = {(int(s), int(p)): c for c, (s, p) in enumerate(zip(arrays["from"], arrays["port"], strict=True))}
    home = arrays["terminal_switch"].tolist()
    for source in range(graph.terminals):
        for destination in range(graph.terminals << lmc):
            if destination >> lmc == source:
                continue
            s, channels = home[source], []
            while s != home[destination >> lmc]:
                channels.append(at[s, int(table.port[s, destination])])
                s = int(arrays["to"][channels[-1]])
            yield source, destination, channels
