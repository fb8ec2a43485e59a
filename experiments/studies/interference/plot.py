"""The figures of the study by file name, the compared numbers, and the Markdown tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from ...metrics import Interval, mean_interval
from ...plotting.drawing import Row, paper_style, routings
from ...plotting.jobs import MIXED, backgrounds, comm_ms, job_title, targets
from ...plotting.markdown import cost, section
from . import blame, mixed_jobs, pair_series, pair_times
from .runs import PLACEMENT, background_job, comm_time, mixed, pair, placements, slowdown, times

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

_BARS = "bars: 95 % intervals over the placements"
_BANDS = "bands: lowest and highest placement"
OVER_SEEDS = {
    "fig04_pair_communication_times": _BARS,
    "fig05_fft3d_halo3d_throughput": _BANDS,
    "fig06_lu_halo3d_latency": _BANDS,
    "fig07_lu_halo3d_throughput": _BANDS,
    "fig08_pair_slowdowns": _BARS,
    "fig09_cosmoflow_halo3d_throughput": _BANDS,
    "fig10_mixed_communication_times": _BARS,
    "fig11_mixed_stall_times": _BARS,
    "fig12_mixed_congestion_index": "brackets: 95 % intervals over the placements",
    "fig13_mixed_latency_throughput": f"{_BARS}; {_BANDS}",
    "blame_pairs": "small numbers: lowest and highest placement",
}
_RANKS = "bars: one standard deviation over the ranks"
_SPREADS = {True: "[95 % interval over the placements]", False: "± standard deviation over the ranks"}
OF_ONE_SEED = {"fig04_pair_communication_times": _RANKS, "fig10_mixed_communication_times": _RANKS}

Q = "q_adaptive"
# The routings of the published study. Rows may have further policies.
RIVALS = ("ugal_group", "ugal_router", "par")


Cases = dict[str, dict[str, NDArray[np.float64]]]
"""A number of every case and routing, [placements]."""


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> dict[str, Figure]:
    """Every figure of the study, by file name.

    Raises:
        ValueError: a figure lacks a row.
    """
    return {name: figure(rows) for name, figure in FIGURES.items()}


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    halo = {name: halo3d_alone(rows, name) for name in (Q, "par")}
    alone = {name: comm_time(pair(rows, "cosmoflow", "none", name), "cosmoflow").value for name in (Q, "par")}
    cosmoflow = {name: slowdown(rows, "cosmoflow", "halo3d", name).value for name in (Q, "par")}
    rivals = [name for name in routings(rows) if name in RIVALS]
    cases = means_of(interfered(rows))
    ratios = np.array([[case[Q] / case[name] for name in rivals] for case in cases.values()])
    return {
        "halo3d_alone_q_adaptive": halo[Q],
        "halo3d_alone_par": halo["par"],
        "halo3d_alone_ratio": halo[Q] / halo["par"],
        "cosmoflow_alone_q_adaptive": alone[Q],
        "cosmoflow_alone_par": alone["par"],
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
    runs = pair(rows, "halo3d", "none", routing)
    return float(np.mean([run["jobs.halo3d.injection_rate_gb_per_s"] for run in runs])) / 1e3


def interfered(rows: Sequence[Row]) -> Cases:
    """Communication times in ms for targets with their backgrounds and for the mixed jobs."""
    names = routings(rows)
    cases = {
        f"{job_title(target)} with {job_title(other)}": {
            name: times(pair(rows, target, other, name), target) for name in names
        }
        for target in targets(rows)
        for other in backgrounds(rows)[1:]
    }
    return cases | {
        f"{job_title(job)} (mixed)": {name: times(mixed(rows, name), job) for name in names} for job in MIXED
    }


def means_of(cases: Cases) -> dict[str, dict[str, float]]:
    """The means over the placements."""
    return {case: {name: float(np.mean(ms)) for name, ms in of.items()} for case, of in cases.items()}


def relative(cases: Iterable[Mapping[str, NDArray[np.float64]]], routing: str) -> Interval:
    """Times relative to Q-adaptive: the geometric mean over cases and placements, with its interval."""
    mean = mean_interval(np.mean([np.log(case[routing] / case[Q]) for case in cases], axis=0))
    return Interval(*map(float, np.exp(mean)))


def throughput(rows: Sequence[Row], routing: str) -> NDArray[np.float64]:
    """Throughput of all jobs in GB/ms in the runs with several jobs, [runs, placements]."""
    cases = [pair(rows, target, other, routing) for target in targets(rows) for other in backgrounds(rows)[1:]]
    return np.array([[run["system_throughput_gb_per_ms"] for run in case] for case in [*cases, mixed(rows, routing)]])


def summary(rows: Sequence[Row]) -> str:
    """Markdown: the order of the routings, the cases in which Q-adaptive is not the fastest, and every pair."""
    names = routings(rows)
    labels = [paper_style(name).label for name in names]
    cases = interfered(rows)
    alone = {
        target: {name: times(pair(rows, target, "none", name), target) for name in names} for target in targets(rows)
    }
    several = len(placements(rows)) > 1
    with_others = {other: f"with {job_title(other)}" for other in backgrounds(rows)[1:]}
    groups = {"targets alone": alone, "with a background, and mixed": cases} | {
        title: {k: case for k, case in cases.items() if k.endswith(title)} for title in with_others.values()
    }
    groups["mixed"] = {k: case for k, case in cases.items() if k.endswith("(mixed)")}
    gbs = {name: throughput(rows, name) for name in names}
    shared = {str(k): {name: of[k] for name, of in gbs.items()} for k in range(len(gbs[Q]))}
    groups["throughput of all jobs, runs with several jobs"] = shared
    order = [[t, *(_text(relative(group.values(), name)) for name in names)] for t, group in groups.items()]
    worst = {
        name: max(slowdown(rows, target, other, name).value for target in targets(rows) for other in with_others)
        for name in names
    }
    worse = {case: of[Q] / min(of.values()) - 1 for case, of in means_of(cases).items() if of[Q] > min(of.values())}
    listed = ", ".join(f"{case} (+{excess:.1%})" for case, excess in sorted(worse.items(), key=lambda item: -item[1]))
    pairs = [
        [job_title(target), job_title(other)]
        + [
            f"{_time_text(pair(rows, target, other, name), target)} ({slowdown(rows, target, other, name).value:.2f})"
            for name in names
        ]
        for target in targets(rows)
        for other in backgrounds(rows)
    ]
    over = f", with 95 % intervals over {len(placements(rows))} placements" * several
    text = f"Geometric means of communication times, relative to {paper_style(Q).label}{over}."
    spread = f"Communication time in ms, as mean {_SPREADS[several]}, and relative to the target alone."
    return "\n".join(
        [
            section("Order of the routings", ["", *labels], order, text),
            "Largest slowdown of a target by a background, by routing: "
            + ", ".join(f"{label} {worst[name]:.2f}" for label, name in zip(labels, names, strict=True))
            + ".\n",
            f"{paper_style(Q).label} is not the fastest in {len(worse)} of {len(cases)} cases{': ' * bool(worse)}"
            f"{listed}.\n",
            cost(rows),
            *(f"{sentence}\n" for sentence in _ended(rows)),
            section("Every pair", ["target", "background", *labels], pairs, spread),
        ]
    )


def _ended(rows: Sequence[Row]) -> list[str]:
    # After the end of its background, a target runs alone.
    several = len(placements(rows)) > 1
    early = [
        f"{job_title(target)} with {job_title(other)} ({paper_style(name).label}"
        + f", placement {run[PLACEMENT]}" * several
        + ")"
        for target in targets(rows)
        for other in backgrounds(rows)[1:]
        for name in routings(rows)
        for run in pair(rows, target, other, name)
        if (finish := run.get(f"jobs.{background_job(target, other)}.finish_ns")) is not None
        and finish < run[f"jobs.{target}.finish_ns"]
    ]
    if not early:
        return ["Every background outlasts its target."]
    return [f"The background ends before its target in {len(early)} runs: {', '.join(early)}."]


def _time_text(runs: Sequence[Row], job: str) -> str:
    mean = comm_time(runs, job)
    if len(runs) == 1:
        return f"{mean.value:.3f} ± {comm_ms(runs[0], job, 'std'):.3f}"
    return _text(mean)


def _text(mean: Interval) -> str:
    return f"{mean.value:.3f}" + f" [{mean.low:.3f}, {mean.high:.3f}]" * bool(np.isfinite(mean.low))


def _geometric_mean(values: ArrayLike) -> float:
    return float(np.exp(np.mean(np.log(values))))
