"""Forwarding tables in the report: a row per table, and the pictures of their loads."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..table_quality.one_table import KIND
from ..table_quality.text import columns, network_label, remarks

Table = tuple[Mapping[str, Any], Path]

_HEADINGS = {"EFI": "Edge forwarding index", "dev.": "Deviation", "mean": "Mean load", "max": "Most hops"}


def is_table(result: Mapping[str, Any]) -> bool:
    """Whether a result comes from `flitgym route`."""
    return result.get("kind") == KIND


def networks(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """The tables of each network: headings, rows and notes."""
    by_network: dict[str, list[Table]] = {}
    for table in tables:
        by_network.setdefault(network_label(table[0]), []).append(table)
    return [_network(*item) for item in by_network.items()]


def _network(name: str, tables: Sequence[Table]) -> dict[str, Any]:
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


def pictures(table: Table) -> list[tuple[Path, str]]:
    """The picture of a table's loads with its title, if there is one."""
    result, directory = table
    path = directory / result["files"].get("figure", "-")
    return [(path, f"loads of {result['table']}, {network_label(result)}")] if path.is_file() else []


def label(result: Mapping[str, Any]) -> str:
    """The name of a table with its network."""
    return f"{result['table']} · {network_label(result)}"
