"""The command `flitgym simulate`: the files that it writes, its errors, and the reuse of finished runs."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import Command, executed, results
from flitgym.configs import compose, core_sections, run_id
from flitgym.experiments.results.rows import read_rows
from flitgym.simcore import Simulation


def test_a_result_holds_its_numbers_and_the_validated_configuration(
    command: Command, small: Sequence[str], tmp_path: Path
) -> None:
    done = command("simulate", *small, "traffic.load=0.3")
    assert done.returncode == 0, done.stderr
    (result,) = results(tmp_path)
    assert result["accepted_load"] == pytest.approx(0.3, abs=0.03)
    assert result["latency_reference"] == "generation"
    assert result["cycles"] == 1500
    assert result["packets_delivered"] == result["flits_delivered"] > 0
    again, direct = Simulation(result["core_config"]), Simulation(core_sections(compose([*small, "traffic.load=0.3"])))
    for simulation in (again, direct):
        simulation.run(result["cycles"])
    assert again.state_hash() == direct.state_hash()


def test_partitions_change_no_number(command: Command, tmp_path: Path) -> None:
    words = ["topology=dragonfly_342", "router=hpdc21", "routing=q_adaptive", "traffic.load=0.4"]
    words += ["run.warmup_ns=2000", "run.measure_ns=2000", "run.overwrite=true"]
    found = []
    for threads in (1, 2):
        done = command("simulate", *words, f"run.threads={threads}")
        assert done.returncode == 0, done.stderr
        found += results(tmp_path)
    one, two = found
    assert (one["facts"]["partitions"], two["facts"]["partitions"]) == (1, 2)
    assert two["packets_delivered"] == one["packets_delivered"] > 0
    assert two["packet_latency_mean_ns"] == one["packet_latency_mean_ns"]
    assert two["config_hash"] == one["config_hash"]


def test_draining_does_not_change_the_window(command: Command, small: Sequence[str], tmp_path: Path) -> None:
    assert command("simulate", *small, "run.drain=true").returncode == 0
    assert command("simulate", *small, "run.drain=false").returncode == 0
    drained, fixed = sorted(results(tmp_path), key=lambda result: result["drained"] is None)
    assert drained["drained"] is True
    assert fixed["drained"] is None
    assert drained["cycles"] > fixed["cycles"]
    assert drained["packets_delivered"] == fixed["packets_delivered"]


@pytest.mark.deep
def test_a_learned_table_can_be_saved_and_loaded(command: Command, small: Sequence[str], tmp_path: Path) -> None:
    arguments = [*small, "routing=q_adaptive", "traffic=adversarial"]
    assert command("simulate", *arguments, "run.save_q_table=true").returncode == 0
    (table,) = tmp_path.glob("results/*/*/q_table.npz")
    done = command("simulate", *arguments, f"run.load_q_table={table}", "run.freeze_q_table=true", "study=frozen")
    assert done.returncode == 0, done.stderr
    other = command("simulate", *arguments, f"run.load_q_table={table}", "topology.groups=8")
    assert other.returncode == 2
    assert "Q-table" in other.stderr or "q_table" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["routing=minimall"], ["routing", "did you mean 'minimal'?"]),
        (["router.vcs=1"], ["vcs", "1", "2"]),
        (["run.load_q_table=missing"], ["missing"]),
        (["topology=hyperx_64", "routing=par"], ["routing.par", "hyperx", "dragonfly", "dim_war"]),
        (["-m", "traffic.load=0.1,7"], ["flitgym simulate: traffic.load=7: traffic.load: 7 is outside"]),
        (["-m", "routing=minimal,parr"], ["routing=parr: routing: unknown name 'parr'; did you mean 'par'?"]),
    ],
)
def test_bad_input_is_refused_in_one_message(
    command: Command, small: Sequence[str], tmp_path: Path, arguments: list[str], parts: list[str]
) -> None:
    done = command("simulate", *small, *arguments)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr.splitlines()[-1]
    assert not list(tmp_path.glob("results/*/*/*"))


def test_sweep_is_resumed_and_gathered(command: Command, small: Sequence[str], tmp_path: Path) -> None:
    first = command("simulate", "-m", *small, "traffic.load=0.1,0.2")
    assert first.returncode == 0, first.stderr
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("results/*/*/result.json")}
    second = command("simulate", "-m", *small, "traffic.load=0.1,0.2,0.3")
    assert second.returncode == 0, second.stderr
    assert second.stdout.count("finished before") == 2
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())
    rows = read_rows(tmp_path / "results" / "default" / "rows.parquet")
    assert sorted(row["traffic.load"] for row in rows) == [0.1, 0.2, 0.3]


def test_a_failed_run_of_a_sweep_is_named_and_the_others_continue(command: Command, tmp_path: Path) -> None:
    words = ["topology=dragonfly_72", "workload=pair", "workload.background=none", "workload.target=cosmoflow,halo3d"]
    done = command("simulate", "-m", *words, "workload.scale=0.1", "workload.max_ns=7000000")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Error executing job" not in done.stderr
    failed = [line for line in done.stderr.splitlines() if "the jobs are not done after workload.max_ns" in line]
    assert len(failed) == 1
    assert "dragonfly_q_adaptive_pair-cosmoflow-none_seed1_" in failed[0]
    assert len(read_rows(tmp_path / "results" / "default" / "rows.parquet")) == 2


# Sends Ctrl-C when Python first looks for a package.
STOP = """
import os, signal, sys
class Stop:
    def find_spec(self, name, *rest):
        if name == "hydra":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stop())
