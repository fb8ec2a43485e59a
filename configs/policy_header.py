"""The header of a policy file: what the policy is, and what it comes from."""

import json
from typing import Any

# Of the metadata, what says who made the weights. Nothing that plays them heeds it.
PROVENANCE = ("trained_by", "training_hash", "version")


def with_header(header: Any, numbers: bytes) -> bytes:
    """A safetensors file of a header and the numbers behind it; equal ones are equal files."""
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + numbers


def without_provenance(data: bytes) -> bytes:
    """A policy file as it would be if it did not say what it comes from; of another file, its own bytes."""
    numbers = 8 + int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8:numbers])
        metadata = header["__metadata__"]
        kept = {key: value for key, value in metadata.items() if key not in PROVENANCE}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return data
    return data if len(kept) == len(metadata) else with_header({**header, "__metadata__": kept}, data[numbers:])
