"""`flitgym-train`: an agent learns on a world, with checkpoints, metrics and baselines. `--help` lists the choices."""

import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import hydra
import numpy as np
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from ..agents import trainable
from ..configs import CONFIG_DIR
from ..configs.training import register_training, training_hash, variation, world_sections
from ..env.world import World
from ..simcore import ConfigError, CoreError, __version__
from .checkpoints import CHECKPOINT_FILE, load_checkpoint, save_checkpoint
from .commandline import EXIT_BAD_CONFIG, run_command
from .learning_curve import draw_learning_curve
from .results import write_json
from .tracking import PROGRESS_FILE, read_progress, trackers
from .train_progress import Stop, TrainProgress
from .while_training import COMPARED, Comparison

POLICY_FILE = "policy.safetensors"
RESULT_FILE = "training.json"


@hydra.main(config_path=str(CONFIG_DIR), config_name="train", version_base="1.3")
def app(config: DictConfig) -> None:
    """Train in Hydra's run directory."""
    directory = Path(HydraConfig.get().runtime.output_dir)
    try:
        result = train(config, directory)
    except BaseException:
        with suppress(OSError):
            directory.rmdir()  # unless there is something in it
        raise
    print(summary(result, directory), flush=True)


def train(
    config: DictConfig, directory: Path, after_round: Callable[[int], None] = lambda done: None
) -> dict[str, Any]:
    """Train, or go on from the checkpoint in `directory`, and export the policy.

    Args:
        config: The resolved configuration, as `configs/train.yaml` has it.
        directory: For checkpoint, metrics, figure, policy and result.
        after_round: Called with the number of rounds done.

    Returns:
        The result, as in `training.json`.

    Raises:
        ConfigError: the configuration cannot be trained, or the checkpoint is damaged.
        OSError: a file cannot be written; the last checkpoint stays good.
    """
    import torch

    _check(config)
    torch.set_num_threads(config.threads)
    device = ("cuda" if torch.cuda.is_available() else "cpu") if config.device == "auto" else config.device
    hyperparameters, agent_class = trainable()[config.agent.name]
    settings = hyperparameters(**_plain(config.agent))
    sections = world_sections(config)
    identity = training_hash(config)
    try:
        agent = agent_class(
            settings, World(sections, variation(config)), rounds=config.rounds, seed=config.seed, device=device
        )
    except (RuntimeError, AssertionError) as error:
        if device == "cpu":
            raise
        raise ConfigError(f"device: torch cannot use '{device}' ({str(error).strip().splitlines()[0]})") from error

    done, seconds = 0, 0.0
    checkpoint = directory / CHECKPOINT_FILE
    if checkpoint.exists() and not config.overwrite:
        done, seconds = _go_on(agent, checkpoint, identity)

    comparison = Comparison(config.evaluation, sections, agent.routing(settings), directory)
    left = config.rounds - done
    track = config.track
    logs = trackers(directory, track.to, _plain(config), done, track.project, track.online) if left else []
    began = time.monotonic() - seconds
    try:
        with (
            TrainProgress(f"{config.agent.name} on {config.topology.name}", config.rounds, done) as progress,
            Stop() as stop,
        ):
            comparison.prepare(progress.say)
            while done < config.rounds:
                metrics = agent.train_round()
                _require_finite(agent.policy(), done, checkpoint)
                done += 1
                if comparison.due(done, config.rounds):
                    progress.say("comparing with the baselines")
                    metrics |= comparison.of(agent.policy())
                seconds = metrics["seconds"] = time.monotonic() - began
                for log in logs:
                    log.log(metrics, done)
                if done % config.checkpoint_every == 0 or done == config.rounds or stop.asked:
                    save_checkpoint(checkpoint, {"agent": agent.state(), "rounds": done, "seconds": seconds}, identity)
                progress.update(done, metrics)
                after_round(done)
                if stop.asked and done < config.rounds:
                    raise KeyboardInterrupt(f"round {done} is saved, start again to go on")
        policy = agent.policy()
    finally:
        for log in logs:
            log.close()
        if hasattr(agent, "close"):
            agent.close()
    return _finish(config, directory, policy, {**agent.routing(settings)}, comparison, identity, seconds)


