"""The number of cores that this process may use. It can be smaller than the number of cores of the machine."""

import os

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
