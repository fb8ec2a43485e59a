"""`flitgym trace`: shows and translates recorded traces, follows packets, and writes timelines of runs.

flitgym trace info Fin5.bin
flitgym trace convert Fin5.bin Fin5.goal
flitgym trace packet packet=0@20us topology=dragonfly_72 routing=ugal_l traffic=adversarial
flitgym trace timeline results/see/<run>
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..configs import PLOT_FORMATS, compose, refuse_unknown
from ..configs.quantities import in_number
from ..simcore import ConfigError
from ..simcore._files import atomic_path
from ..simcore.traces import Trace, TraceOptions, read_trace, readers
from .results.files import read_result, write_text
from .terminal.commandline import CommandError, main_of, parse, picture_file
from .terminal.times import time_text
from .traces.measure import course_of, facts_of, loggops_parameters
from .traces.packet import follow, life_text
from .traces.timeline import of_packets, of_run

NAME = "flitgym trace"
FOLDER = Path("results/traces")
_SCHEDULES = {".goal": "text", ".txt": "text", ".bin": "binary"}
_OPTIONS = {each.name: each.type for each in fields(TraceOptions)}
_USAGE = f"""usage: {NAME} info FILE [format=NAME] [KEY=VALUE ...] [--json] [out=FILE]
       {NAME} convert IN OUT [format=NAME] [KEY=VALUE ...]
       {NAME} packet packet=TERMINAL/NUMBER [max_ns=TIME] [out=FILE.json] [KEY=VALUE ...]
       {NAME} timeline RUN [out=FILE.json]

info     Print ranks, operations, bytes, and the finishing time on an ideal network, and draw a picture: bytes by sender
         and receiver, and operations over time. FILE may be a folder with one file per rank.
convert  Write a trace as a GOAL schedule: text if OUT ends with .goal or .txt, binary if it ends with .bin.
packet   Simulate with the keys of flitgym simulate, and print the life of a packet in ns: each decision with its
         candidates and the reason. 0/4 is the fifth packet of terminal 0, 0@20us its first packet after 20 us; several
         are separated by commas. max_ns (default: 1ms) ends the simulation.
timeline Write the jobs and the ten busiest links of a run, as JSON of Chrome traces for ui.perfetto.dev.

  format     one of {", ".join(("auto", *readers()))}; default: auto, recognised by the content
  {"  ".join(_OPTIONS)}  as the keys of workload=trace
  out        the picture, which ends with .{", .".join(PLOT_FORMATS)}; default: {FOLDER}/NAME.png
  --json     print the facts as JSON, and draw a picture only with out=FILE
  loggops_*  parameters of the ideal network, as the keys of workload=trace, e.g. loggops_L_ns=1000
