"""A Ray cluster of two nodes on this machine, joined by its address, with and without a token (`make cluster-test`).

Two nodes take a minute to start and half a machine to run, so `make test` leaves them out.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif("FLITGYM_CLUSTER_TEST" not in os.environ, reason="takes a minute: make cluster-test")
ray = pytest.importorskip("ray")

RAY = str(Path(sys.executable).parent / "ray")
SMALL = ["topology=dragonfly", "topology.terminals_per_router=1", "topology.routers_per_group=2",
         "topology.global_ports=1", "topology.groups=3", "track.to=none", "evaluation.every=0",
         "vary={traffic.load: [0.2, 0.4]}"]  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def own_processes(mark: str) -> list[int]:
    """Every process whose environment bears this mark."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except (PermissionError, FileNotFoundError, ProcessLookupError):
            continue
    return found


@pytest.fixture(params=["token", "no token"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict]]:
    home = tmp_path_factory.mktemp("home")
    mark = f"FLITGYM_CLUSTER_MARK={home}"
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    env = {**kept, "HOME": str(home), "FLITGYM_CLUSTER_MARK": str(home), "RAY_DISABLE_IMPORT_WARNING": "1"}
    # As docs/training.md has it: the token first, and its mode where nodes start.
    nodes = dict(env)
    if request.param == "token":
        subprocess.run([RAY, "get-auth-token", "--generate"], env=env, check=True, capture_output=True)
        nodes["RAY_AUTH_MODE"] = "token"
    port = free_port()
    # A short path: sockets of the system have names of at most 107 characters.
    folder = f"/tmp/fg{port}"
    try:
        for words in (["--head", f"--port={port}", f"--temp-dir={folder}"], [f"--address=127.0.0.1:{port}"]):
            started = subprocess.run(
                [RAY, "start", *words, "--num-cpus=1"], env=nodes, capture_output=True, timeout=200
            )
            assert started.returncode == 0, started.stderr.decode()
        yield f"127.0.0.1:{port}", env
    finally:
        for number in own_processes(mark):
            if number != os.getpid():
                os.kill(number, signal.SIGKILL)
        subprocess.run(["rm", "-rf", folder], check=False)


def command(name: str, *words: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"flitgym.experiments.{name}", *words],
        cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip


def test_a_cluster_is_joined_by_its_address(cluster: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    address, env = cluster
    # Two processes that simulate, of a CPU each: one on either node.
    words = ["agent=rllib_ppo", f"agent.address={address}", "agent.env_runners=2", "agent.batch=400",
             "agent.minibatch=100", "rounds=3"]  # fmt: skip
    done = command("train", *SMALL, *words, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/training/*/policy.safetensors"))) == 1

    small = ["agent.networks=2", "agent.updates=2", "agent.batch=32", "agent.record_part=1.0", "rounds=2"]
    spread = ["-m", "hydra/launcher=ray", f"hydra.launcher.address={address}", "study=spread", "seed=1,2"]
    done = command("train", *spread, *SMALL, *small, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/spread/*/policy.safetensors"))) == 2
    assert (tmp_path / "results" / "spread" / "trainings.md").exists()
