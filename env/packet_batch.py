"""`PacketBatch`: all decisions of K networks, in the core's own memory, for those who write their own algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..configs import unknown
from ..simcore import ConfigError, CoreError, Simulation, SimulationBatch
from .experience.block_rows import BlockRows
from .experience.chains import horizon_cycles
from .experience.own_columns import OwnColumns
from .experience.ring import Ring, Rows
from .experience.seeds import Episodes
from .packet_options import PacketOptions, check_room

_OBSERVATIONS = ("observation", "next_observation")
_VIEWS = ("_batch", "observation", "mask", "network", "router", "decision")


class PacketBatch:
    """All decisions of a cycle of K networks at once, and the transitions that come of them.

        batch = PacketBatch(4, overrides=["topology=dragonfly_1056"])
        batch.reset(seed=1)
        while batch.time_ns.min() < 10_000:
            n = batch.collect()
            action, log_probability, value = policy(batch.observation[:n], batch.mask[:n])
            batch.apply(action, log_probability=log_probability, value=value)
            if enough:
                learn(batch.take())

    **Decisions.** `collect()` takes every network to its next cycle with a decision, so they need not be at the same
    time. The decisions are rows [0, n) of five arrays, network after network:

        observation  float32 [rows, width]  features; `seam` has their names, bounds and meanings
        mask         bool    [rows, slots]  which slots hold a candidate; slot 0, a minimal way, always does
        network      uint32  [rows]         0 .. K - 1
        router       uint32  [rows]         that asks
        decision     uint64  [rows]         the number by which the transition will name it: how many were made in
                                            this network before

    All five are views whose addresses stay the same until the next `reset()`: read them, keep none; a tensor made of
    one by `torch.from_numpy` sees every cycle. What lies behind row n is left from before.

    **Transitions.** A decision is filed in its network's ring when its reward is known (at the packet's next decision,
    or at its delivery) and the news has travelled back to the router that made it. `take()` returns what was filed
    since the last call, whole and copied, with the columns that `apply()` was given. Those who read the rings
    themselves (replay, say) find them in `transitions(k)`, their fill in `filed(k)`, and in `ring(k)` a reader that
    raises when it is outrun. Columns and their types: `Simulation.transitions`. What is still open at `reset()` is
    never filed.

    `copy.deepcopy`, pickle and `fork` give a batch that goes on by itself, at any time.

    **Blocks from Python.** Observations and rewards registered by `flitgym.env.experience.blocks` are named like the
    core's, and `observation`, `seam` and `take()` show them in the same way. The core's rings know nothing of
    them: `transitions(k)` and `ring(k)` then come without `observation` and `next_observation`, or without `reward`.
    With a reward from Python `take()` has `next_decided`, too, the cycle of the packet's next decision (0: there is
    none).

    Args:
        num_envs: K.
        **keywords: `world`, `overrides`, `vary`, `slots`, `observation`, `reward`, `relation` and `record` (transitions
            that a ring holds: more than are filed between two `take()`) of `PacketOptions`; the others are about single
            packets and episodes, which a batch leaves to its owner.

    Raises:
        ConfigError: unknown keyword, or a world that cannot be built.
    """

    KEYWORDS = ("world", "overrides", "vary", "slots", "observation", "reward", "relation", "record")

    observation: NDArray[np.float32]
    mask: NDArray[np.bool_]
    network: NDArray[np.uint32]
    router: NDArray[np.uint32]
    decision: NDArray[np.uint64]

    def __init__(self, num_envs: int = 1, **keywords: Any) -> None:
        for key in keywords:
            if key not in self.KEYWORDS:
                raise ConfigError(unknown(type(self).__name__, key, self.KEYWORDS, "keyword"))
        if num_envs < 1:
            raise ConfigError(f"num_envs: {num_envs}; there must be at least one network")
        self.num_envs = num_envs
        self.options = PacketOptions.read(keywords, type(self).__name__)
        self._parts = self.options.parts()
        self.simulations: list[Simulation] = []
        self._batch: SimulationBatch | None = None
        self._episodes = Episodes(0)

    def reset(self, seed: int | None = None) -> None:
        """Draw K new networks: network k is that of `PacketRoutingEnv` with seed + k, of its next episode.

        Args:
            seed: starts anew with this seed; none goes on.
        """
        self._episodes.begin(seed)
        routing, world = self.options.routing(), self.options.world
        self.simulations = []
        for number in self._episodes.next_of(self.num_envs):
            self.simulations.append(world.simulation(routing, number))
            if len(self.simulations) == 1:
                check_room(self.simulations[0], self.num_envs)
        parts = self._parts
        self._rings = [Ring(simulation, _OBSERVATIONS if parts.observations else ()) for simulation in self.simulations]
        horizons = np.array([horizon_cycles(simulation) for simulation in self.simulations], np.int64)
        self._own = OwnColumns(
            horizons, tuple({**self._rings[0].columns, **dict.fromkeys(_OBSERVATIONS), "network": None})
        )
        # What Python adds to a decision, until its transition comes.
        self._added = OwnColumns(horizons, ()) if parts.observations or parts.reward else None
        self._blocks = BlockRows(parts, self.simulations) if parts.observations else None
        self._count = 0
        self._look()

    def collect(self, max_cycles: int = 10_000) -> int:
        """Go on to the next decisions.

        Args:
            max_cycles: at most so many cycles in a network that asks nothing.

        Returns:
            Their number; 0 means that no network has asked anything in that time.

        Raises:
            ConfigError: more transitions were filed in this step than a ring holds; names the number that it needs. Or
                a block from Python wrote what it must not; names the block, the feature and its value. Then only
                `reset()` goes on.
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
        """Decide, and note what shall come back with the transitions.

        Args:
            actions: a slot for each decision, [n], in the order of the rows.
            log_probability: of each action, [n]; the transitions hold NaN without.
            **columns: arrays [n, ...] of numbers or truth values by names of your own, e.g. `value=`, `hidden=`; the
                same with every decision until `reset()`. They are copied, kept per decision, and handed out by
                `take()`.

        Raises:
            ConfigError: a slot without a candidate, a column of the wrong length or another shape than before, or
                columns that pile up because nobody calls `take()`; nothing is decided then.
        """
        batch, n = self._built(), self._count
        actions = np.asarray(actions)
        if actions.dtype.kind not in "iu" and len(actions):
            raise ConfigError(f"actions: {actions.dtype}; slots are whole numbers")
        noted = [(self._own, columns)] if columns or self._own.names else []
        if self._added is not None and not self._added.has_room(n) and self._outrun():
            self._added = None  # nobody takes, and take() would raise from here on: there is nothing to keep it for
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
        """The transitions that were filed since the last call, network by network, in the order of their news.

        Returns:
            Copies, [n, ...] each, of the columns of `Simulation.transitions` (`observation`, `mask`, `action`,
            `log_probability`, `reward`, `done`, `next_observation`, `next_mask`, `decision`, `next_decision`, `router`,
            `decided`, `job`), `network` uint32 [n], and for each column of `apply()` its value at the decision and
            `next_...`, that at the packet's next decision. 0 where there is no next one (`next_decision` is
            `NO_DECISION`), NaN (0 in a column of integers) where `apply()` was given no columns yet.

        Raises:
            ConfigError: more were filed than the ring holds, so that some are lost; names the number that it needs.
        """
        self._built()
        self._check_rings()
        new = [(ring.columns, part, k) for k, ring in enumerate(self._rings) for part in ring.new()]
        new = new or [(self._rings[0].columns, slice(0, 0), 0)]
        rows = {name: np.concatenate([columns[name][part] for columns, part, _ in new]) for name in new[0][0]}
        counts = [part.stop - part.start for _, part, _ in new]
        rows["network"] = np.repeat(np.array([k for *_, k in new], np.uint32), counts)
        now = np.array([simulation.now for simulation in self.simulations], np.int64)
        if self._own.names:
            rows |= self._own.join(rows, now)
        if self._added is not None:
            self._add_to(rows, now)
        return rows

    def transitions(self, k: int) -> Rows:
        """Network k's ring of transitions: views [record, ...] of the core's memory; see `Simulation.transitions`."""
        self._built()
        columns = self._rings[k].columns
        return columns if self._parts.reward is None else {name: columns[name] for name in columns if name != "reward"}

    def filed(self, k: int) -> int:
        """Transitions of network k that were ever filed; number i, from 0, lies in row i mod record."""
        self._built()
        return self._rings[k].filed

    def ring(self, k: int) -> Ring:
        """A reader of network k's ring from here on; it knows nothing of `take()`, nor that of it."""
        self._built()
        without = (_OBSERVATIONS if self._parts.observations else ()) + (("reward",) if self._parts.reward else ())
        return Ring(self.simulations[k], without)

    @property
    def time_ns(self) -> NDArray[np.float64]:
        """Simulated time of every network, [K]."""
        return np.array([simulation.time_ns for simulation in self.simulations])

    @property
    def seam(self) -> dict[str, Any]:
        """The features, with names, bounds and meanings."""
        self._built()
        return self._parts.seam(self.simulations[0].seam())

    def _built(self) -> SimulationBatch:
        if self._batch is None:
            raise CoreError("PacketBatch: there are no networks yet; call reset() first")
        return self._batch

    def _look(self) -> None:
        self._batch = batch = SimulationBatch(list(self.simulations))
        self.observation, self.mask, self.decision = batch.observation, batch.mask, batch.decision
        self.network, self.router = batch.network, batch.router
        if self._blocks is not None:
            self._blocks.look(batch)
            self.observation = self._blocks.observation

    def _addition(self, n: int) -> dict[str, ArrayLike]:
        """What Python adds to the decisions that stand."""
        addition: dict[str, ArrayLike] = {}
        if self._blocks is not None:
            addition["observation"] = self.observation[:n]
        if self._parts.reward is not None:
            now = np.array([simulation.now for simulation in self.simulations], np.int64)
            addition["decided"] = now[self.network[:n]]
        return addition

    def _add_to(self, rows: Rows, now: NDArray[np.int64]) -> None:
        """Put what Python makes of transitions into them."""
        assert self._added is not None
        if not self._added.names:  # nothing was decided here yet
            self._added.add(self.network[:0], self.decision[:0], self._addition(0))
        added = self._added.join(rows, now)
        if self._blocks is not None:
            for name in _OBSERVATIONS:
                rows[name] = added[name]
            rows["next_observation"][rows["done"]] = 0
        if self._parts.reward is not None:
            rows["next_decided"] = added["next_decided"]
            rows["reward"] = self._parts.rewards(rows, self.simulations)

    def _outrun(self) -> bool:
        return any(ring.unread > ring.capacity for ring in self._rings)

    def _check_rings(self) -> None:
        for k, ring in enumerate(self._rings):
            if ring.unread > ring.capacity:
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
