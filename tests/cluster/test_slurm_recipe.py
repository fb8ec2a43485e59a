"""docs/examples/slurm_ray.sh without a real Slurm: three scripts stand in for its commands."""

import os
import subprocess
from pathlib import Path

import pytest

RECIPE = Path(__file__).parents[2] / "docs" / "examples" / "slurm_ray.sh"

# Each script records its arguments and the token's mode. `ray status` reports the nodes started so far.
SRUN = """#!/bin/bash
while [[ $1 == -* ]]; do echo "srun $1 $([ "$1" = -w ] && echo "$2")" >> "$LOG"; [ "$1" = -w ] && shift; shift; done
exec "$@"
"""
SCONTROL = """#!/bin/bash
echo "scontrol $*" >> "$LOG"
printf 'alpha\\nbeta\\ngamma\\n'
"""
RAY = """#!/bin/bash
echo "ray $* mode=$RAY_AUTH_MODE" >> "$LOG"
case "$1 $2" in
    "start --head") echo " 1 node_head" >> "$NODES"; exec sleep 60 ;;
    "start --address"*) echo " 1 node_b" >> "$NODES"; echo " 1 node_c" >> "$NODES"; exec sleep 60 ;;
    status*) cat "$NODES" ;;
esac
"""
TRAIN = """#!/bin/bash
echo "$* nodes=$(wc -l < "$NODES") mode=$RAY_AUTH_MODE" >> "$LOG"
"""


@pytest.mark.parametrize(
    ("words", "train"),
    [
        ([], "train agent=rllib_ppo agent.env_runners=22 agent.address=alpha:6379 nodes=3 mode=token"),
        (["agent=rllib_dqn", "rounds=7"], "train agent=rllib_dqn rounds=7 agent.address=alpha:6379 nodes=3 mode=token"),
    ],
)
def test_head_then_workers_then_the_training_with_the_token(tmp_path: Path, words: list[str], train: str) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in {"srun": SRUN, "scontrol": SCONTROL, "ray": RAY, "flitgym": TRAIN}.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    env = {"PATH": f"{tools}:{os.environ['PATH']}", "LOG": str(tmp_path / "log"), "NODES": str(tmp_path / "nodes"),
           "SLURM_JOB_NODELIST": "alpha,beta,gamma", "SLURM_NNODES": "3", "SLURM_CPUS_PER_TASK": "8"}  # fmt: skip
    done = subprocess.run([RECIPE, *words], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    said = (tmp_path / "log").read_text().splitlines()
    order = [
        "ray get-auth-token --generate mode=token",
        "srun -w alpha",
        "ray start --head --port=6379 --num-cpus=8 --block mode=token",
        "srun --exclude=alpha ",
        "ray start --address=alpha:6379 --num-cpus=8 --block mode=token",
        train,
    ]
    assert [line for line in said if line in order] == order
    assert "srun --ntasks=2 " in said
