"""Double DQN for routing decisions: one network, shared by all routers, estimates the time a packet still needs.

The state of a decision is the router's observation when a packet requests a route. Its actions are the slots. The
reward is minus the time to the packet's next decision or delivery. So the value of a slot is minus the remaining time,
and the router takes the slot with the highest value.

    Mnih et al., Nature 518 (2015)      Q-learning with a replay buffer and a target network
    van Hasselt et al., AAAI 2016       Double: the online network picks the next action, the target network values it
    Wang et al., ICML 2016              Dueling: Q = V + A - mean A
    Matignon et al., IROS 2007          Hysteretic, optional (`hysteresis` < 1): errors towards longer times weigh less
    Boyan and Littman, NIPS 1993        the packet's delay as the reward, in a table (Q-routing)

Deviations:

| | plain double DQN | here | option that restores it |
|---|---|---|---|
| target network | a copy every 10,000 updates | a running average, 0.01 per update | |
| discount | 0.99 | 1, since every packet arrives | `discount` |
| invalid actions | none | masked slots are never chosen | |
| batch | all transitions are equally likely | equal parts from all present episodes | `replay=transitions` |
| decisions without a reward at an episode's end | their rewards are awaited | discarded | `tail_ns` |
| large errors | rewards are clipped to -1 .. 1 | the loss is linear above 1 us (Huber loss) | `huber_us` |

`reward=relative_delay` measures delays in units of the network's mean hop time. It adds `toll` times the time lost to
queues, since a waiting packet makes others wait. See docs/agents/dqn.md for results.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from ..env.experience.world import Mixture, World
from ..simcore import ConfigError
from ..simcore._words import refuse_unknown
from .learning.bounds import check
from .learning.learner import Learner, bellman_goal, follow
from .learning.replay import Replay
from .learning.rollouts import SEEN, Rollouts
from .networks import Layers, QNetwork

_REPLAYS = ("networks", "transitions")


@dataclass
class Hyperparameters:
    """Hyperparameters that flitgym's double DQN and RLlib's (rllib/dqn.py) share; times in ns."""

    # observation and reward
    network: str = "slots"  # or flat
    hidden: list[int] = field(default_factory=lambda: [32, 32])
    observation: str = "progress+router+queues+path+q_values"
    reward: str = "hop_delay"
    toll: float = 1.0  # of reward=relative_delay: extra weight of the time lost to queues
    slots: int = 8
    slots_by: str = "random"  # or estimate, rotated: selects the candidates if there are more than slots
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
        check(self, epsilon_first=(0, 1), epsilon_last=(0, 1))


@dataclass
class Config(Hyperparameters):
    """Hyperparameters of `agent=dqn`. RLlib's version has only the inherited ones. Times in ns."""

    name: str = "dqn"
    decisions: str = "router"  # source: the source chooses a path for each packet; both: routers also choose ports
    # experience
    networks: int = 4  # simulated in parallel
    run_ns: float = 2000  # simulated time of a round
    capacity: int = 16384  # transitions kept of each network
    # The source of a batch. networks: the present episodes, with an equal part from each network; transitions: the
    # latest transitions of all networks and episodes, all equally likely.
    replay: str = "networks"  # or transitions
    # Simulated time after the end of an episode, in which the rewards of earlier decisions still arrive. With 0,
    # decisions without a reward at the end are lost, and these are the slow ones. It needs replay=transitions.
    tail_ns: float = 0.0
    record_part: float = 0.3  # fraction of the packets whose decisions are recorded
    epsilon_fraction: float = 0.5  # fraction of the training in which epsilon falls
    # learning
    updates: int = 20  # per round
    target_rate: float = 0.01  # step of the target network towards the online network, per update
    hysteresis: float = 1.0  # weight of an error if the goal is worse than the estimate; otherwise the weight is 1
    # The loss is quadratic up to this error and linear above it. If delays are widely spread, as in a saturated
    # network, this moves the learned value from their mean towards their median. With reward=relative_delay the unit is
    # a mean hop time.
    huber_us: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check(self, epsilon_fraction=(0, 1), hysteresis=(0, 1e6))
        refuse_unknown("agent.replay", [self.replay], _REPLAYS)
        if self.tail_ns > 0 and self.replay == "networks":
            raise ConfigError(f"agent.tail_ns: {self.tail_ns:g} needs agent.replay=transitions")


class Agent(Learner):
    """Trains a `QNetwork` on a world.

    The core gets only the scores of slots, because the state value of `dueling` is the same for all slots.
    """

    ROUTING = (*SEEN, "decisions")

    def __init__(self, config: Config, world: World | Mixture, *, rounds: int, seed: int, device: str = "cpu") -> None:
        self.config, self.rounds, self.device = config, rounds, device
        self.rollouts = rollouts = Rollouts(config, self.routing(config), world, seed)
        self.seam = rollouts.seam
        torch.manual_seed(seed)
        shape = (rollouts.seam, config.hidden, config.network, config.dueling)
        self.online, self.target = QNetwork(*shape).to(device), QNetwork(*shape).to(device)
        self.target.load_state_dict(self.online.state_dict())
        self.replay = Replay(config.networks * config.capacity)
        self.hold(seed, "online", online=self.online, target=self.target)

    def train_round(self) -> dict[str, float]:
        """Let the networks run, then learn from their transitions."""
        config, done = self.config, self.round / max(self.rounds, 1)
        falling = max(0.0, 1 - done / config.epsilon_fraction) if config.epsilon_fraction > 0 else 0.0
        epsilon = config.epsilon_last + (config.epsilon_first - config.epsilon_last) * falling
        metrics = self.rollouts.run(config.run_ns, self.policy(), epsilon=epsilon)
        if config.replay == "transitions":
            self.replay.add(self.rollouts.take())
            draw = self.replay.sample
        else:
            draw = self.rollouts.sample
        self.lower_rate()
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
        goal = bellman_goal(batch, self.target, self.online if config.double else self.target, config.discount)
        weight = torch.where(goal < q, config.hysteresis, 1.0)
        loss = (weight * nn.functional.huber_loss(q, goal, reduction="none", delta=config.huber_us)).mean()
        value = self.descend(loss, observation=batch["observation"], reward=batch["reward"], estimate_q=q, goal=goal)
        follow(self.target, self.online, config.target_rate)
        return value

    def policy(self) -> Layers:
        """The layers of the neural network that the core evaluates for its decisions."""
        return self.online.scores.export()
