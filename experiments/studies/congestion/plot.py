"""The figure of the study, the numbers for `expected.yaml`, and the tables: victims and congestors by control."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...plotting.drawing import Row
from ...plotting.markdown import cost, section
from ...plotting.players import player_of
from ...plotting.runs import Runs
from ..delays import draw_delays

NETWORKS = {"dragonfly": "Dragonfly", "slingshot": "Slingshot", "hyperx": "HyperX", "fat_tree": "fat tree"}
VICTIMS = ("latency", "bandwidth", "allreduce")
CONGESTORS = ("incast", "alltoall", "get")
MEAN, P99 = "comm_time_mean_ns", "message_latency_p99_ns"


class Study:
    """The rows by network, routing, control, victim, and whether congestors run."""

    def __init__(self, rows: Sequence[Row]) -> None:
        labels = {"network": _network, "routing": player_of, "control": _control}
        self.runs = Runs(rows, **labels, victim=lambda row: _jobs(row)[0], congested=lambda row: len(_jobs(row)) > 1)
        self.controls = self.runs.values("control")

    def routings(self, network: str) -> list[str]:
        """The routings and policies of a network, in the order of the rows."""
        return list(dict.fromkeys(map(player_of, self.runs.at(network=network))))

    def impact(self, quantity: str, control: str, victim: str, baseline: str = "none", **where: str) -> float:
        """A quantity of a victim with congestors / alone with the control `baseline`."""
        name, where = f"jobs.{victim}.{quantity}", {**where, "victim": victim}
        alone = self.runs.mean(name, **where, control=baseline, congested=False)
        return self.runs.mean(name, **where, control=control, congested=True) / alone

    def impacts(self, network: str, quantity: str) -> NDArray[np.float64]:
        """The impacts relative to the victims alone without a control, [controls, routings, victims]."""
        places = [{"network": network, "routing": routing} for routing in self.routings(network)]
        return np.array(
            [[[self.impact(quantity, c, victim, **at) for victim in VICTIMS] for at in places] for c in self.controls]
        )

    def slowdowns(self, network: str) -> NDArray[np.float64]:
        """The time per byte of the congestors / without a control, [controls, routings, congestors]."""

        def rate(control: str, routing: str, congestor: str) -> float:
            rows = self.runs.at(network=network, routing=routing, control=control, congested=True)
            return float(np.mean([row[f"jobs.{congestor}.bytes_received"] / row["simulated_ns"] for row in rows]))

        names = self.routings(network)
        rates = np.array([[[rate(c, r, job) for job in CONGESTORS] for r in names] for c in self.controls])
        slowdowns: NDArray[np.float64] = rates[[self.controls.index("none")]] / rates
        return slowdowns


def _network(row: Row) -> str:
    return "slingshot" if row.get("topology.rails") == 4 else str(row["topology.name"])


def _control(row: Row) -> str:
    classes = ", two classes" if row.get("workload.classes.incast") else ""
    return f"{row['congestion_control.name']}{classes}"


def _jobs(row: Row) -> list[str]:
    return [str(job["name"]) for job in row["workload.jobs"]]


def _mean(values: NDArray[np.float64], *axes: int) -> NDArray[np.float64]:
    """The geometric mean over axes."""
    return np.asarray(np.exp(np.log(values).mean(axis=axes)))


def draw(rows: Sequence[Row], expected: Any) -> dict[str, Figure]:
    """The figure: impacts on the victims and slowdowns of the congestors for every control and routing."""
    study, found = Study(rows), {}
    figure = Figure(figsize=(9, 7.5), layout="constrained")
    labels = ("victims, mean:\ntime / alone", "victims, p99:\ntime / alone", "slowest congestor:\ntime per byte / none")
    panels = figure.subplots(len(labels), len(NETWORKS), squeeze=False)
    for column, (network, title) in zip(panels.T, NETWORKS.items(), strict=True):
        victims = [_mean(study.impacts(network, quantity), 2) for quantity in (MEAN, P99)]
        names = study.routings(network)
        for ax, own in zip(column, [*victims, study.slowdowns(network).max(axis=2)], strict=True):
            found[ax] = own[..., None]
            ax.set_xticks(range(len(names)), names if ax is column[-1] else [], rotation=40, ha="right", fontsize=8)
            ax.set_yticks(range(len(study.controls)), study.controls if ax in panels[:, 0] else [], fontsize=9)
        column[0].set_title(title, fontsize=10)
    for ax, label in zip(panels[:, 0], labels, strict=True):
        ax.set_ylabel(label, fontsize=9)
    draw_delays(figure, found, "geometric mean over the victims; the largest over the congestors", shrink=0.7)
    return {"impact": figure}


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`: the Slingshot machine with PAR."""
    study, machine = Study(rows), {"network": "slingshot", "routing": "par"}
    par = study.routings("slingshot").index("par")
    numbers: dict[str, float | None] = {}
    for quantity, word in ((MEAN, "mean"), (P99, "p99")):
        impacts = study.impacts("slingshot", quantity)[:, par]
        own, none = (impacts[study.controls.index(name)] for name in ("slingshot", "none"))
        for victim in VICTIMS:
            numbers[f"{victim}_{word}"] = study.impact(quantity, "slingshot", victim, baseline="slingshot", **machine)
        numbers[f"control_{word}"] = float(_mean(own / none, 0))
    return numbers


def summary(rows: Sequence[Row]) -> str:
    """Markdown: every control over all networks and routings."""
    study = Study(rows)
    every = [
        np.concatenate([values(network) for network in NETWORKS], axis=1)
        for values in (lambda n: study.impacts(n, MEAN), lambda n: study.impacts(n, P99), study.slowdowns)
    ]
    means = [_mean(values, 1) for values in every]
    lines = [[name, *(f"{value:.2f}" for own in means for value in own[k])] for k, name in enumerate(study.controls)]
    heads = [*(f"{victim}, {word}" for word in ("mean", "p99") for victim in VICTIMS), *CONGESTORS]
    text = (
        "Geometric means over networks and routings. Victims: time with congestors / alone without a control. "
        "Congestors: time per byte / without a control."
    )
    return section("Controls", ["control", *heads], lines, text) + "\n" + cost(rows)
