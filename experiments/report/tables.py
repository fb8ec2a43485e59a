"""Forwarding tables in the report: a row per table, the pictures of their loads, where each comes from."""

import base64
import shlex
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ...configs.routes import compose_route
from ...simcore import ConfigError
from ..table_quality.one_table import KIND
from ..table_quality.text import columns, network_label, remarks
from .commands import differences, nearest
from .data import Run

_MOST_PICTURES = 24
_HEADINGS = {"EFI": "Edge forwarding index", "dev.": "Deviation", "mean": "Mean load", "max": "Most hops"}


def is_table(result: Mapping[str, Any]) -> bool:
    """Whether a result is of `flitgym-route`."""
    return result.get("kind") == KIND


def section(tables: Sequence[Run]) -> str:
    """The section of the page, empty where there is no table."""
    if not tables:
        return ""
    networks: dict[str, list[Run]] = {}
    for run in tables:
        networks.setdefault(network_label(run[0]), []).append(run)
    body = "".join(_network(name, own) for name, own in networks.items())
    return (
        '<section id="tables"><h2>Forwarding tables</h2><p>Loads are routes between terminals per channel between '
        "switches; the edge forwarding index is that of the fullest. eBB: effective bisection bandwidth, the mean "
        "over random bisections ± its standard error.</p>"
        f"{body}{_pictures(tables)}</section>"
    )


def link(tables: Sequence[Run]) -> str:
    """What the list of sections has for it."""
    return '<a href="#tables">Tables</a>' if tables else ""


def _network(name: str, tables: Sequence[Run]) -> str:
    heads = next((list(columns(result)) for result, _ in tables if result["routed"]), ["table", "layers"])
    rows, notes = [], []
    for result, directory in tables:
        cells = columns(result)
        rows.append(
            f'<tr data-table="{escape(directory.name, quote=True)}">'
            + "".join(
                f"<td{'' if head == 'table' else ' class=number'}>{escape(cells.get(head, '-'))}</td>" for head in heads
            )
            + "</tr>"
        )
        notes += [f"<p class='hint'>{escape(line)}</p>" for line in remarks(result)]
    head = "".join(f'<th scope="col">{escape(_HEADINGS.get(head, head))}</th>' for head in heads)
    label = escape(name, quote=True)
    return (
        f'<h3>{escape(name)}</h3><div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f'<table class="wide"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        + "".join(notes)
    )


def _pictures(tables: Sequence[Run]) -> str:
    found: list[str] = []
    for result, directory in tables:
        path = directory / result["files"].get("figure", "-")
        if path.is_file() and len(found) < _MOST_PICTURES:
            found.append(_picture(f"{result['table']}, {network_label(result)}", path))
    return "".join(found)


def _picture(name: str, path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return (
        f'<figure><img alt="loads of {escape(name, quote=True)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(name)}</figcaption></figure>"
    )


def details(result: Mapping[str, Any], directory: Path) -> str:
    """Where a table comes from, to be unfolded."""
    again = _command(result["config"])
    seconds = result.get("route_cpu_seconds")
    spent = "" if seconds is None else f", {seconds:,.3f} s of CPU"
    return (
        f"<details><summary>{escape(result['table'])} · {escape(network_label(result))}</summary>"
        + (f"<p>Again: <code class='command'>{escape(again)}</code></p>" if again else "")
        + f"<p>Folder <code>{escape(directory.name)}</code>, configuration <code>{escape(result['config_hash'])}</code>"
        f"{spent}</p><pre>{escape(OmegaConf.to_yaml(OmegaConf.create(result['config'])))}</pre></details>"
    )


def _command(config: Mapping[str, Any]) -> str | None:
    """The shortest `flitgym-route` command for a configuration; None for one of another version."""
    try:
        words = [f"topology={nearest('topology', config['topology'])}"]
        if config["file"] is None:
            words.append(f"engine={config['engine']['name']}")
        known: Any = OmegaConf.to_container(compose_route(words), resolve=True)
        wanted = {key: value for key, value in config.items() if key != "engine" or config["file"] is None}
        words += differences("", known, wanted)
    except (HydraException, OmegaConfBaseException, ConfigError, KeyError):
        return None
    return " ".join(shlex.quote(word) for word in ["flitgym-route", *words])
