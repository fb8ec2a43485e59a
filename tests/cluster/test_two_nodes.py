"""A Ray cluster of two nodes on this machine, with and without a token (`make cluster-test`).

Two nodes take a minute to start and half of the machine, so `make test` excludes these tests.
"""

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from flitgym.experiments.results.rows import read_rows

pytestmark = pytest.mark.skipif("FLITGYM_CLUSTER_TEST" not in os.environ, reason="takes minutes: make cluster-test")
ray = pytest.importorskip("ray")

RAY = str(Path(sys.executable).parent / "ray")
CPUS = 2  # per node
SMALL = ["topology=dragonfly", "topology.terminals_per_router=1", "topology.routers_per_group=2",
         "topology.global_ports=1", "topology.groups=3"]  # fmt: skip
TRAINED = [*SMALL, "track.to=none", "evaluation.every=0", "vary={traffic.load: [0.2, 0.4]}"]
# Two simulating processes and two learners with one CPU each, spread over both nodes.
SPREAD = ["agent=rllib_ppo", "agent.env_runners=2", "agent.learners=2", "agent.batch=400", "agent.minibatch=100"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def processes(mark: str) -> list[int]:
    """The processes with this mark in their environment, and their children (Ray's workers overwrite it)."""
    marked, parents = set[int](), {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(PermissionError, FileNotFoundError, ProcessLookupError):
            number = int(entry.name)
            parents[number] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                marked.add(number)
    marked.discard(os.getpid())
    return [number for number, parent in parents.items() if number in marked or parent in marked]


def titled(mark: str, title: str) -> list[int]:
    """The processes with this mark whose title starts with `title`."""
    found = []
    for number in processes(mark):
        with suppress(OSError):
            own = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")[0].decode().strip()
            found += [number] if own.startswith(title) else []
    return found


def kill(mark: str) -> None:
    for number in processes(mark):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


class Cluster:
    """Nodes on this machine. `env` is the environment for a process that connects to them."""

    def __init__(self, home: Path, token: bool) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
        self.mark = f"FLITGYM_CLUSTER_MARK={home}"
        self.env = {**kept, "HOME": str(home), "FLITGYM_CLUSTER_MARK": str(home), "RAY_USAGE_STATS_ENABLED": "0"}
        # By default, Ray's workers have the lowest priority and hardly run on a busy machine.
        self._nodes = {**self.env, "RAY_worker_niceness": "0"}
        # As in the manual, the token is generated first. The nodes start with the token mode.
        if token:
            subprocess.run([RAY, "get-auth-token", "--generate"], env=self.env, check=True, capture_output=True)
            self._nodes["RAY_AUTH_MODE"] = "token"
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        # The path is short because names of Unix sockets have at most 107 characters.
        self.folder = f"/tmp/fg{port}"
        self._start("--head", f"--port={port}", f"--temp-dir={self.folder}", "--include-dashboard=false")
        self.add_node("second")

    def add_node(self, name: str) -> str:
        """Start another node and return the mark of its processes."""
        self._start(f"--address={self.address}", name=name)
        return f"FLITGYM_NODE={name}"

    def _start(self, *words: str, name: str = "head") -> None:
        started = subprocess.run(
            [RAY, "start", *words, f"--num-cpus={CPUS}"],
            env={**self._nodes, "FLITGYM_NODE": name}, capture_output=True, timeout=300, check=False,
        )  # fmt: skip
        assert started.returncode == 0, started.stderr.decode()


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("home")
    made = None
    try:
        made = Cluster(home, request.param == "token")
        yield made
    finally:
        kill(f"FLITGYM_CLUSTER_MARK={home}")
        if made is not None:
            subprocess.run(["rm", "-rf", made.folder], check=False)


with_token = pytest.mark.parametrize("cluster", ["token"], indirect=True)
either = pytest.mark.parametrize("cluster", ["token", "no token"], indirect=True)


def command(name: str, *words: str, cwd: Path, cluster: Cluster) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flitgym", name, *words],
        cwd=cwd, env=cluster.env, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip


def begun(name: str, *words: str, cwd: Path, cluster: Cluster) -> subprocess.Popen[bytes]:
    with (cwd / "said").open("wb") as said:
        words = (sys.executable, "-m", "flitgym", name, *words)
        return subprocess.Popen(words, cwd=cwd, env=cluster.env, stdout=said, stderr=said)


def until(true: Callable[[], object], process: subprocess.Popen[bytes], seconds: float = 600) -> None:
    """Wait until `true()` holds. Fail if the process ends first."""
    end = time.monotonic() + seconds
    while not true():
        assert process.poll() is None, "it ended before"
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.2)


def on_ray(cluster: Cluster) -> list[str]:
    return ["hydra/launcher=ray", f"hydra.launcher.address={cluster.address}"]


@either
def test_a_sweep_of_trainings(cluster: Cluster, tmp_path: Path) -> None:
    small = ["agent.networks=2", "agent.updates=2", "agent.batch=32", "agent.record_part=1.0", "rounds=2"]
    done = command("train", "-m", *on_ray(cluster), "study=spread", "seed=1,2", *TRAINED, *small,
                   cwd=tmp_path, cluster=cluster)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("results/spread/*/policy.safetensors"))) == 2
    assert (tmp_path / "results" / "spread" / "trainings.md").exists()


