"""How many cores this process may use, which can be fewer than the machine has."""

import os

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
