"""Runs as Slurm jobs through submitit: as local processes, and with four scripts that replace Slurm."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from flitgym.experiments.results.rows import read_rows

pytestmark = pytest.mark.skipif("FLITGYM_CLUSTER_TEST" not in os.environ, reason="takes a minute: make cluster-test")
pytest.importorskip("submitit")

SHORT = ["topology=dragonfly_72", "run.warmup_ns=1000", "run.measure_ns=2000"]

# Starts all tasks of an array at once as the batch script does. The task given by `dies` is killed.
SBATCH = """#!/bin/bash
script="${@: -1}"
cp "$script" "$LOG"
last=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\).*/\\1/p' "$script")
export SLURM_JOB_ID=77 SLURM_ARRAY_JOB_ID=77 SLURM_NODEID=0 SLURM_NTASKS=1 SLURM_LOCALID=0 SLURM_PROCID=0
export SLURM_JOB_NUM_NODES=1 SLURM_JOB_NODELIST=alpha
for task in $(seq 0 "$last"); do
    # As behind any queue, not before the one who submits has put down what there is to do.
    [ "$task" = "$DIES" ] && continue
    (sleep 2; SLURM_ARRAY_TASK_ID=$task exec bash "$LOG") > "$LOG.$task" 2>&1 &
done
echo "Submitted batch job 77"
"""
SRUN = """#!/bin/bash
while [[ $1 == -* ]]; do [[ $1 == --*=* || $1 == --unbuffered ]] || shift; shift; done
exec "$@"
"""
SACCT = """#!/bin/bash
echo "JobID|State|NodeList"
for task in 0 1 2; do
    [ "$task" = "$DIES" ] && state=NODE_FAIL || state=RUNNING
    echo "77_$task|$state|alpha"
done
"""


def slurm(folder: Path, dies: str) -> dict[str, str]:
    """An environment in which Slurm's commands exist."""
    tools = folder / "bin"
    tools.mkdir()
    for name, text in {"sbatch": SBATCH, "srun": SRUN, "sacct": SACCT, "scancel": "#!/bin/bash\n"}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "LOG": str(folder / "script"), "DIES": dies}


def command(name: str, *words: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flitgym", name, *words],
        cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_a_sweep_by_processes_of_this_machine(tmp_path: Path) -> None:
    words = ["-m", "hydra/launcher=submitit_local", "study=mine", *SHORT, "routing=minimal,ugal_l", "traffic.load=0.2"]
    done = command("simulate", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/mine/*/result.json"))) == 2
    assert "rows.parquet" in done.stdout
    assert len(read_rows(tmp_path / "results" / "mine" / "rows.parquet")) == 2


EVALUATION = [*SHORT, "routing=[minimal,ugal_l]", "patterns=[uniform]", "loads=[0.2]", "seeds=[1]"]


def test_an_evaluation_as_an_array_of_jobs(tmp_path: Path) -> None:
    chosen = ["hydra/launcher=submitit_slurm", "hydra.launcher.partition=short", "hydra.launcher.mem_gb=2", "workers=4"]
    done = command("evaluate", *EVALUATION, *chosen, cwd=tmp_path, env=slurm(tmp_path, dies="none"))
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/evaluation/*/result.json"))) == 2
    script = (tmp_path / "script").read_text()
    for line in ("--array=0-1%2", "--mem=2GB", "--partition=short", "--job-name=evaluation"):
        assert f"#SBATCH {line}" in script


def test_a_job_that_dies_loses_only_its_own_run(tmp_path: Path) -> None:
    env = slurm(tmp_path, dies="1")
    done = command("evaluate", *EVALUATION, "hydra/launcher=submitit_slurm", cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert "its job 77_1 ended without a result (state NODE_FAIL)" in done.stderr
    assert len(list(tmp_path.glob("results/evaluation/*/result.json"))) == 1


@pytest.mark.parametrize(
    "words",
    [["evaluate", *EVALUATION], ["simulate", "-m", *SHORT, "routing=minimal,ugal_l"]],
    ids=lambda words: words[0],
)
def test_without_slurm(words: list[str], tmp_path: Path) -> None:
    done = command(*words, "hydra/launcher=submitit_slurm", cwd=tmp_path)
    assert done.returncode == 2
    assert "hydra/launcher=submitit_slurm" in done.stderr
    assert "srun" in done.stderr
    assert "Traceback" not in done.stderr
