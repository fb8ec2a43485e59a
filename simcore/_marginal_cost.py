"""`MarginalCost`: what a choice costs all packets, by forks of a simulation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._core import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._simulation import Simulation

_MOST_THREADS = 1024  # of the core
_NEVER_A_CHOICE_NS = 1e6  # of simulated time without a decision: there is none to wait for


class MarginalCost(_core.MarginalCost):
    """The marginal costs of a simulation's decisions: what each candidate would have cost, in hindsight.

    A decision is sampled; for every candidate that the routing did not take the state is forked, the candidate is
    forced once, and the fork runs on with the same packets from the same sources. The difference of all packets' delays
    from the run as it was is what that candidate costs more. Draws belong to packets and sources (never to an order of
    events), so a fork differs from the run by nothing but the choice and what follows from it.

    By default the other packets keep the routes that they take in the run, so that what follows is queueing alone; the
    packet itself is routed on by the simulation's routing. With `reroute` all packets are, and react to what they see.
    A network is chaotic then: one detour moves queues, these turn decisions of others, and after some round trips the
    difference of two runs is mostly noise, though its mean may be small.

    Forks hold and run only the routers at which they differ from the run, where packets are of one flit, others keep
    their routes, and the network is in one partition, without failures to come and without an oracle (`ugal_global`)
    or decisions that count each other (`allocation=sequential`); else each is a copy of the whole network, and some
    two to three times as slow. Both give the same costs.

    The simulation may have any routing of the core that picks among several candidates: its own list of candidates
    where it has one (`ugal_l`, `par`, `dim_war`, ...), the relation of its name otherwise (`q_adaptive`, `q_routing`),
    the slots of its decisions for `policy`, `random` and `biased`. Traffic is a pattern; `routing.record` is 0.

    Args:
        simulation: whose decisions are tried. `label` moves it on as `run` would.
        horizon_ns: of simulated time that a fork runs at most. What a choice changes after that is not in its cost; a
            fork that has become equal to the run before (`settled`) would say the same with any longer horizon.
        slots: candidates tried per decision (2 to 64): the minimal one, the one taken, and of more others at random. A
            routing that decides by slots (`policy`, ...) has its own number.
        threads: that forks run on; at most one per core is started, 0 = one per core.
        forks: held at once to be tried together; each takes up to `facts()["memory_bytes"]`.
        check_cycles: from one look whether a whole fork has become equal to the next; 0 = never look.
        seed: of the sample. The labels do not depend on `threads` and `forks`.
        reroute: whether the routing decides anew on all packets in a fork.

    Raises:
        ConfigError: a number out of its range; decisions that come from outside, or among one candidate each; a
            workload; more forks than there is memory for, with the number that fit.
    """

    def __init__(
        self,
        simulation: Simulation,
        horizon_ns: float = 1500,
        slots: int = 8,
        threads: int = 0,
        forks: int = 128,
        check_cycles: int = 64,
        seed: int = 0,
        reroute: bool = False,
    ) -> None:
        if not 0 < horizon_ns < 1e9:
            raise ConfigError(f"horizon_ns: {horizon_ns:g} is not between 0 and 1e9")
        horizon = max(1, simulation.cycles(horizon_ns))
        numbers = {"slots": slots, "threads": threads, "forks": forks, "check_cycles": check_cycles, "seed": seed}
        for key, number in numbers.items():
            most = _MOST_THREADS if key == "threads" else 2**32 - 1
            if not 0 <= number <= most:
                raise ConfigError(f"{key}: {number} is not in [0, {most}]")
        # More threads would wait for a core, and each takes memory.
        cores = min(threads or _MOST_THREADS, len(os.sched_getaffinity(0)))
        super().__init__(simulation, horizon, slots, cores, forks, check_cycles, seed, reroute)
        self._simulation = simulation

    def label(self, decisions: int, part: float = 0.05, max_ns: float | None = None) -> dict[str, NDArray[Any]]:
        """Run on until so many decisions have been sampled, and try their candidates.

        Args:
            decisions: to be sampled.
            part: probability of each decision to be sampled, in (0, 1]. Decisions that are near each other in time say
                much the same; a small part spreads the sample, at the price of a longer run.
            max_ns: of simulated time to run at most; None: until they have been found.

        Returns:
            A row per decision, in order of time:

                cycle        uint32  [n]         at which it was made
                router       uint32  [n]
                source       uint32  [n]         terminal; with `sequence` it names the packet
                destination  uint32  [n]         terminal
                sequence     uint32  [n]
                hops         uint32  [n]         links between routers that lay behind the packet
                came_by      uint8   [n]         0 from its source, 1 by a local, 2 by a global link
                candidates   uint32  [n]         to choose from
                tried        uint32  [n]         slots in use, taken one included; those come first
                taken        uint32  [n]         slot of what the routing took
                port         uint16  [n, slots]  of the router
                vc_class     uint16  [n, slots]
                cost_ns      float64 [n, slots]  sum over all packets of the delay more than with the taken slot;
                                                 0 there, NaN where there is no candidate
                settled      bool    [n, slots]  the fork became equal to the run; True for the taken slot
                cycles       uint32  [n, slots]  that the fork has run
                mask         bool    [n, slots]  slots in use
                observation  float32 [n, width]  of a routing that decides by slots; else width is 0

        Raises:
            ConfigError: a number out of its range; no decision was found within `max_ns` (or a millisecond).
            CoreError: between `collect()` and `apply()`; the end of simulated time.
        """
        if not 0 < decisions < 2**32:
            raise ConfigError(f"decisions: {decisions} is less than 1")
        simulation, most = self._simulation, None if max_ns is None else self._simulation.cycles(max_ns)
        pieces: list[dict[str, NDArray[Any]]] = []
        found = 0
        while found < decisions:
            cycles = max(1, simulation.cycles(_NEVER_A_CHOICE_NS)) if most is None else most
            piece = self._label(decisions - found, part, cycles)
            pieces.append(piece)
            found += len(piece["cycle"])
            if most is not None or not len(piece["cycle"]):
                break
        if not found:
            raise ConfigError(
                f"marginal cost: routing.{simulation.facts()['routing']} had nothing to choose among in "
                f"{cycles * simulation.cycle_ns:,.0f} ns: each packet has one candidate, or part={part:g} is too small"
            )
        rows = {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}
        rows["mask"] = np.arange(rows["cost"].shape[1]) < rows["tried"][:, None]
        rows["cost_ns"] = np.where(rows["mask"], rows.pop("cost") * simulation.cycle_ns, np.nan)
        rows["settled"] = rows["settled"].astype(bool)
        return rows
