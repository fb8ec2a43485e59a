"""Deep Q-learning over routing decisions: one network, shared by all routers, estimates the time a packet still needs.

A decision is a state: what the router knows when a packet asks for a route. Its actions are the slots. The reward is
minus the time to the packet's next decision or delivery, so the value of a slot is minus the time that is left, and the
best slot is the fastest way as far as can be told at this router.

    Mnih et al., Nature 518 (2015)      Q-learning with a replay memory and a target network
    van Hasselt et al., AAAI 2016       Double: the online network picks the next action, the target network values it
    Wang et al., ICML 2016              Dueling: Q = V + A - mean A
    Matignon et al., IROS 2007          Hysteretic: bad news count less, since other routers explore, too
    Boyan and Littman, NIPS 1993        the packet's delay as the reward, in a table (Q-routing)

Deviations: the target network follows by averaging instead of copies; no discount (a packet always arrives); masked
slots never count. Three more have options that undo them, since undoing them did not pay: a batch takes an equal part
from the present episode of every network, however few transitions it has; what is open when an episode ends is not
learned from; large errors count in proportion only. Mean latency in ns on dragonfly_72 with mixed traffic, five
episodes that were not trained on, by seed of the training:

    load                                                 0.465             0.7                 0.8
    default                                              723, 719, 727     933, 931, 933       3281, 3939, 3744
    replay=transitions                                   737, 728, 729     954, 936, 1100      3343, 3203, 3214
    replay=transitions, tail_ns=10000                    734               1002                3601
    huber_us=10                                          751, 739          3683, 977           4342, 4617
    replay=transitions, tail_ns=10000, huber_us=10       731, 734          978, 957            3546, 3470

A part of each batch in proportion to what each network holds: 740, 746; 938, 925; 4654, 3966.

`reward=relative_delay` pays in the network's own mean hops and puts a toll on what is lost to queues, since a packet
that waits makes others wait. 250 rounds on twelve worlds with one toll or another, mean latency in ns (one seed):

    toll                                                         1       3     best baseline
    hyperx_64, hpdc21, bit complement 0.4                        392     344   355 (Q-adaptive)
    hyperx_64, sc19, 1 to 16 flits, bit complement 0.4           479     410   420 (OmniWAR)
    hyperx 4x4x4, hpdc21, bit complement 0.4                     513     456   460 (Q-adaptive)
    dragonfly_72, hpdc21, ADV+1 0.45                             892     876   1291 (UGAL-L)
    dragonfly_72, hpdc21, mixed 0.465                            713     688   904 (Q-adaptive)
    dragonfly_72, hpdc21, uniform 0.6                            587     592   584 (Q-adaptive)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ..configs.errors import unknown
from ..env.experience.world import Mixture, World
from ..simcore import ConfigError
from .learning import stored
from .learning.bounds import LEARNING, ROLLOUTS, check, require
from .learning.divergence import require_finite
from .learning.replay import Replay
from .learning.rollouts import SEEN, Rollouts
from .networks import Layers, QNetwork

_REPLAYS = ("networks", "transitions")


@dataclass
class Hyperparameters:
    """Of double DQN, flitgym's own and RLlib's (rllib/dqn.py); times in ns."""

    # what the routers see and are paid
    network: str = "slots"  # or flat
    hidden: list[int] = field(default_factory=lambda: [32, 32])
    observation: str = "progress+router+queues+path+q_values"
    reward: str = "hop_delay"
    toll: float = 1.0  # of reward=relative_delay: how many times more the time lost to queues counts
    slots: int = 8
    slots_by: str = "random"  # or estimate: which candidates where there are more than slots
    # experience
    episode_ns: float = 60000
    epsilon_first: float = 0.5
    epsilon_last: float = 0.02
    # learning
    learning_rate: float = 1e-3
    batch: int = 1024
    discount: float = 1.0
    double: bool = True
    dueling: bool = False
    gradient_norm: float = 10.0

    def __post_init__(self) -> None:
        check(self, **LEARNING, epsilon_first=(0, 1), epsilon_last=(0, 1), batch=(1, 1 << 24))


@dataclass
class Config(Hyperparameters):
    """`networks` and what follows are this version's alone, the others RLlib's, too; times in ns."""

    name: str = "dqn"
    # experience
    networks: int = 4  # simulated side by side
    run_ns: float = 2000  # between two rounds of learning
    capacity: int = 16384  # transitions kept of each network
    # What a batch is drawn from. networks: the present episodes, an equal part from each network, however few it has;
    # transitions: the latest of all networks, episodes that are over included, each as likely.
    replay: str = "networks"  # or transitions
    # How long an episode is carried on for the sake of decisions made before its end. Without it those that are open at
    # the end are never learned from, and they are the slow ones; it takes replay=transitions.
    tail_ns: float = 0.0
    record_part: float = 0.3  # part of the packets whose decisions are kept
    epsilon_fraction: float = 0.5  # of the training, in which epsilon falls
    # learning
    updates: int = 20  # per round
    target_rate: float = 0.01  # of the target network's following, per update
    hysteresis: float = 1.0  # weight of the errors of news that are worse than expected; 1 = as all others
    # Errors count by their square up to here and in proportion beyond, which draws the values of widely spread delays
    # (those of a saturated network) from their mean towards their median. In mean hops with reward=relative_delay.
    huber_us: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            self,
            **ROLLOUTS,
            epsilon_fraction=(0, 1),
            updates=(1, 1 << 20),
            target_rate=(0, 1),
            hysteresis=(0, 1e6),
            huber_us=(1e-6, 1e6),
        )
        if self.replay not in _REPLAYS:
            raise ConfigError(unknown("agent.replay", self.replay, _REPLAYS))
        if self.tail_ns > 0 and self.replay == "networks":
            raise ConfigError(f"agent.tail_ns: {self.tail_ns:g} takes agent.replay=transitions")


class Agent:
    """Trains a `QNetwork` on a world. The core follows the scores alone: the state's value moves all slots alike."""

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        require(config, Config, "agent=dqn")
        self.config, self.rounds, self.device = config, rounds, device
        self.rollouts = rollouts = Rollouts.of(config, self.routing(config), world, seed)
        self.seam = rollouts.seam
        torch.manual_seed(seed)
        shape = (rollouts.seam, config.hidden, config.network, config.dueling)
        self.online, self.target = QNetwork(*shape).to(device), QNetwork(*shape).to(device)
        self.target.load_state_dict(self.online.state_dict())
        self.optimiser = torch.optim.Adam(self.online.parameters(), config.learning_rate)
        self.generator = torch.Generator().manual_seed(seed)
        self.replay = Replay(config.networks * config.capacity)
        self.round = 0
        self._parts = {
            "online": self.online,
            "target": self.target,
            "optimiser": self.optimiser,
            "generator": self.generator,
        }

    @staticmethod
    def routing(config: Config) -> dict[str, Any]:
        """Parameters of `routing=policy` for the rollouts."""
        return {key: getattr(config, key) for key in SEEN}

    def train_round(self) -> dict[str, float]:
        """Let the networks run, then learn from what they kept."""
        config, done = self.config, self.round / max(self.rounds, 1)
        falling = max(0.0, 1 - done / config.epsilon_fraction) if config.epsilon_fraction > 0 else 0.0
        epsilon = config.epsilon_last + (config.epsilon_first - config.epsilon_last) * falling
        metrics = self.rollouts.run(config.run_ns, self.policy(), epsilon=epsilon)
        if config.replay == "transitions":
            self.replay.add(self.rollouts.take())
            draw = self.replay.sample
        else:
            draw = self.rollouts.sample
        for group in self.optimiser.param_groups:  # falls to a tenth, so that the last policies differ little
            group["lr"] = config.learning_rate * (1 - 0.9 * done)
        losses, rewards = [], []
        for _ in range(config.updates):
            batch = draw(config.batch, self.generator)
            if not batch:
                break
            batch = {name: column.to(self.device) for name, column in batch.items()}
            losses.append(self.update(batch))
            rewards.append(float(batch["reward"].mean()))
        self.round += 1
        nothing = float("nan")
        return {
            **metrics,
            "loss": sum(losses) / len(losses) if losses else nothing,
            "reward": sum(rewards) / len(rewards) if rewards else nothing,
            "epsilon": epsilon,
        }

    def update(self, batch: dict[str, Tensor]) -> float:
        """One step of gradient descent; the loss."""
        config = self.config
        q = self.online(batch["observation"], batch["mask"]).gather(1, batch["action"][:, None]).squeeze(1)
        with torch.no_grad():
            following, next_mask = batch["next_observation"], batch["next_mask"]
            judged = self.target(following, next_mask)
            chooser = self.online(following, next_mask) if config.double else judged
            best = chooser.masked_fill(~next_mask, -torch.inf).argmax(1, keepdim=True)
            goes_on = next_mask.any(1) & ~batch["done"]
            goal = batch["reward"] + torch.where(goes_on, config.discount * judged.gather(1, best).squeeze(1), 0.0)
        weight = torch.where(goal < q, config.hysteresis, 1.0)
        loss = (weight * nn.functional.huber_loss(q, goal, reduction="none", delta=config.huber_us)).mean()
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self.online.parameters(), config.gradient_norm)
        value = require_finite(
            loss, norm, observation=batch["observation"], reward=batch["reward"], estimate_q=q, goal=goal
        )
        self.optimiser.step()
        with torch.no_grad():
            for slow, fast in zip(self.target.parameters(), self.online.parameters(), strict=True):
                slow.lerp_(fast, config.target_rate)
        return value

    def policy(self) -> Layers:
        """The network that the core follows."""
        return self.online.scores.export()

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps of the agent."""
        return {
            **stored.state_of(self._parts),
            "round": self.round,
            "rollouts": self.rollouts.state(),
            "replay": self.replay.state(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Continue from a `state()`.

        Raises:
            ConfigError: it is of another agent, or damaged; the message names the piece.
        """
        given = stored.checked(state, "agent", {**self._parts, "round": 0, "rollouts": ..., "replay": ...})
        self.round = stored.whole(given["round"], "agent.round", 0, self.rounds)
        stored.load(self._parts, given)
        self.rollouts.load_state(given["rollouts"])
        self.replay.load_state(given["replay"], "agent.replay", self.rollouts.no_rows())
