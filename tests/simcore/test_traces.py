"""Traces of other tools: recognition of formats, binary GOAL against LogGOPSim, and errors with their places."""

import csv
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from core_scenes import config, router
from flitgym.simcore import ConfigError, Program, Simulation, traces
from flitgym.simcore.traces import Reader, Trace, TraceOptions, find_reader, read_trace, readers, trace_files

DATA = Path(__file__).parents[1] / "data" / "traces" / "goal_binary"
GOAL = Path(__file__).parents[1] / "data" / "goal"
# Finishing times that LogGOPSim prints, with the parameters in MODEL.
with (DATA / "loggopsim.csv").open() as _file:
    LOGGOPSIM = {row["file"]: row for row in csv.DictReader(_file)}
MODEL = {
    **{"loggops_L_ns": 2500, "loggops_o_ns": 1500, "loggops_g_ns": 1000, "loggops_G_ns_per_byte": 6},
    **{"loggops_O_ns_per_byte": 0, "loggops_S_bytes": 65535, "host": "loggops", "network": "none"},
}
# Dependencies on starts and ends in an order that the binary form does not keep.
MIXED = """num_ranks 2
rank 0 {
a: calc 100
b: send 8b to 1 tag 1 nic 1
c: send 9b to 1 tag 2 cpu 1
d: recv 3b from -1 tag -1
c irequires a
b requires a
d requires c
d irequires b
}
rank 1 {
a: recv 9b from 0 tag 2
b: recv 8b from 0 tag 1
c: send 3b to 0 tag 5
c requires b
b irequires a
}
"""


