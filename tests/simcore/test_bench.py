# Tests of the benchmark's scripts that need no timing.
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "simcore" / "bench"
sys.path.insert(0, str(BENCH))

import goals  # noqa: E402
import instructions  # noqa: E402
import noise  # noqa: E402
import picture  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
import saved  # noqa: E402
import series  # noqa: E402
import terminal  # noqa: E402
import threads  # noqa: E402


def row(scene="a", speed=1e6, **more):
    return {"scene": scene, "flit_hops_per_cpu_second": speed, "state_hash": "0", **more}


# --- programs and goals


def test_a_row_is_one_line_of_json():
    assert programs.parse_row('{"scene": "a"}\n', "simcore_bench") == {"scene": "a"}
    for text in ("", "no json", "[1]"):
        with pytest.raises(programs.BenchError, match="simcore_bench printed no line of JSON"):
            programs.parse_row(text, "simcore_bench")


def test_the_ratio_is_computed_per_pair():
    # The machine doubles its speed after the first pair. The ratios stay, and so does their median.
    rows = [row(speed=10.0), row(speed=20.0), row(speed=24.0)]
    found = programs.medians(rows, [20.0, 40.0, 40.0])
    assert found["ratio_to_yardstick"] == 0.5
    assert (found["ratio_to_yardstick_min"], found["ratio_to_yardstick_max"]) == (0.5, 0.6)
    assert found["flit_hops_per_cpu_second"] == 20.0
    assert found["repeats"] == 3


def test_different_final_states_of_a_scene_are_an_error():
    with pytest.raises(programs.BenchError, match="a ends in different states"):
        programs.medians([row(), row(state_hash="1")], [1.0, 1.0])


def test_an_unknown_scene_is_named_with_similar_scenes():
    with pytest.raises(programs.BenchError, match=r"unknown scene hpdc21_minima; valid scenes: hpdc21_minimal$"):
        programs.check_scenes(["hpdc21_minima"], ["hpdc21_minimal", "torus"])


def test_a_goal_is_a_multiple_of_a_reference():
    before, now = {"a": 0.3}, {"a": 0.7, "b": 0.8}
    assert goals.Goal(1.5).ratio("a", before, now) == 1.5
    assert goals.Goal(2, goals.BEFORE).ratio("a", before, now) == pytest.approx(0.6)
    assert goals.Goal(0.5, "b").ratio("a", before, now) == pytest.approx(0.4)
    assert goals.Goal(2, goals.BEFORE).ratio("b", before, now) is None
    assert goals.Goal(0.5, "c").ratio("a", before, now) is None
    assert goals.verdict(0.6, 0.6) == "met"
    assert goals.verdict(0.4, 0.6) == "missed by 1.50 x"
    assert goals.verdict(0.4, None) == "not known"


def test_the_reference_of_a_goal_is_measured_first():
    large = "input_queued_minimal_uniform_0.3_100352_terminals"
    assert goals.with_needed([large]) == ["input_queued_minimal_uniform_0.3", large]
    assert goals.with_needed([large, "input_queued_minimal_uniform_0.3"]).count("input_queued_minimal_uniform_0.3") == 1


def test_every_goal_with_a_recorded_reference_has_a_record():
    known = goals.before()
    for scene, goal in goals.GOALS.items():
        if goal.of == goals.BEFORE:
            assert known[scene] > 0


def test_two_threads_must_scale_or_approach_the_machine_s_limit():
    assert goals.threads_verdict(2, 1.6, 2.0) == "met"
    assert goals.threads_verdict(2, 1.35, 1.5) == "met"  # memory bandwidth limits the speed
    assert goals.threads_verdict(2, 1.5, 1.9) == "missed"
    assert goals.threads_verdict(4, 1.5, 1.9) == ""


def modelled(busy, **shares):
    points = [(count, min(count, busy)) for count in (1, 2, 64)]
    rest = dict.fromkeys(threads.SHARES, 0.01) | shares
    model = [{"threads": n, "busy": b, "speedup": 0.9 * b, **rest} for n, b in points]
    return {"scene": "a", "one_thread_s": 1.0, "two_threads_s": 0.625, "model": model}


def test_the_limit_of_a_run_on_many_threads_is_its_partitions_or_its_largest_loss():
    assert threads.limit(modelled(4, uneven=0.5)) == "4 partitions"
    assert threads.limit(modelled(64, transfers=0.3, uneven=0.2)) == "transfers"
    lines = threads.table([modelled(64, barriers=0.25)]).splitlines()
    assert lines[1].split() == ["a", "1.60", "1.8", "57.6", *("1", "%", "1", "%", "25", "%", "1", "%"), "barriers"]


# --- noise


