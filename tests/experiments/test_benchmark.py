"""`flitgym benchmark`: suites and versions, recorded results, and the command."""

import csv
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import Command
from flitgym.configs import config_hash
from flitgym.configs.composition import compose_root
from flitgym.experiments.benchmarks.measures import SCORED, check_windows, measures
from flitgym.experiments.benchmarks.records import Record, merged, read_records, sources_of, write_records
from flitgym.experiments.benchmarks.study import Benchmark
from flitgym.experiments.benchmarks.suite import available, chosen, load_suite
from flitgym.experiments.evaluation.plan import plan, policies_of, refused
from flitgym.experiments.evaluation.study import Study, conduct
from flitgym.experiments.results.rows import read_rows, row
from flitgym.experiments.running.one_run import execute
from flitgym.experiments.terminal.commandline import CommandError
from flitgym.simcore import ConfigError

TINY = """
version: 3
about: Milliseconds.
seeds: [1, 2]
overrides: [router=input_queued, run.warmup_ns=200, run.measure_ns=800]
networks:
  small: {overrides: [topology=dragonfly_72], reference: ugal_l, baselines: [minimal]}
tasks:
  - {network: small, set: train, pattern: uniform, below: [0.2], above: [0.9]}
  - {network: small, set: held_out, pattern: adversarial, cold_start: [0.3],
     overrides: [run.warmup_ns=0, run.series_interval_ns=100]}
  - {network: small, set: held_out, pattern: uniform, version: 2, recovery: [0.2], reference: ugal,
     overrides: [run.series_interval_ns=100, "failures.events=[0-1@200]"]}
  - {network: small, set: held_out, workload: pair, name: lu,
     params: {target: lu, background: none, scale: 0.01, size_scale: 0.1}}
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


# --- Suites ----------------------------------------------------------------------------------------------------------


def test_a_suite_is_read_from_a_file(tiny: Path) -> None:
    suite = load_suite(str(tiny))
    assert suite.id == "tiny-v3"
    assert [t.id for t in suite.tasks] == [
        *("small/uniform/0.2-v1", "small/uniform/0.9-v1", "small/adversarial/0.3/cold_start-v1"),
        *("small/uniform/0.2/recovery-v2", "small/lu-v1"),
    ]
    assert [t.kind for t in suite.tasks] == ["below", "above", "cold_start", "recovery", "jobs"]
    assert [t.reference for t in suite.tasks] == ["ugal_l", "ugal_l", "ugal_l", "ugal", "ugal_l"]
    assert suite.tasks[0].overrides[0] == "router=input_queued"
    some = chosen(suite, ["small/uniform/*"])
    assert [t.name for t in some.tasks] == [t.name for t in suite.tasks if "uniform" in t.name]
    assert chosen(suite, None) == suite


@pytest.mark.parametrize(
    "name", ["quick", *(pytest.param(n, marks=pytest.mark.deep) for n in available() if n != "quick")]
)
def test_every_shipped_suite_can_be_planned(name: str, tmp_path: Path) -> None:
    suite = load_suite(name)
    alone = {"jobs": "jobs", "changing": "changing", "random": "below"}.get(name)  # no agent trains on these suites
    assert {t.set for t in suite.tasks} == ({"held_out"} if alone else {"train", "held_out"})
    kinds = {"quick": set(SCORED) - {"changing"}, "standard": {"below", "above", "jobs"}}
    assert {t.kind for t in suite.tasks} == kinds.get(name, {alone})
    assert {r.suite for r in read_records(suite.results)} <= {suite.id}
    records: dict[tuple[str, str], list[Record]] = {}
    for record in read_records(suite.results):
        records.setdefault((record.task, record.policy), []).append(record)
    valid: set[tuple[str, str]] = set()
    stale = []
    for one in suite.tasks:
        own = {policy for task, policy in records if task == one.id} - {baseline.name for baseline in one.baselines}
        policies = [*one.baselines, *policies_of(sorted(own))]
        trials = plan(policies, [one.scenario], one.overrides, one.loads, suite.seeds[:1], tmp_path)
        # Records are valid only for these configurations. A changed task needs new records.
        for trial in trials:
            check_windows(one.kind, trial.run.plain)
            key = one.id, trial.policy.name
            valid.add(key)
            hashes = {seed: config_hash({**trial.run.plain, "seed": seed}) for seed in suite.seeds}
            stale += [(*key, own.seed) for own in records.get(key, []) if own.config_hash != hashes[own.seed]]
    assert set(records) <= valid
    assert stale == []


@pytest.mark.deep
def test_every_baseline_of_quick_runs_its_tasks(tmp_path: Path) -> None:
    trials = []
    for one in load_suite("quick").tasks:
        trials += plan(one.baselines, [one.scenario], one.overrides, one.loads, [1], tmp_path)
    assert refused(trials) == {}


@pytest.mark.parametrize("name", list(available()))
def test_a_baseline_is_recorded_for_all_tasks_or_none(name: str) -> None:
    suite = load_suite(name)
    there = {(r.task, r.policy, r.seed) for r in read_records(suite.results)}
    wanted: dict[str, set[tuple[str, str, int]]] = {}
    for one in suite.tasks:
        for policy, seed in itertools.product(one.baselines, suite.seeds):
            wanted.setdefault(policy.name, set()).add((one.id, policy.name, seed))
    # A new baseline may lack records. The references must have records, because scores need them.
    recorded = {policy for _, policy, _ in there}
    for policy_name in recorded & set(wanted) | ({one.reference for one in suite.tasks} if there else set()):
        assert wanted[policy_name] <= there, policy_name


def test_a_task_is_of_the_same_set_in_every_suite() -> None:
    sets: dict[tuple[str, str], set[str]] = {}
    for name in available():
        for only in load_suite(name).tasks:
            stem = only.name if only.load is None else only.name.replace(f"/{only.load:g}", "")
            sets.setdefault((only.network, stem), set()).add(only.set)
    assert {key: own for key, own in sets.items() if len(own) > 1} == {}


@pytest.mark.parametrize("name", list(available()))
def test_recorded_loads_lie_below_or_above_saturation(name: str) -> None:
    suite = load_suite(name)
    accepted: dict[tuple[str, str], list[float]] = {}
    for record in read_records(suite.results):
        if "accepted_load" in record.measures:
            accepted.setdefault((record.task, record.policy), []).append(record.measures["accepted_load"])
    for only in suite.tasks:
        sending = 0.5 if "/random_bisection/" in only.id else 1.0  # half of the terminals send
        parts = [np.mean(own) / (only.load or 1) / sending for (of, _), own in accepted.items() if of == only.id]
        if only.kind == "below" and parts:
            assert max(parts) >= 0.97, only.id
        if only.kind == "above" and (only.id, only.reference) in accepted:
            assert np.mean(accepted[only.id, only.reference]) < 0.97 * (only.load or 1), only.id


@pytest.mark.parametrize(
    ("name", "policy"),
    [("dragonfly_72/uniform/0.4", "minimal"), ("torus_4x4x4/tornado/0.3", "q_adaptive")],
)
def test_the_core_reproduces_recorded_results(tmp_path: Path, name: str, policy: str) -> None:
    """Short runs of `quick` equal their records bit for bit. A change of the core's numbers needs new records."""
    suite = load_suite("quick")
    (only,) = chosen(suite, [name]).tasks
    chosen_policy = [baseline for baseline in only.baselines if baseline.name == policy]
    (trial,) = plan(chosen_policy, [only.scenario], only.overrides, only.loads, suite.seeds[:1], tmp_path)
    result = execute(trial.run.plain, tmp_path / "run", lambda *_: None)
    (record,) = (
        r for r in read_records(suite.results) if (r.task, r.policy, r.seed) == (only.id, policy, suite.seeds[0])
    )
    assert measures(only.kind, row(result, tmp_path / "run")) == record.measures


