"""`flitgym.train`, `flitgym.evaluate`, `flitgym.saturate` and `flitgym.reproduce`: the verbs from Python."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf, open_dict

from ...agents import trainable
from ...configs.composition import compose_root
from ...configs.quantities import hydra_text
from ...configs.training import register_training
from .. import evaluate as evaluate_verb
from .. import reproduce as reproduce_verb
from .. import saturate as saturate_verb
from .. import train as train_verb
from ..evaluation.study import as_list
from ..results.rows import ROWS_FILE, read_rows
from ..saturation.study import Saturation
from ..terminal.commandline import call
from .calls import explained


def train(*overrides: str, results: str | Path = "results", **values: Any) -> Path:
    """Train a policy, continue an interrupted training, or find a finished one.

        policy = flitgym.train("agent=dqn", topology="dragonfly_72", rounds=100)
        flitgym.simulate("topology=dragonfly_72", f"routing={policy}")

    Args:
        overrides: As on the command line of `flitgym train`, such as `"agent.slots=4"`.
        results: Folder of all results. The training goes to `results/<study>/<training>`.
        values: Keys with values, such as `seed=2`, which are applied after the overrides.

    Returns:
        The policy's file. Its folder has `training.json` and a line of `progress.jsonl` per round.

    Raises:
        ConfigError, CommandError: the configuration cannot be trained.
        CoreError: nothing was learned, or the training diverged.
        OSError: a file cannot be written. The last checkpoint stays valid.
    """
    register_training(trainable())
    directory, _ = _conduct(train_verb.app, "train", [*overrides, *_words(values)], results)
    return directory / "policy.safetensors"


def evaluate(*overrides: str, results: str | Path = "results", **values: Any) -> list[dict[str, Any]]:
    """Compare routings and policies over patterns, loads, workloads and seeds.

        flitgym.evaluate("topology=dragonfly_72", routing=["par", "ugal_l"], **{"traffic.load": [0.1, 0.3]})

    Args:
        overrides: As on the command line of `flitgym evaluate`.
        results: Folder of all results. Runs, tables and the figure go to `results/<study>`.
        values: Keys with values, which are applied after the overrides. Lists are lists of the command.

    Returns:
        The rows of the table `evaluation.csv`, or of `regret.csv` with `measure=regret`. `rows.parquet` in the same
        folder has a row per run.

    Raises:
        ConfigError, CommandError: nothing ran, or no run finished.
        CoreError: some runs failed. The files hold the others.
        OSError: a file cannot be read or written.
    """
    words = [as_list(word, evaluate_verb.LISTS) for word in [*overrides, *_words(values)]]
    evaluate_verb.refuse(words)
    directory, config = _conduct(evaluate_verb.app, "evaluate", words, results)
    return _table(directory / f"{evaluate_verb.measure_of(config).name}.csv")


def saturate(*overrides: str, results: str | Path = "results", **values: Any) -> list[dict[str, Any]]:
    """Search the highest load that a network carries, by routing and pattern.

        flitgym.saturate(topology="hyperx_64", routing=["dim_war", "ugal"], traffic=["uniform", "urb_y"])

    Args:
        overrides: As on the command line of `flitgym saturate`.
        results: Folder of all results. Searches, tables and the figure go to `results/<study>`.
        values: Keys with values, which are applied after the overrides. Lists are lists of the command.

    Returns:
        The rows of the table `saturation.csv`. `rows.parquet` in the same folder has a row per search.

    Raises:
        ConfigError, CommandError, CoreError, OSError: as `evaluate`.
    """
    words = [as_list(word, saturate_verb.LISTS) for word in [*overrides, *_words(values)]]
    saturate_verb.refuse(words)
    directory, _ = _conduct(saturate_verb.app, "saturate", words, results)
    return _table(directory / f"{Saturation.name}.csv")


def reproduce(figure: str = "", **options: Any) -> list[dict[str, Any]]:
    """Run the sweep of a published figure or of a study, draw it, and compare its numbers.

        flitgym.reproduce("hpdc21_load_latency", preset="quick")

    Args:
        figure: Name of the figure.
        options: The other keys of `flitgym reproduce`: `study` instead of a figure, `preset`, `routing`, `results`,
            `workers` and `redraw`.

    Returns:
        A row per run, those of `rows.parquet`. The same folder, `results/<name>_<preset>`, has the figures and the
        table of differences.

    Raises:
        ConfigError: there is no such key.
        CommandError: the figure, study or preset does not exist, or runs failed.
        OSError: a file cannot be written.
    """
    words = [as_list(word, reproduce_verb.LISTS) for word in _words({"figure": figure, **options})]
    directory, _ = _conduct(reproduce_verb.app, "reproduce", words, options.get("results", "results"))
    return read_rows(directory / ROWS_FILE)


def _conduct(
    app: Callable[..., object], root: str, words: Sequence[str], results: str | Path
) -> tuple[Path, DictConfig]:
    """Call the application of a verb without its printed lines; returns the folder of its files, and its keys."""
    with explained():
        config = compose_root(root, words, hydra=True)
        directory = Path(str(config.hydra.run.dir))
        if directory.is_relative_to("results"):  # otherwise a folder that the caller has chosen
            directory = Path(results) / directory.relative_to("results")
        with open_dict(config):
            config.hydra.runtime.output_dir = str(directory)
        directory.mkdir(parents=True, exist_ok=True)
        own = OmegaConf.masked_copy(config, [str(key) for key in config if key != "hydra"])
        outer = HydraConfig.instance().cfg  # of this process, which may be another program of Hydra
        HydraConfig.instance().set_config(config)
        try:
            with redirect_stdout(io.StringIO()):
                call(app, own)
        finally:
            HydraConfig.instance().cfg = outer
    return directory, own


def _table(path: Path) -> list[dict[str, Any]]:
    from pyarrow import csv

    rows: list[dict[str, Any]] = csv.read_csv(path).to_pylist()
    return rows


def _words(values: Mapping[str, Any]) -> list[str]:
    return [f"{key}={hydra_text(value)}" for key, value in values.items()]
