"""The trainings of a study (`flitgym train -m`): a row per training, a table over seeds, and learning curves."""

import csv
import io
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ...agents import trainable
from ...configs.composition import Root
from ...configs.training import register_training, train_id, variation, world_sections
from ...env.experience.world import World
from ...simcore._files import atomic_path
from ..metrics import mean_interval
from ..results.rows import ROWS_FILE, row, write_rows
from ..running.plan import Kind, Survey
from ..terminal.progress import Report
from ..terminal.tables import interval_text, markdown_table
from .comparison import COMPARED
from .group import Group
from .result import TRAINING_FILE, read_training
from .run import finished_before, train
from .tracking import PROGRESS_FILE, read_progress

STUDY = "trainings"  # .csv, .md, .png and .svg
# Keys of the configuration in which the trainings of a group may differ.
_ALIKE = ("seed", "study", "overwrite", "track", "checkpoint_every", "threads", "device")


class TrainingKind(Kind):
    """A training: `flitgym train -m`."""

    root = Root("train", ("topology", "router", "traffic", "workload", "agent"), lambda config, words: None)

    def folder(self, plain: Mapping[str, Any]) -> str:
        """See `Kind`."""
        return train_id(_root_=OmegaConf.create(dict(plain)))

    def finished(self, plain: Mapping[str, Any], directory: Path) -> dict[str, Any] | None:
        """See `Kind`."""
        return finished_before(OmegaConf.create(dict(plain)), directory)

    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        """See `Kind`."""
        register_training(trainable())
        config = OmegaConf.create(plain)
        train(config, directory, lambda done: report("rounds", done / config.rounds), alone=False, words=words)

    def read(self, directory: Path) -> dict[str, Any] | None:
        """See `Kind`."""
        return read_training(directory)

    def cost(self, plain: Mapping[str, Any]) -> float:
        """See `Kind`."""
        return float(plain["rounds"])

    def alike(self, plain: Mapping[str, Any]) -> str:
        """See `Kind`."""
        keys = ("topology", "router", "traffic", "workload", "worlds", "agent")
        return json.dumps([plain.get(key) for key in keys], default=str)

    def survey(self, plain: dict[str, Any]) -> Survey:
        """Build the world of a training."""
        config = OmegaConf.create(plain)
        hyperparameters, agent_class = trainable()[config.agent.name]
        settings = hyperparameters(**_plain(config.agent))
        world = World(world_sections(config), variation(config))
        simulation = world.simulation({**agent_class.routing(settings), "name": "policy"}, config.seed)
        networks = getattr(settings, "networks", 1)  # which a training holds at the same time
        return Survey(networks * int(simulation.facts()["memory_estimate_bytes"]), 1)


TRAININGS = TrainingKind()


def gather_trainings(directory: Path) -> list[Path]:
    """Write the rows, the table and the learning curves of every finished training below `directory`.

    Returns:
        The files; none without a training. A `training.json` that cannot be read is reported on stderr.
    """
    rows = []
    for path in sorted(directory.glob(f"**/{TRAINING_FILE}")):
        result = read_training(path.parent)
        if result is None:
            print(f"{path} is damaged and left out; start its training again to write it", file=sys.stderr)
        else:
            rows.append(training_row(result, path.parent))
    if not rows:
        return []
    groups = grouped(rows)
    write_rows(directory / ROWS_FILE, rows)
    written = [directory / ROWS_FILE]
    for suffix, text in (("csv", _csv(groups)), ("md", _markdown(groups))):
        written.append(directory / f"{STUDY}.{suffix}")
        with atomic_path(written[-1]) as temporary:
            temporary.write_text(text)
    from .learning_curve import draw_study  # with Matplotlib, which takes long to import

    return [*written, *draw_study(groups, directory / STUDY)]


