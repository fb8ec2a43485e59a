"""Chakra execution traces (github.com/mlcommons/chakra) as protobuf, in the schemas 0.0.4 and 1.0.0, or as JSON.

A rank has three processors, as in ASTRA-sim (`workload/HardwareResource.cc`): operators on the CPU, kernels on the GPU,
and communication. Each executes one operation at a time. Sizes of collectives are those of ASTRA-sim
(`collective_algorithm/Ring.cc`): `comm_size` is the size of a rank's input.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from pathlib import Path

from ..._core import ConfigError
from ..._program import RECEIVE, SEND
from ..builder import ProgramBuilder
from ..files import rank_files, rank_of
from ..messages import ANY
from ..reader import Reader, Trace, TraceOptions
from ._chakra_files import is_group, looks_like_trace, read_groups
from ._chakra_nodes import Node, collective_of, read_nodes
from ._chakra_schema import COLLECTIVES

_CPU, _GPU, _COMMUNICATION = 0, 1, 2
_VERSIONS = {"", "0.0.4", "1.0.0"}
_PARTS = {"alltoall", "scatter"}  # `comm_size` is the sum of the parts for all members


class _Player:
    """Turns nodes into operations."""

    def __init__(self, files: Sequence[Path], options: TraceOptions, groups: dict[str, list[int]]) -> None:
        self.files = files
        self.replicate = bool(options.replicate)
        self.ranks = options.replicate or len(files)
        self.own = rank_of(files[0]) if self.replicate else 0  # the rank whose file all ranks play
        self.groups = groups
        self.builder = ProgramBuilder(
            self.ranks, options.collective, self._place, size_scale=options.size_scale, alike=self.replicate
        )
        self.nodes: Counter[str] = Counter()
        self.ignored_ctrl = 0
        self.recorded: Counter[str] = Counter()  # collectives and messages that take their recorded time
        self._group_of: dict[tuple[str, int], int] = {}

    def _path(self, rank: int) -> Path:
        return self.files[0 if self.replicate else rank]

    def _place(self, rank: int, node: int) -> str:
        path = self._path(rank)
        return f"{path}: {read_nodes(path)[1][node].text()}"

    def play(self, rank: int, nodes: list[Node], order: list[int], dependencies: list[list[int]]) -> None:
        """Add the nodes of a rank."""
        self.builder.begin(rank)
        ends: list[int | None] = [None] * len(nodes)
        for at in order:
            node = nodes[at]
            after = sorted({end for d in dependencies[at] if (end := ends[d]) is not None})
            try:
                ends[at] = self._node(rank, node, after)
            except ConfigError as error:
                text, here = str(error), f"{self._path(rank)}: {node.text()}: "
                raise error if text.startswith(here) else ConfigError(f"{here}{text}") from error

    def _node(self, rank: int, node: Node, after: list[int]) -> int | None:
        on_cpu = bool(node.attributes.get("is_cpu_op", False))
        self.nodes[node.type] += 1
        if node.type == "METADATA_NODE":
            self._read_groups(node)
            return self.builder.join(after, _CPU) if after else None
        if node.type in ("COMP_NODE", "MEM_LOAD_NODE", "MEM_STORE_NODE"):
            return self._recorded(node, after, on_cpu)
        if node.type == "COMM_COLL_NODE":
            return self._collective(rank, node, after, on_cpu)
        if node.type in ("COMM_SEND_NODE", "COMM_RECV_NODE"):
            return self._message(rank, node, after, on_cpu)
        raise ConfigError(
            f"{node.type} cannot be played; valid are computation, memory, send, receive, collective and metadata nodes"
        )

    def _recorded(self, node: Node, after: list[int], on_cpu: bool) -> int | None:
        if node.duration_ns == 0 and len(after) < 2:
            return after[0] if after else None
        return self.builder.calc(node.duration_ns, after, _CPU if on_cpu else _GPU, node.at)

    def _collective(self, rank: int, node: Node, after: list[int], on_cpu: bool) -> int | None:
        kind, size = collective_of(node), node.number("comm_size")
        if "comm_type" not in node.attributes and (on_cpu or kind is None):
            # The framework's own record of the call, or an unknown kernel.
            if not on_cpu and node.duration_ns == 0:
                raise ConfigError(
                    "a collective without comm_type and time cannot be played; convert the trace with "
                    "a version of chakra_converter that writes these attributes"
                )
            self.recorded["operator" if on_cpu else "kernel"] += 1
            return self._recorded(node, after, on_cpu)
        assert kind is not None
        name = COLLECTIVES[kind]
        if size is None and name != "barrier":
            raise ConfigError(f"{kind} has no attribute comm_size; add the bytes of the rank's input")
        group, members = self._group(rank, node)
        bytes_ = size or 0
        if bytes_ < 0:
            raise ConfigError(f"comm_size is {bytes_}; valid are numbers from 0")
        if name in _PARTS:
            bytes_ = -(-bytes_ // len(members))
        root = next((node.number(a) for a in ("root", "root_rank", "comm_root") if a in node.attributes), None)
        if root is not None and root not in members:
            raise ConfigError(f"the root {root} is no member of the group of {len(members)} ranks")
        return self.builder.collective(
            name,
            max(bytes_, 1) if name == "barrier" else bytes_,
            group,
            after,
            root=0 if root is None else members.index(root),
            cpu=_COMMUNICATION,
            stream=self._stream(node),
            place=node.at,
        )

    def _message(self, rank: int, node: Node, after: list[int], on_cpu: bool) -> int | None:
        send = node.type == "COMM_SEND_NODE"
        other, own = ("comm_dst", "comm_src") if send else ("comm_src", "comm_dst")
        peer, size = node.number(other), node.number("comm_size")
        size = node.number("tensor_size") if size is None else size
        if peer is None and on_cpu:
            self.recorded["operator"] += 1
            return self._recorded(node, after, on_cpu)
        if peer is None or size is None:
            missing = other if peer is None else "comm_size"
            raise ConfigError(f"{node.type} has no attribute {missing}, so the message is unknown; add it")
        me = node.number(own)
        if self.replicate:
            if me is not None:
                self.own = me
            peer = (rank + peer - self.own) % self.ranks
        elif me is not None and me != rank:
            raise ConfigError(f"{own} is {me}, but this is the trace of rank {rank}")
        tag = node.number("comm_tag") or 0
        tag = ANY if tag in (ANY, (1 << 32) - 1) and not send else tag
        # As in ASTRA-sim, nodes that depend on a send do not wait for its receiver.
        kind = SEND if send else RECEIVE
        return self.builder.message(kind, peer, size, tag, after, _COMMUNICATION, place=node.at, blocking=not send)

    def _stream(self, node: Node) -> int:
        name = str(node.attributes.get("pg_name") or "")
        return list(self.groups).index(name) + 1 if name in self.groups else 0

    def _group(self, rank: int, node: Node) -> tuple[int, list[int]]:
        """The group of a collective: its number in the builder, and its ranks."""
        name = str(node.attributes.get("pg_name") or "")
        if name not in self.groups and name not in ("", "0"):
            known = ", ".join(list(self.groups)[:8]) or "none"
            raise ConfigError(
                f"the ranks of the process group '{name}' are unknown (known: {known}); put a file such "
                f'as comm_group.json with {{"{name}": [0, 1]}} into the folder of the trace'
            )
        involved = node.attributes.get("involved_dim")
        if isinstance(involved, list) and involved and name not in self.groups and not all(involved):
            raise ConfigError(
                "involved_dim selects dimensions of the recorded network, which the trace does not "
                "describe; give the ranks as a process group (pg_name and comm_group.json)"
            )
        ranks = self.groups.get(name) or list(range(self.ranks))
        if self.replicate and name in self.groups:
            ranks = _shifted(ranks, self.own, rank, self.ranks)
        key = (name, rank if self.replicate else -1)
        if key not in self._group_of:
            self._group_of[key] = self.builder.group(ranks)
        return self._group_of[key], ranks

    def _read_groups(self, node: Node) -> None:
        """Read the groups that PyTorch records at its start, as JSON in the inputs of a metadata node."""
        begin, end = node.values.find("[{"), node.values.rfind("}]")
        if "pg_name" not in node.values or not 0 <= begin < end:
            return
        try:
            content = json.loads(node.values[begin : end + 2].replace('\\"', '"'))
        except ValueError:
            return
        for each in content:
            if is_group(each.get("ranks")):
                self.groups.setdefault(str(each.get("pg_name")), each["ranks"])


def _shifted(ranks: list[int], own: int, rank: int, total: int) -> list[int]:
    """The group of `rank` in a symmetric job in which `ranks` is the group of `own`."""
    size, step = len(ranks), ranks[1] - ranks[0] if len(ranks) > 1 else 1
    if ranks == list(range(total)) or size == 1:
        return ranks if size > 1 else [rank]
    even = step > 0 and ranks == list(range(ranks[0], ranks[0] + size * step, step))
    if not even or total % (size * step) or own not in ranks:
        raise ConfigError(
            f"the group {ranks[:8]} of rank {own} does not divide {total} ranks, so the groups of "
            "the other ranks are not known; use a folder with a file per rank, or another number of ranks"
        )
    first = rank // (size * step) * (size * step) + rank % step
    return list(range(first, first + size * step, step))


def _linked(path: Path, nodes: list[Node]) -> tuple[list[int], list[list[int]], int]:
    """Order and dependencies of nodes as positions, and the number of control dependencies that are left out.

    A node comes after its dependencies; otherwise the order of the file holds. If a control dependency names a node
    that the file lacks, the control dependencies are the call stack of a recorded program, in other numbers than the
    nodes. Then only the data dependencies count, as in the Chakra tools.
    """
    position = {node.id: at for at, node in enumerate(nodes)}
    if len(position) < len(nodes):
        again = next(node for at, node in enumerate(nodes) if position[node.id] != at)
        raise ConfigError(f"{path}: {again.text()}: two nodes have this number; numbers must differ")
    control = all(d in position for node in nodes for d in node.ctrl_deps)
    dependencies = []
    for node in nodes:
        missing = next((d for d in node.data_deps if d not in position), None)
        if missing is not None:
            raise ConfigError(
                f"{path}: {node.text()}: depends on node {missing}, which the file lacks; is it complete?"
            )
        dependencies.append(sorted({position[d] for d in [*node.data_deps, *(node.ctrl_deps if control else [])]}))
    sorter = TopologicalSorter(dict(enumerate(dependencies)))
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = " waits for ".join(nodes[at].text() for at in reversed(error.args[1][:8]))
        raise ConfigError(f"{path}: the dependencies form a cycle: {cycle}; remove one of them") from error
    order, ready = [], list[int]()
    while sorter.is_active():
        for at in sorter.get_ready():
            heappush(ready, at)
        order.append(heappop(ready))
        sorter.done(order[-1])
    return order, dependencies, 0 if control else sum(len(node.ctrl_deps) for node in nodes)


def _notes(player: _Player, versions: set[str], own: int) -> tuple[str, ...]:
    notes = [
        "A rank executes one CPU operator and one GPU kernel at a time, and its communication runs at the same time."
    ]
    if player.replicate:
        notes.append(f"All {player.ranks} ranks play the file of rank {own}, as in a symmetric job.")
    elif player.ranks == 1 and any(kind.startswith("COMM") for kind in player.nodes):
        notes.append("The trace has one rank, so its collectives send nothing; workload.replicate sets more ranks.")
    counted = (
        (player.ignored_ctrl, "control dependencies are left out, because some name nodes that the file lacks."),
        (player.recorded["operator"], "communication nodes on the CPU without a message's attributes take their "
         "recorded time: the framework's record of a call, whose kernel communicates."),
        (player.recorded["kernel"], "collectives without comm_type take their recorded time and send no messages."),
    )  # fmt: skip
    notes += [f"{count} {text}" for count, text in counted if count]
    if player.nodes["MEM_LOAD_NODE"] or player.nodes["MEM_STORE_NODE"]:
        notes.append("Memory nodes take their recorded time.")
    for version in sorted(versions - _VERSIONS):
        notes.append(f"The schema {version} is read as 1.0.0.")
    return (*notes, *player.builder.expansion.notes())


def _read(path: Path, options: TraceOptions) -> Trace:
    files = rank_files(path, looks_like_trace)
    if options.replicate and len(files) > 1:
        raise ConfigError(
            f"replicate is for the file of one rank, but the folder has files of {len(files)} ranks; leave replicate "
            "out, or name one file"
        )
    player = _Player(files, options, read_groups(path, files))
    own = player.own
    versions = set()
    for at, file in enumerate(files):
        version, nodes = read_nodes(file)
        versions.add(version)
        order, dependencies, ignored = _linked(file, nodes)
        for rank in range(player.ranks) if options.replicate else [at]:
            player.play(rank, nodes, order, dependencies)
        player.ignored_ctrl += ignored
    counts = {"ranks": player.ranks, "nodes": dict(player.nodes), **player.builder.counts()}
    return Trace(player.builder.program(), "chakra", counts, _notes(player, versions, own))


READER = Reader(
    "chakra",
    "a Chakra execution trace: a folder with one .et (protobuf) or .json file per rank, or the file of one rank",
    looks_like_trace,
    _read,
    options=("collective", "replicate", "size_scale"),
    folders=True,
)
