"""The keys that differ among the runs of a study, and names for their values."""

import json
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from ...simcore import ConfigError
from ...simcore._words import nearest
from ..presets import preset_of
from .players import pattern_of, player_of

Row = Mapping[str, Any]

# Sections in the order in which their keys explain differences. The routing precedes `run`, because it may determine
# the warm-up.
SECTIONS = ("routing", "topology", "traffic", "workload", "congestion_control", "router", "failures", "run")
# Keys for the end of a run, its computation and its files. They do not change the numbers of a figure.
NEUTRAL_RUN = ("series_interval_ns", "channels", "save_q_table", "max_memory_gb", "threads", "partitions", "overwrite")
NEUTRAL_WORKLOAD = ("max_ns", "series_interval_ns", "map_interval_ns", "ends_with", "blame")
RUN_OF_WORKLOAD = ("load_q_table", "freeze_q_table")  # a workload has no windows

FILTER = "routing!=minimal,load<=0.4"  # an example of conditions
_ORDERS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}

_NAMED = ("routing", "topology", "traffic", "workload", "congestion_control", "router")  # sections with a component
_NEUTRAL = {f"run.{key}" for key in NEUTRAL_RUN} | {f"workload.{key}" for key in NEUTRAL_WORKLOAD}
_IN_LABEL = ("name", "path")  # a routing's label names the file of a policy
_SHORT = {
    "load": "traffic.load",
    "latency": "packet_latency_mean_ns",
    "p99": "packet_latency_p99_ns",
    "accepted": "accepted_load",
    "offered": "offered_load",
    "hops": "hops_mean",
}


