"""Executes one training from a resolved configuration to its policy, with checkpoints, metrics and baselines."""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig, OmegaConf

from ...agents import plugin_of, trainable
from ...agents.learning.abandonment import RoundAbandonedError
from ...agents.learning.divergence import DivergedError
from ...configs import unknown
from ...configs.training import mixture, training_hash, variation, world_sections
from ...env.experience.world import Mixture, World
from ...simcore import ConfigError, CoreError, __version__
from ...simcore.plugins import mentioned, versions
from ..results.files import write_json
from ..running.locks import sole_owner
from .checkpoints import CHECKPOINT_FILE, Checkpoint, damaged, load_checkpoint, save_checkpoint
from .comparison import Comparison
from .progress import Stop, TrainProgress
from .result import finish, finished
from .tracking import CHOICES, JsonLines, parsed, trackers

DIVERGED_FILE = "diverged.json"


def train(
    config: DictConfig,
    directory: Path,
    after_round: Callable[[int], None] = lambda done: None,
    alone: bool = True,
    words: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Train, or continue from the checkpoint in `directory`, and export the policy. A finished training is only read.

    Args:
        config: The resolved configuration, with the keys of `configs/train.yaml`.
        directory: The folder of checkpoint, metrics, figure, policy and result.
        after_round: Receives the number of finished rounds.
        alone: Whether no other training shares the terminal; otherwise no progress is shown.
        words: Overrides that `config` was composed with. The policy's file names them.

    Returns:
        The content of `training.json`.

    Raises:
        ConfigError: the configuration cannot be trained, or the checkpoint is damaged.
        CommandError: another process trains in this folder.
        CoreError: nothing was learned, or the training diverged, now or in an earlier call.
        OSError: a file cannot be written. The last checkpoint stays valid.
    """
    _check(config)
    plain = _plain(config)
    identity = _identity(config, plain)
    if not config.overwrite and (known := finished(directory, plain, identity)) is not None:
        return known
    with sole_owner(directory):
        try:
            return _train(config, plain, directory, identity, after_round, alone, words)
        except OSError as error:
            if error.errno is None:  # Hydra's error for an unknown option derives from OSError, too
                raise
            kept = "; the last checkpoint is valid, start again to continue"
            kept = kept if _exists(directory / CHECKPOINT_FILE) else ""
            raise OSError(error.errno, f"{error.strerror or error}{kept}", error.filename) from error


def finished_before(config: DictConfig, directory: Path) -> dict[str, Any] | None:
    """The result in `directory` if this training is complete there."""
    plain = _plain(config)
    return finished(directory, plain, _identity(config, plain))


def _identity(config: DictConfig, plain: Mapping[str, Any]) -> str:
    """The hash of the configuration, and the plugins that take part. A checkpoint fits if both are equal."""
    learned_on = {key: value for key, value in plain.items() if key not in ("evaluation", "track")}
    taking_part = versions(mentioned(learned_on), agent=plugin_of(trainable()[config.agent.name][1]))
    words = (f"{name}={version}" for name, version in taking_part.items())
    return " ".join((training_hash(config), *words))


def _train(
    config: DictConfig,
    plain: Mapping[str, Any],
    directory: Path,
    identity: str,
    after_round: Callable[[int], None],
    alone: bool,
    words: Sequence[str] | None,
) -> dict[str, Any]:
    checkpoint = directory / CHECKPOINT_FILE
    known = None
    if not config.overwrite:
        _refuse_diverged(directory, identity)
        if checkpoint.exists():
            known = load_checkpoint(checkpoint, identity, config.rounds)
    else:
        (directory / DIVERGED_FILE).unlink(missing_ok=True)
    sections = world_sections(config)
    agent, routing = _agent(config, sections)
    with ExitStack() as resources:
        if hasattr(agent, "close"):
            resources.callback(agent.close)
        done, seconds, lines = _restore(agent, known, checkpoint) if known else (0, 0.0, [])
        comparison = Comparison(config.evaluation, sections, routing, directory)
        track = config.track
        left = config.rounds - done
        logs = trackers(directory, track.to if left else "none", plain, lines, track.project, track.online)
        for log in logs:
            resources.callback(log.close)
        assert isinstance(logs[0], JsonLines)
        progress_lines = logs[0].lines
        where = config.topology.name if config.worlds is None else f"{len(config.worlds)} worlds"
        title = f"{config.agent.name} on {where}"
        began = time.monotonic() - seconds

        def save(rounds: int, took: float) -> None:
            state = Checkpoint(agent.state(), rounds, took, "\n".join(progress_lines))
            save_checkpoint(checkpoint, state, identity)

        progress = resources.enter_context(TrainProgress(title, config.rounds, done, alone))
        comparison.prepare(progress.say)  # before `Stop`, because Ctrl-C loses nothing here
        stop = resources.enter_context(Stop(getattr(agent, "abandon", None), alone))
        saved = done
        if done == config.rounds and comparison.due(done, done):  # `evaluation` may be another one than before
            progress.say("comparing with the baselines")
            logs[0].amend(comparison.of(agent.policy()))
            save(done, seconds)
        while done < config.rounds:
            try:
                metrics = agent.train_round()
                _require_finite(agent.policy())
            except DivergedError as error:
                raise _diverged(error, done + 1, directory, identity) from error
            except RoundAbandonedError:
                if saved < done:
                    save(done, seconds)
                raise _interrupted(done) from None
            done += 1
            due = comparison.due(done, config.rounds)
            if due:
                progress.say("comparing with the baselines")
                metrics |= comparison.of(agent.policy())
            seconds = metrics["seconds"] = time.monotonic() - began
            logs[0].log(metrics, done)
            for log in logs[1:]:
                log.log(metrics | comparison.lines if due else metrics, done)
            asked = stop.asked  # read once, so that the message below is true
            if done % config.checkpoint_every == 0 or done == config.rounds or asked:
                save(done, seconds)
                saved = done
            progress.update(done, metrics)
            after_round(done)
            if asked and done < config.rounds:
                raise _interrupted(done)
        policy = agent.policy()
        result = finish(config, plain, directory, policy, routing, comparison.baselines, identity, seconds, words)
        for log in logs:
            log.keep(directory / result["policy"])
    return result


def _agent(config: DictConfig, sections: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The agent, and its parameters of `routing=policy`."""
    import torch

    torch.set_num_threads(config.threads)
    device = ("cuda" if torch.cuda.is_available() else "cpu") if config.device == "auto" else config.device
    try:
        torch.device(device)
    except RuntimeError:
        raise ConfigError(
            f"device: unknown name '{device}'; valid names: auto (a GPU if there is one), cpu, cuda, cuda:<number>"
        ) from None
    hyperparameters, agent_class = trainable()[config.agent.name]
    settings = hyperparameters(**_plain(config.agent))
    members = mixture(config)
    world = World(sections, variation(config)) if members is None else Mixture.composed(members)
    try:
        agent = agent_class(settings, world, rounds=config.rounds, seed=config.seed, device=device)
    except (RuntimeError, AssertionError) as error:
        if device == "cpu" or isinstance(error, CoreError):
            raise
        why = str(error).strip().splitlines()[0]
        raise ConfigError(f"device: torch cannot use '{device}' ({why}); auto = a GPU if there is one") from error
    return agent, {**agent.routing(settings)}


def _restore(agent: Any, known: Checkpoint, checkpoint: Path) -> tuple[int, float, list[str]]:
    lines = known.progress.split("\n")
    if len(parsed(line.encode() for line in lines)) != known.rounds:
        raise damaged(checkpoint, f"its metrics are not those of {known.rounds} rounds")
    try:
        agent.load_state(known.agent)
    except (ConfigError, CoreError) as error:
        raise damaged(checkpoint, str(error)) from error
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise damaged(checkpoint, f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}") from error
    if agent.round != known.rounds:
        raise damaged(checkpoint, f"its agent is at round {agent.round}, its metrics at round {known.rounds}")
    return known.rounds, known.seconds, lines


def _require_finite(layers: Any) -> None:
    # A step can overflow a weight even if loss and gradients are finite.
    for k, (weight, bias) in enumerate(layers):
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise DivergedError(f"a weight of layer {k}")


def _diverged(error: DivergedError, number: int, directory: Path, identity: str) -> CoreError:
    text = f"the training diverged in round {number}: {error}"
    write_json(directory / DIVERGED_FILE, {"said": text, "training_hash": identity, "version": __version__})
    return CoreError(f"{text}. The same command diverges again; change a value to start another training")


def _refuse_diverged(directory: Path, identity: str) -> None:
    try:
        known = json.loads((directory / DIVERGED_FILE).read_bytes())
        same = known["training_hash"] == identity and known["version"] == __version__
        text = str(known["said"])
    except (FileNotFoundError, ValueError, RecursionError, KeyError, TypeError):
        return
    if same:
        raise CoreError(
            f"{text}. It does so every time; change a value, or repeat it with overwrite=true ({directory})"
        )


def _interrupted(done: int) -> KeyboardInterrupt:
    saved = f"round {done} is saved, start again to continue"
    return KeyboardInterrupt(saved if done else "no round is finished yet, start again to begin")


def _exists(path: Path) -> bool:
    with suppress(OSError):
        return path.exists()
    return False


def _check(config: DictConfig) -> None:
    for key in ("rounds", "threads", "checkpoint_every"):
        if config[key] < 1:
            raise ConfigError(f"{key}: {config[key]} is less than 1")
    if config.track.to not in CHOICES:  # also if no round is left to track
        raise ConfigError(unknown("track.to", config.track.to, CHOICES))
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
            raise ConfigError(f"evaluation.{key}: the list is empty; evaluation.every=0 turns comparisons off")


def _plain(node: DictConfig) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(node, resolve=True, throw_on_missing=True)
    return dict(json.loads(json.dumps(plain)))
