"""Forwarding tables in the report: a row per table, pictures of loads, and the origin of each table."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ...configs.routes import compose_route
from ...simcore import ConfigError
from ..table_quality.one_table import KIND
from ..table_quality.text import columns, network_label, remarks
from .commands import differences, nearest
from .data import Run, picture

_MOST_PICTURES = 24
_HEADINGS = {"EFI": "Edge forwarding index", "dev.": "Deviation", "mean": "Mean load", "max": "Most hops"}


def is_table(result: Mapping[str, Any]) -> bool:
    """Whether a result comes from `flitgym route`."""
    return result.get("kind") == KIND


def section(tables: Sequence[Run]) -> dict[str, Any] | None:
    """The content of the page's section; None without a table."""
    if not tables:
        return None
    networks: dict[str, list[Run]] = {}
    for run in tables:
        networks.setdefault(network_label(run[0]), []).append(run)
    drawn = [
        picture(path, f"loads of {result['table']}, {network_label(result)}")
        for result, directory in tables
        if (path := directory / result["files"].get("figure", "-")).is_file()
    ]
    return {"networks": [_network(*item) for item in networks.items()], "pictures": drawn[:_MOST_PICTURES]}


def _network(name: str, tables: Sequence[Run]) -> dict[str, Any]:
    heads = next((list(columns(result)) for result, _ in tables if result["routed"]), ["table", "layers"])
    return {
        "name": name,
        "heads": [_HEADINGS.get(head, head) for head in heads],
        "rows": [
            {"folder": directory.name, "cells": [columns(result).get(head, "-") for head in heads]}
            for result, directory in tables
        ],
        "notes": [line for result, _ in tables for line in remarks(result)],
    }


def details(run: Run) -> dict[str, Any]:
    """The origin of a table: its command, folder, hash and configuration."""
    result, directory = run
    seconds = result.get("route_cpu_seconds")
    return {
        "name": f"{result['table']} · {network_label(result)}",
        "warnings": [],
        "again": _command(result["config"]),
        "folder": directory.name,
        "hash": result["config_hash"],
        "about": "" if seconds is None else f", {seconds:,.3f} s of CPU",
        "yaml": OmegaConf.to_yaml(OmegaConf.create(result["config"])),
    }


def _command(config: Mapping[str, Any]) -> str | None:
    """The shortest `flitgym route` command for a configuration; None if another version made it."""
    try:
        words = [f"topology={nearest('topology', config['topology'])}"]
        if config["file"] is None:
            words.append(f"engine={config['engine']['name']}")
        known: Any = OmegaConf.to_container(compose_route(words), resolve=True)
        wanted = {key: value for key, value in config.items() if key != "engine" or config["file"] is None}
        words += differences("", known, wanted)
    except (HydraException, OmegaConfBaseException, ConfigError, KeyError):
        return None
    return " ".join(shlex.quote(word) for word in ["flitgym", "route", *words])
