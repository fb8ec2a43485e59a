"""Hydra configuration of flitgym: presets in YAML, types and defaults from what the core has registered.

Importing this package registers the schema, so that every entry point and every worker process sees the same one.
"""

from .composition import CONFIG_DIR, compose
from .errors import explain, unknown
from .identity import config_hash, core_sections, run_id
from .schema import KINDS, register_schema

__all__ = [
    "CONFIG_DIR",
    "KINDS",
    "compose",
    "config_hash",
    "core_sections",
    "explain",
    "register_schema",
    "run_id",
    "unknown",
]

register_schema()
