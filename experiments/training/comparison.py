"""Compares a policy with baselines during its training, on seeds that the training does not use."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig, OmegaConf

from ...configs import compose
from ...simcore import Simulation, __version__, results_version
from ..results.files import write_json

_FILE = "baselines.json"

# Prefixes of the compared metrics, which a load or a job follows.
LATENCY = "latency_ns"
COMPARED = (f"{LATENCY}@", "comm_time_ns@")


class Comparison:
    """Measures mean latency and accepted load at a few loads of the base world, or the communication times of jobs.

    Args:
        settings: The section `evaluation` of a training.
        sections: The sections of the base world.
        routing: Parameters of `routing=policy`.
        directory: The folder that keeps the baselines' numbers, which never change.
    """

    def __init__(
        self, settings: DictConfig, sections: Mapping[str, Any], routing: Mapping[str, Any], directory: Path
    ) -> None:
        self._settings, self._sections, self._routing = settings, sections, routing
        self._file = directory / _FILE
        self.baselines: dict[str, dict[str, float]] = {}

    def due(self, done: int, rounds: int) -> bool:
        """Whether to compare the policy after this round."""
        every = self._settings.every
        return every > 0 and (done % every == 0 or done == rounds)

    def prepare(self, say: Callable[[str], None]) -> None:
        """Measure the baselines, or read their numbers from an earlier call.

        Raises:
            ConfigError: a baseline cannot route in this world.
        """
        if self._settings.every == 0:
            return
        plain: Any = OmegaConf.to_container(self._settings, resolve=True)
        content = [plain, self._sections, results_version or __version__]
        asked = hashlib.sha256(json.dumps(content, sort_keys=True, default=_content).encode()).hexdigest()
        known = self._known(asked)
        if known is not None:
            self.baselines = known
            return
        for wanted in self._settings.baselines:
            # The preset ugal_l needs a Dragonfly without failures. UGAL for any graph replaces it elsewhere.
            whole = self._sections["topology"]["name"] == "dragonfly" and not self._sections.get("failures")
            name = wanted if whole or wanted != "ugal_l" else "ugal"
            say(f"measuring {name}")
            # Hydra resolves presets such as ugal_l.
            routing: Any = OmegaConf.to_container(_routing_section(name), resolve=True)
            self.baselines[name] = self._measure(routing, self._settings.baseline_warmup_ns)
        write_json(self._file, {"asked": asked, "baselines": self.baselines})

    def _known(self, asked: str) -> dict[str, dict[str, float]] | None:
        """The numbers of an earlier call with the same baselines and world; None if there are none."""
        try:
            known = json.loads(self._file.read_bytes())
            if known["asked"] != asked:
                return None
            # The file holds null for NaN, which JSON does not have.
            return {
                name: {key: np.nan if value is None else float(value) for key, value in numbers.items()}
                for name, numbers in known["baselines"].items()
            }
        except (FileNotFoundError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
            return None

    @property
    def lines(self) -> dict[str, float]:
        """The baselines' numbers as metrics, which draw a constant line: `latency_ns@<load>/<baseline>` and so on."""
        return {f"{key}/{name}": value for name, known in self.baselines.items() for key, value in known.items()}

    def of(self, layers: Any) -> dict[str, float]:
        """The policy's numbers: `latency_ns@<load>` and `accepted_load@<load>`, or `comm_time_ns@<job>`.

        Means over the seeds. NaN means that no packet arrived, or that a job was not done in time.
        """
        return self._measure({**self._routing, "name": "policy"}, self._settings.warmup_ns, layers)

    def _measure(self, routing: Mapping[str, Any], warmup_ns: float, layers: Any = None) -> dict[str, float]:
        found: dict[str, list[float]] = {}
        traffic = "traffic" in self._sections
        for load in self._settings.loads if traffic else [0.0]:
            for seed in self._settings.seeds:
                sections = dict(self._sections)
                if traffic:
                    sections["traffic"] = {**sections["traffic"], "load": load}
                simulation = Simulation({**sections, "routing": dict(routing), "seed": seed})
                if layers is not None:
                    simulation.set_policy(layers)
                numbers = self._windows(simulation, load, warmup_ns) if traffic else self._jobs(simulation)
                for key, value in numbers.items():
                    found.setdefault(key, []).append(value)
        return {key: float(np.mean(values)) for key, values in found.items()}

    def _windows(self, simulation: Simulation, load: float, warmup_ns: float) -> dict[str, float]:
        simulation.run_ns(warmup_ns)
        simulation.begin_window()
        simulation.run_ns(self._settings.measure_ns)
        statistics = simulation.statistics()
        latency = statistics["packet_latency_mean_ns"] if statistics["packets_delivered"] else np.nan
        return {f"latency_ns@{load:g}": latency, f"accepted_load@{load:g}": statistics["accepted_load"]}

    def _jobs(self, simulation: Simulation) -> dict[str, float]:
        done = simulation.run_workload(simulation.cycles(self._settings.workload_max_ns))
        times = {job["name"]: float(np.mean(job["rank_comm_time_ns"])) for job in simulation.jobs()}
        return {f"comm_time_ns@{name}": time if done else np.nan for name, time in times.items()}


def _routing_section(name: str) -> DictConfig:
    section: DictConfig = compose([f"routing={name}"]).routing
    return section


def _content(value: Any) -> Any:
    # The only value in a configuration that is not plain is the program of a job.
    return value.totals()
