"""`flitgym evaluate`: its arguments, its statistics, the command, and its errors."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Command
from flitgym.configs.composition import compose_root
from flitgym.experiments.evaluate import measure_of
from flitgym.experiments.evaluation.cells import Cell, cells_of
from flitgym.experiments.evaluation.figure import draw
from flitgym.experiments.evaluation.oracle import gap_closed
from flitgym.experiments.evaluation.performance import Performance, points_of
from flitgym.experiments.evaluation.plan import Scenario, Trial, plan, policies_of, refused, routing_of, scenarios_of
from flitgym.experiments.evaluation.study import Study, conduct
from flitgym.experiments.evaluation.tables import footnote, in_markdown, intervals_text, tables_of
from flitgym.experiments.plotting.drawing import STYLES, distinct_styles
from flitgym.experiments.results.rows import read_rows
from flitgym.experiments.terminal.commandline import CommandError
from flitgym.experiments.terminal.tables import study_page

SEEDS = (1, 2, 3, 4)
UNIFORM = Scenario("uniform", "pattern", "uniform", {})
# Runs of milliseconds.
SHORT = ("run.warmup_ns=500", "run.measure_ns=1500")


def pattern_row(policy: str, seed: int, latency: float | None, packets: int = 100) -> dict[str, Any]:
    """A row in the form of a run's. The seed has the same effect on every policy."""
    return {
        "policy": policy,
        "scenario": "uniform",
        "workload.name": "none",
        "traffic.load": 0.2,
        "seed": seed,
        "packets_delivered": packets,
        "accepted_load": 0.2 if packets else 0.0,
        "packet_latency_mean_ns": None if latency is None else latency + 100 * seed,
        "packet_latency_p99_ns": None if latency is None else 2 * latency,
        "hops_mean": 2.0 if packets else 0.0,
        "nonminimal_fraction": 0.0,
    }


def job_row(policy: str, seed: int, times: dict[str, float | None]) -> dict[str, Any]:
    row: dict[str, Any] = {"policy": policy, "scenario": "pair", "workload.name": "pair", "seed": seed}
    for job, time in times.items():
        row |= {f"jobs.{job}.packets": 10, f"jobs.{job}.comm_time_mean_ns": time, f"jobs.{job}.finish_ns": time}
    return row


def cells(rows: Sequence[dict[str, Any]], reference: str = "a") -> list[Cell]:
    return cells_of(rows, points_of, ["a", "b"], SEEDS, reference, 0.95)


def only(cells: Sequence[Cell], policy: str, metric: str, job: str | None = None) -> Cell:
    (cell,) = (cell for cell in cells if (cell.policy, cell.metric, cell.point.get("job")) == (policy, metric, job))
    return cell


# --- Arguments -------------------------------------------------------------------------------------------------------


def test_a_policy_file_runs_with_the_routing_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine/policy.safetensors", "mine/late.safetensors"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    policies = policies_of(["par", "mine/policy.safetensors", "mine/late.safetensors"])
    # A file with the default name takes the name of its folder.
    assert [(p.name, p.routing) for p in policies] == [("par", "par"), ("mine", "policy"), ("late", "policy")]
    assert policies[1].settings == {"routing.path": str(tmp_path / "mine/policy.safetensors")}
    assert routing_of("routing", "par") == ("par", {})


def test_forwarding_tables_are_named_by_engine_or_file() -> None:
    engines = [{"routing": "table", "params": {"engine": name}} for name in ("dfsssp", "lash")]
    files = [{"routing": "table", "params": {"file": name, "check": False}} for name in ("mine/table.npz", "b.lft.csv")]
    names = [policy.name for policy in policies_of(["table", *engines, *files])]
    assert names == ["table", "table-dfsssp", "table-lash", "table-mine check=False", "table-b.lft check=False"]


