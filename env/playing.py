"""Plays a policy in a network and measures it, also a routing of the core or a policy file on the same seeds."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..configs.policies import foreign_policy
from ..simcore import ConfigError, CoreError, Simulation
from ..simcore._window import cautions_of, measure_window
from .experience.seeds import episode_seed
from .experience.world import World, refuse_stuck, routing_section, window_cycles
from .packet_batch import PacketBatch
from .packet_options import Choose, world_of

MEASURED = ("packet_latency_mean_ns", "packet_latency_p99_ns", "accepted_load", "offered_load", "hops_mean")
_OF_JOBS = ("packet_latency_mean_ns", "packet_latency_p99_ns", "hops_mean")
_NETWORK = ("topology", "router", "congestion_control", "failures")  # sections of a world besides traffic and jobs
_WINDOW_NS = 20_000.0
_LOOK = 1024  # cycles between two checks for the end of the jobs

# A new network of a world and a seed, and a function that runs it for a number of cycles.
_Player = Callable[[World, int], tuple[Simulation, Callable[[int], Any]]]


def play(
    policy: Choose | str | os.PathLike[str],
    world: World | Mapping[str, Any] | None = None,
    overrides: Sequence[str] | None = None,
    seeds: Sequence[int] = (101, 102, 103),
    warmup_ns: float | None = None,
    measure_ns: float | None = None,
    max_ns: float = 1e8,
    alone: bool = True,
    **keywords: Any,
) -> dict[str, float]:
    """Measure a policy that makes every decision of a network, by latency and load or by the times of jobs.

    Args:
        policy: a rule that maps observations [n, width] and masks [n, slots] to slots [n]. Slot 0 replaces a slot
            without a candidate, as in the environments. Or the name of a routing of the core, as after `routing=`, e.g.
            `ugal_l`. Or the path of a policy file, `*.safetensors`.
        world: as in `PacketOptions`.
        overrides: as in `PacketOptions`.
        seeds: of the networks; use the same for all policies in a comparison.
        warmup_ns: simulated time before the measuring window; None: 20,000. A workload has no window.
        measure_ns: simulated time of the window; None: 20,000.
        max_ns: with a workload, the simulated time after which unfinished jobs are an error.
        alone: with several jobs, whether to run each job also alone on its terminals, for its slowdown.
        **keywords: further keywords of `PacketBatch`, only for a rule: `slots`, `observation`, `relation`,
            `slots_by`.

    Returns:
        The means over the seeds. With traffic: `packet_latency_mean_ns`, `packet_latency_p99_ns`, `accepted_load`,
        `offered_load` (flits per terminal per flit time) and `hops_mean`. With a workload, of the whole run:
        `packet_latency_mean_ns`, `packet_latency_p99_ns`, `hops_mean`, and for each job `comm_time_ns@<job>`, the mean
        communication time of its ranks, and `slowdown@<job>`, this time divided by its time alone with the same policy.
        A warning names windows in which the network was saturated or had not settled.

    Raises:
        ConfigError: a keyword is unknown, the world or the routing cannot be built, or a window is given with a
            workload.
        CoreError: jobs are not done after `max_ns`, or their ranks wait for ever.
    """
    made = world_of(world, overrides, None)
    if isinstance(policy, str | os.PathLike):
        if keywords:
            raise ConfigError(f"play(): {', '.join(keywords)}: only a rule takes keywords of PacketBatch")
        player = _routed(routing_section("policy", os.fspath(policy)))
    else:
        player = _ruled(policy, keywords)
    runs: list[dict[str, float]] = []
    cautions: list[dict[str, str]] = []
    for seed in seeds:
        simulation, advance = player(made, seed)
        if simulation.jobs():
            if warmup_ns is not None or measure_ns is not None:
                raise ConfigError("play(): warmup_ns and measure_ns are for traffic; a workload has no window")
            run = _worked(simulation, advance, max_ns)
            if alone:
                run |= _slowdowns(made, seed, simulation, run, player, max_ns)
            runs.append(run)
            continue
        advance(window_cycles(simulation, "warmup_ns", _WINDOW_NS if warmup_ns is None else warmup_ns))
        measured = window_cycles(simulation, "measure_ns", _WINDOW_NS if measure_ns is None else measure_ns)
        window = measure_window(simulation, measured, advance)
        statistics = simulation.statistics()
        runs.append({name: statistics[name] for name in MEASURED})
        cautions.append(cautions_of({**statistics, **window}))
    for kind in dict.fromkeys(kind for found in cautions for kind in found):
        texts = [found[kind] for found in cautions if kind in found]
        warnings.warn(f"play(): {len(texts)} of {len(cautions)} runs, for example: {texts[0]}", stacklevel=2)
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: float(np.mean([run[name] for run in runs if name in run])) for name in names}


def _routed(section: Mapping[str, Any]) -> _Player:
    def player(world: World, seed: int) -> tuple[Simulation, Callable[[int], Any]]:
        simulation = world.simulation(section, episode_seed(seed, 0))
        if note := foreign_policy(section, simulation.facts()["topology"]):
            warnings.warn(note, stacklevel=3)
        return simulation, simulation.run

    return player


def _ruled(policy: Choose, keywords: Mapping[str, Any]) -> _Player:
    def player(world: World, seed: int) -> tuple[Simulation, Callable[[int], Any]]:
        batch = PacketBatch(1, world=world, **keywords)
        batch.reset(seed=seed)
        simulation = batch.simulations[0]

        def advance(cycles: int) -> None:
            until = simulation.now + cycles
            while simulation.now < until:
                if n := batch.collect(until - simulation.now):
                    mask = batch.mask[:n]
                    chosen = np.asarray(policy(batch.observation[:n], mask), np.int64)
                    batch.apply(np.where(np.take_along_axis(mask, chosen[:, None], axis=1)[:, 0], chosen, 0))

        return simulation, advance

    return player


def _worked(simulation: Simulation, advance: Callable[[int], Any], max_ns: float) -> dict[str, float]:
    """Run until the jobs are done, and measure."""
    simulation.begin_window()
    while not simulation.workload_finished:
        refuse_stuck(simulation)
        if simulation.time_ns >= max_ns:
            raise CoreError(f"the jobs are not done after max_ns={max_ns:g}:{simulation.waiting()}")
        advance(_LOOK)
    statistics = simulation.statistics()
    times = {f"comm_time_ns@{job['name']}": float(np.mean(job["rank_comm_time_ns"])) for job in simulation.jobs()}
    return {name: statistics[name] for name in _OF_JOBS} | times


def _slowdowns(
    world: World, seed: int, together: Simulation, run: Mapping[str, float], player: _Player, max_ns: float
) -> dict[str, float]:
    jobs = together.jobs()
    if len(jobs) == 1:
        return {f"slowdown@{jobs[0]['name']}": 1.0}
    network = {key: value for key, value in together.configuration().items() if key in _NETWORK}
    workload = world.draw(episode_seed(seed, 0))["workload"]
    found = {}
    for given, job in zip(workload["jobs"], jobs, strict=True):
        own = {**given, "terminals": job["rank_terminal"].tolist()}
        by_itself = World({**network, "workload": {**workload, "jobs": [own], "placement": "linear"}})
        time = f"comm_time_ns@{job['name']}"
        least = _worked(*player(by_itself, seed), max_ns)[time]
        found[f"slowdown@{job['name']}"] = run[time] / least if least else float("nan")
    return found