sys.argv = ["flitgym", "simulate"]
from flitgym.experiments.entry import main
main()
"""


@pytest.mark.deep
def test_ctrl_c_while_the_command_starts(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", STOP], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGINT
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "may"), [("simulate", set()), ("reproduce", {"rich"}), ("evaluate", {"rich"}), ("benchmark", {"rich"})]
)
def test_a_command_starts_without_heavy_packages(name: str, may: set[str]) -> None:
    program = f"import sys, flitgym.experiments.{name}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    heavy = {"matplotlib", "pandas", "pyarrow", "ray", "rich", "scipy", "torch"}
    assert not (heavy - may) & set(done.stdout.split())


def test_measuring_an_untrained_table_triggers_a_warning(
    command: Command, small: Sequence[str], tmp_path: Path
) -> None:
    done = command("simulate", *small, "routing=q_adaptive")
    assert done.returncode == 0, done.stderr
    assert "warning: routing=q_adaptive learns" in done.stderr
    assert "run=settled" in done.stderr
    assert list(results(tmp_path)[0]["warnings"]) == ["cold_table"]


@pytest.mark.deep
def test_a_damaged_run_does_not_stop_a_study(command: Command, small: Sequence[str], tmp_path: Path) -> None:
    broken = tmp_path / "results" / "default" / run_id(_root_=compose(small)) / "result.json"
    executed(broken.parent, *small)
    executed(tmp_path / "results" / "default" / "whole", *small, "seed=2")
    broken.write_bytes(b"\xff" + broken.read_bytes())
    for name, arguments in (("export", ["results"]), ("report", ["results/default"])):
        done = command(name, *arguments)
        assert done.returncode == 1, done.stderr
        assert f"left out: {broken.relative_to(tmp_path)} is damaged" in done.stderr
        assert "Traceback" not in done.stderr
    assert [row["seed"] for row in read_rows(tmp_path / "results" / "rows.parquet")] == [2]
    assert (tmp_path / "results" / "default" / "report.html").exists()
    done = command("simulate", *small)
    assert done.returncode == 0, done.stderr
    assert f"{broken} is damaged" in done.stderr
    assert "finished before" not in done.stdout
    assert len(results(tmp_path)) == 2
