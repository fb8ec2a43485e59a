"""The page of a report. The template has the tables; scripts draw the rest from the data in the page."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from math import log
from pathlib import Path
from typing import Any

import yaml
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from ...simcore import ConfigError
from ...simcore._files import atomic_path
from ..plotting.players import player
from ..results.copies import copies_text
from ..results.files import RESULT_FILE, check_table, is_checked, read_with_care
from ..templates import template
from .commands import command as command_of
from .data import (
    Run,
    decomposition,
    films,
    has_jobs,
    is_apart,
    is_finished,
    matrices,
    picture,
    routing_names,
    routing_order,
    series,
)
from .headline import apart_note, compared, table
from .loads import curves
from .settings import Settings, what_ran
from .tables import details as table_details
from .tables import is_table
from .tables import section as table_section

REPORT_FILE = "report.html"
_HERE = Path(__file__).parent
_SCRIPTS = ("base", "runs", "loads", "jobs", "network", "start")
_APART = "†"
_LARGEST_SVG = 2_000_000  # bytes; the page shows the PNG of a larger figure
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_FIRST_FIGURE = "sweep"


def write_report(
    directory: Path,
    title: str,
    results: Sequence[Run],
    figures: Sequence[Path],
    *,
    output: Path | None = None,
    command: str | None = None,
    mark: str | None = None,
) -> Path:
    """Write one HTML page that needs no other file.

    Args:
        directory: The folder that gets `report.html`, if `output` is not given.
        title: The heading of the page.
        results: The content of `result.json` and the folder of every run.
        figures: PNG and SVG files. If both have the same stem, the page shows the SVG.
        output: The file to write.
        command: The command that made the page, for the last section.
        mark: A text in the head by which the page is recognised.

    Returns:
        The path of the page.

    Raises:
        OSError: the file cannot be written, and keeps its previous content.
        ValueError: there is no run.
    """
    if not results:
        raise ValueError("a report needs at least one run")
    page = _page(title, results, figures, command, mark)
    path = output or directory / REPORT_FILE
    with atomic_path(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def figures_in(directory: Path) -> list[Path]:
    """The pictures of a study: first the picture of the sweep, then the others by name."""
    found = [path for path in directory.iterdir() if path.suffix in (".png", ".svg")]
    return sorted(found, key=lambda path: (path.stem != _FIRST_FIGURE, path.name))


def can_be_shown(run: Run) -> None:
    """Check that a page can show a run.

    Raises:
        DamagedError: a file of the run is damaged, or the result lacks a part.
    """
    result, directory = run
    for key in result.get("files", {}):
        check_table(result, directory, key)
    if not is_checked(result):
        with read_with_care(directory / RESULT_FILE):
            _page("", [run], [], None)


def _page(
    title: str, results: Sequence[Run], figures: Sequence[Path], command: str | None, mark: str | None = None
) -> str:
    tables = [run for run in results if is_table(run[0])]
    simulated = [run for run in results if not is_table(run[0])]
    settings = Settings([result["config"] for result, _ in simulated])
    runs = sorted(simulated, key=lambda run: _order(run, settings))
    several = _several(runs, settings)
    names = routing_names(runs)
    labels = [_label(result, name, settings, several) for (result, _), name in zip(runs, names, strict=True)]
    columns, rows = table(runs, names, settings, several)
    jobs = _of_jobs(runs, labels)
    shown = curves(runs)
    content: dict[str, Any] = {
        "figures": _figures(figures, shown),
        "loads": shown,
        "rows": rows,
        "matrices": _slowdown(runs),
        "has_blame": any(run["blame"] for run in jobs),
        "has_series": any(run["series"] for run in jobs),
        "has_film": any(run["film"] for run in jobs),
        "tables": table_section(tables),
    }
    sections = {
        "figures": ("figures", "Figures"),
        "loads": ("loads", "Curves"),
        "rows": ("overview", "Runs"),
        "matrices": ("slowdown", "Slowdown"),
        "has_blame": ("blame", "Delays between jobs"),
        "has_series": ("curves", "Over time"),
        "has_film": ("network", "Network"),
        "tables": ("tables", "Tables"),
    }
    data = {
        "jobs": list(dict.fromkeys(job for result, _ in runs for job in result["jobs"])),
        "runs": jobs,
        "compared": compared(runs, labels),
        "loads": content["loads"],
    }
    return template("report/page.html").render(
        **content,
        title=title,
        mark=mark,
        facts=_facts(runs, names, tables, settings),
        copies=copies_text([result for result, _ in runs]),
        unfinished=sum(not is_finished(result) for result, _ in runs),
        sections=[*(place for key, place in sections.items() if content[key]), ("provenance", "Origin")],
        columns=columns,
        has_jobs=any(has_jobs(result) for result, _ in runs),
        versions=len({str(result["version"]) for result, _ in results}),
        origin=_origin([*runs, *tables], command),
        provenance=[*map(_details, runs, labels), *map(table_details, tables)],
        style=(_HERE / "report.css").read_text(encoding="utf-8"),
        script="".join((_HERE / "script" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS),
        # A "<" in the data could close its element.
        data=json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    )


def _order(run: Run, settings: Settings) -> tuple[Any, ...]:
    config = run[0]["config"]
    routing = player(config["routing"])
    alone = config["workload"].get("background") != "none"
    target = config["workload"].get("target", "")
    rank = routing_order([routing, "q_adaptive"]).index(routing)  # q_adaptive comes last
    return settings.full_text(config), target, alone, what_ran(config), rank, routing, config["seed"], str(run[1])


def _of_jobs(runs: Sequence[Run], labels: Sequence[str]) -> list[dict[str, Any]]:
    """The runs of jobs as data for the scripts."""
    listed = []
    for (result, directory), film, label in zip(runs, films(runs), labels, strict=True):
        if not has_jobs(result):
            continue
        listed.append(
            {
                "label": label,
                "what": what_ran(result["config"]),
                "finished": is_finished(result),
                "jobs": list(result["jobs"]),
                "latency": {name: job["packet_latency_mean_ns"] for name, job in result["jobs"].items()},
                "blame": result.get("blame"),
                "parts": decomposition(result),
                "series": series(result, directory),
                "film": film,
            }
        )
    return listed


def _label(result: Any, routing: str, settings: Settings, several: bool) -> str:
    config = result["config"]
    words = [what_ran(config), routing, f"seed {config['seed']}"]
    if several and (text := settings.full_text(config)):
        words.append(text)
    if not is_finished(result):
        words.append("NOT FINISHED")
    return " · ".join(words)


def _several(runs: Sequence[Run], settings: Settings) -> bool:
    """Whether runs of jobs, or runs of patterns, differ in other settings than workload, pattern, routing and seed."""
    kinds = {(has_jobs(result), settings.full_text(result["config"])) for result, _ in runs}
    return len(kinds) > len({kind for kind, _ in kinds})


def _facts(runs: Sequence[Run], names: Sequence[str], tables: Sequence[Run], settings: Settings) -> list[str]:
    counted = [f"{len(tables)} forwarding table{'s' if len(tables) > 1 else ''}"] if tables else []
    if not runs:
        return counted
    with_jobs = [run for run in runs if has_jobs(run[0])] or runs
    texts = list(dict.fromkeys(settings.text(result["config"]) for result, _ in with_jobs))
    finished = ", all finished" if all(is_finished(result) for result, _ in runs) else ""
    return [
        f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}{finished}",
        "routing " + ", ".join(dict.fromkeys(names)),
        *texts[:3],
        *([f"and {len(texts) - 3} more settings"] if len(texts) > 3 else []),
        *counted,
    ]


# --- Slowdown ------------------------------------------------------------------------------------------------------


def _slowdown(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The tables of targets and backgrounds, one per setting and routing, with the text and colour of each cell."""
    found = matrices(runs)
    several = len({one["setting"] for one in found}) > 1
    known = [cell["mean"] for one in found for row in one["cells"] for cell in row if cell and cell["mean"]]
    most = max([1.25, *known, *(1 / value for value in known)])
    return [
        {
            "name": one["routing"] + (f" · {one['setting']}" if several else ""),
            "routing": one["routing"],
            "backgrounds": one["backgrounds"],
            "lines": [
                (target, [_slowdown_cell(cell, most) for cell in row])
                for target, row in zip(one["targets"], one["cells"], strict=True)
            ],
        }
        for one in found
    ]


