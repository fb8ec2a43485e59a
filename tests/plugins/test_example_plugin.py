"""The plugin of docs/extending/plugins.md, built against an installed flitgym and used as in its README."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plugin_environment import EXAMPLE, Environment

pytestmark = pytest.mark.deep

RUN = (
    "topology=fat_tree_16",
    "router=input_queued",
    "traffic=bit_complement",
    "run.warmup_ns=500",
    "run.measure_ns=1000",
)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    made = Environment(tmp_path_factory.mktemp("plugin"))
    # Builds leave files next to the sources.
    source = made.path / "example_plugin"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "build"))
    made.pip(str(source))
    yield made
    shutil.rmtree(made.path / "venv")


@pytest.fixture(scope="module")
def library(environment: Environment) -> Path:
    (found,) = (environment.packages / "flitgym_example" / "lib").iterdir()
    return found


def result_of(environment: Environment, study: str) -> dict[str, Any]:
    (path,) = (environment.path / "results" / study).glob("*/result.json")
    return dict(json.loads(path.read_text()))


def test_what_it_adds_is_listed(environment: Environment) -> None:
    told = environment.checked([str(environment.bin / "python"), "-m", "flitgym.plugins"])
    assert "example 0.1.0+" in told
    assert "(flitgym-example)" in told
    for line in ("agents: lms", "blocks: idle", "configs: topology=fat_tree_16", "figures: spraying", "routing: spray"):
        assert f"  {line}\n" in told
    assert "spraying: preset=quick" in environment.flitgym("reproduce", "--help").stdout
    helped = environment.flitgym("simulate", "--help").stdout
    assert re.search(r"^topology: [^:]*\bfat_tree_16\b", helped, re.MULTILINE)
    assert re.search(r"^routing: [^:]*\bspray\b", helped, re.MULTILINE)


def test_its_routing_runs_to_the_same_bits_on_any_number_of_threads(environment: Environment, library: Path) -> None:
    hashes = set()
    for threads in (1, 2):
        words = ("topology=fat_tree_64", "routing=spray", *RUN[1:], "traffic.load=0.5", f"run.threads={threads}")
        done = environment.flitgym("simulate", *words, f"study=threads_{threads}")
        assert done.returncode == 0, done.stderr
        result = result_of(environment, f"threads_{threads}")
        hashes.add(result["state_hash"])
        assert result["accepted_load"] == pytest.approx(0.5, abs=0.02)
        assert result["hops_mean"] == 4  # minimal, and each pair is in different halves of the tree
        assert list(result["plugins"]) == ["example"]
    assert len(hashes) == 1


def test_snapshots_and_forks(environment: Environment) -> None:
    code = """
import copy, pickle
from flitgym.simcore import Simulation, registered
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
assert Simulation({"topology": "dragonfly", "routing": "minimal", "traffic": "uniform"}).facts()["plugins"] == []
assert registered("routing")["spray"]["plugin"] == "example" and registered("routing")["par"]["plugin"] == ""
"""
    environment.ask(code)


def test_a_result_counts_while_its_plugin_is_unchanged(environment: Environment, library: Path) -> None:
    words = (*RUN, "traffic.load=0.3")

    def again(routing: str) -> bool:
        done = environment.flitgym("simulate", f"routing={routing}", *words, f"study=again_{routing}")
        assert done.returncode == 0, done.stderr
        return "finished before" in done.stdout

    assert [again("spray"), again("spray"), again("minimal"), again("minimal")] == [False, True, False, True]
    assert result_of(environment, "again_minimal")["plugins"] == {}
    before = library.read_bytes()
    library.write_bytes(before + b"\0")  # after the loaded segments
    try:
        assert [again("spray"), again("minimal")] == [False, True]
    finally:
        library.write_bytes(before)


def test_its_agent_learns(environment: Environment) -> None:
    pytest.importorskip("torch")
    short = ("rounds=2", "evaluation.every=0", "track.to=none", "agent.networks=1")
    words = ("agent=lms", "topology=fat_tree_16", "traffic=uniform", "vary={}", *short)
    done = environment.flitgym("train", *words)
    assert done.returncode == 0, done.stderr
    (folder,) = (environment.path / "results" / "training").iterdir()
    made = json.loads((folder / "training.json").read_text())
    assert made["training_hash"].split()[1].startswith("example=0.1.0+")
    assert (folder / "policy.safetensors").is_file()
    refused = environment.flitgym("train", "agent=lmz")
    assert "did you mean 'lms'" in refused.stderr


def test_its_figure_is_drawn(environment: Environment) -> None:
    done = environment.flitgym("reproduce", "figure=spraying", "preset=quick", "workers=1")
    assert done.returncode == 0, done.stderr
    folder = environment.path / "results" / "spraying_quick"
    assert "| yes (" in (folder / "differences.md").read_text()
    assert (folder / "spraying.png").stat().st_size > 5000


def test_its_observation_is_seen(environment: Environment) -> None:
    code = """
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
try:
    PacketBatch(1, observation="idel", overrides=["topology=fat_tree_16"])
except ValueError as error:
    assert "did you mean 'idle'" in str(error), error
"""
    environment.ask(code)


def test_without_it(environment: Environment) -> None:
    done = environment.flitgym("simulate", "routing=spray", *RUN[1:], FLITGYM_PLUGINS="none")
    assert done.returncode == 2
    assert "routing: unknown name 'spray'" in done.stderr


def refused(environment: Environment, path: Path) -> str:
    done = environment.flitgym("simulate", "--help", FLITGYM_PLUGINS=f"none:{path}")
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


def test_a_library_of_another_core_is_refused(environment: Environment, tmp_path: Path) -> None:
    # Built with headers of another version; its initialiser would end the process.
    (tmp_path / "simcore").mkdir()
    (tmp_path / "simcore" / "version.hpp").write_text(
        '#define FLITGYM_CORE_VERSION "9.9.9+other"\n#define FLITGYM_HEADERS "0123456789ab"\n'
        "#define FLITGYM_CORE_SYMBOL flitgym_core_0123456789ab\n"
    )
    (tmp_path / "ends.cpp").write_text(
        "#include <cstdlib>\n__attribute__((constructor)) static void ends() { std::abort(); }\n"
    )
    said = refused(environment, built(environment, tmp_path, "ends.cpp"))
    own = environment.ask("from flitgym.simcore._core import core_described; print(core_described())")
    assert "was built against flitgym 9.9.9+other (headers 0123456789ab, " in said
    assert f"but this is {own}; rebuild it" in said
    assert "FLITGYM_PLUGINS=none" in said


def built(environment: Environment, folder: Path, source: str) -> Path:
    """A library built by hand with the flags of flitgym_add_plugin(), without optimisation."""
    cmake, include = (
        environment.ask(f"from flitgym import plugins; print(plugins.{name}())")
        for name in ("get_cmake_dir", "get_include")
    )
    path = (folder / source).with_suffix(".so")
    core = f"{cmake}/../simcore/libflitgym_core.so"
    flags = ["-std=c++20", "-fPIC", "-shared", "-O0", f"-I{folder}", f"-I{include}"]
    subprocess.run(
        [os.environ.get("CXX", "c++"), *flags, f"{cmake}/plugin_mark.cpp", str(folder / source), core, "-o", str(path)],
        check=True,
    )
    return path
