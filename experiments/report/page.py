"""The page of a report. A script draws the time series and the network; the rest needs none."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Any

import yaml
from matplotlib.colors import to_hex

from ...simcore.pictures.loads import QUANTITIES, scale
from ..plotting.drawing import STYLES
from ..plotting.players import player
from ..plotting.seeds import buffers_text
from ..results.copies import copies_text
from ..results.files import RESULT_FILE, write_text
from ..table_quality.one_table import KIND
from ..templates import template
from .again import simulate_again
from .over_time import PARTS, by_class, delays, first_shown, over_time
from .pictures import curves, pictures, schedules
from .runs import Run, Settings, runs_of, table
from .slowdown import matrices, slowdowns

REPORT_FILE = "report.html"
_SWEEP = "sweep"  # the name of the sweep's picture
_HERE = Path(__file__).parent
_SCRIPTS = ("report.js", "network.js")
# Of jobs: Okabe and Ito's colours, then darker ones of the same hues.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#7a2f00", "#005a41")
# The sections with their links, by their content.
_SECTIONS = {
    "figures": ("figures", "Figures"),
    "loads": ("loads", "Curves"),
    "rows": ("overview", "Runs"),
    "matrices": ("slowdown", "Slowdown"),
    "blame": ("blame", "Delays between jobs"),
    "has_series": ("curves", "Over time"),
    "has_view": ("network", "Network"),
}


def write_report(
    directory: Path,
    title: str,
    results: Sequence[tuple[Any, Path]],
    figures: Iterable[Path],
    *,
    output: Path | None = None,
    command: str | None = None,
) -> Path:
    """Write one HTML page of runs that needs no other file. Returns its path.

    Args:
        directory: The folder that gets `report.html`, if `output` is not given.
        title: The heading of the page.
        results: The content of `result.json` and the folder of every run.
        figures: PNG and SVG files, listed after the curves are drawn. Of the same stem, the page shows the SVG.
        output: The file to write.
        command: The command that made the page, for the last section.

    Raises:
        DamagedError: a table of a run has changed since it was written.
        OSError: the file cannot be written, and keeps its previous content.
        ValueError: there is no run.
    """
    if not results:
        raise ValueError("a report needs at least one run")
    page = _page(title, results, figures, command)
    path = output or directory / REPORT_FILE
    write_text(path, page)
    return path


def figures_in(directory: Path) -> list[Path]:
    """The pictures of a study by name."""
    return sorted(path for path in directory.iterdir() if path.suffix in (".png", ".svg"))


def _page(title: str, results: Sequence[tuple[Any, Path]], figures: Iterable[Path], command: str | None) -> str:
    results = [run for run in results if run[0].get("kind") != KIND]  # flitgym route compares forwarding tables
    runs = runs_of(results)
    settings = Settings(runs)
    runs.sort(key=lambda run: _order(run, settings))
    labels = [_label(run, settings.full_text(run)) for run in runs]
    ratios = slowdowns(runs)
    columns, rows = table(runs, settings, ratios)
    (timed, networks), shown = over_time(runs, labels), list(curves(runs))
    first = labels[first_shown(runs)] if runs else ""
    accounts = [(label, run.result) for run, label in zip(runs, labels, strict=True)]
    accounts += [(f"{label}, by traffic class", by_class(result)) for label, result in accounts]
    blame = [(label, found) for label, result in accounts if (found := delays(result))]
    content: dict[str, Any] = {
        # The page draws the sweep itself.
        "figures": [
            *pictures([path for path in figures if not (shown and path.stem == _SWEEP)]),
            *schedules(zip(labels, runs, strict=True)),
        ],
        "loads": shown,
        "rows": rows,
        "matrices": matrices(runs, settings, ratios),
        "blame": sorted(blame, key=lambda one: one[0] != first),
        "has_series": any(run["series"] for run in timed),
        "has_view": any(run["view"] for run in timed),
    }
    named_runs = [(label, run.result, run.directory) for label, run in zip(labels, runs, strict=True)]
    names = dict.fromkeys(job for run in runs for job in run.jobs)
    colours = scale()
    shades = [to_hex(colour) for colour in colours(range(colours.N))]
    quantities = {name: {"label": one.label, "percent": one.percent} for name, one in QUANTITIES.items()}
    data = {
        "runs": timed,
        "networks": networks,
        "colours": dict(zip(names, cycle(_COLOURS))),
        "scale": shades,
        "quantities": quantities,
    }
    return template("report/page.html").render(
        **content,
        title=title,
        facts=_facts(runs, settings),
        copies=copies_text([run.result for run in runs]),
        unfinished=sum(not run.finished for run in runs),
        sections=[*(place for key, place in _SECTIONS.items() if content[key]), ("provenance", "Origin")],
        columns=columns,
        timed=timed,
        recorded=sum("links" in run.result["files"] for run in runs),
        first=first,
        buffers=buffers_text([run.row for run in runs]),
        part_colours=PARTS,
        scale=shades,
        has_jobs=any(run.jobs for run in runs),
        versions=len({str(result["version"]) for result, _ in results}),
        origin=_origin(results, command),
        provenance=[_details(*one) for one in named_runs],
        style=(_HERE / "report.css").read_text(encoding="utf-8"),
        script="\n".join((_HERE / name).read_text(encoding="utf-8") for name in _SCRIPTS),
        # A "<" in the data could close its element.
        data=json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    )


def _order(run: Run, settings: Settings) -> tuple[Any, ...]:
    routing = player(run.result["config"]["routing"])
    beside = run.row.get("workload.background") != "none"
    target = run.row.get("workload.target", "")
    return (
        settings.full_text(run),
        target,
        beside,
        run.what,
        routing not in STYLES,
        routing,
        run.row["seed"],
        str(run.directory),
    )


def _label(run: Run, setting: str) -> str:
    words = [run.what, run.routing, f"seed {run.row['seed']}", setting, "" if run.finished else "NOT FINISHED"]
    return " · ".join(filter(None, words))


def _facts(runs: Sequence[Run], settings: Settings) -> list[str]:
    if not runs:
        return []
    texts = list(dict.fromkeys(settings.text(run) for run in [run for run in runs if run.jobs] or runs))
    finished = ", all finished" if all(run.finished for run in runs) else ""
    return [
        f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}{finished}",
        "routing " + ", ".join(dict.fromkeys(run.routing for run in runs)),
        *texts[:3],
        *([f"and {len(texts) - 3} more settings"] if len(texts) > 3 else []),
    ]


def _origin(results: Sequence[tuple[Any, Path]], command: str | None) -> list[tuple[str, str]]:
    versions = sorted({str(result["version"]) for result, _ in results})
    seeds = sorted({result["config"]["seed"] for result, _ in results})
    times = [file.stat().st_mtime for _, folder in results if (file := folder / RESULT_FILE).is_file()]
    newest = f"{datetime.fromtimestamp(max(times), UTC):%Y-%m-%d %H:%M} UTC" if times else "unknown"
    cpu_seconds = sum(result.get("cpu_seconds") or 0 for result, _ in results)
    return [
        ("Code version", ", ".join(versions)),
        ("Newest result", newest),
        ("Seeds", ", ".join(map(str, seeds))),
        ("CPU time of all runs", f"{cpu_seconds:,.1f} s"),
        *([("Made by", command)] if command else []),
    ]


def _details(name: str, result: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The origin of a run: its command, folder, hash and configuration."""
    stuck, seconds, memory = result.get("stuck"), result.get("cpu_seconds"), result.get("peak_rss_mb")
    facts = [
        f"configuration {result['config_hash']}",
        f"state {result['state_hash']}",
        f"{seconds:,.2f} s of CPU" if seconds is not None else "",
        f"{memory:,.0f} MB" if memory is not None else "",
    ]
    return {
        "name": name,
        "warnings": [
            *([f"Not finished: {stuck.splitlines()[0]}"] if stuck else []),
            *(result.get("warnings") or {}).values(),
        ],
        "again": simulate_again(result["config"]),
        "folder": folder.name,
        "facts": ", ".join(filter(None, facts)),
        "yaml": yaml.dump(result["config"], Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False),
    }
