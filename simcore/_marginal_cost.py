"""`MarginalCost`: the delay that a routing decision costs all packets, measured with forks of a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._core import ConfigError
from ._cores import CORES
from ._simulation import Simulation

_NEVER_A_CHOICE_NS = 1e6  # give up after this simulated time without a decision


class MarginalCost(_core.MarginalCost):
    """Measures the marginal cost of routing decisions: the extra delay of each candidate for all packets, in hindsight.

    Decisions are sampled. For every candidate that the routing did not take, the simulation is forked and the fork is
    forced to take that candidate once. The fork then runs with the same packets from the same sources. The cost of the
    candidate is the sum of all packet delays in the fork minus the sum in the original run. Random draws belong to
    packets and sources, never to an order of events, so a fork differs from the run only by the choice and its effects.
    By default the other packets keep the routes of the original run, so that only queueing differs. The packet itself
    is routed by the routing after the forced hop. With `reroute`, the routing routes all packets in the fork, and they
    react to its queues. A network is then chaotic: a detour moves queues, which changes other decisions, and after a
    few round trips the difference between two runs is mostly noise. The mean of the difference may still be small.

    Any routing of the core works that picks among several candidates. The tried candidates are the routing's own list
    if it has one (`ugal_l`, `par`, `dim_war`, ...), the relation of the same name (`q_adaptive`, `q_routing`), or the
    slots of `policy`, `random` and `biased`. The traffic is a pattern, and `routing.record` is 0.

    Args:
        simulation: The simulation whose decisions are tried. `label` advances it as `run` would.
        horizon_ns: Simulated time of a fork, in ns. The cost omits later effects.
        slots: Candidates per decision (2 to 64): the minimal one, the one taken, and random others. A routing that
            decides by slots (`policy`, ...) has its own number instead.
        threads: Threads that run forks, at most one per core. 0: one per core.
        forks: Largest number of forks held at the same time. Each takes up to `facts()["memory_bytes"]`.
        seed: Seed of the sample. The labels do not depend on `threads` and `forks`.
        reroute: Whether the routing routes all packets of a fork again.

    Raises:
        ConfigError: A number is out of its range. The decisions come from outside the core, or have one candidate
            each. The simulation has a workload. The forks need more memory than there is; the message says how many
            fit.
    """

    def __init__(
        self,
        simulation: Simulation,
        horizon_ns: float = 1500,
        slots: int = 8,
        threads: int = 0,
        forks: int = 128,
        seed: int = 0,
        reroute: bool = False,
    ) -> None:
        if not 0 < horizon_ns < 1e9:
            raise ConfigError(f"horizon_ns: {horizon_ns:g} is not between 0 and 1e9")
        horizon = max(1, simulation.cycles(horizon_ns))
        # More threads than cores would wait, and each takes memory.
        super().__init__(simulation, horizon, slots, min(threads or CORES, CORES), forks, seed, reroute)
        self._simulation = simulation

    def label(self, decisions: int, part: float = 0.05, max_ns: float | None = None) -> dict[str, NDArray[Any]]:
        """Run until `decisions` decisions have been sampled, and measure the cost of their candidates.

        Args:
            decisions: Number of decisions to sample.
            part: Probability in (0, 1] with which a decision is sampled. Decisions that are close in time have similar
                costs. A small part spreads the sample, but needs a longer run.
            max_ns: Longest simulated time to run, in ns. None: until all decisions have been found.

        Returns:
            A dict of arrays with a row per decision, in order of time:

                cycle        uint32  [n]         cycle of the decision
                router       uint32  [n]         router that decides
                source       uint32  [n]         source terminal; `source` and `sequence` identify the packet
                destination  uint32  [n]         destination terminal
                sequence     uint32  [n]         number of the packet at its source
                hops         uint32  [n]         router-to-router hops that the packet has made
                came_by      uint8   [n]         last hop: 0 from the source, 1 local link, 2 global link
                candidates   uint32  [n]         candidates of the decision
                tried        uint32  [n]         slots in use, including the one taken; they come first
                taken        uint32  [n]         slot that the routing took
                port         uint16  [n, slots]  output port of the router
                vc_class     uint16  [n, slots]  VC class
                cost_ns      float64 [n, slots]  delay of all packets, in packet-ns, minus that of the taken slot;
                                                 0 for the taken slot, NaN without a candidate
                mask         bool    [n, slots]  slots in use
                observation  float32 [n, width]  for routings that decide by slots; otherwise width is 0

        Raises:
            ConfigError: A number is out of its range, or no decision was found within `max_ns` (or a millisecond).
            CoreError: Called between `collect()` and `apply()`, or at the end of simulated time.
        """
        simulation = self._simulation
        cycles = max(1, simulation.cycles(_NEVER_A_CHOICE_NS if max_ns is None else max_ns))
        pieces = [self._label(decisions, part, cycles)]
        left = decisions - len(pieces[0]["cycle"])
        while max_ns is None and left > 0 and len(pieces[-1]["cycle"]):
            pieces.append(self._label(left, part, cycles))
            left -= len(pieces[-1]["cycle"])
        if not len(pieces[0]["cycle"]):
            raise ConfigError(
                f"marginal cost: routing.{simulation.facts()['routing']} made no choice in "
                f"{cycles * simulation.cycle_ns:,.0f} ns: every packet has one candidate, or part={part:g} is too small"
            )
        rows = {key: np.concatenate([piece[key] for piece in pieces]) for key in pieces[0]}
        rows["mask"] = np.arange(rows["cost"].shape[1]) < rows["tried"][:, None]
        rows["cost_ns"] = np.where(rows["mask"], rows.pop("cost") * simulation.cycle_ns, np.nan)
        return rows
