"""RLlib's `EnvRunner` for the core: whole rollouts as flat arrays, without Python work per step or per packet.

The simulation runs inside C++ with the weights of the RLModule (`routing=policy`). Transitions come back as rows. All
rows of a call to `sample()` form one `SingleAgentEpisode` in NumPy form, since an object per packet would take many
times the CPU time of the simulation. The column `delivered` marks the last row of each packet, for the learner
connectors of `flitgym.agents`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from ..simcore import ConfigError, Simulation
from .experience.bounds import seen, seen_bounds_of
from .experience.chains import Chains, horizon_cycles
from .experience.ring import Ring, Rows
from .experience.seeds import Episodes
from .experience.world import World

try:
    import ray
    from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_AGENT_ID, DEFAULT_MODULE_ID
    from ray.rllib.core.columns import Columns
    from ray.rllib.env import INPUT_ENV_SINGLE_SPACES, INPUT_ENV_SPACES
    from ray.rllib.env.env_runner import EnvRunner
    from ray.rllib.env.single_agent_episode import SingleAgentEpisode
    from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
    from ray.rllib.utils import metrics
    from ray.rllib.utils.checkpoints import Checkpointable
except ImportError as error:
    raise ConfigError(f"flitgym.env.rllib_runner needs RLlib ({error}): pip install 'flitgym[rllib]'") from error

DELIVERED, NEXT_ROW = "delivered", "next_row"  # columns of an episode, in addition to RLlib's
LATENCY = "packet_latency_mean_ns"  # a metric, in addition to RLlib's
_EMPTY_EPISODES = 3  # number of episodes without a decision after which the world is refused


@dataclass(frozen=True)
class Rollout:
    """The simulations of a runner, and their samples.

    Args:
        world: networks and traffic; a new network is drawn every `episode_ns`.
        routing: parameters of `routing=policy`: network, hidden, observation, reward, slots ...
        fragment: smallest number of decisions per call to `sample()`.
        chains: sample whole packets, in order (on-policy); otherwise single transitions as they arrive (replay).
        temperature: of the softmax from which a slot is drawn; 0: the best slot.
        epsilon: first and last probability of a random slot.
        epsilon_decisions: decisions of all runners over which the probability falls from the first to the last value.
        episode_ns: simulated time of a network.
        record: transitions in the ring.
    """

    world: World
    routing: Mapping[str, Any] = field(default_factory=dict)
    fragment: int = 4000
    chains: bool = True
    temperature: float = 0.0
    epsilon: tuple[float, float] = (0.0, 0.0)
    epsilon_decisions: int = 1
    episode_ns: float = 100_000.0
    record: int = 1 << 16

    def simulation(self, seed: int) -> Simulation:
        """A new network that follows the policy's weights, which are zeros at first."""
        own = {"record": self.record, "temperature": self.temperature, "epsilon": self.epsilon[0]}
        return self.world.simulation({**own, **self.routing, "name": "policy"}, seed)


def spaces_of(seam: Mapping[str, Any]) -> tuple[gym.spaces.Box, gym.spaces.Discrete[Any]]:
    """Observation space (rows of `flitgym.env.experience.bounds.seen`) and action space, from `Simulation.seam()`."""
    low, high = seen_bounds_of(seam)
    return gym.spaces.Box(low, high, dtype=np.float32), gym.spaces.Discrete(seam["slots"])


