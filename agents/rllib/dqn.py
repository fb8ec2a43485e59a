"""Double DQN (van Hasselt et al., 2016) by RLlib, with transitions from the core: one network for all routers.

A transition is a decision, its reward, and the packet's next decision, if there is one. Replay needs no order, so
transitions are stored in flat arrays as they arrive; RLlib's buffer would make an object of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...env.experience.world import World
from ...simcore import ConfigError
from ..learning.replay import Replay
from .config import DqnConfig
from .modules import MaskedQNetwork
from .training import columns_of, configure, rollout_of

try:
    import torch
    from ray.rllib.algorithms.dqn import DQNConfig
    from ray.rllib.connectors.common import AddObservationsFromEpisodesToBatch
    from ray.rllib.connectors.connector_v2 import ConnectorV2
    from ray.rllib.core import DEFAULT_MODULE_ID
    from ray.rllib.core.columns import Columns
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode
    from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
    from ray.rllib.utils.replay_buffers.episode_replay_buffer import EpisodeReplayBuffer
except ImportError as error:
    raise ConfigError(f"flitgym.agents.rllib.dqn needs RLlib ({error}): pip install 'flitgym[rllib]'") from error

from ...env.rllib_runner import DELIVERED, NEXT_ROW


class TransitionBuffer(EpisodeReplayBuffer):
    """A ring of transitions in flat arrays; `sample` draws uniformly, with replacement."""

    def __init__(self, capacity: int = 10_000, *, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(capacity=capacity, **kwargs)
        self.replay, self.generator = Replay(capacity), torch.Generator().manual_seed(seed or 0)

    def add(self, episodes: Any) -> None:  # type: ignore[override]
        """Store the transitions of runners in place of the oldest ones."""
        for episode in episodes if isinstance(episodes, list) else [episodes]:
            columns = columns_of([episode], DELIVERED, NEXT_ROW)
            self.replay.add({name: torch.from_numpy(np.asarray(column)) for name, column in columns.items()})

    def sample(self, num_items: int | None = None, **_: Any) -> list[Any]:  # type: ignore[override]
        """Random transitions, packed into one episode because RLlib expects one.

        Its steps are independent of each other.
        """
        count = num_items or 1
        drawn = {name: column.numpy() for name, column in self.replay.sample(count, self.generator).items()}
        drawn[Columns.OBS] = np.concatenate([drawn[Columns.OBS], drawn[Columns.OBS][-1:]])
        rows = {name: InfiniteLookbackBuffer(column, 0) for name, column in drawn.items()}
        self.sampled_timesteps += count
        return [
            SingleAgentEpisode(
                observations=rows[Columns.OBS],
                actions=rows[Columns.ACTIONS],
                rewards=rows[Columns.REWARDS],
                infos=InfiniteLookbackBuffer([{}] * (count + 1), 0),
                extra_model_outputs={name: rows[name] for name in (DELIVERED, NEXT_ROW)},
                terminated=True,
                len_lookback_buffer=0,
            )
        ]

    def __len__(self) -> int:
        return len(self.replay)

    def get_state(self) -> dict[str, Any]:
        """The whole buffer, for RLlib."""
        return {"replay": self.replay, "generator": self.generator.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from a `get_state()`."""
        self.replay = state["replay"]
        self.generator.set_state(state["generator"])


class DqnTrainBatch(ConnectorV2):
    """Learner connector: makes DQN's train batch from the buffer's arrays."""

    def __call__(self, *, rl_module: Any, episodes: Sequence[Any], **_: Any) -> dict[str, Any]:
        """The batch of one module, on its device."""
        device = next(rl_module[DEFAULT_MODULE_ID].parameters()).device
        columns = columns_of(episodes, NEXT_ROW, DELIVERED)
        columns[Columns.NEXT_OBS], columns[Columns.TERMINATEDS] = columns.pop(NEXT_ROW), columns.pop(DELIVERED)
        batch = {name: torch.as_tensor(column, device=device) for name, column in columns.items()}
        ones = torch.ones_like(batch[Columns.REWARDS])
        return {DEFAULT_MODULE_ID: {**batch, "weights": ones, "n_step": ones.clone()}}


def algorithm_config(world: World, config: DqnConfig | None = None, seed: int = 0) -> Any:
    """RLlib's `DQNConfig`, ready for `build_algo()`."""
    config = config or DqnConfig()
    algorithm: Any = DQNConfig()  # type: ignore[no-untyped-call]
    algorithm.training(
        lr=config.learning_rate,
        train_batch_size_per_learner=config.batch // max(1, config.learners),
        # RLlib looks for words in the type, so it is given as text.
        replay_buffer_config={
            "type": f"{__name__}.{TransitionBuffer.__name__}",
            "capacity": config.buffer,
            "seed": seed,
        },
        num_steps_sampled_before_learning_starts=config.learning_starts,
        target_network_update_freq=config.target_update,
        training_intensity=config.updates_per_decision,
        gamma=config.discount,
        grad_clip=config.gradient_norm,
        n_step=1,
        double_q=config.double,
        dueling=False,  # of RLlib's networks; here the module has the option
        num_atoms=1,
    )
    algorithm.learners(
        add_default_connectors_to_learner_pipeline=False,
        # DQN's learner inserts a connector behind the first of these, so it must exist; the second makes the batch.
        learner_connector=lambda *spaces: [
            AddObservationsFromEpisodesToBatch(*spaces, as_learner_connector=True),
            DqnTrainBatch(*spaces),
        ],
    )
    algorithm.env_runners(rollout_fragment_length=config.fragment)
    epsilon = (config.epsilon_first, config.epsilon_last)
    exploration = {"epsilon": epsilon, "epsilon_decisions": config.epsilon_decisions}
    rollout = rollout_of(world, config, fragment=config.fragment, chains=False, **exploration)
    return configure(algorithm, rollout, MaskedQNetwork, config, seed)
