"""`Simulation`: the compiled class, plus what is better said in Python (files of Q-tables, times in ns)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _q_table, _table
from ._core import ConfigError, CoreError, registered
from ._mapping import matrix_arguments
from ._presets import with_presets
from ._traffic import in_traffic

NO_DECISION = np.uint64(2**64 - 1)
"""In `Simulation.transitions()["next_decision"]`: the packet made no further decision."""


class Simulation(_core.Simulation):
    """One network with its state. Times are in cycles of `cycle_ns` unless a name says `_ns`.

    Arrays that show the core's own memory are read-only, but for learned tables (`q_table`, that of the routing, and
    those of `memory()`), whose values are checked before the simulation goes on. One thread at a time may use a
    simulation: while another one runs it, `now`, `time_ns`, `packets_in_network` and `workload_progress` can be read,
    some thousand cycles late, and all else raises CoreError. After an error in the middle of a cycle it does not go on;
    `restore()` of a snapshot heals it.

    Args:
        config: sections `topology`, `router`, `routing`, `traffic` (a name, or a mapping with `name` and parameters;
            missing parameters take the defaults of `registered(kind)`), and an integer `seed`. A name may be a preset
            of the commands (`dragonfly_72`, `sc22`, `dqn_priced`). A section that is left out has the core's defaults,
            not those of the commands: `flitgym.configuration(...)` gives the sections of a command. Instead of
            `traffic`, `workload`: parameters as in `registered("workload")` and `jobs`, a list of mappings with
            `name`, either `motif` and its parameters (`registered("motif")`), `goal_file` or `program`, and optionally
            `terminals`.
            `failures`: links, routers and terminals out of use, as in `registered("failures")`; names in lists.
            `routing={"name": "table"}` takes a `ForwardingTable` as `table`, and a `Demand` as `demand`.
            `traffic={"name": "matrix"}` takes rates, [terminals, terminals] from row to column, as `matrix`: an array,
            a SciPy sparse matrix or whatever else `read_demand` takes; or its path as `file`.
            `max_memory_gb` (GB of 1e9 bytes; 0, the default = what the machine has free) bounds what the simulation
            may need to begin with; `facts()["memory_estimate_bytes"]` is that need.

    `threads` (1 to begin with) says how many threads run() and drain() use for this one network. A large network is
    cut into `facts()["partitions"]` that are simulated side by side, to the same state however many threads there are;
    agents, the oracle `ugal_global`, workloads without a network and small networks are one. With several partitions
    `arrays()` holds copies of the two histograms, as of the call, instead of views.

    Raises:
        ConfigError: before cycle 0, naming the key, its value and the valid choices; also where it would need more
            memory than there is, with both numbers.

    `copy.deepcopy` and `fork()` copy a simulation as it stands, also between `collect()` and `apply()`, and share its
    network, which never changes. A pickle holds the configuration and the state: whoever loads it builds the network
    anew (files of GOAL schedules are read again). Neither holds the log of watched packets.
    """

    _config: Any

    def __init__(self, config: Mapping[str, Any] | _core.Simulation) -> None:
        own = config if isinstance(config, _core.Simulation) else _copied(in_traffic(with_presets(config)))
        super().__init__(_table.in_routing(own) if isinstance(own, Mapping) else own)
        self._config = own._config if isinstance(own, Simulation) else own
        if isinstance(own, dict) and self.mapping() is not None:
            # Whoever loads a pickle gets the same mapping, whatever made it: a clock, or a library of another version.
            for job, done in zip(own["workload"]["jobs"], self.jobs(), strict=True):
                job["terminals"] = done["rank_terminal"].tolist()

    def __repr__(self) -> str:
        try:
            facts = self.facts()
        except CoreError:
            return f"<Simulation, now run by another thread, at {self.time_ns:,.0f} ns>"
        network = f"{facts['topology']} ({facts['routers']:,} routers, {facts['terminals']:,} terminals)"
        return (
            f"<Simulation of {network}: routing {facts['routing']}, {self._sent()}, at {self.time_ns:,.0f} ns "
            f"(cycle {self.now:,})>"
        )

    def _sent(self) -> str:
        """The traffic or the jobs, for a reader."""
        jobs = self.jobs()
        if jobs:
            return f"jobs {', '.join(str(job['name']) for job in jobs)}"
        traffic = self._config["traffic"]
        name = traffic if isinstance(traffic, str) else traffic["name"]
        load = registered("traffic")[name]["params"]["load"]["default"]
        return f"traffic {name} at load {load if isinstance(traffic, str) else traffic.get('load', load):g}"

    def configuration(self) -> dict[str, Any]:
        """The configuration as the core has validated it: sections with their names and the values of all parameters.

        The section `routing` has the parameters of the routing on this topology.
        A `Simulation` of it is the same, except where objects were given: a forwarding table, a demand or a matrix is
        missing from its section, and a job that plays a program has `program` as `motif`.
        """
        config = self._configuration()
        workload = config.get("workload", {})
        _restore_integers(workload, "workload", "workload")
        for job in workload.get("jobs", ()):
            _restore_integers(job, "motif", job["motif"])
        for kind in {"topology", "router", "routing", "traffic"} & set(config):
            _restore_integers(config[kind], kind, config[kind]["name"])
        return config

    def cycles(self, ns: float) -> int:
        """The number of cycles nearest to a time in ns."""
        return round(ns / self.cycle_ns)

    def run_ns(self, ns: float) -> None:
        """Run for the number of cycles nearest to `ns`."""
        self.run(self.cycles(ns))

    def save_q_table(self, path: str | os.PathLike[str]) -> None:
        """Write the learned table to an `.npz` file, whole or not at all.

        Raises:
            ConfigError: the routing has no table.
            OSError: the file cannot be written; nothing is left behind.
        """
        table, facts = self._table, self.facts()
        if table is None:
            raise ConfigError(f"save_q_table(): routing.{facts['routing']} has no Q-table")
        _q_table.write(path, table, facts["table_layout"], facts["fingerprint"])

    def load_q_table(self, path: str | os.PathLike[str]) -> None:
        """Fill the learned table from a file of `save_q_table`.

        Raises:
            ConfigError: the file is no Q-table, or one of another topology or routing, and then names both; or it
                holds a value that is not finite or negative, and then names router, row and column.
            OSError: the file cannot be read.
        """
        own, facts = self._table, self.facts()
        if own is None:
            raise ConfigError(f"load_q_table(): routing.{facts['routing']} has no Q-table")
        table = _q_table.read(path, own.shape, facts["table_layout"], facts["fingerprint"])
        try:
            # What no packet can use keeps its infinity.
            self._set_table(np.where(np.isposinf(own), own, table))
        except ConfigError as error:
            raise ConfigError(f"load_q_table(): {path}: {error}") from error

    def mapping_quality(
        self,
        matrix: Any = None,
        terminals: ArrayLike | None = None,
        table: _core.ForwardingTable | None = None,
    ) -> dict[str, Any]:
        """How far what ranks exchange has to go, and how busy that makes the channels between routers.

        Args:
            matrix: [ranks, ranks] bytes from row to column, SciPy sparse or an array, or a `Program`; None: all that
                the jobs of the workload exchange.
            terminals: [ranks] where each runs; None: as in the workload.
            table: Routes by which everything goes; None: spread evenly over all minimal paths.

        Returns:
            `bytes`; `dilation`, hops between routers, the mean over bytes; `worst_congestion_bytes`, what passes the
            channel between routers that has most for its bandwidth (as if it had that of a terminal), and
            `mean_congestion_bytes`, over all of them; `worst_channel`, (router, port) or None.

        Raises:
            ConfigError: a matrix, terminals or a table of another size; nothing to take them from.
        """
        return self._mapping_quality(matrix_arguments(matrix), terminals, table)

    def fork(self) -> Simulation:
        """An independent copy at the same instant; the network itself is shared."""
        return Simulation(self)

    def __copy__(self) -> Simulation:
        return self.fork()

    def __deepcopy__(self, memo: dict[int, Any]) -> Simulation:
        return self.fork()

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (self._config, *self._save())


def _restore_integers(values: dict[str, Any], kind: str, name: str) -> None:
    """Turn the lists of integers among the parameters of a component, which the core holds as floats, into integers."""
    params = registered(kind).get(name, {"params": {}})["params"]
    for key, value in values.items():
        if isinstance(value, list) and params.get(key, {}).get("type") == "list_int":
            values[key] = [int(item) for item in value]


def _loaded(config: Mapping[str, Any], snapshot: bytes, asking: list[int] | None) -> Simulation:
    simulation = Simulation(config)
    simulation._load(snapshot, asking)
    return simulation


def _copied(value: Any) -> Any:
    # NumPy's numbers and arrays are Python's own to the core.
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    # Programs of a job never change, and are large: they are shared.
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value
