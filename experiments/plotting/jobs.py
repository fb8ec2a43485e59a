"""The jobs of the interference study: their names in figures and tables, and their values in rows."""

from .drawing import Row

TARGETS = ("fft3d", "lu", "lqcd", "cosmoflow", "stencil5d", "lulesh")
BACKGROUNDS = ("none", "ur", "lu", "fft3d", "dl", "halo3d")
MIXED = ("fft3d", "cosmoflow", "lu", "ur", "lqcd", "stencil5d")
# Spelling of the paper. A job without an entry has its own name.
_TITLES = {
    "fft3d": "FFT3D", "lu": "LU", "lqcd": "LQCD", "cosmoflow": "CosmoFlow", "stencil5d": "Stencil5D",
    "lulesh": "LULESH", "ur": "UR", "dl": "DL", "halo3d": "Halo3D", "none": "alone",
}  # fmt: skip
_NS_PER_MS = 1e6


def job_title(job: str) -> str:
    """The name of a job in figures and tables."""
    return _TITLES.get(job, job)


def comm_ms(row: Row, job: str, which: str = "mean") -> float:
    """Communication time of a job over its ranks, in ms."""
    return float(row[f"jobs.{job}.comm_time_{which}_ns"]) / _NS_PER_MS
