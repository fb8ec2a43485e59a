"""Imitation of UGAL-G by a network that sees only its own router, after the description of UGAL-ML.

UGAL-G compares the queues of the global links of the source group, also at other routers (Kim, Dally, Scott, Abts, ISCA
2008). No router can know these queues. UGAL-ML (Chaulagain et al., SC 2020 poster) is a network that decides as UGAL-G
would, from the information at the source router. Only the poster's abstract was available. Features, network and
training are flitgym's own:

    features   the block `relative`: queues, credits and path lengths at the source router
    labels     UGAL-G's choice in the same state (relation `ugal_global`, block `remote_queues`)
    loss       cross-entropy between label and the softmax of the scores of the slots
    data       the decisions of the learned policy itself, labelled by UGAL-G: DAgger (Ross, Gordon, Bagnell, AISTATS
               2011) without a mixture with the expert

The exported policy has the relation `ugal_group`: the minimal path, or the path through one random group.

See docs/agents/labels.md for results.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from ..env.experience.world import Mixture, World
from ..simcore import ConfigError
from .learning.bounds import check
from .learning.learner import Learner
from .learning.replay import Replay
from .learning.rollouts import Rollouts
from .networks import Layers, SlotScores

_ORACLE = "remote_queues"


@dataclass
class Config:
    """Hyperparameters; times in ns."""

    name: str = "ugal_ml"
    # observation
    network: str = "slots"
    hidden: list[int] = field(default_factory=lambda: [16, 16])
    observation: str = "relative"
    relation: str = "ugal_group"
    slots: int = 2
    # experience
    networks: int = 4  # simulated in parallel
    episode_ns: float = 60000
    run_ns: float = 2000  # simulated time of a round
    record_part: float = 0.5  # fraction of the packets whose decisions are recorded
    capacity: int = 65536  # labelled decisions kept of each network
    tail_ns: float = 0.0
    # learning
    learning_rate: float = 3e-3
    batch: int = 1024
    updates: int = 20  # per round
    gradient_norm: float = 10.0

    def __post_init__(self) -> None:
        check(self)
        if self.network != "slots" or self.relation != "ugal_group":
            raise ConfigError("agent.network, agent.relation: ugal_ml needs network=slots and relation=ugal_group")
        if _ORACLE in self.observation.split("+"):
            raise ConfigError(f"agent.observation: {_ORACLE} is the label; a policy must not see it")


class Agent(Learner):
    """Trains a `SlotScores` to choose as UGAL-G does."""

    ROUTING = ("network", "hidden", "observation", "relation", "slots")

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        self.config, self.rounds, self.device = config, rounds, device
        seen = {"observation": f"{config.observation}+{_ORACLE}", "relation": "ugal_global"}
        self.rollouts = Rollouts(config, {**self.routing(config), **seen}, world, seed)
        whole = self.rollouts.seam
        # The label is the last feature of a slot.
        own = {**whole, "per_slot": whole["per_slot"][:-1]}
        self.seam = {**own, "width": len(own["general"]) + int(own["slots"]) * len(own["per_slot"])}
        torch.manual_seed(seed)
        self.online = SlotScores(self.seam, config.hidden).to(device)
        self.replay = Replay(config.networks * config.capacity)
        self.hold(seed, "online", online=self.online)

    def train_round(self) -> dict[str, float]:
        """Let the networks run with the present policy, then learn UGAL-G's choices in all states seen so far."""
        config = self.config
        metrics = self.rollouts.run(config.run_ns, self._blind())
        rows = self._labelled(self.rollouts.take())
        self.replay.add(rows)
        self.lower_rate()
        losses = []
        for _ in range(config.updates if len(self.replay) else 0):
            losses.append(self.update(self.replay.sample(config.batch, self.generator)))
        self.round += 1
        nothing = float("nan")
        return {
            **metrics,
            "loss": sum(losses) / len(losses) if losses else nothing,
            "agreement": float((rows["action"] == rows["label"]).float().mean()) if rows else nothing,
            "detours": float((rows["label"] > 0).float().mean()) if rows else nothing,  # of UGAL-G
        }

    def _blind(self) -> Layers:
        """The policy with a weight of 0 for the label, which is the last input."""
        (weight, bias), *rest = self.policy()
        return [(np.pad(weight, ((0, 0), (0, 1))), bias), *rest]

    def _labelled(self, rows: dict[str, Tensor]) -> dict[str, Tensor]:
        """Decisions without UGAL-G's numbers, and the slot that UGAL-G takes."""
        if not rows:
            return {}
        slots, general, seen = int(self.seam["slots"]), len(self.seam["general"]), len(self.seam["per_slot"])
        whole = rows["observation"]
        own = whole[:, general:].reshape(len(whole), slots, seen + 1)
        # NumPy's argmin is the first slot of the least congestion: in a tie UGAL-G takes the minimal path.
        cost = np.where(rows["mask"].numpy(), own[:, :, -1].numpy(), np.inf)
        return {
            "observation": torch.cat([whole[:, :general], own[:, :, :-1].reshape(len(whole), slots * seen)], 1),
            "mask": rows["mask"],
            "action": rows["action"].long(),
            "label": torch.from_numpy(cost.argmin(1)),
        }

    def update(self, batch: dict[str, Tensor]) -> float:
        """One step of gradient descent; the loss."""
        batch = {name: column.to(self.device) for name, column in batch.items()}
        scores = self.online(batch["observation"]).masked_fill(~batch["mask"], -torch.inf)
        loss = nn.functional.cross_entropy(scores, batch["label"])
        return self.descend(loss, observation=batch["observation"])

    def policy(self) -> Layers:
        """The network that the core follows."""
        return self.online.export()
