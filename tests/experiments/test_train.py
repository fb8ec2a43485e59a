"""`flitgym train`: its files, its errors, trackers, and trainings that are interrupted, damaged or diverge."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flitgym.agents import dqn, policy_search, ppo
from flitgym.agents.learning.divergence import DivergedError, require_finite
from flitgym.configs import explain
from flitgym.configs.training import training_hash
from flitgym.env import World
from flitgym.experiments.running.locks import LOCK_FILE, sole_owner
from flitgym.experiments.terminal.commandline import CommandError
from flitgym.experiments.training.checkpoints import Checkpoint, load_checkpoint, save_checkpoint
from flitgym.experiments.training.tracking import JsonLines, read_progress, tracker
from flitgym.simcore import ConfigError, CoreError, __version__
from flitgym.simcore._policy_file import load_policy
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException
from training_scenes import COMPARED, OWN, SMALL, composed, quick

SMALL_TOPOLOGY = {"name": "dragonfly", "terminals_per_router": 1, "routers_per_group": 2, "global_ports": 1}
SMALL_WORLD = World({"topology": {**SMALL_TOPOLOGY, "groups": 3}, "traffic": {"name": "uniform", "load": 0.4}})


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "flitgym", "train", *words]


def train(cwd: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), cwd=cwd, capture_output=True, text=True, check=False, timeout=300, **options)


def only_run(cwd: Path) -> Path:
    (run,) = [path for path in (cwd / "results" / "training").iterdir() if path.is_dir()]
    return run


def rows_without_time(run: Path) -> list[dict[str, float]]:
    rows = read_progress(run / "progress.jsonl")
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def raising(last: int, error: type[BaseException] = KeyboardInterrupt) -> Callable[[int], None]:
    """An `after_round` that interrupts the training after a round."""

    def after_round(done: int) -> None:
        if done == last:
            raise error

    return after_round


def begun(cwd: Path, rounds: int, *words: str) -> "subprocess.Popen[str]":
    """A training in another process that has finished some rounds."""
    process = subprocess.Popen(command(*words), cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and not any(
        len(read_progress(log)) >= rounds for log in cwd.glob("results/training/*/progress.jsonl")
    ):
        time.sleep(0.005)
    return process


# --- Results -----------------------------------------------------------------------------------------------------


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
    card = (run / "card.md").read_text()
    assert metadata["trained_by"] in card
    assert f"load 0.2: mean latency in ns: policy {result['last']['latency_ns@0.2']:,.0f}, ugal_l " in card
    # The policy runs in the core, with the command that the summary names.
    simulate = [sys.executable, "-m", "flitgym", "simulate", "topology=dragonfly_72", "routing=policy",
                f"routing.path={run / 'policy.safetensors'}", "run.warmup_ns=1000", "run.measure_ns=2000"]  # fmt: skip
    used = subprocess.run(simulate, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert used.returncode == 0, used.stderr
    assert "accepted" in used.stdout


def test_other_seed_other_policy(tmp_path: Path):
    for seed in ("1", "2"):
        quick(tmp_path / seed, "rounds=3", f"seed={seed}")
    first, second = ((tmp_path / seed / "policy.safetensors").read_bytes() for seed in ("1", "2"))
    assert first != second


def test_a_training_at_the_source_makes_a_policy_of_the_source(tmp_path: Path):
    quick(tmp_path, "rounds=3", "agent.decisions=source", "agent.observation=progress+queues+returned")
    _, metadata = load_policy(tmp_path / "policy.safetensors")
    assert metadata["decisions"] == "source"
    assert training_hash(composed("seed=1")) != training_hash(composed("seed=1", "agent.decisions=source"))


def test_jobs_of_a_goal_file_are_a_world(tmp_path: Path):
    goal = Path(__file__).parents[1] / "data" / "goal" / "ring_any_source.goal"
    ranks = int(goal.read_text().split("num_ranks", 1)[1].split()[0])
    words = [f"topology.terminals_per_router={-(-ranks // 6)}", "workload=goal", f"workload.file={goal}", "vary=null",
             "evaluation.every=1", "evaluation.seeds=[1]", "agent.run_ns=20000", "rounds=2"]  # fmt: skip
    assert quick(tmp_path, *words)["last"]["comm_time_ns@ring_any_source"] > 0


def test_a_finished_training_is_only_read(tmp_path: Path):
    first = quick(tmp_path, "rounds=2")
    stamps = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert quick(tmp_path, "rounds=2") == first
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == stamps


def test_another_comparison_of_a_finished_training_measures_its_policy_again(tmp_path: Path):
    words = ["rounds=2", *COMPARED, "evaluation.baselines=[minimal]"]
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


# --- Errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["agent.observation=queue"], "did you mean 'queues'"),
        (["rounds=0"], "rounds: 0"),
        (["device=cuda:7"], "cuda:7"),
        (["vary={trafic.load: [0.1]}"], "trafic"),
        (["agent.learning_rate=nan"], "agent.learning_rate: nan"),
        (["evaluation.every=1", "evaluation.seeds=[]"], "evaluation.seeds"),
        (["evaluation.every=1", "evaluation.baselines=[omni_war]"], "omni_war"),
    ],
)
def test_wrong_arguments_stop_before_the_first_round(tmp_path: Path, words: list[str], said: str):
    rounds: list[int] = []
    with pytest.raises((ConfigError, HydraException, OmegaConfBaseException)) as caught:
        quick(tmp_path / "run", "rounds=2", *words, after_round=rounds.append)
    assert said in explain(caught.value)
    assert rounds == []
    assert not (tmp_path / "run" / "policy.safetensors").exists()


def test_a_training_without_decisions_is_an_error(tmp_path: Path):
    with pytest.raises(CoreError, match="nothing was learned"):
        quick(tmp_path, "rounds=2", "vary={traffic.load: [0.0]}")
    assert not (tmp_path / "policy.safetensors").exists()


def test_divergence_names_the_first_quantity_and_keeps_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    learn = dqn.Agent.update

    def explode(self: dqn.Agent, batch: dict[str, torch.Tensor]) -> float:
        if self.round >= 2:
            batch = {**batch, "reward": batch["reward"] * float("inf")}
        return learn(self, batch)

    monkeypatch.setattr(dqn.Agent, "update", explode)
    with pytest.raises(CoreError, match=r"diverged in round 3: the reward is not finite; .*agent\.reward"):
        quick(tmp_path, "rounds=5", "checkpoint_every=1")
    monkeypatch.undo()
    assert load_checkpoint(tmp_path / "checkpoint.pt", training_hash(composed("rounds=5"))).rounds == 2


def test_a_gradient_without_bound_is_named_though_the_loss_is_finite():
    with pytest.raises(DivergedError, match="the gradient"):
        require_finite(torch.tensor(1.0), torch.tensor(float("inf")), goal=torch.ones(2))
    assert require_finite(torch.tensor(1.0), torch.tensor(5.0), goal=torch.ones(2)) == 1.0


# --- Trackers ----------------------------------------------------------------------------------------------------


def test_missing_tracker_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.setitem(sys.modules, "wandb", None)
    log = tracker(tmp_path, "wandb", {})
    log.log({"loss": 1.0}, 1)
    log.close()
    assert "pip install 'flitgym[wandb]'" in capsys.readouterr().err


@pytest.mark.deep
def test_tensorboard_gets_the_metrics(tmp_path: Path):
    quick(tmp_path, "rounds=2", "track.to=tensorboard")
    assert list(tmp_path.glob("tensorboard/events.*"))


@pytest.mark.deep
def test_no_offline_part_of_a_training_replaces_another_in_wandb(tmp_path: Path):
    words = ["rounds=4", "checkpoint_every=2", "track.to=wandb"]
    for last in (1, 3):  # before the first checkpoint, and between two checkpoints
        with pytest.raises(RuntimeError):
            quick(tmp_path, *words, after_round=raising(last, RuntimeError))
    quick(tmp_path, *words)
    # The server keeps the last file of each id. The second attempt replaces the first one.
    own = (tmp_path / "wandb_id.txt").read_text()
    ids = sorted(path.stem.removeprefix("run-") for path in tmp_path.glob("wandb/offline-run-*/run-*.wandb"))
    assert ids == [own, own, f"{own}-2"]


# --- Interruptions -----------------------------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize("agent", ["dqn", "ppo"])
def test_a_killed_training_resumes_to_the_same_result(tmp_path: Path, agent: str):
    words = [*SMALL, *OWN[agent], "rounds=24", "checkpoint_every=5"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    killed.mkdir()
    quick(whole, "rounds=24", "checkpoint_every=5", agent=agent, words=words)
    process = begun(killed, 7, *words)
    process.send_signal(signal.SIGKILL)
    process.communicate()
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

    words = ["rounds=4", "checkpoint_every=100"]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    quick(whole, *words, agent="policy_search")
    rounds: list[int] = []
    monkeypatch.setattr(policy_search.Agent, "_play", stuck)
    with pytest.raises(KeyboardInterrupt, match="round 2 is saved, start again to continue"):
        quick(stopped, *words, agent="policy_search", after_round=rounds.append)
    monkeypatch.undo()
    assert rounds == [1, 2]
    quick(stopped, *words, agent="policy_search", after_round=rounds.append)
    assert rounds == [1, 2, 3, 4]
    assert (stopped / "policy.safetensors").read_bytes() == (whole / "policy.safetensors").read_bytes()
    assert rows_without_time(stopped) == rows_without_time(whole)


def test_progress_is_aligned_with_the_checkpoint(tmp_path: Path):
    path = tmp_path / "progress.jsonl"
    path.write_text('{"round": 1}\n{"ro')
    assert read_progress(path) == [{"round": 1}]
    log = JsonLines(path, ['{"round": 1}', '{"round": 2}'])
    log.log({"loss": 0.5, "reward": float("nan")}, 3)
    log.close()
    assert read_progress(path) == [{"round": 1}, {"round": 2}, {"round": 3, "loss": 0.5, "reward": None}]


@pytest.mark.parametrize("damage", ["cut", "changed", "pickle"])
def test_a_damaged_checkpoint_is_refused_and_kept(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(path, Checkpoint({"weights": torch.arange(1000)}, 1, 1.0, ""), "abc")
    whole = path.read_bytes()

    class Evil:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "owned",))

    if damage == "pickle":
        torch.save({"format": 2, "training": "abc", "state": Evil()}, path)
    else:
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + (bytes([whole[middle] ^ 1]) + whole[middle + 1 :]) * (damage == "changed"))
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="damaged"):
        load_checkpoint(path, "abc")
    assert path.read_bytes() == before
    assert not (tmp_path / "owned").exists()


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "c.pt", Checkpoint({"x": 1}, 1, 0.5, "{}"), "abc")
    assert load_checkpoint(tmp_path / "c.pt", "abc") == Checkpoint({"x": 1}, 1, 0.5, "{}")
    with pytest.raises(ConfigError, match="another training"):
        load_checkpoint(tmp_path / "c.pt", "abd")


def test_a_second_process_is_refused_with_the_owner_named(tmp_path: Path) -> None:
    with sole_owner(tmp_path), pytest.raises(CommandError, match=rf"process {os.getpid()} on .* since .*; wait for"):
        quick(tmp_path, "rounds=2")
    assert not (tmp_path / "progress.jsonl").exists()
    # The operating system releases the lock when its process ends. A remaining file has no effect.
    (tmp_path / LOCK_FILE).write_text("{}")
    assert quick(tmp_path, "rounds=2")["rounds"] == 2
    assert not (tmp_path / LOCK_FILE).exists()
