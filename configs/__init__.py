"""Hydra configuration of flitgym: presets in YAML, types and defaults from what the core has registered.

Importing this package registers the schema, so that every entry point and every worker process has the same one.
"""

from ..simcore._words import refuse_unknown, unknown
from .composition import compose
from .errors import explain, refuse_added
from .identity import config_hash, core_failures, core_sections, draws_failures, file_label, run_id
from .jobs import WINDOWS, has_workload, refuse_unused, traces_of, workload_label
from .launchers import register_launchers
from .quantities import PLOT_FORMATS, plot_formats
from .schema import GROUPS, KINDS, register_schema
from .source import CONFIG_DIR, register_source

__all__ = [
    "CONFIG_DIR",
    "GROUPS",
    "KINDS",
    "PLOT_FORMATS",
    "WINDOWS",
    "compose",
    "config_hash",
    "core_failures",
    "core_sections",
    "draws_failures",
    "explain",
    "file_label",
    "has_workload",
    "plot_formats",
    "refuse_added",
    "refuse_unknown",
    "refuse_unused",
    "run_id",
    "traces_of",
    "unknown",
    "workload_label",
]

register_schema()
register_launchers()
register_source()
