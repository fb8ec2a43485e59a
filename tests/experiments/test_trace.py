"""`flitgym trace`, and runs of `workload=trace` on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import Command
from flitgym.experiments import trace
from flitgym.experiments.trace import bytes_text, lines_of
from flitgym.experiments.traces.measure import course_of, facts_of, finish_ns, loggops_parameters
from flitgym.experiments.traces.picture import bytes_matrix
from flitgym.simcore import ConfigError, CoreError, Program
from flitgym.simcore.traces import Trace, read_trace

DATA = Path(__file__).parents[1] / "data" / "traces" / "goal_binary"
GOAL = Path(__file__).parents[1] / "data" / "goal"
NONE = dict.fromkeys(loggops_parameters(), 0.0)
# Two ranks: a message of 1001 bytes between two computations, and a computation on another processor.
CHAIN = """num_ranks 2
rank 0 {
a: calc 700
b: send 1001b to 1
b requires a
}
rank 1 {
a: recv 1001b from 0
b: calc 400
b requires a
c: calc 900 cpu 1
}
"""


# The first send has a receive that waits for the second message.
CROSSED = """num_ranks 2
rank 0 {
s1: send 192b to 1 tag 222
s2: send 4b to 1 tag 5
s2 requires s1
}
rank 1 {
r1: recv 4b from 0 tag 5
r2: recv 192b from 0 tag 222
r2 requires r1
}
"""


def test_finish_by_hand() -> None:
    program = Program.goal(CHAIN)
    assert finish_ns(program, NONE) == 1100
    # o, L, o and 1000 bytes at 6 ns each (LogGOPSim's defaults).
    assert finish_ns(program, loggops_parameters()) == 700 + 1500 + 2500 + 1500 + 6000 + 400
    assert finish_ns(program, {**NONE, "loggops_L_ns": 50}) == 1150


def test_eager_sends_do_not_wait_without_costs_either() -> None:
    facts = facts_of(Trace(Program.goal(CROSSED), "own"))
    assert facts["ideal_finish"]["computation_ns"] == 0
    # The first message arrives after o + L. It takes the receiver o and 191 bytes, and the second one o and 3 bytes.
    assert facts["ideal_finish"]["loggops_ns"] == 1500 + 2500 + (1500 + 191 * 6) + (1500 + 3 * 6)
    with pytest.raises(CoreError, match=r"send of 192 bytes(?s:.*)workload\.loggops_S_bytes=100; raise this key"):
        facts_of(Trace(Program.goal(CROSSED), "own"), {"loggops_S_bytes": 100})


def test_a_course_conserves_messages_and_computations() -> None:
    for program in (Program.goal(CHAIN), read_trace(DATA / "Fin5.bin").program):
        model, totals = loggops_parameters(), program.totals()
        course = course_of(program, model, finish_ns(program, model))
        widths = np.diff(course.time_ns, prepend=0)
        assert 100 < len(widths) <= 241
        assert course.time_ns[-1] == course.finish_ns
        assert course.bytes_received.sum() == pytest.approx(totals["bytes"])
        assert course.messages_received.sum() == totals["messages"]
        assert (course.computing * widths).sum() == pytest.approx(totals["calc_ns"], rel=1e-6)
        assert (course.bytes_received >= -1e-6).all()
    # 1000 of 1001 bytes arrive at 1/6 byte/ns.
    assert (course_of(Program.goal(CHAIN), model, 12600).bytes_received <= 53 / 6 + 1).all()


def test_ranks_that_wait_forever_are_reported() -> None:
    ranks = "".join(f"rank {r} {{\na: recv 8b from {1 - r}\nb: send 8b to {1 - r}\nb requires a\n}}\n" for r in (0, 1))
    with pytest.raises(CoreError, match=r"wait for each other forever:(?s:.*)rank 0"):
        finish_ns(Program.goal(f"num_ranks 2\n{ranks}"), NONE)


def test_matrix_of_bytes() -> None:
    program = read_trace(DATA / "perm64.bin").program
    sums, width = bytes_matrix(program)
    assert (sums.shape, width) == ((64, 64), 1)
    assert (sums.sum(axis=0) == 2_000_000).all()  # a permutation: each rank receives one message
    assert (sums.sum(axis=1) == 2_000_000).all()
    assert ((sums > 0).sum(axis=1) == 1).all()
    # More ranks than cells: a ring of 1,300 ranks.
    sums, width = bytes_matrix(Program.exchange(5 * np.roll(np.eye(1300), 1, axis=1)))
    assert (sums.shape, width, sums.sum()) == ((434, 434), 3, 6500)
    assert (sums[0, 0], sums[0, 1], sums[433, 0]) == (10, 5, 5)  # the last cell holds one rank


def test_facts_and_lines() -> None:
    counts = {"collectives": {"all_reduce": 3}, "bytes": {"all_reduce": 3_072_000}}
    facts = facts_of(Trace(Program.goal(CHAIN), "own", counts, ("All ranks play one file.",)))
    assert facts["operations"] == {"calc": 3, "send": 1, "receive": 1}
    assert (facts["message_bytes"], facts["computation_ns"]) == (1001, 2000)
    lines = dict(lines_of(facts))
    assert lines["collectives: all_reduce"] == "3"
    assert lines["bytes: all_reduce"] == "3,072,000 B (3.07 MB)"
    assert lines["finish with LogGOPS L=2500 o=1500 g=1000 G=6 O=0 S=65535"] == "12,600 ns (12.6 us)"
    assert lines["finish with LogGOPS L=0 o=0 g=0 G=0 O=0 S=65535"] == "1,100 ns (1.10 us)"
    assert lines["note"] == "All ranks play one file."
    assert bytes_text(12) == "12 B"
    assert bytes_text(2.5) == "2.5 B"
    with pytest.raises(ConfigError, match="unknown parameter 'loggops_X'"):
        facts_of(Trace(Program.goal(CHAIN), "own"), {"loggops_X": 1})


def test_info_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    facts = json.loads(trace.run(["info", str(GOAL / "tree.goal"), "--json", "loggops_L_ns=0"]))
    assert (facts["format"], facts["ideal_finish"]["loggops"]["loggops_L_ns"]) == ("goal", 0)
    assert list(tmp_path.iterdir()) == []
    trace.run(["info", str(GOAL / "tree.goal"), "--json", "out=a.svg"])
    first = (tmp_path / "a.svg").read_bytes()
    trace.run(["info", str(GOAL / "tree.goal"), "out=a.svg"])
    assert (tmp_path / "a.svg").read_bytes() == first


def test_convert_in_both_directions(tmp_path: Path) -> None:
    text, binary = tmp_path / "x.goal", tmp_path / "x.bin"
    trace.run(["convert", str(DATA / "Fin5.bin"), str(text)])
    trace.run(["convert", str(text), str(binary), "format=goal"])
    assert binary.read_bytes() == (DATA / "Fin5.bin").read_bytes()
    assert text.read_text().startswith("num_ranks 77\n")


def test_simulate_a_trace(command: Command, tmp_path: Path) -> None:
    file = f"workload.file={DATA / 'perm64.bin'}"
    ideal = ("workload.network=none", "workload.host=loggops")
    done = command("simulate", "topology=dragonfly_72", "routing=minimal", "workload=trace", file, *ideal)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("results/*/*/result.json")
    result = json.loads(path.read_text())
    assert result["jobs"]["perm64"]["finish_ns"] == 12_005_494
    assert result["traces"] == {"perm64": {"format": "goal_binary", "ranks": 64, "counts": {}, "notes": []}}
    assert "trace-perm64" in path.parent.name
