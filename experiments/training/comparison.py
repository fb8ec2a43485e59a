"""Compares a policy with baselines during its training, on seeds that the training does not use."""

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
    """

    def __init__(self, settings: DictConfig, sections: Mapping[str, Any], routing: Mapping[str, Any]) -> None:
        self._settings, self._sections, self._routing = settings, sections, routing
        self.baselines: dict[str, dict[str, float]] = {}

    def due(self, done: int, rounds: int) -> bool:
        """Whether to compare the policy after this round."""
        every = self._settings.every
        return every > 0 and (done % every == 0 or done == rounds)

    def prepare(self, directory: Path, identity: str, say: Callable[[str], None]) -> None:
        """Measure the baselines. Their numbers never change, so a file keeps them for the next call.

        Args:
            directory: The folder of the training.
            identity: The identity of the training.
            say: Receives the name of each baseline.

        Raises:
            ConfigError: a baseline cannot route in this world.
        """
        if self._settings.every == 0:
            return
        path = directory / _FILE
        asked = [OmegaConf.to_container(self._settings), identity, results_version or __version__]
        known = json.loads(path.read_bytes()) if path.exists() else {}
        if known.get("asked") != asked:
            # The preset ugal_l needs a Dragonfly without failures. UGAL for any graph replaces it elsewhere.
            whole = self._sections["topology"]["name"] == "dragonfly" and not self._sections.get("failures")
            names = ["ugal" if name == "ugal_l" and not whole else name for name in self._settings.baselines]
            known = {"asked": asked, "baselines": {name: self._baseline(name, say) for name in names}}
            write_json(path, known)
        for name, numbers in known["baselines"].items():  # the file holds null for NaN
            self.baselines[name] = {key: np.nan if value is None else value for key, value in numbers.items()}

    def _baseline(self, name: str, say: Callable[[str], None]) -> dict[str, float]:
        say(f"measuring {name}")
        routing: Any = OmegaConf.to_container(compose([f"routing={name}"]).routing, resolve=True)
        return self._measure(routing, self._settings.baseline_warmup_ns)

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