class CoreEnvRunner(EnvRunner, Checkpointable):
    """Samples from the core; the algorithm's `env_config` holds a `Rollout` under `rollout`."""

    def __init__(self, *, config: Any, **kwargs: Any) -> None:
        super().__init__(config=config, **kwargs)
        self.rollout: Rollout = self.config.env_config["rollout"]
        self._episodes = Episodes(self.config.seed or 0, self.worker_index or 0)
        self._weights_seq_no = 0
        self._empty = 0
        self._epsilon = self.rollout.epsilon[0]
        self._delivered, self._latency_ns = 0.0, 0.0  # over all episodes since the last call to sample()
        self.module: Any = None
        self._begin_episode()
        self.spaces = spaces_of(self.simulation.seam())
        self.make_module()

    # --- The simulation -------------------------------------------------------------------------------------------

    def _begin_episode(self) -> None:
        """Draw a new network. Packets in the old network are dropped, since their delay remains unknown."""
        self.simulation = self.rollout.simulation(self._episodes.next())
        self.simulation.epsilon = self._epsilon
        unseen = ("next_observation", "next_mask") if self.rollout.chains else ()
        self.reader = Ring(self.simulation, unseen)
        self.chains = Chains(horizon_cycles(self.simulation))
        self.simulation.begin_window()
        if self.module is not None:
            self._push_weights()

    def _push_weights(self) -> None:
        self.simulation.set_policy(self.module.core_layers())

    def _run(self, decisions: int) -> list[Rows]:
        """Simulate until at least `decisions` decisions can be returned."""
        pieces: list[Rows] = []
        got, since, stride = 0, 0, 32
        while got < decisions:
            self.simulation.run(stride)
            over = self.simulation.time_ns >= self.rollout.episode_ns or self.simulation.workload_finished
            rows = self.reader.take()
            read = len(rows["action"])
            since += read
            if self.rollout.chains:
                # Sorting chains is the most expensive part, so it waits until enough decisions may be complete.
                self.chains.add(rows)
                rows = self.chains.take(self.simulation.now) if over or since >= decisions - got else {}
            if rows and len(rows["action"]):
                pieces.append(rows)
                got += len(rows["action"])
                since = self._empty = 0
            # About four reads per sample, often enough that the ring does not overflow.
            stride = int(np.clip(stride * decisions / (4 * max(read, 1)), stride / 2, 2 * stride)) or 1
            if read * 4 > self.reader.capacity:
                stride = max(1, stride // 4)
            if over:
                self._empty += got == 0
                if self._empty >= _EMPTY_EPISODES:
                    raise ConfigError(
                        f"{_EMPTY_EPISODES} episodes of {self.rollout.episode_ns:g} ns had no decision: raise the "
                        "load, rollout.episode_ns, or record_part"
                    )
                self._add_latencies()
                self._begin_episode()
        return pieces

    def _add_latencies(self) -> None:
        statistics = self.simulation.statistics()
        if delivered := statistics["packets_delivered"]:
            self._delivered += delivered
            self._latency_ns += delivered * statistics["packet_latency_mean_ns"]

    # --- RLlib's interface -----------------------------------------------------------------------------------------

    def sample(self, **kwargs: Any) -> list[Any]:
        """One episode with the next decisions of all routers, at least `fragment` (or `num_timesteps`)."""
        wanted = kwargs.get("num_timesteps") or self.rollout.fragment
        with self.metrics.log_time(metrics.SAMPLE_TIMER):
            # Epsilon falls with the decisions of all runners. A runner knows only its own, and multiplies their number.
            first, last = self.rollout.epsilon
            done = self.num_env_steps_sampled_lifetime * max(1, self.num_workers or 1)
            self._epsilon = first + (last - first) * min(1.0, done / self.rollout.epsilon_decisions)
            self.simulation.epsilon = self._epsilon
            pieces = self._run(wanted)
            rows = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
            episode = self._episode(rows)
        self._log(rows)
        return [episode]

    def _episode(self, rows: Rows) -> Any:
        observed = seen(rows["observation"], rows["mask"])
        extra = {
            Columns.ACTION_LOGP: rows["log_probability"],
            DELIVERED: rows["done"],
            metrics.WEIGHTS_SEQ_NO: np.full(len(observed), self._weights_seq_no),
        }
        if not self.rollout.chains:
            extra[NEXT_ROW] = seen(rows["next_observation"], rows["next_mask"])
        space, actions = self.spaces
        return SingleAgentEpisode(
            # RLlib needs an observation after the last step, and does not use it.
            observations=InfiniteLookbackBuffer(np.concatenate([observed, observed[-1:]]), 0, space),
            actions=InfiniteLookbackBuffer(rows["action"], 0, actions),
            rewards=InfiniteLookbackBuffer(rows["reward"], 0),
            infos=InfiniteLookbackBuffer([{}] * (len(observed) + 1), 0),
            extra_model_outputs={name: InfiniteLookbackBuffer(column, 0) for name, column in extra.items()},
            observation_space=space,
            action_space=actions,
            terminated=bool(rows["done"][-1]),
            truncated=not bool(rows["done"][-1]),
            len_lookback_buffer=0,
        )

    def _log(self, rows: Rows) -> None:
        steps, packets = len(rows["action"]), int(rows["done"].sum())
        self.num_env_steps_sampled_lifetime += steps
        log = self.metrics.log_value
        for key, value, reduce in (
            (metrics.NUM_ENV_STEPS_SAMPLED, steps, "sum"),
            ((metrics.NUM_AGENT_STEPS_SAMPLED, DEFAULT_AGENT_ID), steps, "sum"),
            ((metrics.NUM_MODULE_STEPS_SAMPLED, DEFAULT_MODULE_ID), steps, "sum"),
            (metrics.NUM_EPISODES, packets, "sum"),
            ((metrics.NUM_AGENT_STEPS_SAMPLED_LIFETIME, DEFAULT_AGENT_ID), steps, "lifetime_sum"),
            ((metrics.NUM_MODULE_STEPS_SAMPLED_LIFETIME, DEFAULT_MODULE_ID), steps, "lifetime_sum"),
            (metrics.NUM_EPISODES_LIFETIME, packets, "lifetime_sum"),
        ):
            log(key, value, reduce=reduce)
        log(metrics.NUM_ENV_STEPS_SAMPLED_LIFETIME, steps, reduce="lifetime_sum", with_throughput=True)
        log(metrics.WEIGHTS_SEQ_NO, self._weights_seq_no, window=1)
        # A packet is an episode: its return is the sum of the rewards of its decisions.
        log(metrics.EPISODE_RETURN_MEAN, float(rows["reward"].sum()) / max(packets, 1), window=1)
        log(metrics.EPISODE_LEN_MEAN, steps / max(packets, 1), window=1)
        self._add_latencies()
        self.simulation.begin_window()
        if self._delivered:
            log(LATENCY, self._latency_ns / self._delivered, window=1)
        self._delivered, self._latency_ns = 0.0, 0.0

    def get_metrics(self) -> Any:
        """The metrics since the last call."""
        return self.metrics.reduce()

    def get_spaces(self) -> dict[str, Any]:
        """The spaces under the names by which RLlib builds the learner's module."""
        return {INPUT_ENV_SPACES: self.spaces, INPUT_ENV_SINGLE_SPACES: self.spaces, DEFAULT_MODULE_ID: self.spaces}

    def make_module(self) -> None:
        """Build the module whose weights decide, without the parts that only learners need."""
        spec = self.config.get_rl_module_spec(spaces=self.get_spaces(), inference_only=True)
        self.module = spec.build()
        self._push_weights()

    def assert_healthy(self) -> None:
        """Check that there is a simulation."""
        assert self.simulation.now >= 0
        assert self.module is not None

    def get_state(self, components: Any = None, *, not_components: Any = None, **kwargs: Any) -> dict[str, Any]:
        """Weights and counters; a checkpoint continues with a new simulation."""
        state: dict[str, Any] = {metrics.NUM_ENV_STEPS_SAMPLED_LIFETIME: self.num_env_steps_sampled_lifetime}
        if self._check_component(COMPONENT_RL_MODULE, components, not_components):
            state[COMPONENT_RL_MODULE] = self.module.get_state(**kwargs)
            state[metrics.WEIGHTS_SEQ_NO] = self._weights_seq_no
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Load newer weights and pass them to the core."""
        if COMPONENT_RL_MODULE in state:
            number = state.get(metrics.WEIGHTS_SEQ_NO, 0)
            if number == 0 or self._weights_seq_no < number:
                weights = state[COMPONENT_RL_MODULE]
                if isinstance(weights, ray.ObjectRef):
                    weights = ray.get(weights)
                self.module.set_state(weights.get(DEFAULT_MODULE_ID, weights))
                self._push_weights()
            self._weights_seq_no = max(self._weights_seq_no, number)
        if metrics.NUM_ENV_STEPS_SAMPLED_LIFETIME in state:
            self.num_env_steps_sampled_lifetime = state[metrics.NUM_ENV_STEPS_SAMPLED_LIFETIME]

    def get_ctor_args_and_kwargs(self) -> tuple[tuple[()], dict[str, Any]]:
        """The constructor's arguments, for a checkpoint."""
        return (), {"config": self.config}

    def get_checkpointable_components(self) -> list[tuple[str, Any]]:
        """The module is the only component."""
        return [(COMPONENT_RL_MODULE, self.module)]