def test_a_learned_table_belongs_to_its_policy(small: Sequence[str], tmp_path: Path) -> None:
    table = tmp_path / "table.npz"
    table.write_bytes(b"any")
    params = {"load_q_table": str(table), "freeze_q_table": True, "epsilon": 0.25}
    entries = [{"name": "trained", "routing": "q_adaptive", "params": params}, "q_adaptive"]
    trials = plan(policies_of(entries), [UNIFORM], small, [0.1], [1], tmp_path)
    found = [
        (plain["run"]["load_q_table"], plain["run"]["freeze_q_table"], plain["routing"]["epsilon"])
        for plain in (trial.run.plain for trial in trials)
    ]
    assert found == [(str(table), True, 0.25), (None, False, 0.001)]


def test_every_policy_has_the_same_loads_and_seeds(small: Sequence[str], tmp_path: Path) -> None:
    patterns = scenarios_of(
        "pattern",
        ["uniform", {"traffic": "adversarial", "params": {"shift": 4}}, {"name": "far", "traffic": "adversarial"}],
        {"packet_bytes": 256},
    )
    workloads = scenarios_of("workload", [{"workload": "pair", "params": {"target": "lu"}}], {"scale": 0.1})
    assert [s.name for s in (*patterns, *workloads)] == ["uniform", "adversarial shift=4", "far", "pair target=lu"]
    trials = plan(policies_of(["minimal", "par"]), [*patterns, *workloads], small, [0.1, 0.4], [7, 8, 9], tmp_path)
    points: dict[str, list[Any]] = {"minimal": [], "par": []}
    for trial in trials:
        plain, load = trial.run.plain, None
        assert plain["routing"]["name"] == trial.policy.routing
        if trial.scenario.kind == "pattern":
            assert plain["traffic"]["packet_bytes"] == 256
            load = plain["traffic"]["load"]
        else:
            assert (plain["workload"]["target"], plain["workload"]["scale"]) == ("lu", 0.1)
        points[trial.policy.name].append((trial.scenario.name, load, plain["seed"]))
    assert points["minimal"] == points["par"]
    assert len(set(points["par"])) == 3 * 2 * 3 + 3
    assert {t.run.plain["traffic"]["shift"] for t in trials if t.scenario.name == "adversarial shift=4"} == {4}


def test_a_policy_that_does_not_fit_is_refused_before_any_run(small: Sequence[str], tmp_path: Path) -> None:
    trials = plan(policies_of(["minimal", "dim_war"]), [UNIFORM], small, [0.1, 0.2], [1], tmp_path)
    messages = refused(trials)
    assert list(messages) == ["dim_war, pattern uniform"]
    assert "hyperx" in messages["dim_war, pattern uniform"]


# --- Statistics of rows ----------------------------------------------------------------------------------------------


def test_ratio_and_difference_pair_equal_seeds() -> None:
    # The effect of the seed is many times the difference between the policies.
    rows = [pattern_row(policy, seed, latency) for policy, latency in (("a", 50), ("b", 40)) for seed in SEEDS]
    cell = only(cells(rows), "b", "latency_mean_ns")
    assert cell.mean.value == pytest.approx(290)
    assert cell.mean.high - cell.mean.low > 100
    assert cell.difference.value == pytest.approx(-10)
    assert cell.ratio.value == pytest.approx(290 / 300)
    assert cell.ratio.low < cell.ratio.value < cell.ratio.high < 1
    assert (cell.seeds, cell.missing) == (4, 0)
    own = only(cells(rows), "a", "latency_mean_ns")
    assert own.ratio.value == 1


def test_copies_count_once() -> None:
    """Policy b is deterministic: three equal runs are one run, and only the reference varies in the ratio."""
    rows = [pattern_row("a", seed, 50) for seed in SEEDS]
    rows += [pattern_row("b", 1, 40) | {"seed": seed} for seed in SEEDS]
    rows = [row | {"state_hash": f"{row['policy']} {row['packet_latency_mean_ns']}"} for row in rows]
    cell = only(cells(rows), "b", "latency_mean_ns")
    assert (cell.mean.value, cell.seeds, cell.missing) == (140, 1, 0)
    assert np.isnan(cell.mean.low)
    assert cell.ratio.value == pytest.approx(140 / 300)
    assert cell.ratio.low < cell.ratio.value < cell.ratio.high
    own = only(cells(rows, "b"), "b", "latency_mean_ns")
    assert np.isnan(own.difference.low)
    text = intervals_text(cells(rows, "b"), 0.95)
    assert text == "Intervals: 95 % of the mean over 4 seeds (Student's t). A single run has no interval."


