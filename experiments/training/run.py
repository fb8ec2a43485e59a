"""Executes one training from a resolved configuration to its policy, with checkpoints, metrics and baselines."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from omegaconf import DictConfig, OmegaConf

from ...agents import trainable
from ...agents.learning.abandonment import RoundAbandonedError
from ...agents.learning.divergence import DivergedError
from ...configs import refuse_unknown
from ...configs.identity import plain_of
from ...configs.training import mixture, variation, world_sections
from ...env.experience.world import Mixture, World
from ...simcore import ConfigError, CoreError
from ..running.locks import sole_owner
from .checkpoints import CHECKPOINT_FILE, Checkpoint, damaged, load_checkpoint, save_checkpoint
from .comparison import Comparison
from .progress import Stop, TrainProgress
from .result import Training
from .tracking import CHOICES, PROGRESS_FILE, JsonLines, tracker

# Least values of numbers of the configuration.
_LEAST = {
    **dict.fromkeys(
        ("rounds", "threads", "checkpoint_every", "evaluation.measure_ns", "evaluation.workload_max_ns"), 1
    ),
    **dict.fromkeys(("seed", "evaluation.every", "evaluation.warmup_ns", "evaluation.baseline_warmup_ns"), 0),
}


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

    Returns the content of `training.json`.

    Raises:
        ConfigError: the configuration cannot be trained, or the checkpoint is damaged.
        CommandError: another process trains in this folder.
        CoreError: nothing was learned, or the training diverged.
        OSError: a file cannot be written. The last checkpoint stays valid.
    """
    _check(config)
    training = Training(config, directory, words)
    if not config.overwrite and (known := training.finished()) is not None:
        return known
    with sole_owner(directory), ExitStack() as resources:
        rounds = _Rounds(training, resources, alone)
        # Before `Stop`, because Ctrl-C loses nothing here.
        rounds.comparison.prepare(directory, training.identity, rounds.shown.say)
        with Stop(rounds.shown.say, getattr(rounds.agent, "abandon", None)) as stop:
            if rounds.done == config.rounds and rounds.comparison.due(rounds.done, config.rounds):
                rounds.compare_again()
            while rounds.done < config.rounds:
                rounds.play(stop)
                after_round(rounds.done)
                if stop.asked and rounds.done < config.rounds:
                    rounds.interrupt()
            return rounds.finish()


class _Rounds:
    """The rounds of a training: each one learns, is compared with the baselines, logged and saved when due."""

    def __init__(self, training: Training, resources: ExitStack, alone: bool) -> None:
        config, directory = training.config, training.directory
        self.training, self._path = training, directory / CHECKPOINT_FILE
        known = None
        if self._path.exists() and not config.overwrite:
            known = load_checkpoint(self._path, training.identity)
        sections = world_sections(config)
        self.agent, self._routing = _agent(config, sections)
        resources.callback(getattr(self.agent, "close", lambda: None))
        self.done, self._seconds, lines = 0, 0.0, list[str]()
        if known is not None:
            try:
                self.agent.load_state(known.agent)
            except (ConfigError, CoreError, KeyError, TypeError, ValueError, RuntimeError) as error:
                raise damaged(self._path, error) from error
            self.done, self._seconds, lines = known.rounds, known.seconds, known.progress.split("\n")
        self._saved = self.done
        self.comparison = Comparison(config.evaluation, sections, self._routing)
        self._log = JsonLines(directory / PROGRESS_FILE, lines)
        resources.callback(self._log.close)
        track, left = config.track, self.done < config.rounds
        to = track.to if left else "none"
        self._tracker = tracker(directory, to, training.plain, self.done, track.project, track.online)
        resources.callback(self._tracker.close)
        worlds = mixture(config)
        where = config.topology.name if worlds is None else f"{len(worlds)} worlds"
        self.shown = TrainProgress(resources, f"{config.agent.name} on {where}", config.rounds, self.done, alone)
        self._began = time.monotonic() - self._seconds

    def play(self, stop: Stop) -> None:
        """Play one round, log its metrics, and save it if it is due or the user has stopped the training.

        Raises:
            CoreError: the training diverged.
            KeyboardInterrupt: the agent gave up the round.
        """
        config = self.training.config
        try:
            metrics = self.agent.train_round()
            _require_finite(self.agent.policy())
        except DivergedError as error:
            raise CoreError(
                f"the training diverged in round {self.done + 1}: {error}. The same command diverges again; change a "
                "value to start another training"
            ) from error
        except RoundAbandonedError:
            self.interrupt()
        self.done += 1
        due = self.comparison.due(self.done, config.rounds)
        if due:
            self.shown.say("comparing with the baselines")
            metrics |= self.comparison.of(self.agent.policy())
        self._seconds = metrics["seconds"] = time.monotonic() - self._began
        self._log.log(metrics, self.done)
        drawn = metrics | self.comparison.lines if due else metrics
        self._tracker.log({key: value for key, value in drawn.items() if math.isfinite(value)}, self.done)
        if self.done % config.checkpoint_every == 0 or self.done == config.rounds or stop.asked:
            self._save()
        self.shown.update(self.done, metrics)

    def compare_again(self) -> None:
        """Compare the policy of a finished training, because `evaluation` may be another one than before."""
        self._log.amend(self.comparison.of(self.agent.policy()))
        self._save()

    def interrupt(self) -> NoReturn:
        """Save the last finished round, and end the training as Ctrl-C does."""
        if self._saved < self.done:
            self._save()
        saved = f"round {self.done} is saved, start again to continue"
        raise KeyboardInterrupt(saved if self.done else "no round is finished yet, start again to begin") from None

    def finish(self) -> dict[str, Any]:
        """Write the policy, the figure and the result."""
        baselines = self.comparison.baselines
        result = self.training.finish(self.agent.policy(), self._routing, baselines, self._seconds)
        self._tracker.keep(self.training.directory / result["policy"])
        return result

    def _save(self) -> None:
        state = Checkpoint(self.agent.state(), self.done, self._seconds, "\n".join(self._log.lines))
        save_checkpoint(self._path, state, self.training.identity)
        self._saved = self.done


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
    settings = hyperparameters(**plain_of(config.agent))
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


def _require_finite(layers: Any) -> None:
    # A step can overflow a weight even if loss and gradients are finite.
    for k, (weight, bias) in enumerate(layers):
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise DivergedError(f"a weight of layer {k}")


def _check(config: DictConfig) -> None:
    for key, least in _LEAST.items():
        value = OmegaConf.select(config, key)
        if not (math.isfinite(value) and value >= least):
            raise ConfigError(f"{key}: {value}; it must be {least} or more")
    refuse_unknown("track.to", [config.track.to], CHOICES)
    for key in ("loads", "seeds"):
        if config.evaluation.every and not config.evaluation[key]:
            raise ConfigError(f"evaluation.{key}: the list is empty; evaluation.every=0 turns comparisons off")
