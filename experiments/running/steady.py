"""`measure_steady`: finds the end of the warm-up, and measures until the intervals of the means are narrow enough."""

import math
import time
from dataclasses import dataclass, field

import numpy as np

from ...simcore import ConfigError, Simulation
from ...simcore.pictures.frames import LinkFrames
from ..terminal.progress import Report, no_report
from .batch_means import BATCHES, FINE, Estimate, Floats, estimate, mser5

_SAMPLE = 20  # observations between two samples of the source queues
_LEAST = 2 * FINE  # observations of the shortest window
_LATENCIES = 2.0  # mean packet latencies of the shortest batch; packets that are in the network together are alike
_CARRIED = 0.97  # of the packets; a network whose sources lose more is saturated, as in `cautions.py`
_WARMUP_GROWTH = 1.5  # of the warm-up, from one test to the next
_WINDOW_GROWTH = 1.2  # of the window
_TESTS = 2  # with narrow intervals, because a single interval can be too narrow by chance
_QUEUE_GROWTH = 1.75  # while the time doubles: linear growth gives 2, a random walk 1.41
_QUEUE_SEGMENTS = 10  # of the second half of the run
_LONG_WAIT = 0.02  # of the simulated time; a longer wait at one source is a sign of saturation
_SURE = 4.0  # Student's t beyond chance: probability 0.0016 with 9, 0.0001 with 38 degrees of freedom, one-sided
_MOST_OBSERVATIONS = 10_000_000
_CHANGING = ("moving_adversary", "phases")  # traffic patterns


@dataclass(frozen=True)
class SteadyResult:
    """The result of `measure_steady`. The means are in `Simulation.statistics()`, which has the same window."""

    steady: bool  # whether the intervals are narrow enough; a saturated network is never steady
    reason: str  # a sentence that explains `steady`
    # Whether the network cannot carry the offered load: the source queues grow, or lose packets
    # (`router.source_backlog=lost`).
    saturated: bool
    latency_interval: tuple[float, float] | None  # of the mean packet latency in ns; None without packets
    accepted_interval: tuple[float, float] | None  # of the accepted load, in flits per terminal and flit time
    warmup_end_ns: float  # beginning of the measuring window
    # Number of independent packets whose mean latency would have an equal interval; None if the latency does not vary.
    effective_samples: float | None
    first_half: tuple[float, int]  # of the window: mean packet latency in ns (0 without packets), number of packets
    window_cpu_seconds: float


def measure_steady(
    simulation: Simulation,
    precision: float = 0.02,
    confidence: float = 0.95,
    max_ns: float = 2_000_000.0,
    *,
    warmup_ns: float = 0.0,
    window_ns: float = 20_000.0,
    report: Report = no_report,
    frames: LinkFrames | None = None,
) -> SteadyResult:
    """Run a simulation from cycle 0 until its means are known. The page "Steady state" explains the method.

    Args:
        simulation: At cycle 0, with traffic.
        precision: Largest half width of the intervals of packet latency and accepted load, relative to the mean.
        confidence: Probability of each interval to contain the long-run mean.
        max_ns: The longest simulated time.
        warmup_ns: The shortest warm-up. A routing that learns needs a long one, because it fills the source queues
            before its table is useful.
        window_ns: The shortest measuring window. An observation takes a 400th of it.
        report: Receives the phase and the estimated progress.
        frames: Records the links over time.

    Raises:
        ConfigError: an argument is invalid, or the simulation has begun or runs jobs.
    """
    check_steady(simulation, precision, confidence, max_ns, warmup_ns, window_ns)
    if simulation.now > 0 or simulation.jobs():
        state = "has jobs, which end by themselves" if simulation.jobs() else "has begun"
        raise ConfigError(f"measure_steady(): the simulation {state}; use a new one with traffic")
    cycles = _observation_cycles(simulation, window_ns)
    simulation.set_series_interval(cycles)
    ns = cycles * simulation.cycle_ns
    run = _SteadyRun(simulation, cycles, ns, precision, confidence, report, frames)
    return run.result(math.ceil(warmup_ns / ns), math.floor(max_ns / ns))


