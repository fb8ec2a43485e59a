"""`Simulation`: the compiled class with Python additions, such as Q-table files, presets and times in ns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._core import ConfigError, CoreError, registered
from ._demand import read_demand, read_flow_file
from ._files import atomic_path, read_arrays
from ._mapping import rows_of
from ._presets import with_presets
from ._table import ChannelGraph, ForwardingTable

NO_DECISION = np.uint64(2**64 - 1)
"""Value of `Simulation.transitions()["next_decision"]` where the packet made no further decision."""


class Simulation(_core.Simulation):
    """A network and its state. Times are in cycles of `cycle_ns` unless a name ends in `_ns`.

    Arrays that are views of the core's memory are read-only. Learned tables are the exception (`q_table` and the
    learned ones of `memory()`): they are writable, and the next run checks their values.

    Only one thread at a time may use a simulation. While a thread runs it, the other threads can read `now`, `time_ns`,
    `packets_in_network` and `workload_progress`, which lag by a few thousand cycles. Any other call raises CoreError.

    After an error in the middle of a cycle the simulation refuses to continue. `restore()` of a snapshot repairs it.

    Args:
        config: A mapping of the sections `topology`, `router`, `routing` and `traffic`, and an integer `seed`. A
            section is a name, or a mapping with `name` and parameters. Missing parameters take the defaults of
            `registered(kind)`. A name may be a preset of the commands (`dragonfly_72`, `sc22`, `dqn`).

            Sections that are left out take the defaults of the commands.
            `flitgym.configuration(...)` returns the sections that a command would use.

            `workload` replaces `traffic`. It holds the parameters of `registered("workload")` and `jobs`, a list of
            mappings. Each job has a `name`, optionally its `terminals`, and one of the following: a `motif` with its
            parameters (`registered("motif")`), a `goal_file` or a `program`.

            `congestion_control` names a control of the network interfaces; the default is `none`.

            `router={"classes": {name: {...}}}` defines traffic classes with the parameters of
            `registered("traffic_class")`, and `workload={"classes": {...}}` gives them to messages.

            `failures` lists the links, routers and terminals out of use; `registered("failures")` lists its keys.
            A key that takes several names accepts a comma-separated string or a list.

            `routing={"name": "table"}` accepts a `ForwardingTable` as `table` and a `Demand` as `demand`.

            `traffic={"name": "matrix"}` accepts rates as `matrix`, [terminals, terminals] from row to column: an
            array, a SciPy sparse matrix or anything else that `read_demand` accepts. `file` is the path of such a
            matrix.

            `max_memory_gb` limits the memory that the simulation may need at its start, in GB of 1e9 bytes. The default
            0 means the memory that the machine has free. `facts()["memory_estimate_bytes"]` is the estimated need.

            `threads` (default 1) run this network. `partitions` is the number of parts that they can run in parallel;
            the default 0 lets the core choose it, at least one per thread. With a built-in routing, the number changes
            the state hash but no statistic, except two (see docs/simulate.md). It changes the order of the decisions
            and of the feedback that an agent gets.

    A large network is cut into `facts()["partitions"]` partitions, which run in parallel. The attribute `threads`
    changes the number of threads and not the partitions, so the resulting state does not depend on it. Small networks
    and workloads without a simulated network have a single partition. So do networks with agents or with the oracle
    `ugal_global`, unless `partitions` is given. With several partitions, `arrays()` returns copies of the two latency
    histograms instead of views.

    Raises:
        ConfigError: The configuration is invalid. The message names the key, its value and the valid choices. Raised
            before cycle 0, also if the simulation needs more memory than there is; the message then has both numbers.

    `copy.deepcopy` and `fork()` copy the present state, also between `collect()` and `apply()`. Copies share the
    network, which never changes. A pickle holds the configuration and the state, so loading it builds the network again
    and reads GOAL files again. Neither copies nor pickles hold the log of watched packets.
    """

    _config: Any

    def __init__(self, config: Mapping[str, Any] | _core.Simulation) -> None:
        own: Any = config  # the core refuses anything else than a mapping or a simulation
        if isinstance(config, Mapping):
            own = _copied(_with_objects(with_presets(config)))
        super().__init__(own)
        self._config = own._config if isinstance(own, Simulation) else own
        if isinstance(own, dict) and self.mapping() is not None:
            # A pickle stores the computed mapping. Mapping again could give another result.
            for job, done in zip(own["workload"]["jobs"], self.jobs(), strict=True):
                job["terminals"] = done["rank_terminal"].tolist()

    def __repr__(self) -> str:
        try:
            facts = self.facts()
        except CoreError:
            return f"<Simulation, now run by another thread, at {self.time_ns:,.0f} ns>"
        network = f"{facts['topology']} ({facts['routers']:,} routers, {facts['terminals']:,} terminals)"
        if jobs := self.jobs():
            sent = f"jobs {', '.join(str(job['name']) for job in jobs)}"
        else:
            sent = "traffic {name} at load {load:g}".format(**self._configuration()["traffic"])
        return (
            f"<Simulation of {network}: routing {facts['routing']}, {sent}, at {self.time_ns:,.0f} ns "
            f"(cycle {self.now:,})>"
        )

    def configuration(self) -> dict[str, Any]:
        """Return the configuration as validated by the core: sections with their names and all parameters.

        The section `routing` has the parameters of the routing on this topology.
        A `Simulation` of this configuration is the same simulation, unless the original one was given objects. A
        forwarding table, a demand or a matrix is missing from its section. A job that runs a `Program` has the motif
        `program`.
        """
        config = self._configuration()
        workload = config.get("workload", {})
        _restore_integers(workload, "workload", "workload")
        for job in workload.get("jobs", ()):
            _restore_integers(job, "motif", job["motif"])
        for kind in {"topology", "router", "routing", "traffic", "congestion_control"} & set(config):
            _restore_integers(config[kind], kind, config[kind]["name"])
        return config

    def cycles(self, ns: float) -> int:
        """Return the number of cycles nearest to a time in ns."""
        return round(ns / self.cycle_ns)

    def run_ns(self, ns: float) -> None:
        """Run for the number of cycles nearest to `ns`."""
        self.run(self.cycles(ns))

    def save_q_table(self, path: str | os.PathLike[str]) -> None:
        """Write the learned table to an `.npz` file. A failed write leaves no partial file.

        Raises:
            ConfigError: The routing has no table.
            OSError: The file cannot be written.
        """
        table, facts = self._table, self.facts()
        if table is None:
            raise ConfigError(f"save_q_table(): routing.{facts['routing']} has no Q-table")
        layout, topology = np.array(facts["table_layout"]), np.array(facts["fingerprint"])
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, table=table, layout=layout, topology=topology)

    def load_q_table(self, path: str | os.PathLike[str]) -> None:
        """Replace the learned table by that of a file written by `save_q_table`.

        Raises:
            ConfigError: The file is not a Q-table, or it is for another topology or routing; the message names both.
                Or a value is negative or not finite; the message names its router, row and column.
            OSError: The file cannot be read.
        """
        own, facts = self._table, self.facts()
        if own is None:
            raise ConfigError(f"load_q_table(): routing.{facts['routing']} has no Q-table")
        try:
            table = _read_q_table(path, own.shape, facts["table_layout"], facts["fingerprint"])
        except ConfigError as error:
            if not facts["routing_replaced"]:
                raise
            raise ConfigError(
                f"{error}; links fail, so the routing for any graph replaces that of {facts['topology']}, whose tables "
                "do not fit; learn the table in a run with the same failures, or, for failures.events, with events "
                "after its end"
            ) from error
        try:
            # Entries that no packet can use stay infinite.
            self._set_table(np.where(np.isposinf(own), own, table))
        except ConfigError as error:
            raise ConfigError(f"load_q_table(): {path}: {error}") from error

    def mapping_quality(
        self,
        matrix: Any = None,
        terminals: ArrayLike | None = None,
        table: _core.ForwardingTable | None = None,
    ) -> dict[str, Any]:
        """Measure the distances and channel loads of the traffic between ranks.

        Args:
            matrix: [ranks, ranks] bytes from the row's rank to the column's rank: an array, a SciPy sparse matrix or a
                `Program`. None: everything that the jobs of the workload exchange.
            terminals: [ranks] terminal of each rank. None: the placement of the workload.
            table: Routes that all traffic takes. None: traffic is spread evenly over all minimal paths.

        Returns:
            A dict with these keys:

                bytes                   total traffic
                dilation                router-to-router hops, averaged over bytes
                worst_congestion_bytes  bytes on the most loaded channel between routers x (bandwidth of a terminal /
                                        bandwidth of the channel)
                mean_congestion_bytes   the same product, averaged over all channels between routers
                worst_channel           (router, port) of the most loaded channel, or None

        Raises:
            ConfigError: The sizes of matrix, terminals, table and network differ, or the simulation has no workload to
                take a missing argument from.
        """
        return self._mapping_quality(None if matrix is None else rows_of(matrix), terminals, table)

    def fork(self) -> Simulation:
        """Return an independent copy of the present state. Both simulations share the network."""
        return Simulation(self)

    def __copy__(self) -> Simulation:
        return self.fork()

    def __deepcopy__(self, memo: dict[int, Any]) -> Simulation:
        return self.fork()

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (self._config, self._handed_over, *self._save())


def _with_objects(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration with objects instead of the files and arrays of a table, a demand and a matrix."""
    sections = {kind: dict(given) for kind in ("routing", "traffic") if isinstance(given := config.get(kind), Mapping)}
    routing, traffic = (sections.get(kind, {}) for kind in ("routing", "traffic"))
    if traffic.get("name") == "matrix" and (traffic.get("file") or traffic.get("matrix") is not None):
        file, matrix = traffic.pop("file", None), traffic.pop("matrix", None)
        if file and matrix is not None:
            raise ConfigError("traffic.matrix: both a file and a matrix are given; give one of them")
        traffic["matrix"] = read_demand(file or matrix, _graph(config), "traffic.file" if file else "traffic.matrix")
    if traffic.get("name") == "flows" and traffic.get("file"):
        if traffic.get("sizes", "packets") != "packets":
            raise ConfigError("traffic.flows: both a file and sizes are given; give one of them")
        router = config.get("router")
        classes = router.get("classes", {}) if isinstance(router, Mapping) else {}
        traffic["flows"] = read_flow_file(traffic["file"], _graph(config), len(classes))
    if routing.get("name") == "table":
        if routing.get("file"):
            if "table" in routing:
                raise ConfigError("routing.table: both a file and a table are given; give one of them")
            routing["table"] = ForwardingTable.load(routing.pop("file"), _graph(config))
        demand = routing.get("demand")
        if demand is not None and not (isinstance(demand, str) and not demand):
            routing["demand"] = read_demand(demand, _graph(config))
    return {**config, **sections}


