"""Instructions, cache misses and mispredicted branches per flit-hop, by stage of the cycle, counted by callgrind.

Counts do not depend on other work of the machine, so they show a gain of one per cent that times do not show. The build
is for x86-64-v3, because callgrind does not know AVX-512. On other architectures it is the compiler's default. The
simulated first-level cache is this machine's, the second level has 1 MiB.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import builds
import goals
from programs import ROOT, BenchError, Programs, Row, check_scenes, output_of
from terminal import Steps

FOLDER = ROOT / "build" / "callgrind"
WINDOW = "flitgym_bench_window"  # the function of simcore_bench.cpp that runs the measured window
FLIT_HOPS = 400_000  # enough: the counts of a scene vary by less than 1 %

# A function belongs to the first stage whose pattern matches "source file:name". A function of no stage, such as an
# allocator, belongs to the stages that call it.
STAGES = (
    ("ejection", r"stage/ejection\.cpp:|stats\.cpp:"),
    ("arrivals", r"stage/arrival\.cpp:.*(arriv|receive)"),
    ("credits", r"stage/arrival\.cpp:.*credit"),
    ("learning", r"learning/|stage/arrival\.cpp:.*(feedback|learn)"),
    ("injection", r"stage/injection\.cpp:|traffic/|stage/generation\.hpp:"),
    ("traversal", r"stage/traversal\.cpp:"),
    ("accounts", r"workload/blame|account_"),
    ("workload hosts", r"workload/"),
    ("apply", r"stage/route_computation\.cpp:.*apply_(routes|all)"),
    ("routing", r"stage/route_computation\.cpp:|routing/|tables/"),
    ("switch allocation", r"stage/switch_allocation"),
    ("partitions", r"src/partition|src/team|src/shares"),
    ("rest", r"(step|simulation|idle|watchdog|table_guard)\.cpp:|simcore_bench\.cpp:|failures\.cpp:"),
)
ORDER = (
    "arrivals",
    "credits",
    "injection",
    "traversal",
    "routing",
    "apply",
    "switch allocation",
    "ejection",
    "learning",
    "workload hosts",
    "accounts",
    "partitions",
    "rest",
)
EVENTS = {
    "instructions": ("Ir",),
    "L1_misses": ("D1mr", "D1mw"),
    "L2_misses": ("DLmr", "DLmw"),
    "mispredicted": ("Bcm", "Bim"),
}


@dataclass
class Profile:
    """Callgrind's counts: the own events of each function, and the inclusive events of each call between functions."""

    events: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)  # function -> source file
    own: dict[str, list[int]] = field(default_factory=dict)
    calls: dict[tuple[str, str], list[int]] = field(default_factory=dict)


def parse(lines: Iterable[str]) -> Profile:
    """Read callgrind's file (format: valgrind manual, "Callgrind Format Specification").

    A name is written in full once, as `(id) name`, and later as `(id)`. A line of costs after a `calls=` line belongs
    to the call. Any other line belongs to the current function, including lines inlined from other files.
    """
    profile = Profile()
    names: dict[tuple[str, str], str] = {}

    def name_of(space: str, text: str) -> str:
        match = re.match(r"\((\d+)\)(?: (.*))?", text)
        if not match:
            return text
        key = (space, match[1])
        if match[2] is not None:
            names[key] = match[2]
        return names[key]

    function = callee = file = ""
    of_call = False
    for line in lines:
        text = line.rstrip("\n")
        key, equals, value = text.partition("=")
        if text.startswith("events:"):
            profile.events = text.split()[1:]
        elif equals and key in ("fl", "fi", "fe"):
            named = name_of("file", value)
            if key == "fl":
                file = named
        elif equals and key == "fn":
            function = name_of("function", value)
            profile.files.setdefault(function, file)
        elif equals and key == "cfn":
            callee = name_of("function", value)
        elif equals and key in ("cfi", "cfl"):
            name_of("file", value)
        elif equals and key in ("ob", "cob"):
            name_of("object", value)
        elif equals and key == "calls":
            of_call = True
        elif text[:1] in tuple("0123456789+-*"):
            counts = [int(word) for word in text.split()[1:]]
            counts += [0] * (len(profile.events) - len(counts))
            target = profile.calls.setdefault((function, callee), [0] * len(counts)) if of_call else None
            if target is None:
                target = profile.own.setdefault(function, [0] * len(counts))
            target[:] = [a + b for a, b in zip(target, counts, strict=True)]
            of_call = False
    return profile


def stage_of(function: str, file: str) -> str | None:
    """The stage of a function. None: it belongs to the stages of its callers."""
    text = f"{file}:{function}"
    return next((stage for stage, pattern in STAGES if re.search(pattern, text)), None)


