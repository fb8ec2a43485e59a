"""The study of congestion impact: its figure and numbers from rows alone, and three of its runs."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from flitgym.experiments.results.rows import row
from flitgym.experiments.running.sweep import run_all
from flitgym.experiments.studies.congestion import plot
from plans import place_of, planned

ALONE_NS = 1e4


@cache
def tiny() -> list[dict[str, Any]]:
    """Synthetic rows: congestors slow the victims 4 times without a control, and twice with one."""
    rows = []
    for run in planned("congestion", "tiny"):
        names = [job["name"] for job in run.plain["workload"]["jobs"]]
        slowdown = 1 if len(names) == 1 else 4 if run.plain["congestion_control"]["name"] == "none" else 2
        jobs = {name: {"bytes_received": 1000 * slowdown} for name in names}
        jobs[names[0]] |= dict.fromkeys((plot.MEAN, plot.P99), ALONE_NS * slowdown)
        result: Any = {"jobs": jobs, "simulated_ns": 1e5, "cpu_seconds": 1.0, "config": run.plain}
        rows.append(row(result, run.directory))
    return rows


def test_impacts_are_relative_to_the_victim_alone_and_slowdowns_to_no_control() -> None:
    study = plot.Study(tiny())
    for network in plot.NETWORKS:
        assert study.impacts(network, plot.P99)[:, 0, 0] == pytest.approx([4, *[2] * 6])
        assert study.slowdowns(network)[:, 0, 0] == pytest.approx([1, *[2] * 6])
    numbers = plot.measured(tiny())
    assert (numbers["bandwidth_mean"], numbers["control_p99"]) == (pytest.approx(2), pytest.approx(0.5))
    assert set(numbers) == {entry["id"] for entry in place_of("congestion").expected()["numbers"]}


def test_the_figure_and_the_tables_show_every_control() -> None:
    (figure,) = plot.draw(tiny(), {}).values()
    assert [ax.has_data() for ax in figure.axes] == [True] * len(figure.axes)
    assert plot.summary(tiny()).count("| receiver |") == 1


def test_a_missing_run_stops_the_figure() -> None:
    missing = {"topology.name": "hyperx", "routing.name": "omni_war", "congestion_control.name": "swift"}
    incomplete = [one for one in tiny() if missing != {key: one[key] for key in missing}]
    with pytest.raises(ValueError, match="no row for network hyperx and routing omni_war and victim latency and contr"):
        plot.draw(incomplete, {})


def test_congestors_slow_a_victim_on_a_fat_tree_and_receivers_protect_it(tmp_path: Path) -> None:
    def wanted(plain: Any) -> bool:
        names = [job["name"] for job in plain["workload"]["jobs"]]
        chosen = plain["topology"]["name"] == "fat_tree" and plain["routing"]["name"] == "ecmp"
        return chosen and names[0] == "latency" and plain["congestion_control"]["name"] in ("none", "receiver")

    runs = [run for run in planned("congestion", "tiny") if wanted(run.plain)]
    runs = [type(run)(run.plain, tmp_path / run.directory.name, run.kind) for run in runs]
    alone, congested, protected = (done["jobs"]["latency"][plot.MEAN] for done in run_all(runs, "congestion", 1))
    assert congested > 5 * alone
    assert protected < 1.5 * alone