def check_steady(
    simulation: Simulation, precision: float, confidence: float, max_ns: float, warmup_ns: float, window_ns: float
) -> None:
    """Check the arguments of `measure_steady`, which are also keys of the section `run`."""
    config = simulation.configuration()
    traffic = config.get("traffic", {})
    changing = {
        "traffic.load_step_times_ns": bool(traffic.get("load_step_times_ns")),
        f"traffic={traffic.get('name')}": traffic.get("name") in _CHANGING or bool(simulation.jobs()),
        "failures.events": bool(config.get("failures", {}).get("events")),
    }
    for key, changes in changing.items():
        if changes:
            raise ConfigError(f"run.precision: a network that changes ({key}) has no steady state; use run=standard")
    if not 0 < precision < 1:
        raise ConfigError(
            f"run.precision: {precision:g} is invalid; use a number above 0 and below 1, or 0 for fixed windows"
        )
    if not 0 < confidence < 1:
        raise ConfigError(f"run.confidence: {confidence:g} is invalid; use a number above 0 and below 1")
    for key, value in (("warmup_ns", warmup_ns), ("measure_ns", window_ns), ("max_ns", max_ns)):
        if not (value >= 0 and math.isfinite(value)):
            raise ConfigError(f"run.{key}: {value:g} ns is negative or not finite")
    end_ns = simulation.facts()["end_of_time_cycles"] * simulation.cycle_ns
    if max_ns > end_ns:
        raise ConfigError(f"run.max_ns: {max_ns:g} ns is beyond the end of simulated time ({end_ns:g} ns)")
    ns = _observation_cycles(simulation, window_ns) * simulation.cycle_ns
    least = shortest_ns(simulation, warmup_ns, window_ns)
    if max_ns < least:
        raise ConfigError(
            f"run.max_ns: {max_ns:g} ns is too short for the shortest warm-up and window; use at least {least:g}"
        )
    if max_ns / ns > _MOST_OBSERVATIONS:
        raise ConfigError(
            f"run.measure_ns: {window_ns:g} ns is too short for run.max_ns={max_ns:g}, because an observation takes a "
            f"{_LEAST}th of it; use at least {max_ns / _MOST_OBSERVATIONS * _LEAST:g}"
        )


def shortest_ns(simulation: Simulation, warmup_ns: float, window_ns: float) -> float:
    """The shortest `max_ns` of `measure_steady`, in ns."""
    ns = _observation_cycles(simulation, window_ns) * simulation.cycle_ns
    return (_rounded(max(warmup_ns / ns, _LEAST)) * _WARMUP_GROWTH + _LEAST) * ns


def _observation_cycles(simulation: Simulation, window_ns: float) -> int:
    return max(1, math.ceil(window_ns / _LEAST / simulation.cycle_ns))


