"""A machine in one YAML file, in the units of data sheets: `machine=my.yaml` sets the keys of topology and router.

The page "Networks" describes the keys of the file.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..simcore import ConfigError, registered
from ..simcore._files import open_plain
from ..simcore._words import refuse_unknown, unknown
from .policies import with_files
from .quantities import LENGTHS, RATES, SIZES, TIMES, hydra_text, in_numbers

LEVELS = ("host", "local", "global")
_KEYS = (
    *("topology", "shape", "nodes_per_switch", "nics_per_node", "bandwidth", "cables", "switch"),
    *("nic_buffer", "nic_latency", "packet", "flit", "router", "congestion_control"),
)
_OF_SWITCH = ("ports", "links_per_port", "latency", "vcs", "buffer", "speedup")
_COUNTS = ("nodes_per_switch", "nics_per_node", "switch.ports", "switch.vcs", "switch.speedup")
_TERMINALS = ("terminals_per_router", "terminals_per_leaf")  # parameters with the terminals of a switch
_MOST_PARTS = 64  # cycles of a flit in the crossbar
_ROUNDING = 0.005  # relative error of flit times, half of the limit of the core
_HOP_CYCLES = 20  # a hop has at least this number of cycles, so that rounding changes it by less than 2.5 %


@dataclass(frozen=True)
class Machine:
    """A machine with times in ns, bandwidths in GB/s (which are bytes per ns) and sizes in bytes."""

    topology: Mapping[str, Any]  # `name`, a topology or a preset, and its keys
    router: Mapping[str, Any]  # keys of the router `vc_router`
    control: str  # name of a congestion control
    packet: float
    ports: int  # of a switch; 0: not given
    links_per_port: Mapping[str, int]  # by level; above 1, the cables of a port have several ends
    latency: float  # of a switch, from port to port
    buffer: float  # of the input of a VC
    bandwidth: Mapping[str, float]  # by level
    cables: Mapping[str, float]  # by level, with the latency of the NIC
    has_global: bool  # whether the file names global links

    def needed(self, level: str) -> float:
        """The buffer of a VC that fills a link, in bytes: its bandwidth times the time until a credit returns."""
        return _in_flight(self.bandwidth[level], self.cables[level], self.latency)

    def shape(self) -> list[str]:
        """The overrides of the topology."""
        return [f"topology={self.topology['name']}", *_overrides("topology", self.topology)]

    def shortfalls(self) -> list[str]:
        """A sentence for each level whose links one VC cannot fill."""
        return [
            f"{level} links: a VC has {self.buffer / 1024:.4g} KiB, but bandwidth x round trip is "
            f"{need / 1024:.4g} KiB; one VC fills about {self.buffer / need:.0%} of the link"
            for level in LEVELS
            if self.buffer < (need := self.needed(level))
        ]


def expanded(words: Iterable[str], root: str = "config") -> list[str]:
    """Overrides of the primary configuration `root` with the keys of a machine, and with numbers instead of quantities.

    The keys of `machine=<file>` precede the others, which therefore change them.

    Raises:
        ConfigError: a file is wrong, or there are two machines or topologies.
    """
    given = list(words)
    files = [word for word in given if word.startswith("machine=")]
    if len(files) > 1:
        raise ConfigError(f"{' '.join(files)}: give one machine")
    rest = [word for word in given if word not in files]
    if files and (others := [word for word in rest if word.startswith("topology=")]):
        raise ConfigError(f"{files[0]} {others[0]}: a machine has its own topology; change its keys, topology.<key>=")
    for file in files:
        jobs = any(word.startswith("workload=") and word != "workload=none" for word in rest)
        rest = [*_words(read_machine(Path(file.partition("=")[2])), root, jobs), *rest]
    return in_numbers(with_files(rest))


def _words(machine: Machine, root: str, jobs: bool) -> list[str]:
    words = machine.shape()
    if root == "saturate":
        words[0] = f"networks=[{machine.topology['name']}]"
    if root == "route":  # which has no router
        return words
    words += ["router=vc_router", *_overrides("router", machine.router)]
    if root != "train":  # which has no control
        words.append(f"congestion_control={machine.control}")
    return [*words, f"{'workload' if jobs else 'traffic'}.packet_bytes={machine.packet:.0f}"]


def _overrides(section: str, values: Mapping[str, Any]) -> list[str]:
    return [f"{section}.{key}={hydra_text(value)}" for key, value in values.items() if key != "name"]


def read_machine(path: Path) -> Machine:
    """Read and check the file of a machine.

    Raises:
        ConfigError: a key is unknown or missing, a value has no unit, or values do not fit each other. The message has
            a line for each unknown key, or for each value without a unit.
        OSError: the file cannot be read.
    """
    with open_plain(path) as file:
        content = yaml.safe_load(file)
    problems: list[str] = []

    def tried(check: Callable[..., Any], *args: Any) -> Any:
        try:
            return check(*args)
        except ConfigError as error:
            problems.append(str(error))

    def settle() -> None:
        if problems:
            raise ConfigError("\n".join(problems))

    tried(_check_keys, str(path), content, _KEYS, ("topology", "bandwidth", "cables", "switch"))
    if not isinstance(content, dict):
        settle()
    switch, shape, own = (content.get(key) or {} for key in ("switch", "shape", "router"))
    for key, section in (("shape", shape), ("router", own)):
        tried(_check_keys, f"{path}: {key}", section, section, ())
    tried(_check_keys, f"{path}: switch", switch, _OF_SWITCH, ("latency",))
    settle()
    per_port = switch.get("links_per_port") or {}
    tried(_check_keys, f"{path}: switch.links_per_port", per_port, LEVELS, ())
    values = {**content, **{f"switch.{key}": value for key, value in switch.items()}}
    for key, value in [*values.items(), *((f"switch.links_per_port.{level}", per_port[level]) for level in per_port)]:
        if (key in _COUNTS or "links_per_port." in key) and (not isinstance(value, int) or value < 1):
            problems.append(f"{path}: {key}: '{value}' is no whole number above 0")
    bandwidth = tried(_by_level, f"{path}: bandwidth", content["bandwidth"], RATES, "400Gb/s")
    cables = tried(_by_level, f"{path}: cables", content["cables"], LENGTHS | TIMES, "30m")
    given = {"flit": "256B", "packet": "4KiB", **values}
    kinds = {"switch.latency": (TIMES, "350ns"), "nic_latency": (TIMES, "150ns")}
    kinds |= dict.fromkeys(("switch.buffer", "nic_buffer"), (SIZES, "64KiB"))
    kinds |= {"flit": (SIZES, "256B"), "packet": (SIZES, "4KiB")}
    parts = {key: tried(_number, f"{path}: {key}", given[key], *kind) for key, kind in kinds.items() if key in given}
    settle()
    latency, flit, packet = (parts[key] for key in ("switch.latency", "flit", "packet"))
    cables["host"] += parts.get("nic_latency", 0)
    speedup = switch.get("speedup", 2)
    least = packet + max(_in_flight(bandwidth[level], cables[level], latency) for level in LEVELS)
    buffer = parts.get("switch.buffer", math.ceil(2 * least))
    if buffer < packet:
        raise ConfigError(
            f"{path}: the buffer of a VC, {buffer:.0f} bytes, has no room for a packet of {packet:.0f} bytes"
        )
    name = content["topology"]
    if "file" in shape:
        shape["file"] = str(path.parent / shape["file"])
    if "nodes_per_switch" in content:
        known = registered("topology").get(name, {"params": {}})["params"]
        terminals = next((key for key in _TERMINALS if key in known), None)
        if terminals is None:
            raise ConfigError(f"{path}: nodes_per_switch: {name} has no such number; set its keys in shape")
        shape[terminals] = content["nodes_per_switch"] * content.get("nics_per_node", 1)
    elif "nics_per_node" in content:
        raise ConfigError(f"{path}: nics_per_node needs nodes_per_switch; set the terminals of this network in shape")
    crossbar = speedup * max(bandwidth.values())
    cycle = own.get("cycle_ns") or _cycle(path, flit, crossbar, bandwidth, latency + min(cables.values()))
    router = {
        "cycle_ns": float(f"{cycle:.9g}"),
        "flit_bytes": flit,
        **{f"link_bandwidth_gb_per_s_{level}": rate for level, rate in bandwidth.items()},
        "crossbar_bandwidth_gb_per_s": crossbar,
        **{f"link_latency_ns_{level}": float(f"{round(time / cycle) * cycle:.6g}") for level, time in cables.items()},
        # A hop also takes a cycle in the output queue.
        **dict.fromkeys(("input_latency_ns", "output_latency_ns"), float(f"{max(0, latency - cycle) / 2:.6g}")),
        "input_buffer_flits": int(buffer // flit),
        "output_buffer_flits": max(int(packet // flit), int(buffer // flit) // 2) if speedup > 1 else 0,
        "nic_buffer_flits": int(parts.get("nic_buffer", buffer) // flit),
        "vcs": switch.get("vcs", 0),
        # As in the presets of InfiniBand and Slingshot: credits and crossbars work with whole packets.
        **{"credit_granularity": "packet", "credit_latency": "link", "crossbar_sharing": "packet"},
        **own,
    }
    control = content.get("congestion_control", "none")
    refuse_unknown(f"{path}: congestion_control", [control], registered("congestion_control"), "control")
    by_level = [one for one in (per_port, content["bandwidth"], content["cables"]) if isinstance(one, dict)]
    known = (packet, switch.get("ports", 0), per_port, latency, buffer, bandwidth, cables)
    return Machine({"name": name, **shape}, router, control, *known, any("global" in one for one in by_level))


def _in_flight(rate: float, cable: float, latency: float) -> float:
    """Bandwidth times the time until a credit returns, in bytes."""
    return rate * (2 * cable + latency)


def _cycle(path: Path, flit: float, crossbar: float, bandwidth: Mapping[str, float], hop: float) -> float:
    """The longest cycle whose multiples are the times of a flit on the links and in the crossbar, in ns."""
    times = [flit / rate for rate in bandwidth.values()]
    for parts in range(1, _MOST_PARTS + 1):
        cycle = flit / crossbar / parts
        if cycle * _HOP_CYCLES <= hop and all(abs(round(t / cycle) * cycle / t - 1) <= _ROUNDING for t in times):
            return cycle
    rates = ", ".join(f"{8 * rate:g}" for rate in bandwidth.values())
    raise ConfigError(
        f"{path}: no cycle fits links of {rates} Gb/s, a crossbar of {8 * crossbar:g} Gb/s and a hop of {hop:g} ns; "
        "take bandwidths with a common divisor, or a smaller flit"
    )


def _check_keys(where: str, content: Any, valid: Iterable[str], needed: Iterable[str]) -> None:
    if not isinstance(content, dict):
        raise ConfigError(f"{where}: expected keys: {', '.join(valid)}")
    problems = [unknown(where, str(key), valid, "key") for key in content if key not in valid]
    if missing := [key for key in needed if key not in content]:
        problems.append(f"{where}: {', '.join(missing)} is missing")
    if problems:
        raise ConfigError("\n".join(problems))


def _by_level(where: str, given: Any, units: Mapping[str, float], example: str) -> dict[str, float]:
    """The values by level; one value is that of all levels, and the global one is that of local if it is not given."""
    values = given if isinstance(given, dict) else dict.fromkeys(LEVELS, given)
    _check_keys(where, values, LEVELS, ("host", "local"))
    values = {"global": values["local"], **values}
    return {level: _number(f"{where}.{level}", values[level], units, example) for level in LEVELS}


def _number(where: str, value: Any, units: Mapping[str, float], example: str) -> float:
    found = re.fullmatch(r"(\d+\.?\d*) *(\S+)", str(value))
    if not found or found[2] not in units or not float(found[1]):
        raise ConfigError(
            f"{where}: '{value}' is no number with a unit; write for example {example}; units: {', '.join(units)}"
        )
    return float(found[1]) * units[found[2]]
