"""The page itself: tables are written here, what moves is drawn by `report.js` from the data in the page."""

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from math import log
from pathlib import Path
from string import Template
from typing import Any

from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ...simcore import ConfigError
from ...simcore._files import atomic_path
from ..plotting.players import player
from ..results.files import RESULT_FILE, check_table, is_checked, read_with_care
from ..terminal.times import time_text
from .commands import command as command_of
from .data import (
    Run,
    decomposition,
    films,
    has_jobs,
    is_apart,
    is_finished,
    matrices,
    routing_label,
    routing_order,
    series,
    slowdowns,
    together,
)
from .settings import Settings, what_ran
from .tables import details as table_details
from .tables import is_table
from .tables import link as table_link
from .tables import section as table_section

REPORT_FILE = "report.html"
_HERE = Path(__file__).parent
_APART = "†"
_LARGEST_SVG = 2_000_000  # bytes; the PNG of the same name is taken beyond

# Key, heading and unit of the columns of the headline table; None: text, else how many digits.
_COLUMNS: tuple[tuple[str, str, int | None], ...] = (
    ("what", "Run", None),
    ("routing", "Routing", None),
    ("seed", "Seed", 0),
    ("job", "Job", None),
    ("ranks", "Ranks", 0),
    ("bytes", "Sent, MB", 1),
    ("comm_time_mean_ns", "Comm. time", 4),
    ("finish_ns", "Finish", 4),
    ("slowdown", "Slowdown", 3),
    ("packet_latency_mean_ns", "Packet latency mean, ns", 0),
    ("packet_latency_p99_ns", "p99, ns", 0),
    ("state", "State", None),
)
_UNITS = {"bytes": 1e6}
_TIMES = {"comm_time_mean_ns": "comm_time_std_ns", "finish_ns": ""}  # and their deviations


def write_report(
    directory: Path,
    title: str,
    results: Sequence[Run],
    figures: Sequence[Path],
    *,
    output: Path | None = None,
    command: str | None = None,
) -> Path:
    """Write one HTML page that needs nothing beside it.

    Args:
        directory: Where the page goes, as `report.html`, unless `output` names another file.
        title: Its heading.
        results: What `result.json` of every run holds, and the run's folder.
        figures: PNG and SVG files; of two with one stem, the SVG is shown.
        output: The file to write.
        command: The command that made all of this, for the last section.

    Returns:
        The file written.

    Raises:
        OSError: it cannot be written; what was there before stays.
        ValueError: there is no run.
    """
    if not results:
        raise ValueError("a report needs at least one run")
    page = _page(title, results, figures, command)
    path = output or directory / REPORT_FILE
    with atomic_path(path) as temporary:
        temporary.write_text(page)
    return path


def can_be_shown(run: Run) -> None:
    """Find out whether a run that was read from a folder makes a page.

    Raises:
        DamagedError: a file of it is not what was written, or lacks what every result has.
    """
    result, directory = run
    for key in result.get("files", {}):
        check_table(result, directory, key)
    if not is_checked(result):
        with read_with_care(directory / RESULT_FILE):
            _page("", [run], [], None)