def test_the_interval_of_the_median_is_that_of_the_binomial_distribution():
    assert noise.coverage(5, 1) == 1 - 2 / 32
    assert noise.coverage(9, 2) == 1 - 2 * (1 + 9) / 512
    found = noise.compare([0.9, 1.0, 1.1, 1.2, 1.3])
    assert (found.low, found.median, found.high, found.pairs) == (0.9, 1.1, 1.3, 5)
    assert noise.compare([float(x) for x in range(9)]).low == 1.0


@pytest.mark.parametrize("pairs", [5, 7, 12])
def test_the_interval_has_its_stated_coverage(pairs):
    rng = np.random.default_rng(pairs)
    samples = rng.lognormal(0.0, 0.5, size=(4000, pairs))  # skewed, with median 1
    found = [noise.compare(list(sample)) for sample in samples]
    held = np.mean([x.low <= 1 <= x.high for x in found])
    assert found[0].confidence >= noise.CONFIDENCE
    assert held == pytest.approx(found[0].confidence, abs=0.015)


def test_a_change_is_slower_if_all_pairs_agree():
    def verdict(*ratios):
        return noise.compare(ratios).verdict

    assert verdict(0.95, 0.96, 0.94, 0.97, 0.93) == "SLOWER"
    assert verdict(1.05, 1.06, 1.04, 1.07, 1.03) == "faster"
    assert verdict(0.95, 0.96, 0.94, 0.97, 1.01) == "same"  # one pair disagrees
    assert verdict(0.995, 0.996, 0.994, 0.997, 0.993) == "same"  # within the effect of moving code in memory
    assert verdict(0.5, 0.5, 0.5, 0.5) == "too few pairs"
    # With nine pairs, one pair may be an outlier.
    assert verdict(0.95, 0.96, 0.94, 0.97, 0.93, 0.95, 0.96, 0.95, 1.4) == "SLOWER"


# --- series


def test_threads_double_up_to_the_cores():
    assert series.thread_counts(1) == [1]
    assert series.thread_counts(2) == [1, 2]
    assert series.thread_counts(7) == [1, 2, 4]


def test_speed_over_threads_is_computed_per_round():
    found = series.threads_row("a", 2, [(10.0, 18.0, 19.0), (20.0, 34.0, 40.0), (10.0, 17.5, 19.0)])
    assert found["speedup"] == 1.75
    assert (found["speedup_min"], found["speedup_max"]) == (1.7, 1.8)
    assert found["side_by_side"] == 1.9
    assert found["verdict"] == "met"
    line = series.threads_table([found]).splitlines()[1]
    assert "1.75 x ( 1.70 .. 1.80)" in line
    assert line.endswith("1.90 x ( 1.90 .. 2.00) met")


def measured(scene, terminals, load, speed):
    return row(
        scene,
        speed,
        flit_hops_per_cpu_second_min=speed / 2,
        flit_hops_per_cpu_second_max=speed * 2,
        terminals=terminals,
        offered_load=load,
        accepted_load=load,
        ratio_to_yardstick=0.5,
        peak_rss_mb=10.0,
    )


def test_a_series_is_in_order_and_in_nanoseconds():
    rows = {"large": measured("large", 1056, 0.3, 5e6), "small": measured("small", 72, 0.3, 1e7)}
    found = series.over({series.SIZES: ["large", "small"], series.LOADS: ["large"]}, rows)
    assert [point["terminals"] for point in found[series.SIZES]] == [72, 1056]
    assert [point["ns_per_flit_hop"] for point in found[series.SIZES]] == [100, 200]
    assert (found[series.LOADS][0]["ns_per_flit_hop_min"], found[series.LOADS][0]["ns_per_flit_hop_max"]) == (100, 400)
    assert "0.50 x" in series.size_table(found[series.SIZES])


@pytest.mark.parametrize("parts", [("size",), ("load", "threads"), ("size", "load", "threads")])
def test_the_picture_has_a_panel_per_series(tmp_path, parts):
    points = [series.point(measured(f"s{n}", n, n / 5000, 1e7)) for n in (72, 1056, 2550)]
    every = {
        "size": {series.SIZES: points},
        "load": {series.LOADS: points, series.LOADS_LEARNED: points},
        "threads": {series.THREADS: [series.threads_row("a", 2, [(1.0, 1.5, 2.0)])]},
    }
    path = tmp_path / "x.json"
    lines = {key: rows for part in parts for key, rows in every[part].items()}
    path.write_text(json.dumps({"machine": {"processor": "p", "cores": 2}, "series": lines}))
    out = picture.save(path)
    assert out == tmp_path / "x.png"
    assert out.read_bytes()[:4] == b"\x89PNG"


