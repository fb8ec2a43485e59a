"""Signatures as in the source. Signatures of the compiled core come from its stub file, without `self`."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

STUB = Path(__file__).resolve().parents[2] / "simcore" / "_core.pyi"
_CORE = "flitgym.simcore."
# Python's internal names of types and defaults, and their usual forms.
_ANY = r"(?:~?typing\.)?Any"
_SHAPE = rf"tuple\[(?:{_ANY}, \.\.\.|int(?:, int)*)\]"
_SHORTER = (
    (re.compile(r"TypeAliasForwardRef\('([\w.]+)'\)"), r"\1"),
    (re.compile(r"[~\w.]*_Buffer \| .*?_NestedSequence\[complex \| bytes \| str\]"), "ArrayLike"),
    (
        re.compile(rf"~?(?:numpy\.)?ndarray\[{_SHAPE}, ~?(?:numpy\.)?dtype\[([~\w.]+(?:\[{_ANY}\])?)\]\]"),
        r"NDArray[\1]",
    ),
    (re.compile(r"<factory>|<function [^=,]*?(?:<lambda>|<locals>[^=,]*?)?>"), "..."),
)


@cache
def declared() -> dict[str, tuple[str, str]]:
    """Arguments and return type of every function of the stub, by `name` or `Class.name`."""
    found: dict[str, tuple[str, str]] = {}

    def read(node: ast.FunctionDef, prefix: str) -> None:
        arguments = node.args
        everything = [*arguments.posonlyargs, *arguments.args]
        if everything and everything[0].arg in ("self", "cls"):
            (arguments.posonlyargs or arguments.args).pop(0)
        found[prefix + node.name] = f"({ast.unparse(arguments)})", ast.unparse(node.returns) if node.returns else ""

    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            read(node, "")
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    read(inner, f"{node.name}.")
    return found


def plain(text: str | None) -> str | None:
    """A signature or a return type without Python's internal names."""
    for pattern, form in _SHORTER if text else ():
        text = pattern.sub(form, text or "")
    return text


def signature_of(name: str, target: Any, signature: str | None, returns: str | None) -> tuple[str | None, str | None]:
    """The signature and the return type on the page.

    Args:
        name: The full name of the object.
        target: The object.
        signature: The signature that autodoc found, or None.
        returns: The return type that autodoc found, or None.
    """
    own = name.removeprefix(_CORE)
    if own != name and signature is not None:
        if inspect.isclass(target) and "__init__" not in vars(target):
            own += ".__init__"
        compiled = not inspect.isfunction(target) and not inspect.isfunction(getattr(target, "__init__", None))
        if compiled and own in declared():
            arguments, result = declared()[own]
            return arguments, None if own.endswith("__init__") else result
    return plain(signature), plain(returns)


def _process(
    app: Sphinx, what: str, name: str, target: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    return signature_of(name, target, signature, returns)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the conversion to autodoc's signatures."""
    app.connect("autodoc-process-signature", _process)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
