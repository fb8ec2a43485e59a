import json
import os
import shlex
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flitgym.agents import dqn, policy_search, ppo, trainable
from flitgym.agents.learning.divergence import DivergedError, require_finite
from flitgym.agents.policy.file import load_policy
from flitgym.configs import CONFIG_DIR, explain
from flitgym.configs.training import register_training, training_hash
from flitgym.env import World
from flitgym.experiments.train import train as run_training
from flitgym.experiments.training.tracking import read_progress, trackers
from flitgym.simcore import ConfigError, CoreError, __version__
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException
from training_scenes import OWN, SMALL, composed

SMALL_WORLD = World(
    {
        "topology": {
            "name": "dragonfly",
            "terminals_per_router": 1,
            "routers_per_group": 2,
            "global_ports": 1,
            "groups": 3,
        },
        "traffic": {"name": "uniform", "load": 0.4},
    }
)


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "flitgym", "train", *words]


def train(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), cwd=cwd, capture_output=True, text=True, check=False, timeout=300)


def only_run(cwd: Path) -> Path:
    (run,) = [path for path in (cwd / "results" / "training").iterdir() if path.is_dir()]
    return run


def rows_without_time(run: Path) -> list[dict[str, float]]:
    return [
        {key: value for key, value in row.items() if key != "seconds"} for row in read_progress(run / "progress.jsonl")
    ]


def compose_and_train(words: list[str], directory: Path, rounds: list[int]) -> None:
    register_training(trainable())
    with initialize_config_dir(str(CONFIG_DIR), version_base="1.3"):
        config = hydra_compose("train", overrides=words)
    run_training(config, directory, rounds.append, words=words)