def _slowdown_cell(cell: dict[str, Any] | None, most: float) -> dict[str, Any]:
    if cell is None:
        return {"kind": "none", "text": "–", "note": "not run"}  # noqa: RUF001
    if cell["mean"] is None:
        return {"kind": "open", "text": "not finished", "note": "no run of this pair finished"}
    mean = cell["mean"]
    colour, ink = _diverging(mean, most)
    note = f"{cell['runs']} runs" if cell["runs"] > 1 else "1 run"
    if cell["runs"] > 1:
        note += f", {cell['least']:.3f} to {cell['most']:.3f}"
    note = f"{mean:.4f}; {note}"
    mark = ""
    if cell["alike"]:
        note += f"; {cell['alike']} with other seeds but an identical final state are not counted"
    if cell["open"]:
        note += f"; {cell['open']} more did not finish"
        mark = "*"
    if is_apart(cell["together"]):
        note += f"; {apart_note(cell['together'])}"
        mark += _APART
    text = f"{mean:.2f}{mark}"
    return {"kind": "", "value": mean, "colour": colour, "ink": ink, "note": note, "text": text}


def _diverging(ratio: float, most: float) -> tuple[str, str]:
    """A colour on a logarithmic scale (blue below 1, white at 1, orange to brown above), and a legible text colour."""
    part = max(-1.0, min(1.0, log(ratio) / log(most)))
    white = (255, 255, 255)
    stops = (white, (253, 196, 130), (213, 94, 0), (122, 47, 0)) if part >= 0 else (white, (86, 180, 233), (0, 82, 140))
    at = abs(part) * (len(stops) - 1)
    low = min(int(at), len(stops) - 2)
    red, green, blue = (round(a + (b - a) * (at - low)) for a, b in zip(stops[low], stops[low + 1], strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}", "#fff" if 0.3 * red + 0.59 * green + 0.11 * blue < 140 else "#111"


# --- Figures and origin --------------------------------------------------------------------------------------------


def _figures(figures: Sequence[Path], curves: Sequence[Any]) -> list[dict[str, str]]:
    """The figures, without that of the sweep if the page has its curves."""
    chosen: dict[str, Path] = {}
    for path in (path for path in figures if not (curves and path.stem == _FIRST_FIGURE)):
        better = path.suffix == ".svg" and path.stat().st_size <= _LARGEST_SVG
        if path.suffix in (".png", ".svg") and (path.stem not in chosen or better):
            chosen[path.stem] = path
    return [picture(path, name) for name, path in chosen.items()]


def _origin(every: Sequence[Run], command: str | None) -> list[tuple[str, str]]:
    versions = sorted({str(result["version"]) for result, _ in every})
    seeds = sorted({result["config"]["seed"] for result, _ in every})
    times = [file.stat().st_mtime for _, folder in every if (file := folder / RESULT_FILE).is_file()]
    newest = f"{datetime.fromtimestamp(max(times), UTC):%Y-%m-%d %H:%M} UTC" if times else "unknown"
    cpu_seconds = sum(result.get("cpu_seconds") or result.get("route_cpu_seconds") or 0 for result, _ in every)
    return [
        ("Code version", ", ".join(versions)),
        ("Newest result", newest),
        ("Seeds", ", ".join(map(str, seeds))),
        ("CPU time of all runs", f"{cpu_seconds:,.1f} s"),
        *([("Made by", command)] if command else []),
    ]


def _details(run: Run, label: str) -> dict[str, Any]:
    """The origin of a run: its command, folder, hash and configuration."""
    result, directory = run
    stuck, seconds, memory = result.get("stuck"), result["cpu_seconds"], result["peak_rss_mb"]
    return {
        "name": label,
        "warnings": [
            *([f"Not finished: {stuck.splitlines()[0]}"] if stuck else []),
            *(result.get("warnings") or {}).values(),
        ],
        "again": _command(result["config"]),
        "folder": directory.name,
        "hash": result["config_hash"],
        "about": f", state {result['state_hash']}, {seconds:,.1f} s of CPU, {memory:,.0f} MB",
        "yaml": yaml.dump(result["config"], Dumper=_Dumper, sort_keys=False),
    }


def _command(config: Any) -> str | None:
    try:
        return command_of(config)
    except (HydraException, OmegaConfBaseException, ConfigError, KeyError):
        return None  # the result comes from a version with other components or keys