"""


def info(path: Path, given: Mapping[str, str], as_json: bool) -> str:
    """The facts about a trace as text. Draws the picture, with `as_json` only if `out` is given."""
    stem = path.resolve().stem if path.is_file() else path.resolve().name
    picture = picture_file(given["out"]) if "out" in given else None if as_json else FOLDER / f"{stem}.png"
    trace = _read(path, given)
    model = {key: _number(float, key, given[key]) for key in loggops_parameters() if key in given}
    facts = {"file": str(path), **facts_of(trace, model)}
    if picture:
        from .plotting.drawing import save_figure  # with Matplotlib, which takes long to import
        from .traces.picture import trace_figure

        ideal = facts["ideal_finish"]
        course = course_of(trace.program, ideal["loggops"], ideal["loggops_ns"])
        title = f"{path.name}: {facts['format']}, {facts['ranks']:,} ranks"
        figure = trace_figure(trace.program, course, title, model_text(ideal["loggops"]))
        save_figure(figure, picture.with_suffix(""), "flitgym", [picture.suffix[1:]])
    if as_json:
        return json.dumps(facts, indent=1)
    rows = [("file", str(path)), *lines_of(facts), *([("picture", str(picture))] if picture else [])]
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{wide}}  {value}" for name, value in rows)


def convert(source: Path, target: Path, given: Mapping[str, str]) -> Path:
    """Write a trace as a GOAL schedule."""
    if target.suffix not in _SCHEDULES:
        raise CommandError(f"{target}: the name of a schedule ends with {', '.join(_SCHEDULES)}")
    program = _read(source, given).program
    content = program.to_goal_binary() if _SCHEDULES[target.suffix] == "binary" else program.to_goal().encode()
    with atomic_path(target) as path:
        path.write_bytes(content)
    return target


def _read(path: Path, given: Mapping[str, str]) -> Trace:
    options: dict[str, Any] = {key: given[key] for key in _OPTIONS if key in given}
    for key in options:
        if kind := {"int": int, "float": float}.get(str(_OPTIONS[key])):
            options[key] = _number(kind, key, given[key])
    return read_trace(path, format=given.get("format", "auto"), options=TraceOptions(**options))


def _number(kind: type, key: str, word: str) -> float:
    try:
        return kind(word)  # type: ignore[no-any-return]
    except ValueError:
        raise ConfigError(f"{key}={word}: not a{' whole' if kind is int else ''} number") from None


def packet(words: Sequence[str]) -> str:
    """The life of packets as text. Writes a timeline if `out` is given."""
    own = ("packet", "max_ns", "out")
    _, given, _ = parse([word for word in words if word.partition("=")[0] in own], own, ())
    if "packet" not in given:
        raise CommandError(f"packet=TERMINAL/NUMBER is missing; for example {NAME} packet packet=0/4 routing=ugal_l")
    config = compose([word for word in words if word.partition("=")[0] not in own])
    out = _json_file(given["out"]) if "out" in given else None
    max_ns = _number(float, "max_ns", in_number("max_ns", given.get("max_ns", "1ms")))
    lives, simulation = follow(config, given["packet"].split(","), max_ns)
    routing: Any = simulation.configuration()["routing"]
    lines = [line for life in lives for line in (*life_text(life, routing), "")]
    if out:
        lines.append(str(_write_timeline(out, of_packets(lives, routing))))
    return "\n".join(lines).rstrip()


def timeline(folder: Path, out: Path | None) -> Path:
    """Write the timeline of a run, by default to `timeline.json` in its folder."""
    result = read_result(folder)
    events = of_run(result, folder) if result else []
    if not events:
        raise CommandError(f"{folder} holds no run with jobs or links; record links with run.channels=true")
    return _write_timeline(out or folder / "timeline.json", events)


def _json_file(name: str) -> Path:
    if not name.endswith(".json"):
        raise CommandError(f"out={name}: the name of a timeline ends with .json")
    return Path(name)


def _write_timeline(path: Path, events: list[dict[str, Any]]) -> Path:
    write_text(path, json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}))
    return path


def run(words: Sequence[str]) -> str:
    """Execute a command line, and return the lines to print."""
    commands = {"info": "FILE", "convert": "IN OUT", "packet": "", "timeline": "RUN"}
    refuse_unknown("command line", words[:1], commands, "command")
    if words[0] == "packet":
        return packet(words[1:])
    if words[0] == "timeline":
        paths, given, _ = parse(words[1:], ("out",), ())
        if len(paths) != 1:
            raise CommandError(f"{len(paths)} paths; write {NAME} timeline RUN")
        return str(timeline(paths[0], _json_file(given["out"]) if "out" in given else None))
    shows, wanted = words[0] == "info", commands[words[0]]
    keys = ["format", *_OPTIONS, *(["out", *loggops_parameters()] if shows else [])]
    paths, given, flags = parse(words[1:], keys, ["json"] if shows else [])
    if len(paths) != len(wanted.split()):
        raise CommandError(f"{len(paths)} paths; write {NAME} {words[0]} {wanted}")
    return info(paths[0], given, "json" in flags) if shows else str(convert(paths[0], paths[1], given))


_UNITS = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def lines_of(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values, in the order of the table."""
    operations, ideal = facts["operations"], facts["ideal_finish"]
    yield "format", facts["format"]
    yield "ranks", f"{facts['ranks']:,}"
    for kind, noun in (("calc", "computations"), ("send", "sends"), ("receive", "receives")):
        yield noun, f"{operations[kind]:,}"
    yield "bytes of messages", bytes_text(facts["message_bytes"])
    if operations["send"]:
        yield "bytes of a message (mean)", bytes_text(facts["message_bytes"] / operations["send"])
    yield "computation, sum over ranks", time_text(facts["computation_ns"])
    for name, value in facts["contents"].items():
        yield from _nested(name.replace("_", " "), value, "bytes" in name)
    free = {key: value if key.endswith("_bytes") else 0 for key, value in ideal["loggops"].items()}
    for model, end in ((free, "computation_ns"), (ideal["loggops"], "loggops_ns")):
        yield f"finish with {model_text(model)}", _time(ideal[end])
    for note in facts["notes"]:
        yield "note", note


def model_text(loggops: Mapping[str, float]) -> str:
    """The LogGOPS parameters in the order of the model's name: `LogGOPS L=2500 o=1500 ... S=65535`."""
    values = {key.split("_")[1]: value for key, value in loggops.items()}
    return "LogGOPS " + " ".join(f"{letter}={values[letter]:g}" for letter in sorted(values, key="LogGOPS".index))


def bytes_text(count: float) -> str:
    """A number of bytes, in a decimal unit as well if it is large: `4,000,000 B (4.00 MB)`."""
    exact = f"{count:,.0f} B" if count >= 10 or count == int(count) else f"{count:.1f} B"
    unit = next(((name, size) for name, size in _UNITS if count >= size), None)
    return f"{exact} ({count / unit[1]:.3g} {unit[0]})" if unit else exact


def _time(ns: float) -> str:
    return f"{ns:,.3f} ns".replace(".000 ns", " ns") + (f" ({time_text(ns)})" if ns >= 1000 else "")


def _nested(name: str, value: Any, in_bytes: bool) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _nested(f"{name}: {key}", inner, in_bytes or "bytes" in str(key))
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        yield name, str(value)
    else:
        yield name, bytes_text(value) if in_bytes else f"{value:,}"


main = main_of(NAME, _USAGE, run)