def _graph(config: Mapping[str, Any]) -> ChannelGraph:
    # Links that fail later change no terminal, and a graph knows no time.
    failures = {key: value for key, value in (config.get("failures") or {}).items() if key != "events"}
    return ChannelGraph(config["topology"], failures or None, config.get("seed", 1))


def _read_q_table(path: str | os.PathLike[str], shape: tuple[int, ...], layout: str, topology: str) -> Any:
    where = f"load_q_table(): {path}"
    refusal = f"{where} is not a Q-table file, or is damaged"
    arrays = read_arrays(path, refusal)
    if not {"table", "layout", "topology"} <= set(arrays):
        raise ConfigError(f"{refusal}: it holds {', '.join(arrays)}")
    table, own_layout, own_topology = arrays["table"], str(arrays["layout"]), str(arrays["topology"])
    if own_layout != layout:
        raise ConfigError(f"{where} holds '{own_layout}', but this routing needs '{layout}'")
    if (own_topology, table.shape) != (topology, shape):
        raise ConfigError(
            f"{where} was learned on '{own_topology}' {table.shape}, but this network is '{topology}' {shape}"
        )
    return np.ascontiguousarray(table, np.float32)


def _restore_integers(values: dict[str, Any], kind: str, name: str) -> None:
    """Convert the lists of integers among the parameters of a component, which the core stores as floats."""
    params = registered(kind).get(name, {"params": {}})["params"]
    for key, value in values.items():
        if isinstance(value, list) and params.get(key, {}).get("type") == "list_int":
            values[key] = [int(item) for item in value]


def _loaded(config: Mapping[str, Any], handed_over: bool, snapshot: bytes, asking: list[int] | None) -> Simulation:
    simulation = Simulation(config)
    if handed_over:
        simulation._hand_over()
    simulation._load(snapshot, asking)
    return simulation


def _copied(value: Any) -> Any:
    # The core accepts plain Python numbers and lists, not NumPy's.
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    # Programs of jobs are large and never change, so copies share them.
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value