# --- results


def test_results_are_merged_scene_by_scene(tmp_path):
    saved.save("x", {"scenes": [row("a", 1.0), row("b", 1.0)], "series": {"sizes": [row("a")]}}, tmp_path)
    path = saved.save("x", {"scenes": [row("b", 2.0)], "series": {"loads": [row("c")]}}, tmp_path)
    found = json.loads(path.read_text())
    assert [(line["scene"], line["flit_hops_per_cpu_second"]) for line in found["scenes"]] == [("a", 1.0), ("b", 2.0)]
    assert list(found["series"]) == ["sizes", "loads"]
    assert all(line["version"] for line in found["scenes"])
    path.write_text(json.dumps({**found, "machine": {"processor": "another"}}))
    with pytest.raises(programs.BenchError, match="another machine"):
        saved.save("x", {"scenes": [row("a")]}, tmp_path)


def test_saved_results_become_tables():
    scene = "input_queued_minimal_uniform_0.6"
    found = {
        "machine": {"processor": "p", "cores": 2},
        "scenes": [measured(scene, 1056, 0.6, 1e7), measured("other", 72, 0.6, 2e7)],
        "series": {
            series.SIZES: [series.point(measured("s", n, 0.3, 1e7)) for n in (72, 1056)],
            series.THREADS: [series.threads_row("a", 2, [(1.0, 1.8, 2.0)])],
        },
    }
    lines = report.report(found).splitlines()
    assert next(line for line in lines if scene in line).endswith(
        "| 10.00 | 0.50 | 1.50 (1.5 x yardstick) | **missed by 3.00 x** |"
    )
    assert next(line for line in lines if "`other`" in line) == "| `other` |  | 20.00 | 0.50 |  |  |"
    assert "| terminals | 72 | 1,056 |" in lines
    assert "| ns per flit-hop | 100 | 100 |" in lines
    assert "| `a` | 2 | 1.80 | 2.00 | met |" in lines


# --- instructions

# A full name appears once, then only its number. The line after `calls=` belongs to the call. `fi` and `fe` name the
# file of an inlined line; the function stays the same.
CALLGRIND = """\
# callgrind format
events: Ir Dr
positions: line
fl=(1) /x/src/stage/arrival.cpp
fn=(1) flitgym::arrivals(flitgym::Frame&)
10 100 7
fi=(2) /x/include/state.hpp
11 20
fe=(1)
12 5 1
cfi=(3) /x/src/stage/ejection.cpp
cfn=(2) flitgym::eject(flitgym::Frame&, unsigned int, unsigned int)
calls=4 30
13 400 2
cob=(9) /lib/libc.so
cfi=(4) ???
cfn=(3) memmove
calls=1 0
14 30

fl=(3)
fn=(2)
30 340 2
cfn=(3)
calls=2 0
+1 60
ob=(9)
fl=(4)
fn=(3)
0 45
cfn=(4) helper
calls=3 0
0 45
fn=(4)
0 40
cfn=(3)
calls=1 0
0 5
totals: 550 10
"""


def test_callgrind_names_and_inlined_lines_are_read():
    found = instructions.parse(CALLGRIND.splitlines())
    assert found.events == ["Ir", "Dr"]
    assert found.own["flitgym::arrivals(flitgym::Frame&)"] == [125, 8]
    assert found.own["memmove"] == [45, 0]
    assert found.calls["flitgym::arrivals(flitgym::Frame&)", "memmove"] == [30, 0]
    assert found.files["flitgym::eject(flitgym::Frame&, unsigned int, unsigned int)"] == "/x/src/stage/ejection.cpp"


def test_functions_without_stage_count_for_their_callers():
    stages = instructions.by_stage(instructions.parse(CALLGRIND.splitlines()))
    # memmove and its helper call each other and take 85 together. The callers share them as 30 to 60.
    assert stages["arrivals"] == pytest.approx([125 + 85 / 3, 8])
    assert stages["ejection"] == pytest.approx([340 + 85 * 2 / 3, 2])
    assert sum(counts[0] for counts in stages.values()) == pytest.approx(550)
    found = instructions.per_flit_hop(instructions.parse(CALLGRIND.splitlines()), 10)
    assert found["all"] == {"instructions": pytest.approx(55)}  # without a simulation of caches and branches


def test_every_stage_has_a_place_in_the_table():
    assert {stage for stage, _ in instructions.STAGES} == set(instructions.ORDER)


