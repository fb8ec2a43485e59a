"""`PacketBatch`: all decisions of K networks, in the core's memory, for algorithms outside the core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..simcore import ConfigError, CoreError, Simulation, SimulationBatch
from ..simcore._cores import CORES
from .experience.block_rows import BlockRows
from .experience.chains import horizon_cycles
from .experience.own_columns import OwnColumns
from .experience.ring import Ring, Rows
from .experience.seeds import Episodes
from .experience.world import check_number
from .packet_network import PacketNetwork
from .packet_options import PacketOptions

_OBSERVATIONS = ("observation", "next_observation")
_OF_PACKETS_AND_EPISODES = ("control", "invalid", "episode_ns", "episode_decisions")
_VIEWS = ("_batch", "observation", "mask", "network", "router", "decision")


class PacketBatch:
    """All decisions of a cycle of K networks at once, and their transitions.

        batch = PacketBatch(4, overrides=["topology=dragonfly_1056"])
        batch.reset(seed=1)
        while batch.time_ns.min() < 10_000:
            n = batch.collect()
            action, log_probability, value = policy(batch.observation[:n], batch.mask[:n])
            batch.apply(action, log_probability=log_probability, value=value)
            if enough:
                learn(batch.take())

    **Decisions.** `collect()` runs every network to its next cycle with a decision, so the networks may have different
    times. The decisions are rows [0, n) of five arrays, network after network:

        observation  float32 [rows, width]  features: the general ones, then those of slot 0, slot 1, ...; `seam` has
                                            their names, bounds and meanings
        mask         bool    [rows, slots]  true for slots with a candidate; slot 0, a minimal path, always has one
        network      uint32  [rows]         0 .. K - 1
        router       uint32  [rows]         the router of the decision
        decision     uint64  [rows]         the number of the decision in its network, from 0; transitions refer to it

    `begun_ns` and `time_ns` are arrays [K] of simulated times: that of the agent's first cycle, and the present one.

    The five arrays are views of memory that stays at the same address until the next `reset()`. Every cycle overwrites
    the values, also in a tensor made by `torch.from_numpy`; copy the values to keep them. Rows from n on hold old
    values.

    **Transitions.** The core records a decision in the ring of its network when two conditions hold. Its reward is
    known (at the packet's next decision, or at its delivery), and the feedback has travelled back to the router of the
    decision. `take()` returns copies of the transitions since the last call, with the columns that `apply()` was given.
    `Ring(simulations[k])` reads the ring of a network directly, for example for replay, and raises an error if the ring
    overflows. `Simulation.transitions` lists the columns and their types. Decisions without a reward at `reset()` are
    never recorded.

    `copy.deepcopy`, pickle and `fork` make an independent batch, at any time.

    **Blocks from Python.** Observations and rewards registered by `flitgym.env.experience.blocks` are selected by name,
    as the core's are. `observation`, `seam` and `take()` treat both alike; the core's rings have only the core's
    blocks. With a reward from Python, `take()` also returns `next_decided`, the cycle of the packet's next decision (0
    without one).

    Args:
        num_envs: K.
        threads: number of threads that share the networks; 0 = one per core. The results do not depend on it. Threads
            help if a step of all networks takes more than about 0.5 ms.
        **keywords: those of `PacketOptions` without `control`, `invalid`, `episode_ns` and `episode_decisions`. A ring
            holds `record` transitions, which must be at least the number recorded between two calls of `take()`.

    Raises:
        ConfigError: a keyword is unknown, or the world cannot be built.
    """

    observation: NDArray[np.float32]
    mask: NDArray[np.bool_]
    network: NDArray[np.uint32]
    router: NDArray[np.uint32]
    decision: NDArray[np.uint64]
    begun_ns: NDArray[np.float64]

    def __init__(self, num_envs: int = 1, threads: int = 1, **keywords: Any) -> None:
        check_number("num_envs", num_envs, 1, whole=True)
        check_number("threads", threads, whole=True)
        self.num_envs, self.threads = num_envs, threads
        self.options = PacketOptions.read(keywords, type(self).__name__, without=_OF_PACKETS_AND_EPISODES)
        self.simulations: list[Simulation] = []
        self._batch: SimulationBatch | None = None
        self._episodes = Episodes(0)

    def reset(self, seed: int | None = None) -> None:
        """Draw K new networks. Network k equals that of the next episode of a `PacketRoutingEnv` with seed + k.

        Args:
            seed: restarts the sequence of networks; None continues it.
        """
        self._episodes.begin(seed)
        parts = self.options.parts
        seeds = self._episodes.next_of(self.num_envs)
        self.simulations = [PacketNetwork(self.options, 0).draw(number) for number in seeds]
        self._first = np.array([simulation.decision_count for simulation in self.simulations], np.uint64)
        self._rings = [Ring(simulation, _OBSERVATIONS if parts.in_python else ()) for simulation in self.simulations]
        horizons = np.array([horizon_cycles(simulation) for simulation in self.simulations], np.int64)
        self._own = OwnColumns(
            horizons, tuple({**self._rings[0].columns, **dict.fromkeys(_OBSERVATIONS), "network": None})
        )
        # Columns of a decision that Python computes, kept until its transition arrives.
        self._added = OwnColumns(horizons, ()) if parts.in_python or parts.reward else None
        self._blocks = BlockRows(parts, self.simulations) if parts.in_python else None
        self._count = 0
        self._look()
        self.begun_ns = self.time_ns

    def collect(self, max_cycles: int = 10_000) -> int:
        """Run to the next decisions.

        Args:
            max_cycles: a network stops after this number of cycles without a decision.

        Returns:
            The number of decisions; 0 if no network had one in that time.

        Raises:
            ConfigError: a ring overflowed in this step. The message names the size that the ring needs.
                A block from Python wrote an invalid value. The message names the block, the feature and the value.
                After this error, only `reset()` continues.
        """
        batch = self._built()
        self._count = batch.collect(max_cycles)
        if batch.most_filed > self.options.record:
            raise ConfigError(
                f"record: {batch.most_filed} transitions came in one step and the ring holds {self.options.record}; "
                f"set record to {batch.most_filed} or more"
            )
        if self._blocks is not None:
            self._blocks.write(self._count)
        return self._count

    def apply(self, actions: ArrayLike, log_probability: ArrayLike | None = None, **columns: ArrayLike) -> None:
        """Decide, and keep columns that come back with the transitions.

        Args:
            actions: a slot for each decision, [n], in the order of the rows.
            log_probability: of each action, [n]; the transitions hold NaN if it is left out.
            **columns: arrays [n, ...] of numbers or booleans under any names, e.g. `value=`, `hidden=`. Every call must
                give the same names until `reset()`. The arrays are copied, and `take()` returns them.

        Raises:
            ConfigError: a slot has no candidate, a column has a wrong length or another shape than before, or a ring
                overflowed because `take()` was not called. After the error, no decision is made.
        """
        batch, n = self._built(), self._count
        actions = np.asarray(actions)
        if actions.dtype.kind not in "iu" and len(actions):
            raise ConfigError(f"actions: {actions.dtype}; slots are whole numbers")
        noted = [(self._own, columns)] if columns or self._own.names else []
        added = self._added
        if added is not None and not added.has_room(n) and any(ring.outrun for ring in self._rings):
            self._added = None  # the caller does not use take(), which raises an error from here on
        if self._added is not None:
            noted.append((self._added, self._addition(n)))
        if not noted:
            batch.apply(actions, log_probability)
            return
        if not all(own.has_room(n) for own, _ in noted):
            self._check_rings()
        before = [(own, len(own)) for own, _ in noted]
        try:
            for own, given in noted:
                own.add(self.network[:n], self.decision[:n], given)
            batch.apply(actions, log_probability)
        except BaseException:
            for own, count in before:
                if len(own) > count:
                    own.drop(len(own) - count)
            raise

    def take(self) -> Rows:
        """The transitions since the last call, network by network, in the order in which the core recorded them.

        Returns:
            Copies, [n, ...] each, of the columns of `Simulation.transitions` (`observation`, `mask`, `action`,
            `log_probability`, `reward`, `done`, `next_observation`, `next_mask`, `decision`, `next_decision`, `router`,
            `decided`, `job`), and `network` uint32 [n]. A column of `apply()` has its value at the decision; `next_...`
            has its value at the packet's next decision. Without a next decision (`next_decision` is `NO_DECISION`),
            `next_...` is 0. A decision made before `apply()` got columns has NaN, or 0 in a column of integers.

        Raises:
            ConfigError: a ring overflowed, so transitions are lost. The message names the size that the ring needs.
        """
        self._built()
        self._check_rings()
        new = [(ring.columns, part, k) for k, ring in enumerate(self._rings) for part in ring.new()]
        new = new or [(self._rings[0].columns, slice(0, 0), 0)]
        rows = {name: np.concatenate([columns[name][part] for columns, part, _ in new]) for name in new[0][0]}
        counts = [part.stop - part.start for _, part, _ in new]
        rows["network"] = np.repeat(np.array([k for *_, k in new], np.uint32), counts)
        if self._first.any():  # decisions of the background are not the agent's
            rows = {name: column[rows["decision"] >= self._first[rows["network"]]] for name, column in rows.items()}
        now = np.array([simulation.now for simulation in self.simulations], np.int64)
        if self._own.names:
            rows |= self._own.join(rows, now)
        if self._added is not None:
            self._add_to(rows, now)
        return rows

    @property
    def time_ns(self) -> NDArray[np.float64]:
        """Simulated time of every network, [K]."""
        return np.array([simulation.time_ns for simulation in self.simulations])

    @property
    def seam(self) -> dict[str, Any]:
        """The features, with names, bounds and meanings."""
        self._built()
        return self.options.parts.seam(self.simulations[0].seam())

    def _built(self) -> SimulationBatch:
        if self._batch is None:
            raise CoreError("PacketBatch: it has no networks yet; call reset() first")
        return self._batch

    def _look(self) -> None:
        self._batch = batch = SimulationBatch(list(self.simulations), self.threads or CORES)
        self.observation, self.mask, self.decision = batch.observation, batch.mask, batch.decision
        self.network, self.router = batch.network, batch.router
        if self._blocks is not None:
            self._blocks.look(batch)
            self.observation = self._blocks.observation

    def _addition(self, n: int) -> dict[str, ArrayLike]:
        """Python's columns of the present decisions."""
        addition: dict[str, ArrayLike] = {}
        if self._blocks is not None:
            addition["observation"] = self.observation[:n]
        if self.options.parts.reward is not None:
            now = np.array([simulation.now for simulation in self.simulations], np.int64)
            addition["decided"] = now[self.network[:n]]
        return addition

    def _add_to(self, rows: Rows, now: NDArray[np.int64]) -> None:
        """Replace the columns of transitions that Python computes."""
        assert self._added is not None
        if not self._added.names:  # no decision was made yet
            self._added.add(self.network[:0], self.decision[:0], self._addition(0))
        added = self._added.join(rows, now)
        if self._blocks is not None:
            for name in _OBSERVATIONS:
                rows[name] = added[name]
            rows["next_observation"][rows["done"]] = 0
        if self.options.parts.reward is not None:
            rows["next_decided"] = added["next_decided"]
            rows["reward"] = self.options.parts.rewards(rows, self.simulations)

    def _check_rings(self) -> None:
        for k, ring in enumerate(self._rings):
            if ring.outrun:
                raise ConfigError(
                    f"record: {ring.unread} transitions of network {k} came since the last take() and the ring holds "
                    f"{ring.capacity}; set record to {ring.unread} or more, or call take() more often"
                )

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in _VIEWS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._batch = None
        if self.simulations:
            self._look()
