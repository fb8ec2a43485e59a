"""The plugin of docs/extending/plugins.md, built against the installed flitgym and used as in its README."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from flitgym import plugins
from flitgym.simcore import _core

pytestmark = pytest.mark.deep

EXAMPLE = Path(__file__).parents[2] / "docs" / "extending" / "example_plugin"
RUN = (
    "topology=fat_tree_16",
    "router=input_queued",
    "traffic=bit_complement",
    "run.warmup_ns=500",
    "run.measure_ns=1000",
)


class Environment:
    """A folder with the installed plugin, and the environment of processes that find it."""

    def __init__(self, path: Path) -> None:
        self.path, self.packages = path, path / "packages"
        # Builds leave files next to the sources.
        source = shutil.copytree(EXAMPLE, path / "source", ignore=shutil.ignore_patterns("__pycache__", "build"))
        alone = ("--no-deps", "--no-index", "--no-build-isolation", "--target", self.packages)
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *alone, source], check=True)
        (self.library,) = (self.packages / "flitgym_example" / "lib").iterdir()

    def run(self, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        """Run Python in the folder."""
        kept = {k: v for k, v in os.environ.items() if k not in ("HYDRA_FULL_ERROR", "FLITGYM_PLUGINS")}
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.path,
            env={**kept, "PYTHONPATH": str(self.packages), **variables},
            capture_output=True,
            text=True,
            timeout=300,
        )

    def flitgym(self, *words: str) -> str:
        """The output of `flitgym <words>`, which must succeed."""
        done = self.run("-m", "flitgym", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, code: str) -> None:
        """Run a program, which must succeed."""
        done = self.run("-c", code)
        assert done.returncode == 0, done.stderr

    def result_of(self, study: str) -> dict[str, Any]:
        (path,) = (self.path / "results" / study).glob("*/result.json")
        return dict(json.loads(path.read_text()))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("plugin"))


def test_its_parts_are_listed_and_absent_without_it(environment: Environment) -> None:
    told = environment.run("-m", "flitgym.plugins").stdout
    for line in ("blocks: idle", "configs: topology=fat_tree_16", "routing: spray"):
        assert f"  {line}\n" in told
    assert " spray" in environment.flitgym("list", "routing")
    done = environment.run("-m", "flitgym", "simulate", "routing=spray", *RUN[1:], FLITGYM_PLUGINS="none")
    assert done.returncode == 2
    assert "routing: unknown name 'spray'" in done.stderr


def test_its_routing_runs_to_the_same_bits_on_any_number_of_threads(environment: Environment) -> None:
    hashes = set()
    for threads in (1, 2):
        words = ("topology=fat_tree_64", "routing=spray", *RUN[1:], "traffic.load=0.5", "run.partitions=2")
        environment.flitgym("simulate", *words, f"run.threads={threads}", f"study=threads_{threads}")
        result = environment.result_of(f"threads_{threads}")
        hashes.add(result["state_hash"])
        assert result["accepted_load"] == pytest.approx(0.5, abs=0.02)
        assert result["hops_mean"] == 4  # minimal, and each pair is in different halves of the tree
        assert list(result["plugins"]) == ["example"]
    assert len(hashes) == 1


def test_snapshots_and_forks(environment: Environment) -> None:
    environment.ask("""
import copy, pickle
from flitgym.simcore import Simulation
s = Simulation({"topology": {"name": "fat_tree", "children": [4, 4], "parents": [1, 4]}, "routing": "spray",
                "traffic": {"name": "uniform", "load": 0.5}, "seed": 1})
s.run(1000)
others = [s.fork(), pickle.loads(pickle.dumps(s)), copy.deepcopy(s)]
for one in (s, *others):
    one.run(1000)
assert {one.state_hash() for one in others} == {s.state_hash()}
# It lists its candidates, so it is a relation, too.
a = Simulation({"topology": "dragonfly", "routing": {"name": "agent", "relation": "spray"}, "traffic": "uniform"})
assert a.facts()["plugins"] == ["example"]
""")


def test_a_result_counts_while_its_plugin_is_unchanged(environment: Environment) -> None:
    def again(routing: str) -> bool:
        words = (*RUN, "traffic.load=0.3", f"study=again_{routing}")
        return "finished before" in environment.flitgym("simulate", f"routing={routing}", *words)

    assert [again("spray"), again("spray"), again("minimal"), again("minimal")] == [False, True, False, True]
    assert environment.result_of("again_minimal")["plugins"] == {}
    before = environment.library.read_bytes()
    environment.library.write_bytes(before + b"\0")  # after the loaded segments
    try:
        assert [again("spray"), again("minimal")] == [False, True]
    finally:
        environment.library.write_bytes(before)


def test_its_observation_is_seen(environment: Environment) -> None:
    environment.ask("""
import sys
from flitgym.env import PacketBatch
assert "flitgym_example.blocks.idle" not in sys.modules
batch = PacketBatch(1, observation="progress+idle", overrides=["topology=fat_tree_16", "traffic.load=0.5"])
batch.reset(seed=1)
assert batch.seam["general"][-1]["name"] == "idle.part"
seen = []
for _ in range(300):
    n = batch.collect()
    seen += batch.observation[:n, len(batch.seam["general"]) - 1].tolist()
    batch.apply([0] * n)
assert 0 <= min(seen) < max(seen) <= 1, (min(seen), max(seen))
""")


def test_a_library_of_another_core_is_refused(environment: Environment, tmp_path: Path) -> None:
    # Built with headers of another version; its initialiser would end the process.
    (tmp_path / "simcore").mkdir()
    (tmp_path / "simcore" / "version.hpp").write_text(
        '#define FLITGYM_CORE_VERSION "9.9.9+other"\n#define FLITGYM_HEADERS "0123456789ab"\n'
        "#define FLITGYM_CORE_SYMBOL flitgym_core_0123456789ab\n"
    )
    source, library = tmp_path / "ends.cpp", tmp_path / "ends.so"
    source.write_text("#include <cstdlib>\n__attribute__((constructor)) static void ends() { std::abort(); }\n")
    cmake = plugins.get_cmake_dir()
    flags = ["-std=c++20", "-fPIC", "-shared", f"-I{tmp_path}", f"-I{plugins.get_include()}"]
    sources = [f"{cmake}/plugin_mark.cpp", str(source), f"{cmake}/../simcore/libflitgym_core.so"]
    subprocess.run([os.environ.get("CXX", "c++"), *flags, *sources, "-o", str(library)], check=True)
    done = environment.run("-m", "flitgym", "simulate", "--help", FLITGYM_PLUGINS=f"none:{library}")
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "was built against flitgym 9.9.9+other (headers 0123456789ab, " in done.stderr
    assert f"but this is {_core.core_described()}; rebuild it" in done.stderr
