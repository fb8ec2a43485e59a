"""`flitgym.train`, `.evaluate`, `.saturate` and `.reproduce`: the results of the verbs from Python."""

import shutil
from pathlib import Path

import flitgym
import pytest
from flitgym.experiments import reproduce
from flitgym.experiments.comparison import places
from hydra.core.hydra_config import HydraConfig

WINDOWS = ("topology=dragonfly_72", "run.warmup_ns=500", "run.measure_ns=1000")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_evaluate_returns_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    loads = {"traffic.load": [0.1, 0.2]}
    Path("results/evaluation").mkdir(parents=True)
    Path("results/evaluation/own.csv").write_text("a,b\n")  # a file of the user
    rows = flitgym.evaluate(*WINDOWS, routing=["minimal", "par"], traffic="uniform", seed=1, **loads, workers=1)
    latency = {(row["policy"], row["load"]): row["mean"] for row in rows if row["metric"] == "latency_mean_ns"}
    assert sorted(latency) == [("minimal", 0.1), ("minimal", 0.2), ("par", 0.1), ("par", 0.2)]
    alone = flitgym.simulate(*WINDOWS, routing="minimal", **{"traffic.load": 0.1})
    assert latency["minimal", 0.1] == pytest.approx(alone["packet_latency_mean_ns"])
    assert capsys.readouterr().out == ""
    assert not HydraConfig.initialized()


def test_saturate_returns_the_table() -> None:
    words = ("run.warmup_ns=2000", "run.measure_ns=2000", "precision=0.2")
    rows = flitgym.saturate(*words, topology="dragonfly_72", routing="minimal", traffic="adversarial", seed=1)
    assert {(row["policy"], row["pattern"], row["seeds"]) for row in rows} == {("minimal", "adversarial", 1)}
    with pytest.raises(flitgym.ConfigError, match="searches for the load"):
        flitgym.saturate("traffic.load=0.3")


def test_train_returns_the_policy(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    words = ("agent=dqn", "agent.networks=2", "agent.run_ns=500", "evaluation.every=0", "evaluation.baselines=[]")
    policy = flitgym.train(*words, topology="dragonfly_72", rounds=1, seed=3)
    assert policy.parent.parent == Path("results") / "training"
    assert flitgym.train(*words, topology="dragonfly_72", rounds=1, seed=3) == policy
    run = flitgym.simulate(*WINDOWS, f"routing={policy}", "traffic.load=0.1")
    assert run["packets_delivered"] > 0


@pytest.mark.deep
def test_reproduce_returns_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "figures" / "first_look"
    shutil.copytree(places.FIGURES / "first_look", folder)
    config = (folder / "config.yaml").read_text()
    config = config.replace("[run.warmup_ns=20000, run.measure_ns=20000]", "[run.warmup_ns=500, run.measure_ns=1000]")
    (folder / "config.yaml").write_text(config.replace("seed: [1, 2, 3]", "seed: [1]"))
    monkeypatch.setattr(reproduce, "FIGURES", folder.parent)
    rows = flitgym.reproduce("first_look", workers=2)
    assert len(rows) == 39
    assert Path("results/first_look_quick/first_look.png").is_file()
    with pytest.raises(flitgym.ConfigError, match="unknown key 'prest'; did you mean 'preset'"):
        flitgym.reproduce("first_look", prest="quick")
    with pytest.raises(flitgym.CommandError, match="did you mean 'first_look'"):
        flitgym.reproduce("first_lok")
