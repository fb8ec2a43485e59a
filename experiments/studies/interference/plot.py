"""The figures of the study by file name, the compared numbers, and the Markdown tables."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ...metrics import Interval, mean_interval
from ...plotting.drawing import Row, paper_style
from ...plotting.markdown import cost, section
from ...terminal.tables import interval_text
from . import blame, mixed_jobs, pairs
from .runs import DETAIL, MIXED, Jobs, background_job, comm_ms, comm_time, geometric, job_title, times

_BARS = "bars: 95 % intervals over the placements"
_BANDS = "bands: lowest and highest placement"
# By file name: a function of the jobs with its arguments, and the description of its intervals over placements.
FIGURES: dict[str, tuple[Callable[..., Figure], tuple[Any, ...], str]] = {
    "fig04_pair_communication_times": (pairs.times, (), _BARS),
    "fig05_fft3d_halo3d_throughput": (pairs.series, ("fft3d", "halo3d", pairs.THROUGHPUT, DETAIL), _BANDS),
    "fig06_lu_halo3d_latency": (pairs.series, ("lu", "halo3d", pairs.LATENCY), _BANDS),
    "fig07_lu_halo3d_throughput": (pairs.series, ("lu", "halo3d", pairs.THROUGHPUT), _BANDS),
    "fig08_pair_slowdowns": (pairs.slowdowns, (), _BARS),
    "fig09_cosmoflow_halo3d_throughput": (pairs.series, ("cosmoflow", "halo3d", pairs.THROUGHPUT, DETAIL), _BANDS),
    "fig10_mixed_communication_times": (mixed_jobs.communication_times, (), _BARS),
    "fig11_mixed_stall_times": (mixed_jobs.stall_times, (), _BARS),
    "fig12_mixed_congestion_index": (mixed_jobs.congestion_index, (), "brackets: 95 % intervals over the placements"),
    "fig13_mixed_latency_throughput": (mixed_jobs.latency_and_throughput, (), f"{_BARS}; {_BANDS}"),
    "blame_pairs": (blame.pairs, (), "small numbers: lowest and highest placement"),
    "blame_mixed": (blame.mixed, (), ""),
}
OVER_SEEDS = {name: note for name, (*_, note) in FIGURES.items()}
_RANKS = "bars: one standard deviation over the ranks"
OF_ONE_SEED = {"fig04_pair_communication_times": _RANKS, "fig10_mixed_communication_times": _RANKS}
_SPREADS = {True: "[95 % interval over the placements]", False: "± standard deviation over the ranks"}

Q = "q_adaptive"
# The routings of the published study. Rows may have further policies.
RIVALS = ("ugal_group", "ugal_router", "par")


Cases = dict[str, dict[str, NDArray[np.float64]]]
"""A number of every case and routing, [placements]."""


def draw(rows: Sequence[Row], expected: Mapping[str, Any]) -> dict[str, Figure]:
    """Every figure of the study, by file name."""
    jobs = Jobs(rows)
    return {name: figure(jobs, *further) for name, (figure, further, _) in FIGURES.items()}


def measured(rows: Sequence[Row]) -> dict[str, float | None]:
    """The measured number of every entry in `expected.yaml`."""
    jobs = Jobs(rows)
    alone_with_halo = {name: jobs.pair("halo3d", "none", name) for name in (Q, "par")}
    rate = "jobs.halo3d.injection_rate_gb_per_s"
    halo = {name: float(np.mean([run[rate] for run in runs])) / 1e3 for name, runs in alone_with_halo.items()}
    alone = {name: comm_time(jobs.pair("cosmoflow", "none", name), "cosmoflow").value for name in (Q, "par")}
    cosmoflow = {name: jobs.slowdown("cosmoflow", "halo3d", name).value for name in (Q, "par")}
    rivals = [name for name in jobs.names if name in RIVALS]
    cases = means_of(interfered(jobs))
    ratios = np.array([[case[Q] / case[name] for name in rivals] for case in cases.values()])
    return {
        **{f"halo3d_alone_{name}": halo[name] for name in halo},
        "halo3d_alone_ratio": halo[Q] / halo["par"],
        **{f"cosmoflow_alone_{name}": alone[name] for name in alone},
        **{f"cosmoflow_halo3d_{name}": cosmoflow[name] for name in cosmoflow},
        "cosmoflow_halo3d_ratio": cosmoflow["par"] / cosmoflow[Q],
        "best_reduction": 1 - float(ratios.min()),
        "worst_against_best_rival": float(ratios.max()),
        "mean_against_par": float(np.exp(np.mean(np.log(ratios[:, rivals.index("par")])))),
        "part_of_cases_best": float(np.mean(ratios.max(axis=1) <= 1)),
    }


def interfered(jobs: Jobs) -> Cases:
    """Communication times in ms for targets with their backgrounds and for the mixed jobs."""
    cases = {
        f"{job_title(target)} with {job_title(other)}": {
            name: times(jobs.pair(target, other, name), target) for name in jobs.names
        }
        for target, other in itertools.product(jobs.targets, jobs.backgrounds)
    }
    return cases | {
        f"{job_title(job)} (mixed)": {name: times(jobs.mixed(name), job) for name in jobs.names} for job in MIXED
    }


def means_of(cases: Cases) -> dict[str, dict[str, float]]:
    """The means over the placements."""
    return {case: {name: float(np.mean(ms)) for name, ms in of.items()} for case, of in cases.items()}


def relative(cases: Iterable[Mapping[str, NDArray[np.float64]]], routing: str) -> Interval:
    """Times relative to Q-adaptive: the geometric mean over cases and placements, with its interval."""
    return geometric(mean_interval(np.mean([np.log(case[routing] / case[Q]) for case in cases], axis=0)))


def summary(rows: Sequence[Row]) -> str:
    """Markdown: the order of the routings, the cases in which Q-adaptive is not the fastest, and every pair."""
    jobs = Jobs(rows)
    names, several = jobs.names, len(jobs.placements) > 1
    labels = [paper_style(name).label for name in names]
    cases = interfered(jobs)
    alone = {
        target: {name: times(jobs.pair(target, "none", name), target) for name in names} for target in jobs.targets
    }
    gbs = {name: jobs.throughputs(name) for name in names}
    ends = [*(f"with {job_title(other)}" for other in jobs.backgrounds), "mixed"]
    groups = {
        "targets alone": alone,
        "with a background, and mixed": cases,
        **{end: {case: of for case, of in cases.items() if case.endswith((end, f"({end})"))} for end in ends},
        "throughput of all jobs, runs with several jobs": {
            str(k): {name: own[k] for name, own in gbs.items()} for k in range(len(gbs[Q]))
        },
    }
    order = [
        [title, *(interval_text(relative(group.values(), name), "{:.3f}") for name in names)]
        for title, group in groups.items()
    ]
    interfering = list(itertools.product(jobs.targets, jobs.backgrounds))
    worst = [max(jobs.slowdown(*pair, name).value for pair in interfering) for name in names]
    worse = {case: of[Q] / min(of.values()) - 1 for case, of in means_of(cases).items() if of[Q] > min(of.values())}
    listed = ", ".join(f"{case} (+{excess:.1%})" for case, excess in sorted(worse.items(), key=lambda item: -item[1]))
    every = [
        [job_title(target), job_title(other)]
        + [
            f"{_time_text(jobs.pair(target, other, name), target)} ({jobs.slowdown(target, other, name).value:.2f})"
            for name in names
        ]
        for target, other in itertools.product(jobs.targets, ("none", *jobs.backgrounds))
    ]
    over = f", with 95 % intervals over {len(jobs.placements)} placements" * several
    text = f"Geometric means of communication times, relative to {paper_style(Q).label}{over}."
    spread = f"Communication time in ms, as mean {_SPREADS[several]}, and relative to the target alone."
    return "\n".join(
        [
            section("Order of the routings", ["", *labels], order, text),
            "Largest slowdown of a target by a background, by routing: "
            + ", ".join(f"{label} {ratio:.2f}" for label, ratio in zip(labels, worst, strict=True))
            + ".\n",
            f"{paper_style(Q).label} is not the fastest in {len(worse)} of {len(cases)} cases{': ' * bool(worse)}"
            f"{listed}.\n",
            cost(rows),
            f"{_ended(jobs)}\n",
            section("Every pair", ["target", "background", *labels], every, spread),
        ]
    )


def _ended(jobs: Jobs) -> str:
    # After the end of its background, a target runs alone.
    early = []
    for target, other, name in itertools.product(jobs.targets, jobs.backgrounds, jobs.names):
        for placement, run in zip(jobs.placements, jobs.pair(target, other, name), strict=True):
            finish = run.get(f"jobs.{background_job(target, other)}.finish_ns")
            if finish is not None and finish < run[f"jobs.{target}.finish_ns"]:
                of = f"{paper_style(name).label}" + f", placement {placement}" * (len(jobs.placements) > 1)
                early.append(f"{job_title(target)} with {job_title(other)} ({of})")
    if not early:
        return "Every background outlasts its target."
    return f"The background ends before its target in {len(early)} runs: {', '.join(early)}."


def _time_text(runs: Sequence[Row], job: str) -> str:
    mean = comm_time(runs, job)
    if len(runs) == 1:
        return f"{mean.value:.3f} ± {comm_ms(runs[0], job, 'std'):.3f}"
    return interval_text(mean, "{:.3f}")