def test_a_failed_run_is_left_out_of_its_pair_and_counted() -> None:
    rows = [pattern_row(policy, seed, latency) for policy, latency in (("a", 50), ("b", 40)) for seed in SEEDS]
    found = cells(rows[1:])
    reference, other = (only(found, policy, "latency_mean_ns") for policy in "ab")
    assert (reference.seeds, reference.missing) == (3, 1)
    assert (other.seeds, other.missing) == (4, 0)
    # Both policies have seeds 2, 3 and 4.
    assert other.difference.value == pytest.approx(-10)
    assert other.ratio.value == pytest.approx(340 / 350)


def test_without_deliveries_only_the_accepted_load_has_a_value() -> None:
    rows = [pattern_row("a", seed, 50) for seed in SEEDS] + [pattern_row("b", seed, None, 0) for seed in SEEDS]
    found = cells(rows)
    assert only(found, "b", "accepted_load").mean.value == 0
    for metric in ("latency_mean_ns", "latency_p99_ns", "hops", "nonminimal_fraction"):
        cell = only(found, "b", metric)
        assert np.isnan(cell.mean).all()
        assert np.isnan(cell.ratio).all()
        assert (cell.seeds, cell.missing) == (0, 4)


def test_jobs_of_a_workload() -> None:
    rows = [job_row("a", seed, {"lu": 100.0 * seed, "ur": None}) for seed in SEEDS]
    rows += [job_row("b", seed, {"lu": 50.0 * seed, "ur": None}) for seed in SEEDS]
    found = cells(rows)
    assert only(found, "b", "comm_time_ns", "lu").mean.value == 125
    # The policies differ by the same factor for every seed.
    assert only(found, "b", "finish_ns", "lu").ratio.value == 0.5
    assert only(found, "b", "comm_time_ns", "ur").missing == 4


def test_the_figure_draws_every_policy_with_values() -> None:
    rows = [pattern_row("a", seed, 50) for seed in SEEDS] + [job_row("a", seed, {"lu": 100.0}) for seed in SEEDS]
    found = cells(rows)
    figure = draw(found, Performance.panels, distinct_styles({"a": "minimal", "b": "par"}), 0.95)
    assert len(figure.axes) == 6
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "95 % interval, 4 seeds"]
    drawn = [line for line in figure.axes[1].lines if np.isfinite(np.asarray(line.get_ydata(), dtype=float)).any()]
    assert len(drawn) == 2  # one line and its markers
    assert figure.axes[4].get_ylabel() == "communication time / reference"


def test_styles_in_one_figure_differ() -> None:
    # PAR and DimWAR run on different topologies and have the same default style.
    names = {"q_adaptive": "q_adaptive", "again": "q_adaptive", "par": "par", "dim_war": "dim_war"}
    names |= {f"learned{k}": "policy" for k in range(9)}
    styles = distinct_styles(names)
    assert styles["q_adaptive"].color == STYLES["q_adaptive"].color
    assert [style.label for style in styles.values()] == list(names)
    assert len({(style.color, style.marker, style.line) for style in styles.values()}) == len(names)


def test_the_text_marks_missing_runs_and_significant_ratios() -> None:
    rows = [pattern_row(policy, seed, latency) for policy, latency in (("a", 50), ("b", 40)) for seed in SEEDS]
    found = cells(rows)
    (table,) = tables_of(found, "a")
    assert (table.title, list(table.heads)[:2], "ratio" in table.heads) == ("uniform", ["load", "policy"], True)
    text = in_markdown(table)
    assert "| 0.2 | b |" in text
    assert "**0.967 [" in text
    assert "†" not in text
    assert footnote(found) == ""
    fewer = cells(rows[1:])
    assert "†" in in_markdown(tables_of(fewer, "a")[0])
    assert "†" in footnote(fewer)


