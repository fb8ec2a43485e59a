"""Wrong keys of `evaluate`, `saturate` and `benchmark`: one message, before anything runs."""

from pathlib import Path

import pytest
from conftest import Command
from flitgym.configs.composition import compose_root
from flitgym.experiments.benchmarks.study import Benchmark
from flitgym.experiments.evaluation.performance import Performance
from flitgym.experiments.evaluation.regret import Regret
from flitgym.experiments.evaluation.study import Measure, Study, conduct
from flitgym.experiments.results.files import DamagedError
from flitgym.experiments.saturation.study import Saturation
from flitgym.experiments.terminal.commandline import CommandError
from flitgym.simcore import ConfigError

MEASURES: dict[str, type[Measure]] = {
    "evaluate": Performance,
    "evaluate measure=regret": Regret,
    "saturate": Saturation,
    "benchmark suite=quick": Benchmark,
}
ANY = "evaluate"


@pytest.mark.parametrize(
    ("command_line", "argument", "parts"),
    [
        (ANY, "routings=[minimall]", ["routing", "did you mean 'minimal'?"]),
        (ANY, "routings=[minimal,minimal]", ["routing", "'minimal' occurs twice", "name"]),
        (ANY, "routings=[gone/policy.safetensors]", ["gone/policy.safetensors", "no such file"]),
        (ANY, "routings=[{routing: par, params: {treshold: 1}}]", ["par", "did you mean 'threshold'?"]),
        (ANY, "routings=[{routing: q_adaptive, params: {load_q_table: gone.npz}}]", ["gone.npz"]),
        (ANY, "routings=[{routing: par, params: {seed: 1}}]", ["seed=1,2"]),
        (ANY, "patterns=[]", ["traffic=uniform", "workload=pair"]),
        (ANY, "traffic.load=0.1", ["write traffic.load=0.1,0.3"]),
        (ANY, "seeds=[1,2,1]", ["seeds", "'1' occurs twice"]),
        (ANY, "reference=par", ["reference", "'par'", "ugal_l"]),
        (ANY, "confidence=95", ["confidence", "95"]),
        ("evaluate measure=regret", "regret.horizon_ns=0", ["horizon_ns: 0"]),
        ("evaluate measure=regret", "regret.candidates=pairs", ["candidates", "did you mean 'pair'?"]),
        ("evaluate measure=regret", "workloads=[pair]", ["workload", "leave the workload out"]),
        ("saturate", "networks=[hyperx_64,hyperx_64]", ["networks: 'hyperx_64' occurs twice"]),
        ("saturate", "precision=0", ["precision: 0"]),
        ("saturate", "max_ns=0", ["max_ns"]),
        ("benchmark suite=quick", "suite=quick-v99", ["unknown version 'quick-v99'"]),
        ("benchmark suite=quick", "suite=gone.yaml", ["gone.yaml", "no such file"]),
        ("benchmark suite=quick", "tasks=[torus_4x4x4/unifrom/0.4]", ["did you mean 'torus_4x4x4/uniform/0.4'?"]),
        ("benchmark suite=quick", "routings=[{name: par, routing: minimal}]", ["'par' is a baseline of quick-v2"]),
        pytest.param("benchmark suite=quick", "record=Makefile", ["Makefile", "columns"], marks=pytest.mark.deep),
    ],
)
def test_a_bad_value_is_refused_in_one_message(
    tmp_path: Path, command_line: str, argument: str, parts: list[str]
) -> None:
    verb, *words = command_line.split()
    common = ["router=hpdc21"] if verb == "saturate" else []
    with pytest.raises((ConfigError, CommandError, DamagedError)) as failure:
        conduct(MEASURES[command_line], compose_root(verb, [*words, argument]), Study(tmp_path, common, "flitgym"))
    for part in parts:
        assert part in str(failure.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("evaluate routngs=[par]", "did you mean 'routing'?"),
        ("evaluate measure=latency", "valid measures: performance, regret"),
        ("evaluate congestion_control=dctcp,swift", "a study has one option of congestion_control"),
        ("evaluate -m", "-m: an evaluation takes lists without it; leave it out"),
        ("saturate traffic.load=0.2", "traffic.load=0.2: the command searches for the load"),
        ("saturate run.precision=0.01", "run.precision=0.01: has no effect here"),
        ("benchmark suit=quick", "did you mean 'suite'?"),
        ("benchmark routing=minimal", "name a suite: suite="),
    ],
)
def test_a_wrong_word_stops_before_anything_runs(command: Command, tmp_path: Path, words: str, part: str) -> None:
    done = command(*words.split())
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"flitgym {words.split()[0]}: ")
    assert "Traceback" not in done.stderr
    assert part in done.stderr
    assert not list(tmp_path.glob("results/*"))
