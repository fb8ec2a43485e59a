"""The files of a Chakra trace: one per rank, and the file with the groups of ranks."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ..._core import ConfigError
from ..._files import read_unpacked

_RANKED = re.compile(r"(?P<name>.*?)[._-]?(?P<rank>\d{1,9})\.(et|json)(\.gz)?$")
_TRACE = re.compile(r".*\.(et|json)(\.gz)?$")
_BEGIN = 4096  # bytes that decide whether a file is a trace


def looks_like_trace(path: Path) -> bool:
    """Whether a file begins like a Chakra trace."""
    try:
        begin = read_unpacked(path, _BEGIN)
    except (ConfigError, OSError):
        return False
    if is_json(begin):
        return b'"workload_graph"' in begin or (b'"schema"' in begin and b'"nodes"' in begin) or _jsonizer(begin)
    return _begins_with_metadata(begin)


def is_json(begin: bytes) -> bool:
    """Whether a file begins with a JSON object. The byte `{` alone may be the length of a protobuf message."""
    return re.match(rb'\s*\{\s*["}]', begin) is not None


def _jsonizer(begin: bytes) -> bool:
    return re.match(rb'\s*\{\s*("version"|"attr"|\})', begin) is not None


def _begins_with_metadata(begin: bytes) -> bool:
    """Whether GlobalMetadata and the begin of a Node follow their lengths.

    GlobalMetadata has the fields 1 and 2, a text and messages. A Node begins with one of its first three fields, or
    with a later one if these have their defaults.
    """
    first = _length(begin, 0)
    if first is None:
        return False
    length, at = first
    end = at + length
    while at < min(end, len(begin)):
        if begin[at] not in (0x0A, 0x12):
            return False
        part = _length(begin, at + 1)
        if part is None:
            return False
        at = part[1] + part[0]
    if at < len(begin) and at != end:
        return False
    node = _length(begin, end) if end < len(begin) else None
    if node is None:
        return length > 0 and end >= len(begin)  # metadata alone, or more than was read
    return node[0] > 0 and (node[1] >= len(begin) or begin[node[1]] in (0x08, 0x12, 0x18, 0x22, 0x2A, 0x30, 0x38, 0x52))


def _length(data: bytes, at: int) -> tuple[int, int] | None:
    value = shift = 0
    while at < len(data) and shift < 35:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    return None


def rank_of(path: Path) -> int:
    """Number of the rank in the name of a file, or 0."""
    found = _RANKED.match(path.name)
    return int(found["rank"]) if found else 0


def rank_files(path: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of the ranks 0, 1, ..., and other JSON files of the folder.

    Raises:
        ConfigError: The folder has no trace, more than one trace, or lacks the file of a rank.
    """
    if not path.is_dir():
        beside = path.parent.glob("*comm_group*.json")
        return [path], sorted(each for each in beside if each != path and not looks_like_trace(each))
    files = sorted(each for each in path.iterdir() if each.is_file() and not each.name.startswith("."))
    traces = [each for each in files if _TRACE.match(each.name) and looks_like_trace(each)]
    others = [each for each in files if each.name.endswith(".json") and each not in traces]
    if not traces:
        inside = sorted(each.name for each in path.iterdir() if each.is_dir())
        hint = f"; it has the folders {', '.join(inside[:6])}, name one of them" if inside else ""
        raise ConfigError(f"{path}: this folder has no Chakra trace (files such as name.0.et){hint}")
    named: dict[str, dict[int, Path]] = {}
    for each in traces:
        found = _RANKED.match(each.name)
        ranks = named.setdefault(found["name"] if found else each.name, {})
        rank = int(found["rank"]) if found else 0
        if rank in ranks:
            raise ConfigError(f"{path}: {ranks[rank].name} and {each.name} are both for rank {rank}; keep one of them")
        ranks[rank] = each
    if len(named) > 1:
        names = ", ".join(sorted(named)[:6])
        raise ConfigError(f"{path}: the folder has several traces ({names}); a folder holds one, with a file per rank")
    ranks = next(iter(named.values()))
    missing = next((rank for rank in range(len(ranks)) if rank not in ranks), None)
    if missing is not None:
        raise ConfigError(
            f"{path}: there is no file for rank {missing}, but one for rank {max(ranks)}; a trace has a file for every "
            "rank from 0"
        )
    return [ranks[rank] for rank in range(len(ranks))], others


def read_groups(files: list[Path]) -> dict[str, list[int]]:
    """Read groups of ranks by name: JSON objects such as {"1": [0, 1], "2": [2, 3]} (ASTRA-sim's comm_group file).

    Other JSON files are ignored.
    """
    groups: dict[str, list[int]] = {}
    for path in files:
        try:
            content = json.loads(read_unpacked(path))
        except (ValueError, RecursionError) as error:
            if isinstance(error, ConfigError):
                raise
            continue
        if not isinstance(content, dict) or not content:
            continue
        if all(isinstance(v, list) and v and all(type(r) is int for r in v) for v in content.values()):
            groups |= {str(name): list(ranks) for name, ranks in content.items()}
    return groups