@dataclass
class _SteadyRun:
    """The state of one call of `measure_steady`. Times are in observations, of `cycles` cycles or `ns` each."""

    simulation: Simulation
    cycles: int
    ns: float
    precision: float
    confidence: float
    report: Report
    frames: LinkFrames | None
    now: int = 0
    begin: int = 0  # of the window
    cpu: float = 0.0  # seconds; at the beginning of the window, then of the window
    queues: list[tuple[float, float]] = field(default_factory=list)  # mean and longest wait at a source, in cycles
    expected: float = 0.0  # the length of the whole run, for the progress

    def result(self, warmup: int, most: int) -> SteadyResult:
        """Run to the end; the arguments are the shortest warm-up and the longest run."""
        self.most = most // FINE * FINE
        begin = _rounded(max(warmup, _LEAST))
        self.expected = _WARMUP_GROWTH * begin + _LEAST
        self._run_to(begin, "warm-up")
        why = self._warm_up() or self._measure()
        self.simulation.end_window()
        self.cpu = time.process_time() - self.cpu
        return self._concluded(why)

    def _warm_up(self) -> str:
        """Find the end of the warm-up, and open the window there. Returns why there is none, or an empty text."""
        while True:
            self._begin_window()
            self._run_to(min(_rounded(self.now * _WARMUP_GROWTH), self.most), "warm-up")
            latencies, packets, accepted = self._series(0)
            # MSER-5 has found the end of the warm-up if it lies in the first half of the series.
            mean = latencies.sum() / max(packets.sum(), 1)  # of observations without packets
            means = np.where(packets > 0, latencies / np.maximum(packets, 1), mean)
            settled = [mser5(values) <= self.now // 2 for values in (accepted, means)]
            if self._queues_grow():
                return "queues"
            if settled[0] and self._loses_load():
                return "losses"
            if all(settled):
                return ""
            if self.now >= self.most:
                return "warm-up"

    def _measure(self) -> str:
        """Extend the window until the intervals are narrow. Returns why they are not, or an empty text."""
        size = max(_LEAST, self.now - self.begin) // FINE  # observations of a fine batch
        known = 0  # successive tests with narrow intervals
        while True:
            last = (self.most - self.begin) // FINE
            size = max(1, min(size, last))
            self._run_to(self.begin + size * FINE, "measure")
            if self._queues_grow():
                return "queues"
            if self._loses_load():
                return "losses"
            found = self._estimates()
            known = known + 1 if self._are_known(*found) else 0
            if known == _TESTS:
                return ""
            if size >= last:
                return "" if known else "time"
            if self.now + size * FINE <= self.most and any(one and abs(one.drift) > _SURE for one in found):
                known = 0
                self._begin_window()  # the warm-up had not ended; no later window is shorter than this one
            else:
                size = max(size + 1, math.ceil(size * _WINDOW_GROWTH))

    def _begin_window(self) -> None:
        if self.frames:
            self.frames.cut()
        self.simulation.begin_window()
        self.begin, self.cpu = self.now, time.process_time()

    def _run_to(self, end: int, phase: str) -> None:
        while self.now < end:
            self.report(phase, self.now / max(self.expected, end))
            self.simulation.run(_SAMPLE * self.cycles)
            if self.frames:
                self.frames.look()
            self.now += _SAMPLE
            self.queues.append(self._waits())

    def _waits(self) -> tuple[float, float]:
        """How long the first packet of each source has waited for room in its NIC: mean and maximum, in cycles."""
        terminals = self.simulation.arrays()["terminals"]
        generated = terminals["next_tick"] / 2.0**32  # of the waiting packets; fixed point
        waits = np.where(terminals["left"] > 0, np.maximum(self.simulation.now - generated, 0), 0)
        return float(waits.mean()), float(waits.max())

    def _are_known(self, latency: Estimate | None, accepted: Estimate | None) -> bool:
        if latency is None or accepted is None:
            return False
        long = (self.now - self.begin) * self.ns >= _LATENCIES * BATCHES * latency.mean
        return long and latency.within(self.precision) and accepted.within(self.precision)

    def _loses_load(self) -> bool:
        """Whether the sources lose packets beyond chance (`router.source_backlog=lost`)."""
        accepted = self._estimates()[1]
        return accepted is not None and self._lost_share() > 1 - _CARRIED + accepted.relative

    def _lost_share(self) -> float:
        numbers = self.simulation.statistics()
        lost = numbers["generations_missed"]
        return lost / max(lost + numbers["packets_generated"], 1.0)

    def _queues_grow(self) -> bool:
        """Whether the source queues grow linearly, without an increase of the accepted load."""
        half = len(self.queues) // 2
        if self.queues[-1][1] < _LONG_WAIT * self.simulation.now:
            return False
        mean = np.array([mean for mean, _ in self.queues])
        steps = np.diff(mean[np.linspace(half - 1, len(mean) - 1, _QUEUE_SEGMENTS + 1).astype(int)])
        spread = steps.std(ddof=1) / math.sqrt(_QUEUE_SEGMENTS)
        if mean[-1] < _QUEUE_GROWTH * mean[half - 1] or steps.mean() < _SURE * spread:
            return False
        _, accepted = self._estimates()
        return accepted is None or accepted.drift < _SURE

    def _series(self, begin: int) -> tuple[Floats, Floats, Floats]:
        """Sums of the latencies in ns, packets and accepted load of each observation from `begin` on."""
        series = self.simulation.series()
        packets = series["packets"].astype(np.float64)
        latencies = np.where(packets > 0, series["latency_mean_ns"], 0.0) * packets
        return latencies[begin:], packets[begin:], series["throughput"][begin:]

    def _estimates(self) -> tuple[Estimate | None, Estimate | None]:
        """Mean packet latency in ns and accepted load of the window."""
        latencies, packets, accepted = self._series(self.begin)
        found = (
            estimate(latencies, packets, self.confidence),
            estimate(accepted, np.ones_like(accepted), self.confidence),
        )
        needed = max(one.relative / self.precision if one and one.mean else 0.0 for one in found)
        self.expected = self.begin + len(packets) * max(1.0, needed**2)
        return found

    def _concluded(self, why: str) -> SteadyResult:
        latency, accepted = self._estimates()
        latencies, packets, _ = self._series(self.begin)
        half = len(packets) // 2
        count = int(packets[:half].sum())
        return SteadyResult(
            steady=not why,
            reason=self._reason(why, latency, accepted),
            saturated=why in ("queues", "losses"),
            latency_interval=latency.interval if latency else None,
            accepted_interval=accepted.interval if accepted else None,
            warmup_end_ns=self.begin * self.ns,
            effective_samples=self._packet_variance() / latency.variance if latency and latency.variance else None,
            first_half=(float(latencies[:half].sum()) / max(count, 1), count),
            window_cpu_seconds=self.cpu,
        )

    def _packet_variance(self) -> float:
        """The variance of the latencies of single packets in ns^2, from the histogram of the window."""
        router = self.simulation.configuration()["router"]
        counts = self.simulation.arrays()[f"histogram_{router['latency_from']}"].astype(np.float64)
        bins = np.arange(len(counts))
        octave = np.maximum(7 + (bins - 128) // 64, 7)  # exact below 128 cycles, then 64 bins per octave (`stats.cpp`)
        step = 2.0 ** (octave - 6)
        middle = np.where(bins < 128, bins, 2.0**octave + step * ((bins - 128) % 64) + (step - 1) / 2)
        mean = (counts @ middle) / counts.sum()
        return float(counts @ (middle - mean) ** 2 / counts.sum()) * self.simulation.cycle_ns**2

    def _reason(self, why: str, latency: Estimate | None, accepted: Estimate | None) -> str:
        end = f"{self.now * self.ns:,.0f} ns"
        if why == "queues":
            return "saturated: the source queues grow"
        if why == "losses":
            return f"saturated: the sources lose {self._lost_share():.0%} of the packets"
        if why == "warm-up":
            return f"the warm-up has not ended after {end}; use a longer run.max_ns"
        if latency is None or accepted is None:
            return f"no packet was delivered within {end}"
        widths = f"latency ±{latency.relative:.1%}, accepted load ±{accepted.relative:.1%}"
        if not why:
            return f"the intervals are narrow enough: {widths}"
        correlated = " (batches still correlated)" if latency.correlated or accepted.correlated else ""
        return f"the intervals are too wide after {end}: {widths}{correlated}; use a longer run.max_ns"


def _rounded(time: float) -> int:
    return math.ceil(time / FINE) * FINE