@with_token
def test_runners_and_learners_run_on_both_nodes_and_may_die(cluster: Cluster, tmp_path: Path) -> None:
    words = [*TRAINED, *SPREAD, f"agent.address={cluster.address}", "study=spread", "rounds=40", "checkpoint_every=1"]

    def rounds() -> int:
        return sum(path.read_bytes().count(b"\n") for path in tmp_path.glob("results/spread/*/progress.jsonl"))

    # A simulating process that dies is replaced, and the training continues.
    first = begun("train", *words, cwd=tmp_path, cluster=cluster)
    until(lambda: rounds() >= 2, first)
    nodes = [f"FLITGYM_NODE={name}" for name in ("head", "second")]
    runners = [titled(node, "ray::CoreEnvRunner") for node in nodes]
    learners = [titled(node, "ray::_WrappedExecutable") for node in nodes]
    assert [sum(map(len, each)) for each in (runners, learners)] == [2, 2]
    assert all(on_one + others for on_one, others in zip(runners, learners, strict=True))
    os.kill(next(itertools.chain(*runners)), signal.SIGKILL)
    before = rounds()
    until(lambda: rounds() >= before + 3, first)
    # A learner that dies ends the training. The same command then resumes from the checkpoint.
    os.kill(next(itertools.chain(*learners)), signal.SIGKILL)
    assert first.wait(timeout=300) == 1
    assert "start again to continue from the last checkpoint" in (tmp_path / "said").read_text()
    kept = rounds()
    assert 5 <= kept < 40

    done = command("train", *words, cwd=tmp_path, cluster=cluster)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for path in tmp_path.glob("results/spread/*/progress.jsonl")
             for line in path.read_text().splitlines()]  # fmt: skip
    assert len(lines) == 40
    decisions = [line["decisions"] for line in lines]
    assert decisions == sorted(set(decisions))
    assert len(list(tmp_path.glob("results/spread/*/policy.safetensors"))) == 1


@with_token
def test_a_benchmark(cluster: Cluster, tmp_path: Path) -> None:
    task = ["suite=quick", "tasks=[dragonfly_72/uniform/0.4]", "routing=[par]"]
    done = command("benchmark", *task, *on_ray(cluster), cwd=tmp_path, cluster=cluster)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "results" / "benchmark_quick"
    here = command("benchmark", *task, "results=here", cwd=tmp_path, cluster=cluster)
    assert here.returncode == 0, here.stderr
    # A run gives the same bits on the cluster and on this machine.
    there = read_rows(folder / "rows.parquet")
    assert [row["state_hash"] for row in there] == [
        row["state_hash"] for row in read_rows(tmp_path / "here" / "benchmark_quick" / "rows.parquet")
    ]
    assert len(there) == 3
    assert not list(folder.glob(".shared-*"))


@with_token
def test_a_study_survives_the_loss_of_a_node(cluster: Cluster, tmp_path: Path) -> None:
    third = cluster.add_node("third")
    study = begun("reproduce", "study=interference", "preset=tiny", *on_ray(cluster), cwd=tmp_path, cluster=cluster)
    folder = tmp_path / "results" / "interference_tiny"
    try:
        # Kill the node in the middle of the study, while a run is on it.
        until(lambda: len(list(folder.glob("*/result.json"))) >= 6, study)
        until(lambda: titled(third, "ray::_run"), study)
        kill(third)
        assert study.wait(timeout=600) == 0, (tmp_path / "said").read_text()
    finally:
        kill(third)
    said = (tmp_path / "said").read_text()
    assert "the run starts again" in said
    assert len(list(folder.glob("*/result.json"))) == 32
    assert (folder / "report.html").exists()
    assert "runs," in said  # progress over all nodes


@with_token
def test_a_run_whose_worker_dies_twice_fails_alone(cluster: Cluster, tmp_path: Path) -> None:
    # The first run takes seconds, the second many minutes.
    words = ["routing=[minimal]", "patterns=[uniform]", "seeds=[1]", "loads=[0.01,0.9]", "run.measure_ns=30000000"]
    evaluation = begun("evaluate", *words, *on_ray(cluster), cwd=tmp_path, cluster=cluster)
    folder = tmp_path / "results" / "evaluation"
    until(lambda: list(folder.glob("*load0.01*/result.json")), evaluation)
    killed = set[int]()
    for _ in range(2):
        until(lambda: set(titled(cluster.mark, "ray::_run")) - killed, evaluation)
        for number in set(titled(cluster.mark, "ray::_run")) - killed:
            os.kill(number, signal.SIGKILL)
            killed.add(number)
    assert evaluation.wait(timeout=300) == 1
    said = (tmp_path / "said").read_text()
    assert "the run starts again" in said
    assert "minimal, pattern uniform (load 0.9 seed 1): its worker died" in said
    assert len(read_rows(folder / "rows.parquet")) == 1