def run(program: Program, terminals: int = 256, **workload: object) -> Simulation:
    torus = {"name": "torus", "sizes": [2], "terminals_per_router": terminals // 2}
    section = {**workload, "jobs": [{"name": "trace", "program": program}]}
    simulation = Simulation(config("dimension_order", None, topology=torus, workload=section))
    assert simulation.run_workload(2_000_000_000), simulation.waiting()
    return simulation


@pytest.mark.parametrize("name", LOGGOPSIM)
def test_schedules_finish_at_the_time_of_loggopsim(name: str) -> None:
    binary = DATA / f"{name}.bin"
    trace = read_trace(binary if binary.exists() else DATA / f"{name}.goal")
    assert trace.format == ("goal_binary" if binary.exists() else "goal")
    assert trace.program.ranks == int(LOGGOPSIM[name]["ranks"])
    (job,) = run(trace.program, **MODEL).jobs()
    assert job["finish_ns"] == int(LOGGOPSIM[name]["finishing_time_ns"])


def test_the_writer_gives_the_bytes_of_txt2bin() -> None:
    program = Program.goal((DATA / "binary_tree_32.goal").read_text())
    assert program.to_goal_binary() == (DATA / "binary_tree_32.bin").read_bytes()


@pytest.mark.parametrize("path", sorted(DATA.glob("*.bin")), ids=lambda path: path.stem)
def test_translation_to_text_and_back_changes_no_byte(path: Path) -> None:
    program = Program.goal_binary(path)
    assert program.to_goal_binary() == path.read_bytes()
    assert Program.goal(program.to_goal()).to_goal_binary() == path.read_bytes()


@pytest.mark.parametrize("text", ["tree", "ring_any_source", "overlap", "mixed"])
def test_both_forms_of_a_schedule_reach_the_same_state(text: str, tmp_path: Path) -> None:
    written = Program.goal(MIXED if text == "mixed" else (GOAL / f"{text}.goal").read_text())
    (tmp_path / "x.bin").write_bytes(written.to_goal_binary())
    binary = Program.goal_binary(tmp_path / "x.bin")
    for workload in ({}, {"host": "loggops"}, MODEL):
        hashes = {
            Simulation.state_hash(simulation)
            for program in (written, binary, Program.goal(binary.to_goal()))
            for simulation in (small(program, **workload),)
        }
        assert len(hashes) == 1, workload


def small(program: Program, **workload: object) -> Simulation:
    """A run that stops early, so that the state holds operations and their successors."""
    section = {**workload, "jobs": [{"name": "trace", "program": program}]}
    simulation = Simulation(config("par", None, router=router("sc22"), workload=section))
    simulation.run_workload(1500)
    return simulation


def test_a_binary_schedule_survives_pickling_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.bin").write_bytes((DATA / "perm64.bin").read_bytes())
    monkeypatch.chdir(tmp_path)
    stored = pickle.dumps(Program.goal_binary("x.bin"))
    monkeypatch.chdir("/")
    assert pickle.loads(stored).to_goal_binary() == (DATA / "perm64.bin").read_bytes()


def test_bytes_between_ranks_follow_from_the_records() -> None:
    # Counted from the bytes of the file, without the reader: the format has 39 bytes per operation.
    data = (DATA / "Fin5.bin").read_bytes()
    record = np.dtype(
        [
            *[("waits", "<u4"), ("type", "u1"), ("peer", "<u4"), ("size", "<u8"), ("tag", "<u4"), ("cpu", "u1")],
            *[("nic", "u1"), ("lists", "<u4", 4)],
        ]
    )
    ranks = int.from_bytes(data[8:12], "little")
    sums = {1: 0, 2: 0, 3: 0}
    counts = {1: 0, 2: 0, 3: 0}
    for rank in range(ranks):
        begin = 8 + int.from_bytes(data[14 + 16 * rank :][:8], "little")
        operations, roots = np.frombuffer(data, "<u4", 2, begin)
        for kind, size in np.frombuffer(data, record, operations, begin + 8 + 4 * int(roots))[["type", "size"]]:
            sums[int(kind)] += int(size)
            counts[int(kind)] += 1
    totals = Program.goal_binary(DATA / "Fin5.bin").totals()
    assert totals["bytes"] == sums[1] == sums[2]
    assert totals["calc_ns"] == sums[3]
    assert (totals["messages"], totals["receives"], totals["operations"]) == (
        counts[1],
        counts[2],
        sum(counts.values()),
    )


def test_every_reader_recognises_only_its_own_files() -> None:
    for name, reader in readers().items():
        assert (reader.name, bool(reader.summary)) == (name, True)
        assert set(reader.options) <= set(TraceOptions.__dataclass_fields__)
    assert find_reader(DATA / "perm64.bin").name == "goal_binary"
    assert find_reader(GOAL / "tree.goal").name == "goal"
    assert read_trace(GOAL / "tree.goal").program.to_goal() == Program.goal((GOAL / "tree.goal").read_text()).to_goal()


def test_a_file_that_two_formats_recognise_needs_a_format(monkeypatch: pytest.MonkeyPatch) -> None:
    found = readers()
    other = replace(found["goal"], name="other", summary="the same text")
    monkeypatch.setattr(traces, "readers", lambda: {**found, "other": other})
    with pytest.raises(ConfigError, match="fits the trace formats goal, other; set the format"):
        find_reader(GOAL / "tree.goal")
    assert find_reader(GOAL / "tree.goal", "other") is other


def test_options_reach_a_reader_of_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[TraceOptions] = []

    def read(path: Path, options: TraceOptions) -> Trace:
        given.append(options)
        return Trace(Program.motif("ur", {"ranks": options.replicate}), "own", {"files": len(trace_files(path))})

    own = Reader("own", "a test", lambda begin: begin == b"own", read, ("replicate",), folders=True)
    monkeypatch.setattr(traces, "readers", lambda: {"own": own})
    for name in ("b", "a", ".hidden"):
        (tmp_path / name).write_text("own")
    trace = read_trace(tmp_path, options=TraceOptions(replicate=4))
    assert (trace.program.ranks, trace.counts, given) == (4, {"files": 2}, [TraceOptions(replicate=4)])
    assert [path.name for path in trace_files(tmp_path)] == ["a", "b"]
    with pytest.raises(ConfigError, match="'collective' has no effect"):
        read_trace(tmp_path, options=TraceOptions(replicate=4, collective="ring"))