def shares(profile: Profile) -> dict[str, dict[str, float]]:
    """The shares 0..1 of the stages in each function.

    A function without a stage has the mean shares of its callers, weighted with the cost of the calls. Functions may
    call each other recursively, so the equations are solved by iteration.
    """
    out: dict[str, dict[str, float]] = {}
    callers: dict[str, dict[str, float]] = defaultdict(dict)
    for (caller, callee), counts in profile.calls.items():
        if caller != callee:
            callers[callee][caller] = callers[callee].get(caller, 0) + max(1, counts[0])
    names = {*profile.own, *callers, *(caller for caller, _ in profile.calls)}
    for name in names:
        stage = stage_of(name, profile.files.get(name, ""))
        if stage or not callers[name]:
            out[name] = {stage or "rest": 1.0}
    open_ones = sorted(names - out.keys())
    for _ in range(1000):
        moved = 0.0
        for name in open_ones:
            found: dict[str, float] = defaultdict(float)
            known = {caller: weight for caller, weight in callers[name].items() if caller in out}
            for caller, weight in known.items():
                for stage, share in out[caller].items():
                    found[stage] += share * weight / sum(known.values())
            if not known:
                continue
            was = out.get(name, {})
            moved = max([moved, *(abs(found[stage] - was.get(stage, 0)) for stage in found)])
            out[name] = dict(found)
        if moved < 1e-9:
            break
    return {name: out.get(name, {"rest": 1.0}) for name in names}


def by_stage(profile: Profile) -> dict[str, list[float]]:
    """Events per stage. Their sum is the sum over all functions."""
    worked_for = shares(profile)
    totals: dict[str, list[float]] = {stage: [0.0] * len(profile.events) for stage in ORDER}
    for name, counts in profile.own.items():
        for stage, share in worked_for[name].items():
            totals[stage] = [total + share * count for total, count in zip(totals[stage], counts, strict=True)]
    return totals


def per_flit_hop(profile: Profile, flit_hops: float) -> dict[str, dict[str, float]]:
    """Events per flit-hop, by stage and in all ("all"), with the keys of EVENTS."""
    stages = by_stage(profile)
    at = {event: k for k, event in enumerate(profile.events)}

    def figures(counts: Sequence[float]) -> dict[str, float]:
        return {
            key: sum(counts[at[event]] for event in events) / flit_hops
            for key, events in EVENTS.items()
            if all(event in at for event in events)
        }

    every = [sum(counts) for counts in zip(*stages.values(), strict=True)]
    return {"all": figures(every), **{stage: figures(counts) for stage, counts in stages.items()}}


def build_programs() -> Programs:
    """Build the programs for callgrind, with the names of source files in them.

    Raises:
        BenchError: Valgrind is missing, or the build fails.
    """
    if not shutil.which("valgrind"):
        raise BenchError("--instructions needs valgrind; install it")
    flags = ["-g1", *(["-march=x86-64-v3"] if platform.machine() in ("x86_64", "AMD64") else [])]
    print("building for callgrind", file=sys.stderr, flush=True)
    builds.build(ROOT / "simcore", FOLDER, FOLDER.with_suffix(".log"), [f"-DCMAKE_CXX_FLAGS={' '.join(flags)}"])
    return Programs(FOLDER)


def count(programs: Programs, scene: str) -> Row:
    """Count a short window of a scene after its whole warm-up. simcore_bench excludes the warm-up if it can."""
    whole = programs.run(scene, 0.1)
    scale = min(1.0, 0.1 * FLIT_HOPS / whole["flit_hops"])
    out = FOLDER / f"{scene}.callgrind"
    late = subprocess.run([programs.bench, "--starts-callgrind"], capture_output=True).returncode == 0
    command = [
        "valgrind",
        "--tool=callgrind",
        f"--callgrind-out-file={out}",
        f"--instr-atstart={'no' if late else 'yes'}",
        f"--toggle-collect={WINDOW}",
        "--cache-sim=yes",
        "--branch-sim=yes",
        "--LL=1048576,16,64",
        str(programs.bench),
        scene,
        f"{scale:.10g}",
    ]
    row = json.loads(output_of(command))
    with out.open() as lines:
        figures = per_flit_hop(parse(lines), row["flit_hops"])
    return {"scene": scene, "flit_hops": row["flit_hops"], "per_flit_hop": figures}


def table(rows: Sequence[Row]) -> str:
    """Format instructions per flit-hop by stage, misses and mispredictions as Markdown, with a row per scene."""
    used = [stage for stage in ORDER if any(row["per_flit_hop"][stage]["instructions"] >= 0.5 for row in rows)]
    columns = ("instructions per flit-hop", "all", *used, "L1 misses", "L2 misses", "mispredicted")
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    for row in rows:
        figures = row["per_flit_hop"]
        instructions = [f"{figures[stage]['instructions']:.0f}" for stage in ("all", *used)]
        others = [f"{figures['all'][key]:.1f}" for key in ("L1_misses", "L2_misses", "mispredicted")]
        lines.append(f"| `{row['scene']}` | {' | '.join([*instructions, *others])} |")
    return "\n".join(lines)


def measure(asked: Sequence[str]) -> list[Row]:
    """Count scenes, by default the scenes with a goal, and print the table."""
    programs = build_programs()
    check_scenes(asked, programs.scenes())
    scenes = list(asked) or list(goals.GOALS)
    rows = []
    with Steps(len(scenes)) as steps:
        for scene in scenes:
            steps.about(f"{scene} under callgrind")
            rows.append(count(programs, scene))
            steps.advance()
    print(f"\nInstructions per flit-hop, by stage\n{table(rows)}")
    return rows