def test_the_table_leaves_out_stages_without_instructions():
    counted = {"instructions": 100.4, "L1_misses": 2.0, "L2_misses": 1.0, "mispredicted": 0.25}
    nothing = dict.fromkeys(counted, 0.0)
    figures = {"all": counted, **dict.fromkeys(instructions.ORDER, nothing), "routing": counted}
    assert instructions.table([{"scene": "a", "per_flit_hop": figures}]).splitlines() == [
        "| instructions per flit-hop | all | routing | L1 misses | L2 misses | mispredicted |",
        "|---|---|---|---|---|---|",
        "| `a` | 100 | 100 | 2.0 | 1.0 | 0.2 |",
    ]


@pytest.mark.parametrize(
    ("function", "file", "stage"),
    [
        ("flitgym::(anonymous namespace)::credit(flitgym::Frame&)", "src/stage/arrival.cpp", "credits"),
        ("flitgym::feedback(flitgym::Frame&)", "src/stage/arrival.cpp", "learning"),
        ("flitgym::apply_routes(flitgym::Frame&)", "src/stage/route_computation.cpp", "apply"),
        ("flitgym::route_requests(flitgym::Frame&)", "src/stage/route_computation.cpp", "routing"),
        ("flitgym::workload::account_sent(flitgym::Frame&)", "src/workload/blame.cpp", "accounts"),
        ("flitgym::workload::host_events(flitgym::Frame&)", "src/workload/engine.cpp", "workload hosts"),
        ("operator new(unsigned long)", "???", None),
    ],
)
def test_functions_are_assigned_to_their_stage(function, file, stage):
    assert instructions.stage_of(function, file) == stage


# --- run.py as a whole, with programs that print a given row


@pytest.fixture
def fake(tmp_path):
    folder = tmp_path / "build"
    folder.mkdir()
    scene = dict.fromkeys(("terminals", "offered_load", "accepted_load", "peak_rss_mb"), 1)
    text = f"""#!{sys.executable}
import json, sys, time
names = {[*goals.GOALS, "input_queued_minimal_uniform_0.3"]!r}
if sys.argv[1] == "--list":
    print("\\n".join(names))
elif sys.argv[1] in names:
    if "sc22" in sys.argv[1]: time.sleep(60)
    threads = int(sys.argv[-1]) if "--threads" in sys.argv else 1
    wall = 1e6 if threads == 1 else 0.9e6 * threads
    state = str(threads) if "hyperx" in sys.argv[1] else "0"
    row = {{"flit_hops_per_cpu_second": 2e6, "flit_hops_per_wall_second": wall, "state_hash": state}}
    print(json.dumps({{**{scene!r}, "scene": sys.argv[1], **row}}))
"""
    for name, body in (
        ("simcore_bench", text),
        ("yardstick", f"#!{sys.executable}\nprint('{{\"flit_hops_per_cpu_second\": 1e6}}')\n"),
    ):
        (folder / name).write_text(body)
        (folder / name).chmod(0o755)
    return folder


def command(folder, *words):
    return [sys.executable, str(BENCH / "run.py"), "--build", str(folder), *words]


def test_a_scene_is_printed_with_its_goal(fake):
    done = subprocess.run(
        command(fake, "input_queued_minimal_uniform_0.6", "--repeats", "2"), capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].split() == [
        *("input_queued_minimal_uniform_0.6", "2.00", "2.00", "(", "2.00", "..", "2.00)", "1.50", "met", "1.0"),
    ]


def test_threads_and_parallel_runs_are_measured(fake):
    built = programs.Programs(fake)
    with terminal.Steps(2) as steps:
        (found,) = series.over_threads(built, ["input_queued_minimal_uniform_0.6"], [1, 2], 2, steps)
        assert (found["speedup"], found["side_by_side"], found["verdict"]) == (pytest.approx(1.8), 2.0, "met")
        with pytest.raises(programs.BenchError, match="on 2 threads ends in state 2, on one in 1"):
            series.over_threads(built, ["hyperx_4096_sc19_omni_war_uniform_0.6"], [1, 2], 1, steps)


def test_an_unknown_scene_ends_run_with_one_line(fake):
    done = subprocess.run(command(fake, "nonsense"), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("unknown scene nonsense; valid scenes: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_program_is_named(tmp_path):
    done = subprocess.run(command(tmp_path), capture_output=True, text=True)
    assert done.returncode == 2
    assert "simcore_bench is missing: build it with `make bench-build`" in done.stderr


def test_ctrl_c_prints_no_traceback(fake):
    words = ["input_queued_minimal_uniform_0.6", "sc22_par_fft3d_and_halo3d", "--repeats", "1"]
    running = subprocess.Popen(command(fake, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout
    assert running.stdout.readline().startswith("scene")
    assert running.stdout.readline().startswith("input_queued")
    time.sleep(0.2)
    os.kill(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=20)
    assert running.returncode == 130
    assert said == "stopped\n"
