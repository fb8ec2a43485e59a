"""Compares a policy with baselines during its training, on seeds that the training does not use."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig

from ...configs import compose
from ...configs.identity import plain_of
from ...simcore import Simulation, __version__, results_version
from ..results.files import write_json

_FILE = "baselines.json"

# Prefixes of the compared metrics, which a load or a job follows.
LATENCY = "latency_ns"
COMPARED = (f"{LATENCY}@", "comm_time_ns@")


class Comparison:
    """Measures mean latency and accepted load at a few loads of the base world, or the communication times of jobs.

    The arguments are the section `evaluation` of a training, the sections of the base world, and the parameters of
    `routing=policy`.
    """

    def __init__(self, settings: DictConfig, sections: Mapping[str, Any], routing: Mapping[str, Any]) -> None:
        self._settings, self._sections, self._routing = settings, sections, routing
        self.baselines: dict[str, dict[str, float]] = {}

    def due(self, done: int, rounds: int) -> bool:
        """Whether to compare the policy after this round."""
        every = self._settings.every
        return every > 0 and (done % every == 0 or done == rounds)

    def prepare(self, directory: Path, identity: str, say: Callable[[str], None]) -> None:
        """Measure the baselines. A file in the training's folder keeps their numbers, which never change."""
        if self._settings.every == 0:
            return
        path = directory / _FILE
        asked = [plain_of(self._settings), identity, results_version or __version__]
        known = json.loads(path.read_bytes()) if path.exists() else {}
        if known.get("asked") != asked:
            # The preset ugal_l needs a Dragonfly without failures. UGAL for any graph replaces it elsewhere.
            whole = self._sections["topology"]["name"] == "dragonfly" and not self._sections.get("failures")
            names = ["ugal" if name == "ugal_l" and not whole else name for name in self._settings.baselines]
            known = {"asked": asked, "baselines": {}}
            for name in names:
                say(f"measuring {name}")
                routing = plain_of(compose([f"routing={name}"]).routing)
                known["baselines"][name] = self._measure(routing, self._settings.baseline_warmup_ns)
            write_json(path, known)
        for name, numbers in known["baselines"].items():  # the file holds null for NaN
            self.baselines[name] = {key: np.nan if value is None else value for key, value in numbers.items()}

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
                if traffic:
                    simulation.run_ns(warmup_ns)
                    simulation.begin_window()
                    simulation.run_ns(self._settings.measure_ns)
                    statistics = simulation.statistics()
                    latency = statistics["packet_latency_mean_ns"] if statistics["packets_delivered"] else np.nan
                    numbers = {f"{LATENCY}@{load:g}": latency, f"accepted_load@{load:g}": statistics["accepted_load"]}
                else:
                    done = simulation.run_workload(simulation.cycles(self._settings.workload_max_ns))
                    times = {job["name"]: float(np.mean(job["rank_comm_time_ns"])) for job in simulation.jobs()}
                    numbers = {f"comm_time_ns@{name}": time if done else np.nan for name, time in times.items()}
                for key, value in numbers.items():
                    found.setdefault(key, []).append(value)
        return {key: float(np.mean(values)) for key, values in found.items()}