def _page(title: str, results: Sequence[Run], figures: Sequence[Path], command: str | None) -> str:
    tables = [run for run in results if is_table(run[0])]
    simulated = [run for run in results if not is_table(run[0])]
    settings = Settings([result["config"] for result, _ in simulated])
    runs = sorted(simulated, key=lambda run: _order(run, settings))
    return Template((_HERE / "page.html").read_text()).substitute(
        title=escape(title),
        facts=_facts(runs, tables, settings),
        style=(_HERE / "report.css").read_text(),
        script=(_HERE / "report.js").read_text(),
        overview=_overview(runs, settings) if runs else "<p class='empty'>Nothing was simulated.</p>",
        tables=table_section(tables),
        tables_link=table_link(tables),
        slowdown=_slowdown(runs),
        figures=_figures(figures),
        provenance=_provenance(runs, tables, settings, command),
        # "<" could end the element that holds the data.
        data=json.dumps(_data(runs, settings), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    )


def _order(run: Run, settings: Settings) -> tuple[Any, ...]:
    config = run[0]["config"]
    routing = player(config["routing"])
    alone = config["workload"].get("background") != "none"
    target = config["workload"].get("target", "")
    rank = routing_order([routing, "q_adaptive"]).index(routing)  # q_adaptive comes last
    return settings.full_text(config), target, alone, what_ran(config), rank, routing, config["seed"], str(run[1])


def _data(runs: Sequence[Run], settings: Settings) -> dict[str, Any]:
    """What the script draws."""
    jobs = list(dict.fromkeys(job for result, _ in runs for job in result["jobs"]))
    listed = []
    several = _several(runs, settings)
    for (result, directory), film in zip(runs, films(runs), strict=True):
        if not has_jobs(result):
            continue
        listed.append(
            {
                "label": _label(result, settings, several),
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
    return {"jobs": jobs, "runs": listed}


def _label(result: Any, settings: Settings, several: bool) -> str:
    config = result["config"]
    words = [what_ran(config), routing_label(player(config["routing"])), f"seed {config['seed']}"]
    if several:
        words.append(settings.full_text(config))
    if not is_finished(result):
        words.append("NOT FINISHED")
    return " · ".join(words)


def _several(runs: Sequence[Run], settings: Settings) -> bool:
    """Whether runs of jobs, or those of traffic patterns, differ in more than what ran, the routing and the seed."""
    kinds = {(has_jobs(result), settings.full_text(result["config"])) for result, _ in runs}
    return len(kinds) > len({kind for kind, _ in kinds})


# --- Headline ------------------------------------------------------------------------------------------------------


def _facts(runs: Sequence[Run], tables: Sequence[Run], settings: Settings) -> str:
    counted = [f"{len(tables)} forwarding table{'s' if len(tables) > 1 else ''}"] if tables else []
    if not runs:
        return "".join(f"<li>{line}</li>" for line in counted)
    with_jobs = [run for run in runs if has_jobs(run[0])] or runs
    texts = list(dict.fromkeys(settings.text(result["config"]) for result, _ in with_jobs))
    names = routing_order([player(result["config"]["routing"]) for result, _ in runs])
    unfinished = sum(not is_finished(result) for result, _ in runs)
    lines = [
        f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}"
        + (f", <strong class='warn'>{unfinished} of them not finished</strong>" if unfinished else ", all finished"),
        "routing " + ", ".join(escape(routing_label(name)) for name in names),
        *(escape(text) for text in texts[:3]),
        *([f"and {len(texts) - 3} more settings"] if len(texts) > 3 else []),
        *counted,
    ]
    return "".join(f"<li>{line}</li>" for line in lines)


def _overview(runs: Sequence[Run], settings: Settings) -> str:
    ratio = slowdowns(runs)
    several = _several(runs, settings)
    rows = []
    for i, (result, directory) in enumerate(runs):
        config = result["config"]
        common: dict[str, Any] = {
            "what": what_ran(config) + (f" · {settings.full_text(config)}" if several else ""),
            "routing": routing_label(player(config["routing"])),
            "seed": config["seed"],
            "state": "finished" if is_finished(result) else "not finished",
        }
        for name, job in result["jobs"].items():
            is_target = name == config["workload"].get("target")
            state = "finished" if job["finish_ns"] is not None else "not finished"
            if job["finish_ns"] is not None and not is_finished(result):
                state = "finished (its run did not)"
            own: dict[str, Any] = {"job": name, **job, "state": state}
            if job["finish_ns"] is None:
                own["comm_time_mean_ns"] = None  # of some ranks
            if is_target and i in ratio:
                own |= {"slowdown": ratio[i], "together": together(result, directory)}
            rows.append(_row({**common, **own}, directory))
        if not has_jobs(result):
            rows.append(_row({**result, **common, "job": "-"}, directory))
    head = "".join(
        f'<th scope="col" aria-sort="none"><button type="button" class="sort">{escape(heading)}</button></th>'
        for _, heading, _ in _COLUMNS
    )
    return f'<table id="headline" class="wide"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _row(values: dict[str, Any], directory: Path) -> str:
    cells = []
    for key, _, digits in _COLUMNS:
        value = values.get(key)
        if digits is None:
            text = escape(str(value))
            mark = ' class="warn"' if key == "state" and value != "finished" else ""
            cells.append(f'<td data-key="{key}"{mark} data-value="{escape(str(value), quote=True)}">{text}</td>')
            continue
        note = ""
        if value is None:
            shown = "–"  # noqa: RUF001
        elif key in _TIMES:
            shown = time_text(value, values.get(_TIMES[key]), digits)
        else:
            shown = f"{value / _UNITS.get(key, 1):,.{digits}f}"
        if key == "slowdown" and value is not None and is_apart(values["together"]):
            shown, note = shown + _APART, f' title="{_apart_note(values["together"])}"'
        data = "" if value is None else value
        cells.append(f'<td class="number" data-key="{key}" data-value="{data}"{note}>{shown}</td>')
    state = ' class="unfinished"' if values["state"] != "finished" else ""
    return f'<tr{state} data-run="{escape(directory.name, quote=True)}">{"".join(cells)}</tr>'


def _apart_note(share: float) -> str:
    return f"the target received only {share:.0%} of its bytes while the background sent"


# --- Slowdown ------------------------------------------------------------------------------------------------------


def _slowdown(runs: Sequence[Run]) -> str:
    found = matrices(runs)
    if not found:
        return (
            "<p class='empty'>No pair of runs to compare: a slowdown needs finished runs of <code>workload=pair</code> "
            "with <code>workload.background=none</code> and with another background.</p>"
        )
    several = len({one["setting"] for one in found}) > 1
    known = [cell["mean"] for one in found for row in one["cells"] for cell in row if cell and cell["mean"]]
    most = max([1.25, *known, *(1 / value for value in known)])
    options, tables = [], []
    for i, one in enumerate(found):
        name = routing_label(one["routing"]) + (f" · {one['setting']}" if several else "")
        options.append(f'<option value="{i}">{escape(name)}</option>')
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in one["backgrounds"])
        body = "".join(
            f'<tr><th scope="row">{escape(target)}</th>{"".join(_slowdown_cell(cell, most) for cell in row)}</tr>'
            for target, row in zip(one["targets"], one["cells"], strict=True)
        )
        tables.append(
            f'<div class="matrix" data-matrix="{i}" data-routing="{escape(one["routing"], quote=True)}">'
            f"<h3>{escape(name)}</h3>"
            f'<table class="heat"><thead><tr><td>target \\ background</td>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>"
        )
    options.append('<option value="all" selected>all, side by side</option>')
    return (
        f'<div class="controls"><label>Routing <select id="matrix-select">{"".join(options)}</select></label></div>'
        f'<div class="matrices">{"".join(tables)}</div>'
    )


def _slowdown_cell(cell: dict[str, Any] | None, most: float) -> str:
    if cell is None:
        return '<td class="none" title="not run">–</td>'  # noqa: RUF001
    if cell["mean"] is None:
        return '<td class="open" title="no run of this pair finished">not finished</td>'
    mean = cell["mean"]
    colour, ink = _diverging(mean, most)
    note = f"{cell['runs']} runs" if cell["runs"] > 1 else "1 run"
    if cell["runs"] > 1:
        note += f", {cell['least']:.3f} to {cell['most']:.3f}"
    note = f"{mean:.4f}; {note}"
    mark = ""
    if cell["alike"]:
        note += f"; not counted: {cell['alike']} with another seed that did the same, bit by bit"
    if cell["open"]:
        note += f"; {cell['open']} more did not finish"
        mark = "*"
    if is_apart(cell["together"]):
        note += f"; {_apart_note(cell['together'])}"
        mark += _APART
    return f'<td data-value="{mean}" style="background:{colour};color:{ink}" title="{note}">{mean:.2f}{mark}</td>'


def _diverging(ratio: float, most: float) -> tuple[str, str]:
    """Blue below 1, white at 1, orange to brown above, by the logarithm; and the ink that is legible on it."""
    part = max(-1.0, min(1.0, log(ratio) / log(most)))
    white = (255, 255, 255)
    stops = (white, (253, 196, 130), (213, 94, 0), (122, 47, 0)) if part >= 0 else (white, (86, 180, 233), (0, 82, 140))
    at = abs(part) * (len(stops) - 1)
    low = min(int(at), len(stops) - 2)
    red, green, blue = (round(a + (b - a) * (at - low)) for a, b in zip(stops[low], stops[low + 1], strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}", "#fff" if 0.3 * red + 0.59 * green + 0.11 * blue < 140 else "#111"


# --- Figures and origin --------------------------------------------------------------------------------------------


def _figures(figures: Sequence[Path]) -> str:
    chosen: dict[str, Path] = {}
    for path in figures:
        better = path.suffix == ".svg" and path.stat().st_size <= _LARGEST_SVG
        if path.suffix in (".png", ".svg") and (path.stem not in chosen or better):
            chosen[path.stem] = path
    if not chosen:
        return "<p class='empty'>No figure was drawn.</p>"
    # As an image, an SVG has names of its own: two of them in one page cannot disturb each other.
    return "".join(
        f'<figure><img alt="{escape(name, quote=True)}" src="data:image/'
        f"{'svg+xml' if path.suffix == '.svg' else 'png'};base64,{base64.b64encode(path.read_bytes()).decode()}"
        f'"><figcaption>{escape(name)}</figcaption></figure>'
        for name, path in chosen.items()
    )


def _provenance(runs: Sequence[Run], tables: Sequence[Run], settings: Settings, command: str | None) -> str:
    every = [*runs, *tables]
    versions = sorted({str(result["version"]) for result, _ in every})
    seeds = sorted({result["config"]["seed"] for result, _ in every})
    times = [file.stat().st_mtime for _, folder in every if (file := folder / RESULT_FILE).is_file()]
    newest = f"{datetime.fromtimestamp(max(times), UTC):%Y-%m-%d %H:%M} UTC" if times else "unknown"
    cpu_seconds = sum(result.get("cpu_seconds") or result.get("route_cpu_seconds") or 0 for result, _ in every)
    facts = [
        ("Code version", ", ".join(versions)),
        ("Newest result", newest),
        ("Seeds", ", ".join(map(str, seeds))),
        ("CPU time of all runs", f"{cpu_seconds:,.1f} s"),
    ]
    if command:
        facts.append(("Made by", command))
    rows = "".join(f'<tr><th scope="row">{name}</th><td>{escape(text)}</td></tr>' for name, text in facts)
    many = "" if len(versions) == 1 else "<p class='warn'>These runs are of different versions of the code.</p>"
    details = []
    several = _several(runs, settings)
    for result, directory in runs:
        again = _command(result["config"])
        stuck = result.get("stuck")
        details.append(
            f"<details><summary>{escape(_label(result, settings, several))}</summary>"
            + (f'<p class="warn">Not finished: {escape(stuck.splitlines()[0])}</p>' if stuck else "")
            + "".join(f'<p class="warn">{escape(text)}</p>' for text in (result.get("warnings") or {}).values())
            + (f"<p>Again: <code class='command'>{escape(again)}</code></p>" if again else "")
            + f"<p>Folder <code>{escape(directory.name)}</code>, configuration <code>{escape(result['config_hash'])}"
            f"</code>, state <code>{escape(str(result['state_hash']))}</code>, "
            f"{result['cpu_seconds']:,.1f} s of CPU, {result['peak_rss_mb']:,.0f} MB</p>"
            f"<pre>{escape(OmegaConf.to_yaml(OmegaConf.create(result['config'])))}</pre></details>"
        )
    details += [table_details(result, directory) for result, directory in tables]
    return (
        f'{many}<table class="facts">{rows}</table><h3>Configuration of every run</h3>'
        f'<div class="list">{"".join(details)}</div>'
    )


def _command(config: Any) -> str | None:
    try:
        return command_of(config)
    except (HydraException, OmegaConfBaseException, ConfigError, KeyError):
        return None  # of a version that had other components or keys