def named(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The rows with a further column for each section with a component: `routing`, `topology`, `traffic` and so on.

    If possible, its values are words of the command line: `dragonfly_72`, `ugal_l`, the name of a policy's file. For
    traffic they are names of patterns, such as `adversarial, shift=4`. Rows of jobs have no `traffic`. Existing columns
    of these names are kept.
    """
    found = [dict(row) for row in rows]
    for section in _NAMED:
        chosen = [row for row in found if section not in row and f"{section}.name" in row and _is_used(row, section)]
        for row, label in zip(chosen, _labels(section, chosen), strict=True):
            row[section] = label
    return found


def is_of_jobs(row: Row) -> bool:
    """Whether a row belongs to a workload and not to a traffic pattern."""
    return bool(row.get("workload.name", "none") != "none")


def swept(rows: Sequence[Row]) -> list[str]:
    """The columns that distinguish the rows (of `named`), without the seed.

    A key that follows from other keys is left out, such as the warm-up of `run=auto`, which follows from the routing.
    Keys of a component are compared only among runs with this component.
    """
    candidates = [section for section in _NAMED if len({row.get(section) for row in rows}) > 1]
    for section in SECTIONS:
        # A policy's path comes last, because other keys explain a difference better.
        keys = _differing(section, rows)
        candidates += sorted(keys, key=lambda key: (key.endswith(".path"), key))
    kept: list[str] = []
    groups = {(): len(rows)} if rows else {}
    for key in candidates:
        refined = {tuple(value_of(row, other) for other in [*kept, key]) for row in rows}
        if len(refined) > len(groups):
            kept.append(key)
            groups = dict.fromkeys(refined, 1)
    return kept


def value_of(row: Row, key: str) -> Any:
    """The value of a column in a form that can be compared and hashed. Lists and mappings become JSON."""
    value = row.get(key)
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def column_of(rows: Sequence[Row], word: str, what: str) -> str:
    """The column for a word, which is its name, a unique end of its name, or a short name such as `latency`.

    Rows are from `named`. The message names the argument `what` that has the word.
    """
    columns = dict.fromkeys(key for row in rows for key in row)
    if word in columns:
        return word
    if _SHORT.get(word) in columns:
        return _SHORT[word]
    ends = [column for column in columns if column.endswith(f".{word}")]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise ConfigError(f"{what}: '{word}' is ambiguous; write {' or '.join(ends)}")
    short = [name for name, column in _SHORT.items() if column in columns]
    hint = nearest(word, [*columns, *short, *(column.rpartition(".")[2] for column in columns)])
    raise ConfigError(
        f"{what}: unknown column '{word}'{hint}; flitgym plot <folder> --help lists the {len(columns)} columns"
    )


def filtered(rows: Sequence[Row], text: str) -> list[dict[str, Any]]:
    """The rows of `named` that satisfy conditions such as `routing!=minimal,load<=0.4`."""
    kept = named(rows)
    for condition in text.split(","):
        found = re.fullmatch(r"([\w.]+)(<=|>=|!=|<|>|=)(.+)", condition)
        if not found:
            raise ConfigError(f"filter: '{condition}' is no condition; write for example {FILTER}")
        word, sign, given = found.groups()
        column = column_of(kept, word, "filter")
        if sign in ("=", "!="):
            value: Any = yaml.safe_load(given)
            kept = [row for row in kept if (str(row.get(column)) == given or row.get(column) == value) == (sign == "=")]
        else:
            try:
                kept = [row for row in kept if row.get(column) is not None and _ORDERS[sign](row[column], float(given))]
            except (TypeError, ValueError):
                raise ConfigError(f"filter: '{condition}' does not compare numbers") from None
    return kept


def _is_used(row: Row, section: str) -> bool:
    return section != "traffic" or not is_of_jobs(row)


def configuration(row: Row) -> dict[str, Any]:
    """The columns that determine a row's result, without the seed. Values are those of `value_of`."""
    return {f"{part}.{key}": value for part in SECTIONS for key, value in _section(row, part).items()}


def _section(row: Row, section: str) -> dict[str, Any]:
    """The keys of a section that have a value and affect results, without the name of the section."""
    prefix = f"{section}."
    if section == "run" and is_of_jobs(row):
        keys: Iterable[str] = (f"run.{key}" for key in RUN_OF_WORKLOAD)
    else:
        keys = (key for key in row if key.startswith(prefix) and key not in _NEUTRAL)
    if not _is_used(row, section):
        return {}
    found = {key.removeprefix(prefix): value_of(row, key) for key in keys if row.get(key) is not None}
    return {"name": "none", **found} if section == "congestion_control" else found  # rows without a control may lack it


def _differing(section: str, rows: Sequence[Row]) -> list[str]:
    """The keys of a section that differ among runs with the same component."""
    by_name: dict[tuple[bool, Any], list[dict[str, Any]]] = {}
    for row in rows:
        if _is_used(row, section):
            by_name.setdefault((is_of_jobs(row), row.get(f"{section}.name")), []).append(_section(row, section))
    found: dict[str, None] = {}
    for sections in by_name.values():
        for key in dict.fromkeys(key for one in sections for key in one):
            if len({one.get(key) for one in sections}) > 1:
                found[f"{section}.{key}"] = None
    return list(found)


def _labels(section: str, rows: Sequence[Row]) -> list[str]:
    """A name for the component of each row.

    Presets of a component that differ in several keys have their own names. If they differ in a single key, this key
    was swept, and all of them have the name of the component.
    """
    full, plain = [], []
    for row in rows:
        name = str(row[f"{section}.name"])
        if section == "routing":
            plain.append(player_of(row))
            full.append(preset_of(section, _plain(row, section)) if plain[-1] == name else plain[-1])
        elif section == "traffic":
            plain.append(name)
            full.append(pattern_of(row))
        else:
            plain.append(name)
            full.append(preset_of(section, _plain(row, section)) if section != "workload" else name)
    labels = list(full)
    for word in dict.fromkeys(plain):
        alike = [k for k, other in enumerate(plain) if other == word]
        if len({full[k] for k in alike}) > 1 and _explained(section, [(full[k], rows[k]) for k in alike]) < 2:
            for k in alike:
                labels[k] = word
    return labels


def _explained(section: str, labelled: Sequence[tuple[str, Row]]) -> int:
    """The number of differing keys whose value follows from the label."""
    sections = [(label, _section(row, section)) for label, row in labelled]
    labels = {label for label, _ in sections}
    keys = {key for _, one in sections for key in one if key not in _IN_LABEL}
    differing = [key for key in keys if len({one.get(key) for _, one in sections}) > 1]
    return sum(len({(label, one.get(key)) for label, one in sections}) == len(labels) for key in differing)


def _plain(row: Row, section: str) -> dict[str, Any]:
    return {key.partition(".")[2]: value for key, value in row.items() if key.startswith(f"{section}.")}
