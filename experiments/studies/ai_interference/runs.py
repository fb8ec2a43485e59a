"""Selection of the study's rows: by network, placement, pair of jobs and routing."""

from collections.abc import Sequence

from ...plotting.drawing import Row
from ...plotting.players import player_of

NETWORKS = ("dragonfly", "hyperx", "rail_optimised", "dragonfly_plus")
NETWORK_TITLES = {
    "dragonfly": "Dragonfly",
    "hyperx": "HyperX",
    "rail_optimised": "rail-optimised fat tree",
    "dragonfly_plus": "Dragonfly+",
}
PLACEMENTS = ("random", "linear", "random_router")
# Pairs of a target and a background, in the order of the figures.
PAIRS = (
    ("dense", "none"),
    ("dense", "halo3d"),
    ("dense", "moe"),
    ("moe", "none"),
    ("moe", "halo3d"),
    ("moe", "dense"),
    ("fft3d", "none"),
    ("fft3d", "dense"),
)
TITLES = {"dense": "GPT-13B", "moe": "Mixtral 8x7B", "halo3d": "Halo3D", "fft3d": "FFT3D", "none": "alone"}
_MODELS = {"gpt_13b": "dense", "mixtral_8x7b": "moe"}


def job_of(row: Row, role: str) -> str:
    """The job in a role (`target` or `background`): `dense`, `moe`, or the name of its motif."""
    motif = str(row[f"workload.{role}"])
    return _MODELS[str(row[f"workload.{role}_params.model"])] if motif == "training_step" else motif


def networks(rows: Sequence[Row]) -> list[str]:
    """The networks of these rows, in the study's order."""
    found = {str(row["topology.name"]) for row in rows}
    return [name for name in NETWORKS if name in found]


def placements(rows: Sequence[Row], network: str) -> list[str]:
    """The placements of a network's rows, in the study's order."""
    found = {str(row["workload.placement"]) for row in rows if row["topology.name"] == network}
    return [name for name in PLACEMENTS if name in found]


def routings_on(rows: Sequence[Row], network: str) -> list[str]:
    """The routings and policies of a network's rows, in the order of the rows."""
    return list(dict.fromkeys(player_of(row) for row in rows if row["topology.name"] == network))


def run_of(rows: Sequence[Row], network: str, pair: tuple[str, str], routing: str, placement: str = "random") -> Row:
    """The run of a target with a background.

    Raises:
        ValueError: there is none, and a figure must not lack a bar.
    """
    for row in rows:
        place = (row["topology.name"], row["workload.placement"], player_of(row))
        if place == (network, placement, routing) and (job_of(row, "target"), job_of(row, "background")) == pair:
            return row
    raise ValueError(f"no row for {pair[0]} with {pair[1]} on {network}, routing {routing}, placement {placement}")


def iteration_us(row: Row) -> float:
    """The time of the target from its first start to its last finish, per iteration, in us."""
    job = f"jobs.{row['workload.target']}"
    iterations = row.get("workload.target_params.iterations") or 1
    return (float(row[f"{job}.finish_ns"]) - float(row[f"{job}.start_ns"])) / 1e3 / float(iterations)


def slowdown(
    rows: Sequence[Row], network: str, pair: tuple[str, str], routing: str, placement: str = "random"
) -> float:
    """The iteration time with a background, relative to the target alone under the same routing and placement."""
    alone = run_of(rows, network, (pair[0], "none"), routing, placement)
    return iteration_us(run_of(rows, network, pair, routing, placement)) / iteration_us(alone)
