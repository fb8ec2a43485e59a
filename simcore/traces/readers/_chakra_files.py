"""The begin of a Chakra trace, and the files with the groups of ranks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

_FIRST_FIELDS = b"\x08\x12\x18\x22\x2a\x30\x38\x52"  # tags with which a Node can begin


def looks_like_trace(begin: bytes) -> bool:
    """Whether a file begins like a Chakra trace."""
    if is_json(begin):
        return b'"workload_graph"' in begin or re.match(rb'\s*\{\s*("version"|"attr"|\}|"schema")', begin) is not None
    return _begins_with_metadata(begin)


def is_json(begin: bytes) -> bool:
    """Whether a file begins with a JSON object. The byte `{` alone may be the length of a protobuf message."""
    return re.match(rb'\s*\{\s*["}]', begin) is not None


def _begins_with_metadata(begin: bytes) -> bool:
    """Whether GlobalMetadata, which begins with its field 1 or 2, and a Node follow their lengths."""
    length, at = _length(begin, 0)
    node, first = _length(begin, at + length)
    metadata = length == 0 or begin[at : at + 1] in (b"\x0a", b"\x12")
    if at + length >= len(begin):  # metadata alone, or more than was read
        return metadata and length > 0
    return metadata and node > 0 and (first >= len(begin) or begin[first] in _FIRST_FIELDS)


def _length(data: bytes, at: int) -> tuple[int, int]:
    """A varint, and the position after it."""
    value = shift = 0
    while at < len(data) and shift < 35:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            break
    return value, at


def read_groups(path: Path, files: Sequence[Path]) -> dict[str, list[int]]:
    """Read groups of ranks by name: JSON objects such as {"1": [0, 1], "2": [2, 3]} (ASTRA-sim's comm_group file).

    They are in a folder with JSON files, or in comm_group*.json beside a file. `files`: the files of the ranks.
    """
    groups: dict[str, list[int]] = {}
    beside = path.glob("*.json") if path.is_dir() else path.parent.glob("*comm_group*.json")
    for each in sorted(set(beside) - set(files)):
        try:
            content = json.loads(each.read_bytes())
        except ValueError:
            continue
        if isinstance(content, dict) and all(is_group(ranks) for ranks in content.values()):
            groups |= content
    return groups


def is_group(ranks: object) -> bool:
    """Whether a JSON value is a list of ranks."""
    return isinstance(ranks, list) and bool(ranks) and all(type(rank) is int for rank in ranks)