# --- Recorded results ------------------------------------------------------------------------------------------------


def test_records_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    numbers = {"latency_mean_ns": 1 / 3, "accepted_load": 0.1 + 0.2}
    record = Record("own-v1", "n/a-v1", "eager, or so", 7, "0123", "0.1.0+a.b", "99", numbers)
    write_records(path, [record])
    assert read_records(path) == [record]
    assert read_records(tmp_path / "none.csv") == []
    newer = replace(record, version="new")
    others = [replace(record, seed=8), replace(record, suite="own-v2")]
    assert merged([record, *others], [newer]) == [newer, *others]
    assert sources_of("0.1.0+8cf1c2c.c358162b") == sources_of("0.1.0+v2-3-g00.c358162b") == "c358162b"


# --- The command -----------------------------------------------------------------------------------------------------


def play(folder: Path, *words: str) -> Path:
    """Play a suite in this process; returns the folder of the files."""
    conduct(Benchmark, compose_root("benchmark", ["resamples=50", "workers=1", *words]), Study(folder, [], "x"))
    return folder


def lines_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "benchmark.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_benchmark(command: Command, tmp_path: Path, tiny: Path) -> None:
    policies = "routing=[dim_war,{name: eager,routing: par,params: {threshold: 0.5}}]"
    # dim_war does not run on a Dragonfly, and par does not support failures.
    done = command("benchmark", "suite=tiny.yaml", policies, "resamples=100", "baselines=run", "record=tiny.csv")
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "left out: dim_war, pattern uniform on small" in done.stderr
    folder = tmp_path / "results" / "benchmark_tiny"
    names = {"rows.parquet", "benchmark.csv", "benchmark.md", "benchmark.png", "benchmark.svg"}
    assert {path.name for path in folder.iterdir() if path.is_file()} == names
    text = (folder / "benchmark.md").read_text()
    assert "dim_war, pattern uniform on small" in text
    assert "eager†" in text
    assert "| latency / best known | cost, mult. | bytes |" in text
    lines = lines_of(folder)
    played = {line["policy"]: line["value"] for line in lines if line["metric"] == "tasks_played"}
    assert played == {"ugal_l": "4", "minimal": "5", "ugal": "1", "eager": "4", "dim_war": "0"}
    for line in lines:
        if line["metric"] == "score" and line["policy"] in ("ugal_l", "ugal"):
            assert float(line["value"]) == 0
    rows = read_rows(folder / "rows.parquet")
    assert {r["task"] for r in rows} == {t.id for t in load_suite(str(tiny)).tasks}
    key = ("eager", "small/uniform/0.2-v1")
    latency = [r["packet_latency_mean_ns"] for r in rows if (r["policy"], r["task"]) == key]
    (line,) = (x for x in lines if (x["policy"], x["task"], x["metric"]) == (*key, "latency_mean_ns"))
    assert float(line["value"]) == pytest.approx(np.mean(latency))
    assert line["scored"] == "True"

    # Compared with the recorded results, the policy keeps its scores, and no run is repeated.
    again = command("benchmark", "suite=tiny.yaml", policies.replace("dim_war,", ""), "resamples=100")
    assert again.returncode == 1, again.stderr
    assert "8 runs, 8 finished before" in again.stderr
    assert "stale" not in again.stderr
    first, second = (
        {(x["task"], x["metric"]): x["value"] for x in some if x["policy"] == "eager"}
        for some in (lines, lines_of(folder))
    )
    assert first == second

    # The task changes without a new version, so its records no longer match the configuration.
    tiny.write_text(TINY.replace("run.measure_ns=800", "run.measure_ns=900"))
    stale = command("benchmark", "suite=tiny.yaml", "resamples=100")
    assert stale.returncode == 0, stale.stderr
    assert "recorded results are stale" in stale.stderr
    assert "baselines=run" in stale.stderr
    assert "stale" in (folder / "benchmark.md").read_text()


