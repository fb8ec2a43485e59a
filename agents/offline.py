"""Offline learning: a policy from the recorded decisions of another routing, without a run of its own.

`flitgym record` writes the dataset. Two losses are offered. With `loss=conservative_q`, double DQN (see agents/dqn.py)
learns the remaining time of a packet. The loss has a further term, `conservatism` times the log-sum-exp of all Q values
minus the Q value of the recorded action. It lowers the values of actions that the recorded routing did not take, since
no reward contradicts an estimate that is too high. With `loss=imitation`, the network learns to classify the recorded
action by cross-entropy (behaviour cloning).

    Kumar, Zhou, Tucker, Levine, NeurIPS 2020   conservative Q-learning, CQL(H), equation 4
    Pomerleau, NIPS 1988                        behaviour cloning

The policy chooses among the candidates of the recorded routing (`relation`), because the dataset has no other ones.
See docs/agents/labels.md for results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ..env.experience.dataset import Dataset, describe
from ..env.experience.seeds import training_seed
from ..env.experience.world import Mixture, World
from ..simcore import ConfigError
from ..simcore._words import refuse_unknown
from .learning.bounds import check
from .learning.learner import Learner, bellman_goal, follow
from .networks import Layers, QNetwork

_LOSSES = ("conservative_q", "imitation")
_COLUMNS = ("observation", "mask", "action", "reward", "done", "next_observation", "next_mask")


@dataclass
class Config:
    """Hyperparameters."""

    name: str = "offline"
    dataset: str = ""  # path of a transitions.parquet of flitgym record
    loss: str = "conservative_q"  # or imitation
    network: str = "slots"  # or flat
    hidden: list[int] = field(default_factory=lambda: [32, 32])
    conservatism: float = 0.1  # weight of the conservative term; 0 = plain double DQN
    learning_rate: float = 1e-3
    batch: int = 1024
    updates: int = 20  # per round
    discount: float = 1.0
    target_rate: float = 0.01  # step of the target network towards the online network, per update
    huber: float = 1.0  # the loss is quadratic up to this error, in units of the reward, and linear above
    gradient_norm: float = 10.0

    def __post_init__(self) -> None:
        check(self, conservatism=(0, 1e6), huber=(1e-6, 1e6))
        refuse_unknown("agent.loss", [self.loss], _LOSSES)


class Agent(Learner):
    """Trains a `QNetwork` on a dataset. The world only compares the policy with baselines."""

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        if isinstance(world, Mixture):
            raise ConfigError("worlds: agent=offline learns from a dataset of one network (topology=...)")
        routing = self.routing(config)
        self.config, self.rounds, self.device = config, rounds, device
        self.seam = world.simulation({**routing, "name": "policy"}, training_seed(seed)).seam()
        data = Dataset.load(config.dataset)
        self._check_features(data)
        if not len(data):
            raise ConfigError(f"agent.dataset: {config.dataset} has no rows; record it again with record.decisions")
        self.rows = {name: torch.from_numpy(data.rows[name]).to(device) for name in _COLUMNS}
        torch.manual_seed(seed)
        shape = (self.seam, config.hidden, config.network)
        self.online, self.target = QNetwork(*shape).to(device), QNetwork(*shape).to(device)
        self.target.load_state_dict(self.online.state_dict())
        self.hold(seed, "online", online=self.online, target=self.target)

    @staticmethod
    def routing(config: Config) -> dict[str, Any]:
        """Parameters of `routing=policy`: the network of the configuration, and the rest of the dataset.

        Raises:
            ConfigError: there is no dataset, or it is of another version.
        """
        if not config.dataset:
            raise ConfigError("agent.dataset: name the transitions.parquet that flitgym record wrote")
        about = describe(config.dataset)
        seen = {key: about[key] for key in ("observation", "slots", "slots_by", "relation")}
        return {"network": config.network, "hidden": config.hidden, **seen}

    def _check_features(self, data: Dataset) -> None:
        for key in ("general", "per_slot"):
            own = [feature["name"] for feature in self.seam[key]]
            if data.about[key] != own:
                strange = sorted(set(data.about[key]) ^ set(own))
                raise ConfigError(
                    f"dataset {self.config.dataset}: version {data.about['version']} recorded it with other features "
                    f"of observation={data.about['observation']} ({', '.join(strange) or 'in another order'}); record "
                    "it again"
                )

    def train_round(self) -> dict[str, float]:
        """Learn from batches of the dataset."""
        config, count = self.config, len(self.rows["reward"])
        self.lower_rate()
        losses, agreed, rewards = [], 0.0, 0.0
        for _ in range(config.updates):
            picked = torch.randint(count, (config.batch,), generator=self.generator).to(self.device)
            batch = {name: column[picked] for name, column in self.rows.items()}
            loss, agreement = self.update(batch)
            losses.append(loss)
            agreed += agreement / config.updates
            rewards += float(batch["reward"].mean()) / config.updates
        self.round += 1
        return {
            "loss": sum(losses) / len(losses),
            "reward": rewards,
            "agreement": agreed,
            "decisions": float(count),
        }

    def update(self, batch: dict[str, Tensor]) -> tuple[float, float]:
        """One step of gradient descent.

        Returns:
            The loss, and the fraction of decisions in which the policy before the step takes the recorded action.
        """
        config, mask, action = self.config, batch["mask"], batch["action"][:, None]
        values = self.online(batch["observation"], mask).masked_fill(~mask, -torch.inf)
        taken = values.gather(1, action).squeeze(1)
        gap = (torch.logsumexp(values, 1) - taken).mean()  # the cross-entropy of the recorded action
        if config.loss == "imitation":
            loss: Tensor = gap
        else:
            goal = bellman_goal(batch, self.target, self.online, config.discount)
            error = nn.functional.huber_loss(taken, goal, delta=config.huber)
            loss = error + config.conservatism * gap
        value = self.descend(loss, observation=batch["observation"], reward=batch["reward"], estimate_q=taken)
        follow(self.target, self.online, config.target_rate)
        return value, float((values.argmax(1) == action.squeeze(1)).float().mean())

    def policy(self) -> Layers:
        """The network that the core follows."""
        return self.online.scores.export()