def test_names_are_text_in_markdown() -> None:
    name, shown = "<img src=x onerror=alert(6)>|b", "&lt;img src=x onerror=alert(6)&gt;\\|b"
    page = study_page("Evaluation", "flitgym evaluate", [name], [f"{name}: deadlock"], "", {})
    assert f"- {shown}: deadlock\n" in page
    assert "<" not in page


# --- The command -----------------------------------------------------------------------------------------------------


def table(folder: Path) -> list[dict[str, str]]:
    with (folder / "evaluation.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_an_evaluation(command: Command, tmp_path: Path) -> None:
    pair = "{name: lu beside ur, workload: pair, params: {target: lu, background: ur, target_params: {nz: 20}}}"
    arguments = [
        *("routing=[minimal,{name: eager, routing: par, params: {threshold: 0.5}}]", "patterns=[uniform]"),
        *(f"workloads=[{pair}]", "workload.scale=0.01", "workload.size_scale=0.1", "traffic.packet_bytes=256"),
        *("loads=[0.1,0.3]", *SHORT, "study=mine", "topology=dragonfly_72"),
    ]
    done = command("evaluate", *arguments, "seeds=[1,2]")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "results" / "mine"
    names = {"rows.parquet", "evaluation.csv", "evaluation.md", "evaluation.png", "evaluation.svg"}
    assert {path.name for path in folder.iterdir() if path.is_file()} == names
    assert all((folder / name).stat().st_size > 500 for name in names)
    assert "eager" in done.stdout

    lines = table(folder)
    # 2 policies x (2 loads x 5 metrics + 2 jobs x 6 metrics)
    assert len(lines) == 2 * (2 * 5 + 2 * 6)
    assert {line["job"] for line in lines if line["workload"] == "lu beside ur"} == {"lu", "ur"}
    rows = read_rows(folder / "rows.parquet")
    assert len(rows) == 2 * (2 * 2 + 2)
    assert {row["traffic.packet_bytes"] for row in rows if row["workload.name"] == "none"} == {256}
    mean = {(row["policy"], row["traffic.load"], row["seed"]): row["packet_latency_mean_ns"] for row in rows}
    (line,) = (
        line for line in lines if (line["policy"], line["load"], line["metric"]) == ("eager", "0.3", "latency_mean_ns")
    )
    ours, theirs = ([mean[name, 0.3, seed] for seed in (1, 2)] for name in ("eager", "minimal"))
    assert float(line["mean"]) == pytest.approx(np.mean(ours))
    assert float(line["ratio"]) == pytest.approx(np.mean(ours) / np.mean(theirs))
    assert float(line["ratio_low"]) <= float(line["ratio"]) <= float(line["ratio_high"])

    # A larger evaluation runs only the new runs.
    again = command("evaluate", *arguments, "seeds=[1,2,3]", "reference=eager")
    assert again.returncode == 0, again.stderr
    assert "18 runs, 12 finished before" in again.stderr
    assert "evaluation.md and its tables were those of: flitgym evaluate" in again.stderr
    assert {line["ratio"] for line in table(folder) if line["policy"] == "eager" and float(line["mean"])} == {"1.0"}


def test_the_gap_begins_at_the_best_baseline_and_ends_at_the_oracle() -> None:
    baselines = {"far": np.log([900.0, 900.0]), "best": np.log([400.0, 200.0]), "failed": np.array([np.nan, 0])}
    oracle = np.log([200.0, 100.0])
    expected = {(400.0, 200.0): 0, (200.0, 100.0): 1, (100.0, 50.0): 2, (800.0, 400.0): -1, (400 / 2**0.5, 200): 0.25}
    for own, share in expected.items():
        assert gap_closed(np.log(own), baselines, oracle).mean() == pytest.approx(share)
    assert np.isnan(gap_closed(np.log([100.0, 50.0]), baselines, baselines["best"] - 0.005)).all()
    assert np.isnan(gap_closed(np.log([100.0, 50.0]), {"failed": baselines["failed"]}, oracle)).all()


def test_the_oracle_is_found_before_its_runs(command: Command, tmp_path: Path) -> None:
    job = "{name: lu, workload: pair, params: {target: lu, background: ur, target_params: {nz: 20}, scale: 0.01}}"
    arguments = [
        *("routing=minimal,flitgym", "traffic=adversarial", "traffic.load=0.3", "seed=1,2", f"workloads=[{job}]"),
        *("run.warmup_ns=4000", "run.measure_ns=4000", "topology=dragonfly_72", "workload.size_scale=0.1"),
    ]
    done = command("evaluate", *arguments, "oracle=2")
    assert done.returncode == 0, done.stderr
    assert "oracle: 2 runs, 0 finished before" in done.stderr
    folder = tmp_path / "results" / "evaluation"
    lines = {(line["policy"], line["metric"]): line for line in table(folder) if line["pattern"]}
    share = {policy: float(lines[policy, "gap_closed"]["mean"]) for policy in ("minimal", "flitgym", "oracle")}
    assert (share["minimal"], share["oracle"]) == (0, pytest.approx(1))
    assert 0.5 < share["flitgym"] < 1.5
    assert float(lines["oracle", "latency_mean_ns"]["mean"]) > float(lines["oracle", "latency_bound_ns"]["mean"]) > 600
    searched = [path.parent for path in folder.glob("*/policy.safetensors")]
    assert {row["routing.path"] for row in read_rows(folder / "rows.parquet") if row["policy"] == "oracle"} == {
        str(path / "policy.safetensors") for path in searched
    }
    again = command("evaluate", *arguments, "oracle=2")
    assert "oracle: 2 runs, 2 finished before" in again.stderr
    assert "evaluation: 12 runs, 12 finished before" in again.stderr


def test_workloads_alone_run_no_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[str] = []

    def stop(trials: Sequence[Trial], *_: Any) -> Any:
        planned.extend(dict.fromkeys(trial.scenario.name for trial in trials))
        raise CommandError("planned")

    monkeypatch.setattr("flitgym.experiments.evaluation.study.play", stop)
    for words in (["workloads=[pair]"], [], ["workloads=[pair]", "patterns=[uniform]"]):
        config = compose_root("evaluate", ["routings=[minimal]", "loads=[0.1]", *words])
        with pytest.raises(CommandError, match="planned"):
            conduct(measure_of(config), config, Study(tmp_path, [], "flitgym evaluate"))
    assert planned == ["pair", "uniform", "adversarial", "uniform", "pair"]


def test_one_seed_has_no_interval_and_a_note(command: Command, tmp_path: Path) -> None:
    done = command("evaluate", "routing=minimal", "traffic=uniform", "traffic.load=0.1", "seed=4", *SHORT)
    assert done.returncode == 0, done.stderr
    assert "One seed gives no intervals" in done.stdout
    for line in table(tmp_path / "results" / "evaluation"):
        assert math.isfinite(float(line["mean"]))
        assert line["low"] == line["high"] == ""


def test_failed_runs_are_named_and_the_others_run(command: Command, tmp_path: Path) -> None:
    # dim_war does not run on a Dragonfly. The simulation itself refuses a load of 3.
    done = command("evaluate", "routing=minimal,dim_war", "patterns=[uniform]", "loads=[0.1,3]", "seeds=[1,2]", *SHORT)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "left out: dim_war, pattern uniform" in done.stderr
    assert "minimal, pattern uniform (load 3 seed 1, load 3 seed 2)" in done.stderr
    lines = table(tmp_path / "results" / "evaluation")
    numbers = {(line["policy"], line["load"]) for line in lines if line["mean"]}
    assert numbers == {("minimal", "0.1")}
    assert "dim_war, pattern uniform" in (tmp_path / "results" / "evaluation" / "evaluation.md").read_text()
