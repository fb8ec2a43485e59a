"""The life of packets in a simulation: their events in ns, and the candidates of each decision."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from omegaconf import DictConfig

from ...configs import core_sections, has_workload
from ...configs.quantities import in_number
from ...simcore import ConfigError, CoreError, Simulation, registered
from ..recording.run import prepared

_LINE = re.compile(r"\s*(\d+)\s+(\d+)\.(\d+) (\d+)->(\d+)  (?:(packet|head|tail|body) (.*)|candidate of router (.*))")
_CANDIDATE = re.compile(
    r"(\d+) port (\d+) \((\w+)\) class (\d+) to router (\d+): queued (\d+), in use downstream (\d+), "
    r"path ([\d.]+) ns, weight (\S+?)(, taken)?$"
)
_MOST_SLOTS = 256  # of a record
_CHUNK = 1024  # cycles between two looks at the log


@dataclass(frozen=True)
class Candidate:
    """An output that a packet may take."""

    port: int
    kind: str  # of the link: local or global
    vc_class: int
    to: int  # router
    queued: int  # flits in the output queue
    downstream: int  # buffer slots in use downstream
    path_ns: float  # of the shortest path to the destination without queueing
    weight: float  # of the routing, lower is better; NaN: it declares none
    taken: bool

    def __str__(self) -> str:
        weight = "" if math.isnan(self.weight) else f", weight {self.weight:g}"
        return (
            f"port {self.port} ({self.kind}) to router {self.to}, class {self.vc_class}: {self.queued} flits queued, "
            f"{self.downstream} in use downstream, at least {self.path_ns:,.1f} ns{weight}"
        )


@dataclass
class Event:
    """An event of a packet, or of its head or tail."""

    ns: float
    part: str  # packet, head or tail
    words: str  # e.g. "leaves on the channel of router 0 port 9 (local) vc 0, hops 0"
    candidates: list[Candidate] = field(default_factory=list)  # of a decision


@dataclass
class Life:
    """A packet from its acceptance to its delivery."""

    name: str  # <terminal>/<number>
    source: int
    destination: int
    events: list[Event] = field(default_factory=list)

    @property
    def delivered(self) -> bool:
        """Whether the whole packet has arrived."""
        return any(event.words.startswith("is delivered") and event.part != "head" for event in self.events)


def follow(config: DictConfig, packets: Sequence[str], max_ns: float) -> tuple[list[Life], Simulation]:
    """Run a configuration until some packets are delivered.

    Args:
        config: The configuration of a run.
        packets: `<terminal>/<number>`, the packets of a terminal counted from 0, or `<terminal>@<time>`, the first
            packet that a terminal sends after a time, such as 20us; without a unit in ns.
        max_ns: The longest simulated time.
    """
    try:
        has_record = "record" in registered("routing")[config.routing.name]["params"]
        simulation = prepared(config, {} if has_record else {"slots": _MOST_SLOTS, "observation": "progress"}, 1)
    except ConfigError as error:
        if "does not list candidates" not in str(error):
            raise
        simulation = Simulation(core_sections(config))
    run = simulation.run_workload if has_workload(config) else simulation.run
    end = min(simulation.cycles(max_ns), simulation.facts()["end_of_time_cycles"])
    for at, terminal, number in sorted(_packet(word, simulation) for word in packets):
        while simulation.now < min(at, end):
            run(min(_CHUNK, at - simulation.now))
        simulation.watch(terminal, int(simulation.arrays()["terminals"]["sequence"][terminal]) if at else number)
    lives: list[Life] = []
    while simulation.now < end and not (len(lives) == len(packets) and all(life.delivered for life in lives)):
        run(min(_CHUNK, end - simulation.now))
        lives = read_lives(simulation.watch_log(), simulation.cycle_ns)
    if len(lives) < len(packets) or not all(life.delivered for life in lives):
        raise CoreError(f"{len(packets)} packets were named, and not all are delivered after {max_ns:g} ns")
    return lives, simulation


def _packet(word: str, simulation: Simulation) -> tuple[int, int, int]:
    """The cycle after which a packet is sent, its terminal, and its number."""
    found = re.fullmatch(r"(\d+)(?:/(\d+)|@([\d.]+))", in_number("packet_ns", word))
    if not found:
        raise ConfigError(
            f"packet={word}: write <terminal>/<number>, such as 0/4, or <terminal>@<time>, such as 0@20us"
        )
    return simulation.cycles(float(found[3] or 0)), int(found[1]), int(found[2] or 0)


def read_lives(log: str, cycle_ns: float) -> list[Life]:
    """The packets of `Simulation.watch_log()`, in the order of their first events."""
    lives: dict[str, Life] = {}
    waiting: dict[str, list[Candidate]] = {}
    for line in log.splitlines():
        found = _LINE.fullmatch(line)
        if found is None:
            raise CoreError(f"the log of a packet has the unknown line '{line}'")
        cycle, source, number, _, destination, part, words, candidate = found.groups()
        name = f"{source}/{number}"
        life = lives.setdefault(name, Life(name, int(source), int(destination)))
        if candidate is not None:
            values = _CANDIDATE.fullmatch(candidate)
            assert values is not None
            _, port, kind, vc_class, to, queued, downstream, path, weight, taken = values.groups()
            counts = int(vc_class), int(to), int(queued), int(downstream)
            one = Candidate(int(port), kind, *counts, float(path), float(weight), taken is not None)
            waiting.setdefault(name, []).append(one)
        elif part != "body":
            decision = waiting.pop(name, []) if words.startswith("is routed") else []
            life.events.append(Event(int(cycle) * cycle_ns, part, words, decision))
    # A NIC reports a packet that leaves in the cycle of its acceptance before it reports the acceptance.
    for life in lives.values():
        life.events.sort(key=lambda event: (event.ns, not event.words.startswith("is accepted")))
    return list(lives.values())


def life_text(life: Life, routing: Mapping[str, Any]) -> Iterator[str]:
    """The lines that show a packet. `routing` is the section of the configuration."""
    yield f"packet {life.name} from terminal {life.source} to terminal {life.destination}"
    yield f"{'ns':>12} {'after ns':>9}"
    before = life.events[0].ns
    for event in life.events:
        for candidate in event.candidates:
            yield f"{'':22}  {'*' if candidate.taken else ' '} {candidate}"
        if event.candidates:
            yield f"{'':22}    reason: {reason(event.candidates, routing)}"
        part = "" if event.part == "packet" else f"{event.part} "
        yield f"{event.ns:12,.1f} {event.ns - before:9,.1f}  {part}{event.words}"
        before = event.ns
    yield f"{'':12} {life.events[-1].ns - life.events[0].ns:9,.1f}  in all"


def reason(candidates: Sequence[Candidate], routing: Mapping[str, Any]) -> str:
    """Why a routing took one of several candidates. The first candidate is minimal, except for `source_paths`."""
    taken = next((k for k, candidate in enumerate(candidates) if candidate.taken), 0)
    weights = [candidate.weight for candidate in candidates]
    known = [weight for weight in weights if not math.isnan(weight)]
    paths = candidates if routing["name"] == "source_paths" else candidates[:1]
    first = min(paths, key=lambda candidate: candidate.path_ns)
    # On a Dragonfly, a detour that begins with the port of the minimal path has another VC class.
    minimal = [
        candidate.path_ns <= first.path_ns and ("threshold" not in routing or candidate.vc_class == first.vc_class)
        for candidate in candidates
    ]
    which = "a minimal path" if minimal[taken] else "a detour"
    if known:
        return f"{which}, because {_by_weight(taken, weights, known, minimal, routing)}"
    name = routing["name"]
    loads = [candidate.queued + candidate.downstream for candidate in candidates]
    least = ", which has the fewest flits queued and downstream" if loads[taken] == min(loads) else ""
    return f"{which}{least}; {name} declares no weights here ({registered('routing')[name]['summary']})"


def _by_weight(
    taken: int, weights: Sequence[float], known: Sequence[float], minimal: Sequence[bool], routing: Mapping[str, Any]
) -> str:
    own, least = weights[taken], min(known)
    sides = ([w for w, m in zip(weights, minimal, strict=True) if m is side and w == w] for side in (True, False))
    direct, detour = (min(side, default=math.inf) for side in sides)
    if "threshold" in routing and detour < math.inf:
        sign = ">" if direct > int(routing["threshold"] * detour) + routing["bias_flits"] else "<="
        return f"{direct:g} {sign} int({routing['threshold']:g} x {detour:g}) + {routing['bias_flits']:g} flits"
    if "threshold_flits" in routing:
        limit = routing["threshold_flits"]
        if own != direct:
            return f"{own:g} flits wait there, at most {limit}, and more than {limit} at each minimal port"
        return f"{own:g} flits wait there, " + (
            f"at most {limit}" if own <= limit else f"and no detour has at most {limit}"
        )
    if "sharpness" in routing:
        return f"a path is drawn with 1 / estimate ^ {routing['sharpness']}: {own:g} ns here, at least {least:g} ns"
    if routing["name"] == "policy":
        return f"its score is {-own:g}, " + ("the highest" if own == least else f"and a draw excludes {-least:g}")
    if "q_thld1" not in routing:
        other = f"the lowest is {least:g}, without the heads of the same cycle and the room downstream"
        return f"its weight is {own:g}, " + ("the lowest" if own == least else other)
    if own == least:
        return f"its estimate of {least:g} ns is the lowest"
    if not minimal[taken]:
        draws = "compares random ports or explores" if "q_thld2" in routing else "explores"
        return f"the routing {draws}: its estimate is {own:g} ns, the lowest {least:g} ns"
    if (gain := (direct - least) / direct) < routing["q_thld1"]:
        return f"the lowest estimate is {gain:.1%} below {direct:g} ns, less than q_thld1 ({routing['q_thld1']:.0%})"
    return f"the port with the lowest estimate, {least:g} ns instead of {direct:g} ns, is not compared at this router"