@pytest.mark.deep
def test_recording_keeps_the_lines_of_other_suites(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(TINY.replace("run.measure_ns=800", "run.measure_ns=900"))
    table = tmp_path / "mine.csv"
    words = ("tasks=[small/uniform/0.2]", "baselines=run", f"record={table}")
    play(tmp_path / "r", f"suite={tiny}", *words)
    first = read_records(table)
    # A record of a task that no suite has any more; the other suite has a task of the same name.
    gone = replace(first[0], task="small/gone/0.1-v1")
    write_records(table, [gone, *first])
    play(tmp_path / "r", f"suite={other}", *words)
    second = read_records(table)
    assert {r.suite for r in second[:4]} == {"other-v3"}
    assert second[4:] == [gone, *first]
    # Records of another suite are ignored.
    write_records(tiny.with_suffix(".csv"), second)
    play(tmp_path / "r", f"suite={tiny}", words[0])
    said = capsys.readouterr().err
    assert "4 recorded results are of another suite than tiny-v3 and left out (other-v3)" in said
    assert "stale" not in said


@pytest.mark.deep
def test_without_policies_it_shows_the_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path, "suite=quick")
    said = capsys.readouterr()
    assert "q_adaptive" in said.out
    assert "runs" not in said.err
    assert (tmp_path / "benchmark.md").stat().st_size > 5_000


def test_without_records_it_asks_for_policies(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no results are recorded for some baselines of tiny-v3 .*baselines=run"):
        play(tmp_path / "r", f"suite={tiny}")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("run.warmup_ns=0, run.series_interval_ns=100", "run.warmup_ns=0", ["cold_start-v1", "run.series_interval_ns"]),
        ('[run.series_interval_ns=100, "f', '[run.series_interval_ns=900, "f', ["recovery-v2", "900", "up to 800 ns"]),
        (', "failures.events=[0-1@200]"', "", ["failures.events: nothing fails", "failures.events=[<link>@200]"]),
        ("0-1@200", "0-1@300-400,0-2@250", ["failures.events", "fails at 250 ns", "run.warmup_ns (200 ns)"]),
    ],
)
def test_unsuitable_windows_are_refused_before_any_run(
    tiny: Path, tmp_path: Path, old: str, new: str, parts: list[str]
) -> None:
    tiny.write_text(TINY.replace(old, new, 1))
    with pytest.raises(ConfigError) as failure:
        play(tmp_path / "r", f"suite={tiny}", "baselines=run")
    for part in ["tiny.yaml", *parts]:
        assert part in str(failure.value)