def training_row(result: Mapping[str, Any], directory: Path) -> dict[str, Any]:
    """One training as one flat row.

    It has the numbers of the training and its configuration as `agent.learning_rate` and so on. Metrics of the last
    round are `last.<metric>`, and metrics of the baselines `baselines.<name>.<metric>`. The lists `progress.<metric>`
    have the metrics of all rounds.

    Args:
        result: The content of `training.json`.
        directory: The folder of the training.
    """
    flat = row({key: value for key, value in result.items() if key not in ("last", "baselines", "agent")}, directory)
    flat["directory"] = directory.name
    flat |= {f"last.{key}": value for key, value in result["last"].items()}
    for name, numbers in result["baselines"].items():
        flat |= {f"baselines.{name}.{key}": value for key, value in numbers.items()}
    progress = read_progress(directory / PROGRESS_FILE)
    keys = dict.fromkeys(key for entry in progress for key in entry)
    return flat | {f"progress.{key}": [_float(entry.get(key)) for entry in progress] for key in keys}


def grouped(rows: Sequence[Mapping[str, Any]]) -> list[Group]:
    """Groups of trainings that differ only in their seed, ordered by `objective` with the best first."""
    by_identity: dict[str, list[Mapping[str, Any]]] = {}
    for entry in rows:
        by_identity.setdefault(json.dumps(_identity(entry), sort_keys=True, default=str), []).append(entry)
    members = list(by_identity.values())
    labels = _labels([_identity(own[0]) for own in members])
    groups = [Group(label, own) for label, own in zip(labels, members, strict=True)]
    return sorted(groups, key=lambda group: (_sortable(mean_interval(group.values("objective")).value), group.label))


def _identity(entry: Mapping[str, Any]) -> dict[str, Any]:
    sections = ("agent.", "topology.", "router.", "traffic.", "workload.", "failures.", "evaluation.", "vary", "worlds")
    chosen = {key: value for key, value in entry.items() if key == "rounds" or key.startswith(sections)}
    # Rows from a table have every column, with null for keys that a training lacks.
    return {k: value for k, value in chosen.items() if value is not None and k.split(".", 1)[0] not in _ALIKE}


def _labels(identities: Sequence[Mapping[str, Any]]) -> list[str]:
    """The differences between groups as on the command line.

    The label has options if they distinguish all groups, otherwise the keys that all groups have, otherwise all keys.
    """
    if len(identities) == 1:
        return [f"{identities[0].get('agent.name')} on {identities[0].get('topology.name')}"]
    common = [key for key in identities[0] if all(key in other for other in identities)]
    every = list(dict.fromkeys(key for identity in identities for key in identity))
    labels: list[str] = []
    for keys in ([key for key in common if key.endswith(".name")], common, every):
        differing = [key for key in keys if len({str(identity.get(key)) for identity in identities}) > 1]
        labels = [
            ", ".join(f"{key.removesuffix('.name')}={identity[key]}" for key in differing if key in identity)
            for identity in identities
        ]
        if len(set(labels)) == len(labels):
            break
    return labels


def _metrics(groups: Sequence[Group]) -> list[str]:
    found = dict.fromkeys(key for group in groups for entry in group.rows for key in entry)
    compared = tuple(f"last.{word}" for word in (*COMPARED, "accepted_load@"))
    return ["objective", "last.reward", *(key for key in found if key.startswith(compared))]


def _csv(groups: Sequence[Group]) -> str:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["trainings", "metric", "mean", "low", "high", "seeds", "missing"])
    for group in groups:
        for key in _metrics(groups):
            values = group.values(key)
            interval = mean_interval(values)
            known = sum(math.isfinite(value) for value in values)
            cells = ["" if math.isnan(number) else f"{number:.6g}" for number in interval]
            lines.writerow([group.label, key.removeprefix("last."), *cells, known, len(values) - known])
    return text.getvalue()


def _markdown(groups: Sequence[Group]) -> str:
    metrics = _metrics(groups)
    heads = ["trainings", "seeds", *(key.removeprefix("last.") for key in metrics)]
    lines = []
    for group in groups:
        seeds = ", ".join(str(entry.get("seed")) for entry in group.rows)
        cells = [interval_text(mean_interval(group.values(key)), "{:.4g}") for key in metrics]
        lines.append([group.label, seeds, *cells])
    note = "Mean over seeds and its 95 % interval after the last round; `objective`: less is better."
    return f"{note}\n\n{markdown_table(heads, lines, left=heads)}"


def _sortable(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _plain(node: DictConfig) -> dict[str, Any]:
    plain: Any = OmegaConf.to_container(node, resolve=True, throw_on_missing=True)
    return dict(plain)
