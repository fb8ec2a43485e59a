"""Jobs side by side as figures and tables call them, and what their rows hold: those of the interference study."""

from collections.abc import Sequence

from .drawing import Row

TARGETS = ("fft3d", "lu", "lqcd", "cosmoflow", "stencil5d", "lulesh")
BACKGROUNDS = ("none", "ur", "lu", "fft3d", "dl", "halo3d")
MIXED = ("fft3d", "cosmoflow", "lu", "ur", "lqcd", "stencil5d")
# As the paper writes them; a job without an entry goes by its name.
_TITLES = {
    "fft3d": "FFT3D", "lu": "LU", "lqcd": "LQCD", "cosmoflow": "CosmoFlow", "stencil5d": "Stencil5D",
    "lulesh": "LULESH", "ur": "UR", "dl": "DL", "halo3d": "Halo3D", "none": "alone",
}  # fmt: skip
_NS_PER_MS = 1e6


def job_title(job: str) -> str:
    """What a figure or table calls a job."""
    return _TITLES.get(job, job)


def targets(rows: Sequence[Row]) -> list[str]:
    """The targets of these rows, in the study's order: a preset may have some of them."""
    beside = {row["workload.target"] for row in rows if _beside_another(row)}
    return [target for target in TARGETS if target in beside]


def backgrounds(rows: Sequence[Row]) -> list[str]:
    """The backgrounds of these rows, in the study's order, `none` first."""
    beside = {row["workload.background"] for row in rows if _beside_another(row)}
    return [background for background in BACKGROUNDS if background == "none" or background in beside]


def _beside_another(row: Row) -> bool:
    return bool(row["workload.name"] == "pair" and row["workload.background"] != "none")


def comm_ms(row: Row, job: str, which: str = "mean") -> float:
    """Communication time of a job over its ranks, in ms."""
    return float(row[f"jobs.{job}.comm_time_{which}_ns"]) / _NS_PER_MS
