"""Training steps of language models as text: the workloads of AICB (github.com/aliyun/aicb) for SimAI.

The columns and their groups are those of SimAI's reader (`astra-sim/workload/Workload.cc`). Without a suffix, forward
and input gradient use the tensor-parallel group, and the weight gradient uses the data-parallel group. A suffix `_EP`
selects the expert-parallel group, and `_DP_EP` the ranks with the same experts. The order of ranks is that of
Megatron-LM: tensor, expert, data, pipeline (`megatron/core/parallel_state.py`, order `tp-cp-ep-dp-pp`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..._core import ConfigError
from ..._files import read_unpacked
from ..._program import RECEIVE, SEND
from ..builder import ProgramBuilder
from ..reader import Reader, Trace, TraceOptions

_COMPUTE, _COMMUNICATION = 0, 1  # processors of a rank
_TRAINING = ("HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER_FWD_IN_BCKWD")
_POLICIES = (*_TRAINING, "DATA", "MODEL", "DISTRIBUTED_INFERENCE", "MICRO")
# Other strategies of SimAI. They need the dimensions of its network, which the file does not have.
_UNSUPPORTED = ("HYBRID_DLRM", "HYBRID_DLRM_ENHANCED", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_CUSTOMIZED")
_CORE_NAMES = {
    "ALLREDUCE": "allreduce",
    "ALLGATHER": "allgather",
    "REDUCESCATTER": "reduce_scatter",
    "ALLTOALL": "alltoall",
    "BROADCAST": "bcast",
    "REDUCE": "reduce",
}
_SUFFIXES = {"": "", "_EP": "ep", "_DP_EP": "dp_ep"}
_KEYS = {
    "model_parallel_NPU_group": "tp",
    "tp": "tp",
    "ep": "ep",
    "expert_parallel_npu_group": "ep",
    "pp": "pp",
    "vpp": "vpp",
    "ga": "ga",
    "all_gpus": "all_gpus",
    "pp_comm": "pp_comm",
}
_FIELDS = 12  # of a layer
_FEWEST = 16  # ranks, if the file names no number and the parallel groups fit
_STREAMS = ("tp", "dp", "ep", "dp_ep", "all")


@dataclass(frozen=True)
class _Phase:
    """Computation and communication of a layer in one direction."""

    line: int
    ns: int
    collective: str  # name in the core, or ""
    group: str
    bytes: int
    process_ns: int  # after the collective


@dataclass(frozen=True)
class _Workload:
    policy: str
    sizes: dict[str, int]
    checkpoints: frozenset[int]
    initiates: frozenset[int]
    layers: list[list[_Phase]]  # forward, input gradient, weight gradient
    more_lines: int  # after the announced layers


def _number(text: str, where: str) -> int:
    """A number, which may be written as 7.0, because AICB divides some sizes."""
    if not re.fullmatch(r"\d{1,19}(\.0*)?", text):
        raise ConfigError(f"{where}: {text[:40]!r} is not a whole number from 0")
    return int(text.split(".")[0])


def _parse(path: Path) -> _Workload:
    lines = read_unpacked(path).decode().splitlines()
    words = iter(lines[0].split())
    policy = next(words, "")
    if policy not in _POLICIES:
        reason = "needs the dimensions of SimAI's network" if policy in _UNSUPPORTED else "is unknown"
        raise ConfigError(f"line 1: the strategy {policy[:40]} {reason}; valid: {', '.join(_POLICIES)}")
    sizes, lists = {}, {"checkpoints": frozenset[int](), "checkpoint_initiates": frozenset[int]()}
    for word in words:
        key = word.rstrip(":")
        if key in _KEYS:
            sizes[_KEYS[key]] = _number(next(words, ""), f"line 1: {key}")
        elif key in lists:
            count = _number(next(words, ""), f"line 1: {key}")
            lists[key] = frozenset(_number(next(words, ""), f"line 1: {key}") for _ in range(count))
    for key in ("tp", "ep", "pp"):
        if sizes.get(key) == 0:
            raise ConfigError(f"line 1: {key} is 0; a parallel group has at least one rank")
    count = _number(lines[1].strip() if len(lines) > 1 else "", "line 2, the number of layers")
    rows = [(number, line.split()) for number, line in enumerate(lines[2:], 3) if line.strip()]
    if not 0 < count <= len(rows):
        raise ConfigError(f"line 2 announces {count} layers, but {len(rows)} lines follow; is the file truncated?")
    checkpoints, initiates = lists.values()
    if wrong := [layer for layer in checkpoints | initiates if layer >= count]:
        raise ConfigError(f"line 1: there is no layer {wrong[0]}; the file has {count} layers, counted from 0")
    if initiates and (not checkpoints or min(initiates) < min(checkpoints)):
        raise ConfigError(f"line 1: layer {min(initiates)} starts a recomputation, but no checkpoint precedes it")
    groups = ("tp", "tp", "dp") if policy in _TRAINING else ("all",) * 3
    layers = [_layer(number, words, groups) for number, words in rows[:count]]
    return _Workload(policy, sizes, checkpoints, initiates, layers, len(rows) - count)


def _layer(line: int, words: list[str], groups: tuple[str, ...]) -> list[_Phase]:
    where = f"line {line}"
    if len(words) != _FIELDS:
        raise ConfigError(
            f"{where}: a layer has {_FIELDS} fields (name, dependency; time, collective, bytes of forward, input "
            f"gradient and weight gradient, and the process time), but this line has {len(words)}; is it truncated?"
        )
    phases = []
    for at, group in zip((2, 5, 8), groups, strict=True):
        kind = words[at + 1]
        name = next((n for n in _CORE_NAMES if kind.startswith(n) and kind[len(n) :] in _SUFFIXES), "")
        if not name and kind != "NONE":
            raise ConfigError(
                f"{where}: unknown collective {kind[:40]!r}; valid: NONE, {', '.join(_CORE_NAMES)}, and with _EP or "
                "_DP_EP"
            )
        ns, size, process_ns = (_number(words[k], where) for k in (at, at + 2, 11))
        group = _SUFFIXES.get(kind.removeprefix(name), "") or group
        phases.append(_Phase(line, ns, _CORE_NAMES.get(name, ""), group, size, process_ns))
    return phases


class _Groups:
    """The parallel groups of a job."""

    def __init__(self, workload: _Workload, ranks: int) -> None:
        sizes = workload.sizes
        one = workload.policy not in _TRAINING
        self.tp, self.pp, self.ep = (1, 1, 1) if one else (sizes.get(key, 1) for key in ("tp", "pp", "ep"))
        self.ranks = ranks
        self.stage = ranks // self.pp  # ranks of a pipeline stage
        if ranks % (self.tp * self.pp) or (self.stage // self.tp) % self.ep:
            raise ConfigError(
                f"{ranks} ranks cannot have tensor-parallel groups of {self.tp}, expert-parallel groups of "
                f"{self.ep} and {self.pp} pipeline stages; use a multiple of {self.tp * self.pp * self.ep}"
            )

    def of(self, kind: str, rank: int) -> range:
        """Ranks of a group, in order."""
        first = rank // self.stage * self.stage  # of the stage
        end = first + self.stage
        place, tensor = rank - first, rank % self.tp
        if kind == "tp":
            return range(rank - tensor, rank - tensor + self.tp)
        if kind == "ep":
            begin = first + place // (self.tp * self.ep) * self.tp * self.ep + tensor
            return range(begin, begin + self.tp * self.ep, self.tp)
        if kind == "dp":
            return range(first + tensor, end, self.tp)
        if kind == "dp_ep":
            return range(first + place % (self.tp * self.ep), end, self.tp * self.ep)
        return range(self.ranks)


class _Player:
    """Adds the operations of the ranks."""

    def __init__(self, builder: ProgramBuilder, workload: _Workload, groups: _Groups) -> None:
        self.builder, self.workload, self.groups = builder, workload, groups
        self.rank = 0
        self.now: list[int] = []  # operations that end before the next computation
        self._group = cache(builder.group)  # all members of a group share its number
        self.alone: Counter[str] = Counter()  # collectives of rank 0 in groups of one rank

    def play(self, rank: int) -> None:
        """Add a training step of a rank."""
        self.builder.begin(rank)
        self.rank, self.now = rank, []
        layers, policy = self.workload.layers, self.workload.policy
        if policy == "MICRO":
            for layer in layers:
                for phase in layer:
                    self._blocking(phase)
            return
        self._pass(range(len(layers)), lambda k: self._blocking(layers[k][0]), forward=True)
        if policy != "DISTRIBUTED_INFERENCE":
            self._pass(range(len(layers) - 1, -1, -1), self._backward, forward=False)

    def _pass(self, order: range, layer: Callable[[int], None], *, forward: bool) -> None:
        """Run a pass with the messages between pipeline stages: one per micro-batch, at equal distances."""
        batches = max(self.workload.sizes.get("ga", 1), 1) if self.groups.pp > 1 else 0
        step, size = self.groups.stage if forward else -self.groups.stage, self.workload.sizes.get("pp_comm", 0)
        to, source, tag = self.rank + step, self.rank - step, 0 if forward else 1
        sent = 0
        for done, k in enumerate(order, 1):
            layer(k)
            while size and sent < done * batches // len(order):
                if 0 <= to < self.groups.ranks:
                    self.builder.message(SEND, to, size, tag, self.now, _COMMUNICATION, place=1)
                if 0 <= source < self.groups.ranks:
                    self.builder.message(RECEIVE, source, size, tag, (), _COMMUNICATION, place=1)
                sent += 1

    def _backward(self, k: int) -> None:
        _, inputs, weights = self.workload.layers[k]
        if k in self.workload.initiates:
            begin = max(each for each in self.workload.checkpoints if each <= k)
            for forward, _, _ in self.workload.layers[begin:k]:
                self._blocking(forward)
        if self.workload.policy == "DATA":
            self._weights(weights)
            self._blocking(inputs)
        else:
            self._blocking(inputs)
            self._weights(weights)

    def _blocking(self, phase: _Phase) -> None:
        self._compute(phase)
        if phase.collective:
            self.now = self._communicate(phase)

    def _weights(self, phase: _Phase) -> None:
        """The reduction of weight gradients overlaps the computation of the following layers."""
        self._compute(phase)
        if phase.collective:
            self._communicate(phase)

    def _compute(self, phase: _Phase) -> None:
        if phase.ns > 0:
            self.now = [self.builder.calc(phase.ns, self.now, _COMPUTE, phase.line)]

    def _communicate(self, phase: _Phase) -> list[int]:
        members = self.groups.of(phase.group, self.rank)
        if len(members) == 1:
            self.alone[phase.group] += self.rank == 0
            return self.now
        share = phase.collective in ("allgather", "alltoall")
        end = self.builder.collective(
            phase.collective,
            -(-phase.bytes // len(members)) if share else phase.bytes,
            self._group(members),
            self.now,
            cpu=_COMMUNICATION,
            stream=_STREAMS.index(phase.group),
            place=phase.line,
        )
        return [self.builder.calc(phase.process_ns, [end], _COMMUNICATION, phase.line)] if phase.process_ns else [end]


def _ranks(workload: _Workload, options: TraceOptions) -> int:
    if options.replicate:
        return options.replicate
    sizes = workload.sizes
    if sizes.get("all_gpus"):
        return sizes["all_gpus"]
    least = sizes.get("tp", 1) * sizes.get("pp", 1) * sizes.get("ep", 1)
    return max(2, -(-_FEWEST // least)) * least


def _notes(player: _Player, options: TraceOptions) -> tuple[str, ...]:
    workload, groups, builder = player.workload, player.groups, player.builder
    data = groups.stage // groups.tp
    notes = [
        f"{groups.ranks} ranks play the step, with tensor-parallel groups of {groups.tp}, data-parallel groups "
        f"of {data}, expert-parallel groups of {groups.ep} and {groups.pp} pipeline stages."
        if workload.policy in _TRAINING
        else f"{groups.ranks} ranks play the workload {workload.policy} in one group."
    ]
    if not options.replicate and not workload.sizes.get("all_gpus"):
        notes.append("The file names no number of GPUs; workload.replicate sets the number of ranks.")
    if options.replicate and workload.sizes.get("all_gpus", options.replicate) != options.replicate:
        notes.append(f"The file names {workload.sizes['all_gpus']} GPUs; workload.replicate sets {options.replicate}.")
    if groups.pp > 1:
        notes.append(
            "All pipeline stages play the layers of the file at the same time. Their messages, one per micro-batch and "
            "direction, overlap the computation, so the result has no pipeline bubble."
        )
    for group, count in player.alone.items():
        if count:
            notes.append(f"{count} collectives of a rank send nothing, because its group '{group}' has one rank.")
    if workload.more_lines:
        notes.append(f"{workload.more_lines} lines after the announced layers are left out.")
    return (*notes, *builder.expansion.notes())


def _read(path: Path, options: TraceOptions) -> Trace:
    workload = _parse(path)
    ranks = _ranks(workload, options)
    builder = ProgramBuilder(
        ranks, options.collective, lambda _, line: f"{path}: line {line}", size_scale=options.size_scale, alike=True
    )
    player = _Player(builder, workload, _Groups(workload, ranks))
    for rank in range(ranks):
        player.play(rank)
    counts = {"ranks": ranks, "layers": len(workload.layers), **builder.counts()}
    return Trace(builder.program(), "aicb", counts, _notes(player, options))


def _recognises(begin: bytes) -> bool:
    words = begin.split(maxsplit=1)
    return bool(words) and words[0].decode("ascii", "replace") in (*_POLICIES, *_UNSUPPORTED)


READER = Reader(
    "aicb",
    "a training step of AICB for SimAI as text: a strategy, the number of layers, then a line per layer",
    _recognises,
    _read,
    options=("collective", "replicate", "size_scale"),
)