@pytest.mark.deep
@pytest.mark.parametrize("agent", ["dqn", "ppo"])
def test_a_killed_training_resumes_to_the_same_result(tmp_path: Path, agent: str):
    words = [*SMALL, *OWN[agent], "rounds=24", "checkpoint_every=5"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir(), killed.mkdir()
    compose_and_train(words, whole, [])

    process = subprocess.Popen(command(*words), cwd=killed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline:
        logs = list(killed.glob("results/training/*/progress.jsonl"))
        if logs and len(read_progress(logs[0])) >= 7:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    run = only_run(killed)
    # The training was killed before its end; otherwise the test checks nothing.
    assert 7 <= len(read_progress(run / "progress.jsonl")) < 24
    assert not (run / "policy.safetensors").exists()

    again = train(killed, *words)
    assert again.returncode == 0, again.stderr
    assert "continuing after round" in again.stderr
    assert (run / "policy.safetensors").read_bytes() == (whole / "policy.safetensors").read_bytes()
    assert rows_without_time(run) == rows_without_time(whole)
    assert len(rows_without_time(run)) == 24


def test_other_seed_other_policy(tmp_path: Path):
    for seed in ("1", "2"):
        quick(tmp_path / seed, "rounds=3", f"seed={seed}")
    first, second = ((tmp_path / seed / "policy.safetensors").read_bytes() for seed in ("1", "2"))
    assert first != second


def test_writes_policy_result_curve_and_comparison(tmp_path: Path):
    compare = "every=2 loads=[0.2] seeds=[1] warmup_ns=1000 baseline_warmup_ns=1000 measure_ns=2000"
    words = [*SMALL, *OWN["dqn"], "rounds=4", *(f"evaluation.{word}" for word in compare.split())]
    done = train(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    result = json.loads((run / "training.json").read_text())
    assert set(result["baselines"]) == {"ugal_l", "q_adaptive"}
    assert result["torch"] == torch.__version__
    assert result["cpu_capability"]  # both change the policy
    compared = [row["round"] for row in read_progress(run / "progress.jsonl") if "latency_ns@0.2" in row]
    assert compared == [2, 4]
    assert 50 < result["last"]["latency_ns@0.2"] < 5000
    assert (run / "training.png").stat().st_size > 10_000
    layers, metadata = load_policy(run / "policy.safetensors")
    assert metadata["topology"] == "dragonfly"
    # The command repeats the training, without keys that do not affect what is learned.
    learned = sorted((*SMALL[:-3], *OWN["dqn"], "rounds=4", SMALL[-1]), key=lambda word: word.partition("=")[0])
    assert metadata["trained_by"] == shlex.join(["flitgym", "train", *learned])
    assert (metadata["training_hash"], metadata["version"]) == (result["training_hash"], __version__)
    assert [weight.shape[0] for weight, _ in layers] == [32, 32, 1]
    # The policy runs in the core, with the command that the summary names.
    simulate = [sys.executable, "-m", "flitgym", "simulate", "topology=dragonfly_72", "routing=policy",
                f"routing.path={run / 'policy.safetensors'}", "run.warmup_ns=1000", "run.measure_ns=2000"]  # fmt: skip
    used = subprocess.run(simulate, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert used.returncode == 0, used.stderr
    assert "accepted" in used.stdout


def test_a_training_at_the_source_makes_a_policy_of_the_source(tmp_path: Path):
    quick(tmp_path, "rounds=3", "agent.decisions=source", "agent.observation=progress+queues+returned")
    _, metadata = load_policy(tmp_path / "policy.safetensors")
    assert metadata["decisions"] == "source"
    assert training_hash(composed("seed=1")) != training_hash(composed("seed=1", "agent.decisions=source"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["agent=dqqn"], "did you mean 'dqn'"),
        (["agent.learningrate=1"], "did you mean 'learning_rate'"),
        (["agent.observation=queue"], "did you mean 'queues'"),
        (["agent.reward=delay"], "hop_delay"),
        (["agent.network=round"], "flat"),
        (["agent.decisions=sauce"], "did you mean 'source'"),
        (["rounds=0"], "rounds: 0"),
        (["track.to=wandbb"], "did you mean 'wandb'"),
        (["device=cuda:7"], "cuda:7"),
        (["device=gpu"], "device: unknown name 'gpu'; valid names: auto (a GPU if there is one), cpu, cuda,"),
        (["vary={trafic.load: [0.1]}"], "trafic"),
        (["vary=7"], "not a mapping"),
        (["vary={traffic.load: 0.3}"], "takes a list"),
        (["agent.batch=0"], "agent.batch: 0"),
        (["agent.networks=0"], "agent.networks: 0"),
        (["agent.record_part=0"], "agent.record_part: 0"),
        (["agent.learning_rate=nan"], "agent.learning_rate: nan"),
        (["agent.hidden=[0]"], "agent.hidden"),
        (["seed=-2"], "seed: -2"),
        (["evaluation.every=1", "evaluation.seeds=[]"], "evaluation.seeds"),
        (["evaluation.every=1", "evaluation.measure_ns=nan"], "evaluation.measure_ns: nan"),
        (["vary={traffic.load: [7.0]}"], "7"),
        (["evaluation.every=1", "evaluation.baselines=[ugall]"], "did you mean 'ugal_l'"),
        (["evaluation.every=1", "evaluation.baselines=[omni_war]"], "omni_war"),
    ],
)
def test_wrong_arguments_stop_before_the_first_round(tmp_path: Path, words: list[str], said: str):
    register_training(trainable())
    rounds: list[int] = []
    with pytest.raises((ConfigError, HydraException, OmegaConfBaseException)) as caught:
        compose_and_train([*SMALL, "rounds=2", *words], tmp_path / "run", rounds)
    assert said in explain(caught.value)
    assert rounds == []
    assert not (tmp_path / "run" / "policy.safetensors").exists()


def test_missing_tracker_is_named_and_nothing_is_lost(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "wandb", None)
    logs = trackers(tmp_path, "wandb", {})
    logs[0].log({"loss": 1.0, "reward": float("nan")}, 1)
    for log in logs:
        log.close()
    assert "pip install 'flitgym[wandb]'" in capsys.readouterr().err
    assert read_progress(tmp_path / "progress.jsonl") == [{"round": 1, "loss": 1.0, "reward": None}]


@pytest.mark.deep
def test_tensorboard_and_offline_wandb_keep_the_metrics(tmp_path: Path):
    for to in ("tensorboard", "wandb"):
        directory = tmp_path / to
        logs = trackers(directory, to, {"seed": 1})
        assert len(logs) == 2
        for step in range(1, 4):
            for log in logs:
                log.log({"loss": 1.0 / step, "reward": float("nan")}, step)
        for log in logs:
            log.close()
        assert len(read_progress(directory / "progress.jsonl")) == 3
    assert list(tmp_path.glob("tensorboard/tensorboard/events.*"))
    assert list(tmp_path.glob("wandb/wandb/offline-run-*/*.wandb"))


def quick(directory: Path, *words: str, after_round: Callable[[int], None] = lambda done: None) -> dict[str, Any]:
    register_training(trainable())
    with initialize_config_dir(str(CONFIG_DIR), version_base="1.3"):
        config = hydra_compose("train", overrides=[*SMALL, *OWN["dqn"], *words])
    return run_training(config, directory, after_round)


def offline_runs(directory: Path) -> list[dict[str, Any]]:
    """The runs in W&B's offline files, in order of their start: `run`, `steps` (metrics by step) and `artifacts`."""
    from wandb.proto.wandb_internal_pb2 import Record

    runs = []
    for path in sorted(directory.glob("wandb/offline-run-*/*.wandb")):
        data, at, part = path.read_bytes(), 7, b""
        found: dict[str, Any] = {"steps": {}, "artifacts": []}
        while at + 7 <= len(data):  # LevelDB's log: blocks of 32 KiB, records with checksum, length and kind
            at += 32768 - at % 32768 if 32768 - at % 32768 < 7 else 0
            _, length, kind = struct.unpack_from("<IHB", data, at)
            part += data[at + 7 : at + 7 + length]
            at += 7 + length
            if kind in (1, 4):  # whole, or the last piece
                record, part = Record.FromString(part), b""
                match record.WhichOneof("record_type"):
                    case "run":
                        found["run"] = record.run
                    case "history":
                        items = {item.key or item.nested_key[0]: item.value_json for item in record.history.item}
                        found["steps"][record.history.step.num] = items
                    case "artifact":
                        found["artifacts"].append(record.artifact)
        runs.append(found)
    return runs


@pytest.mark.deep
def test_no_offline_part_of_a_training_replaces_another_in_wandb(tmp_path: Path):
    words = ["rounds=4", "checkpoint_every=2", "track.to=wandb", "evaluation.every=4", "evaluation.loads=[0.2]",
             "evaluation.seeds=[1]", "evaluation.baselines=[minimal]", "evaluation.warmup_ns=500",
             "evaluation.baseline_warmup_ns=500", "evaluation.measure_ns=1000", "study=mine"]  # fmt: skip

    def killed_after(last: int) -> Callable[[int], None]:
        def after_round(done: int) -> None:
            if done == last:
                raise RuntimeError("killed")

        return after_round

    for last in (1, 3):  # before the first checkpoint, and between two checkpoints
        with pytest.raises(RuntimeError, match="killed"):
            quick(tmp_path, *words, after_round=killed_after(last))
    result = quick(tmp_path, *words)
    runs = offline_runs(tmp_path)
    # The server keeps the last file of each id.
    own = (tmp_path / "wandb_id.txt").read_text()
    kept = {run["run"].run_id: sorted(run["steps"]) for run in runs}
    assert kept == {own: [1, 2, 3], f"{own}-2": [3, 4]}
    for run in runs:
        assert run["run"].run_group == "mine"
        assert {"dqn", "dragonfly"} <= set(run["run"].tags)
        config = {item.key: item.value_json for item in run["run"].config.update}
        assert json.loads(config["flitgym_version"]) == result["version"]
    line = float(runs[-1]["steps"][4]["latency_ns@0.2/minimal"])
    assert line == pytest.approx(result["baselines"]["minimal"]["latency_ns@0.2"])
    (policy,) = runs[-1]["artifacts"]
    assert (policy.type, [Path(file.local_path) for file in policy.manifest.contents]) == (
        "policy",
        [tmp_path / "policy.safetensors"],
    )


def test_another_comparison_of_a_finished_training_measures_its_policy_again(tmp_path: Path):
    words = ["rounds=2", "evaluation.every=2", "evaluation.seeds=[1]", "evaluation.baselines=[minimal]",
             "evaluation.warmup_ns=500", "evaluation.baseline_warmup_ns=500", "evaluation.measure_ns=1000"]  # fmt: skip
    first = quick(tmp_path, *words, "evaluation.loads=[0.2]")
    trained: list[int] = []
    second = quick(tmp_path, *words, "evaluation.loads=[0.3]", after_round=trained.append)
    assert trained == []
    assert {key for key in first["last"] if "@" in key} == {"latency_ns@0.2", "accepted_load@0.2"}
    assert {key for key in second["last"] if "@" in key} == {"latency_ns@0.3", "accepted_load@0.3"}
    assert second["objective"] == second["last"]["latency_ns@0.3"] / second["baselines"]["minimal"]["latency_ns@0.3"]
    assert second["last"]["reward"] == first["last"]["reward"]
    assert read_progress(tmp_path / "progress.jsonl")[-1] == second["last"]
    assert quick(tmp_path, *words, "evaluation.loads=[0.3]") == second


def explode(self: dqn.Agent, batch: dict[str, torch.Tensor]) -> float:
    if self.round >= 2:
        batch = {**batch, "reward": batch["reward"] * float("inf")}
    return learn(self, batch)


learn = dqn.Agent.update


def test_divergence_names_the_first_quantity_and_keeps_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dqn.Agent, "update", explode)
    with pytest.raises(CoreError, match=r"diverged in round 3: the reward is not finite; .*agent\.reward"):
        quick(tmp_path, "rounds=5", "checkpoint_every=1")
    monkeypatch.undo()
    # Resuming would diverge again, so the error comes before the first round.
    rounds: list[int] = []
    with pytest.raises(CoreError, match=r"diverged in round 3: the reward.*overwrite=true"):
        quick(tmp_path, "rounds=5", "checkpoint_every=1", after_round=rounds.append)
    assert rounds == []
    assert quick(tmp_path, "rounds=5", "checkpoint_every=1", "overwrite=true")["rounds"] == 5
    assert [row["round"] for row in read_progress(tmp_path / "progress.jsonl")] == [1, 2, 3, 4, 5]
    assert not (tmp_path / "diverged.json").exists()


def test_a_gradient_without_bound_is_named_though_the_loss_is_finite():
    with pytest.raises(DivergedError, match="the gradient"):
        require_finite(torch.tensor(1.0), torch.tensor(float("inf")), goal=torch.ones(2))
    assert require_finite(torch.tensor(1.0), torch.tensor(5.0), goal=torch.ones(2)) == 1.0


def test_ppo_learns_from_any_number_of_rows(monkeypatch: pytest.MonkeyPatch):
    # Two rows make minibatches of one row, and 17 leave one row over: one row has no standard deviation.
    learner = ppo.Agent(ppo.Config(networks=1, record_part=1.0, minibatch=16, epochs=1), SMALL_WORLD, rounds=9, seed=1)
    learner.rollouts.run(6000, learner.policy(), temperature=1.0)
    batch = learner.rollouts.take()
    for count in (2, 16, 17, 33):
        assert len(batch["action"]) >= count
        few = {name: column[:count] for name, column in batch.items()}
        monkeypatch.setattr(learner.rollouts, "take", lambda few=few: few)
        assert np.isfinite(learner.train_round()["loss"])
        assert all(np.isfinite(weight).all() and np.isfinite(bias).all() for weight, bias in learner.policy())


def test_a_training_without_decisions_is_an_error(tmp_path: Path):
    with pytest.raises(CoreError, match="nothing was learned"):
        quick(tmp_path, "rounds=2", "vary={traffic.load: [0.0]}")
    assert not (tmp_path / "policy.safetensors").exists()


@pytest.mark.deep
def test_ctrl_c_saves_the_round(tmp_path: Path):
    words = [*SMALL, *OWN["dqn"], "rounds=5000", "checkpoint_every=5000"]
    process = subprocess.Popen(
        command(*words), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and not any(
        len(read_progress(log)) > 3 for log in tmp_path.glob("results/training/*/progress.jsonl")
    ):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "is saved, start again to continue" in said
    rounds = len(read_progress(only_run(tmp_path) / "progress.jsonl"))
    assert f"round {rounds} is saved" in said
    assert (only_run(tmp_path) / "checkpoint.pt").exists()


@pytest.mark.deep
def test_ctrl_c_abandons_a_long_round_and_saves_the_previous_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    play = policy_search.Agent._play

    begun: list[int] = []

    def stuck(self: policy_search.Agent, logs: torch.Tensor, k: int) -> tuple[float, int]:
        if self.round == 2 and not begun:
            begun.append(k)
            os.kill(os.getpid(), signal.SIGINT)  # only once: a second signal ends the process at once
        while self.round == 2:  # simulates a long round that polls for interrupts
            time.sleep(0.05)
            self._check_abandoned()
        return play(self, logs, k)

    words = ["rounds=4", "checkpoint_every=100", "agent.population=3", "agent.elite=1", "agent.episode_ns=2000"]
    words = [*SMALL[:5], *SMALL[-3:], "agent=policy_search", *words]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    compose_and_train(words, whole, [])
    rounds: list[int] = []
    monkeypatch.setattr(policy_search.Agent, "_play", stuck)
    with pytest.raises(KeyboardInterrupt, match="round 2 is saved, start again to continue"):
        compose_and_train(words, stopped, rounds)
    monkeypatch.undo()
    assert rounds == [1, 2]
    compose_and_train(words, stopped, rounds)
    assert rounds == [1, 2, 3, 4]
    assert (stopped / "policy.safetensors").read_bytes() == (whole / "policy.safetensors").read_bytes()
    assert rows_without_time(stopped) == rows_without_time(whole)


def test_jobs_of_a_goal_file_are_a_world(tmp_path: Path):
    goal = Path(__file__).parents[1] / "data" / "goal" / "ring_any_source.goal"
    ranks = int(goal.read_text().split("num_ranks", 1)[1].split()[0])
    words = [f"topology.terminals_per_router={-(-ranks // 6)}", "workload=goal", f"workload.file={goal}", "vary=null",
             "evaluation.every=1", "evaluation.seeds=[1]", "agent.run_ns=20000", "rounds=2"]  # fmt: skip
    numbers = quick(tmp_path, *words)["last"]
    assert numbers["comm_time_ns@ring_any_source"] > 0
