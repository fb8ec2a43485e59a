"""The trainings of a study (`flitgym train -m`): a row per training, a table over seeds, and learning curves."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from ...agents import trainable
from ...configs.composition import Root
from ...configs.training import register_training, train_id, variation, world_sections
from ...env.experience.world import World
from ..metrics import mean_interval
from ..results.files import write_text
from ..results.rows import ROWS_FILE, write_rows
from ..running.plan import Kind
from ..terminal.progress import Report
from ..terminal.tables import interval_columns, interval_text, markdown_table, write_csv
from .comparison import COMPARED
from .result import TRAINING_FILE, Training, read_training, training_row
from .run import train

Rows = Sequence[Mapping[str, Any]]

STUDY = "trainings"  # .csv, .md, .png and .svg
# Sections of the configuration in which the trainings of a group agree.
_SECTIONS = ("agent.", "topology.", "router.", "traffic.", "workload.", "failures.", "evaluation.", "vary", "worlds")


class TrainingKind(Kind):
    """A training: `flitgym train -m`."""

    root = Root("train", ("topology", "router", "traffic", "workload", "agent"), lambda config, words: None)
    sections = ("topology", "router", "traffic", "workload", "worlds", "agent")

    def folder(self, plain: Mapping[str, Any]) -> str:
        return train_id(_root_=OmegaConf.create(dict(plain)))

    def finished(self, plain: Mapping[str, Any], directory: Path) -> dict[str, Any] | None:
        return Training(OmegaConf.create(dict(plain)), directory).finished()

    def do(self, plain: dict[str, Any], directory: Path, report: Report, words: Sequence[str]) -> None:
        register_training(trainable())
        config = OmegaConf.create(plain)
        train(config, directory, lambda done: report("rounds", done / config.rounds), alone=False, words=words)

    def read(self, directory: Path) -> dict[str, Any] | None:
        return read_training(directory)

    def cost(self, plain: Mapping[str, Any]) -> float:
        return float(plain["rounds"])

    def survey(self, plain: dict[str, Any]) -> tuple[int, int]:
        """Build the world of a training."""
        config = OmegaConf.create(plain)
        hyperparameters, agent_class = trainable()[config.agent.name]
        settings = hyperparameters(**plain["agent"])
        world = World(world_sections(config), variation(config))
        simulation = world.simulation({**agent_class.routing(settings), "name": "policy"}, config.seed)
        networks = getattr(settings, "networks", 1)  # which a training holds at the same time
        return networks * int(simulation.facts()["memory_estimate_bytes"]), 1


TRAININGS = TrainingKind()


def gather_trainings(directory: Path) -> list[Path]:
    """Write rows, table and learning curves of every finished training below a folder; returns the files."""
    folders = [path.parent for path in sorted(directory.glob(f"**/{TRAINING_FILE}"))]
    rows = [training_row(result, folder) for folder in folders if (result := read_training(folder)) is not None]
    if not rows:
        return []
    groups = grouped(rows)
    table, csv, markdown = directory / ROWS_FILE, directory / f"{STUDY}.csv", directory / f"{STUDY}.md"
    write_rows(table, rows)
    numbers, page = _tables(groups)
    write_csv(csv, numbers)
    write_text(markdown, page)
    from .learning_curve import draw  # with Matplotlib, which takes long to import

    return [table, csv, markdown, *draw(groups, directory / STUDY)]


def grouped(rows: Rows) -> dict[str, Rows]:
    """Trainings that differ only in their seed, ordered by `objective` with the best first.

    A label has the difference from other groups of the study, such as `agent.learning_rate=0.001`.
    """
    members: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        members.setdefault(json.dumps(_identity(row), sort_keys=True, default=str), []).append(row)
    labels = _labels([_identity(own[0]) for own in members.values()])
    means = [mean_interval(_values(own, "objective")).value for own in members.values()]
    order = sorted(zip(map(math.isnan, means), means, labels, members.values(), strict=True), key=lambda one: one[:3])
    return {label: own for _, _, label, own in order}


def _values(rows: Rows, key: str) -> list[float]:
    """The numbers of a column; NaN for a missing number."""
    return [math.nan if (value := row.get(key)) is None else float(value) for row in rows]


def _identity(row: Mapping[str, Any]) -> dict[str, Any]:
    # Rows from a table have every column, with null for keys that a training lacks.
    return {k: v for k, v in row.items() if v is not None and (k == "rounds" or k.startswith(_SECTIONS))}


def _labels(identities: Sequence[Mapping[str, Any]]) -> list[str]:
    """The differences between groups as on the command line.

    The label has options if they distinguish all groups, otherwise the keys that all groups have, otherwise all keys.
    """
    if len(identities) == 1:
        worlds = {key.split(".")[1] for key in identities[0] if key.startswith("worlds.")}
        worlds -= {key.split(".")[1] for key, value in identities[0].items() if key.endswith(".share") and not value}
        where = f"{len(worlds)} worlds" if worlds else identities[0].get("topology.name")
        return [f"{identities[0].get('agent.name')} on {where}"]
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


def _tables(groups: Mapping[str, Rows]) -> tuple[list[dict[str, Any]], str]:
    """The rows of the CSV, and the page, with the mean of each metric over seeds."""
    found = dict.fromkeys(key for rows in groups.values() for row in rows for key in row)
    compared = tuple(f"last.{word}" for word in (*COMPARED, "accepted_load@"))
    metrics = ["objective", "last.reward", *(key for key in found if key.startswith(compared))]
    numbers, lines = [], []
    for label, rows in groups.items():
        lines.append([label, ", ".join(str(row.get("seed")) for row in rows)])
        for key in metrics:
            values = _values(rows, key)
            known, interval = sum(map(math.isfinite, values)), mean_interval(values)
            ends = interval_columns(interval, "mean", "low", "high").items()
            cells = {name: None if number is None else f"{number:.6g}" for name, number in ends}
            name = {"trainings": label, "metric": key.removeprefix("last.")}
            numbers.append({**name, **cells, "seeds": known, "missing": len(values) - known})
            lines[-1].append(interval_text(interval, "{:.4g}"))
    heads = ["trainings", "seeds", *(key.removeprefix("last.") for key in metrics)]
    note = "Mean over seeds and its 95 % interval after the last round; `objective`: less is better."
    return numbers, f"{note}\n\n{markdown_table(heads, lines, left=heads)}"
