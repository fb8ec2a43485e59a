"""Plays a policy in a network and measures it, also a routing of the core on the same seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from ..configs import compose, core_sections, explain
from ..simcore import ConfigError, Simulation
from .experience.seeds import episode_seed
from .experience.world import World
from .packet_batch import PacketBatch
from .packet_options import Choose, world_of

MEASURED = ("packet_latency_mean_ns", "packet_latency_p99_ns", "accepted_load", "offered_load", "hops_mean")


def play(
    policy: Choose | str,
    world: World | Mapping[str, Any] | None = None,
    overrides: Sequence[str] | None = None,
    seeds: Sequence[int] = (101, 102, 103),
    warmup_ns: float = 20_000.0,
    measure_ns: float = 20_000.0,
    **keywords: Any,
) -> dict[str, float]:
    """Mean latency, accepted load and more of a policy that makes every decision of a network.

    Args:
        policy: a rule that maps observations [n, width] and masks [n, slots] to slots [n]. Slot 0 replaces a slot
            without a candidate, as in the environments. Or the name of a routing of the core, as after `routing=`, e.g.
            `ugal_l`.
        world: as in `PacketOptions`.
        overrides: as in `PacketOptions`.
        seeds: of the networks; use the same for all policies in a comparison.
        warmup_ns: simulated time before the measuring window.
        measure_ns: simulated time of the window.
        **keywords: further keywords of `PacketBatch`, only for a rule: `slots`, `observation`, `relation`.

    Returns:
        The means over the seeds of `packet_latency_mean_ns`, `packet_latency_p99_ns`, `accepted_load`, `offered_load`
        (flits per terminal per flit time) and `hops_mean`.

    Raises:
        ConfigError: a keyword is unknown, or the world or the routing cannot be built.
    """
    if isinstance(policy, str):
        made = world_of(world, overrides, None)
        try:
            routing = core_sections(compose([f"routing={policy}"]))["routing"]
        except (HydraException, OmegaConfBaseException) as error:
            raise ConfigError(f"policy: {explain(error)}") from error
        runs = [_measured(made.simulation(routing, episode_seed(seed, 0)), warmup_ns, measure_ns) for seed in seeds]
    else:
        runs = []
        for seed in seeds:
            batch = PacketBatch(1, world=world, overrides=overrides, **keywords)
            batch.reset(seed=seed)
            runs.append(_played(batch, policy, warmup_ns, measure_ns))
    return {name: float(np.mean([run[name] for run in runs])) for name in MEASURED}


def _measured(simulation: Simulation, warmup_ns: float, measure_ns: float) -> dict[str, float]:
    simulation.run_ns(warmup_ns)
    simulation.begin_window()
    simulation.run_ns(measure_ns)
    return simulation.statistics()


def _played(batch: PacketBatch, policy: Choose, warmup_ns: float, measure_ns: float) -> dict[str, float]:
    simulation = batch.simulations[0]
    warm, end = simulation.cycles(warmup_ns), simulation.cycles(warmup_ns + measure_ns)
    for until in (warm, end):
        if until == end:
            simulation.begin_window()
        while simulation.now < until:
            if n := batch.collect(until - simulation.now):
                mask = batch.mask[:n]
                chosen = np.asarray(policy(batch.observation[:n], mask), np.int64)
                batch.apply(np.where(np.take_along_axis(mask, chosen[:, None], axis=1)[:, 0], chosen, 0))
    return simulation.statistics()