def _go_on(agent: Any, checkpoint: Path, identity: str) -> tuple[int, float]:
    state = load_checkpoint(checkpoint, identity)
    try:
        agent.load_state(state["agent"])
        return int(state["rounds"]), float(state["seconds"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        what = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise ConfigError(f"{checkpoint} is damaged ({what}); remove it or start with overwrite=true") from error


def _require_finite(layers: Any, done: int, checkpoint: Path) -> None:
    if all(np.isfinite(weight).all() and np.isfinite(bias).all() for weight, bias in layers):
        return
    kept = f"the last checkpoint is good ({checkpoint}), but leads here again; " if checkpoint.exists() else ""
    raise CoreError(
        f"the training diverged in round {done + 1}: a weight is not finite; {kept}take a smaller agent.learning_rate"
    )


def _finish(
    config: DictConfig,
    directory: Path,
    policy: Any,
    routing: Mapping[str, Any],
    comparison: Comparison,
    identity: str,
    seconds: float,
) -> dict[str, Any]:
    from ..agents.policy_file import save_policy

    rows = read_progress(directory / PROGRESS_FILE)
    if all(row.get("loss") is None for row in rows):
        raise CoreError(
            "nothing was learned: no decision was ever paid; is the load 0, do all packets have one way, or is "
            "agent.run_ns * agent.record_part too small?"
        )
    save_policy(
        directory / POLICY_FILE,
        policy,
        network=routing["network"],
        slots=routing["slots"],
        observation=routing["observation"],
        topology=config.topology.name,
    )
    result = {
        "agent": config.agent.name,
        "rounds": config.rounds,
        "decisions": rows[-1].get("decisions") if rows else None,
        "wall_seconds": seconds,
        "policy": POLICY_FILE,
        "last": rows[-1] if rows else {},
        "baselines": comparison.baselines,
        "training_hash": identity,
        "version": __version__,
        "config": _plain(config),
    }
    write_json(directory / RESULT_FILE, result)
    if rows:
        draw_learning_curve(rows, comparison.baselines, directory / "training", str(config.agent.name))
    return result


def summary(result: Mapping[str, Any], directory: Path) -> str:
    """What a training came to, for the terminal."""
    shown = directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory
    made = f"{result['rounds']} rounds, {result['decisions'] or 0:,.0f} decisions, {result['wall_seconds']:.0f} s"
    lines = [f"{shown / POLICY_FILE}: {made}"]
    baselines, last = result["baselines"], result["last"]
    for key in (key for key in last if key.startswith(COMPARED)):
        what, label = key.rsplit("@", 1)
        parts = [f"{name} {_ns(values[key])}" for name, values in {"policy": last, **baselines}.items()]
        title = f"load {label}: mean latency" if what == "latency_ns" else f"{label}: mean communication time"
        lines.append(f"  {title} in ns: " + ", ".join(parts))
    lines.append(f"use it: flitgym-simulate topology=... routing=policy routing.path={shown / POLICY_FILE}")
    return "\n".join(lines)


def _ns(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _check(config: DictConfig) -> None:
    for key in ("rounds", "threads", "checkpoint_every"):
        if config[key] < 1:
            raise ConfigError(f"{key}: {config[key]} is less than 1")
    if config.seed < 0:
        raise ConfigError(f"seed: {config.seed} is negative")
    evaluation = config.evaluation
    if evaluation.every < 0:
        raise ConfigError(f"evaluation.every: {evaluation.every} is negative; 0 = never")
    for key in ("warmup_ns", "baseline_warmup_ns", "measure_ns", "workload_max_ns"):
        least = 0 if key.endswith("warmup_ns") else 1
        if not (math.isfinite(evaluation[key]) and evaluation[key] >= least):
            raise ConfigError(f"evaluation.{key}: {evaluation[key]} ns; it must be {least} or more")
    for key in ("loads", "seeds"):
        if evaluation.every and not evaluation[key]:
            raise ConfigError(f"evaluation.{key}: there are none; evaluation.every=0 compares with nothing")


def _plain(node: DictConfig) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(node, resolve=True, throw_on_missing=True)
    return dict(json.loads(json.dumps(plain)))


def main() -> None:
    """Entry point of the command."""
    try:
        register_training(trainable())
    except ConfigError as error:
        print(f"flitgym-train: {error}", file=sys.stderr)
        sys.exit(EXIT_BAD_CONFIG)
    sys.exit(run_command("flitgym-train", app))


if __name__ == "__main__":
    main()
