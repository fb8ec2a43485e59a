"""Hydra configuration of flitgym: presets in YAML, types and defaults from what the core has registered.

Importing this package registers the schema, so that every entry point and every worker process sees the same one.
"""

from .composition import CONFIG_DIR, compose
from .errors import explain, unknown
from .identity import config_hash, core_sections, run_id
from .jobs import WINDOWS, core_jobs, has_workload, refuse_unused, workload_label
from .schema import GROUPS, KINDS, register_schema

__all__ = [
    "CONFIG_DIR",
    "GROUPS",
    "KINDS",
    "WINDOWS",
    "compose",
    "config_hash",
    "core_jobs",
    "core_sections",
    "explain",
    "has_workload",
    "refuse_unused",
    "register_schema",
    "run_id",
    "unknown",
    "workload_label",
]

register_schema()
