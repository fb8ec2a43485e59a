"""The figures of the study by file name, the compared numbers, and the Markdown tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ...plotting.drawing import Row, routings, style_of
from ...plotting.jobs import MIXED, backgrounds, comm_ms, job_title, targets
from . import blame, mixed_jobs, pair_series, pair_times
from .runs import background_job, mixed, pair, slowdown

FIGURES = {
    "fig04_pair_communication_times": pair_times.draw_times,
    "fig05_fft3d_halo3d_throughput": pair_series.fft3d_and_halo3d,
    "fig06_lu_halo3d_latency": pair_series.latency_of_a_pair,
    "fig07_lu_halo3d_throughput": pair_series.throughput_of_a_pair,
    "fig08_pair_slowdowns": pair_times.draw_slowdowns,
    "fig09_cosmoflow_halo3d_throughput": pair_series.cosmoflow_and_halo3d,
    "fig10_mixed_communication_times": mixed_jobs.communication_times,
    "fig11_mixed_stall_times": mixed_jobs.stall_times,
    "fig12_mixed_congestion_index": mixed_jobs.congestion_index,
    "fig13_mixed_latency_throughput": mixed_jobs.latency_and_throughput,
    "blame_pairs": blame.pairs,
    "blame_mixed": blame.jobs,
}

Q = "q_adaptive"
# The routings of the published study. Rows may have further policies.
RIVALS = ("ugal_group", "ugal_router", "par")


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> dict[str, Figure]:
    """Every figure of the study, by file name.

    Raises:
        ValueError: a figure lacks a row.
    """
    return {name: figure(rows) for name, figure in FIGURES.items()}


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    halo = {name: halo3d_alone(rows, name) for name in (Q, "par")}
    cosmoflow = {name: slowdown(rows, "cosmoflow", "halo3d", name) for name in (Q, "par")}
    rivals = [name for name in routings(rows) if name in RIVALS]
    cases = interfered(rows)
    ratios = np.array([[times[Q] / times[name] for name in rivals] for times in cases.values()])
    return {
        "halo3d_alone_q_adaptive": halo[Q],
        "halo3d_alone_par": halo["par"],
        "halo3d_alone_ratio": halo[Q] / halo["par"],
        "cosmoflow_alone_q_adaptive": comm_ms(pair(rows, "cosmoflow", "none", Q), "cosmoflow"),
        "cosmoflow_alone_par": comm_ms(pair(rows, "cosmoflow", "none", "par"), "cosmoflow"),
        "cosmoflow_halo3d_q_adaptive": cosmoflow[Q],
        "cosmoflow_halo3d_par": cosmoflow["par"],
        "cosmoflow_halo3d_ratio": cosmoflow["par"] / cosmoflow[Q],
        "best_reduction": 1 - float(ratios.min()),
        "worst_against_best_rival": float(ratios.max()),
        "mean_against_par": _geometric_mean(ratios[:, rivals.index("par")]),
        "part_of_cases_best": float(np.mean(ratios.max(axis=1) <= 1)),
    }


def halo3d_alone(rows: Sequence[Row], routing: str) -> float:
    """The injection rate of Halo3D alone, in GB/ms."""
    return float(pair(rows, "halo3d", "none", routing)["jobs.halo3d.injection_rate_gb_per_s"]) / 1e3


def interfered(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Communication times in ms by case and routing, for targets with their backgrounds and for the mixed jobs."""
    names = routings(rows)
    cases = {
        f"{job_title(target)} with {job_title(other)}": {
            name: comm_ms(pair(rows, target, other, name), target) for name in names
        }
        for target in targets(rows)
        for other in backgrounds(rows)[1:]
    }
    return cases | {
        f"{job_title(job)} (mixed)": {name: comm_ms(mixed(rows, name), job) for name in names} for job in MIXED
    }


def summary(rows: Sequence[Row]) -> str:
    """Markdown: the order of the routings, the cases in which Q-adaptive is not the fastest, and every pair."""
    names = routings(rows)
    labels = [style_of(name).label for name in names]
    cases = interfered(rows)
    alone = {
        target: {name: comm_ms(pair(rows, target, "none", name), target) for name in names} for target in targets(rows)
    }
    lines = [
        "## Order of the routings\n",
        f"Geometric means of communication times, relative to {style_of(Q).label}.\n",
        f"| | {' | '.join(labels)} |",
        "|---" * (len(names) + 1) + "|",
    ]
    groups = {"targets alone": alone, "with a background, and mixed": cases} | {
        f"with {job_title(other)}": {k: times for k, times in cases.items() if k.endswith(f"with {job_title(other)}")}
        for other in backgrounds(rows)[1:]
    }
    for title, group in groups.items():
        means = [_geometric_mean([times[name] / times[Q] for times in group.values()]) for name in names]
        lines.append(f"| {title} | {' | '.join(f'{mean:.3f}' for mean in means)} |")
    worst = [
        max(slowdown(rows, target, other, name) for target in targets(rows) for other in backgrounds(rows)[1:])
        for name in names
    ]
    lines += [
        "",
        "Largest slowdown of a target by a background, by routing: "
        + ", ".join(f"{label} {value:.2f}" for label, value in zip(labels, worst, strict=True))
        + ".",
    ]

    worse = {
        case: times[Q] / min(times.values()) - 1 for case, times in cases.items() if times[Q] > min(times.values())
    }
    listed = ", ".join(
        f"{case} (+{excess:.1%})" for case, excess in sorted(worse.items(), key=lambda item: item[1], reverse=True)
    )
    lines += [
        "",
        f"{style_of(Q).label} is not the fastest in {len(worse)} of {len(cases)} cases{': ' * bool(worse)}{listed}.",
    ]

    lines += [
        "",
        f"All {len(rows)} runs took {sum(row['cpu_seconds'] for row in rows):,.0f} CPU seconds.",
        *_ended(rows),
    ]
    lines += [
        "\n## Every pair\n",
        "Communication time in ms, as mean ± standard deviation over the ranks, and relative to the target alone.\n",
        f"| target | background | {' | '.join(labels)} |",
        "|---" * (len(names) + 2) + "|",
    ]
    for target in targets(rows):
        for other in backgrounds(rows):
            cells = [
                f"{comm_ms(run, target):.3f} ± {comm_ms(run, target, 'std'):.3f} "
                f"({slowdown(rows, target, other, name):.2f})"
                for name in names
                for run in [pair(rows, target, other, name)]
            ]
            lines.append(f"| {job_title(target)} | {job_title(other)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _ended(rows: Sequence[Row]) -> list[str]:
    # After the end of its background, a target runs alone.
    early = [
        f"{job_title(target)} with {job_title(other)} ({style_of(name).label})"
        for target in targets(rows)
        for other in backgrounds(rows)[1:]
        for name in routings(rows)
        for run in [pair(rows, target, other, name)]
        if (finish := run.get(f"jobs.{background_job(target, other)}.finish_ns")) is not None
        and finish < run[f"jobs.{target}.finish_ns"]
    ]
    if not early:
        return ["Every background outlasts its target."]
    return [f"The background ends before its target in {len(early)} runs: {', '.join(early)}."]


def _geometric_mean(values: ArrayLike) -> float:
    return float(np.exp(np.mean(np.log(values))))
